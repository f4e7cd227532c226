/* A conversation → the prompt that a chat model was trained with, for Llama's own two formats.
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
 * followed by two line feeds in Llama 3's. The model generates the answer from there, up to </s> or
 * <|eot_id|>. */
#ifndef CHAT_FORMAT_H
#define CHAT_FORMAT_H

#include "10_tokenizer/tokenizer.h"

typedef struct {
    const char *role, *content; /* the role is "system", "user" or "assistant" */
} Message;

/* The prompt as tokens, and as text with special tokens by name. */
typedef struct {
    size_t count;
    int *ids;
    char *text;
} ChatPrompt;

/* Both take one message or more, strip the white space around each, and encode it as text: the name
 * of a special token in a message becomes ordinary tokens. fail() if the tokenizer lacks a special
 * token of the format.
 *
 * Llama 2: an optional system message, then user, assistant, user, …, the last a user's; anything
 * else is a fail(). The system message is a part of the first user's. Each turn, a user's message
 * and its answer, is encoded by itself, between BOS and EOS; the last has no answer yet, and no
 * EOS. Source: Llama.chat_completion in Meta's llama/generation.py.
 *
 * Llama 3: each message has a header with its role, and <|eot_id|> at its end; the header of the
 * answer is the last. Source: ChatFormat.encode_dialog_prompt in Meta's llama3/tokenizer.py. */
ChatPrompt llama2_prompt(const Tokenizer *tokenizer, size_t count, const Message messages[count]);
ChatPrompt llama3_prompt(const Tokenizer *tokenizer, size_t count, const Message messages[count]);
void chat_prompt_free(ChatPrompt *prompt);

#endif
