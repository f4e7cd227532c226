/* Chapter 12: rms_norm() of chapter 1 and swiglu() of chapter 3, in float32 where those compute in double. */
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "12_speed/exponential.h"

#include <math.h>

/* The sum of the squares is still a double: all numbers of the row depend on it. Each quarter of the row has its own
 * accumulator, for a single one would wait for its additions. */
static float inverse_rms(int dim, const float x[dim], float eps) {
    int n = dim / 4;
    double a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int i = 0; i < n; i++) {
        a += (double)x[i] * x[i];
        b += (double)x[n + i] * x[n + i];
        c += (double)x[2 * n + i] * x[2 * n + i];
        d += (double)x[3 * n + i] * x[3 * n + i];
    }
    for (int i = 4 * n; i < dim; i++) a += (double)x[i] * x[i];
    return (float)(1 / sqrt(((a + b) + (c + d)) / dim + eps));
}

void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], const float *bias, float eps) {
    for (int r = 0; r < rows; r++) {
        float scale = inverse_rms(dim, x[r], eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * scale * weight[i];
        for (int i = 0; i < dim && bias; i++) out[r][i] += bias[i];
    }
}

/* x / (1 + e^-x). Of a number and its opposite the negative one's power is computed, which does not overflow: below 0
 * the fraction is extended by e^x. Times 2^64, for x e^x is a number yet where e^x is none. */
INLINE Vector silu_of(Vector x) {
    const Words sign = (Words){0} + 0x80000000;
    Vector power = exp_negative(64, (Vector)((Words)x | sign));
    return blend((Words)(x < 0), x * power * 0x1p-64f, x) / (1 + power * 0x1p-64f);
}

void swiglu(int n, float out[n], const float gate[n], const float up[n]) {
    int whole = n / LANES * LANES;
    for (int i = 0; i < whole; i += LANES) {
        Vector open = silu_of(*(const Vector *)&gate[i]);
        *(Vector *)&out[i] = open * *(const Vector *)&up[i];
    }
    for (int i = whole; i < n; i++) {
        Vector open = silu_of((Vector){gate[i]});
        out[i] = open[0] * up[i];
    }
}
