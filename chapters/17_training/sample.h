/* Chapter 17: what the model writes while it still learns. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "10_tokenizer/tokenizer.h"
#include "16_backward/parameters.h"

/* The tokens that a sample begins with: those of the prompt; of none, "", the one that begins a
 * text. Or fail(): there is no such token, or the model's context is too short for them. The caller
 * frees. */
int *prompt_ids(const Config *config, const Tokenizer *tokenizer, const char *prompt, int *count);

/* Writes a line to standard output: the prompt, or the beginning of a text, and so many tokens at
 * most. The same weights and seed write the same. */
void write_sample(const Parameters *weights, const Tokenizer *tokenizer, const char *prompt,
                  int most, unsigned long seed);

#endif
