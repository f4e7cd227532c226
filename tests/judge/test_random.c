/* The course's own kernels on random shapes, long ones and those of many days: the bound on what two
 * right kernels may differ by must hold for every seed, and the calls must be quick. */
#include "common/timer.h"
#include "tests/judge/diagnosis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void agrees(const Kernel *kernel, Function function, const char *what) {
    char say[DIAGNOSIS], note[DIAGNOSIS], seed[32];
    Verdict wrong;
    for (int day = 1; day <= 3; day++) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_agree_with_themselves),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL) != 0;
}
