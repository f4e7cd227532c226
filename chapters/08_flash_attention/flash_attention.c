#include "08_flash_attention/flash_attention.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <string.h>

void online_softmax_tile(int keys, int D, double *m, double *l, double O[restrict D],
                         const float q[D], const float K[keys][D], const float V[keys][D]) {
    double score[keys], scale = 1 / sqrt(D), before = *m;
    for (int j = 0; j < keys; j++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < D; i++) sum += (double)q[i] * K[j][i];
        score[j] = sum * scale;
        *m = fmax(*m, score[j]);
    }
    double rescale = exp(before - *m); /* from the old maximum to the new */
    *l *= rescale;
    for (int i = 0; i < D; i++) O[i] *= rescale;
    for (int j = 0; j < keys; j++) {
        double weight = exp(score[j] - *m);
        *l += weight;
        for (int i = 0; i < D; i++) O[i] += weight * V[j][i];
    }
}

enum { Br = 16, Bc = 16 }; /* queries of a block, keys of a tile */

/* A block: `rows` queries of head h, the first of them at position `first`, share each tile of keys
 * and values. */
static void attend_block(int rows, int first, int h, int H, int KV, int D,
                         float out[restrict rows][H][D], const float q[rows][H][D],
                         const float k[first + rows][KV][D], const float v[first + rows][KV][D]) {
    double m[rows], l[rows], O[rows][D];
    float K[Bc][D], V[Bc][D];
    for (int r = 0; r < rows; r++) {
        m[r] = -INFINITY;
        l[r] = 0;
        memset(O[r], 0, sizeof O[r]);
    }
    int g = h / (H / KV), end = first + rows;
    for (int s = 0; s < end; s += Bc) {
        int keys = min_int(Bc, end - s);
        for (int j = 0; j < keys; j++) {
            memcpy(K[j], k[s + j][g], sizeof K[j]);
            memcpy(V[j], v[s + j][g], sizeof V[j]);
        }
        for (int r = 0; r < rows; r++) {
            int seen = first + r + 1 - s; /* keys from the tile's first to the query's own */
            if (seen > 0)
                online_softmax_tile(min_int(seen, keys), D, &m[r], &l[r], O[r], q[r][h], K, V);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < D; i++) out[r][h][i] = (float)(O[r][i] / l[r]);
}

void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    if (T < 1 || T > S)
        fail("flash attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV)
        fail("flash attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t += Br)
            attend_block(min_int(Br, T - t), S - T + t, h, H, KV, D, out + t, q + t, k, v);
}
