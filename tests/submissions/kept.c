/* Kernels that are right the first time: what they keep from one call spoils the next. */
#include "01_normalization/normalization.h"

#include <math.h>
#include <stdlib.h>

/* rms_norm: right the first time, wrong the second|Something is kept from the call before
 * A sum that begins at 0 only once. */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const float weight[dim], float eps) {
    static double sum;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)(x[r][i] / sqrt(sum / dim + eps) * weight[i]);
        if (r + 1 < rows) sum = 0;
    }
}

/* softmax: random shape|past the end of an array of
 * Room that is made once, for the first row that comes. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    static double *e;
    if (!e) e = malloc((size_t)n * sizeof *e);
    for (int r = 0; r < rows; r++) {
        double max = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++) max = x[r][i] > max ? x[r][i] : max;
        for (int i = 0; i < n; i++) sum += e[i] = exp(x[r][i] - max);
        for (int i = 0; i < n; i++) out[r][i] = (float)(e[i] / sum);
    }
}

/* dyt: right the first time, wrong the second|Something is kept from the call before
 * An answer that is kept, by where the question lay. */
void dyt(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const float weight[dim],
         const float bias[dim], float alpha) {
    static int done;
    if (done++) return;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] = (float)(tanh((double)alpha * x[r][i]) * weight[i] + bias[i]);
}

/* rope_half_split: right by itself, wrong after another shape|room, or a table, that is made once
 * A table of the first call's width, in memory that is large enough for all. */
void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]) {
    static float c[1 << 20], s[1 << 20];
    static int filled;
    for (int n = 0; n < T * D / 2 && filled < T * D / 2; n++) c[n] = (&cosine[0][0])[n], s[n] = (&sine[0][0])[n];
    if (filled < T * D / 2) filled = T * D / 2;
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = x[t][h][i], b = x[t][h][i + D / 2], cs = c[t * (D / 2) + i], sn = s[t * (D / 2) + i];
                out[t][h][i] = a * cs - b * sn, out[t][h][i + D / 2] = b * cs + a * sn;
            }
}

/* rms_norm_bf16: wrong after other numbers in the same arrays|taken for current where the arrays lie in the same
 * Weights as float, kept by where they lay and how many they are. */
void rms_norm_bf16(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim], const bf16 weight[dim],
                   float eps) {
    static const bf16 *kept;
    static float *w;
    static int of;
    if (kept != weight || of != dim) {
        w = realloc(w, (size_t)dim * sizeof *w);
        for (int i = 0; i < dim; i++) w[i] = bf16_to_float(weight[i]);
        kept = weight, of = dim;
    }
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)bf16_to_float(x[r][i]) * bf16_to_float(x[r][i]);
        float by = (float)(1 / sqrt(sum / dim + eps));
        for (int i = 0; i < dim; i++)
            out[r][i] = bf16_from_float(bf16_to_float(bf16_from_float(bf16_to_float(x[r][i]) * by)) * w[i]);
    }
}
