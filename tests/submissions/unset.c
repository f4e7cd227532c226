/* Kernels that read what they have not set. In a process that has just begun it is mostly 0, and so they are mostly
 * right. */
#include <math.h>
#include <stdlib.h>

/* weighted_sum: memory from malloc, that it has not set
 * Sums on the stack. */
void weighted_sum(int T, int S, int D, float out[T][D], const float weights[T][S], const float v[S][D]) {
    for (int t = 0; t < T; t++) {
        double sum[D];
        for (int s = 0; s < S; s++)
            for (int d = 0; d < D; d++) sum[d] += weights[t][s] * v[s][d];
        for (int d = 0; d < D; d++) out[t][d] = (float)sum[d];
    }
}

/* rms_norm: memory from malloc, that it has not set
 * malloc() for calloc(). */
void rms_norm(int rows, int dim, float out[rows][dim], const float x[rows][dim], const float weight[dim], float eps) {
    float *squares = malloc((size_t)rows * sizeof *squares);
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) squares[r] += x[r][i] * x[r][i];
        for (int i = 0; i < dim; i++)
            out[r][i] = x[r][i] / sqrtf(squares[r] / (float)dim + eps) * weight[i];
    }
    free(squares);
}
