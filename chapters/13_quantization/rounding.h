/* Chapter 13: numbers that are quantized and read back at once, with any number of bits, whoever
 * shares a scale. For comparisons, and to choose levels with more care than the nearest; no file
 * has such numbers. */
#ifndef QUANTIZATION_ROUNDING_H
#define QUANTIZATION_ROUNDING_H

#include <stddef.h>

/* As q4_0 does it, with 2 to 8 bits: every `share` numbers have a scale, which is kept as a
 * float16. count is a multiple of share. out may be x. */
void fake_quantize(int bits, size_t share, size_t count, float out[count], const float x[count]);

/* The same in place with 32 numbers to a scale, and each row w[r] so that its inner products with
 * inputs like the T rows of x change little: what rounding a weight does wrong, the weights behind
 * it make good, as far as they can. n is a multiple of 32. Source: GPTQ, Frantar and others 2022
 * (arXiv 2210.17323), section 3; here without its order of blocks, and with the mean of the inputs'
 * squares added to their diagonal, where GPTQ adds 1 % of it: T may be smaller than n. */
void gptq(int bits, int rows, int n, float w[rows][n], int T, const float x[T][n]);

#endif
