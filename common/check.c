#include "common/check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

/* The spacing of float32 numbers of this size; subnormals are all 2^-149 apart. */
static double ulp(double size) { return ldexp(1, size < 0x1p-126 ? -149 : ilogb(size) - 23); }

double row_ulp(size_t row, const double truth[row]) {
    double largest = 0;
    for (size_t i = 0; i < row; i++)
        if (isfinite(truth[i])) largest = fmax(largest, fabs(truth[i]));
    return ulp(largest);
}

/* |got - truth|; NaN when one of them is NaN or infinite and the other is not the same. */
static double distance(double got, double truth) {
    if (isnan(got) && isnan(truth)) return 0;
    if (isinf(got) && got == truth) return 0;
    return isfinite(got) && isfinite(truth) ? fabs(got - truth) : NAN;
}

static double max_double(double worst, double error) {
    return isnan(worst) || isnan(error) ? NAN : fmax(worst, error);
}

bool is_poison(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 16 == POISON;
}

/* Counts a number that is off by `error`, which may be or may not. */
static void count_error(Comparison *result, size_t index, float got, double error, bool may_be) {
    bool unwritten = is_poison(got); /* wrong even where a NaN is right */
    result->worst = max_double(result->worst, error);
    if (may_be && !unwritten) return;
    if (result->wrong++ == 0) result->first_wrong = index;
    result->unwritten += unwritten;
    result->misplaced += isnan(error) && !unwritten;
}

Comparison check_bounds(size_t count, const float got[count], const double truth[count],
                        const double bound[count]) {
    Comparison result = {.count = count};
    for (size_t i = 0; i < count; i++) {
        double error = distance(got[i], truth[i]);
        count_error(&result, i, got[i], error, error <= bound[i] || isinf(bound[i]));
    }
    return result;
}

Comparison check_within(double tolerance, size_t count, size_t row, const float got[count],
                        const double truth[count]) {
    Comparison result = {.count = count};
    for (size_t start = 0; start < count; start += row) {
        double unit = row_ulp(row, truth + start);
        for (size_t i = start; i < start + row; i++) {
            double error = distance(got[i], truth[i]);
            result.ulps = max_double(result.ulps, error / unit);
            /* An error of NaN is not within anything. */
            count_error(&result, i, got[i], error, error / unit <= tolerance);
        }
    }
    return result;
}

Comparison check(size_t count, size_t row, const float got[count], const float expected[count],
                 const double expected64[count]) {
    /* If float32 overflows, PyTorch's float32 answer is the truth. */
    double *truth = xmalloc(count * sizeof *truth);
    for (size_t i = 0; i < count; i++)
        truth[i] = isfinite(expected[i]) ? expected64[i] : expected[i];
    double reference = check_within(INFINITY, count, row, expected, truth).ulps;
    Comparison result =
        check_within(CHECK_MULTIPLE * reference + CHECK_ULPS, count, row, got, truth);
    result.reference = reference;
    free(truth);
    return result;
}
