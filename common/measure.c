#include "common/measure.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double best_seconds(void run(void *context), void *context) {
    double best = INFINITY, end = seconds() + 0.1;
    for (int repetition = 0; repetition < 3 || seconds() < end; repetition++) {
        double start = seconds();
        run(context);
        best = fmin(best, seconds() - start);
    }
    return best;
}

void keep(const void *result) { __asm__ volatile("" : : "r"(result) : "memory"); }

int thread_count(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

void use_threads(int threads) {
    (void)threads;
#ifdef _OPENMP
    omp_set_num_threads(threads);
#endif
}

typedef struct {
    int threads;
    size_t count;
    const float *numbers;
} Numbers;

/* Many sums side by side: a single one would wait for its own additions, not for memory. */
static void sum_numbers(void *context) {
    enum { SUMS = 128 };
    const Numbers *all = context;
    size_t part = all->count / (size_t)all->threads;
#pragma omp parallel for num_threads(all->threads)
    for (int thread = 0; thread < all->threads; thread++) {
        const float *numbers = all->numbers + (size_t)thread * part;
        float sum[SUMS] = {0};
        for (size_t i = 0; i + SUMS <= part; i += SUMS)
#pragma omp simd
            for (size_t j = 0; j < SUMS; j++) sum[j] += numbers[i + j];
        keep(sum);
    }
}

double read_bandwidth(int threads) {
    size_t bytes = (size_t)256 << 20;
    float *numbers = allocate(bytes);
    memset(numbers, 0, bytes);
    Numbers all = {threads, bytes / sizeof(float), numbers};
    double time = best_seconds(sum_numbers, &all);
    free(numbers);
    return (double)bytes / time;
}

#ifdef __AVX512F__
enum { WIDTH = 16 }; /* floats in a register: wider chains would spill */
#else
enum { WIDTH = 8 };
#endif
enum { CHAINS = 12, STEPS = 1 << 20 };
typedef float Wide __attribute__((vector_size(WIDTH * sizeof(float))));

/* Twelve chains: an FMA takes about four cycles and two start in each, so that eight must be under way. */
static void multiply_add(void *context) {
    int threads = *(const int *)context;
#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) {
        volatile float factor = 0.999f, term = 0.001f; /* unknown to the compiler */
        Wide chain[CHAINS], a = (Wide){0} + factor, b = (Wide){0} + term;
        for (int c = 0; c < CHAINS; c++) chain[c] = (Wide){0} + factor; /* read anew: the chains may all differ */
        for (int step = 0; step < STEPS; step++)
#pragma GCC unroll 12
            for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * a + b;
        keep(chain);
    }
}

double fma_peak(int threads) {
    return 2.0 * CHAINS * WIDTH * STEPS * threads / best_seconds(multiply_add, &threads);
}
