/* Chapter 11: a text that goes on. A decoder, a sampler and the dice; and the loop that chooses a
 * token, shows it, and reads it. */
#ifndef GENERATION_H
#define GENERATION_H

#include "09_decoder/decoder.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/sampling.h"

#include <signal.h>
#include <stdio.h>

typedef struct {
    Decoder decoder;
    SamplingParams sampling;
    Random random;
    bool ignore_eos; /* go on where the text would end */
    int chosen;      /* how many tokens were chosen so far */
    int *ids;      /* [capacity]: all tokens that were read, those of the prompt and those that were
                      chosen */
    int last;      /* the token that was chosen last; it may be read or not */
    float *logits; /* [V]: of the token to come next */
    float *before; /* NULL, or [V]: the logits that the last token was chosen by */
} Generation;

Generation generation_new(const Model *model, const Kernels *kernels, int capacity,
                          SamplingParams sampling, unsigned long seed);
void generation_free(Generation *generation);

/* Reads tokens: the prompt, or the token that was chosen. Refused, in one line, if they do not fit
 * the capacity, or if the model answers with logits that are no numbers. */
void prefill(Generation *generation, int count, const int ids[count]);

/* Forgets all but the first `length` tokens. Before the next is chosen, one at least must be read.
 */
void kv_cache_truncate(Generation *generation, int length);

/* Chooses the token to come next, once; it is not read yet. */
int sample_next(Generation *generation);

/* Text that appears as it is made. A token may be a part of a character: it is held back until the
 * rest has come. What can be no UTF-8 is shown as U+FFFD. */
typedef struct {
    FILE *file;
    FILE *also;      /* NULL, or where the same is written */
    bool skip_space; /* of the first bytes: SentencePiece writes " Once" where a text begins */
    const volatile sig_atomic_t *stop; /* NULL, or what Ctrl-C sets: nobody wants to read on */
    const char *const
        *ends;  /* NULL, or texts and NULL: where one of them would begin, the text ends */
    bool ended; /* one of them was there */
    void (*each)(void *context,
                 int id); /* NULL, or what is done with a token in place of showing its text */
    void *context;
    char held[4]; /* of a character */
    int count;
    size_t waiting_count;
    char *waiting; /* what may become one of the ends */
} Stream;

void stream_write(Stream *stream, size_t length, const char text[length]);
void stream_token(Stream *stream, const Tokenizer *tokenizer, int id);
void stream_end(Stream *stream); /* shows what was held back; frees */

/* The loop: chooses a token, shows it, reads it, and chooses the next, at most so many. Says why it
 * stopped: the model chose an end; there are enough; the last token found no room to be read; or
 * nobody reads the stream any more, or one of its ends was there. */
typedef enum { FINISH_EOS, FINISH_LENGTH, FINISH_CONTEXT_FULL, FINISH_INTERRUPTED } FinishReason;
FinishReason generate(Generation *generation, const Tokenizer *tokenizer, Stream *stream, int most);

/* The ids of a text, with BOS before them if the tokenizer wants it there; of an empty text, BOS.
 * The caller frees. */
int *encode_with_bos(const Tokenizer *tokenizer, size_t length, const char text[length],
                     size_t *count);

/* Whether a token ends the text: one of config.json's eos_token_id, the tokenizer's EOS, or Llama
 * 3's <|eot_id|> and
 * <|eom_id|>, which end a message. */
bool is_end_of_generation(const Model *model, const Tokenizer *tokenizer, int id);

/* log p of a token: its logit less the log of the sum of e^logit. */
double log_probability(int V, const float logits[V], int id);

/* exp of the mean of -log p over a text's tokens: between how many the model wavers, on average.
 * The text is cut into pieces; each, with BOS before it, fills a window of so many positions (2 or
 * more) and is read by itself. `progress` is called after each with the tokens done and their
 * perplexity. count > 0. Source: https://huggingface.co/docs/transformers/perplexity. */
double perplexity(const Model *model, const Kernels *kernels, int bos, size_t count,
                  const int ids[count], int window,
                  void progress(size_t done, size_t count, double so_far));

#endif
