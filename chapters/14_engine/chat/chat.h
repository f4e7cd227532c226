/* A conversation → the tokens of the prompt, by the template of a model.
 *
 * The template is a program in Jinja: the model's own, from chat_template.jinja or
 * tokenizer_config.json in its folder or from the .gguf, or one of chat_templates.h by name. Where
 * a model has none, its special tokens tell: ChatML's, or those of Llama 3, 3.1 or 3.2, which
 * differ in RoPE's scaling in config.json: none, by 8, or by 32. From 3.1 on there is a date in the
 * prompt. Llama 2's, Vicuna's and others have no tokens of their own, and a name must be given.
 *
 * In Llama 2's, Meta's own code puts ▁ before each [INST], as before every text, and so does this
 * with a tokenizer.model. transformers 5.23 turns that file into a tokenizer that puts none after a
 * special token: all its conversations have a ▁ less after <s>. With a tokenizer.json, what it says
 * counts.
 *
 * Source: apply_chat_template of transformers; tests/golden/chat.py has the conversations that are
 * compared. */
#ifndef CHAT_H
#define CHAT_H

#include "09_decoder/config.h"
#include "10_tokenizer/tokenizer.h"
#include "14_engine/chat/jinja.h"

/* The template of a model, and its tokenizer. */
typedef struct {
    Template template;
    const Tokenizer *tokenizer;
    const char
        *form; /* the name of one of chat_templates.h; NULL: the model has a template of its own */
    char *source, *path, *bos, *eos;
} Chat;

/* `path` is the model's folder, or its .gguf. `form` is the name of one of chat_templates.h, or
 * NULL. `date` is today's date for the template, or NULL: its own. A date for a template that has
 * none in it is refused. */
Chat chat_open(const char *path, const Tokenizer *tokenizer, const Config *config, const char *form,
               const char *date);
void chat_close(Chat *chat);

/* The template that the model brings with it, or NULL if it brings none. The caller frees. */
char *chat_own_template(const char *path);

/* The tokens of a conversation, up to where the model is to go on. The name of a special token in a
 * message is text. The caller frees. */
int *chat_tokens(const Chat *chat, size_t messages_count, const Message messages[messages_count],
                 size_t *count);

#endif
