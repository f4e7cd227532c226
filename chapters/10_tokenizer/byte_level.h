/* The byte-level family, Llama 3: a pattern cuts the text into words, and their bytes grow into tokens. */
#ifndef BYTE_LEVEL_H
#define BYTE_LEVEL_H

#include "10_tokenizer/words.h"

/* Adds the ids of a text without special tokens. */
void byte_level_encode(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);

/* For those who read a file: to be called when all tokens are there. */
void byte_level_complete(Tokenizer *tokenizer, const char *path);

void split_pattern_free(void *pattern);

/* Meta's pattern, as tokenizer.json spells it. */
extern const char split_pattern[];

#endif
