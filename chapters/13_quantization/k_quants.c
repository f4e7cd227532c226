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

/* ------------------------------------------------------------------ other blocks of 256 */

/* Eight scales of six bits: four of them in scales_low, two a byte, and two in scales_high. A level
 * is the place of a number in IQ4_NL's table. */
void dequantize_iq4_xs(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockIQ4_XS *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d);
            for (int i = 0; i < SUPER; i++) {
                int s = i / 32, lower = block->scales_low[s / 2] >> s % 2 * 4 & 15,
                    upper = block->scales_high[s / 4] >> s % 4 * 2 & 3;
                int q = block->q[s * 16 + i % 16] >> i / 16 % 2 * 4 & 15;
                out[r][first + i] = d * ((lower | upper << 4) - 32) * iq4_levels[q];
            }
        }
}

/* IQ3_S has 512 groups of four sizes, which occur more than others. Number k of a group is octal
 * digit k, the lowest first, and stands for 2 digit + 1. Source: iq3s_grid of llama.cpp. */
static const uint16_t iq3_groups[512] = {
    00000, 00001, 00002, 00005, 00007, 00010, 00011, 00012, 00014, 00016, 00020, 00021, 00025,
    00033, 00040, 00042, 00045, 00047, 00051, 00053, 00060, 00062, 00071, 00074, 00077, 00100,
    00101, 00102, 00104, 00110, 00111, 00115, 00120, 00123, 00127, 00131, 00135, 00144, 00161,
    00165, 00172, 00200, 00201, 00205, 00207, 00210, 00213, 00216, 00221, 00225, 00230, 00234,
    00242, 00245, 00247, 00251, 00253, 00270, 00273, 00303, 00311, 00315, 00320, 00322, 00331,
    00333, 00336, 00344, 00350, 00352, 00367, 00371, 00375, 00400, 00413, 00417, 00421, 00424,
    00432, 00440, 00443, 00451, 00470, 00502, 00504, 00520, 00522, 00526, 00533, 00541, 00545,
    00547, 00566, 00573, 00606, 00611, 00613, 00631, 00652, 00671, 00700, 00702, 00704, 00720,
    00722, 00726, 00733, 00750, 00754, 01000, 01001, 01002, 01004, 01010, 01011, 01013, 01015,
    01017, 01020, 01022, 01031, 01034, 01036, 01054, 01056, 01061, 01072, 01100, 01101, 01103,
    01106, 01110, 01114, 01121, 01130, 01133, 01141, 01150, 01152, 01170, 01176, 01200, 01212,
    01215, 01217, 01220, 01224, 01232, 01240, 01243, 01255, 01260, 01272, 01301, 01304, 01307,
    01310, 01313, 01321, 01327, 01330, 01334, 01341, 01362, 01370, 01403, 01405, 01412, 01414,
    01431, 01433, 01442, 01446, 01450, 01454, 01501, 01510, 01513, 01521, 01530, 01532, 01551,
    01620, 01624, 01627, 01644, 01646, 01701, 01703, 01710, 01712, 01721, 01735, 01741, 01762,
    01770, 02000, 02001, 02003, 02005, 02007, 02010, 02012, 02014, 02016, 02021, 02023, 02027,
    02030, 02032, 02041, 02043, 02045, 02050, 02052, 02067, 02070, 02073, 02075, 02100, 02102,
    02110, 02113, 02117, 02122, 02125, 02131, 02134, 02142, 02151, 02201, 02204, 02207, 02221,
    02223, 02230, 02237, 02241, 02253, 02257, 02271, 02274, 02300, 02302, 02305, 02311, 02322,
    02324, 02331, 02333, 02342, 02350, 02366, 02401, 02407, 02420, 02423, 02432, 02435, 02441,
    02472, 02475, 02504, 02511, 02522, 02537, 02540, 02553, 02570, 02600, 02602, 02607, 02621,
    02655, 02661, 02705, 02711, 02726, 02730, 02743, 02750, 03002, 03011, 03013, 03015, 03017,
    03022, 03031, 03033, 03035, 03042, 03044, 03047, 03051, 03063, 03071, 03101, 03103, 03105,
    03114, 03121, 03123, 03140, 03160, 03172, 03176, 03200, 03212, 03220, 03232, 03234, 03250,
    03301, 03310, 03314, 03321, 03323, 03327, 03330, 03341, 03343, 03347, 03355, 03373, 03403,
    03411, 03416, 03422, 03431, 03452, 03460, 03464, 03501, 03510, 03512, 03525, 03532, 03544,
    03556, 03573, 03616, 03641, 03701, 03703, 03720, 03722, 03735, 04000, 04004, 04012, 04020,
    04024, 04027, 04032, 04041, 04050, 04070, 04102, 04107, 04111, 04113, 04122, 04130, 04135,
    04143, 04151, 04155, 04201, 04203, 04210, 04215, 04221, 04233, 04240, 04257, 04262, 04270,
    04304, 04311, 04313, 04320, 04322, 04331, 04335, 04400, 04402, 04424, 04437, 04440, 04471,
    04505, 04507, 04521, 04562, 04613, 04634, 04660, 04710, 04715, 04730, 04743, 04751, 05002,
    05010, 05014, 05022, 05040, 05044, 05047, 05052, 05066, 05074, 05101, 05103, 05105, 05112,
    05121, 05132, 05172, 05200, 05211, 05223, 05230, 05236, 05253, 05302, 05307, 05310, 05327,
    05344, 05351, 05365, 05373, 05401, 05404, 05420, 05432, 05446, 05512, 05526, 05551, 05553,
    05642, 05702, 05704, 05722, 06011, 06013, 06015, 06031, 06033, 06060, 06100, 06120, 06127,
    06164, 06212, 06234, 06242, 06255, 06262, 06270, 06300, 06314, 06321, 06340, 06425, 06443,
    06462, 06500, 06503, 06534, 06560, 06605, 06640, 06711, 06713, 07000, 07004, 07007, 07020,
    07022, 07036, 07040, 07054, 07062, 07102, 07111, 07124, 07143, 07145, 07201, 07204, 07210,
    07216, 07221, 07230, 07251, 07302, 07332, 07335, 07353, 07401, 07405, 07413, 07420, 07450,
    07522, 07542, 07602, 07631, 07700};

/* Four neighbours share a place in the table of groups, whose highest bit is in qh. Each number has
 * a sign, and 32 of them a scale of four bits. */
void dequantize_iq3_s(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockIQ3_S *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d);
            for (int i = 0; i < SUPER; i++) {
                int group = block->q[i / 4] | (block->qh[i / 32] >> i / 4 % 8 & 1) << 8;
                int size = 2 * (iq3_groups[group] >> i % 4 * 3 & 7) + 1;
                int scale = 2 * (block->scales[i / 64] >> i / 32 % 2 * 4 & 15) + 1;
                bool negative = block->signs[i / 8] >> i % 8 & 1;
                out[r][first + i] = d * scale * (negative ? -size : size);
            }
        }
}

/* Digit k of a byte that holds five digits of base 3, as 256 / 243 times their number, the first
 * digit in front: so the top of the byte, times 3 for each digit before it, is the digit. */
static int digit_of_3(uint8_t byte, int k) {
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    return (uint8_t)(byte * powers[k]) * 3 >> 8;
}

/* The first 160 numbers are in 32 bytes, 80 in 16 bytes, and the last 16 in four bytes of which one
 * digit is not used. */
static int third_level(const BlockTQ1_0 *block, int i) {
    if (i < 160) return digit_of_3(block->q[i % 32], i / 32);
    if (i < 240) return digit_of_3(block->q[32 + i % 16], (i - 160) / 16);
    return digit_of_3(block->last[i % 4], (i - 240) / 4);
}

void dequantize_tq1_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockTQ1_0 *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d);
            for (int i = 0; i < SUPER; i++) out[r][first + i] = d * (third_level(block, i) - 1);
        }
}

void dequantize_tq2_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockTQ2_0 *block = blocks;
    require_blocks(n, SUPER);
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < n; first += SUPER, block++) {
            float d = fp16_to_fp32(block->d);
            for (int i = 0; i < SUPER; i++) out[r][first + i] = d * (two_bits(block->q, i) - 1);
        }
}
