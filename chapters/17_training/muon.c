#include "16_backward/backward.h"
#include "17_training/optimizer.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>

/* Square by square: the first-level cache keeps the lines of both. */
static void turn(int rows, int columns, float to[restrict columns][rows], const float from[rows][columns]) {
    enum { SIDE = 16 };
    for (int first = 0; first < rows; first += SIDE)
        for (int c = 0; c < columns; c++)
            for (int r = first; r < smaller(first + SIDE, rows); r++) to[c][r] = from[r][c];
}

/* a I + b gram + c gram^2. gram is its own transposed, as is what comes out. */
static void polynomial(int n, float out[restrict n][n], const float gram[n][n]) {
    const double a = 3.4445, b = -4.7750, c = 2.0315;
    linear(n, n, n, out, gram, gram, NULL);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) out[i][j] = (float)(b * gram[i][j] + c * out[i][j] + (i == j ? a : 0));
}

/* x becomes (a I + b x x^T + c (x x^T)^2) x five times: of a singular value s that is a s + b s^3 + c s^5, which leads
 * all of them, from 0.003 to 1, to about 1. linear() multiplies with a transposed, so x is at hand in both ways. */
static void newton_schulz(int rows, int columns, float x[restrict rows][columns]) {
    const size_t width = (size_t)rows * sizeof(float), square = (size_t)rows * width, whole = (size_t)columns * width;
    void *gram = allocate(square), *factor = allocate(square), *turned = allocate(whole), *next = allocate(whole);
    turn(rows, columns, turned, x);
    for (int step = 0; step < 5; step++) {
        linear(rows, columns, rows, gram, x, x, NULL);
        polynomial(rows, factor, gram);
        linear(columns, rows, rows, next, turned, factor, NULL);
        void *last = turned;
        turned = next, next = last;
        turn(columns, rows, x, turned);
    }
    free(gram), free(factor), free(turned), free(next);
}

/* The sum of the squares of all singular values is that of all numbers: divided by its root, none is above 1. */
static void orthogonalize(int rows, int columns, float x[restrict rows][columns]) {
    const double least = 1e-7;
    double norm = gradient_norm((size_t)rows * (size_t)columns, x[0]);
    double divisor = norm < least ? least : norm; /* NaN stays NaN */
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) x[r][c] = (float)(x[r][c] / divisor);
    newton_schulz(rows, columns, x);
}

void muon(int rows, int columns, float weight[restrict rows][columns], float m[restrict rows][columns],
          const float gradient[rows][columns], float rate, float beta, float decay) {
    const bool tall = rows > columns; /* then it is turned: x x^T is as small as can be */
    const int high = tall ? columns : rows, wide = tall ? rows : columns;
    const double b = beta, kept = 1 - (double)rate * decay, length = rate * sqrt(fmax(1, (double)rows / columns));
    float(*x)[wide] = allocate((size_t)high * sizeof *x);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            double g = gradient[r][c];
            m[r][c] = (float)(b * m[r][c] + (1 - b) * g);
            *(tall ? &x[c][r] : &x[r][c]) = (float)(b * m[r][c] + (1 - b) * g);
        }
    orthogonalize(high, wide, x);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            weight[r][c] = (float)(kept * weight[r][c] - length * (tall ? x[c][r] : x[r][c]));
    free(x);
}
