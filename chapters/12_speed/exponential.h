/* Chapter 12: e^x for all lanes at once. */
#ifndef EXPONENTIAL_H
#define EXPONENTIAL_H

#include "12_speed/vector.h"

/* 2^scale e^x in each lane, to 1.5 ulp. e^x is 2^n e^r with n whole and |r| <= ln(2)/2, where eight
 * terms of the series are enough. n + scale is at least -127, where all is 0, and at most 128,
 * where all is infinite. */
INLINE Vector exp_scaled(int scale, Vector x) {
    const float large = 0x1.8p23f + 127 +
                        (float)scale; /* so large that a sum with it is rounded to a whole number */
    Vector shifted = x * 1.44269504f + large,
           n = shifted - large;                             /* the last bits are n + 127 + scale */
    Vector r = (x - n * 0x1.62e4p-1f) - n * 1.42860682e-6f; /* x - n ln 2, with ln 2 in two parts */
    Vector series = 1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)));
    series = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * series)));
    return series * (Vector)((VecU32)shifted
                             << 23); /* in the place of the exponent they are 2^(n + scale) */
}

/* e^x for x <= 0; far below 0, where n would be less than -127, it is 0. */
INLINE Vector exp_negative(Vector x) { return exp_scaled(0, vector_max((Vector){0} - 88, x)); }

#endif
