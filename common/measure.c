#include "common/measure.h"
#include "common/error.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <immintrin.h>
#elif defined __ARM_FEATURE_DOTPROD
#include <arm_neon.h>
#endif
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
double work_seconds(int threads) { return time_of(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC); }

const char *rate_text(char text[static RATE_TEXT], double rate) {
    snprintf(text, RATE_TEXT, rate > 0 && rate < 0.995 ? "%.2g" : "%.0f", rate);
    return text;
}

const char *share_text(char text[static SHARE_TEXT], double share) {
    if (share > 1) return "more than memory allows, so the weights lie in a cache";
    snprintf(text, SHARE_TEXT, "%.0f %% of what memory allows", 100 * share);
    return text;
}

/* An emulator's times say nothing, nor do those of a run that is made for something else: it gets little to do. */
#ifdef UNTIMED
enum { STEPS = 1 << 10, MOST_MEMORY = 1 << 20, TRIED = 1 };
static const double repeating = 0;
#else
enum { STEPS = 1 << 20, MOST_MEMORY = MUCH_MEMORY, TRIED = 9 };
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

#ifdef __AVX512F__
enum { WIDTH = 16 }; /* floats in a register: wider chains would spill */
#else
enum { WIDTH = 8 };
#endif
typedef float Wide __attribute__((vector_size(WIDTH * sizeof(float))));

enum {
    SUMS = 8,                   /* a single one would wait for its own additions, not for memory */
    LINE = 64,                  /* bytes that come from memory together */
    BURST = 512 / sizeof(Wide), /* vectors of a stream that are read in one go */
    AHEAD = 768,                /* bytes that are asked for before they are needed */
};

/* How a line is asked for: as most programs do, into the first-level cache; or as chapter 12's decode does, into the
 * second, or not at all. */
typedef enum { FIRST, SECOND, NOT, WAYS_TO_ASK } Asking;

static inline __attribute__((always_inline)) void ask(Asking how, const char *from) {
    if (how == FIRST) __builtin_prefetch(from + AHEAD);
    if (how == SECOND) __builtin_prefetch(from + AHEAD, 0, 2);
}

/* Adds up streams that lie side by side, each `stream` vectors long. */
static inline __attribute__((always_inline)) void add_streams(Asking how, int streams, size_t stream,
                                                              const Wide *numbers) {
    Wide sum[SUMS] = {0};
    for (size_t i = 0; i + BURST <= stream; i += BURST)
        for (int s = 0; s < streams; s++) {
            const Wide *from = numbers + (size_t)s * stream + i;
#pragma GCC unroll 16
            for (int j = 0; j < BURST; j++) {
                if (j * sizeof(Wide) % LINE == 0) ask(how, (const char *)(from + j));
                sum[j % SUMS] += from[j];
            }
        }
    keep(sum);
}

double read_memory(int threads, int way, size_t bytes, const void *memory) {
    int streams = 1 << way / WAYS_TO_ASK;
    size_t part = bytes / sizeof(Wide) / (size_t)threads;
#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) {
        const Wide *numbers = (const Wide *)memory + (size_t)thread * part;
        size_t stream = part / (size_t)streams;
        if (way % WAYS_TO_ASK == FIRST) add_streams(FIRST, streams, stream, numbers);
        else if (way % WAYS_TO_ASK == SECOND) add_streams(SECOND, streams, stream, numbers);
        else add_streams(NOT, streams, stream, numbers);
    }
    return (double)bytes;
}

double read_bandwidth(int threads, size_t bytes) {
    double best = INFINITY, end = seconds() + repeating;
    if (bytes > MOST_MEMORY) bytes = MOST_MEMORY;
    void *memory = allocate(bytes);
    memset(memory, 0, bytes);
    for (int turn = 0; turn < 2 * READING_WAYS || seconds() < end; turn++) {
        double start = seconds();
        read_memory(threads, turn % READING_WAYS, bytes, memory);
        best = fmin(best, seconds() - start);
    }
    free(memory);
    return (double)bytes / best;
}

enum { CHAINS = 12 };

/* Twelve chains: an FMA takes about four cycles and two start in each, so that eight must be under way. */
double multiply_adds(int threads) {
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
    return 2.0 * CHAINS * WIDTH * STEPS * threads;
}

#ifdef __x86_64__
__attribute__((target("avx512f,avx512bf16"))) static void bf16_chains(int steps) {
    __m512 chain[CHAINS];
    volatile float factor = 0.999f;
    __m512bh a = (__m512bh)_mm512_set1_ps(factor);
    for (int c = 0; c < CHAINS; c++) chain[c] = _mm512_set1_ps(factor);
    for (int step = 0; step < steps; step++)
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) chain[c] = _mm512_dpbf16_ps(chain[c], a, a);
    keep(chain);
}

double multiply_bf16_pairs(int threads) {
    if (!__builtin_cpu_supports("avx512bf16")) return 0;
#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) bf16_chains(STEPS);
    return 4.0 * 16 * CHAINS * STEPS * threads;
}
#else
double multiply_bf16_pairs(int) { return 0; }
#endif

/* A register of them, and into how many lanes four products each go. */
#if defined __AVX512VNNI__
typedef __m512i Sums;
enum { LANES_OF_FOUR = 16 };
#define ADD_FOURS(sum, a) _mm512_dpbusd_epi32(sum, a, a)
#elif defined __AVXVNNI__
typedef __m256i Sums;
enum { LANES_OF_FOUR = 8 };
#define ADD_FOURS(sum, a) _mm256_dpbusd_avx_epi32(sum, a, a)
#elif defined __ARM_FEATURE_DOTPROD
typedef int32x4_t Sums;
enum { LANES_OF_FOUR = 4 };
#define ADD_FOURS(sum, a) vdotq_s32(sum, (int8x16_t)(a), (int8x16_t)(a))
#endif

#ifdef ADD_FOURS
double multiply_bytes(int threads) {
#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) {
        volatile char some = 1; /* unknown to the compiler */
        Sums chain[CHAINS], a;
        memset(&a, some, sizeof a);
        for (int c = 0; c < CHAINS; c++) memset(&chain[c], some, sizeof a);
        for (int step = 0; step < STEPS; step++)
#pragma GCC unroll 12
            for (int c = 0; c < CHAINS; c++) chain[c] = ADD_FOURS(chain[c], a);
        keep(chain);
    }
    return 8.0 * LANES_OF_FOUR * CHAINS * STEPS * threads;
}
#else
double multiply_bytes(int) { return 0; }
#endif

typedef struct {
    double (*go)(int threads);
    int threads;
} Peak;

static void go_once(void *context) {
    const Peak *peak = context;
    peak->go(peak->threads);
}

static double peak_of(double go(int threads), int threads) {
    double work = go(threads);
    return work == 0 ? 0 : work / best_seconds(go_once, &(Peak){go, threads});
}

double fma_peak(int threads) { return peak_of(multiply_adds, threads); }
double bf16_peak(int threads) { return peak_of(multiply_bf16_pairs, threads); }
double byte_peak(int threads) { return peak_of(multiply_bytes, threads); }

static double speed(Measured *work, const void *context, int turn, int way, int threads) {
    double start = work_seconds(threads), done = work(context, turn, way);
    return done / (work_seconds(threads) - start);
}

/* The way whose median of TRIED turns is the highest. They take turns: what comes first finds the caches cold. */
static int best_way(Measured *work, int ways, const void *context, int threads) {
    double best = 0, speeds[ways][TRIED];
    int found = 0;
    if (ways == 1) return found; /* nothing to choose */
    for (int turn = 0; turn < TRIED; turn++)
        for (int way = 0; way < ways; way++) speeds[way][turn] = speed(work, context, turn, way, threads);
    for (int way = 0; way < ways; way++) {
        double typical = median(TRIED, speeds[way]);
        if (typical > best) best = typical, found = way;
    }
    return found;
}

double typical_share(Measured *kernel, Measured *limit, int ways, const void *context, int turns, int threads) {
    double shares[turns];
    int way = best_way(limit, ways, context, threads);
    for (int turn = 0; turn < turns; turn++)
        shares[turn] = speed(kernel, context, turn, 0, threads) / speed(limit, context, turn, way, threads);
    return median(turns, shares);
}

double peak_memory(void) {
    double kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (file) fclose(file);
    return 1024 * kilobytes;
}
