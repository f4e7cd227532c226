/* Chapter 13: quantization. A number becomes one of a few levels (quantized values), which are a
 * scale apart; 32 neighbours in a row share the scale. blocks.h has the formats.
 *
 * In every function n is a multiple of the block's numbers, or fail() says so. A row of n numbers
 * becomes n / (numbers of a block) blocks, and the rows follow each other. blocks need no
 * alignment; out must not overlap them. */
#ifndef QUANTIZATION_H
#define QUANTIZATION_H

#include "13_quantization/blocks.h"
#include "common/tensor.h"

/* The bytes are those of quants.py in the Python package gguf 0.19, which rounds in float32 after
 * each operation. (ggml-quants.c of llama.cpp has the same formulas; a compiler may fuse its
 * multiplication and addition, which moves a number that is within 1e-6 of the middle between two
 * levels.) The numbers must be finite.
 *
 *     Q8_0   d = largest |x| / 127                     level = x / d, rounded, a half away from 0
 *     Q4_0   d = the x of largest |x| / -8             level = x / d + 8, a half up; at most 15
 *     Q5_0   d = the x of largest |x| / -16            level = x / d + 16, a half up; at most 31
 *     Q4_1   d = (max - min) / 15, m = min             level = (x - min) / d, a half up
 *     Q5_1   d = (max - min) / 31, m = min             level = (x - min) / d, a half up
 *
 * Where two numbers have the largest |x|, the first counts. The division is a multiplication by
 * 1 / d in float32; d and m are rounded to float16 only when they are stored. Where 1 / d is not
 * finite, in a block of zeros or of numbers below 1e-36, 0 is taken for it. */
void quantize_q8_0(int rows, int n, void *blocks, const float x[rows][n]);
void quantize_q4_0(int rows, int n, void *blocks, const float x[rows][n]);
void quantize_q4_1(int rows, int n, void *blocks, const float x[rows][n]);
void quantize_q5_0(int rows, int n, void *blocks, const float x[rows][n]);
void quantize_q5_1(int rows, int n, void *blocks, const float x[rows][n]);

/* The levels of one block of q8_0; returns its d, in float32. Where a number is not finite, d is
 * not, and the levels are 0. */
float q8_levels(int8_t levels[32], const float x[32]);

/* Dequantizes blocks by the formulas of blocks.h, in float32. Every bit is that of quants.py: up
 * to the last operation nothing is rounded, for a scale has 11 bits and a level at most 8. */
void dequantize_q8_0(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q4_0(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q4_1(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q5_0(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q5_1(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q2_k(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q3_k(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q4_k(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q5_k(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_q6_k(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_iq4_nl(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_iq4_xs(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_iq3_s(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_tq1_0(int rows, int n, float out[restrict rows][n], const void *blocks);
void dequantize_tq2_0(int rows, int n, float out[restrict rows][n], const void *blocks);

/* The inner product of a row of weights and a row of activations in q8_0, both n long: whole
 * numbers within a block, the blocks' sums in double. It is what the dequantized rows would give.
 * Source: ggml_vec_dot_q4_0_q8_0 and its like in llama.cpp (which takes q8_1 for the formats with a
 * minimum). */
float dot_q8_0(int n, const void *weight, const void *x);
float dot_q4_0(int n, const void *weight, const void *x);
float dot_q4_1(int n, const void *weight, const void *x);
float dot_q5_0(int n, const void *weight, const void *x);
float dot_q5_1(int n, const void *weight, const void *x);

typedef void Quantize(int rows, int n, void *blocks, const float x[rows][n]);
typedef void Dequantize(int rows, int n, float out[restrict rows][n], const void *blocks);
typedef float Dot(int n, const void *weight, const void *x);

/* All of the above, in the order of their type; NULL past the last. */
const QuantType *format_at(int index);
const QuantType *format_named(const char *name); /* or fail() */
const QuantType *format_of_type(int type); /* by its number in a GGUF file; NULL if there is none */

#endif
