/* Chapter 4, your turn: softmax, the scores, the mask and the sum beside it, then a head of
 * attention.
 *
 *     make exercise-04
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. */
#include "04_attention/attention.h"

/* Task 1. out[r][i] = e^(x[r][i] - max) / the sum of e^(x[r][i] - max) over the row: exp and
 * INFINITY are in <math.h>. Whose maximum is it, and where must the search for it start? out may be
 * x: take care what you overwrite. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    (void)rows, (void)n, (void)out, (void)x;
}

/* Task 2. scores[t][s] = the dot product of q[t] and k[s], divided by sqrt(D). Sum in a double, and
 * mask nothing. */
void attention_scores(int T, int S, int D, float scores[restrict T][S], const float q[T][D],
                      const float k[S][D]) {
    (void)T, (void)S, (void)D, (void)scores, (void)q, (void)k;
}

/* Task 3. scores[t][s] = -INFINITY for every key that comes after the query. The queries are the
 * last T of S positions: query t is at position S - T + t. Leave the scores of all other keys as
 * they are. */
void causal_mask(int T, int S, float scores[T][S]) { (void)T, (void)S, (void)scores; }

/* Task 4. out[t] = the sum over s of weights[t][s] v[s]. Which of the three loops is the innermost,
 * if you sum in a double? And if out[t] itself is the sum? */
void weighted_sum(int T, int S, int D, float out[restrict T][D], const float weights[T][S],
                  const float v[S][D]) {
    (void)T, (void)S, (void)D, (void)out, (void)weights, (void)v;
}

/* The challenge, without a hint: causal attention. `scores` is scratch for T rows of S
 * numbers. */
void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D],
               const float k[S][D], const float v[S][D], float scores[restrict T][S]) {
    (void)T, (void)S, (void)D, (void)out, (void)q, (void)k, (void)v, (void)scores;
}
