/* Chapter 12: the parts of the fast project(), whose contract is chapter 9's, for who wants to choose between them
 * himself. */
#ifndef SPEED_PROJECTION_H
#define SPEED_PROJECTION_H

#include "12_speed/panel.h"
#include "common/tensor.h"

/* As fast as the weights can be read: outputs first, first + 1, … of all rows. */
void few_rows(int first, int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight);

/* As fast as can be multiplied: all outputs that fill panels, and those are returned; the rest is for few_rows(). */
int many_rows(const Method *method, int rows, int in, int out, float y[rows][out], const float x[rows][in],
              const Tensor *weight);

/* The method for weights of a dtype that are widened to float32. */
const Method *widening(DType dtype);

#endif
