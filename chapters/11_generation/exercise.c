/* Chapter 11, your turn: the samplers.
 *
 *     make exercise-11
 *
 * compares each function with transformers, names the mistake if it is known, and says how far you
 * are. sampling.h describes the functions. A token that is ruled out gets the logit -INFINITY, and
 * out may be the same array as logits. The (void) lines only prevent warnings about an empty body;
 * delete them when you begin. */
#include "11_generation/sampling.h"

#include <math.h>

/* Task 1. One division. Does a temperature of 2 make the probabilities flatter or sharper? */
void temperature(int V, float out[V], const float logits[V], float T) {
    (void)V, (void)out, (void)logits, (void)T;
}

/* Task 2. The k-th largest logit is the smallest that is kept, and so is every logit that equals
 * it. What if k is larger than V? */
void top_k(int V, float out[V], const float logits[V], int k) {
    (void)V, (void)out, (void)logits, (void)k;
}

/* Task 3. Keep every token that is at least p times as likely as the most likely one. You do not
 * need the sum of all e^logit. Why not? */
void min_p(int V, float out[V], const float logits[V], float p) {
    (void)V, (void)out, (void)logits, (void)p;
}

/* Task 4. Penalize each token that occurs among the n ids once, however often it occurs. Divide a
 * positive logit, multiply a negative one. */
void repetition_penalty(int V, int n, float out[V], const float logits[V], const int ids[n],
                        float penalty) {
    (void)V, (void)n, (void)out, (void)logits, (void)ids, (void)penalty;
}

/* The challenge, without a hint: the smallest set of most likely tokens whose probabilities sum to
 * p or more. sampling.h says how many are kept if p is 0, and which of equally likely ones. */
void top_p(int V, float out[V], const float logits[V], float p) {
    (void)V, (void)out, (void)logits, (void)p;
}
