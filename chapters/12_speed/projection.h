/* Chapter 12: the parts of fast_linear_tensor(), for a caller that chooses between them by itself.
 */
#ifndef SPEED_PROJECTION_H
#define SPEED_PROJECTION_H

#include "12_speed/fast_kernels.h"
#include "12_speed/panel.h"

/* As fast as the weights can be read: outputs first, first + 1, … of all rows. */
void gemv(int first, int rows, int in, int out, float y[rows][out], const float x[rows][in],
          const Tensor *weight);

/* As fast as can be multiplied: all outputs that fill panels, and those are returned; the rest is
 * for gemv(). */
int gemm(const Method *method, int rows, int in, int out, float y[rows][out],
         const float x[rows][in], const Tensor *weight);

/* The method for weights of a dtype that are widened to float32. */
const Method *gemm_method_for(DType dtype);

/* fast_linear_tensor() with x rounded to bfloat16, with blocks widened to float32, and with both.
 */
__typeof__(linear_tensor) linear_tensor_bf16, linear_tensor_exact, linear_tensor_bf16_exact;

#endif
