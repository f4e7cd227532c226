#include "common/linear.h"

void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
#pragma omp parallel for if ((double)rows * in * out > 1e6)
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < in; i++) sum += (double)x[r][i] * weight[o][i];
            y[r][o] = (float)(sum + (bias ? bias[o] : 0));
        }
}
