/* Chapter 17: linear() of common/linear.h and linear_backward() of chapter 16 as fast as can be multiplied, in float32
 * where those sum in double. Each is a product; only the way differs in which its factors lie. */
#include "16_backward/backward.h"
#include "17_training/product.h"
#include "common/linear.h"

void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    Matrix inputs = {&x[0][0], (size_t)in, 1}, turned_weight = {&weight[0][0], 1, (size_t)in};
    matrix_product(rows, out, in, false, y, inputs, turned_weight);
    for (int r = 0; r < rows && bias; r++)
        for (int o = 0; o < out; o++) y[r][o] += bias[o];
}

void linear_backward(int rows, int in, int out, float dx[restrict rows][in], float dweight[restrict out][in],
                     float *dbias, const float dy[rows][out], const float x[rows][in],
                     const float weight[out][in]) {
    Matrix outputs = {&dy[0][0], (size_t)out, 1}, turned_outputs = {&dy[0][0], 1, (size_t)out};
    Matrix inputs = {&x[0][0], (size_t)in, 1}, weights = {&weight[0][0], (size_t)in, 1};
    if (dx) matrix_product(rows, in, out, true, dx, outputs, weights);
    if (dweight) matrix_product(out, in, rows, true, dweight, turned_outputs, inputs);
    if (dbias) bias_backward(rows, out, dbias, dy);
}
