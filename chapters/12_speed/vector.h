/* Chapter 12: LANES numbers side by side, in the compiler's own terms: the same source is AVX-512,
 * AVX2 or NEON. The vectors may lie at any address, in memory of any type. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE__
#include <immintrin.h>
#endif

/* EACH_LANE(f, x): what f(x, lane) is for each lane. */
#ifdef __AVX512F__
enum { LANES = 16 };
#define MAX_OF _mm512_max_ps
#define MIN_OF _mm512_min_ps
#define EACH_LANE(f, x)                                                                            \
    f(x, 0), f(x, 1), f(x, 2), f(x, 3), f(x, 4), f(x, 5), f(x, 6), f(x, 7), f(x, 8), f(x, 9),      \
        f(x, 10), f(x, 11), f(x, 12), f(x, 13), f(x, 14), f(x, 15)
#elif defined __AVX__
enum { LANES = 8 };
#define MAX_OF _mm256_max_ps
#define MIN_OF _mm256_min_ps
#define EACH_LANE(f, x) f(x, 0), f(x, 1), f(x, 2), f(x, 3), f(x, 4), f(x, 5), f(x, 6), f(x, 7)
#else /* NEON, SSE */
enum { LANES = 4 };
#ifdef __SSE__
#define MAX_OF _mm_max_ps
#define MIN_OF _mm_min_ps
#endif
#define EACH_LANE(f, x) f(x, 0), f(x, 1), f(x, 2), f(x, 3)
#endif

#if defined __AVX512F__ || defined __aarch64__
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
typedef uint32_t VecU32
    __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(1), may_alias));
typedef uint16_t VecU16
    __attribute__((vector_size(LANES * sizeof(uint16_t)), aligned(1), may_alias));

#define INLINE                                                                                     \
    static inline                                                                                  \
        __attribute__((always_inline)) /* so that a constant argument is one inside, too */

/* Before a loop of a few turns, as many as an argument says that is a constant there: it is written
 * out, and what it counts through is registers. clang does so by itself, but not if it is told; and
 * where there may be no registers for vectors, the code would only be longer. */
#if defined __clang__ || !(defined __SSE__ || defined __aarch64__)
#define UNROLLED
#else
#define UNROLLED _Pragma("GCC unroll 17")
#endif

/* Keeps a loaded value in its register: gcc would load it again for each use, and a processor
 * can load only one or two vectors per cycle. */
#if defined __x86_64__
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#elif defined __aarch64__
#define IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define IN_REGISTER(v) ((void)0)
#endif

/* Before a processor can ask for a line of a page, it must look up where in memory that page is.
 * Here it does so, for the pages of so many bytes. */
enum { PAGE = 4096 };
INLINE void tlb_prefetch(size_t bytes, const void *from) {
    for (size_t b = 0; b < bytes; b += PAGE) __builtin_prefetch((const char *)from + b, 0, 2);
}

/* In each lane a, where the mask (of a comparison) has all bits, and b, where it has none. */
INLINE Vector blend(VecU32 mask, Vector a, Vector b) {
    return (Vector)((mask & (VecU32)a) | (~mask & (VecU32)b));
}

/* The larger number of each lane, and the lesser; b's, where one of the two is NaN. gcc does not
 * see by itself that there is one instruction for either. */
#ifdef MAX_OF
INLINE Vector vector_max(Vector a, Vector b) { return MAX_OF(a, b); }
INLINE Vector vector_min(Vector a, Vector b) { return MIN_OF(a, b); }
#else
INLINE Vector vector_max(Vector a, Vector b) { return blend((VecU32)(a > b), a, b); }
INLINE Vector vector_min(Vector a, Vector b) { return blend((VecU32)(a < b), a, b); }
#endif

/* In each lane the number that lies n lanes from it: neighbours of n lanes change places. */
#define FROM(n, lane) ((lane) ^ (n) % LANES)
#define NUMBERS_FROM(n, v) ((Vector)__builtin_shufflevector(v, v, EACH_LANE(FROM, n)))

/* The sum of all lanes. */
INLINE float total(Vector sum) {
    if (LANES > 8) sum += NUMBERS_FROM(8, sum);
    if (LANES > 4) sum += NUMBERS_FROM(4, sum);
    sum += NUMBERS_FROM(2, sum);
    sum += NUMBERS_FROM(1, sum);
    return sum[0];
}

/* The two vectors, one after the other, hold numbers of n rows in turn: number l is one of row l %
 * n. Each lane gets the largest of its row; n is 4, 8 or 2 LANES. */
INLINE void largest_of_each(int n, Vector v[2]) {
    if (n > LANES) return;
    Vector most = vector_max(v[0], v[1]);
    if (LANES > 8) most = vector_max(NUMBERS_FROM(8, most), most);
    if (LANES > 4 && n == 4) most = vector_max(NUMBERS_FROM(4, most), most);
    v[0] = v[1] = most;
}

/* Cut into pieces of n lanes: FIRSTS has the first, third, fifth … piece of a, with that of b after
 * each; SECONDS the second, fourth, sixth … pieces. */
#define FIRST(n, lane) ((lane) & (n) ? LANES + (lane) - (n) : (lane))
#define SECOND(n, lane) ((lane) & (n) ? LANES + (lane) : (lane) + (n))
#define FIRSTS(n, a, b) __builtin_shufflevector(a, b, EACH_LANE(FIRST, (n) % LANES))
#define SECONDS(n, a, b) __builtin_shufflevector(a, b, EACH_LANE(SECOND, (n) % LANES))

/* Two rows of a square exchange pieces: the second of the upper for the first of the lower. */
#define EXCHANGE(n, square)                                                                        \
    for (int l = 0; l < LANES; l++)                                                                \
        if ((n) < LANES && !(l & (n))) {                                                           \
            Vector upper = square[l], lower = square[l + (n)];                                     \
            square[l] = FIRSTS(n, upper, lower), square[l + (n)] = SECONDS(n, upper, lower);       \
        }

/* Transposes a square: row l becomes column l. First its quarters, then those of each quarter, and so
 * on. */
INLINE void transpose_square(Vector square[LANES]) {
    UNROLLED
    EXCHANGE(8, square)
    UNROLLED
    EXCHANGE(4, square)
    UNROLLED
    EXCHANGE(2, square)
    UNROLLED
    EXCHANGE(1, square)
}

/* The same on the way from one place to another, where rows lie so many numbers apart. */
INLINE void transpose_square_to(float *to, size_t apart, const float *from, size_t pitch) {
    Vector square[LANES];
    UNROLLED
    for (int l = 0; l < LANES; l++) square[l] = *(const Vector *)(from + l * pitch);
    transpose_square(square);
    UNROLLED
    for (int l = 0; l < LANES; l++) *(Vector *)(to + l * apart) = square[l];
}

/* to[i][r] = from[r][i]. Both are whole squares. */
static inline void transpose(int rows, int width, float to[width][rows],
                             const float from[rows][width]) {
    for (int r = 0; r < rows; r += LANES)
        for (int i = 0; i < width; i += LANES)
            transpose_square_to(&to[i][r], (size_t)rows, &from[r][i], (size_t)width);
}

/* Two BF16 numbers lie in each word: the first of each as float32, and the second. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
INLINE Vector even_bf16(VecU32 pairs) { return (Vector)(pairs << 16); }
INLINE Vector odd_bf16(VecU32 pairs) { return (Vector)(pairs & 0xffff0000); }
#else
INLINE Vector even_bf16(VecU32 pairs) { return (Vector)(pairs & 0xffff0000); }
INLINE Vector odd_bf16(VecU32 pairs) { return (Vector)(pairs << 16); }
#endif

/* LANES F16 numbers as float32, from any address. One instruction where the processor has it. */
INLINE Vector widen_f16(const char *weights) {
#if defined __AVX512F__
    return (Vector)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)weights));
#elif defined __F16C__
    return (Vector)_mm256_cvtph_ps(_mm_loadu_si128((const void *)weights));
#elif defined __aarch64__
    typedef __fp16 Floats __attribute__((vector_size(LANES * 2), aligned(1), may_alias));
    return __builtin_convertvector(*(const Floats *)weights, Vector);
#else
    /* The exponent moves from bias 15 to 127, infinity's and NaN's on to 255; a subnormal, whose
     * exponent is 0, is read as 2^-14 plus itself, and 2^-14 is taken off again. */
    VecU32 half = __builtin_convertvector(*(const VecU16 *)weights, VecU32),
           magnitude = (half & 0x7fff) << 13;
    VecU32 subnormal = (VecU32)(magnitude < (1u << 23)),
           infinite = (VecU32)(magnitude >= (31u << 23));
    magnitude += (112u << 23) + (infinite & (112u << 23)) + (subnormal & (1u << 23));
    Vector value = (Vector)magnitude - (Vector)(subnormal & (113u << 23));
    return (Vector)((VecU32)value | (half & 0x8000) << 16);
#endif
}

#endif
