/* Chapter 17: training. From the gradients to the step.
 *
 * A training step adds up the gradients of a batch, clips them if their norm is too large, and
 * moves each weight by about the learning rate, whatever the size of its gradient. Intermediate
 * results are double, and each stored number is rounded once, so the error is at most that of
 * PyTorch, which computes in float. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "common/linear.h"
#include "common/tensor.h"

#include <stddef.h>

/* One step of AdamW for n weights, whose m and v are 0 before the first step. With g for the
 * gradient, and step counting from 1:
 *
 *     m = beta1 m + (1 - beta1) g
 *     v = beta2 v + (1 - beta2) g^2
 *     weight -= rate decay weight
 *     weight -= rate (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps)
 *
 * No array may overlap another. Each weight is updated independently of the others, so a model's
 * arrays may be passed whole or piece by piece, for example by several threads. Llama 2 has beta1
 * 0.9, beta2 0.95, eps 1e-5, decay 0.1.
 * Source: Loshchilov, Hutter 2017, algorithm 2; torch.optim.AdamW. */
void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
           const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
           float decay);

/* One step of Muon for a matrix of rows x columns, whose m is 0 before the first step. With g for
 * the gradient:
 *
 *     m = beta m + (1 - beta) g
 *     x = beta m + (1 - beta) g                  (Nesterov)
 *     x = x / max(norm of x, 1e-7)               (the root of the sum of all squares)
 *     x = a x + b (x x^T) x + c (x x^T)^2 x      (five times: Newton, Schulz)
 *     weight -= rate decay weight
 *     weight -= rate sqrt(max(1, rows / columns)) x
 *
 * with a = 3.4445, b = -4.7750, c = 2.0315. The singular values of x end between 0.68 and 1.21, and
 * its directions are those of the average. The whole matrix is needed at once. Products are rounded
 * to float32; PyTorch rounds x, and all that is computed from it, to bfloat16.
 * Source: Jordan and others 2024, https://kellerjordan.github.io/posts/muon; torch.optim.Muon. */
void muon(int rows, int columns, float weight[restrict rows][columns],
          float m[restrict rows][columns], const float gradient[rows][columns], float rate,
          float beta, float decay);

/* The same with `multiply` instead of linear(): a function with the same contract, for example
 * from a table of TrainingKernels. */
void muon_with(__typeof__(linear) *multiply, int rows, int columns,
               float weight[restrict rows][columns], float m[restrict rows][columns],
               const float gradient[rows][columns], float rate, float beta, float decay);

/* Whether a tensor of the model is updated by Muon: the matrices of the layers are. The embedding
 * and lm_head are lists of one row per token, and norms have vectors; they are left to adamw. */
bool uses_muon(const Tensor *tensor);

/* Whether a tensor of the model decays: matrices do, including embeddings, and the vectors of norms
 * do not. A tensor that does not is passed to adamw with a decay of 0. Source: nanoGPT's
 * configure_optimizers. */
bool uses_weight_decay(const Tensor *tensor);

/* The norm of all arrays together, with n[a] numbers in array a. If max_norm / (norm + 1e-6) is
 * below 1, every number is multiplied by it. If the norm is NaN, every number becomes NaN, so that
 * the error is seen; if it is infinite, finite numbers become 0 and the others NaN. Returns the norm
 * before clipping. Source: torch.nn.utils.clip_grad_norm_. */
double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays],
                     float max_norm);

/* The learning rate of step 1, 2, … steps: a straight line up to `peak`, which step `warmup` has,
 * then half a cosine down to `lowest`, which step `steps` and every later step has. warmup may be
 * 0. Llama 2: 2000 steps of warm-up, and lowest is peak / 10. Source: torch's LinearLR, then
 * CosineAnnealingLR. */
float learning_rate(int step, int warmup, int steps, float peak, float lowest);

/* The weight of each micro-batch of a step in the mean loss over all targets: the fraction
 * count_targets(rows, targets[b]) of all, and not 1 / batches. If decoder_backward gets it as
 * dloss, the gradients add up to those of one large batch. All weights are 0 if there are no
 * targets. */
void microbatch_weights(int batches, int rows, float shares[batches],
                        const int targets[batches][rows]);

#endif
