/* Chapter 15: what one rank holds of a model. It is an ordinary model with fewer heads and a
 * narrower feed-forward layer, whose matrices lie in the same mapped files; those cut along their
 * rows, o_proj and down_proj, are copied out of them. What nobody here needs is never fetched. */
#ifndef SHARD_MODEL_H
#define SHARD_MODEL_H

#include "09_decoder/model.h"
#include "15_tensor_parallel/shard.h"

typedef struct {
    Model model; /* H, KV and F are this rank's, V is everybody's; embed_tokens and lm_head have the
                    rows of `tokens` */
    Model whole; /* in whose files the weights lie */
    int ranks, rank;
    ShardRange heads, kv_heads, hidden, tokens;
} Shard;

/* The model at `path`, opened and found to divide among so many ranks, or fail(): with the head
 * counts that do not divide, and the numbers of ranks that do. No weight is read but the norms,
 * which every rank has whole. */
Shard shard_open(const char *path, int ranks, int rank);

/* Copies what must be copied. Nothing is computed before. */
void shard_load(Shard *shard);
void shard_close(Shard *shard);

/* Bytes of matrices that this rank holds. */
size_t shard_bytes(const Shard *shard);

/* A number that is another one for another model: of its sizes, its norms, and the beginning of
 * each matrix. */
uint64_t shard_fingerprint(const Shard *shard);

#endif
