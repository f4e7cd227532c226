/* Chapter 11, your turn: the samplers.
 *
 *     make exercise-11
 *
 * judges each function against transformers, names the mistake if it knows it, and says how far you
 * are. The contracts are in sampling.h; a token that is ruled out gets -INFINITY, and out may be
 * the same array as logits. The (void) lines only keep an empty body from warning, and go when you
 * begin. */
#include "11_generation/sampling.h"

/* Task 1. One division. Which way does a temperature of 2 tilt the probabilities? */
void temperature(int V, float out[V], const float logits[V], float T) {
    (void)V, (void)out, (void)logits, (void)T;
}

/* Task 2. The k-th largest logit is the least that stays. What if several equal it? What if k is
 * larger than V? */
void top_k(int V, float out[V], const float logits[V], int k) {
    (void)V, (void)out, (void)logits, (void)k;
}

/* Task 3. Every token stays that is at least p times as likely as the likeliest. You do not need
 * the sum of all e^logit. Why not? */
void min_p(int V, float out[V], const float logits[V], float p) {
    (void)V, (void)out, (void)logits, (void)p;
}

/* Task 4. A token that was seen counts once, however often it was seen, and a negative logit is
 * multiplied. */
void repetition_penalty(int V, int n, float out[V], const float logits[V], const int ids[n],
                        float penalty) {
    (void)V, (void)n, (void)out, (void)logits, (void)ids, (void)penalty;
}

/* The challenge, without a hint: the fewest tokens that together have p. sampling.h says how many
 * stay if p is 0, and which of equally likely ones. */
void top_p(int V, float out[V], const float logits[V], float p) {
    (void)V, (void)out, (void)logits, (void)p;
}
