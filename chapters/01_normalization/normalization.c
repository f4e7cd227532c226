#include "01_normalization/normalization.h"

#include <math.h>

void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < dim; i++) sum += x[r][i];
        double mean = sum / dim;
        /* A second pass: mean(x^2) - mean(x)^2 would cancel when the mean is large beside the
         * spread. */
#pragma omp simd reduction(+ : squares)
        for (int i = 0; i < dim; i++) squares += (x[r][i] - mean) * (x[r][i] - mean);
        double scale = 1 / sqrt(squares / dim + eps);
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)((x[r][i] - mean) * scale * weight[i] + bias[i]);
    }
}

/* 1 / sqrt(mean(x^2) + eps): all that RMSNorm asks of a row. */
static double inverse_rms(int dim, const float x[dim], float eps) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < dim; i++) squares += (double)x[i] * x[i];
    return 1 / sqrt(squares / dim + eps);
}

void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double scale = inverse_rms(dim, x[r], eps);
        for (int i = 0; i < dim; i++) out[r][i] = (float)(x[r][i] * scale * weight[i]);
    }
}

void batch_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    for (int i = 0; i < dim; i++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < rows; r++) sum += x[r][i];
        double mean = sum / rows;
        for (int r = 0; r < rows; r++) squares += (x[r][i] - mean) * (x[r][i] - mean);
        double scale = 1 / sqrt(squares / rows + eps);
        for (int r = 0; r < rows; r++)
            out[r][i] = (float)((x[r][i] - mean) * scale * weight[i] + bias[i]);
    }
}

void dyt(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
         const float weight[dim], const float bias[dim], float alpha) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)((double)tanhf(alpha * x[r][i]) * weight[i] + bias[i]);
}

/* inverse_rms of a bf16 row: bf16 holds 8 significant bits, so its squares are exact in a double.
 */
static float inverse_rms_bf16(int dim, const bf16 x[dim], float eps) {
    double squares = 0;
    for (int i = 0; i < dim; i++) squares += (double)bf16_to_float(x[i]) * bf16_to_float(x[i]);
    return (float)(1 / sqrt(squares / dim + eps));
}

void rms_norm_bf16(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim],
                   const bf16 weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        float scale = inverse_rms_bf16(dim, x[r], eps);
        for (int i = 0; i < dim; i++) {
            bf16 normalized = bf16_from_float(bf16_to_float(x[r][i]) * scale);
            out[r][i] = bf16_from_float(bf16_to_float(weight[i]) * bf16_to_float(normalized));
        }
    }
}

void rms_norm_bf16_round_once(int rows, int dim, bf16 out[restrict rows][dim],
                              const bf16 x[rows][dim], const bf16 weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        float scale = inverse_rms_bf16(dim, x[r], eps);
        for (int i = 0; i < dim; i++)
            out[r][i] =
                bf16_from_float(bf16_to_float(weight[i]) * (bf16_to_float(x[r][i]) * scale));
    }
}
