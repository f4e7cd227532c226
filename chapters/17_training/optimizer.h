/* Chapter 17: training. A gradient says which way is down; these say how far to go.
 *
 * A step of training: the gradients of some texts are added up, clipped if they are too large
 * together, and each weight goes downhill by about the learning rate, whatever the size of its
 * gradient. Inner arithmetic is double, and each number that is kept is rounded once: the error is
 * at most that of PyTorch, which computes in float. */
#ifndef OPTIMIZER_H
#define OPTIMIZER_H

#include "common/linear.h"
#include "common/tensor.h"

#include <stddef.h>

/* One step of AdamW for n weights, whose two memories m and v are 0 before the first step. With g
 * for the gradient: m = beta1 m + (1 - beta1) g           a mean of the last gradients v = beta2 v
 * + (1 - beta2) g^2         and of their squares weight -= rate decay weight           decoupled:
 * the decay goes past m and v weight -= rate (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) +
 * eps) step counts from 1. No array may overlap another. What is done to one weight does not depend
 * on the others: a model's arrays may be given whole, or piece by piece, as by several threads.
 * Llama 2: beta1 0.9, beta2 0.95, eps 1e-5, decay 0.1.
 * Source: Loshchilov, Hutter 2017, algorithm 2; torch.optim.AdamW. */
void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
           const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
           float decay);

/* One step of Muon for a matrix of rows x columns, whose memory m is 0 before the first step. With
 * g for the gradient: m = beta m + (1 - beta) g                         a mean of the last
 * gradients x = beta m + (1 - beta) g                         Nesterov: and once more the newest x
 * = x / max(norm of x, 1e-7)                      the root of the sum of all squares x = a x + b (x
 * x^T) x + c (x x^T)^2 x             five times, with a 3.4445, b -4.7750, c 2.0315: Newton, Schulz
 *     weight -= rate decay weight                       decoupled
 *     weight -= rate sqrt(max(1, rows / columns)) x
 * x has the directions of the mean, all of them about as long: its singular values end between 0.68
 * and 1.21. The whole matrix is needed at once. Products are rounded to float32; PyTorch rounds x,
 * and all that becomes of it, to bfloat16. Source: Jordan and others 2024,
 * https://kellerjordan.github.io/posts/muon; torch.optim.Muon. */
void muon(int rows, int columns, float weight[restrict rows][columns],
          float m[restrict rows][columns], const float gradient[rows][columns], float rate,
          float beta, float decay);

/* The same, with `multiply` in place of linear(): another body of the same contract, such as a
 * table of TrainingKernels has. */
void muon_with(__typeof__(linear) *multiply, int rows, int columns,
               float weight[restrict rows][columns], float m[restrict rows][columns],
               const float gradient[rows][columns], float rate, float beta, float decay);

/* Whether a model's tensor is for Muon: the matrices of the layers are. The embedding and lm_head
 * are lists, in which each row is a token's own; they are left to adamw, and so are the norms'
 * vectors. */
bool uses_muon(const Tensor *tensor);

/* Whether a model's tensor decays: the matrices do, embeddings among them, and the norms' vectors
 * do not. One that does not is given to adamw with a decay of 0. Source: nanoGPT's
 * configure_optimizers. */
bool uses_weight_decay(const Tensor *tensor);

/* The norm of all arrays together, with n[a] numbers in array a. If max_norm / (norm + 1e-6) is
 * below 1, every number is multiplied by it. If the norm is NaN, every number becomes NaN, so that
 * the error is seen; if it is infinite, every finite number becomes 0. Returns the norm before
 * clipping. Source: torch.nn.utils.clip_grad_norm_. */
double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays],
                     float max_norm);

/* The learning rate of step 1, 2, … steps: a straight line to `peak`, which step `warmup` has, and
 * from there half a cosine down to `lowest`, which step `steps` has, and whatever follows. warmup
 * may be 0. Llama 2: 2000 steps of warm-up, and lowest is peak / 10. Source: torch's LinearLR, then
 * CosineAnnealingLR. */
float learning_rate(int step, int warmup, int steps, float peak, float lowest);

/* The micro-batches of one step: what share each has in the mean loss over all counted targets. It
 * is that of its targets, count_targets(rows, targets[b]) of all, and not 1 / batches.
 * decoder_backward takes it as dloss, and the gradients that are added up are those of one large
 * batch. All are 0 if nothing counts. */
void microbatch_weights(int batches, int rows, float shares[batches],
                        const int targets[batches][rows]);

#endif
