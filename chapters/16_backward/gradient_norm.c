#include "16_backward/backward.h"

#include <math.h>

double gradient_norm(size_t n, const float gradient[n]) {
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < n; i++) squares += (double)gradient[i] * gradient[i];
    return sqrt(squares);
}
