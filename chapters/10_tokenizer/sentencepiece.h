/* SentencePiece's family, Llama 1 and 2: characters grow into pieces, and a space is the character ▁. */
#ifndef SENTENCEPIECE_H
#define SENTENCEPIECE_H

#include "10_tokenizer/words.h"

#define SPACE "▁" /* U+2581, what a space is written as */

/* Adds the ids of a text without special tokens. `first`: it is the beginning of the whole text. */
void sentencepiece_encode(const Tokenizer *tokenizer, size_t length, const char *text, bool first, Ids *ids);

/* For those who read a file: adds a token and returns its id. At `room` its bytes are written, at most as many as its
 * name has. When all tokens are there, sentencepiece_complete() is to be called. */
int sentencepiece_add(Tokenizer *tokenizer, const char *path, Token token, char *room);
void sentencepiece_complete(Tokenizer *tokenizer);

/* Which two characters any token has side by side; and how far it is in a text to the next two that none has: nothing
 * merges across. */
void find_pairs(Tokenizer *tokenizer);
size_t word_length(const Tokenizer *tokenizer, size_t length, const char *text);

int byte_of(int length, const char *piece); /* "<0x0A>" is 10; -1 if the piece is no byte's */

#endif
