#include "16_backward/formulas.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "04_attention/attention.h"
#include "16_backward/backward.h"
#include "common/console.h"
#include "common/linear.h"

#include <string.h>

/* Each operation computes four numbers from four; dy is the gradient of its output. */
static const float x[1][4] = {{1, -1, 3, 5}}, dy[1][4] = {{0, 0, 0, 3}}, weight[4] = {1, 1, 1, 1},
                   up[4] = {2, 1, -1, 3};
static const float matrix[4][4] = {{1, 0, 2, 0}, {0, 1, 0, 1}, {1, 1, 0, 0}, {2, -1, 1, 1}};

typedef void Operation(float y[1][4], const float from[1][4]);

static void of_linear(float y[1][4], const float from[1][4]) {
    linear(1, 4, 4, y, from, matrix, NULL);
}
static void of_rms_norm(float y[1][4], const float from[1][4]) {
    rms_norm(1, 4, y, from, weight, 0);
}
static void of_layer_norm(float y[1][4], const float from[1][4]) {
    layer_norm(1, 4, y, from, weight, (float[4]){0}, 0);
}
static void of_swiglu(float y[1][4], const float from[1][4]) { swiglu(4, y[0], from[0], up); }
static void of_softmax(float y[1][4], const float from[1][4]) { softmax(1, 4, y, from); }

/* (f(x + h) - f(x - h)) / 2h, multiplied by the gradient of the output. */
static double finite_difference(Operation *operation, int i, float h) {
    float more[1][4], less[1][4], y[2][1][4];
    memcpy(more, x, sizeof x);
    memcpy(less, x, sizeof x);
    more[0][i] += h;
    less[0][i] -= h;
    operation(y[0], more);
    operation(y[1], less);
    double sum = 0;
    for (int o = 0; o < 4; o++) sum += dy[0][o] * ((double)y[0][0][o] - y[1][0][o]) / (2 * h);
    return sum;
}

static void formula_row(Table *table, const char *name, const float dx[4], Operation *operation) {
    double d[4];
    for (int i = 0; i < 4; i++) d[i] = finite_difference(operation, i, 0x1p-7f);
    table_row(table, "%s|%.3f|%.3f|%.3f|%.3f", name, dx[0], dx[1], dx[2], dx[3]);
    table_row(table, "  finite differences|%.3f|%.3f|%.3f|%.3f", d[0], d[1], d[2], d[3]);
}

void print_formulas(void) {
    float dx[5][1][4] = {{{0}}}, dmatrix[4][4] = {{0}}, dweight[4] = {0}, dbias[4] = {0},
          dup[4] = {0}, p[1][4];
    linear_backward(1, 4, 4, dx[0], dmatrix, NULL, dy, x, matrix);
    rms_norm_backward(1, 4, dx[1], dweight, dy, x, weight, 0);
    layer_norm_backward(1, 4, dx[2], dweight, dbias, dy, x, weight, 0);
    swiglu_backward(4, dx[3][0], dup, dy[0], x[0], up);
    of_softmax(p, x);
    softmax_backward(1, 4, dx[4], dy, p);
    Table table = {0};
    table_row(&table, "gradient of x = (1, -1, 3, 5)|x[0]|x[1]|x[2]|x[3]");
    formula_row(&table, "linear", dx[0][0], of_linear);
    formula_row(&table, "RMSNorm", dx[1][0], of_rms_norm);
    formula_row(&table, "LayerNorm", dx[2][0], of_layer_norm);
    formula_row(&table, "SwiGLU, gradient of the gate", dx[3][0], of_swiglu);
    formula_row(&table, "softmax", dx[4][0], of_softmax);
    table_print(&table, stdout);
}
