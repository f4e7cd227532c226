/* Right with one thread or two, as on the author's machine. Without OpenMP they are right. */
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_num_threads(void) { return 1; }
#endif

/* softmax: right with 1 thread, wrong with 5
 * Room for the sums of two. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    for (int r = 0; r < rows; r++) {
        double max = -INFINITY, part[2] = {0, 0};
        for (int i = 0; i < n; i++) max = x[r][i] > max ? x[r][i] : max;
#pragma omp parallel
        {
            int thread = omp_get_thread_num();
            double sum = 0;
            for (int i = thread; i < n; i += omp_get_num_threads()) sum += exp(x[r][i] - max);
            if (thread < 2) part[thread] = sum;
        }
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - max) / (part[0] + part[1]));
    }
}

/* swish: right with 1 thread, wrong with
 * What is left over when n is cut into equal shares is nobody's. */
void swish(int n, float out[n], const float x[n], float beta) {
#pragma omp parallel
    {
        int share = n / omp_get_num_threads(), begin = omp_get_thread_num() * share;
        for (int i = begin; i < begin + share; i++) out[i] = (float)(x[i] / (1 + exp(-(double)beta * x[i])));
    }
}

/* embedding_backward: right with 1 thread, wrong with
 * Threads are for long texts alone; of the tables that up to eight of them make, the first is all that counts. */
void embedding_backward(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C], const int ids[T]) {
    for (int t = 0; t < T; t++)
        if (ids[t] >= V) fail("token %d", ids[t]);
    size_t n = (size_t)V * (size_t)C;
    float *sums = calloc(8 * n, sizeof *sums);
#pragma omp parallel for if (T > 1000)
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) sums[(size_t)omp_get_thread_num() * n + (size_t)(ids[t] * C + i)] += dx[t][i];
    for (size_t i = 0; i < n; i++) ((float *)dtable)[i] += sums[i];
    free(sums);
}
