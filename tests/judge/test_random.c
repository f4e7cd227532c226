/* The course's own kernels on random shapes, long ones and those of many days: the bound on what
 * two right kernels may differ by must hold for every seed, and the calls must be quick. */
#include "common/timer.h"
#include "tests/judge/diagnosis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void agrees(const Kernel *kernel, Function function, const char *what) {
    char say[DIAGNOSIS], note[DIAGNOSIS], seed[32];
    Verdict wrong;
    for (int day = 1; day <= 2; day++) {
        snprintf(seed, sizeof seed, "%d", 20260000 + 7 * day);
        setenv("SEED", seed, 1);
        double start = seconds();
        if (!random_shapes_agree(&(Subject){kernel, NULL, function}, say, note, &wrong))
            fail_msg("%s%s: %s", kernel->name, what, say);
        if (note[0]) fail_msg("%s%s: %s", kernel->name, what, note);
        if (getenv("TIMES")) printf("%s%s %.3f s\n", kernel->name, what, seconds() - start);
    }
}

static void ours_agree_with_themselves(void **state) {
    (void)state;
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        if (getenv("KERNEL") && strcmp(getenv("KERNEL"), kernel->name) != 0) continue;
        agrees(kernel, kernel->ours, "");
        if (kernel->fast) agrees(kernel, kernel->fast, " of chapter 12");
    }
}

/* Sums of n terms in float32, in the orders that people write: how far is the worst from float64,
 * in ulps? The bound of common/check.h is far above what is drawn, and grows as it does. */
static void sums_stay_within_the_bound(void **state) {
    (void)state;
    enum { LONGEST = 16384, DRAWS = 200, LANES = 8 };
    static float term[LONGEST];
    Random random = {.state = 5};
    for (int n = 16; n <= LONGEST; n *= 4) {
        double worst = 0;
        for (int draw = 0; draw < DRAWS; draw++) {
            double truth = 0;
            float forward = 0, backward = 0, lane[LANES] = {0}, by_lanes = 0;
            random_fill(&random, (size_t)n, term);
            for (int i = 0; i < n; i++) {
                term[i] *= term[i];
                truth += term[i];
                forward += term[i];
                lane[i % LANES] += term[i];
            }
            for (int i = n - 1; i >= 0; i--) backward += term[i];
            for (int i = 0; i < LANES; i++) by_lanes += lane[i];
            const float sums[] = {forward, backward, by_lanes};
            for (int s = 0; s < 3; s++)
                worst = fmax(worst, fabs(sums[s] - truth) / row_ulp(1, &truth));
        }
        double bound = CHECK_ROOTS * sqrt(n);
        if (worst > bound || worst < bound / 40)
            fail_msg("%d terms: %.1f ulps, and the bound is %.1f", n, worst, bound);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stay_within_the_bound),
        cmocka_unit_test(ours_agree_with_themselves),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL) != 0;
}
