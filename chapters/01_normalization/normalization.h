/* Chapter 1: normalization. A token is a row of `dim` numbers; a norm makes a copy of it that has a
 * common size.
 *
 * Statistics are summed in double: a row is read once from memory either way, and the result is
 * then as exact as a float32 can be, in whatever order the sum is taken. (Chapter 12 adds a few
 * squares at a time in float32 first: numbers beyond 1e19 overflow there, as they do in PyTorch.)
 * In every kernel rows >= 0 and dim >= 1; out must not overlap the inputs. */
#ifndef NORMALIZATION_H
#define NORMALIZATION_H

#include "common/tensor.h"

/* (x - mean) / sqrt(variance + eps) * weight + bias, over each row.
 * mean = sum(x) / dim; variance = sum((x - mean)^2) / dim: the biased one, divided by dim and not
 * by dim - 1. Source: Ba, Kiros, Hinton 2016, eq. 4; torch.nn.LayerNorm. */
void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps);

/* x / sqrt(mean(x^2) + eps) * weight, over each row.
 * Source: Zhang, Sennrich 2019, eq. 4; torch.nn.RMSNorm; LlamaRMSNorm of transformers in float32. */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], float eps);

/* layer_norm's formula with the statistics over each column: all rows, one feature.
 * Source: Ioffe, Szegedy 2015, algorithm 1; torch.nn.functional.batch_norm(training=True). */
void batch_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps);

/* tanh(alpha x) * weight + bias: no statistics at all.
 * Source: Zhu, Chen, He, LeCun, Liu 2025 (arXiv 2503.10622), eq. 3. */
void dyt(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
         const float weight[dim], const float bias[dim], float alpha);

/* RMSNorm on bfloat16 tensors. 1 / sqrt(mean(x^2) + eps) is summed in double and then rounded to
 * float32, in which PyTorch has it; from there on two functions differ only in where they round.
 * Llama's rounds the normalized row to bf16 and then multiplies by the weight, rounding again:
 *     weight * x_normalized.to(bf16)             LlamaRMSNorm of transformers; Meta's RMSNorm */
void rms_norm_bf16(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim],
                   const bf16 weight[dim], float eps);

/* PyTorch's multiplies in float32 and rounds once:
 *     (weight * x_normalized).to(bf16)           torch.nn.RMSNorm */
void rms_norm_bf16_round_once(int rows, int dim, bf16 out[restrict rows][dim],
                              const bf16 x[rows][dim], const bf16 weight[dim], float eps);

#endif
