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
 * and after that the model writes, up to </s> or <|eot_id|>. White space at both ends of a message is taken away.
 * Source: the chat_template of Llama-2-7b-chat-hf and of Meta-Llama-3-8B-Instruct, which transformers'
 * apply_chat_template follows; Meta's llama/generation.py and llama3/tokenizer.py. */
#ifndef CHAT_H
#define CHAT_H

#include "10_tokenizer/tokenizer.h"

/* The tokens of a turn: the user's message, and what makes the model answer it. With the first turn goes the system's
 * message, NULL if there is none; every later one begins with what ends the answer before. Names of special tokens
 * that somebody writes into a message stay text. The caller frees. */
int *chat_turn(const Tokenizer *tokenizer, bool first, const char *system, const char *user, size_t *count);

#endif
