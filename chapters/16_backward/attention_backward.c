#include "16_backward/backward.h"
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "08_flash_attention/flash_attention.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ RoPE */

void rope_interleaved_backward(int T, int H, int D, float dx[restrict T][H][D],
                               const float dout[T][H][D], const float cosine[T][D / 2],
                               const float sine[T][D / 2]) {
    check_pairs(D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = dout[t][h][2 * i], b = dout[t][h][2 * i + 1];
                dx[t][h][2 * i] += a * cosine[t][i] + b * sine[t][i];
                dx[t][h][2 * i + 1] += b * cosine[t][i] - a * sine[t][i];
            }
}

void rope_half_split_backward(int T, int H, int D, float dx[restrict T][H][D],
                              const float dout[T][H][D], const float cosine[T][D / 2],
                              const float sine[T][D / 2]) {
    check_pairs(D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = dout[t][h][i], b = dout[t][h][i + D / 2];
                dx[t][h][i] += a * cosine[t][i] + b * sine[t][i];
                dx[t][h][i + D / 2] += b * cosine[t][i] - a * sine[t][i];
            }
}

/* ------------------------------------------------------------------ softmax */

static double dot(int n, const float a[n], const float b[n]) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

void softmax_backward(int rows, int n, float dx[restrict rows][n], const float dp[rows][n],
                      const float p[rows][n]) {
    for (int r = 0; r < rows; r++) {
        double common = dot(n, p[r], dp[r]);
        for (int i = 0; i < n; i++) dx[r][i] += (float)(p[r][i] * (dp[r][i] - common));
    }
}

/* --------------------------------------------------------- attention that keeps a row of scores */

static void check_heads(int T, int H, int KV) {
    if (T < 1) fail("attention: %d positions: give at least one", T);
    if (KV < 1 || H % KV)
        fail("attention: %d query heads cannot share %d key/value heads evenly", H, KV);
}

/* One query, the last of `seen` tokens, and key/value head g, whose gradients are summed up in
 * double. Each step of chapter 4's attention, from the last to the first. */
static void attend_one_query_backward(int seen, int KV, int D, int g, float dq[restrict D],
                                      double dk[restrict seen][D], double dv[restrict seen][D],
                                      const float dout[D], const float q[D],
                                      const float k[seen][KV][D], const float v[seen][KV][D]) {
    float(*p)[seen] = xmalloc(3 * sizeof *p), (*dp)[seen] = p + 1, (*dscore)[seen] = p + 2;
    double query[D];
    memset(query, 0, sizeof query);
    memset(dscore, 0, sizeof *dscore);
    for (int s = 0; s < seen; s++) p[0][s] = (float)(dot(D, q, k[s][g]) / sqrt(D));
    softmax(1, seen, p, p);

    for (int s = 0; s < seen; s++) {
        dp[0][s] = (float)dot(D, dout, v[s][g]);
        for (int i = 0; i < D; i++) dv[s][i] += (double)p[0][s] * dout[i];
    }
    softmax_backward(1, seen, dscore, dp, p);
    for (int s = 0; s < seen; s++)
        for (int i = 0; i < D; i++) {
            query[i] += dscore[0][s] / sqrt(D) * k[s][g][i];
            dk[s][i] += dscore[0][s] / sqrt(D) * q[i];
        }
    for (int i = 0; i < D; i++) dq[i] += (float)query[i];
    free(p);
}

void grouped_query_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                                      float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                                      const float dout[T][H][D], const float q[T][H][D],
                                      const float k[T][KV][D], const float v[T][KV][D]) {
    check_heads(T, H, KV);
    double(*sums)[T][D] = xmalloc(2 * sizeof *sums);
    for (int g = 0; g < KV; g++) {
        memset(sums, 0, 2 * sizeof *sums);
        for (int h = g * (H / KV); h < (g + 1) * (H / KV); h++)
            for (int t = 0; t < T; t++)
                attend_one_query_backward(t + 1, KV, D, g, dq[t][h], sums[0], sums[1], dout[t][h],
                                          q[t][h], k, v);
        for (int s = 0; s < T; s++)
            for (int i = 0; i < D; i++) {
                dk[s][g][i] += (float)sums[0][s][i];
                dv[s][g][i] += (float)sums[1][s][i];
            }
    }
    free(sums);
}

/* --------------------------------------------------------------- attention that keeps no scores */

enum { TILE = 16 }; /* keys that are at hand at a time */

/* Keys and values of one head, from position `first` on, side by side. */
typedef struct {
    int first, keys;
    float *K, *V; /* [keys][D] */
} Tile;

static void fill_tile(Tile *tile, int first, int T, int KV, int D, int g, const float k[T][KV][D],
                      const float v[T][KV][D]) {
    float(*K)[D] = (void *)tile->K, (*V)[D] = (void *)tile->V;
    tile->first = first;
    tile->keys = min_int(TILE, T - first);
    for (int j = 0; j < tile->keys; j++) {
        memcpy(K[j], k[first + j][g], sizeof K[j]);
        memcpy(V[j], v[first + j][g], sizeof V[j]);
    }
}

void flash_attention_lse(int T, int H, int KV, int D, float out[restrict T][H][D],
                         float lse[restrict T][H], const float q[T][H][D], const float k[T][KV][D],
                         const float v[T][KV][D]) {
    check_heads(T, H, KV);
    double *m = xmalloc((size_t)T * sizeof *m), *l = xmalloc((size_t)T * sizeof *l);
    double(*O)[D] = xmalloc((size_t)T * sizeof *O);
    float K[TILE][D], V[TILE][D];
    Tile tile = {.K = K[0], .V = V[0]};
    for (int h = 0; h < H; h++) {
        for (int t = 0; t < T; t++) {
            m[t] = -INFINITY;
            l[t] = 0;
        }
        memset(O, 0, (size_t)T * sizeof *O);
        for (int s = 0; s < T; s += TILE) {
            fill_tile(&tile, s, T, KV, D, h / (H / KV), k, v);
            for (int t = s; t < T; t++)
                online_softmax_tile(min_int(tile.keys, t + 1 - s), D, &m[t], &l[t], O[t], q[t][h],
                                    K, V);
        }
        for (int t = 0; t < T; t++) {
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(O[t][i] / l[t]);
            lse[t][h] = (float)(m[t] + log(l[t]));
        }
    }
    free(m);
    free(l);
    free(O);
}

/* The backward pass of one query and one tile: recomputes its attention weights there, and adds
 * the gradients of q, K and V. `common` is the sum of p dp over all keys, which is out dout:
 * softmax_backward's, known without looking at any key. */
static void tile_backward(const Tile *tile, int seen, int D, float dq[restrict D],
                          double dK[restrict TILE][D], double dV[restrict TILE][D],
                          const float dout[D], const float q[D], double lse, double common) {
    const float(*K)[D] = (void *)tile->K, (*V)[D] = (void *)tile->V;
    double query[D];
    memset(query, 0, sizeof query);
    for (int j = 0; j < min_int(tile->keys, seen); j++) {
        double p = exp(dot(D, q, K[j]) / sqrt(D) - lse);
        double dscore = p * (dot(D, dout, V[j]) - common) / sqrt(D);
        for (int i = 0; i < D; i++) {
            dV[j][i] += p * dout[i];
            dK[j][i] += dscore * q[i];
            query[i] += dscore * K[j][i];
        }
    }
    for (int i = 0; i < D; i++) dq[i] += (float)query[i];
}

void flash_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                              float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                              const float dout[T][H][D], const float q[T][H][D],
                              const float k[T][KV][D], const float v[T][KV][D],
                              const float out[T][H][D], const float lse[T][H]) {
    check_heads(T, H, KV);
    double(*common)[H] = xmalloc((size_t)T * sizeof *common), dK[TILE][D], dV[TILE][D];
    float K[TILE][D], V[TILE][D];
    Tile tile = {.K = K[0], .V = V[0]};
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) common[t][h] = dot(D, dout[t][h], out[t][h]);
    for (int g = 0; g < KV; g++)
        for (int s = 0; s < T; s += TILE) {
            fill_tile(&tile, s, T, KV, D, g, k, v);
            memset(dK, 0, sizeof dK);
            memset(dV, 0, sizeof dV);
            for (int h = g * (H / KV); h < (g + 1) * (H / KV); h++)
                for (int t = s; t < T; t++)
                    tile_backward(&tile, t + 1 - s, D, dq[t][h], dK, dV, dout[t][h], q[t][h],
                                  lse[t][h], common[t][h]);
            for (int j = 0; j < tile.keys; j++)
                for (int i = 0; i < D; i++) {
                    dk[s + j][g][i] += (float)dK[j][i];
                    dv[s + j][g][i] += (float)dV[j][i];
                }
        }
    free(common);
}
