/* Chapter 13: blocks taken apart for products.c, a part of a row at a time: 256 numbers, or what is
 * left of the row. A number is scale (level - zero), or scale level + minimum, or scale level -
 * minimum. */
#ifndef UNPACK_H
#define UNPACK_H

#include "13_quantization/blocks.h"
#include "13_quantization/lanes.h"
#include "common/gguf.h"
#include "common/tensor.h"

enum {
    BLOCK = 32,
    PART = 256,
    BLOCKS = PART / BLOCK,
    MOST_SCALES = 16,
    MOST_BYTES = BLOCKS * sizeof(BlockQ8_0)
};

/* The constants of a format's parts. */
typedef struct {
    int bytes; /* of a whole part */
    int share; /* numbers that share a scale */
    int zero;
    int minima;  /* how many times a block's minimum is added: 1, -1, or 0, where it has none */
    bool halves; /* the levels of a block begin with 16 bytes of two each */
} UnpackKind;

/* The constants of the formats that are multiplied as integers; 0 bytes for the others. */
INLINE UnpackKind kind_of(int type) {
    switch (type) {
    case GGUF_TYPE_Q8_0: return (UnpackKind){BLOCKS * sizeof(BlockQ8_0), 32, ZERO_OFFSET, 0, false};
    case GGUF_TYPE_Q4_0: return (UnpackKind){BLOCKS * sizeof(BlockQ4_0), 32, 8, 0, true};
    case GGUF_TYPE_Q5_0: return (UnpackKind){BLOCKS * sizeof(BlockQ5_0), 32, 16, 0, true};
    case GGUF_TYPE_Q4_1: return (UnpackKind){BLOCKS * sizeof(BlockQ4_1), 32, 0, 1, true};
    case GGUF_TYPE_Q5_1: return (UnpackKind){BLOCKS * sizeof(BlockQ5_1), 32, 0, 1, true};
    case GGUF_TYPE_Q4_K: return (UnpackKind){sizeof(BlockQ4_K), 32, 0, -1, false};
    case GGUF_TYPE_Q5_K: return (UnpackKind){sizeof(BlockQ5_K), 32, 0, -1, false};
    case GGUF_TYPE_Q6_K: return (UnpackKind){sizeof(BlockQ6_K), 16, 32, 0, false};
    default: return (UnpackKind){0};
    }
}

/* ------------------------------------------------------------------ levels */

typedef uint8_t Bytes __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint16_t Twos __attribute__((vector_size(32), aligned(1), may_alias));
#if defined __GFNI__ && defined __AVX2__
/* Each bit of a byte becomes a sum of some of its bits: here, of one. The last of a matrix's rows
 * makes bit 0. */
INLINE void move_bits(uint8_t bytes[32], int to, int from, uint8_t mask) {
    uint64_t rows = 0;
    for (int n = 0; n < 8; n++)
        if (mask >> n & 1) rows |= (uint64_t)1 << (8 * (7 - to - n) + from + n);
    *(Bytes *)bytes = (Bytes)_mm256_gf2p8affine_epi64_epi8(*(__m256i_u *)bytes,
                                                           _mm256_set1_epi64x((long long)rows), 0);
}
#else
/* No byte can be shifted by itself; of two that are shifted together, the mask takes away what came
 * from the other. */
INLINE void move_bits(uint8_t bytes[32], int to, int from, uint8_t mask) {
    Bytes bits = (Bytes)(*(Twos *)bytes >> from) & mask;
    *(Twos *)bytes = (Twos)bits << to;
}
#endif

/* Some bits of each byte, from `from` on, become those from `to` on. */
INLINE void add_bits(uint8_t levels[32], int to, const uint8_t bytes[32], int from, uint8_t mask) {
    uint8_t moved[32];
    *(Bytes *)moved = *(const Bytes *)bytes;
    if (to == from) *(Bytes *)moved &= (uint8_t)(mask << to);
    else move_bits(moved, to, from, mask);
    *(Bytes *)levels |= *(Bytes *)moved;
}

typedef uint32_t EightWords __attribute__((vector_size(32), aligned(1), may_alias));

/* The low half bytes of 16 bytes, then the high ones: one of two copies is shifted. */
INLINE void add_nibbles(uint8_t levels[32], const uint8_t q[16]) {
    EightWords copies;
    side_by_side((uint8_t *)&copies, q, q);
    *(Bytes *)levels |= (Bytes)(copies >> (EightWords){0, 0, 0, 0, 4, 4, 4, 4}) & 15;
}

/* Sixteen fifth bits of each of two blocks, or 32 of one: the bytes from i on of the first, and
 * those from j on of the second. */
#if defined __AVX512VL__ && defined __AVX512BW__ /* which has masks of a bit for each byte */
INLINE void add_fifths(uint8_t levels[32], int i, const uint8_t first[4], int j,
                       const uint8_t second[4]) {
    uint16_t bits[2];
    memcpy(&bits[0], first + i, 2);
    memcpy(&bits[1], second + j, 2);
    __m256i all = _mm256_loadu_si256((const void *)levels);
    all = _mm256_mask_add_epi8(all, bits[0] | (uint32_t)bits[1] << 16, all, _mm256_set1_epi8(16));
    _mm256_storeu_si256((void *)levels, all);
}
#else
/* There are eight copies of each byte, and in each copy another bit counts. */
#if defined __SSSE3__ || defined __aarch64__
#define COPIES(i, j, all)                                                                          \
    __builtin_shufflevector(all, all, i, i, i, i, i, i, i, i, i + 1, i + 1, i + 1, i + 1, i + 1,   \
                            i + 1, i + 1, i + 1, j + 16, j + 16, j + 16, j + 16, j + 16, j + 16,   \
                            j + 16, j + 16, j + 17, j + 17, j + 17, j + 17, j + 17, j + 17,        \
                            j + 17, j + 17)
INLINE void copy_eight_times(uint8_t copies[32], int i, const uint8_t first[4], int j,
                             const uint8_t second[4]) {
    uint32_t a, b;
    memcpy(&a, first, 4);
    memcpy(&b, second, 4);
    Bytes all = (Bytes)(EightWords){a, a, a, a, b, b, b, b};
    *(Bytes *)copies = i == j ? i == 0 ? COPIES(0, 0, all) : COPIES(2, 2, all) : COPIES(0, 2, all);
}
#else /* which cannot shuffle bytes */
INLINE void copy_eight_times(uint8_t copies[32], int i, const uint8_t first[4], int j,
                             const uint8_t second[4]) {
    const uint64_t ones = 0x0101010101010101;
    memcpy(
        copies,
        (uint64_t[]){ones * first[i], ones * first[i + 1], ones * second[j], ones * second[j + 1]},
        32);
}
#endif
INLINE void add_fifths(uint8_t levels[32], int i, const uint8_t first[4], int j,
                       const uint8_t second[4]) {
    const Bytes bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                       1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8_t copies[32];
    copy_eight_times(copies, i, first, j, second);
    Bytes reached = (*(Bytes *)copies & bit) + 127; /* its highest bit is the one that counted */
    *(Bytes *)levels |= (Bytes)((Twos)reached >> 3) & 16;
}
#endif

/* The quantized values of the 32 numbers from 32 b on. */
INLINE void levels_of(int type, int b, uint8_t levels[32], const void *part) {
    const BlockQ8_0 *q8_0 = part;
    const BlockQ4_0 *q4_0 = part;
    const BlockQ4_1 *q4_1 = part;
    const BlockQ5_0 *q5_0 = part;
    const BlockQ5_1 *q5_1 = part;
    const BlockQ4_K *q4_k = part;
    const BlockQ5_K *q5_k = part;
    const BlockQ6_K *q6_k = part;
    *(Bytes *)levels = (Bytes){0};
    switch (type) {
    case GGUF_TYPE_Q8_0: *(Bytes *)levels = *(const Bytes *)q8_0[b].q ^ ZERO_OFFSET; break;
    case GGUF_TYPE_Q4_0: add_nibbles(levels, q4_0[b].q); break;
    case GGUF_TYPE_Q4_1: add_nibbles(levels, q4_1[b].q); break;
    case GGUF_TYPE_Q5_0:
        add_nibbles(levels, q5_0[b].q);
        add_fifths(levels, 0, q5_0[b].qh, 2, q5_0[b].qh);
        break;
    case GGUF_TYPE_Q5_1:
        add_nibbles(levels, q5_1[b].q);
        add_fifths(levels, 0, q5_1[b].qh, 2, q5_1[b].qh);
        break;
    case GGUF_TYPE_Q4_K: add_bits(levels, 0, &q4_k->q[b / 2 * 32], b % 2 * 4, 15); break;
    case GGUF_TYPE_Q5_K:
        add_bits(levels, 0, &q5_k->q[b / 2 * 32], b % 2 * 4, 15);
        add_bits(levels, 4, q5_k->qh, b, 1);
        break;
    case GGUF_TYPE_Q6_K:
        add_bits(levels, 0, &q6_k->low[b / 4 * 64 + b % 2 * 32], b / 2 % 2 * 4, 15);
        add_bits(levels, 4, &q6_k->high[b / 4 * 32], b % 4 * 2, 3);
    }
}

/* The first 16 levels of two blocks side by side, and the last 16: of a format in halves no level
 * leaves its byte. */
INLINE void levels_of_two(int type, uint8_t levels[2][32], const char *one, const char *other) {
    const BlockQ4_0 *q4_0[] = {(const void *)one, (const void *)other};
    const BlockQ4_1 *q4_1[] = {(const void *)one, (const void *)other};
    const BlockQ5_0 *q5_0[] = {(const void *)one, (const void *)other};
    const BlockQ5_1 *q5_1[] = {(const void *)one, (const void *)other};
    uint8_t bytes[32];
    switch (type) {
    case GGUF_TYPE_Q4_0: side_by_side(bytes, q4_0[0]->q, q4_0[1]->q); break;
    case GGUF_TYPE_Q4_1: side_by_side(bytes, q4_1[0]->q, q4_1[1]->q); break;
    case GGUF_TYPE_Q5_0: side_by_side(bytes, q5_0[0]->q, q5_0[1]->q); break;
    case GGUF_TYPE_Q5_1: side_by_side(bytes, q5_1[0]->q, q5_1[1]->q);
    }
    for (int half = 0; half < 2; half++) {
        *(Bytes *)levels[half] = (Bytes){0};
        add_bits(levels[half], 0, bytes, 4 * half, 15);
        if (type == GGUF_TYPE_Q5_0)
            add_fifths(levels[half], 2 * half, q5_0[0]->qh, 2 * half, q5_0[1]->qh);
        if (type == GGUF_TYPE_Q5_1)
            add_fifths(levels[half], 2 * half, q5_1[0]->qh, 2 * half, q5_1[1]->qh);
    }
}

/* ------------------------------------------------------------------ scales */

typedef float Eight __attribute__((vector_size(32), aligned(1), may_alias));
typedef int32_t EightWholes __attribute__((vector_size(32), aligned(1), may_alias));

/* Broadcasts number k of eight to four lanes, and number k + 4 to the other four. */
#define FOUR_AND_FOUR(k, eight)                                                                    \
    __builtin_shufflevector(eight, eight, k, k, k, k, k + 4, k + 4, k + 4, k + 4)
#define four_and_four(k, eight)                                                                    \
    ((k) == 0   ? FOUR_AND_FOUR(0, eight)                                                          \
     : (k) == 1 ? FOUR_AND_FOUR(1, eight)                                                          \
     : (k) == 2 ? FOUR_AND_FOUR(2, eight)                                                          \
                : FOUR_AND_FOUR(3, eight))

#if defined __F16C__ && defined __AVX2__
/* Eight times two bytes that lie `apart` bytes from each other. */
INLINE __m128i eight_twos(const char *from, size_t apart) {
    int pairs[2]; /* the first of four with what follows it, where the second is put */
    memcpy(&pairs[0], from, 4);
    memcpy(&pairs[1], from + 4 * apart, 4);
    __m128i low = _mm_cvtsi32_si128(pairs[0]), high = _mm_cvtsi32_si128(pairs[1]);
#define PUT(i)                                                                                     \
    low = _mm_insert_epi16(low, half_bits(*(const GgmlHalf *)(from + (i) * apart)), i);            \
    high = _mm_insert_epi16(high, half_bits(*(const GgmlHalf *)(from + ((i) + 4) * apart)), i);
    PUT(1) PUT(2) PUT(3) return _mm_unpacklo_epi64(low, high);
}

/* The same if `apart` is 18, nine times two. Then the k-th is at place k of the k-th sixteen bytes,
 * and stays there. Of two times sixteen bytes places k and k + 1 are taken, of which each half
 * needs one. */
INLINE __m128i eight_ninths(const char *from) {
    __m256i twos = _mm256_loadu_si256((const void *)from);
#define TAKE(k, twos)                                                                              \
    _mm256_blend_epi16(twos, _mm256_loadu_si256((const void *)(from + 16 * (k))), 3 << (k))
    twos = TAKE(6, TAKE(4, TAKE(2, twos)));
    return _mm_blend_epi16(_mm256_castsi256_si128(twos), _mm256_extracti128_si256(twos, 1), 0xaa);
}
#endif

/* Eight float16 that lie `apart` bytes from each other. */
INLINE void widen_halves(float to[8], const char *from, size_t apart) {
#if defined __F16C__ && defined __AVX2__
    *(Eight *)to =
        (Eight)_mm256_cvtph_ps(apart == 18 ? eight_ninths(from) : eight_twos(from, apart));
#else
    f16 halves[LANES > 8 ? LANES : 8] = {0};
    float wide[LANES > 8 ? LANES : 8];
    for (int i = 0; i < 8; i++) halves[i] = half_bits(*(const GgmlHalf *)(from + i * apart));
    for (int i = 0; i < 8; i += LANES) *(Vector *)&wide[i] = widen_f16((const char *)&halves[i]);
    memcpy(to, wide, 8 * sizeof *to);
#endif
}

/* One. */
INLINE float widen_half(GgmlHalf half) {
#ifdef __F16C__
    return _cvtsh_ss(half_bits(half));
#else
    return f16_to_float(half_bits(half));
#endif
}

INLINE void widen_bytes(float to[8], const int8_t from[8]) {
#ifdef __AVX2__
    *(Eight *)to =
        (Eight)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)from)));
#else
    for (int i = 0; i < 8; i++) to[i] = from[i];
#endif
}

/* The first two float16 of a block: it takes no longer to widen the two that follow. */
INLINE void widen_first(float to[4], const BlockQ4_K *block) {
#ifdef __F16C__
    _mm_storeu_ps(to, _mm_cvtph_ps(_mm_loadl_epi64((const void *)block)));
#else
    to[0] = widen_half(block->d);
    to[1] = widen_half(block->dmin);
#endif
}

/* Reads d of each block, and m if it has one: they come first in all five formats. */
INLINE void scales_of_32(UnpackKind kind, float scale[BLOCKS], float minimum[BLOCKS],
                         const char *part) {
    widen_halves(scale, part, (size_t)kind.bytes / BLOCKS);
    if (kind.minima) widen_halves(minimum, part + sizeof(GgmlHalf), (size_t)kind.bytes / BLOCKS);
}

/* The six-bit scales and minima of a Q4_K or Q5_K block, to be multiplied by d and dmin. */
typedef struct {
    int8_t scale[BLOCKS], minimum[BLOCKS];
} Sixes;

INLINE bool has_sixes(int type) { return type == GGUF_TYPE_Q4_K || type == GGUF_TYPE_Q5_K; }

/* Two blocks side by side. The six bits lie in twelve bytes: scale_of_8 and minimum_of_8 in
 * k_quants.c take one number, here four lie in a word. */
INLINE void unpack_sixes(Sixes to[2], const void *one, const void *other) {
    const uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
    EightWords all; /* d and dmin, then the twelve bytes */
    side_by_side((uint8_t *)&all, one, other);
    EightWords low = __builtin_shufflevector(all, all, 1, 3, 2, 3, 5, 7, 6, 7) >>
                     (EightWords){0, 0, 0, 4, 0, 0, 0, 4};
    EightWords high = __builtin_shufflevector(all, all, 1, 1, 2, 2, 5, 5, 6, 6) >> 2;
    *(EightWords *)to = (low & (EightWords){six, four, six, four, six, four, six, four}) |
                        (high & (EightWords){0, two, 0, two, 0, two, 0, two});
}

INLINE void scales_of_k(float scale[BLOCKS], float minimum[BLOCKS], const Sixes *six,
                        const float d[2]) {
    widen_bytes(scale, six->scale);
    widen_bytes(minimum, six->minimum);
    *(Eight *)scale *= d[0];
    *(Eight *)minimum *= d[1];
}

/* scale[k] belongs to the numbers from k * share on, and minimum[b], where the format has one, to
 * block b. */
INLINE void scales_of(int type, float scale[MOST_SCALES], float minimum[BLOCKS], const void *part) {
    const BlockQ6_K *q6_k = part;
    if (has_sixes(type)) {
        Sixes six[2];
        float d[4];
        unpack_sixes(six, part, part);
        widen_first(d, part);
        scales_of_k(scale, minimum, six, d);
    } else if (type == GGUF_TYPE_Q6_K) {
        for (int k = 0; k < MOST_SCALES; k += 8) {
            widen_bytes(&scale[k], &q6_k->scales[k]);
            *(Eight *)&scale[k] *= widen_half(q6_k->d);
        }
    } else scales_of_32(kind_of(type), scale, minimum, part);
}

#endif
