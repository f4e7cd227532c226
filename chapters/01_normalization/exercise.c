/* Chapter 1, exercises: three norms, and one of them in bf16.
 *
 *     make exercise-01
 *
 * compares each function with PyTorch, names your mistake if it recognizes it, and shows your
 * progress.
 * Write the functions from top to bottom. The (void) lines only prevent warnings about an empty
 * body; delete them when you begin. The contracts are in normalization.h. */
#include "01_normalization/normalization.h"

#include <math.h>

/* Task 1. out[r][i] = x[r][i] / sqrt(mean(x[r]^2) + eps) * weight[i]. Two loops over a row: one for
 * the sum of the squares, one for the outputs. Sum in a double. */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps;
}

/* Task 2. out[r][i] = (x[r][i] - mean) / sqrt(variance + eps) * weight[i] + bias[i].
 * Now there are three loops over a row. If the case large_mean fails, you have computed the
 * variance as mean(x^2) - mean^2 in float32. */
void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)bias, (void)eps;
}

/* Task 3. The formula of task 2, but the mean and the variance are those of each column, taken over
 * all rows. Divide by the number of rows. weight[i] and bias[i] still belong to column i. */
void batch_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)bias, (void)eps;
}

/* The challenge, without a hint: task 1 as a Llama computes it in bf16, equal to PyTorch's result
 * in every bit. bf16_to_float and bf16_from_float are in common/tensor.h. */
void rms_norm_bf16(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim],
                   const bf16 weight[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps;
}
