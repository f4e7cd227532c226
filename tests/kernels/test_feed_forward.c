/* llama_hidden_width against the intermediate_size of every Llama's published config.json. */
#include "03_feed_forward/feed_forward.h"
#include "tests/test.h"

static void the_family_has_its_widths(void **) {
    static const struct {
        long C;
        double multiplier;
        long multiple_of, width;
    } family[] = {
        /* Llama 1; Llama 2 and 3 70B; 3, 3.1, 3.2 */
        {4096, 1.0, 256, 11008},   {5120, 1.0, 256, 13824},  {6656, 1.0, 256, 17920},
        {8192, 1.0, 256, 22016},   {8192, 1.3, 4096, 28672}, {4096, 1.3, 1024, 14336},
        {16384, 1.2, 4096, 53248}, {2048, 1.5, 256, 8192},   {3072, 1.0, 256, 8192},
        {3, 1.0, 7, 14}, /* no Llama: 8 is one over a multiple of 7 */
    };
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        assert_int_equal(
            llama_hidden_width(family[i].C, family[i].multiplier, family[i].multiple_of),
            family[i].width);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_family_has_its_widths)};
    return cmocka_run_group_tests_name("feed_forward", tests, NULL, NULL) != 0;
}
