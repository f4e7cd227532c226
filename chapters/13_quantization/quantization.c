#include "13_quantization/quantization.h"
#include "common/error.h"
#include "common/tensor.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, HALF = 16, SUPER = 256 };

static float half_read(HalfBytes bytes) { return f16_to_float(half_bits(bytes)); }

static HalfBytes half_made(float value) {
    f16 bits = f16_from_float(value);
    return (HalfBytes){(uint8_t)(bits & 255), (uint8_t)(bits >> 8)};
}

static void require_blocks(int n, int numbers) {
    if (n % numbers) fail("a row of %d numbers cannot be cut into blocks of %d", n, numbers);
}

/* ------------------------------------------------------------------ numbers to levels */

/* 1 / d, or 0 where that is no number: whatever the levels then are, d is 0 as a float16. */
static float inverse(float d) {
    float result = 1 / d;
    return isfinite(result) ? result : 0;
}

static float largest(const float x[BLOCK]) {
    float most = x[0];
    for (int j = 1; j < BLOCK; j++)
        if (fabsf(x[j]) > fabsf(most)) most = x[j];
    return most;
}

/* volatile: compilers like to fuse the multiplication and the addition, which rounds a number near the middle
 * elsewhere. */
static uint8_t level(float x, float scale, float shift, int highest) {
    volatile float product = x * scale;
    return (uint8_t)fmaxf(0, fminf(product + shift, (float)highest));
}

/* Halves of a byte: the first 16 numbers are the low ones. */
static void pack(uint8_t q[HALF], const uint8_t levels[BLOCK]) {
    for (int j = 0; j < HALF; j++) q[j] = (uint8_t)((levels[j] & 15) | (levels[j + HALF] & 15) << 4);
}

static void pack_fifth(uint8_t fifth[4], const uint8_t levels[BLOCK]) {
    memset(fifth, 0, 4);
    for (int j = 0; j < BLOCK; j++) fifth[j / 8] |= (uint8_t)(levels[j] >> 4 << j % 8);
}

/* Taken for whole numbers, the bits of magnitudes are in the same order, and those of infinity and NaN come last: none
 * is lost. */
static float largest_magnitude(const float x[BLOCK]) {
    typedef uint32_t Bits __attribute__((may_alias));
    const Bits *bits = (const Bits *)x;
    uint32_t most = 0;
    float result;
    for (int j = 0; j < BLOCK; j++) most = (bits[j] & INT32_MAX) > most ? bits[j] & INT32_MAX : most;
    memcpy(&result, &most, sizeof result);
    return result;
}

/* A half goes away from zero, as roundf has it, but many at once. (To a number just below 0.5 a whole half would be too
 * much.) Of a magnitude no compiler fuses the multiplication and the addition. */
float q8_levels(int8_t levels[BLOCK], const float x[BLOCK]) {
    const float nearly_half = 0.49999997f;
    float d = largest_magnitude(x) / 127, scale = isfinite(d) ? inverse(d) : 0;
    for (int j = 0; j < BLOCK; j++) {
        float steps = isfinite(d) ? fabsf(x[j] * scale) : 0;
        int magnitude = (int)(steps + nearly_half);
        levels[j] = (int8_t)(x[j] < 0 ? -magnitude : magnitude);
    }
    return d;
}

void quantize_q8_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ8_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) block->d = half_made(q8_levels(block->q, &x[r][i]));
}

void quantize_q4_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ4_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            float d = largest(&x[r][i]) / -8, scale = inverse(d);
            for (int j = 0; j < BLOCK; j++) levels[j] = level(x[r][i + j], scale, 8.5f, 15);
            block->d = half_made(d);
            pack(block->q, levels);
        }
}

void quantize_q5_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ5_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            float d = largest(&x[r][i]) / -16, scale = inverse(d);
            for (int j = 0; j < BLOCK; j++) levels[j] = level(x[r][i + j], scale, 16.5f, 31);
            block->d = half_made(d);
            pack(block->q, levels);
            pack_fifth(block->fifth, levels);
        }
}

/* With a minimum: the levels 0 .. highest, a scale apart, begin at the least number. */
static void from_minimum(const float x[BLOCK], int highest, uint8_t levels[BLOCK], HalfBytes *d, HalfBytes *m) {
    float low = x[0], high = x[0];
    for (int j = 1; j < BLOCK; j++) {
        if (x[j] < low) low = x[j];
        if (x[j] > high) high = x[j];
    }
    float apart = (high - low) / (float)highest, scale = inverse(apart);
    for (int j = 0; j < BLOCK; j++) levels[j] = level(x[j] - low, scale, 0.5f, highest);
    *d = half_made(apart), *m = half_made(low);
}

void quantize_q4_1(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ4_1 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            from_minimum(&x[r][i], 15, levels, &block->d, &block->m);
            pack(block->q, levels);
        }
}

void quantize_q5_1(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ5_1 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            from_minimum(&x[r][i], 31, levels, &block->d, &block->m);
            pack(block->q, levels);
            pack_fifth(block->fifth, levels);
        }
}

/* ------------------------------------------------------------------ levels to numbers: blocks of 32 */

static int low(uint8_t byte) { return byte & 15; }
static int high(uint8_t byte) { return byte >> 4; }
static int bit(const uint8_t *bytes, int j) { return bytes[j / 8] >> j % 8 & 1; }
static int nibble(const uint8_t q[HALF], int j) { return j < HALF ? low(q[j]) : high(q[j - HALF]); }
static int five(const uint8_t q[HALF], const uint8_t fifth[4], int j) { return nibble(q, j) | bit(fifth, j) << 4; }

void dequantize_q8_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ8_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * block->q[j];
        }
}

void dequantize_q4_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ4_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d);
            for (int j = 0; j < HALF; j++) {
                out[r][i + j] = d * (low(block->q[j]) - 8);
                out[r][i + j + HALF] = d * (high(block->q[j]) - 8);
            }
        }
}

void dequantize_q4_1(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ4_1 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d), m = half_read(block->m);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * nibble(block->q, j) + m;
        }
}

void dequantize_q5_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * (five(block->q, block->fifth, j) - 16);
        }
}

void dequantize_q5_1(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_1 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d), m = half_read(block->m);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * five(block->q, block->fifth, j) + m;
        }
}

void dequantize_iq4_nl(int rows, int n, float out[restrict rows][n], const void *blocks) {
    /* Denser around zero, where most weights are. */
    static const int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    const BlockIQ4_NL *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = half_read(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * levels[nibble(block->q, j)];
        }
}

/* ------------------------------------------------------------------ levels to numbers: K-quants */

/* Number i of 256 stands in half i / 128 of the block, there in group i / 32 % 4, and in it at l = i % 32. Fields of
 * two bits have four numbers a byte, one of each group; so byte 32 * half + l is of all four. */
static int two_bits(const uint8_t q[64], int i) { return q[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3; }

/* Fields of four bits: 64 neighbours share 32 bytes, the low halves first. */
static int four_bits(const uint8_t q[128], int i) { return q[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15; }

/* Bit i / 32 of byte i % 32. */
static int one_bit(const uint8_t bits[32], int i) { return bits[i % 32] >> i / 32 & 1; }

/* Eight scales and eight minima of six bits in twelve bytes. Those of sub-blocks 0 to 3 are the low bits of the first
 * eight bytes; the last four bytes have four bits of each of the others, whose upper two are the top bits of the first
 * eight. */
static int scale_of_8(const uint8_t packed[12], int s) {
    return s < 4 ? packed[s] & 63 : low(packed[s + 4]) | packed[s - 4] >> 6 << 4;
}
static int minimum_of_8(const uint8_t packed[12], int s) {
    return s < 4 ? packed[s + 4] & 63 : high(packed[s + 4]) | packed[s] >> 6 << 4;
}

/* Sixteen scales of six bits in twelve bytes: four bits each in the first eight, two bits each in the last four. */
static int scale_of_16(const uint8_t packed[12], int s) {
    int lower = s < 8 ? low(packed[s]) : high(packed[s - 8]), upper = packed[8 + s % 4] >> s / 4 * 2 & 3;
    return (lower | upper << 4) - 32;
}

void dequantize_q2_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ2_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = half_read(block->d), dmin = half_read(block->dmin);
            for (int i = 0; i < SUPER; i++) {
                uint8_t both = block->scales[i / 16];
                out[r][first + i] = d * low(both) * two_bits(block->q, i) - dmin * high(both);
            }
        }
}

void dequantize_q3_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ3_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = half_read(block->d);
            for (int i = 0; i < SUPER; i++) {
                int q = two_bits(block->q, i) | one_bit(block->third, i) << 2;
                out[r][first + i] = d * scale_of_16(block->scales, i / 16) * (q - 4);
            }
        }
}

void dequantize_q4_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ4_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = half_read(block->d), dmin = half_read(block->dmin);
            for (int i = 0; i < SUPER; i++)
                out[r][first + i] = d * scale_of_8(block->scales, i / 32) * four_bits(block->q, i) -
                                    dmin * minimum_of_8(block->scales, i / 32);
        }
}

void dequantize_q5_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = half_read(block->d), dmin = half_read(block->dmin);
            for (int i = 0; i < SUPER; i++) {
                int q = four_bits(block->q, i) | one_bit(block->fifth, i) << 4;
                out[r][first + i] = d * scale_of_8(block->scales, i / 32) * q -
                                    dmin * minimum_of_8(block->scales, i / 32);
            }
        }
}

/* Its lower four bits: a half of the block has 64 bytes, whose low halves are its groups 0 and 1. */
static int lower_of_six(const uint8_t q[128], int i) { return q[i / 128 * 64 + i % 64] >> i / 64 % 2 * 4 & 15; }

void dequantize_q6_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ6_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = half_read(block->d);
            for (int i = 0; i < SUPER; i++) {
                int q = lower_of_six(block->low, i) | two_bits(block->high, i) << 4;
                out[r][first + i] = d * block->scales[i / 16] * (q - 32);
            }
        }
}

/* ------------------------------------------------------------------ inner products */

float dot_q8_0(int n, const void *weight, const void *x) {
    const BlockQ8_0 *w = weight, *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0;
        for (int j = 0; j < BLOCK; j++) products += w->q[j] * a->q[j];
        sum += (double)half_read(w->d) * half_read(a->d) * products;
    }
    return (float)sum;
}

/* The sum of (q - 8) x is that of q x less 8 times that of x. Spelled as (q - 8) x, gcc 12 takes q - 8 for a byte
 * without a sign where the processor has VNNI, instructions that multiply bytes. */
float dot_q4_0(int n, const void *weight, const void *x) {
    const BlockQ4_0 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0, levels = 0;
        for (int j = 0; j < BLOCK; j++) products += nibble(w->q, j) * a->q[j], levels += a->q[j];
        sum += (double)half_read(w->d) * half_read(a->d) * (products - 8 * levels);
    }
    return (float)sum;
}

float dot_q5_0(int n, const void *weight, const void *x) {
    const BlockQ5_0 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0, levels = 0;
        for (int j = 0; j < BLOCK; j++) products += five(w->q, w->fifth, j) * a->q[j], levels += a->q[j];
        sum += (double)half_read(w->d) * half_read(a->d) * (products - 16 * levels);
    }
    return (float)sum;
}

/* With a minimum: the sum of (d q + m) x is d times the sum of q x, and m times the sum of x. */
float dot_q4_1(int n, const void *weight, const void *x) {
    const BlockQ4_1 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0, levels = 0;
        for (int j = 0; j < BLOCK; j++) products += nibble(w->q, j) * a->q[j], levels += a->q[j];
        sum += half_read(a->d) * ((double)half_read(w->d) * products + (double)half_read(w->m) * levels);
    }
    return (float)sum;
}

float dot_q5_1(int n, const void *weight, const void *x) {
    const BlockQ5_1 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0, levels = 0;
        for (int j = 0; j < BLOCK; j++) products += five(w->q, w->fifth, j) * a->q[j], levels += a->q[j];
        sum += half_read(a->d) * ((double)half_read(w->d) * products + (double)half_read(w->m) * levels);
    }
    return (float)sum;
}

/* ------------------------------------------------------------------ all of them */

#define READ(name) dequantize_##name
#define BOTH(name) dequantize_##name, quantize_##name, dot_##name

static const Blocks formats[] = {
    {"Q4_0", 2, 32, sizeof(BlockQ4_0), BOTH(q4_0)},           {"Q4_1", 3, 32, sizeof(BlockQ4_1), BOTH(q4_1)},
    {"Q5_0", 6, 32, sizeof(BlockQ5_0), BOTH(q5_0)},           {"Q5_1", 7, 32, sizeof(BlockQ5_1), BOTH(q5_1)},
    {"Q8_0", 8, 32, sizeof(BlockQ8_0), BOTH(q8_0)},           {"Q2_K", 10, 256, sizeof(BlockQ2_K), READ(q2_k), 0, 0},
    {"Q3_K", 11, 256, sizeof(BlockQ3_K), READ(q3_k), 0, 0},   {"Q4_K", 12, 256, sizeof(BlockQ4_K), READ(q4_k), 0, 0},
    {"Q5_K", 13, 256, sizeof(BlockQ5_K), READ(q5_k), 0, 0},   {"Q6_K", 14, 256, sizeof(BlockQ6_K), READ(q6_k), 0, 0},
    {"IQ4_NL", 20, 32, sizeof(BlockIQ4_NL), READ(iq4_nl), 0, 0},
};

const Blocks *format_at(int index) {
    return index < (int)(sizeof formats / sizeof *formats) ? &formats[index] : NULL;
}

const Blocks *format_named(const char *name) {
    const Blocks *format;
    for (int f = 0; (format = format_at(f)); f++)
        if (strcmp(format->name, name) == 0) return format;
    fail("there is no format %s", name);
}

const Blocks *format_of_type(int type) {
    int f = 0;
    while (format_at(f) && format_at(f)->type != type) f++;
    return format_at(f);
}
