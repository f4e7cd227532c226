/* Chapter 13: the blocks of the GGUF formats, as they lie in a file.
 *
 * A block is some neighbouring numbers of a row, with a scale of their own. Every member is made of bytes, and a
 * float16 of its low byte and its high one: so a block has no padding, may begin at any address, and is the same on
 * every machine. In the comments d and m are scales and minimum as float32, and q is the level of a number. Source:
 * ggml-common.h of llama.cpp; GGML_QUANT_SIZES and quants.py of the Python package gguf. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdint.h>

typedef struct { uint8_t low, high; } GgmlHalf; /* a float16 */

static inline uint16_t half_bits(GgmlHalf bytes) { return (uint16_t)(bytes.low | bytes.high << 8); }

/* ------------------------------------------------------------------ 32 numbers a block */

/* In half a byte each, number j (of 16) is the low one of byte j, and number j + 16 the high one. In the formats of
 * five bits, bit j of `fifth` (of 32, the lowest of the first byte first) is the highest bit of number j. */

typedef struct { GgmlHalf d; int8_t q[32]; } BlockQ8_0;                     /* d q */
typedef struct { GgmlHalf d; uint8_t q[16]; } BlockQ4_0;                    /* d (q - 8) */
typedef struct { GgmlHalf d, m; uint8_t q[16]; } BlockQ4_1;                 /* d q + m */
typedef struct { GgmlHalf d; uint8_t qh[4], q[16]; } BlockQ5_0;          /* d (q - 16) */
typedef struct { GgmlHalf d, m; uint8_t qh[4], q[16]; } BlockQ5_1;       /* d q + m */
typedef struct { GgmlHalf d; uint8_t q[16]; } BlockIQ4_NL;                  /* d times an entry of a table of 16 */

/* ------------------------------------------------------------------ 256 numbers a block: K-quants */

/* Sub-blocks of 16 or 32 numbers have small whole numbers for scales (s) and minima (m), and the block has one float16
 * that they are multiplied by, d for the scales and dmin for the minima. How their bits are packed: k_quants.c. */

typedef struct { uint8_t scales[16], q[64]; GgmlHalf d, dmin; } BlockQ2_K;              /* d s q - dmin m, 16 of 16 */
typedef struct { uint8_t third[32], q[64], scales[12]; GgmlHalf d; } BlockQ3_K;      /* d (s - 32) (q - 4), 16 of 16 */
typedef struct { GgmlHalf d, dmin; uint8_t scales[12], q[128]; } BlockQ4_K;             /* d s q - dmin m, 8 of 32 */
typedef struct { GgmlHalf d, dmin; uint8_t scales[12], qh[32], q[128]; } BlockQ5_K;  /* d s q - dmin m, 8 of 32 */
typedef struct { uint8_t low[128], high[64]; int8_t scales[16]; GgmlHalf d; } BlockQ6_K; /* d s (q - 32), 16 of 16 */

/* ------------------------------------------------------------------ 256 numbers a block: others */

/* IQ4_XS is IQ4_NL with a scale of six bits for 32 numbers. In IQ3_S four neighbours are one entry of a table of 512.
 * TQ1_0 and TQ2_0 have three levels, -d, 0 and d: five numbers in a byte, or four. k_quants.c says where each bit is. */

typedef struct { GgmlHalf d; uint8_t scales_high[2], scales_low[4], q[128]; } BlockIQ4_XS;
typedef struct { GgmlHalf d; uint8_t q[64], qh[8], signs[32], scales[4]; } BlockIQ3_S;
typedef struct { uint8_t q[48], last[4]; GgmlHalf d; } BlockTQ1_0;
typedef struct { uint8_t q[64]; GgmlHalf d; } BlockTQ2_0;

_Static_assert(sizeof(BlockIQ4_XS) == 136 && sizeof(BlockIQ3_S) == 110, "no padding");
_Static_assert(sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66, "no padding");
_Static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20, "no padding");
_Static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24 && sizeof(BlockIQ4_NL) == 18, "no padding");
_Static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144, "no padding");
_Static_assert(sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210, "no padding");

#endif
