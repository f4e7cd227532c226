#include "16_backward/backward.h"
#include "common/error.h"

#include <math.h>

/* ------------------------------------------------------------------ targets */

size_t count_targets(size_t n, const int targets[n]) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += targets[i] >= 0;
    return count;
}

double sum_loss_weights(size_t n, const int targets[n], const float *counts) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (targets[i] >= 0) sum += counts ? counts[i] : 1;
    return sum;
}

void check_targets(size_t n, int V, const int targets[n]) {
    for (size_t i = 0; i < n; i++)
        if (targets[i] >= V) fail("target %d is not in the vocabulary of %d", targets[i], V);
}

/* ------------------------------------------------------------------ the mean over the rows */

double mean_row_loss(RowLoss *row_loss, int rows, int V, const float logits[rows][V],
                     const int targets[rows]) {
    check_targets((size_t)rows, V, targets);
    double sum = 0;
    for (int r = 0; r < rows; r++)
        if (targets[r] >= 0) sum += row_loss(V, logits[r], targets[r]);
    return sum / (double)count_targets((size_t)rows, targets);
}

void mean_row_loss_backward(RowLossBackward *row_backward, int rows, int V,
                            float dlogits[restrict rows][V], const float logits[rows][V],
                            const int targets[rows], float dloss) {
    check_targets((size_t)rows, V, targets);
    double share = dloss / (double)count_targets((size_t)rows, targets);
    for (int r = 0; r < rows; r++)
        if (targets[r] >= 0) row_backward(V, dlogits[r], logits[r], targets[r], share);
}

/* ------------------------------------------------------------------ cross entropy */

/* log(sum of e^x): the largest x is subtracted and added again, so that no e^x overflows. */
static double logsumexp(int V, const float x[V]) {
    float max = -INFINITY;
    for (int v = 0; v < V; v++) max = x[v] > max ? x[v] : max;
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp((double)x[v] - max);
    return max + log(sum);
}

static double row_loss(int V, const float x[V], int target) { return logsumexp(V, x) - x[target]; }

static void row_loss_backward(int V, float dx[restrict V], const float x[V], int target,
                              double share) {
    double lse = logsumexp(V, x);
    for (int v = 0; v < V; v++) dx[v] += (float)(share * (exp(x[v] - lse) - (v == target)));
}

double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    return mean_row_loss(row_loss, rows, V, logits, targets);
}

void cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V],
                            const float logits[rows][V], const int targets[rows], float dloss) {
    mean_row_loss_backward(row_loss_backward, rows, V, dlogits, logits, targets, dloss);
}

/* ------------------------------------------------------------------ the norm of a gradient */

double gradient_norm(size_t n, const float gradient[n]) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < n; i++) squares += (double)gradient[i] * gradient[i];
    return sqrt(squares);
}
