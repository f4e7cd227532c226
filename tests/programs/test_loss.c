/* Which targets a loss counts, and how much each. */
#include "16_backward/backward.h"
#include "tests/near.h"
#include "tests/refused.h"

static const int targets[] = {3, -1, 0, -100, 5};

static void negative_targets_are_not_counted(void **) {
    assert_int_equal(count_targets(5, targets), 3);
    assert_int_equal(count_targets(2, targets), 1);
    assert_int_equal(count_targets(0, targets), 0);
}

static void each_target_weighs_what_it_counts(void **) {
    const float counts[] = {0.5f, 8, 2, 16, 0.25f};
    assert_near(sum_loss_weights(5, targets, counts), 2.75, 0);
    assert_near(sum_loss_weights(5, targets, NULL), 3, 0);
    assert_near(sum_loss_weights(0, targets, counts), 0, 0);
}

static void not_in_the_vocabulary(void) { check_targets(5, 5, targets); }

static void an_unknown_target_is_named(void **) {
    check_targets(5, 6, targets);
    assert_refused(not_in_the_vocabulary, "target 5 is not in the vocabulary of 5");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negative_targets_are_not_counted),
        cmocka_unit_test(each_target_weighs_what_it_counts),
        cmocka_unit_test(an_unknown_target_is_named),
    };
    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
