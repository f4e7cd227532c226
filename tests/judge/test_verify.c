/* The workbench against kernels that misbehave in every way a first draft does. Each must be told
 * from the others. */
#include "01_normalization/normalization.h"
#include "11_generation/sampling.h"
#include "common/file.h"
#include "tests/judge/diagnosis.h"

#include <glob.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RMS_NORM(name)                                                                             \
    static void name(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],   \
                     const float weight[dim], float eps)

RMS_NORM(writes_one_past) {
    rms_norm(rows, dim, out, x, weight, eps);
    ((float *)out)[rows * dim] = 1;
}
RMS_NORM(writes_one_before) {
    rms_norm(rows, dim, out, x, weight, eps);
    ((float *)out)[-1] = 1;
}
RMS_NORM(writes_far_past) {
    rms_norm(rows, dim, out, x, weight, eps);
    ((float *)out)[100000] = 1;
}
RMS_NORM(writes_its_input) {
    rms_norm(rows, dim, out, x, weight, eps);
    ((float *)x)[0] = 1;
}
RMS_NORM(leaves_the_last) {
    rms_norm(rows, dim, out, x, weight, eps);
    const uint32_t poison = POISON << 16 | POISON;
    memcpy(&out[rows - 1][dim - 1], &poison, sizeof poison);
}
RMS_NORM(writes_nothing) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps;
}
static volatile uintptr_t nowhere =
    1 << 14; /* no array lies there; volatile, or the compilers would object */
static const float *volatile nothing = NULL;
RMS_NORM(follows_a_wild_pointer) {
    rms_norm(rows, dim, out, x, weight, eps);
    *(volatile int *)nowhere = 0;
}
RMS_NORM(follows_NULL) {
    rms_norm(rows, dim, out, x, weight, eps);
    out[0][0] += *(const volatile float *)((uintptr_t)nothing + 16);
}
RMS_NORM(loops_for_ever) {
    rms_norm(rows, dim, out, x, weight, eps);
    for (volatile unsigned i = 0;; i++) {
    }
}
RMS_NORM(exits) {
    rms_norm(rows, dim, out, x, weight, eps);
    _exit(0);
}
RMS_NORM(aborts) {
    rms_norm(rows, dim, out, x, weight, eps);
    raise(SIGKILL);
}
RMS_NORM(loses_accuracy) {
    rms_norm(rows, dim, out, x, weight, eps);
    for (int i = 0; i < dim; i++) out[0][i] *= 1 + 1e-5f;
}

static const GoldenCase *by_hand(Golden *golden) {
    *golden = golden_open("rms_norm");
    return golden_case(golden, "by_hand");
}

static void trouble_is_named(void **state) {
    (void)state;
    static const struct {
        __typeof__(rms_norm) *kernel;
        const char *words, *advice; /* NULL: none */
    } misbehaving[] = {
        {writes_one_past, "wrote 4 bytes past the end of out", "goes on behind the end"},
        {writes_one_before, "went out of bounds: 4 bytes before out", "below 0"},
        {writes_far_past, "past the end of out", NULL},
        {writes_its_input, "wrote to its input x", NULL},
        {follows_a_wild_pointer, "in none of its arrays", NULL},
        {follows_NULL, "followed a NULL pointer", NULL},
        {exits, "ended the program", NULL},
        {aborts, "crashed", NULL},
    };
    Golden golden;
    const GoldenCase *one = by_hand(&golden);
    for (size_t i = 0; i < sizeof misbehaving / sizeof *misbehaving; i++) {
        Verdict verdict =
            verdict_of_call(kernel_named("rms_norm"), one, (Function)misbehaving[i].kernel);
        assert_false(verdict_passes(&verdict));
        if (!strstr(verdict.trouble, misbehaving[i].words))
            fail_msg("\"%s\" lacks \"%s\"", verdict.trouble, misbehaving[i].words);
        const char *advice = trial_advice(verdict.trouble);
        if (misbehaving[i].advice && (!advice || !strstr(advice, misbehaving[i].advice)))
            fail_msg("\"%s\" comes without \"%s\"", verdict.trouble, misbehaving[i].advice);
        verdict_free(&verdict);
    }
    golden_close(&golden);
}

/* A call that is timed is repeated, a short one thousands of times, always in the same arrays. */
static void every_kernel_can_be_timed(void **state) {
    (void)state;
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        Random random = {.state = 1};
        Call call = {0};
        char trouble[TROUBLE];
        kernel->random_call(&call, &random, SMALL);
        if (isnan(time_call(NULL, kernel->ours, kernel->unpack, &call, trouble)))
            fail_msg("%s %s", kernel->name, trouble);
        call_free(&call);
    }
}

/* In a process that has been told the shorter limit; all others may be slow, as on a busy machine.
 */
static void a_loop_without_an_end_is_given_up(void **state) {
    (void)state;
    Golden golden;
    const GoldenCase *one = by_hand(&golden);
    const unsigned usual = call_time_limit;
    char trouble[TROUBLE];
    call_time_limit = 1;
    Library *hasty = library_load(NULL, trouble);
    Verdict verdict = verdict_of_subject(
        &(Subject){kernel_named("rms_norm"), hasty, (Function)loops_for_ever}, one);
    call_time_limit = usual;
    assert_false(verdict_passes(&verdict));
    assert_non_null(strstr(verdict.trouble, "did not come back within 1 second"));
    verdict_free(&verdict);
    library_close(hasty);
    golden_close(&golden);
}

static void what_is_not_written_is_counted(void **state) {
    (void)state;
    Golden golden;
    const GoldenCase *one = by_hand(&golden);
    Verdict last = verdict_of_call(kernel_named("rms_norm"), one, (Function)leaves_the_last);
    assert_int_equal(last.comparison.unwritten, 1);
    assert_int_equal(last.comparison.wrong, 1);
    Verdict all = verdict_of_call(kernel_named("rms_norm"), one, (Function)writes_nothing);
    assert_int_equal(all.comparison.unwritten, all.comparison.count);
    verdict_free(&last);
    verdict_free(&all);
    golden_close(&golden);
}

static void lost_accuracy_fails_without_a_name(void **state) {
    (void)state;
    Golden golden;
    const GoldenCase *one = by_hand(&golden);
    Verdict verdict = verdict_of_call(kernel_named("rms_norm"), one, (Function)loses_accuracy);
    assert_false(verdict_passes(&verdict));
    assert_null(diagnose(kernel_named("rms_norm"), &golden, 1, &verdict).known_mistake);
    verdict_free(&verdict);
    golden_close(&golden);
}

static void random_shapes_catch_what_goldens_might_not(void **state) {
    (void)state;
    char disagreement[DIAGNOSIS];
    assert_true(random_shapes_agree(&(Subject){kernel_named("rms_norm"), NULL, (Function)rms_norm},
                                    disagreement));
    assert_false(random_shapes_agree(
        &(Subject){kernel_named("rms_norm"), NULL, (Function)leaves_the_last}, disagreement));
    assert_non_null(strstr(disagreement, "random shape x ["));
    assert_non_null(strstr(disagreement, ": not written"));
    assert_false(random_shapes_agree(
        &(Subject){kernel_named("rms_norm"), NULL, (Function)writes_one_past}, disagreement));
    assert_non_null(strstr(disagreement, "overran: wrote 4 bytes past the end of out"));
}

/* A temperature may be as low as COLDEST; many think of 0.1 as the least. */
static void bounded_temperature(int V, float out[V], const float logits[V], float T) {
    temperature(V, out, logits, T < 0.1f ? 0.1f : T);
}

static void random_temperatures_are_all_that_may_be(void **state) {
    (void)state;
    char disagreement[DIAGNOSIS];
    const Kernel *kernel = kernel_named("temperature");
    assert_true(random_shapes_agree(&(Subject){kernel, NULL, (Function)temperature}, disagreement));
    assert_false(
        random_shapes_agree(&(Subject){kernel, NULL, (Function)bounded_temperature}, disagreement));
}

/* Killed, verify says goodbye to nobody, and here somebody else has its end of the socket: the
 * library's process must see it all the same. It ends when nobody can write into the pipe any more.
 */
static void the_library_s_process_ends_with_verify(void **state) {
    (void)state;
    enum { MOST_MILLISECONDS = 20000 };
    int ends[2];
    char trouble[TROUBLE];
    pid_t holder = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t verify = fork();
    if (verify == 0) {
        library_load(NULL, trouble);
        holder = fork();
        if (holder == 0) {
            close(ends[1]);
            pause();
        } else if (write(ends[1], &holder, sizeof holder) > 0) raise(SIGKILL);
        _exit(1);
    }
    close(ends[1]);
    waitpid(verify, NULL, 0);
    assert_int_equal(read(ends[0], &holder, sizeof holder), sizeof holder);
    bool ended = poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, MOST_MILLISECONDS) == 1;
    kill(holder, SIGKILL);
    close(ends[0]);
    assert_true(ended);
}

/* True if the comment before the declaration says so. */
static bool contract_says(const char *header, const char *kernel, const char *words) {
    char called[80];
    snprintf(called, sizeof called, " %s(", kernel);
    const char *name = strstr(header, called), *comment = header;
    for (const char *at = header; name && (at = strstr(at, "/*")) && at < name; at++) comment = at;
    const char *said = name ? strstr(comment, words) : NULL;
    return said && said < name;
}

static void what_must_be_refused_stands_in_the_contract(void **state) {
    (void)state;
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        if (!kernel->refusals || !kernel->refusals[0].is_asked) continue;
        char pattern[512];
        glob_t headers;
        bool says = false;
        snprintf(pattern, sizeof pattern, "%s/chapters/%s/*.h", ROOT, kernel->chapter);
        assert_int_equal(glob(pattern, 0, NULL, &headers), 0);
        for (size_t h = 0; h < headers.gl_pathc; h++) {
            size_t length;
            char *text = file_read(headers.gl_pathv[h], &length);
            says |= contract_says(text, kernel->name, "fail()");
            free(text);
        }
        globfree(&headers);
        if (!says)
            fail_msg("%s: no header says what fail() refuses, and it is judged", kernel->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trouble_is_named),
        cmocka_unit_test(every_kernel_can_be_timed),
        cmocka_unit_test(a_loop_without_an_end_is_given_up),
        cmocka_unit_test(what_is_not_written_is_counted),
        cmocka_unit_test(lost_accuracy_fails_without_a_name),
        cmocka_unit_test(random_shapes_catch_what_goldens_might_not),
        cmocka_unit_test(random_temperatures_are_all_that_may_be),
        cmocka_unit_test(the_library_s_process_ends_with_verify),
        cmocka_unit_test(what_must_be_refused_stands_in_the_contract),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL) != 0;
}
