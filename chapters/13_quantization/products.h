/* Chapter 13: a linear layer on weights in blocks: the member `linear` of their QuantType. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "common/tensor.h"

/* y[r][o] = sum over i of x[r][i] weight[o][i]. x is quantized to Q8_0 first, a scale in float32
 * for 32 numbers: so the products are whole numbers, their sums in a block exact, and what the
 * blocks make is added up in float32. Not for formats that have no such products (those
 * that formats.c only reads). The same bits for every number of threads. in is a multiple of the blocks' numbers, and
 * y must not overlap the inputs. */
void project_blocks(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                    const Tensor *weight);

#endif
