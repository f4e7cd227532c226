/* Small functions on numbers that several chapters use and none teaches. */
#ifndef COMMON_NUMBERS_H
#define COMMON_NUMBERS_H

#include <math.h>

static inline int min_int(int a, int b) { return a < b ? a : b; }

/* The place of the largest number, the first of several. */
static inline int index_of_largest(int n, const float x[n]) {
    int largest = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[largest]) largest = i;
    return largest;
}

/* The place of the first that is NaN or infinite; n if none is. */
static inline int first_not_finite(int n, const float x[n]) {
    int i = 0;
    while (i < n && isfinite(x[i])) i++;
    return i;
}

/* The root mean square: how large a typical number of a vector is. */
static inline double rms(int n, const float x[n]) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * x[i];
    return sqrt(squares / n);
}

#endif
