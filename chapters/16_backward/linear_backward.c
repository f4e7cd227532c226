#include "16_backward/backward.h"
#include "common/error.h"
#include "common/numbers.h"

enum { BLOCK = 512 }; /* columns whose sums are kept at a time */

/* dx += dy weight: each input was used for every output, so its gradient is a sum over them. */
static void add_grad_input(int rows, int in, int out, float dx[restrict rows][in],
                           const float dy[rows][out], const float weight[out][in]) {
#pragma omp parallel for if ((double)rows * in * out > 1e6)
    for (int r = 0; r < rows; r++)
        for (int start = 0; start < in; start += BLOCK) {
            int n = min_int(BLOCK, in - start);
            double sum[BLOCK] = {0};
            for (int o = 0; o < out; o++)
                for (int i = 0; i < n; i++) sum[i] += (double)dy[r][o] * weight[o][start + i];
            for (int i = 0; i < n; i++) dx[r][start + i] += (float)sum[i];
        }
}

/* dweight += dy^T x: each weight was used for every row, so its gradient is a sum over the rows. */
static void add_grad_weight(int rows, int in, int out, float dweight[restrict out][in],
                            const float dy[rows][out], const float x[rows][in]) {
#pragma omp parallel for if ((double)rows * in * out > 1e6)
    for (int o = 0; o < out; o++)
        for (int start = 0; start < in; start += BLOCK) {
            int n = min_int(BLOCK, in - start);
            double sum[BLOCK] = {0};
            for (int r = 0; r < rows; r++)
                for (int i = 0; i < n; i++) sum[i] += (double)dy[r][o] * x[r][start + i];
            for (int i = 0; i < n; i++) dweight[o][start + i] += (float)sum[i];
        }
}

void bias_backward(int rows, int out, float dbias[restrict out], const float dy[rows][out]) {
    for (int o = 0; o < out; o++) {
        double sum = 0;
        for (int r = 0; r < rows; r++) sum += dy[r][o];
        dbias[o] += (float)sum;
    }
}

void linear_backward(int rows, int in, int out, float dx[restrict rows][in],
                     float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                     const float x[rows][in], const float weight[out][in]) {
    if (dx) add_grad_input(rows, in, out, dx, dy, weight);
    if (dweight) add_grad_weight(rows, in, out, dweight, dy, x);
    if (dbias) bias_backward(rows, out, dbias, dy);
}

static void check_id(int id, int V) {
    if (id < 0 || id >= V) fail("token %d is not in the vocabulary of %d", id, V);
}

void embedding_backward(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C],
                        const int ids[T]) {
    for (int t = 0; t < T; t++) {
        check_id(ids[t], V);
        for (int i = 0; i < C; i++) dtable[ids[t]][i] += dx[t][i];
    }
}
