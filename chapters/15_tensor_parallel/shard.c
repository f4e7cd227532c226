#include "15_tensor_parallel/shard.h"
#include "03_feed_forward/feed_forward.h"
#include "common/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

ShardRange shard_range(int count, int ranks, int rank) {
    int first = (int)((int64_t)count * rank / ranks),
        end = (int)((int64_t)count * (rank + 1) / ranks);
    return (ShardRange){first, end - first};
}

void shard_columns(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                   const float weight[F][C]) {
    ShardRange own = shard_range(F, ranks, rank);
    memcpy(part, weight[own.first], (size_t)own.count * sizeof *part);
}

void shard_rows(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                const float weight[C][F]) {
    ShardRange own = shard_range(F, ranks, rank);
    for (int c = 0; c < C; c++) memcpy(part[c], &weight[c][own.first], sizeof *part);
}

void shard_heads(int ranks, int rank, int H, int KV, int kept, int D, int C,
                 float part[restrict H / ranks + 2 * kept][D][C],
                 const float qkv[H + 2 * KV][D][C]) {
    int heads = H / ranks, first = rank * heads, first_kv = first / (H / KV);
    const float(*keys)[D][C] = qkv + H, (*values)[D][C] = keys + KV;
    memcpy(part, qkv[first], (size_t)heads * sizeof *part);
    memcpy(part[heads], keys[first_kv], (size_t)kept * sizeof *part);
    memcpy(part[heads + kept], values[first_kv], (size_t)kept * sizeof *part);
}

void vocabulary_embedding(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                          const int ids[T], const float part[V / ranks][C]) {
    ShardRange own = shard_range(V, ranks, rank);
    for (int t = 0; t < T; t++) {
        int row = ids[t] - own.first;
        if (row >= 0 && row < own.count) memcpy(out[t], part[row], sizeof *out);
        else memset(out[t], 0, sizeof *out);
    }
}

int vocab_parallel_argmax(int ranks, int V, const float largest[ranks], const int place[ranks]) {
    int best = 0;
    for (int rank = 1; rank < ranks; rank++)
        if (largest[rank] > largest[best]) best = rank;
    return shard_range(V, ranks, best).first + place[best];
}

/* One rank's partial sum, from its columns of gate and up and its rows of down. */
static void rank_feed_forward(int ranks, int rank, int T, int C, int F, float delta[restrict T][C],
                              const float normed[T][C], const float gate[F][C],
                              const float up[F][C], const float down[C][F]) {
    int own = F / ranks;
    float(*gate_part)[C] = xmalloc((size_t)own * sizeof *gate_part);
    float(*up_part)[C] = xmalloc((size_t)own * sizeof *up_part);
    float(*down_part)[own] = xmalloc((size_t)C * sizeof *down_part);
    float(*opened)[own] = xmalloc((size_t)T * sizeof *opened),
    (*hidden)[own] = xmalloc((size_t)T * sizeof *hidden);
    shard_columns(ranks, rank, F, C, gate_part, gate);
    shard_columns(ranks, rank, F, C, up_part, up);
    shard_rows(ranks, rank, C, F, down_part, down);
    gated_feed_forward(T, C, own, delta, normed, gate_part, up_part, down_part, swiglu, opened,
                       hidden);
    free(gate_part);
    free(up_part);
    free(down_part);
    free(opened);
    free(hidden);
}

void parallel_feed_forward(int ranks, int T, int C, int F, float out[restrict T][C],
                           const float x[T][C], const float normed[T][C], const float gate[F][C],
                           const float up[F][C], const float down[C][F]) {
    float(*delta)[C] = xmalloc((size_t)T * sizeof *delta);
    memcpy(out, x, (size_t)T * sizeof *out);
    for (int rank = 0; rank < ranks; rank++) {
        rank_feed_forward(ranks, rank, T, C, F, delta, normed, gate, up, down);
        for (int t = 0; t < T; t++)
            for (int c = 0; c < C; c++) out[t][c] += delta[t][c];
    }
    free(delta);
}
