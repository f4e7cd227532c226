#include "16_backward/backward.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>

static double mean_of(int dim, const float x[dim]) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < dim; i++) sum += x[i];
    return sum / dim;
}

/* 1 / sqrt(mean((x - mean)^2) + eps) */
static double scale_of(int dim, const float x[dim], double mean, float eps) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < dim; i++) squares += (x[i] - mean) * (x[i] - mean);
    return 1 / sqrt(squares / dim + eps);
}

/* The statistics of a row in the forward pass. RMSNorm's mean is 0: it subtracts none. */
typedef struct {
    double mean, scale;
} Statistics;

/* The sums over the rows, a feature at a time: dweight += dy (x - mean) scale, and dbias += dy
 * unless it is NULL. */
static void add_to_parameters(int rows, int dim, float dweight[restrict dim], float *dbias,
                              const float dy[rows][dim], const float x[rows][dim],
                              const Statistics row[rows]) {
    enum { BLOCK = 256 };
    for (int start = 0; start < dim; start += BLOCK) {
        int n = dim - start < BLOCK ? dim - start : BLOCK;
        double weights[BLOCK] = {0}, biases[BLOCK] = {0};
        for (int r = 0; r < rows; r++)
            for (int i = 0; i < n; i++) {
                double normalized = (x[r][start + i] - row[r].mean) * row[r].scale;
                weights[i] += dy[r][start + i] * normalized;
                biases[i] += dy[r][start + i];
            }
        for (int i = 0; i < n; i++) {
            dweight[start + i] += (float)weights[i];
            if (dbias) dbias[start + i] += (float)biases[i];
        }
    }
}

static void rms_norm_row(int dim, float dx[restrict dim], const float dy[dim], const float x[dim],
                         const float weight[dim], double scale) {
    double along =
        0; /* mean(n g): the part of g in the direction of x, which only changes its RMS */
#pragma omp simd reduction(+ : along)
    for (int i = 0; i < dim; i++) along += x[i] * scale * dy[i] * weight[i];
    along /= dim;
    for (int i = 0; i < dim; i++)
        dx[i] += (float)(scale * ((double)dy[i] * weight[i] - x[i] * scale * along));
}

void rms_norm_backward(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                       const float dy[rows][dim], const float x[rows][dim], const float weight[dim],
                       float eps) {
    Statistics *row = xmalloc((size_t)rows * sizeof *row);
    for (int r = 0; r < rows; r++) {
        row[r] = (Statistics){0, scale_of(dim, x[r], 0, eps)};
        rms_norm_row(dim, dx[r], dy[r], x[r], weight, row[r].scale);
    }
    add_to_parameters(rows, dim, dweight, NULL, dy, x, row);
    free(row);
}

static void layer_norm_row(int dim, float dx[restrict dim], const float dy[dim], const float x[dim],
                           const float weight[dim], Statistics row) {
    double all = 0, along = 0; /* mean(g): an equal change of all features is removed by the mean */
#pragma omp simd reduction(+ : all, along)
    for (int i = 0; i < dim; i++) {
        double g = (double)dy[i] * weight[i];
        all += g;
        along += (x[i] - row.mean) * row.scale * g;
    }
    all /= dim;
    along /= dim;
    for (int i = 0; i < dim; i++)
        dx[i] += (float)(row.scale *
                         ((double)dy[i] * weight[i] - all - (x[i] - row.mean) * row.scale * along));
}

void layer_norm_backward(int rows, int dim, float dx[restrict rows][dim],
                         float dweight[restrict dim], float dbias[restrict dim],
                         const float dy[rows][dim], const float x[rows][dim],
                         const float weight[dim], float eps) {
    Statistics *row = xmalloc((size_t)rows * sizeof *row);
    for (int r = 0; r < rows; r++) {
        double mean = mean_of(dim, x[r]);
        row[r] = (Statistics){mean, scale_of(dim, x[r], mean, eps)};
        layer_norm_row(dim, dx[r], dy[r], x[r], weight, row[r]);
    }
    add_to_parameters(rows, dim, dweight, dbias, dy, x, row);
    free(row);
}

void dyt_backward(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                  float dbias[restrict dim], float dalpha[restrict 1], const float dy[rows][dim],
                  const float x[rows][dim], const float weight[dim], float alpha) {
    double alphas = 0;
    for (int i = 0; i < dim; i++) {
        double weights = 0, biases = 0;
        for (int r = 0; r < rows; r++) {
            double t = tanh((double)alpha * x[r][i]), slope = (1 - t * t) * dy[r][i] * weight[i];
            dx[r][i] += (float)(alpha * slope);
            alphas += x[r][i] * slope;
            weights += dy[r][i] * t;
            biases += dy[r][i];
        }
        dweight[i] += (float)weights;
        dbias[i] += (float)biases;
    }
    dalpha[0] += (float)alphas;
}
