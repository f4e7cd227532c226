#include "16_backward/backward.h"
#include "common/numbers.h"

enum { BLOCK = 512 }; /* columns whose sums are kept at a time */

/* dx += dy weight: every output tells every input that it was made from. */
static void add_to_input(int rows, int in, int out, float dx[restrict rows][in], const float dy[rows][out],
                         const float weight[out][in]) {
#pragma omp parallel for if ((double)rows * in * out > 1e6)
    for (int r = 0; r < rows; r++)
        for (int start = 0; start < in; start += BLOCK) {
            int n = smaller(BLOCK, in - start);
            double sum[BLOCK] = {0};
            for (int o = 0; o < out; o++)
                for (int i = 0; i < n; i++) sum[i] += (double)dy[r][o] * weight[o][start + i];
            for (int i = 0; i < n; i++) dx[r][start + i] += (float)sum[i];
        }
}

/* dweight += dy^T x: a weight served every row, and every row has its say. */
static void add_to_weight(int rows, int in, int out, float dweight[restrict out][in], const float dy[rows][out],
                          const float x[rows][in]) {
#pragma omp parallel for if ((double)rows * in * out > 1e6)
    for (int o = 0; o < out; o++)
        for (int start = 0; start < in; start += BLOCK) {
            int n = smaller(BLOCK, in - start);
            double sum[BLOCK] = {0};
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < n; i++) sum[i] += (double)dy[r][o] * x[r][start + i];
            for (int i = 0; i < n; i++) dweight[o][start + i] += (float)sum[i];
        }
}

void linear_backward(int rows, int in, int out, float dx[restrict rows][in], float dweight[restrict out][in],
                     float *dbias, const float dy[rows][out], const float x[rows][in],
                     const float weight[out][in]) {
    if (dx) add_to_input(rows, in, out, dx, dy, weight);
    if (dweight) add_to_weight(rows, in, out, dweight, dy, x);
    if (dbias) bias_backward(rows, out, dbias, dy);
}
