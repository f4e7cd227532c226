/* Chapter 17: matrix products as fast as can be multiplied, whichever way their factors lie: chapter 12's panels,
 * blocks and tiles. A linear layer's forward pass reads its weight along the rows, the gradient of its input along the
 * columns, and for the gradient of the weight the rows of both factors are what is summed over. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* A matrix, or a transposed one: its number (r, c) is first[r * row + c * column], and one of the two steps is 1. */
typedef struct {
    const float *first;
    size_t row, column;
} Matrix;

/* c[m][n] = sum over k < K of a(m, k) b(k, n), or += where add is true. The threads share the columns of c, and each
 * number is summed in the same order however many they are. c must not overlap a or b. */
void matrix_product(int M, int N, int K, bool add, float c[restrict M][N], Matrix a, Matrix b);

/* While this is true, both factors are rounded to BF16 on their way to where they are multiplied, and some processors
 * multiply them twice as fast so. What is summed stays float32, and so does all that the factors were copied from. Set
 * it while nothing is multiplied. */
extern bool product_rounds;

#endif
