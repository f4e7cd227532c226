/* For tests of numbers that are rounded, and of those that are none. */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include "common/check.h"
#include "tests/test.h"

#include <math.h>

/* cmocka's own assert_float_equal() takes NaN for equal to anything. */
static inline void assert_near(double got, double expected, double most) {
    if (!(fabs(got - expected) <= most)) fail_msg("%.9g, not %.9g to %.1g", got, expected, most);
}

/* RISC-V knows one NaN only: what a sum began with is lost there, and cannot be told. */
static inline bool sums_keep_payloads(void) {
    volatile uint32_t bits = POISON << 16 | POISON;
    uint32_t sum_bits = bits;
    float sum;
    memcpy(&sum, &sum_bits, sizeof sum);
    volatile float one = 1;
    sum += one;
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    return (sum_bits & 0xffff) == POISON;
}

#endif
