/* The course's own kernels, as if a reader had written them. */
#include "tests/judge/exercises.h"
#include "tests/program.h"

#ifdef EMULATED /* takes far longer */
enum { EVERY = 4 };
#else
enum { EVERY = 1 };
#endif

static void a_solved_exercise_says_so(void **) {
    assert_runs("cd '%s/chapters' && sh '%s/compile.sh' %s/solved.c.so -O1 01*/normalization.c "
                "02*/activation.c 03*/feed_forward.c 04*/attention.c 05*/rope.c 05*/scaling.c "
                "06*/grouped_query.c 07*/kv_cache.c 08*/flash_attention.c 09*/decoder.c "
                "10*/bpe_train.c 10*/bpe.c 11*/sampling.c 13*/quantization.c 13*/k_quants.c "
                "15*/shard.c 16*/linear_backward.c 16*/activation_backward.c 16*/norms_backward.c "
                "16*/attention_backward.c 17*/optimizer.c ../common/linear.c",
                ROOT, BUILD, folder);
    const Exercise *exercise;
    for (int e = 0; (exercise = exercise_at(e)); e += EVERY) {
        int count = task_count(exercise);
        assert_runs("'%s/verify' --exercise %.2s --library solved.c.so", BUILD, exercise->chapter);
        assert_said(
            AT("Chapter %.2s, solved.c: %d of %d tasks solved\n", exercise->chapter, count, count));
        assert_said("Every task is solved. ");
        assert_null(strstr(said, "FAIL"));
    }
}

/* Those that train: PyTorch's cases, random shapes beside the chapters' own, guarded arrays. */
static void fast_kernels_are_right(void **) {
    static const char names[] =
        "-Dfast_linear=linear -Dfast_linear_backward=linear_backward -Dfast_rms_norm=rms_norm "
        "-Dfast_swiglu=swiglu -Dfast_swiglu_backward=swiglu_backward "
        "-Dfast_flash_attention_lse=flash_attention_lse "
        "-Dfast_flash_attention_backward=flash_attention_backward "
        "-Dfast_cross_entropy=cross_entropy -Dfast_cross_entropy_backward=cross_entropy_backward";
    assert_runs("cd '%s/chapters' && sh '%s/compile.sh' %s/fast.c.so -O1 %s "
                "17*/fast_training_kernels.c "
                "17*/fast_attention.c 17*/product.c 12*/elementwise.c 12*/projection.c 12*/pairs.c "
                "12*/flash_attention.c && cd %s && '%s/verify' --library fast.c.so",
                ROOT, BUILD, folder, names, folder, BUILD);
    assert_said("9 of 9 kernels pass\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_solved_exercise_says_so),
                                       cmocka_unit_test(fast_kernels_are_right)};
    return cmocka_run_group_tests_name("own", tests, make_folder, remove_folder) != 0;
}
