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

static void ours_agree_with_themselves(void **) {
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        if (getenv("KERNEL") && strcmp(getenv("KERNEL"), kernel->name) != 0) continue;
        agrees(kernel, kernel->ours, "");
        if (kernel->fast) agrees(kernel, kernel->fast, " of chapter 12");
    }
}

/* The error of a sum of n terms in float32, in the orders that people write. */
static double worst_error(int n, const float term[n], double truth) {
    enum { LANES = 8 };
    float forward = 0, backward = 0, lane[LANES] = {0}, by_lanes = 0;
    for (int i = 0; i < n; i++) {
        forward += term[i];
        lane[i % LANES] += term[i];
    }
    for (int i = n - 1; i >= 0; i--) backward += term[i];
    for (int i = 0; i < LANES; i++) by_lanes += lane[i];
    return fmax(fmax(fabs(forward - truth), fabs(backward - truth)), fabs(by_lanes - truth));
}

/* How far it moves if each term does by half an ulp, as common/check.h has it. */
static double rounding_of(int n, const float term[n], Random *random) {
    enum { DRAWS = 7 };
    double most = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        double move = 0;
        for (int i = 0; i < n; i++)
            move += draw == 0 || random_between(random, 0, 1) ? term[i] : -term[i];
        most = fmax(most, fabs(move));
    }
    return CHECK_ROUNDINGS * sqrt(n) * 0x1p-24 * most;
}

/* Sums of numbers of one sign, and of either: none is farther off than roundings may take it, and
 * the bound is not far above what is drawn. */
static void sums_stay_within_their_rounding(void **) {
    enum { LONGEST = 16384, DRAWS = 100 };
    static float term[LONGEST];
    Random random = {.state = 5};
    for (int n = 16; n <= LONGEST; n *= 4)
        for (int squared = 0; squared < 2; squared++) {
            double nearest = 0;
            for (int draw = 0; draw < DRAWS; draw++) {
                double truth = 0;
                random_fill(&random, (size_t)n, term);
                for (int i = 0; i < n; i++) {
                    if (squared) term[i] *= term[i];
                    truth += term[i];
                }
                double bound = rounding_of(n, term, &random),
                       share = worst_error(n, term, truth) / bound;
                if (share > 1) fail_msg("%d terms: %.2f of the bound", n, share);
                nearest = fmax(nearest, share);
            }
            if (nearest < 1 / 200.0)
                fail_msg("%d terms: the bound is %.0f times what is drawn", n, 1 / nearest);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_stay_within_their_rounding),
        cmocka_unit_test(ours_agree_with_themselves),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL) != 0;
}
