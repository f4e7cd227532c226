/* Chapter 15: the decoder on several ranks. Each has a shard, and a decoder for its model: its
 * cache has this rank's heads alone. All call these functions together. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include "09_decoder/decoder.h"
#include "15_tensor_parallel/shard_model.h"

/* A decoder whose stream is the same on every rank, bit for bit. */
Decoder parallel_decoder(const Shard *shard, const Kernels *kernels, int capacity);

/* decoder_forward() of chapter 9, with the sums in it: one after the embedding, two in each layer.
 */
void parallel_forward(Decoder *decoder, int T, int C, float out[restrict T][C], const int ids[T]);

/* The logits of T rows that are through the last norm: of all V tokens on rank 0, nothing on the
 * others. */
void parallel_logits(const Shard *shard, const Kernels *kernels, int T, int C, const float x[T][C],
                     float logits[T][shard->whole.config.V]);

/* The likeliest token to come next, on rank 0: each rank scores its part of the vocabulary, and
 * says its best. Elsewhere what is returned means nothing. Logits that are no numbers are refused.
 */
int parallel_argmax(const Shard *shard, const Kernels *kernels, int C, const float last[C]);

#endif
