/* Chapter 13, your turn: quantize and dequantize 32 numbers with a scale.
 *
 *     make exercise-13
 *
 * compares each function with what the Python package gguf computes from the same numbers, bit for
 * bit, names your mistake if it knows it, and says how far you are. Fill the functions in from top
 * to bottom. The (void) lines only keep an empty body from warning; remove them when you begin.
 *
 * The structs of the blocks are in blocks.h: BlockQ8_0 and so on. half_bits(block->d) is the 16
 * bits of a float16; f16_to_float and f16_from_float of common/tensor.h convert them to a float and
 * back. In every task n is a multiple of the numbers in a block, and the blocks of a row follow
 * each other, then those of the next row. A block may begin at any address. */
#include "13_quantization/quantization.h"

/* Task 1. A block of 34 bytes: its scale d as a float16, low byte first, and 32 signed bytes q.
 * Number j is d q[j], computed in float32. */
void dequantize_q8_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}

/* Task 2. The other direction. d is the largest magnitude over 127, in float32. Each q is the
 * number times 1 / d, rounded to the nearest integer, a half away from zero (roundf). d is rounded
 * to a float16 only when it is stored: the division uses the float32. In a block of zeros take 0
 * for 1 / d. */
void quantize_q8_0(int rows, int n, void *blocks, const float x[rows][n]) {
    (void)rows, (void)n, (void)blocks, (void)x;
}

/* Task 3. The lesson prints dequantize_q4_0; this format has a fifth bit. A block of 22 bytes: d,
 * then qh[4], then q[16]. The low four bits of number j are the low half of byte q[j], and those of
 * number j + 16 its high half. The fifth bit of number j, from 0 to 31, is bit j % 8 of byte
 * qh[j / 8]. The five bits are 0 to 31, and 16 means 0. */
void dequantize_q5_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}

/* Task 4. The dot product of a row of weights in Q4_0 and a row of activations in Q8_0, n numbers
 * each. Within a block use integers; the two scales are multiplied in at its end. */
float dot_q4_0(int n, const void *weight, const void *x) {
    (void)n, (void)weight, (void)x;
    return 0;
}

/* The challenge: a K-quant of 256 numbers in 8 sub-blocks of 32. Number i is
 *
 *     d * scale[i / 32] * q - dmin * minimum[i / 32]
 *
 * with d, dmin and the 12 packed bytes of 8 scales and 8 minima as in Q4_K: REFERENCE.md shows how
 * they are unpacked. The low four bits of number i are in byte q[i / 64 * 32 + i % 32]: its low
 * half if i / 32 is even, and its high half if i / 32 is odd. The fifth bit is bit i / 32 of byte
 * qh[i % 32]. */
void dequantize_q5_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}
