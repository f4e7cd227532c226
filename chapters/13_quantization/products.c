#include "13_quantization/products.h"

enum {
    SIDE = 4,     /* rows of the weight that are widened together: a number of x is loaded for all of them */
    PIECE = 1024, /* numbers of a row that are: whole blocks, and in the first-level cache while they meet every row of x */
};

/* sum[s] += x . w[s] */
static void dots(int n, float sum[SIDE], const float x[n], const float w[SIDE][PIECE]) {
    float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int i = 0; i < n; i++) a += x[i] * w[0][i], b += x[i] * w[1][i], c += x[i] * w[2][i], d += x[i] * w[3][i];
    sum[0] += a, sum[1] += b, sum[2] += c, sum[3] += d;
}

void project_blocks(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight) {
#pragma omp parallel for if ((double)in * out > 1e5)
    for (int o = 0; o < out; o += SIDE) {
        float w[SIDE][PIECE] = {0};
        int side = out - o < SIDE ? out - o : SIDE;
        for (int i = 0; i < in; i += PIECE) {
            int n = in - i < PIECE ? in - i : PIECE;
            for (int s = 0; s < side; s++) tensor_numbers(weight, (size_t)(o + s) * in + i, n, w[s]);
            for (int r = 0; r < rows; r++) {
                float sum[SIDE] = {0};
                dots(n, sum, &x[r][i], w);
                for (int s = 0; s < side; s++) y[r][o + s] = (i ? y[r][o + s] : 0) + sum[s];
            }
        }
    }
}
