#include "06_grouped_query/grouped_query.h"
#include "05_attention/attention.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* One head out of many: rows of D numbers that lie next to each other, as chapter 5 wants them. */
static void copy_head(int rows, int heads, int D, int head, float out[restrict rows][D], const float x[rows][heads][D]) {
    for (int r = 0; r < rows; r++) memcpy(out[r], x[r][head], (size_t)D * sizeof(float));
}

void attend_last(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                 const float k[S][KV][D], const float v[S][KV][D]) {
    if (T < 1 || T > S) fail("attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV) fail("attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    float(*head_q)[D] = allocate((size_t)T * sizeof *head_q), (*head_out)[D] = allocate((size_t)T * sizeof *head_out);
    float(*head_k)[D] = allocate((size_t)S * sizeof *head_k), (*head_v)[D] = allocate((size_t)S * sizeof *head_v);
    float(*scores)[S] = allocate((size_t)T * sizeof *scores);
    for (int h = 0; h < H; h++) {
        int g = h / (H / KV);
        copy_head(T, H, D, h, head_q, q);
        copy_head(S, KV, D, g, head_k, k);
        copy_head(S, KV, D, g, head_v, v);
        attention(T, S, D, head_out, head_q, head_k, head_v, scores);
        for (int t = 0; t < T; t++) memcpy(out[t][h], head_out[t], (size_t)D * sizeof(float));
    }
    free(head_q), free(head_out), free(head_k), free(head_v), free(scores);
}

void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                             const float k[T][KV][D], const float v[T][KV][D]) {
    attend_last(T, T, H, KV, D, out, q, k, v);
}

long attention_parameters(long C, long H, long KV, long D) { return C * H * D + 2 * C * KV * D + H * D * C; }

long kv_bytes_per_token(long L, long KV, long D, long bytes) { return 2 * L * KV * D * bytes; }
