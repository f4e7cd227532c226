#include "06_grouped_query/grouped_query.h"
#include "04_attention/attention.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>

/* One query of one head: softmax(q k^T / sqrt(D)) v over keys 0 .. S - 1 of key/value head g.
 * `weights` is one row: first of scores, then of attention weights. */
static void attend_one_query(int S, int KV, int D, int g, float out[restrict D], const float q[D],
                             const float k[S][KV][D], const float v[S][KV][D],
                             float weights[1][S]) {
    double scale = 1 / sqrt(D);
    for (int s = 0; s < S; s++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < D; i++) sum += (double)q[i] * k[s][g][i];
        weights[0][s] = (float)(sum * scale);
    }
    softmax(1, S, weights, weights);
    for (int i = 0; i < D; i++) {
        double sum = 0;
        for (int s = 0; s < S; s++) sum += (double)weights[0][s] * v[s][g][i];
        out[i] = (float)sum;
    }
}

void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]) {
    if (T < 1 || T > S) fail("attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV)
        fail("attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    void *weights = xmalloc((size_t)S * sizeof(float)); /* one row at a time */
    for (int h = 0; h < H; h++) {
        int g = h / (H / KV);
        for (int t = 0; t < T; t++)
            attend_one_query(S - T + t + 1, KV, D, g, out[t][h], q[t][h], k, v, weights);
    }
    free(weights);
}

void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[T][KV][D],
                             const float v[T][KV][D]) {
    gqa_attention_with_past(T, T, H, KV, D, out, q, k, v);
}

long attention_parameters(long C, long H, long KV, long D) {
    return C * H * D + 2 * C * KV * D + H * D * C;
}

long kv_bytes_per_token(long L, long KV, long D, long bytes) { return 2 * L * KV * D * bytes; }
