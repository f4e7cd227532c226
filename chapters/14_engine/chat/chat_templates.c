#include "14_engine/chat/chat_templates.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define FIRST_IS_SYSTEM                                                                            \
    "{%- set system = messages[0].content if messages[0].role == 'system' else none -%}"
#define THE_OTHERS "messages[0 if system is none else 1:]"

#define LLAMA3_MESSAGES                                                                            \
    "{%- for message in messages -%}"                                                              \
    "<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n{{ message.content | trim "         \
    "}}<|eot_id|>"                                                                                 \
    "{%- endfor -%}"                                                                               \
    "<|start_header_id|>assistant<|end_header_id|>\n\n{{ '' }}"

#define LLAMA3_DATED(today)                                                                        \
    "{{ bos_token }}<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "        \
    "December 2023\n"                                                                              \
    "Today Date: {{ date_string if date_string is defined else " today " }}\n\n"                   \
    "{%- if messages[0].role == 'system' -%}"                                                      \
    "{{ '\n\n' + messages[0].content | trim }}{%- set messages = messages[1:] -%}"                 \
    "{%- else -%}{{ '\n\n' }}{%- endif -%}"                                                        \
    "<|eot_id|>" LLAMA3_MESSAGES

static const ChatTemplate templates[] = {
    {"llama2",
     FIRST_IS_SYSTEM "{%- for message in " THE_OTHERS " -%}"
                     "{%- if message.role == 'user' -%}"
                     "{%- set before = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' if loop.first and "
                     "system is not none else '' -%}"
                     "{{ bos_token }}[INST] {{ (before + message.content) | trim }} [/INST]"
                     "{%- else -%}{{ ' ' + message.content | trim + ' ' + eos_token }}"
                     "{%- endif -%}{%- endfor -%}",
     NULL},
    {"llama3", "{{ bos_token }}" LLAMA3_MESSAGES, "<|start_header_id|>"},
    {"llama3.1", LLAMA3_DATED("'26 Jul 2024'"), "<|start_header_id|>"},
    {"llama3.2", LLAMA3_DATED("strftime_now('%d %b %Y')"), "<|start_header_id|>"},
    {"chatml",
     "{%- for message in messages -%}"
     "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
     "{%- endfor -%}{{ '<|im_start|>assistant\n' }}",
     "<|im_start|>"},
    {"zephyr",
     "{%- for message in messages -%}"
     "{{ '<|' + message.role + '|>\n' + message.content + eos_token + '\n' }}"
     "{%- endfor -%}{{ '<|assistant|>\n' }}",
     NULL},
    {"vicuna",
     FIRST_IS_SYSTEM "{{ bos_token }}"
                     "{{ system if system is not none else 'A chat between a curious user and an "
                     "artificial intelligence assistant. The assistant gives helpful, detailed, "
                     "and polite answers to the user\\'s questions.' }}"
                     "{%- for message in " THE_OTHERS " -%}"
                     "{%- if message.role == 'user' -%}{{ ' USER: ' + message.content | trim }}"
                     "{%- else -%}{{ ' ASSISTANT: ' + message.content | trim + eos_token }}"
                     "{%- endif -%}{%- endfor -%}{{ ' ASSISTANT:' }}",
     NULL},
    {"alpaca",
     FIRST_IS_SYSTEM
     "{{ bos_token }}"
     "{{ system | trim if system is not none else 'Below is an instruction that describes a task. "
     "Write a response that appropriately completes the request.' }}{{ '\n\n' }}"
     "{%- for message in " THE_OTHERS " -%}"
     "{%- if message.role == 'user' -%}{{ '### Instruction:\n' + message.content | trim + '\n\n' }}"
     "{%- else -%}{{ '### Response:\n' + message.content | trim + eos_token + '\n\n' }}"
     "{%- endif -%}{%- endfor -%}{{ '### Response:\n' }}",
     NULL},
    {"mistral",
     FIRST_IS_SYSTEM
     "{{ bos_token }}"
     "{%- for message in " THE_OTHERS " -%}"
     "{%- if message.role == 'user' -%}"
     "{%- set before = system + '\n\n' if loop.first and system is not none else '' -%}"
     "{{ '[INST] ' + before + message.content + ' [/INST]' }}"
     "{%- else -%}{{ message.content + eos_token }}"
     "{%- endif -%}{%- endfor -%}",
     NULL},
};

enum { TEMPLATES = sizeof templates / sizeof *templates };

const ChatTemplate *chat_template_at(int index) {
    return index < TEMPLATES ? &templates[index] : NULL;
}

const char *chat_template_names(void) {
    static char names[200];
    int length = 0;
    for (int t = 0; t < TEMPLATES; t++)
        length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", t ? ", " : "",
                           templates[t].name);
    return names;
}

const ChatTemplate *chat_template_named(const char *name) {
    for (int t = 0; t < TEMPLATES; t++)
        if (strcmp(templates[t].name, name) == 0) return &templates[t];
    fail("--chat-template %s: it must be one of %s", name, chat_template_names());
}
