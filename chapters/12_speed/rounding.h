/* Chapter 12: a setting of its project(). PyTorch's bfloat16 rounds whatever an operation gives. Here, if it is
 * wanted, what meets a matrix is rounded and nothing else: where the matrix is BF16, too, some processors multiply it
 * twice as fast. */
#ifndef SPEED_ROUNDING_H
#define SPEED_ROUNDING_H

/* While this is true, project() rounds each number of x to bfloat16 before it meets a weight; x itself stays as it is.
 * To be set while nothing is multiplied. */
extern bool project_rounds;

#endif
