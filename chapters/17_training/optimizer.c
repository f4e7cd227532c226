#include "17_training/optimizer.h"
#include "16_backward/backward.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ AdamW */

void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
           const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
           float decay) {
    double b1 = beta1, b2 = beta2, kept = 1 - (double)rate * decay;
    /* m and v begin at 0, so after `step` steps the weights of all gradients in them sum to 1 -
     * beta^step, and not to 1. */
    double correction1 = 1 / (1 - pow(b1, step)), correction2 = 1 / (1 - pow(b2, step));
    for (size_t i = 0; i < n; i++) {
        double g = gradient[i];
        m[i] = (float)(b1 * m[i] + (1 - b1) * g);
        v[i] = (float)(b2 * v[i] + (1 - b2) * g * g);
        double mean = m[i] * correction1, size = sqrt(v[i] * correction2);
        weight[i] = (float)(kept * weight[i] - rate * mean / (size + eps));
    }
}

/* ------------------------------------------------------------------ Muon */

/* Square by square, so that the lines of both stay in the first-level cache. */
static void transpose(int rows, int columns, float to[restrict columns][rows],
                      const float from[rows][columns]) {
    enum { SIDE = 16 };
    for (int first = 0; first < rows; first += SIDE)
        for (int c = 0; c < columns; c++)
            for (int r = first; r < min_int(first + SIDE, rows); r++) to[c][r] = from[r][c];
}

/* a I + b gram + c gram^2. gram is its own transposed, as is what comes out. */
static void polynomial(__typeof__(linear) *multiply, int n, float out[restrict n][n],
                       const float gram[n][n]) {
    const double a = 3.4445, b = -4.7750, c = 2.0315;
    multiply(n, n, n, out, gram, gram, NULL);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[i][j] = (float)(b * gram[i][j] + c * out[i][j] + (i == j ? a : 0));
}

/* x becomes (a I + b x x^T + c (x x^T)^2) x five times: of a singular value s that is
 * a s + b s^3 + c s^5, which leads all of them, from 0.003 to 1, to about 1. multiply() is linear()
 * or a faster body of it: it multiplies with a transposed matrix, so x is at hand in both ways. */
static void newton_schulz(__typeof__(linear) *multiply, int rows, int columns,
                          float x[restrict rows][columns]) {
    const size_t width = (size_t)rows * sizeof(float), square = (size_t)rows * width,
                 whole = (size_t)columns * width;
    void *gram = xmalloc(square), *factor = xmalloc(square), *turned = xmalloc(whole),
         *next = xmalloc(whole);
    transpose(rows, columns, turned, x);
    for (int step = 0; step < 5; step++) {
        multiply(rows, columns, rows, gram, x, x, NULL);
        polynomial(multiply, rows, factor, gram);
        multiply(columns, rows, rows, next, turned, factor, NULL);
        void *last = turned;
        turned = next;
        next = last;
        transpose(columns, rows, x, turned);
    }
    free(gram);
    free(factor);
    free(turned);
    free(next);
}

/* The sum of the squares of all singular values is that of all numbers: divided by its root, none
 * is above 1. */
static void orthogonalize(__typeof__(linear) *multiply, int rows, int columns,
                          float x[restrict rows][columns]) {
    const double least = 1e-7;
    double norm = gradient_norm((size_t)rows * (size_t)columns, x[0]);
    double divisor = norm < least ? least : norm; /* NaN stays NaN */
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) x[r][c] = (float)(x[r][c] / divisor);
    newton_schulz(multiply, rows, columns, x);
}

void muon_with(__typeof__(linear) *multiply, int rows, int columns,
               float weight[restrict rows][columns], float m[restrict rows][columns],
               const float gradient[rows][columns], float rate, float beta, float decay) {
    const bool tall = rows > columns; /* then it is turned: x x^T is as small as can be */
    const int high = tall ? columns : rows, wide = tall ? rows : columns;
    const double b = beta, kept = 1 - (double)rate * decay,
                 length = rate * sqrt(fmax(1, (double)rows / columns));
    float(*x)[wide] = xmalloc((size_t)high * sizeof *x);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            double g = gradient[r][c];
            m[r][c] = (float)(b * m[r][c] + (1 - b) * g);
            *(tall ? &x[c][r] : &x[r][c]) = (float)(b * m[r][c] + (1 - b) * g);
        }
    orthogonalize(multiply, high, wide, x);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            weight[r][c] = (float)(kept * weight[r][c] - length * (tall ? x[c][r] : x[r][c]));
    free(x);
}

void muon(int rows, int columns, float weight[restrict rows][columns],
          float m[restrict rows][columns], const float gradient[rows][columns], float rate,
          float beta, float decay) {
    muon_with(linear, rows, columns, weight, m, gradient, rate, beta, decay);
}

/* ------------------------------------------------------------------ which tensors */

bool uses_muon(const Tensor *tensor) {
    return tensor->rank == 2 && strncmp(tensor->name, "model.layers.", 13) == 0;
}

bool uses_weight_decay(const Tensor *tensor) { return tensor->rank >= 2; }

/* ------------------------------------------------------------------ clipping, rates, shares */

/* The root of the sum of all squares, array by array. */
static double global_norm(int arrays, const size_t n[arrays], float *const gradient[arrays]) {
    double squares = 0;
    for (int a = 0; a < arrays; a++) {
        double norm = gradient_norm(n[a], gradient[a]);
        squares += norm * norm;
    }
    return sqrt(squares);
}

double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays],
                     float max_norm) {
    double norm = global_norm(arrays, n, gradient), factor = max_norm / (norm + 1e-6);
    if (factor >= 1) return norm;
    for (int a = 0; a < arrays; a++)
        for (size_t i = 0; i < n[a]; i++) gradient[a][i] = (float)(gradient[a][i] * factor);
    return norm;
}

float learning_rate(int step, int warmup, int steps, float peak, float lowest) {
    if (step <= warmup) return (float)((double)peak * step / warmup);
    if (step >= steps) return lowest;
    double way = (double)(step - warmup) / (steps - warmup); /* 0 at the peak, 1 at the end */
    return (float)(lowest + ((double)peak - lowest) * (1 + cos(M_PI * way)) / 2);
}

void microbatch_weights(int batches, int rows, float shares[batches],
                        const int targets[batches][rows]) {
    size_t all = count_targets((size_t)batches * (size_t)rows, targets[0]);
    for (int b = 0; b < batches; b++)
        shares[b] =
            all ? (float)((double)count_targets((size_t)rows, targets[b]) / (double)all) : 0;
}
