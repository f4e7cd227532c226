/* When is a float32 kernel right? When it errs against float64 no worse than PyTorch's own float32
 * does.
 *
 * Errors are counted in ulps: units in the last place of a float32 of the size of the output's
 * scale. The scale is the largest |expected64| in the same row (a norm or a dot product mixes a
 * row, so a small element inherits the rounding of the large ones) or, for a pointwise kernel, the
 * element itself: a "row" of 1.
 *
 *   tolerance = CHECK_MULTIPLE * (PyTorch's worst error over the case, in ulps) + CHECK_ULPS
 *
 * Where roundings alone can do more to a row, whatever the order of its sums, that counts instead.
 * The golden values have it for each row, computed in float64:
 *
 *   rounding = CHECK_ROUNDINGS * sqrt(n) * move
 *
 * where `move` is how far the row moves if every input moves by half an ulp, up or down at random,
 * and n is the longest dimension of the inputs, at least as long as any sum.
 *
 * Why 4 times PyTorch's error and 4 ulps: two honest float32 evaluations differ in the order of
 * their sums and in fused multiply-adds. Each order redraws the same roundings, and over thousands
 * of draws the worst of one stays within a factor of 4 of the worst of the other. The 4 ulps are
 * for the cases where PyTorch happens to be exact: another order of operations may add a handful of
 * roundings (divide, root, multiply, add).
 *
 * Why the rounding: a case of few numbers is one draw, in which PyTorch may be lucky. To round each
 * product of a sum is the same as to move the inputs. The total of n terms is rounded n times, in
 * either direction, which moves it by up to sqrt(n) times as much. Where large numbers cancel, such
 * as those around a mean, the moved inputs show that, too. All this is a hundred-thousandth of the
 * sum of a row of 4096, where a wrong index makes a number another one. tests/judge/test_random.c
 * draws such sums and measures the rounding.
 *
 * NaN and infinity pass only where PyTorch has the same at the same place. A bf16 output must equal
 * PyTorch's bit for bit: rounding to 8 bits hides any float32 noise, and no golden lies near a tie,
 * unless float32 makes no noise there: then it is a tie, and the even one is right. */
#ifndef COMMON_CHECK_H
#define COMMON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#define CHECK_MULTIPLE 4.0
#define CHECK_ULPS 4.0
#define CHECK_ROUNDINGS 4.0

/* An output that the kernel never wrote still holds this: a signalling NaN, which no arithmetic
 * produces, as a bf16 and, twice, as a float32. */
#define POISON 0x7fa5u
bool is_poison(float value);

/* Another such NaN lies around the inputs: a copy of the one over the other would not show if they
 * were the same. */
#define CANARY 0x7f95u

/* And a third, which is one as a double, too, is in a kernel's own variables and memory before it
 * sets them. */
#define UNSET 0x7ff5u

/* The unit for a row's rounding errors: the ulp of its largest finite number. */
double row_ulp(size_t row, const double truth[row]);

typedef struct {
    size_t count;     /* elements compared */
    size_t wrong;     /* elements out of tolerance */
    size_t unwritten; /* of those, still poison */
    size_t misplaced; /* of those, NaN or infinite where the truth is not, or the other way round */
    size_t first_wrong; /* index of the first, if wrong > 0 */
    double worst;     /* largest |got - expected64|; NaN if a NaN or an infinity is out of place */
    double ulps;      /* the same in ulps: the largest over the rows */
    double reference; /* PyTorch's own float32 error in ulps, where check() was asked */
} Comparison;

/* Compares `count` outputs, rows of `row` elements; count is a multiple of row. */
Comparison check(size_t count, size_t row, const float got[count], const float expected[count],
                 const double expected64[count]);

/* The same against any truth, with a tolerance in ulps that the caller must have a reason for. */
Comparison check_within(double tolerance, size_t count, size_t row, const float got[count],
                        const double truth[count]);

/* The same with a bound for each number: how far it may be from the truth. No ulps are counted. */
Comparison check_bounds(size_t count, const float got[count], const double truth[count],
                        const double bound[count]);

#endif
