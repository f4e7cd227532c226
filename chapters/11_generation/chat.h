/* Chapter 11: a conversation, in the words that a chat model was trained with.
 *
 *   Llama 2    <s>[INST] <<SYS>>
 *              You are kind.
 *              <</SYS>>
 *
 *              Hello! [/INST] Hi. </s><s>[INST] And you? [/INST]
 *
 *   Llama 3    <|begin_of_text|><|start_header_id|>system<|end_header_id|>
 *
 *              You are kind.<|eot_id|><|start_header_id|>user<|end_header_id|>
 *
 *              Hello!<|eot_id|><|start_header_id|>assistant<|end_header_id|>
 *
 * and after that the model writes, up to </s> or <|eot_id|>. The form is a template in Jinja: the model's own, from
 * chat_template.jinja or tokenizer_config.json in its folder or from the .gguf, or one of forms.h by name. Where there
 * is none, special tokens that are made for a form show it: ChatML's, or those of Llama 3, 3.1 or 3.2; config.json
 * shows by RoPE's scaling which: none, by 8, or by 32. From 3.1 on there is a date in it. Llama 2's, Vicuna's and
 * others have no tokens of their own, and a name must be given.
 *
 * In Llama 2's, Meta's own code puts ▁ before each [INST], as before every text, and so do we with a tokenizer.model.
 * transformers 5.23 makes of that file a tokenizer that puts none behind a special token: all its conversations have a
 * ▁ less after <s>. A folder with a tokenizer.json has what that says.
 *
 * Source: apply_chat_template of transformers; tests/golden/chat.py has the conversations that are compared. */
#ifndef CHAT_H
#define CHAT_H

#include "09_decoder/config.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/jinja.h"

/* How a model is talked to. */
typedef struct {
    Template template;
    const Tokenizer *tokenizer;
    const char *form; /* one of forms.h's names; NULL: the model has a template of its own */
    char *source, *path, *bos, *eos;
} Chat;

/* `path` is the model's folder, or its .gguf. `form` is one of forms.h's names, or NULL; `date` is what the template is
 * told for today, or NULL: what it takes by itself. A date for a template that asks for none is refused. */
Chat chat_open(const char *path, const Tokenizer *tokenizer, const Config *config, const char *form, const char *date);
void chat_close(Chat *chat);

/* The template that the model brings with it, or NULL; fail() where what it brings is none. The caller frees. */
char *chat_own_template(const char *path);

/* The tokens of a conversation, up to where the model is to go on. Names of special tokens that somebody writes into a
 * message stay text. The caller frees. */
int *chat_tokens(const Chat *chat, size_t messages_count, const Message messages[messages_count], size_t *count);

#endif
