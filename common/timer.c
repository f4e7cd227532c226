#include "common/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static double time_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double seconds(void) { return time_of(CLOCK_MONOTONIC); }
double processor_seconds(void) { return time_of(CLOCK_PROCESS_CPUTIME_ID); }
double work_seconds(int threads) {
    return time_of(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

const char *rate_text(char text[static RATE_TEXT], double rate) {
    snprintf(text, RATE_TEXT, rate > 0 && rate < 0.995 ? "%.2g" : "%.0f", rate);
    return text;
}

/* An emulator's times mean nothing, nor do those of a run that is not made for them. */
#ifdef UNTIMED
static const double repeating = 0;
#else
static const double repeating = 0.1;
#endif

double best_seconds(void run(void *context), void *context) {
    double best = INFINITY, end = seconds() + repeating;
    for (int repetition = 0; repetition < 3 || seconds() < end; repetition++) {
        double start = seconds();
        run(context);
        best = fmin(best, seconds() - start);
    }
    return best;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(int count, double numbers[count]) {
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

void do_not_optimize(const void *result) { __asm__ volatile("" : : "r"(result) : "memory"); }

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

double peak_memory(void) {
    double kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (file) fclose(file);
    return 1024 * kilobytes;
}
