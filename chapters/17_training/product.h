/* Chapter 17: matrix products as fast as can be multiplied, whichever way their factors lie:
 * chapter 12's panels, blocks and tiles. A linear layer's forward pass reads its weight along the
 * rows, the gradient of its input along the columns, and for the gradient of the weight the rows of
 * both factors are what is summed over. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "common/tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* A matrix, or a transposed one: its number (r, c) is first[r * row + c * column], and one of the
 * two steps is 1. */
typedef struct {
    const float *first;
    size_t row, column;
} Matrix;

/* c[m][n] = sum over k < K of a(m, k) b(k, n), or += where add is true. The threads share the
 * columns of c, and each number is summed in the same order however many threads there are. c must
 * not overlap a or b.
 *
 * `factors` is F32, or BF16: then both factors are rounded to BF16 when they are copied to where
 * they are multiplied, and some processors multiply them twice as fast. The sums stay float32, and
 * so do a and b themselves. */
void matmul(DType factors, int M, int N, int K, bool add, float c[restrict M][N], Matrix a,
            Matrix b);

#endif
