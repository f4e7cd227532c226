/* The fast kernels, each under a name of its own, and tables of kernels that hold them. Their
 * contracts are those of the functions in the lessons; their sums are float32 where those of the
 * lessons are double. */
#ifndef FAST_KERNELS_H
#define FAST_KERNELS_H

#include "09_decoder/kernels.h"

__typeof__(rms_norm) fast_rms_norm;
__typeof__(swiglu) fast_swiglu;
__typeof__(flash_attention) fast_flash_attention;
__typeof__(linear_tensor) fast_linear_tensor;

extern const Kernels fast_kernels;

/* PyTorch's bfloat16 rounds the result of every operation. Here x is rounded to bfloat16 before it
 * is multiplied by a weight, and nothing else is rounded: where the weight is BF16, too, some
 * processors multiply twice as fast. x itself stays as it is. Weights in blocks are multiplied as
 * by fast_kernels. */
extern const Kernels bf16_kernels;

/* Weights in blocks are widened to float32, and x is not quantized: exact, and slower. */
extern const Kernels exact_kernels;

extern const Kernels bf16_exact_kernels; /* both */

#endif
