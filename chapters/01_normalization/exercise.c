/* Chapter 1, your turn: three norms and one order of rounding.
 *
 *     make exercise-01
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom; the (void) lines only keep an empty body from warning, and go
 * when you begin. The contracts are in normalization.h. */
#include "01_normalization/normalization.h"

#include <math.h>

/* Task 1. out[r][i] = x[r][i] / sqrt(mean(x[r]^2) + eps) * weight[i]. Two loops over a row: one for
 * the sum of the squares, one for the outputs. Sum in a double. */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps;
}

/* Task 2. out[r][i] = (x[r][i] - mean) / sqrt(variance + eps) * weight[i] + bias[i].
 * Now there are three loops. If large_mean fails, you took the variance as mean(x^2) - mean^2 in
 * float32. */
void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)bias, (void)eps;
}

/* Task 3. Task 2 with the roles of r and i exchanged in the statistics: each column has its own
 * mean. */
void batch_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)bias, (void)eps;
}

/* The challenge, without a hint: task 1 as a Llama computes it in bf16, bit for bit. bf16_to_float
 * and bf16_from_float are in common/tensor.h. */
void rms_norm_bf16(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim],
                   const bf16 weight[dim], float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps;
}
