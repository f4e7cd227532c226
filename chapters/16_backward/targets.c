#include "16_backward/backward.h"
#include "common/error.h"

size_t count_targets(size_t n, const int targets[n]) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += targets[i] >= 0;
    return count;
}

double weigh_targets(size_t n, const int targets[n], const float *counts) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if (targets[i] >= 0) sum += counts ? counts[i] : 1;
    return sum;
}

void check_targets(size_t n, int V, const int targets[n]) {
    for (size_t i = 0; i < n; i++)
        if (targets[i] >= V) fail("target %d is not in the vocabulary of %d", targets[i], V);
}
