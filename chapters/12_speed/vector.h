/* Chapter 12: LANES numbers side by side, in the compiler's own terms: the same source is AVX-512, AVX2 or NEON.
 * The vectors may lie at any address, in memory of any type. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined __F16C__ || defined __AVX512F__
#include <immintrin.h>
#endif

/* SHUFFLE_…: what shuffling cards does to two vectors: their first halves, one by one in turn; and their second halves. */
#ifdef __AVX512F__
enum { LANES = 16 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined __AVX__
enum { LANES = 8 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else /* NEON, SSE */
enum { LANES = 4 };
#define SHUFFLE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define SHUFFLE_SECOND(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

#if defined __AVX512F__ || defined __aarch64__
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
typedef uint32_t Words __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(1), may_alias));
typedef uint16_t Halves __attribute__((vector_size(LANES * sizeof(uint16_t)), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline)) /* so that a constant argument is one inside, too */

/* In each lane a, where the mask (of a comparison) has all bits, and b, where it has none. */
INLINE Vector blend(Words mask, Vector a, Vector b) { return (Vector)((mask & (Words)a) | (~mask & (Words)b)); }

/* The largest of all lanes. */
INLINE float largest(Vector numbers) {
    float part[LANES];
    *(Vector *)part = numbers;
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++) part[l] = part[l] > part[l + n] ? part[l] : part[l + n];
    return part[0];
}

/* The sum of all lanes, halved again and again. */
INLINE float total(Vector sum) {
    float part[LANES];
    *(Vector *)part = sum;
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++) part[l] += part[l + n];
    return part[0];
}

/* 2 n vectors become n: the first half is shuffled with the second, like cards, and what came from one vector is added. */
INLINE void fold(int n, Vector cards[2 * n]) {
#pragma GCC unroll 8
    for (int l = 0; l < n; l++) cards[l] = SHUFFLE_FIRST(cards[l], cards[l + n]) + SHUFFLE_SECOND(cards[l], cards[l + n]);
}

/* The sums of LANES vectors, one in each lane. The rounds are written out, so that a compiler keeps all in registers. */
INLINE Vector totals(Vector cards[LANES]) {
    if (LANES > 8) fold(8, cards);
    if (LANES > 4) fold(4, cards);
    fold(2, cards);
    fold(1, cards);
    return cards[0];
}

/* The first half of the vectors with the second, like cards. */
INLINE void shuffle(Vector to[LANES], const Vector from[LANES]) {
#pragma GCC unroll 8
    for (int l = 0; l < LANES / 2; l++) {
        to[2 * l] = SHUFFLE_FIRST(from[l], from[l + LANES / 2]);
        to[2 * l + 1] = SHUFFLE_SECOND(from[l], from[l + LANES / 2]);
    }
}

/* Turns a square: row l becomes column l. Each round shuffles the first half of the rows with the second. */
INLINE void turn(Vector square[LANES]) {
    Vector shuffled[LANES];
    shuffle(shuffled, square), shuffle(square, shuffled);
    if (LANES == 8) shuffle(shuffled, square), memcpy(square, shuffled, sizeof shuffled);
    if (LANES == 16) shuffle(shuffled, square), shuffle(square, shuffled);
}

/* Two BF16 numbers lie in each word: the first of each as float32, and the second. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
INLINE Vector even_bf16(Words pairs) { return (Vector)(pairs << 16); }
INLINE Vector odd_bf16(Words pairs) { return (Vector)(pairs & 0xffff0000); }
#else
INLINE Vector even_bf16(Words pairs) { return (Vector)(pairs & 0xffff0000); }
INLINE Vector odd_bf16(Words pairs) { return (Vector)(pairs << 16); }
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
    /* The exponent moves from bias 15 to 127, infinity's and NaN's on to 255; a subnormal, whose exponent is 0, is read
     * as 2^-14 plus itself, and 2^-14 is taken off again. */
    Words half = __builtin_convertvector(*(const Halves *)weights, Words), magnitude = (half & 0x7fff) << 13;
    Words subnormal = (Words)(magnitude < (1u << 23)), infinite = (Words)(magnitude >= (31u << 23));
    magnitude += (112u << 23) + (infinite & (112u << 23)) + (subnormal & (1u << 23));
    Vector value = (Vector)magnitude - (Vector)(subnormal & (113u << 23));
    return (Vector)((Words)value | (half & 0x8000) << 16);
#endif
}

#endif
