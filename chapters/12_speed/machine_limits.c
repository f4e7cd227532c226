#include "12_speed/machine_limits.h"
#include "common/error.h"
#include "common/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#elif defined __ARM_FEATURE_DOTPROD
#include <arm_neon.h>
#endif

const char *share_text(char text[static SHARE_TEXT], double share) {
    if (share > 1) return "more than memory allows, so the weights lie in a cache";
    snprintf(text, SHARE_TEXT, "%.0f %% of what memory allows", 100 * share);
    return text;
}

/* An emulator's times mean nothing, nor do those of a run that is not made for them: a little work
 * is enough there. */
#ifdef UNTIMED
enum { STEPS = 1 << 10, MOST_MEMORY = 1 << 20, TRIED = 1 };
static const double repeating = 0;
#else
enum { STEPS = 1 << 20, MOST_MEMORY = MUCH_MEMORY, TRIED = 9 };
static const double repeating = 0.1;
#endif

#ifdef __AVX512F__
enum { WIDTH = 16 }; /* floats in a register: wider chains would spill */
#else
enum { WIDTH = 8 };
#endif
typedef float Wide __attribute__((vector_size(WIDTH * sizeof(float))));

enum {
    SUMS = 8,                   /* a single sum would wait for its own additions, not for memory */
    LINE = 64,                  /* bytes of a cache line */
    BURST = 512 / sizeof(Wide), /* vectors of a stream that are read in one go */
    AHEAD = 768,                /* prefetch distance in bytes */
};

/* A cache line is prefetched into the first-level cache, as most programs do it; into the second,
 * as this chapter's matrix-vector product does; or not at all. */
typedef enum { FIRST, SECOND, NOT, WAYS_TO_ASK } Asking;

#define INLINE inline __attribute__((always_inline))

static INLINE void prefetch(Asking how, const char *from) {
    if (how == FIRST) __builtin_prefetch(from + AHEAD);
    if (how == SECOND) __builtin_prefetch(from + AHEAD, 0, 2);
}

/* Adds up streams that lie side by side, each `stream` vectors long. */
static INLINE void add_streams(Asking how, int streams, size_t stream, const Wide *numbers) {
    Wide sum[SUMS] = {0};
    for (size_t i = 0; i + BURST <= stream; i += BURST)
        for (int s = 0; s < streams; s++) {
            const Wide *from = numbers + (size_t)s * stream + i;
#pragma GCC unroll 16
            for (int j = 0; j < BURST; j++) {
                if (j * sizeof(Wide) % LINE == 0) prefetch(how, (const char *)(from + j));
                sum[j % SUMS] += from[j];
            }
        }
    do_not_optimize(sum);
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
    void *memory = xmalloc(bytes);
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

/* An FMA takes about four cycles and two start in each, so that eight must be under way. */
double multiply_adds(int threads) {
#pragma omp parallel for num_threads(threads)
    for (int thread = 0; thread < threads; thread++) {
        volatile float factor = 0.999f, term = 0.001f; /* unknown to the compiler */
        const Wide a = (Wide){0} + factor, b = (Wide){0} + term;
        Wide chain[CHAINS];
        /* The factor is read again each time, so that for the compiler all chains may differ. */
        for (int c = 0; c < CHAINS; c++) chain[c] = (Wide){0} + factor;
        for (int step = 0; step < STEPS; step++)
#pragma GCC unroll 12
            for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * a + b;
        do_not_optimize(chain);
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
    do_not_optimize(chain);
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

/* Dot products of bytes: the register of the sums, and how many lanes take four products each. */
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
        do_not_optimize(chain);
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
    double start = work_seconds(threads);
    double done = work(context, turn, way);
    return done / (work_seconds(threads) - start);
}

/* The way whose median of TRIED turns is the highest. The ways alternate, because the first one of
 * all finds the caches cold. */
static int best_way(Measured *work, int ways, const void *context, int threads) {
    double best = 0, speeds[ways][TRIED];
    int found = 0;
    if (ways == 1) return found; /* nothing to choose */
    for (int turn = 0; turn < TRIED; turn++)
        for (int way = 0; way < ways; way++)
            speeds[way][turn] = speed(work, context, turn, way, threads);
    for (int way = 0; way < ways; way++) {
        double typical = median(TRIED, speeds[way]);
        if (typical <= best) continue;
        best = typical;
        found = way;
    }
    return found;
}

double median_share(Measured *kernel, Measured *limit, int ways, const void *context, int turns,
                    int threads) {
    double shares[turns];
    int way = best_way(limit, ways, context, threads);
    for (int turn = 0; turn < turns; turn++) {
        shares[turn] = speed(kernel, context, turn, 0, threads);
        shares[turn] /= speed(limit, context, turn, way, threads);
    }
    return median(turns, shares);
}
