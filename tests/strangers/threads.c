/* Right with one thread or two, as on the author's machine. Without OpenMP they are right. */
#include <math.h>
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
