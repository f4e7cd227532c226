#include "15_backward/backward.h"
#include "common/error.h"

#include <math.h>

/* log(sum of e^x): the largest is taken out, and put back, so that no e^x overflows. */
static double log_sum_exp(int V, const float x[V]) {
    float max = -INFINITY;
    for (int v = 0; v < V; v++) max = x[v] > max ? x[v] : max;
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp((double)x[v] - max);
    return max + log(sum);
}

static void check_target(int target, int V) {
    if (target >= V) fail("target %d is not in the vocabulary of %d", target, V);
}

static int count_targets(int rows, int V, const int targets[rows]) {
    int count = 0;
    for (int r = 0; r < rows; r++) {
        check_target(targets[r], V);
        count += targets[r] >= 0;
    }
    return count;
}

double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    int count = count_targets(rows, V, targets);
    double sum = 0;
    for (int r = 0; r < rows; r++)
        if (targets[r] >= 0) sum += log_sum_exp(V, logits[r]) - logits[r][targets[r]];
    return sum / count;
}

void cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V], const float logits[rows][V],
                            const int targets[rows], float dloss) {
    int count = count_targets(rows, V, targets);
    for (int r = 0; r < rows; r++) {
        if (targets[r] < 0) continue;
        double log_sum = log_sum_exp(V, logits[r]), share = (double)dloss / count;
        for (int v = 0; v < V; v++)
            dlogits[r][v] += (float)(share * (exp(logits[r][v] - log_sum) - (v == targets[r])));
    }
}
