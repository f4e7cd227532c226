/* A tokenizer from the command line, `build/10_tokenizer --model DIR --encode TEXT`, and tokens as people can read
 * them. */
#ifndef COMMAND_H
#define COMMAND_H

#include "10_tokenizer/tokenizer.h"

/* Bytes as they can be shown: ▁ for a space, \n for a line's end, <0x80> for what is no character. */
void print_bytes(size_t length, const char *bytes);

/* Tokens so, with a blank between two; on a terminal, in two colours. */
void print_pieces(const Tokenizer *tokenizer, size_t count, const int *ids);

void print_ids(size_t count, const int *ids);

/* Does what the command line asks for; returns false if it asks for nothing. */
bool command(int argc, char **argv);

#endif
