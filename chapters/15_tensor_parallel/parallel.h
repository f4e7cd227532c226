/* Chapter 15: the decoder on several ranks. Each rank has a shard and a decoder for it, whose cache
 * holds only this rank's heads. All ranks call these functions together. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include "09_decoder/decoder.h"
#include "15_tensor_parallel/shard_model.h"

/* A decoder whose residual stream is the same on every rank, bit for bit. */
Decoder parallel_decoder(const Shard *shard, const Kernels *kernels, int capacity);

/* decoder_forward() of chapter 9 with the all-reduces: one after the embedding, two per layer. */
void parallel_forward(Decoder *decoder, int T, int C, float out[restrict T][C], const int ids[T]);

/* The logits of T hidden states after the last norm: of all V tokens on rank 0, none on the other
 * ranks. */
void parallel_logits(const Shard *shard, const Kernels *kernels, int T, int C, const float x[T][C],
                     float logits[T][shard->whole.config.V]);

/* The most likely next token, on rank 0; on other ranks the result is meaningless. Each rank
 * computes the logits of its part of the vocabulary and sends its largest one. Logits that are NaN
 * are refused. */
int parallel_argmax(const Shard *shard, const Kernels *kernels, int C, const float last[C]);

#endif
