/* Chapter 12: the parts of fast_project(), for a caller that chooses between them by itself. */
#ifndef SPEED_PROJECTION_H
#define SPEED_PROJECTION_H

#include "12_speed/fast_kernels.h"
#include "12_speed/panel.h"

/* As fast as the weights can be read: outputs first, first + 1, … of all rows. */
void few_rows(int first, int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight);

/* As fast as can be multiplied: all outputs that fill panels, and those are returned; the rest is for few_rows(). */
int many_rows(const Method *method, int rows, int in, int out, float y[rows][out], const float x[rows][in],
              const Tensor *weight);

/* The method for weights of a dtype that are widened to float32. */
const Method *widening(DType dtype);

/* fast_project() with x rounded to bfloat16, with blocks widened to float32, and with both. */
__typeof__(project) project_in_bf16, project_exactly, project_in_bf16_exactly;

#endif
