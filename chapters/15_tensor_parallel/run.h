/* Chapter 15: a model that several ranks run: a text that goes on, and how near it comes to what
 * transformers computed. */
#ifndef RUN_H
#define RUN_H

#include "15_tensor_parallel/ranks.h"

#include <stdbool.h>

/* The options of a run; NULL where not given. */
typedef struct {
    const char *model, *tokenizer;
    const char *prompt; /* "" */
    const char
        *ids; /* "1,2,3" in place of a text; then the tokens that follow are printed as numbers */
    const char *compare; /* a dump of chapter 9's: its tokens are read, and the logits judged */
    int tokens;          /* to write, at most */
    float temperature;   /* 0: the most probable token */
    unsigned long seed;
    bool ignore_eos;
    bool report; /* what each rank holds, and what it has sent for a token */
} RunOptions;

/* Returns the exit status: 1 if the logits are not what they should be. Each rank calls it in its
 * turn, which it ends. */
int run_on_ranks(Ranks ranks, const RunOptions *run_options);

#endif
