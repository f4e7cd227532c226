/* Chapter 9's project(): weights of every dtype, of any size and at any address. */
#include "tests/projection.h"

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float16_is_widened_rightly),
        cmocka_unit_test(any_size_at_any_address),
        cmocka_unit_test(a_long_sum_is_one_of_parts),
    };
    return cmocka_run_group_tests_name("projection", tests, NULL, NULL) != 0;
}
