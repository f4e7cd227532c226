#include "09_decoder/projection.h"

#include <string.h>

/* Weights as float32; what is in the file may lie at any address. */
static void widen(DType dtype, int n, float to[n], const char *from) {
    if (dtype == F32) memcpy(to, from, (size_t)n * sizeof *to);
    else
        for (int i = 0; i < n; i++) {
            uint16_t bits;
            memcpy(&bits, from + 2 * (size_t)i, sizeof bits);
            to[i] = dtype == BF16 ? bf16_to_float(bits) : f16_to_float(bits);
        }
}

static double dot(int n, const float a[n], const float b[n]) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* A piece of a row of the weight is widened once, and meets all rows of x. */
void project(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight) {
    enum { PIECE = 1024 };
    size_t size = dtype_size(weight->dtype);
#pragma omp parallel for if ((double)in * out > 1e5)
    for (int o = 0; o < out; o++) {
        float w[PIECE];
        for (int r = 0; r < rows; r++) y[r][o] = 0;
        for (int i = 0; i < in; i += PIECE) {
            int n = in - i < PIECE ? in - i : PIECE;
            widen(weight->dtype, n, w, (const char *)weight->data + ((size_t)o * in + i) * size);
            for (int r = 0; r < rows; r++) y[r][o] += (float)dot(n, &x[r][i], w);
        }
    }
}
