#include "16_backward/backward.h"

#include <math.h>

/* log(sum of e^x): the largest is taken out, and put back, so that no e^x overflows. */
static double log_sum_exp(int V, const float x[V]) {
    float max = -INFINITY;
    for (int v = 0; v < V; v++) max = x[v] > max ? x[v] : max;
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp((double)x[v] - max);
    return max + log(sum);
}

double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    check_targets((size_t)rows, V, targets);
    size_t count = count_targets((size_t)rows, targets);
    double sum = 0;
    for (int r = 0; r < rows; r++)
        if (targets[r] >= 0) sum += log_sum_exp(V, logits[r]) - logits[r][targets[r]];
    return sum / (double)count;
}

void cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V], const float logits[rows][V],
                            const int targets[rows], float dloss) {
    check_targets((size_t)rows, V, targets);
    size_t count = count_targets((size_t)rows, targets);
    for (int r = 0; r < rows; r++) {
        if (targets[r] < 0) continue;
        double log_sum = log_sum_exp(V, logits[r]), share = (double)dloss / (double)count;
        for (int v = 0; v < V; v++)
            dlogits[r][v] += (float)(share * (exp(logits[r][v] - log_sum) - (v == targets[r])));
    }
}
