#include "09_decoder/projection.h"

static double dot(int n, const float a[n], const float b[n]) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* A piece of a row of the weight is widened once, and meets all rows of x. */
void linear_tensor(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const Tensor *weight) {
    enum { PIECE = 1024 }; /* of blocks, whole ones */
#pragma omp parallel for if ((double)in * out > 1e5)
    for (int o = 0; o < out; o++) {
        float w[PIECE];
        for (int r = 0; r < rows; r++) y[r][o] = 0;
        for (int i = 0; i < in; i += PIECE) {
            int n = in - i < PIECE ? in - i : PIECE;
            tensor_dequantize_row(weight, (size_t)o * in + i, n, w);
            for (int r = 0; r < rows; r++) y[r][o] += (float)dot(n, &x[r][i], w);
        }
    }
}
