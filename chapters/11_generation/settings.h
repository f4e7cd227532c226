/* Chapter 11: what `llama` is asked for. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "11_generation/sampling.h"
#include "common/options.h"

/* The command line, word by word; NULL for what it does not say. */
typedef struct {
    const char *model, *tokenizer, *prompt, *ids, *tokens, *temperature, *top_k, *top_p, *min_p, *repetition_penalty,
        *seed, *context, *threads, *chat, *template, *system, *date, *perplexity, *logprobs, *ignore_eos, *quiet, *bf16,
        *exact;
    const char *stops[OPTION_TIMES + 1]; /* NULL behind the last */
} Words;

typedef struct {
    Sampling sampling;
    int tokens;
    int logprobs; /* of so many tokens are shown; -1: of none */
    unsigned long seed;
} Settings;

/* Of two options that do not go together, one would be ignored without a word: that is a usage_error(). */
void words_check(const Words *words);

/* Every number is read here, so that a bad one is refused before a large model is opened. */
Settings settings_of(const Words *words);

/* What the words say of sampling, and where they say nothing, what there is otherwise. */
Sampling sampling_of(const Words *words, Sampling otherwise);

static inline const char *or(const char *said, const char *otherwise) { return said ? said : otherwise; }

#endif
