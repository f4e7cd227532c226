#include "13_quantization/rounding.h"
#include "common/error.h"
#include "common/tensor.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK = 32 };

/* The scale that takes the number of largest magnitude to the lowest level. */
static float scale_of(int bits, size_t count, const float x[count]) {
    float most = x[0];
    for (size_t i = 1; i < count; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    return most / -exp2f((float)(bits - 1));
}

static float nearest(int bits, float d, float x) {
    float lowest = -exp2f((float)(bits - 1)), level = d == 0 ? 0 : roundf(x / d);
    return f16_to_float(f16_from_float(d)) * fminf(fmaxf(level, lowest), -lowest - 1);
}

void fake_quantize(int bits, size_t share, size_t count, float out[count], const float x[count]) {
    for (size_t start = 0; start < count; start += share) {
        float d = scale_of(bits, share, &x[start]);
        for (size_t i = start; i < start + share; i++) out[i] = nearest(bits, d, x[i]);
    }
}

/* In place. The matrix is symmetric and positive: Gauss and Jordan need not look for pivots. */
static void invert(int n, double a[n][n]) {
    for (int p = 0; p < n; p++) {
        double pivot = 1 / a[p][p];
        a[p][p] = 1;
        for (int j = 0; j < n; j++) a[p][j] *= pivot;
        for (int i = 0; i < n; i++) {
            double factor = a[i][p];
            if (i == p) continue;
            a[i][p] = 0;
            for (int j = 0; j < n; j++) a[i][j] -= factor * a[p][j];
        }
    }
}

/* h[i][j]: how much inputs i and j go together in the rows of x. */
static void correlations(int n, double h[n][n], int T, const float x[T][n]) {
    double mean = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            h[i][j] = 0;
            for (int t = 0; t < T; t++) h[i][j] += (double)x[t][i] * x[t][j];
        }
    for (int i = 0; i < n; i++) mean += h[i][i] / n;
    for (int i = 0; i < n; i++) h[i][i] += mean;
}

void gptq(int bits, int rows, int n, float w[rows][n], int T, const float x[T][n]) {
    double(*h)[n] = xmalloc((size_t)n * sizeof *h);
    float d[rows];
    correlations(n, h, T, x);
    invert(n, h);
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < rows; r++) {
            if (i % BLOCK == 0) d[r] = scale_of(bits, BLOCK, &w[r][i]);
            float rounded = nearest(bits, d[r], w[r][i]);
            double wrong = (w[r][i] - rounded) / h[i][i];
            w[r][i] = rounded;
            for (int j = i + 1; j < n; j++) w[r][j] -= (float)(wrong * h[i][j]);
        }
        for (int j = i + 1; j < n; j++) /* input i has no say any more */
            for (int k = i + 1; k < n; k++) h[j][k] -= h[j][i] * h[i][k] / h[i][i];
    }
    free(h);
}
