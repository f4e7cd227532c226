#include "common/measure.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

typedef struct {
    size_t count;
    const float *numbers;
} Numbers;

/* Many sums side by side: a single one would wait for its own additions, not for memory. */
static void sum_numbers(void *context) {
    enum { SUMS = 128 };
    const Numbers *all = context;
    float sum[SUMS] = {0};
    for (size_t i = 0; i + SUMS <= all->count; i += SUMS)
#pragma omp simd
        for (size_t j = 0; j < SUMS; j++) sum[j] += all->numbers[i + j];
    keep(sum);
}

double read_bandwidth(void) {
    size_t bytes = (size_t)256 << 20;
    float *numbers = allocate(bytes);
    memset(numbers, 0, bytes);
    Numbers all = {bytes / sizeof(float), numbers};
    double time = best_seconds(sum_numbers, &all);
    free(numbers);
    return (double)bytes / time;
}
