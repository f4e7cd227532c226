/* The chapters' programs say the same whether or not they write what the figures are drawn from,
 * and write nothing unasked. Those that measure time say something else each time, and are left
 * out. */
#include "tests/program.h"

static void test_data_is_written_on_request_alone(void **) {
    static const char *const programs[] = {
        "01_figures", "02_figures", "03_figures", "05_figures", "06_figures", "07_figures",
        "08_figures", "10_figures", "11_figures", "13_figures", "15_figures",
#if !defined EMULATED &&                                                                           \
    !defined __SANITIZE_ADDRESS__ /* a thousand heads; and a model without each of its own */
        "04_figures", "09_figures",
#endif
    };
    static char with[sizeof said];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!strstr(PROGRAMS, programs[i])) continue; /* no PCRE2 here */
        assert_runs("'%s/%s' --data data", BUILD, programs[i]);
        strcpy(with, said);
        assert_runs("ls data/*.dat >/dev/null && rm -r data");
        assert_runs("'%s/%s'", BUILD, programs[i]);
        assert_string_equal(said, with);
        assert_runs("ls");
        assert_string_equal(said, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_data_is_written_on_request_alone)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
