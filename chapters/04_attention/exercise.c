/* Chapter 4, exercises: softmax, the scores, the mask and the weighted sum, and then a whole head
 * of attention.
 *
 *     make exercise-04
 *
 * compares each function with PyTorch, names your mistake if it recognizes it, and shows your
 * progress.
 * Write the functions from top to bottom. The (void) lines only prevent warnings about an empty
 * body; delete them when you begin. */
#include "04_attention/attention.h"

#include <math.h>

/* Task 1. out[r][i] = e^(x[r][i] - max) / the sum of e^(x[r][i] - max) over the row. Compute each
 * exponential only once. The maximum of what is max, and where must the search for it start? out
 * may be the same array as x, so take care what you overwrite. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    (void)rows, (void)n, (void)out, (void)x;
}

/* Task 2. scores[t][s] = the dot product of q[t] and k[s], divided by sqrt(D). Divide the query
 * instead of the scores, so that you need D divisions per query instead of S. Mask nothing here. */
void attention_scores(int T, int S, int D, float scores[restrict T][S], const float q[T][D],
                      const float k[S][D]) {
    (void)T, (void)S, (void)D, (void)scores, (void)q, (void)k;
}

/* Task 3. scores[t][s] = -INFINITY for every key that comes after the query. The queries are the
 * last T of S positions, so query t is at position S - T + t. Leave the other scores as they are.
 */
void causal_mask(int T, int S, float scores[T][S]) { (void)T, (void)S, (void)scores; }

/* Task 4. out[t] = the sum over s of weights[t][s] v[s]. Which of the three loops is the innermost
 * if you sum in a double? Which one is it if out[t] itself holds the sums? */
void weighted_sum(int T, int S, int D, float out[restrict T][D], const float weights[T][S],
                  const float v[S][D]) {
    (void)T, (void)S, (void)D, (void)out, (void)weights, (void)v;
}

/* The challenge, without a hint: causal attention that computes no score which the mask would hide.
 * `scores` is working memory for T rows of S numbers and must hold the attention weights
 * afterwards: 0 for every later key. */
void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D],
               const float k[S][D], const float v[S][D], float scores[restrict T][S]) {
    (void)T, (void)S, (void)D, (void)out, (void)q, (void)k, (void)v, (void)scores;
}
