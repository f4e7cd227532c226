/* The reader's training is chapter 17's: verify.h and small.h have a name in common, so it
 * has a file of its own. */
#include "17_training/small.h"
#include "tests/judge/kernels.h"
#include "tests/judge/yours.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* With our own kernels taken for the reader's, training is chapter 17's to the last bit. */
static void training_is_chapter_17s(void **) {
    enum { STEPS = 3, UNSEEN = 100 };
    Function yours[PARTS] = {0};
    Requests underway = {0};
    Hyperparameters settings = llama_settings(STEPS);
    TinyTrainer trainer = tiny_trainer_new(1);
    for (int s = 0; s < STEPS; s++) tiny_trainer_step(&trainer, &settings);
    for (int p = 0; p < PARTS; p++)
        if (parts[p].places == IN_TRAINING) yours[p] = kernel_named(parts[p].name)->ours;
    assert_true(train_yours(STEPS, yours, &underway) == tiny_trainer_loss(&trainer, UNSEEN));
    assert_int_equal(underway.last, STEPS);
    tiny_trainer_free(&trainer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(training_is_chapter_17s)};
    return cmocka_run_group_tests_name("yours", tests, NULL, NULL) != 0;
}
