/* The command line of `llama`. */
#ifndef ARGS_H
#define ARGS_H

#include "11_generation/sampling.h"
#include "common/options.h"

/* The options as they were given; NULL for one that was not. */
typedef struct {
    const char *model, *tokenizer, *prompt, *ids, *tokens, *temperature, *top_k, *top_p, *min_p,
        *repetition_penalty, *seed, *context, *threads, *chat, *template, *system, *date,
        *perplexity, *logprobs, *ignore_eos, *quiet, *bf16, *exact;
    const char *stops[OPTION_TIMES + 1]; /* NULL after the last */
} Args;

typedef struct {
    SamplingParams sampling;
    int tokens;
    int logprobs; /* how many of the most likely tokens are shown; -1: none, and the text instead */
    unsigned long seed;
} Settings;

/* Two options that exclude each other are a usage_error(), so that none is ignored silently. */
void args_validate(const Args *args);

/* Every number is read here, so that a bad one is refused before a large model is opened. */
Settings args_settings(const Args *args);

/* The sampling options, or where one was not given, its default. */
SamplingParams args_sampling(const Args *args, SamplingParams defaults);

/* The value of --temperature, 0 or COLDEST to HOTTEST; or usage_error(). */
float temperature_of(const char *text);

static inline const char *or_default(const char *given, const char *otherwise) {
    return given ? given : otherwise;
}

#endif
