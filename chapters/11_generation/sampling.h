/* Chapter 11: from the scores of all tokens to the one that is written next.
 *
 * The model gives a logit to each of V tokens; softmax(logits) are the probabilities. Each function
 * below reshapes the logits before one is drawn; a token that is ruled out gets -infinity. out may
 * be logits. They are, and follow each other as, the logits processors of transformers
 * (generation/logits_process.py). */
#ifndef SAMPLING_H
#define SAMPLING_H

#include "common/random.h"

#include <stdbool.h>

/* Makes tokens that the text already has less likely: a positive logit is divided by the penalty, a
 * negative one multiplied, once, however often the token occurs among the n ids. penalty > 0, and 1
 * changes nothing.
 * Source: RepetitionPenaltyLogitsProcessor. Keskar et al. 2019, CTRL, section 4.1, has it first,
 * and only divides. */
void repetition_penalty(int V, int n, float out[V], const float logits[V], const int ids[n],
                        float penalty);

/* logits / T: below 1 the likely ones gain, above 1 all become more alike. T > 0. Source:
 * TemperatureLogitsWarper. */
void temperature(int V, float out[V], const float logits[V], float T);

/* Keeps the k largest logits, and whatever equals the least of them. k >= 1.
 * Source: Fan et al. 2018; TopKLogitsWarper. */
void top_k(int V, float out[V], const float logits[V], int k);

/* Keeps the fewest tokens whose probabilities, the largest first, add up to p or more; one at
 * least. 0 <= p <= 1. If only some of equally likely tokens are needed, those with the largest
 * numbers stay: of four equal ones, p = 0.5 keeps tokens 2 and 3 and rules out 0 and 1.
 * (TopPLogitsWarper keeps whichever torch.sort puts last, which promises no order of equal ones; on
 * a CPU it is this one where V <= 16.) Source: Holtzman et al. 2020, section 3.1; TopPLogitsWarper.
 */
void top_p(int V, float out[V], const float logits[V], float p);

/* Keeps the tokens that are at least p times as likely as the most likely. 0 <= p <= 1.
 * Source: Nguyen et al. 2024; MinPLogitsWarper. */
void min_p(int V, float out[V], const float logits[V], float p);

/* The largest logit's token, the first of them if there are several. */
int argmax(int V, const float logits[V]);

/* The token at u in [0, 1) if all are laid side by side, each as wide as its probability: the first
 * v with p[0] + … + p[v] > u. */
int multinomial(int V, const float logits[V], double u);

/* The temperature is 0, or COLDEST to HOTTEST: divided by less, a logit could become infinite. */
#define MIN_TEMPERATURE 0.001
#define MAX_TEMPERATURE 1000

/* All of it, in transformers' order. What changes nothing: a penalty of 1, a k of 0, a top_p of 1,
 * a min_p of 0. */
typedef struct {
    float temperature; /* 0: greedy */
    int top_k;
    float top_p, min_p, repetition_penalty;
} SamplingParams;

/* The next token after n ids. The logits are reshaped in place. */
int sample(const SamplingParams *sampling, int V, float logits[V], int n, const int ids[n],
           Random *random);

#endif
