/* Chapter 4: causal scaled dot-product attention, one head. Each position compares its query with the
 * key of every position up to its own; softmax turns the scores into attention weights, and the output
 * is the weighted sum of the values.
 *
 * T queries, S keys and values of width D. The queries are the last T of the S positions: query t is
 * at position S - T + t and attends to keys 0 .. S - T + t. With T = S that is the whole text;
 * chapter 7 needs T < S. T <= S, T >= 1, D >= 1. */
#ifndef ATTENTION_H
#define ATTENTION_H

/* scores[t][s] = q[t] . k[s] / sqrt(D), D the width of a head. Source: Vaswani et al. 2017, eq. 1.
 */
void attention_scores(int T, int S, int D, float scores[restrict T][S], const float q[T][D],
                      const float k[S][D]);

/* scores[t][s] = -infinity for every key after the query's own position: s > S - T + t. */
void causal_mask(int T, int S, float scores[T][S]);

/* e^(x - max) / sum of e^(x - max), over each row; out may be x. The maximum changes nothing but
 * keeps e^x from overflowing. A row of -infinity alone gives NaN, as in PyTorch. Source:
 * torch.softmax. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]);

/* out[t] = sum over s of weights[t][s] v[s]. */
void weighted_sum(int T, int S, int D, float out[restrict T][D], const float weights[T][S],
                  const float v[S][D]);

/* All four steps: softmax(mask(q k^T / sqrt(D))) v. `scores` is scratch and holds the attention
 * weights afterwards. Source: torch.nn.functional.scaled_dot_product_attention(is_causal=True),
 * where T = S. */
void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D],
               const float k[S][D], const float v[S][D], float scores[restrict T][S]);

#endif
