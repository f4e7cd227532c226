/* The chapters' own kernels, as if a reader had written them, solve every exercise. */
#include "tests/judge/exercises.h"
#include "tests/program.h"

#ifdef EMULATED /* takes far longer */
enum { EVERY = 4 };
#else
enum { EVERY = 1 };
#endif

static void a_solved_exercise_says_so(void **state) {
    (void)state;
    assert_int_equal(
        run("cd '%s/chapters' && sh '%s/compile.sh' %s/solved.c.so -O1 01*/normalization.c "
            "02*/activation.c 03*/feed_forward.c 04*/attention.c 05*/rope.c 05*/scaling.c "
            "06*/grouped_query.c 07*/kv_cache.c 08*/flash_attention.c 09*/decoder.c "
            "10*/bpe_train.c 10*/bpe.c 11*/sampling.c 13*/quantization.c 13*/k_quants.c "
            "15*/shard.c 16*/linear_backward.c 16*/activation_backward.c 16*/norms_backward.c "
            "16*/attention_backward.c 17*/optimizer.c ../common/linear.c",
            ROOT, BUILD, folder),
        0);
    const Exercise *exercise;
    for (int e = 0; (exercise = exercise_at(e)); e += EVERY) {
        int count = task_count(exercise);
        assert_int_equal(
            run("'%s/verify' --exercise %.2s --library solved.c.so", BUILD, exercise->chapter), 0);
        assert_said(
            AT("Chapter %.2s, solved.c: %d of %d tasks solved\n", exercise->chapter, count, count));
        assert_said("Every task is solved. ");
        assert_null(strstr(said, "FAIL"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_solved_exercise_says_so)};
    return cmocka_run_group_tests_name("solved", tests, make_folder, remove_folder) != 0;
}
