#include "04_rope/rope.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static void check_shape(int T, int D) {
    if (T < 1) fail("rope: %d positions: give at least one", T);
    if (D < 2 || D % 2) fail("rope: a head of width %d cannot be cut into pairs: the width must be even", D);
}

/* ------------------------------------------------------------------ the angles */

/* Llama 3.1: slow pairs, which never came round once within the old context, are slowed by `factor`; fast ones are
 * left as they are; between the two it slides. */
static float llama3_frequency(float frequency, const RopeParameters *p) {
    double turns = p->original_max_position_embeddings * (double)frequency / (2 * pi); /* within the old context */
    float slowed = frequency / (float)p->factor;
    if (turns < p->low_freq_factor) return slowed;
    if (turns > p->high_freq_factor) return frequency;
    float smooth = (float)((turns - p->low_freq_factor) / (p->high_freq_factor - p->low_freq_factor));
    return (1 - smooth) * slowed + smooth * frequency;
}

/* The pair that turns `rotations` times within the old context: yarn's find_correction_dim. */
static double yarn_pair(int D, double rotations, const RopeParameters *p) {
    return D * log(p->original_max_position_embeddings / (rotations * 2 * pi)) / (2 * log(p->rope_theta));
}

/* Yarn slides over the pairs' numbers where llama3 slides over their turns. */
static float yarn_frequency(int D, int i, float frequency, const RopeParameters *p) {
    double low = yarn_pair(D, p->beta_fast ? p->beta_fast : 32, p);
    double high = yarn_pair(D, p->beta_slow ? p->beta_slow : 1, p);
    if (!p->keep_fractions) low = floor(low), high = ceil(high);
    low = fmax(low, 0), high = fmin(high, D - 1);
    if (low == high) high += 0.001; /* or the slide would divide by zero */
    float slide = fminf(fmaxf(((float)i - (float)low) / (float)(high - low), 0), 1);
    return frequency / (float)p->factor * slide + frequency * (1 - slide);
}

/* Attention over a longer context is flatter; yarn sharpens it again by scaling q and k. */
static double yarn_mscale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1; }

static float yarn_attention_factor(const RopeParameters *p) {
    if (p->attention_factor) return (float)p->attention_factor;
    if (p->mscale && p->mscale_all_dim)
        return (float)(yarn_mscale(p->factor, p->mscale) / yarn_mscale(p->factor, p->mscale_all_dim));
    return (float)yarn_mscale(p->factor, 1);
}

/* Dynamic NTK: past the trained length the base grows with the length, so that the slowest pair just fits. */
static double dynamic_theta(int D, const RopeParameters *p, int length) {
    double stretch = fmax((double)length / p->max_position_embeddings, 1);
    return p->rope_theta * pow(p->factor * stretch - (p->factor - 1), D / (D - 2.0));
}

float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *p, int length) {
    check_shape(1, D);
    if (p->rope_type == ROPE_DYNAMIC && D == 2) fail("rope: dynamic scaling needs a head wider than 2");
    double theta = p->rope_type == ROPE_DYNAMIC ? dynamic_theta(D, p, length) : p->rope_theta;
    for (int i = 0; i < D / 2; i++) {
        float frequency = 1 / powf((float)theta, (float)(2 * i) / (float)D);
        if (p->rope_type == ROPE_LINEAR) frequency /= (float)p->factor;
        if (p->rope_type == ROPE_LLAMA3) frequency = llama3_frequency(frequency, p);
        if (p->rope_type == ROPE_YARN) frequency = yarn_frequency(D, i, frequency, p);
        inv_freq[i] = frequency;
    }
    return p->rope_type == ROPE_YARN ? yarn_attention_factor(p) : 1;
}

void rope_table(int T, int D, float table[restrict 2][T][D / 2], const int positions[T],
                const float inv_freq[D / 2], float factor) {
    check_shape(T, D);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D / 2; i++) {
            float angle = (float)positions[t] * inv_freq[i]; /* float32, as the models were trained with */
            table[0][t][i] = cosf(angle) * factor;
            table[1][t][i] = sinf(angle) * factor;
        }
}

void check_positions(int first, int T, int capacity) {
    if (T < 1) fail("rope: %d positions: give at least one", T);
    if (first < 0 || first > capacity - T)
        fail("rope: %d positions from %d on are not in a table of %d: make the table longer", T, first, capacity);
}

/* ------------------------------------------------------------------ one rotation, four forms */

void rope_matrix(int D, float matrix[restrict D][D], const float cosine[D / 2], const float sine[D / 2]) {
    memset(matrix, 0, (size_t)D * sizeof *matrix);
    for (int i = 0; i < D / 2; i++) {
        matrix[2 * i][2 * i] = cosine[i], matrix[2 * i][2 * i + 1] = -sine[i];
        matrix[2 * i + 1][2 * i] = sine[i], matrix[2 * i + 1][2 * i + 1] = cosine[i];
    }
}

void rope_by_matrix(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                    const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_shape(T, D);
    float(*matrix)[D] = allocate((size_t)D * sizeof *matrix);
    for (int t = 0; t < T; t++) {
        rope_matrix(D, matrix, cosine[t], sine[t]);
        for (int h = 0; h < H; h++)
            for (int row = 0; row < D; row++) {
                float sum = 0;
                for (int i = 0; i < D; i++) sum += matrix[row][i] * x[t][h][i];
                out[t][h][row] = sum;
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
static void turn_head(int D, float out[restrict D], const float x[D], const float cosine[D / 2],
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
        for (int h = 0; h < H; h++) turn_head(D, out[t][h], x[t][h], cosine[t], sine[t]);
}

void rope_qkv(int T, int H, int KV, int D, float out[restrict T][H + 2 * KV][D],
              const float qkv[T][H + 2 * KV][D], const float cosine[T][D / 2], const float sine[T][D / 2]) {
    check_shape(T, D);
    for (int t = 0; t < T; t++) {
        for (int h = 0; h < H + KV; h++) turn_head(D, out[t][h], qkv[t][h], cosine[t], sine[t]);
        memcpy(out[t][H + KV], qkv[t][H + KV], (size_t)KV * D * sizeof(float));
    }
}

/* ------------------------------------------------------------------ from one layout to the other */

void rows_to_half_split(int heads, int D, int C, float out[restrict heads * D][C], const float weight[heads * D][C]) {
    check_shape(1, D);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < D / 2; i++) {
            memcpy(out[h * D + i], weight[h * D + 2 * i], (size_t)C * sizeof(float));
            memcpy(out[h * D + i + D / 2], weight[h * D + 2 * i + 1], (size_t)C * sizeof(float));
        }
}

void rows_to_interleaved(int heads, int D, int C, float out[restrict heads * D][C], const float weight[heads * D][C]) {
    check_shape(1, D);
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < D / 2; i++) {
            memcpy(out[h * D + 2 * i], weight[h * D + i], (size_t)C * sizeof(float));
            memcpy(out[h * D + 2 * i + 1], weight[h * D + i + D / 2], (size_t)C * sizeof(float));
        }
}
