/* Chapter 17: cross_entropy() and cross_entropy_backward() of chapter 16 in float32, all lanes at once. */
#include "12_speed/exponential.h"
#include "16_backward/backward.h"

#include <math.h>

static float largest(int V, const float x[V]) {
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int v = 0; v < V; v++) most = x[v] > most ? x[v] : most;
    return most;
}

/* The sum of e^(x - max), of which none overflows. A long sum is a sum of parts, for the sake of exactness. */
static double sum_of_powers(int V, const float x[V], float max) {
    enum { PART = 64 * LANES };
    double sum = 0;
    for (int first = 0; first < V; first += PART) {
        int end = V - first < PART ? V : first + PART, v = first;
        Vector part = {0};
        for (; v + LANES <= end; v += LANES) part += exp_negative(*(const Vector *)&x[v] - max);
        sum += total(part);
        for (; v < end; v++) sum += exp_negative((Vector){x[v] - max})[0];
    }
    return sum;
}

/* log(sum of e^x) is max + log_sum: apart, for their sum would round what is small. */
typedef struct {
    float max;
    double log_sum;
} LogSumExp;

static LogSumExp log_sum_exp(int V, const float x[V]) {
    float max = largest(V, x);
    return (LogSumExp){max, log(sum_of_powers(V, x, max))};
}

double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    check_targets((size_t)rows, V, targets);
    size_t count = count_targets((size_t)rows, targets);
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        if (targets[r] < 0) continue;
        LogSumExp s = log_sum_exp(V, logits[r]);
        sum += s.log_sum + ((double)s.max - logits[r][targets[r]]);
    }
    return sum / (double)count;
}

/* dlogits += share e^(x - max) / sum. */
static void add_softmax(int V, float dlogits[restrict V], const float x[V], float max, float share) {
    int v = 0;
    for (; v + LANES <= V; v += LANES)
        *(Vector *)&dlogits[v] += share * exp_negative(*(const Vector *)&x[v] - max);
    for (; v < V; v++) dlogits[v] += share * exp_negative((Vector){x[v] - max})[0];
}

void cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V], const float logits[rows][V],
                            const int targets[rows], float dloss) {
    check_targets((size_t)rows, V, targets);
    size_t count = count_targets((size_t)rows, targets);
    for (int r = 0; r < rows; r++) {
        if (targets[r] < 0) continue;
        float max = largest(V, logits[r]), share = dloss / (float)count;
        add_softmax(V, dlogits[r], logits[r], max, (float)(share / sum_of_powers(V, logits[r], max)));
        dlogits[r][targets[r]] -= share;
    }
}
