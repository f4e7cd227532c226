/* The byte-level family, Llama 3: a pattern cuts the text into words, and their bytes grow into tokens. */
#ifndef BYTE_LEVEL_H
#define BYTE_LEVEL_H

#include "10_tokenizer/words.h"

/* Adds the ids of a text without special tokens. */
void byte_level_encode(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);

/* For those who read a file. Some spell bytes as letters, in the alphabet of GPT-2: the bytes of such a name, and how
 * many they are, or -1 if it is no such name. They are no more than its own. */
int alphabet_bytes(int length, const char *name, char *bytes);
int alphabet_name(int length, const char *bytes, char *name); /* and back: at most twice as many */

/* Adds a token whose name is spelled so, if it is NORMAL; at `room` its bytes are written. When all tokens are there,
 * byte_level_complete() is to be called. */
void byte_level_add(Tokenizer *tokenizer, const char *path, Token token, char *room);
void byte_level_complete(Tokenizer *tokenizer);

void split_pattern_free(void *pattern);

/* Meta's pattern, as tokenizer.json spells it. */
extern const char split_pattern[];

#endif
