/* Chapter 16: the backward pass of every operation of a Llama model.
 *
 * dy is the gradient of the loss with respect to the output y of an operation. From dy and from the
 * inputs of the forward pass each kernel computes the gradients of the operation's inputs and
 * weights, which have the same shapes: dx of x, dweight of weight.
 *
 * Gradients are *added* to the numbers that are already there (+=), as autograd does: a number that
 * is used twice, such as a tied embedding or a hidden state of the residual stream, gets the sum of
 * both. The caller sets them to 0 first. No gradient may overlap an input. Sums are computed in
 * double and rounded once. */
#ifndef BACKWARD_H
#define BACKWARD_H

#include "02_activation/activation.h"

#include <stddef.h>

/* --------------------------------------------------- linear_backward.c: linear layer, embedding */

/* y = x weight^T + bias. dx += dy weight, dweight += dy^T x, dbias += the sum of dy's rows.
 * Each of the three may be NULL, if it is not wanted. Source: torch.nn.Linear under autograd. */
void linear_backward(int rows, int in, int out, float dx[restrict rows][in],
                     float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                     const float x[rows][in], const float weight[out][in]);

/* The gradient of the bias alone. */
void bias_backward(int rows, int out, float dbias[restrict out], const float dy[rows][out]);

/* The embedding gives each token its row of a table: x[t] = table[ids[t]]. dtable[ids[t]] += dx[t]:
 * the row of a token that occurs twice gets the sum of both. An id that is not in the vocabulary is
 * refused by fail(). Source: torch.nn.Embedding under autograd. */
void embedding_backward(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C],
                        const int ids[T]);

/* ---------------------------------------------------- norms_backward.c: chapter 1's, over each row
 *
 * With s for 1 / sqrt(... + eps), n for the normalized row (x s, or (x - mean) s) and g for dy
 * weight: */

/* dx += s (g - n mean(n g)), dweight += the sum over the rows of dy n.
 * Source: torch.nn.RMSNorm under autograd; Zhang, Sennrich 2019, section 4. */
void rms_norm_backward(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                       const float dy[rows][dim], const float x[rows][dim], const float weight[dim],
                       float eps);

/* dx += s (g - mean(g) - n mean(n g)), dweight += the sum over the rows of dy n, dbias += that of
 * dy. Source: torch.nn.LayerNorm under autograd. */
void layer_norm_backward(int rows, int dim, float dx[restrict rows][dim],
                         float dweight[restrict dim], float dbias[restrict dim],
                         const float dy[rows][dim], const float x[rows][dim],
                         const float weight[dim], float eps);

/* y = t weight + bias, t = tanh(alpha x). dx += alpha (1 - t^2) g, dalpha[0] += the sum of x (1 -
 * t^2) g over all of x, dweight += the sum over the rows of dy t, dbias += that of dy. Source:
 * torch.tanh under autograd. */
void dyt_backward(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                  float dbias[restrict dim], float dalpha[restrict 1], const float dy[rows][dim],
                  const float x[rows][dim], const float weight[dim], float alpha);

/* ------------------------------------------------------ activation_backward.c: number by number */

/* y = f(x), and derivative is f's in chapter 2: dx += dy derivative(x). */
void activation_backward(int n, float dx[restrict n], const float dy[n], const float x[n],
                         Activation *derivative);

/* out = f(gate) up, f as in chapter 3. dgate += dout up f'(gate), dup += dout f(gate).
 * Source: Shazeer 2020, eq. 5, under autograd. */
void glu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                  const float gate[n], const float up[n]);
void bilinear_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                       const float gate[n], const float up[n]);
void reglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                    const float gate[n], const float up[n]);
void geglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                    const float gate[n], const float up[n]);
void swiglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                     const float gate[n], const float up[n]);

/* ----------------------------------------------- attention_backward.c: RoPE, softmax, attention */

/* RoPE: out is x rotated by an angle, so dx is dout rotated back by it, and x itself is not needed.
 * D is even. */
void rope_interleaved_backward(int T, int H, int D, float dx[restrict T][H][D],
                               const float dout[T][H][D], const float cosine[T][D / 2],
                               const float sine[T][D / 2]); /* pairs (2i, 2i+1) */
void rope_half_split_backward(int T, int H, int D, float dx[restrict T][H][D],
                              const float dout[T][H][D], const float cosine[T][D / 2],
                              const float sine[T][D / 2]); /* pairs (i, i + D/2) */

/* p = softmax(x), over each row. dx += p (dp - the sum of p dp): an equal dp for all has no effect,
 * because p sums to 1. Source: torch.softmax under autograd. */
void softmax_backward(int rows, int n, float dx[restrict rows][n], const float dp[rows][n],
                      const float p[rows][n]);

/* Chapter 6's attention: dk and dv of a key/value head are the sums over the query heads that read
 * it. H is a multiple of KV, or fail() says so. This version keeps one row of scores at a time.
 * Source: scaled_dot_product_attention(is_causal=True, enable_gqa=True) under autograd. */
void grouped_query_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                                      float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                                      const float dout[T][H][D], const float q[T][H][D],
                                      const float k[T][KV][D], const float v[T][KV][D]);

/* flash_attention for a whole text, which also stores lse[t][h], the logarithm of the sum of
 * e^score over the keys that query t attends to. With it, any attention weight can be recomputed
 * as e^(score - lse). */
void flash_attention_lse(int T, int H, int KV, int D, float out[restrict T][H][D],
                         float lse[restrict T][H], const float q[T][H][D], const float k[T][KV][D],
                         const float v[T][KV][D]);

/* The gradients of grouped_query_attention_backward, from out and lse. The attention weights are
 * recomputed tile by tile: beside the arguments, memory grows with T H, and never with T T. Source:
 * Dao 2023 (FlashAttention-2), algorithm 2. */
void flash_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                              float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                              const float dout[T][H][D], const float q[T][H][D],
                              const float k[T][KV][D], const float v[T][KV][D],
                              const float out[T][H][D], const float lse[T][H]);

/* ------------------------------------------------- loss.c: the loss, and the norm of its gradient
 */

/* The mean over the rows of -log softmax(logits)[target]: the surprise of the model. A row whose
 * target is negative is ignored, in the sum and in the count; NaN if all are. A target that is not
 * below V is refused by fail(). Source: torch.nn.functional.cross_entropy(ignore_index=-100). */
double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]);

/* dlogits += dloss / count (softmax(logits) - 1 at the target), where a row is counted; nothing
 * where it is ignored. dloss is 1, or the weight of these rows in a larger mean. A target
 * that is not below V is refused by fail(). */
void cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V],
                            const float logits[rows][V], const int targets[rows], float dloss);

/* The same two for any way to compute a row, such as a faster one. row_loss() returns
 * -log softmax(logits)[target]; row_backward() adds share (softmax(logits) - 1 at the target) to
 * dlogits. They are called for the rows that are counted. */
typedef double RowLoss(int V, const float logits[V], int target);
typedef void RowLossBackward(int V, float dlogits[restrict V], const float logits[V], int target,
                             double share);
double mean_row_loss(RowLoss *row_loss, int rows, int V, const float logits[rows][V],
                     const int targets[rows]);
void mean_row_loss_backward(RowLossBackward *row_backward, int rows, int V,
                            float dlogits[restrict rows][V], const float logits[rows][V],
                            const int targets[rows], float dloss);

/* Counts the targets that are not negative. */
size_t count_targets(size_t n, const int targets[n]);

/* The sum of the loss weights of the targets that are not negative; NULL: each has the weight 1. */
double sum_loss_weights(size_t n, const int targets[n], const float *counts);

/* fail(), if one of them is not among V tokens. */
void check_targets(size_t n, int V, const int targets[n]);

/* The root of the sum of the squares of all n numbers. Source: torch.nn.utils.clip_grad_norm_,
 * which returns it. */
double gradient_norm(size_t n, const float gradient[n]);

#endif
