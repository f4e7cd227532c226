/* Weights in the ways that a file stores them, for the tests of project() and fast_linear_tensor().
 */
#ifndef TESTS_PROJECTION_H
#define TESTS_PROJECTION_H

#include "12_speed/fast_kernels.h"
#include "common/error.h"
#include "common/random.h"
#include "tests/program.h"

#include <math.h>

static void store(DType dtype, int count, char *to, const float from[count]) {
    for (int i = 0; i < count; i++) {
        uint16_t half = dtype == BF16 ? bf16_from_float(from[i]) : f16_from_float(from[i]);
        if (dtype == F32) memcpy(to + i * 4, &from[i], 4);
        else memcpy(to + i * 2, &half, 2);
    }
}

#endif
