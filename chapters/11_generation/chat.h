/* Chapter 11: a conversation, in the words that Llama's chat models were trained with.
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
 * and after that the model writes, up to </s> or <|eot_id|>. In Llama 2's, Meta's own code puts ▁ before each [INST], as
 * before every text, and so do we with a tokenizer.model. transformers 5.23 makes of that file a tokenizer that puts none
 * behind a special token: all its conversations have a ▁ less after <s>. A folder without tokenizer.model has what its
 * tokenizer.json says. White space at both ends of a message is taken away. From
 * Llama 3.1 on there always is a system's message, and it begins with two dates:
 *
 *              Cutting Knowledge Date: December 2023
 *              Today Date: 26 Jul 2024
 *
 *              You are kind.
 *
 * Source: the chat_template of Llama-2-7b-chat-hf, Meta-Llama-3-8B-Instruct, Llama-3.1-8B-Instruct and
 * Llama-3.2-1B-Instruct, by transformers' apply_chat_template; tests/golden/chat.py says what is in them. */
#ifndef CHAT_H
#define CHAT_H

#include "09_decoder/config.h"
#include "10_tokenizer/tokenizer.h"

/* The date that the model's own template takes for today, or NULL if it writes none: Llama 3.1 and 3.3 say that it is
 * the 26th of July 2024, Llama 3.2 asks the clock. The tokenizers of Llama 3 to 3.3 are alike; which one this is,
 * config.json shows by RoPE's scaling: none, by 8, or by 32. */
const char *chat_date(const Config *config, char date[static 32]);

/* The tokens of a turn: the user's message, and what makes the model answer it. With the first turn goes the system's
 * message, NULL if there is none, and the date, NULL for a model that is told none; every later turn begins with what
 * ends the answer before. Names of special tokens that somebody writes into a message stay text. The caller frees. */
int *chat_turn(const Tokenizer *tokenizer, bool first, const char *date, const char *system, const char *user,
               size_t *count);

#endif
