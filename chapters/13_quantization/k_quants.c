#include "13_quantization/quantization.h"
#include "13_quantization/halves.h"

enum { SUPER = 256 };

/* Number i of 256 stands in half i / 128 of the block, there in group i / 32 % 4, and in it at l =
 * i % 32. Fields of two bits have four numbers a byte, one of each group; so byte 32 * half + l is
 * of all four. */
static int two_bits(const uint8_t q[64], int i) {
    return q[i / 128 * 32 + i % 32] >> i / 32 % 4 * 2 & 3;
}

/* Fields of four bits: 64 neighbours share 32 bytes, the low halves first. */
static int four_bits(const uint8_t q[128], int i) {
    return q[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;
}

/* Bit i / 32 of byte i % 32. */
static int one_bit(const uint8_t bits[32], int i) { return bits[i % 32] >> i / 32 & 1; }

/* Eight scales and eight minima of six bits in twelve bytes. Those of sub-blocks 0 to 3 are the low
 * bits of the first eight bytes; the last four bytes have four bits of each of the others, whose
 * upper two are the top bits of the first eight. */
static int scale_of_8(const uint8_t packed[12], int s) {
    return s < 4 ? packed[s] & 63 : low(packed[s + 4]) | packed[s - 4] >> 6 << 4;
}
static int minimum_of_8(const uint8_t packed[12], int s) {
    return s < 4 ? packed[s + 4] & 63 : high(packed[s + 4]) | packed[s] >> 6 << 4;
}

/* Sixteen scales of six bits in twelve bytes: four bits each in the first eight, two bits each in
 * the last four. */
static int scale_of_16(const uint8_t packed[12], int s) {
    int lower = s < 8 ? low(packed[s]) : high(packed[s - 8]),
        upper = packed[8 + s % 4] >> s / 4 * 2 & 3;
    return (lower | upper << 4) - 32;
}

void dequantize_q2_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ2_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d), dmin = fp16_to_fp32(block->dmin);
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
            float d = fp16_to_fp32(block->d);
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
            float d = fp16_to_fp32(block->d), dmin = fp16_to_fp32(block->dmin);
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
            float d = fp16_to_fp32(block->d), dmin = fp16_to_fp32(block->dmin);
            for (int i = 0; i < SUPER; i++) {
                int q = four_bits(block->q, i) | one_bit(block->qh, i) << 4;
                out[r][first + i] = d * scale_of_8(block->scales, i / 32) * q -
                                    dmin * minimum_of_8(block->scales, i / 32);
            }
        }
}

/* Its lower four bits: a half of the block has 64 bytes, whose low halves are its groups 0 and 1.
 */
static int lower_of_six(const uint8_t q[128], int i) {
    return q[i / 128 * 64 + i % 64] >> i / 64 % 2 * 4 & 15;
}

void dequantize_q6_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ6_K *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d);
            for (int i = 0; i < SUPER; i++) {
                int q = lower_of_six(block->low, i) | two_bits(block->high, i) << 4;
                out[r][first + i] = d * block->scales[i / 16] * (q - 32);
            }
        }
}
