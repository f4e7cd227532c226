/* Chapter 13, your turn: 32 numbers and a scale, there and back.
 *
 *     make exercise-13
 *
 * judges each function against what the package gguf makes of the same numbers, bit for bit, names
 * the mistake if it knows it, and says how far you are. Fill them in from top to bottom. The (void)
 * lines only keep an empty body from warning; they go when you begin. The blocks are in blocks.h;
 * f16_to_float and f16_from_float are in common/tensor.h. */
#include "13_quantization/quantization.h"

/* Task 1. 34 bytes a block: its d, low byte first, then 32 signed levels. Each number is d times
 * its level. A row of n numbers has n / 32 blocks; the next row's follow. */
void dequantize_q8_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}

/* Task 2. The way there: d is the largest magnitude over 127, and each level the number times 1 /
 * d, rounded by roundf. What is 1 / d in a block of zeros? */
void quantize_q8_0(int rows, int n, void *blocks, const float x[rows][n]) {
    (void)rows, (void)n, (void)blocks, (void)x;
}

/* Task 3. 18 bytes a block: d, then 16 bytes with two levels each. Which two? Level 8 is the number
 * 0. */
void dequantize_q4_0(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}

/* Task 4. The inner product of a row in q4_0 and one in q8_0, without a float but the scales: whole
 * numbers within a block. */
float dot_q4_0(int n, const void *weight, const void *x) {
    (void)n, (void)weight, (void)x;
    return 0;
}

/* The challenge, without a hint: 256 numbers with scales of scales. */
void dequantize_q4_k(int rows, int n, float out[restrict rows][n], const void *blocks) {
    (void)rows, (void)n, (void)out, (void)blocks;
}
