#include "13_quantization/quantization.h"
#include "13_quantization/halves.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32, HALF = 16 };

static GgmlHalf fp32_to_fp16(float value) {
    f16 bits = f16_from_float(value);
    return (GgmlHalf){(uint8_t)(bits & 255), (uint8_t)(bits >> 8)};
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

/* volatile keeps the compiler from fusing the multiplication and the addition, which would round a
 * number near the middle of two levels differently. */
static uint8_t level(float x, float inverse_d, float shift, int highest) {
    volatile float product = x * inverse_d;
    return (uint8_t)fmaxf(0, fminf(product + shift, (float)highest));
}

/* Halves of a byte: the first 16 numbers are the low ones. */
static void pack(uint8_t q[HALF], const uint8_t levels[BLOCK]) {
    for (int j = 0; j < HALF; j++)
        q[j] = (uint8_t)((levels[j] & 15) | (levels[j + HALF] & 15) << 4);
}

static void pack_fifth(uint8_t fifth[4], const uint8_t levels[BLOCK]) {
    memset(fifth, 0, 4);
    for (int j = 0; j < BLOCK; j++) fifth[j / 8] |= (uint8_t)(levels[j] >> 4 << j % 8);
}

/* Taken for whole numbers, the bits of magnitudes are in the same order, and those of infinity and
 * NaN come last: none is lost. */
static float largest_magnitude(const float x[BLOCK]) {
    typedef uint32_t Bits __attribute__((may_alias));
    const Bits *bits = (const Bits *)x;
    uint32_t most = 0;
    float result;
    for (int j = 0; j < BLOCK; j++)
        most = (bits[j] & INT32_MAX) > most ? bits[j] & INT32_MAX : most;
    memcpy(&result, &most, sizeof result);
    return result;
}

/* A half goes away from zero, as roundf has it, but many at once. (To a number just below 0.5 a
 * whole half would be too much.) Of a magnitude no compiler fuses the multiplication and the
 * addition. */
float q8_levels(int8_t levels[BLOCK], const float x[BLOCK]) {
    const float nearly_half = 0.49999997f;
    float d = largest_magnitude(x) / 127, inverse_d = isfinite(d) ? inverse(d) : 0;
    for (int j = 0; j < BLOCK; j++) {
        float steps = isfinite(d) ? fabsf(x[j] * inverse_d) : 0;
        int magnitude = (int)(steps + nearly_half);
        levels[j] = (int8_t)(x[j] < 0 ? -magnitude : magnitude);
    }
    return d;
}

void quantize_q8_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ8_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++)
            block->d = fp32_to_fp16(q8_levels(block->q, &x[r][i]));
}

void quantize_q4_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ4_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            float d = largest(&x[r][i]) / -8, inverse_d = inverse(d);
            for (int j = 0; j < BLOCK; j++) levels[j] = level(x[r][i + j], inverse_d, 8.5f, 15);
            block->d = fp32_to_fp16(d);
            pack(block->q, levels);
        }
}

void quantize_q5_0(int rows, int n, void *blocks, const float x[rows][n]) {
    BlockQ5_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            uint8_t levels[BLOCK];
            float d = largest(&x[r][i]) / -16, inverse_d = inverse(d);
            for (int j = 0; j < BLOCK; j++) levels[j] = level(x[r][i + j], inverse_d, 16.5f, 31);
            block->d = fp32_to_fp16(d);
            pack(block->q, levels);
            pack_fifth(block->qh, levels);
        }
}

/* With a minimum: the levels 0 .. highest, a scale apart, begin at the least number. */
static void from_minimum(const float x[BLOCK], int highest, uint8_t levels[BLOCK], GgmlHalf *d,
                         GgmlHalf *m) {
    float low = x[0], high = x[0];
    for (int j = 1; j < BLOCK; j++) {
        if (x[j] < low) low = x[j];
        if (x[j] > high) high = x[j];
    }
    float apart = (high - low) / (float)highest, inverse_d = inverse(apart);
    for (int j = 0; j < BLOCK; j++) levels[j] = level(x[j] - low, inverse_d, 0.5f, highest);
    *d = fp32_to_fp16(apart);
    *m = fp32_to_fp16(low);
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
            pack_fifth(block->qh, levels);
        }
}

/* ------------------------------------------------------------------ levels to numbers */

static int bit(const uint8_t *bytes, int j) { return bytes[j / 8] >> j % 8 & 1; }
static int nibble(const uint8_t q[HALF], int j) { return j < HALF ? low(q[j]) : high(q[j - HALF]); }
static int five(const uint8_t q[HALF], const uint8_t fifth[4], int j) {
    return nibble(q, j) | bit(fifth, j) << 4;
}

void dequantize_q8_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ8_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = fp16_to_fp32(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * block->q[j];
        }
}

void dequantize_q4_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ4_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = fp16_to_fp32(block->d);
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
            float d = fp16_to_fp32(block->d), m = fp16_to_fp32(block->m);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * nibble(block->q, j) + m;
        }
}

void dequantize_q5_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_0 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = fp16_to_fp32(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * (five(block->q, block->qh, j) - 16);
        }
}

void dequantize_q5_1(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_1 *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = fp16_to_fp32(block->d), m = fp16_to_fp32(block->m);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * five(block->q, block->qh, j) + m;
        }
}

const int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};

void dequantize_iq4_nl(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockIQ4_NL *block = blocks;
    require_blocks(n, BLOCK);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += BLOCK, block++) {
            float d = fp16_to_fp32(block->d);
            for (int j = 0; j < BLOCK; j++) out[r][i + j] = d * iq4_levels[nibble(block->q, j)];
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
        sum += (double)fp16_to_fp32(w->d) * fp16_to_fp32(a->d) * products;
    }
    return (float)sum;
}

/* The sum of (q - 8) x is that of q x less 8 times that of x. Spelled as (q - 8) x, gcc 12 takes q
 * - 8 for a byte without a sign where the processor has VNNI, instructions that multiply bytes. */
float dot_q4_0(int n, const void *weight, const void *x) {
    const BlockQ4_0 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    require_blocks(n, BLOCK);
    for (int i = 0; i < n; i += BLOCK, w++, a++) {
        int products = 0, levels = 0;
        for (int j = 0; j < BLOCK; j++) {
            products += nibble(w->q, j) * a->q[j];
            levels += a->q[j];
        }
        sum += (double)fp16_to_fp32(w->d) * fp16_to_fp32(a->d) * (products - 8 * levels);
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
        for (int j = 0; j < BLOCK; j++) {
            products += five(w->q, w->qh, j) * a->q[j];
            levels += a->q[j];
        }
        sum += (double)fp16_to_fp32(w->d) * fp16_to_fp32(a->d) * (products - 16 * levels);
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
        for (int j = 0; j < BLOCK; j++) {
            products += nibble(w->q, j) * a->q[j];
            levels += a->q[j];
        }
        sum += fp16_to_fp32(a->d) *
               ((double)fp16_to_fp32(w->d) * products + (double)fp16_to_fp32(w->m) * levels);
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
        for (int j = 0; j < BLOCK; j++) {
            products += five(w->q, w->qh, j) * a->q[j];
            levels += a->q[j];
        }
        sum += fp16_to_fp32(a->d) *
               ((double)fp16_to_fp32(w->d) * products + (double)fp16_to_fp32(w->m) * levels);
    }
    return (float)sum;
}
