/* Chapter 13: integer SIMD for products.c. A processor that computes with bytes
 * multiplies 16, 32 or 64 pairs of them at once, and in each lane of 32 bits it adds up what a few
 * neighbours make. Every processor has its own instructions for that, and all of them are here.
 * The sums are integers, so they are the same on every machine.
 *
 * The levels of weights are bytes from 0 to 63. Those of Q8_0 may be negative, and have MOVED
 * added. */
#ifndef LANES_H
#define LANES_H

#include "12_speed/vector.h"

#if defined __SSE2__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

#if defined __AVX512VNNI__ && defined __AVX512VL__ || defined __AVXVNNI__
#define VNNI /* x86's dot products of four bytes: the first ones have no sign */
#elif defined __ARM_FEATURE_DOTPROD
#define SDOT /* ARM's: all have one */
#elif defined __AVX512BW__ || (defined __AVX2__ && !defined __AVX512F__) ||                        \
    (defined __SSE2__ && !defined __AVX__)
#define PAIR_DOTS /* dot products of two numbers of 16 bits, in vectors as wide as those of        \
                     float32 */
#endif

#ifdef VNNI
enum { ZERO_OFFSET = 128 };
#else
enum { ZERO_OFFSET = 0 };
#endif

/* ---------------------------------------------------- a block of weights and one of activations */

/* Sixteen bytes from here and sixteen from there. */
INLINE void side_by_side(uint8_t to[32], const void *first, const void *second) {
#ifdef __AVX2__
    __m256i low = _mm256_castsi128_si256(_mm_loadu_si128(first));
    _mm256_storeu_si256((void *)to, _mm256_inserti128_si256(low, _mm_loadu_si128(second), 1));
#else
    memcpy(to, first, 16);
    memcpy(to + 16, second, 16);
#endif
}

/* 32 bytes that are used several times: see IN_REGISTER. */
INLINE void load_in_register(uint8_t to[32], const void *from) {
#ifdef __AVX2__
    __m256i bytes = _mm256_loadu_si256(from);
    IN_REGISTER(bytes);
    _mm256_storeu_si256((void *)to, bytes);
#else
    memcpy(to, from, 32);
#endif
}

#if defined VNNI || defined __AVX2__
/* sum += w x, of `times` times 32 products: of each 32, 16 go to the first four lanes and 16 to the
 * last four. Some levels have a sign where MOVED is 0; those of several times are below 64. */
INLINE void add_products(bool sign, int times, int32_t sum[8], const uint8_t w[][32],
                         const uint8_t x[][32]) {
    __m256i lanes = _mm256_loadu_si256((const void *)sum), pairs = _mm256_setzero_si256();
    for (int n = 0; n < times; n++) {
        __m256i a = _mm256_loadu_si256((const void *)w[n]),
                b = _mm256_loadu_si256((const void *)x[n]);
#if defined VNNI && defined __AVX512VL__
        lanes = _mm256_dpbusd_epi32(lanes, a, b);
#elif defined VNNI
        lanes = _mm256_dpbusd_avx_epi32(lanes, a, b);
#else /* x gets the sign of w, whose magnitude is left. Into 16 bits fit 2 * 128 * 127 < 32768, or \
         2 * 2 * 63 * 127 */
        if (sign) {
            b = _mm256_sign_epi8(b, a);
            a = _mm256_abs_epi8(a);
        }
        pairs =
            n ? _mm256_add_epi16(pairs, _mm256_maddubs_epi16(a, b)) : _mm256_maddubs_epi16(a, b);
#endif
    }
#ifndef VNNI
    lanes = _mm256_add_epi32(lanes, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
    (void)sign, (void)pairs;
    _mm256_storeu_si256((void *)sum, lanes);
}
#else
/* The same of 16 products. */
INLINE void add_sixteen(int32_t sum[4], const int8_t w[16], const int8_t x[16]) {
#if defined __SSE2__ /* a byte beside itself makes 16 bits; shifted down with its sign, the byte   \
                        is left */
    __m128i lanes = _mm_loadu_si128((const void *)sum);
    __m128i a = _mm_loadu_si128((const void *)w), b = _mm_loadu_si128((const void *)x);
    __m128i low = _mm_madd_epi16(_mm_srai_epi16(_mm_unpacklo_epi8(a, a), 8),
                                 _mm_srai_epi16(_mm_unpacklo_epi8(b, b), 8));
    __m128i high = _mm_madd_epi16(_mm_srai_epi16(_mm_unpackhi_epi8(a, a), 8),
                                  _mm_srai_epi16(_mm_unpackhi_epi8(b, b), 8));
    _mm_storeu_si128((void *)sum, _mm_add_epi32(lanes, _mm_add_epi32(low, high)));
#elif defined SDOT
    vst1q_s32(sum, vdotq_s32(vld1q_s32(sum), vld1q_s8(w), vld1q_s8(x)));
#elif defined __aarch64__
    int8x16_t a = vld1q_s8(w), b = vld1q_s8(x);
    int32x4_t first = vpadalq_s16(vld1q_s32(sum), vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    vst1q_s32(sum, vpadalq_s16(first, vmull_high_s8(a, b)));
#else
    for (int i = 0; i < 16; i++) sum[i / 4] += w[i] * x[i];
#endif
}

INLINE void add_products(bool, int times, int32_t sum[8], const uint8_t w[][32],
                         const uint8_t x[][32]) {
    for (int n = 0; n < times; n++) {
        const int8_t *a = (const int8_t *)w[n], *b = (const int8_t *)x[n];
        add_sixteen(sum, a, b);
        add_sixteen(sum + 4, a + 16, b + 16);
    }
}
#endif

/* -------------------------------------------------- panels: every lane has an output of its own */

/* STEP levels take the room of a lane. Where there is nothing better they are float32, whose 24
 * bits hold these sums as well. */
#if defined VNNI || defined SDOT
enum { STEP = 4 };
typedef int8_t Level;
typedef int32_t Lane;
#elif defined PAIR_DOTS
enum { STEP = 2 };
typedef int16_t Level;
typedef int32_t Lane;
#else
enum { STEP = 1 };
typedef float Level, Lane;
#endif

typedef Lane Lanes __attribute__((vector_size(LANES * sizeof(Lane)), aligned(1), may_alias));

/* sum + w x in each lane. */
INLINE Lanes add_step(Lanes sum, Lanes w, Lanes x) {
#if defined VNNI && defined __AVX512VL__
    return (Lanes)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)w, (__m512i)x);
#elif defined VNNI
    return (Lanes)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)w, (__m256i)x);
#elif defined SDOT
    return (Lanes)vdotq_s32((int32x4_t)sum, (int8x16_t)w, (int8x16_t)x);
#elif defined PAIR_DOTS && defined __AVX512BW__
    return sum + (Lanes)_mm512_madd_epi16((__m512i)w, (__m512i)x);
#elif defined PAIR_DOTS && defined __AVX2__
    return sum + (Lanes)_mm256_madd_epi16((__m256i)w, (__m256i)x);
#elif defined PAIR_DOTS
    return sum + (Lanes)_mm_madd_epi16((__m128i)w, (__m128i)x);
#else
    return sum + w * x;
#endif
}

#endif
