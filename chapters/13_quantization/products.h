/* Chapter 13: a linear layer on weights in blocks, for chapter 12's project(), which knows numbers alone. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "common/tensor.h"

/* y[r][o] = sum over i of x[r][i] weight[o][i], by the numbers that the blocks stand for: x is not rounded. Sums are
 * float32, in parts; the same bits for every number of threads. in is a multiple of the blocks' numbers, and y must not overlap
 * the inputs. */
void project_blocks(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight);

#endif
