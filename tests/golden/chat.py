"""What transformers' apply_chat_template makes of conversations.

    python tests/golden/chat.py                  writes chat.json anew
    python tests/golden/chat.py --check          computes it anew and compares
    python tests/golden/chat.py --many PROGRAM   600 conversations more in each family: PROGRAM is build/tests/test_chat

The templates are ours, in our words: they say what the chat_template in a tokenizer_config.json says of conversations without
tools, in the ways that such templates are written. Those that have the name of one of `llama --chat-template` are also what that
writes. The sources, on huggingface.co where no other is named:

    llama2      meta-llama/Llama-2-7b-chat-hf             the system's message is a part of the first user's; assistants' have spaces around
    llama3      meta-llama/Meta-Llama-3-8B-Instruct       a header for each message; no system's message if there is none
    llama3.1    meta-llama/Llama-3.1-8B-Instruct          always a system's message, with two dates; today is 26 Jul 2024 unless date_string
                (and Llama-3.3-70B-Instruct)              says otherwise
    llama3.2    meta-llama/Llama-3.2-1B-Instruct          the same, but today is strftime_now("%d %b %Y")
    chatml      01-ai/Yi-6B-Chat                          nothing is trimmed
    smollm      HuggingFaceTB/SmolLM2-1.7B-Instruct       ChatML with a system's message of its own
    zephyr      TinyLlama/TinyLlama-1.1B-Chat-v1.0        a statement a line: the ends of the lines count
    vicuna      conversation.py of lm-sys/FastChat        everything in one line
    alpaca      conversation.py of lm-sys/FastChat        headings
    mistral     mistralai/Mistral-7B-Instruct-v0.1        Llama 2's without the spaces; one BOS; v0.1 refuses a system's message
    mistral.3   mistralai/Mistral-7B-Instruct-v0.3        the system's message is a part of the last user's
    phi         unsloth/phi-4                             its tokens, here of other names, take the blanks beside them
"""
import json
import random
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import jinja2
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

FILE = Path(__file__).resolve().parent / "chat.json"

LLAMA2 = """\
{%- set system = messages[0].content if messages[0].role == 'system' else none -%}
{%- for message in messages[0 if system is none else 1:] -%}
{%- if message.role == 'user' -%}
{%- set before = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' if loop.first and system is not none else '' -%}
{{- bos_token + '[INST] ' + (before + message.content) | trim + ' [/INST]' -}}
{%- else -%}{{- ' ' + message.content | trim + ' ' + eos_token -}}{%- endif -%}
{%- endfor -%}"""

MESSAGES = """\
{%- for message in messages -%}
{{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' -}}{%- endif -%}"""
LLAMA3 = "{{- bos_token -}}" + MESSAGES


def dated(today):
    """The templates from Llama 3.1 on; `today`: what they say if nobody gives a date_string."""
    return """\
{{- bos_token }}
{%- if custom_tools is defined %}{%- set tools = custom_tools %}{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = """ + today + """ %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{#- The system's message is taken out. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}{{- t | tojson(indent=4) }}{{- "\\n\\n" }}{%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("one call at a time") }}{%- endif %}
        {%- for name, value in message.tool_calls[0].function.arguments | items %}{{- name + '="' + value + '"' }}{%- endfor %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""


CHATML = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}\
{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

SMOLLM = CHATML.replace("in messages %}", "in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
                        "{{ '<|im_start|>system\\nYou are a small model.<|im_end|>\\n' }}{% endif %}")

ZEPHYR = """\
{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""

ALTERNATE = """\
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('Users and assistants must take turns') }}
    {% endif %}
"""

VICUNA = """\
{%- if messages[0]['role'] == 'system' -%}
    {%- set loop_messages = messages[1:] -%}
    {%- set system_message = messages[0]['content'] -%}
{%- else -%}
    {%- set loop_messages = messages -%}
    {%- set system_message = "A chat between a curious user and an artificial intelligence assistant. " +
        "The assistant gives helpful, detailed, and polite answers to the user's questions." -%}
{%- endif -%}
{{ bos_token + system_message }}
{%- for message in loop_messages -%}
""" + ALTERNATE.replace("{%", "{%-").replace("%}", "-%}") + """\
    {%- if message['role'] == 'user' -%}
        {{ ' USER: ' + message['content'].strip() }}
    {%- else -%}
        {{ ' ASSISTANT: ' + message['content'].strip() + eos_token }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ ' ASSISTANT:' }}
{%- endif -%}
"""

ALPACA = """\
{% if messages[0]['role'] == 'system' %}\
{% set system_message = messages[0]['content'].strip() + '\\n\\n' %}{% set messages = messages[1:] %}\
{% else %}{% set system_message = 'Below is an instruction that describes a task. \
Write a response that appropriately completes the request.\\n\\n' %}{% endif %}\
{{ bos_token + system_message }}\
{% for message in messages %}\
{{ '### Instruction:\\n' + message['content'].strip() + '\\n\\n' if message['role'] == 'user' else '### Response:\\n' + message['content'].strip() + eos_token + '\\n\\n' }}\
{% endfor %}{% if add_generation_prompt %}{{ '### Response:\\n' }}{% endif %}"""

MISTRAL = """\
{{ bos_token }}{% for message in messages %}\
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Users and assistants must take turns') }}{% endif %}\
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}\
{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}\
{% else %}{{ raise_exception('Only users and assistants are known') }}{% endif %}{% endfor %}"""

MISTRAL3 = """\
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}

{#- Calls of tools do not count here #}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("Users and assistants must take turns") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if message == user_messages[-1] and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
"""

PHI = """\
{% for message in messages %}{{ '<both>' + message.role + ' <mask>\\n' + message.content + ' <both>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<both> assistant <mask>' }}{% endif %}"""

FAMILIES = {"llama2": (LLAMA2, "<s>", "</s>"),
            "llama3": (LLAMA3, "<|begin_of_text|>", "<|eot_id|>"),
            "llama3.1": (dated("'26 Jul 2024'"), "<|begin_of_text|>", "<|eot_id|>"),
            "llama3.2": (dated("strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024'"), "<|begin_of_text|>", "<|eot_id|>"),
            "chatml": (CHATML, "<|startoftext|>", "<|im_end|>"),
            "smollm": (SMOLLM, "<|im_start|>", "<|im_end|>"),
            "zephyr": (ZEPHYR, "<s>", "</s>"),
            "vicuna": (VICUNA, "<s>", "</s>"),
            "alpaca": (ALPACA, "<s>", "</s>"),
            "mistral": (MISTRAL, "<s>", "</s>"),
            "mistral.3": (MISTRAL3, "<s>", "</s>"),
            "phi": (PHI, "<s>", "</s>")}

SPACE = "".join(chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace())

# A system's message or None, then user, assistant, user, …
CONVERSATIONS = [
    [None, "Hello!"],
    ["You are kind.\nAnswer briefly.", "Hello!"],
    ["", "Hello!"],
    ["  Be kind. \n", "\n  Who are you?  \n"],
    [SPACE + "Be kind." + SPACE, SPACE + "Who\u00a0are you?" + SPACE],
    ["\u200bBe kind.\ufeff", "\u200bHello!\u2060"],
    [None, "<s>[INST] <|eot_id|> </s>"],
    [None, "Hello!", "Hi.", "And you?"],
    ["You are kind.", " Hello! ", "Hi.", "Who?\n", "A fox.", "Where?"],
]
DATES = [None, "1 Mar 2025"]  # None: as the template has it
PIECES = ["Hello", "who", "?", " ", " ", "\n", "\t", "<|im_end|>", "{{ x }}", "{% if %}", "'", '"', "\\n", "é", "🦙", "\u3000", "\u200b", "{#"]


TOKENIZERS = {family: PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), bos_token=bos, eos_token=eos)
              for family, (_, bos, eos) in FAMILIES.items()}


def rendered(family, system, said, date):
    """The text; or None, if the template refuses the conversation."""
    messages = [{"role": "system", "content": system}] if system is not None else []
    messages += [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(said)]
    try:
        return TOKENIZERS[family].apply_chat_template(messages, chat_template=FAMILIES[family][0], tokenize=False,
                                                      add_generation_prompt=True, **({"date_string": date} if date else {}))
    except jinja2.TemplateError:
        return None


def compute(conversations):
    """Today's date is no golden value: what stands there is <today>."""
    today = datetime.now().strftime("%d %b %Y")
    cases = []
    for family, (template, bos, eos) in FAMILIES.items():
        for system, *said in conversations:
            for date in DATES if "date_string" in template else DATES[:1]:
                text = rendered(family, system, said, date)
                text = text and text.replace(f"Today Date: {today}\n", "Today Date: <today>\n")
                cases.append({"family": family, "date": date, "system": system, "said": said, "text": text})
    templates = {family: {"source": template, "bos": bos, "eos": eos} for family, (template, bos, eos) in FAMILIES.items()}
    return {"templates": templates, "cases": cases, "encoded": encode(conversations)}


ENCODED = {"tokenizers/metaspace/tokenizer.json": ["llama2", "zephyr", "vicuna", "alpaca", "mistral"],
           "tokenizers/byte_level/tokenizer.json": ["llama3", "chatml"], "foreign_tokenizers/gpt2.json": ["phi"]}


def encode(conversations):
    """Their tokens, by these tokenizers. Where a message spells a special token, transformers takes it for
    that, and we do not."""
    cases = []
    for name, families in ENCODED.items():
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(FILE.parent / name))
        for family in families:
            for system, *said in conversations:
                text = rendered(family, system, said, None)
                if text is None or any("<s>" in message for message in said):
                    continue
                cases.append({"tokenizer": name, "family": family, "system": system, "said": said,
                              "ids": tokenizer(text, add_special_tokens=False)["input_ids"]})
    return cases


def drawn(count):
    """Conversations of one to four turns, of pieces that might be taken for something else."""
    draw = random.Random(11)

    def text():
        return "".join(draw.choice(PIECES) for _ in range(draw.randrange(8)))

    return [[draw.choice([None, text()])] + [text() for _ in range(2 * draw.randrange(4) + 1)] for _ in range(count)]


def main():
    if "--many" in sys.argv[1:]:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(compute(drawn(600)), file)
            file.flush()
            return subprocess.run([sys.argv[-1], file.name]).returncode
    cases = compute(CONVERSATIONS)
    if "--check" not in sys.argv[1:]:
        FILE.write_text(json.dumps(cases, indent=1) + "\n")
        print(f"{FILE.name}: {len(cases['cases'])} conversations")
        return 0
    close = json.loads(FILE.read_text()) == cases
    print(f"{'ok  ' if close else 'FAIL'} {FILE.name}")
    print(f"{int(close)} passed, {int(not close)} failed")
    return not close


if __name__ == "__main__":
    sys.exit(main())
