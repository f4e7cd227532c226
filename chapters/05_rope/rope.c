#include "05_rope/rope.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_shape(int T, int D) {
    if (T < 1) fail("rope: %d positions: give at least one", T);
    check_pairs(D);
}

/* ------------------------------------------------------------------ the angles */

void rope_table(int T, int D, float table[restrict 2][T][D / 2], const int positions[T],
                const float inv_freq[D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D / 2; i++) {
            float angle =
                (float)positions[t] * inv_freq[i]; /* float32, as the models were trained with */
            table[COSINES][t][i] = cosf(angle);
            table[SINES][t][i] = sinf(angle);
        }
}

void scale_rope_table(int T, int D, float table[2][T][D / 2], float factor) {
    for (int n = 0; n < 2; n++)
        for (int t = 0; t < T; t++)
            for (int i = 0; i < D / 2; i++) table[n][t][i] *= factor;
}

void check_positions(int first, int T, int capacity) {
    if (T < 1) fail("rope: %d positions: give at least one", T);
    if (first < 0 || first > capacity - T)
        fail("rope: %d positions from %d on are not in a table of %d: make the table longer", T,
             first, capacity);
}

/* ------------------------------------------------------------------ one rotation, four forms */

void rope_matrix(int D, float matrix[restrict D][D], const float cosine[D / 2],
                 const float sine[D / 2]) {
    memset(matrix, 0, (size_t)D * sizeof *matrix);
    for (int i = 0; i < D / 2; i++) {
        matrix[2 * i][2 * i] = cosine[i];
        matrix[2 * i][2 * i + 1] = sine[i];
        matrix[2 * i + 1][2 * i] = -sine[i];
        matrix[2 * i + 1][2 * i + 1] = cosine[i];
    }
}

void rope_by_matrix(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                    const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_shape(T, D);
    float(*matrix)[D] = xmalloc((size_t)D * sizeof *matrix);
    for (int t = 0; t < T; t++) {
        rope_matrix(D, matrix, cosine[t], sine[t]);
        for (int h = 0; h < H; h++)
            for (int j = 0; j < D; j++) {
                float sum = 0;
                for (int i = 0; i < D; i++) sum += x[t][h][i] * matrix[i][j];
                out[t][h][j] = sum;
            }
    }
    free(matrix);
}

void rope_complex(int T, int H, int D, float complex out[restrict T][H][D / 2],
                  const float complex x[T][H][D / 2], const float complex freqs_cis[T][D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) out[t][h][i] = x[t][h][i] * freqs_cis[t][i];
}

void rope_interleaved(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                      const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
#pragma omp simd
            for (int i = 0; i < D / 2; i++) {
                float a = x[t][h][2 * i], b = x[t][h][2 * i + 1];
                out[t][h][2 * i] = a * cosine[t][i] - b * sine[t][i];
                out[t][h][2 * i + 1] = a * sine[t][i] + b * cosine[t][i];
            }
}

/* One head of the half-split form. */
static void rotate_head(int D, float out[restrict D], const float x[D], const float cosine[D / 2],
                        const float sine[D / 2]) {
#pragma omp simd
    for (int i = 0; i < D / 2; i++) {
        float a = x[i], b = x[i + D / 2];
        out[i] = a * cosine[i] - b * sine[i];
        out[i + D / 2] = a * sine[i] + b * cosine[i];
    }
}

void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) rotate_head(D, out[t][h], x[t][h], cosine[t], sine[t]);
}

void rope_qkv(int T, int H, int KV, int D, float out[restrict T][H + 2 * KV][D],
              const float qkv[T][H + 2 * KV][D], const float cosine[T][D / 2],
              const float sine[T][D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++) {
        for (int h = 0; h < H + KV; h++) rotate_head(D, out[t][h], qkv[t][h], cosine[t], sine[t]);
        memcpy(out[t][H + KV], qkv[t][H + KV], (size_t)KV * D * sizeof(float));
    }
}

/* ----------------------------------------------------------------- from one layout to the other */

void rows_to_half_split(int heads, int D, int C, float out[restrict heads * D][C],
                        const float weight[heads * D][C]) {
    check_pairs(D);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < D / 2; i++) {
            memcpy(out[h * D + i], weight[h * D + 2 * i], (size_t)C * sizeof(float));
            memcpy(out[h * D + i + D / 2], weight[h * D + 2 * i + 1], (size_t)C * sizeof(float));
        }
}

void rows_to_interleaved(int heads, int D, int C, float out[restrict heads * D][C],
                         const float weight[heads * D][C]) {
    check_pairs(D);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < D / 2; i++) {
            memcpy(out[h * D + 2 * i], weight[h * D + i], (size_t)C * sizeof(float));
            memcpy(out[h * D + 2 * i + 1], weight[h * D + i + D / 2], (size_t)C * sizeof(float));
        }
}
