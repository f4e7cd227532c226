/* For tests of numbers that are rounded. cmocka's own assert_float_equal() takes NaN for equal to anything. */
#ifndef TESTS_NEAR_H
#define TESTS_NEAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void assert_near(double got, double expected, double most) {
    if (!(fabs(got - expected) <= most)) fail_msg("%.9g, not %.9g to %.1g", got, expected, most);
}

#endif
