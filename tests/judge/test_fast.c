/* The fast kernels of training, as if a reader had written them: PyTorch's cases, random shapes
 * beside the chapters' own, guarded arrays. */
#include "tests/program.h"

static void fast_kernels_are_right(void **state) {
    (void)state;
    static const char names[] =
        "-Dfast_linear=linear -Dfast_linear_backward=linear_backward -Dfast_rms_norm=rms_norm "
        "-Dfast_swiglu=swiglu -Dfast_swiglu_backward=swiglu_backward "
        "-Dfast_flash_attention_lse=flash_attention_lse "
        "-Dfast_flash_attention_backward=flash_attention_backward "
        "-Dfast_cross_entropy=cross_entropy -Dfast_cross_entropy_backward=cross_entropy_backward";
    assert_int_equal(
        run("cd '%s/chapters' && sh '%s/compile.sh' %s/fast.c.so -O1 %s "
            "17*/fast_training_kernels.c "
            "17*/fast_attention.c 17*/product.c 12*/elementwise.c 12*/projection.c 12*/pairs.c "
            "12*/flash_attention.c && cd %s && '%s/verify' --library fast.c.so",
            ROOT, BUILD, folder, names, folder, BUILD),
        0);
    assert_said("9 of 9 kernels pass\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fast_kernels_are_right)};
    return cmocka_run_group_tests_name("fast", tests, make_folder, remove_folder) != 0;
}
