/* Chapter 11: a text that goes on. What was read, what is written, and the dice. */
#ifndef GENERATION_H
#define GENERATION_H

#include "09_decoder/decoder.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/sampling.h"

#include <stdio.h>

typedef struct {
    Decoder decoder;
    Sampling sampling;
    Random random;
    int *ids;      /* [capacity]: all tokens so far, those of the prompt and those that were chosen */
    float *logits; /* [V]: the scores of what comes next */
} Generation;

Generation generation_new(const Model *model, int capacity, Sampling sampling, unsigned long seed);
void generation_free(Generation *generation);

/* Reads tokens: the prompt, or the token that was chosen. Refused, in one line, if they do not fit the capacity, or if
 * the model answers with logits that are no numbers. */
void generation_read(Generation *generation, int count, const int ids[count]);

/* Chooses the token to come next, once; it is not read yet. */
int generation_choose(Generation *generation);

/* The ids of a text with BOS before them, if the tokenizer has one. The caller frees. */
int *encode_with_bos(const Tokenizer *tokenizer, size_t length, const char text[length], size_t *count);

/* Whether a token ends the text: one of config.json's eos_token_id, or Llama 3's <|eot_id|> and <|eom_id|>. */
bool ends_text(const Model *model, const Tokenizer *tokenizer, int id);

/* Text that appears as it is made. A token may be a part of a character: it is held back until the rest has come. What
 * can be no UTF-8 is shown as U+FFFD. */
typedef struct {
    FILE *file;
    char held[4];
    int count;
} Stream;

void stream_write(Stream *stream, size_t length, const char text[length]);
void stream_end(Stream *stream); /* shows what was held back */

/* exp of the mean of -log p over a text's tokens: between how many the model wavers, on average. The text is cut into
 * pieces; each, with BOS before it, fills a window of so many positions (2 or more) and is read by itself. `progress` is
 * called after each with the tokens done. count > 0. Source: https://huggingface.co/docs/transformers/perplexity. */
double perplexity(const Model *model, int bos, size_t count, const int ids[count], int window,
                  void progress(size_t done, size_t count));

#endif
