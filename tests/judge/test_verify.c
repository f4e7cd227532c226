/* The workbench against kernels that misbehave in every way a first draft does. Each must be told
 * from the others. */
#include "01_normalization/normalization.h"
#include "11_generation/sampling.h"
#include "common/file.h"
#include "common/json.h"
#include "tests/judge/diagnosis.h"
#include "tests/judge/mistakes.h"
#include "tests/program.h"

#include <glob.h>
#include <math.h>
#include <poll.h>
#include <signal.h>

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
RMS_NORM(writes_nothing) { (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)eps; }
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

static void trouble_is_named(void **) {
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
static void every_kernel_can_be_timed(void **) {
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        Random random = {.state = 1};
        Call call = {0};
        char trouble[TROUBLE];
        kernel->random_call(&call, &random, SMALL);
        if (isnan(time_call(NULL, kernel->ours, kernel->unpack, &call, NULL, trouble)))
            fail_msg("%s %s", kernel->name, trouble);
        call_free(&call);
    }
}

/* In a process that has been told the shorter limit; all others may be slow, as on a busy machine.
 */
static void a_loop_without_an_end_is_given_up(void **) {
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

static void what_is_not_written_is_counted(void **) {
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

static void lost_accuracy_fails_without_a_name(void **) {
    Golden golden;
    const GoldenCase *one = by_hand(&golden);
    Verdict verdict = verdict_of_call(kernel_named("rms_norm"), one, (Function)loses_accuracy);
    assert_false(verdict_passes(&verdict));
    assert_null(diagnose(kernel_named("rms_norm"), &golden, 1, &verdict).known_mistake);
    verdict_free(&verdict);
    golden_close(&golden);
}

static void random_shapes_catch_what_goldens_might_not(void **) {
    char disagreement[DIAGNOSIS], note[DIAGNOSIS];
    Verdict wrong;
    assert_true(random_shapes_agree(&(Subject){kernel_named("rms_norm"), NULL, (Function)rms_norm},
                                    disagreement, note, &wrong));
    assert_false(
        random_shapes_agree(&(Subject){kernel_named("rms_norm"), NULL, (Function)leaves_the_last},
                            disagreement, note, &wrong));
    assert_non_null(strstr(disagreement, "random shape x ["));
    assert_non_null(strstr(disagreement, ": not written"));
    assert_false(
        random_shapes_agree(&(Subject){kernel_named("rms_norm"), NULL, (Function)writes_one_past},
                            disagreement, note, &wrong));
    assert_non_null(strstr(disagreement, "overran: wrote 4 bytes past the end of out"));
}

/* A temperature may be as low as COLDEST; many think of 0.1 as the least. */
static void bounded_temperature(int V, float out[V], const float logits[V], float T) {
    temperature(V, out, logits, T < 0.1f ? 0.1f : T);
}

static void random_temperatures_are_all_that_may_be(void **) {
    char disagreement[DIAGNOSIS], note[DIAGNOSIS];
    Verdict wrong;
    const Kernel *kernel = kernel_named("temperature");
    assert_true(random_shapes_agree(&(Subject){kernel, NULL, (Function)temperature}, disagreement,
                                    note, &wrong));
    assert_false(random_shapes_agree(&(Subject){kernel, NULL, (Function)bounded_temperature},
                                     disagreement, note, &wrong));
}

/* Killed, verify says goodbye to nobody, and here somebody else has its end of the socket: the
 * library's process must see it all the same. It ends when nobody can write into the pipe any more.
 */
static void the_library_s_process_ends_with_verify(void **) {
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

static void what_must_be_refused_stands_in_the_contract(void **) {
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

/* ------------------------------------------------------------------ the program */

static void the_mistakes_are_listed(void **) {
    Golden golden = golden_open("rms_norm");
    int count;
    const char **names = known_mistakes(&golden, &count);
    assert_runs("'%s/verify' rms_norm --mistakes", BUILD);
    for (int m = 0; m < count; m++) assert_said(names[m]);
    assert_said("Your epsilon is missing.\n");
    assert_said(" Add it under the root, sqrt(mean(x^2) + eps).\n");
    assert_said(AT("%d known mistakes of rms_norm\n", count));
    free(names);
    golden_close(&golden);
    assert_int_equal(run("'%s/verify' --mistakes", BUILD), 1);
    assert_one_clear_line();
    assert_misuse(run("'%s/verify' rms_norm --mistakes --list", BUILD));
}

/* Whatever a kernel does, a reader of the list is told. */
static void every_mistake_has_words(void **) {
    char does[MISTAKE_TEXT], advice[MISTAKE_TEXT];
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        Golden golden = golden_open(kernel->name);
        int count;
        const char **names = known_mistakes(&golden, &count);
        for (int m = 0; m < count; m++) {
            mistake_texts(&golden, names[m], does, advice);
            bool is_cut = strcmp(does + strlen(does) - 3, " ..") == 0;
            if (strlen(does) < 12 || is_cut || strstr(does, "see chapters") ||
                strstr(advice, "see chapters"))
                fail_msg("%s, %s: \"%s\", \"%s\"", kernel->name, names[m], does, advice);
            assert_true(cases_that_tell(&golden, names[m]) > 0);
        }
        assert_true(count > 0);
        free(names);
        golden_close(&golden);
    }
}

/* What the program printed, and nothing else, is one document: an array of objects, of which this
 * is the first. The caller frees the array. */
static json_t *document_said(json_t **array) {
    json_error_t problem;
    *array = json_read(said, strlen(said), &problem);
    if (!*array) fail_msg("%s in:\n%s", problem.text, said);
    assert_true(json_is_array(*array) && json_array_size(*array) > 0);
    return json_array_get(*array, 0);
}

static const char *string_at(const json_t *object, const char *key) {
    const char *string = json_string_value(json_object_get(object, key));
    if (!string) fail_msg("there is no string \"%s\"", key);
    return string;
}

static void a_verdict_can_be_json(void **) {
    json_t *array, *object;
    assert_runs("'%s/verify' rms_norm --json", BUILD);
    object = document_said(&array);
    assert_string_equal(string_at(object, "kernel"), "rms_norm");
    assert_string_equal(string_at(object, "verdict"), "right");
    assert_string_equal(string_at(object, "mistake"), "");
    const json_t *first = json_array_get(json_object_get(object, "cases"), 0),
                 *shape = json_object_get(first, "shape");
    assert_string_equal(string_at(first, "case"), "by_hand");
    assert_string_equal(string_at(first, "verdict"), "right");
    assert_int_equal(json_array_size(shape), 2);
    assert_int_equal(json_integer_value(json_array_get(shape, 1)), 4);
    assert_int_equal(json_integer_value(json_object_get(first, "of")), 4);
    json_decref(array);
}

/* It prints in between, which must not get into the document. */
static const char wrong_and_talkative[] =
    "#include <math.h>\n"
    "#include <stdio.h>\n" RMS_NORM_HEAD "    printf(\"{[hello\\n\");\n" EPSILON_OUTSIDE
    "void silu(int n, float y[n], const float x[n]) {\n"
    "    for (int i = 0; i <= n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n"
    "}\n";

static void a_library_s_verdict_can_be_json(void **) {
    json_t *array, *object;
    FILE *file = fopen(AT("%s/mine.c", folder), "w");
    assert_non_null(file);
    fputs(wrong_and_talkative, file);
    fclose(file);
    assert_runs("sh '%s/compile.sh' mine.so mine.c", BUILD);
    assert_int_equal(run("'%s/verify' --json --library ./mine.so 2>other", BUILD), 1);
    object = document_said(&array);
    assert_int_equal(json_array_size(array), 2);
    assert_string_equal(string_at(object, "kernel"), "rms_norm");
    assert_string_equal(string_at(object, "source"), "mine.so");
    assert_string_equal(string_at(object, "verdict"), "wrong");
    assert_string_equal(string_at(object, "mistake"), "epsilon_outside");
    assert_non_null(strstr(string_at(object, "advice"), "under the root"));
    const json_t *first = json_array_get(json_object_get(object, "cases"), 0);
    assert_string_equal(string_at(first, "verdict"), "wrong");
    assert_string_equal(string_at(first, "first_wrong"),
                        "[0, 2]: got 0.9999967, expected 0.9999994");
    object = json_array_get(array, 1);
    assert_string_equal(string_at(object, "kernel"), "silu");
    assert_string_equal(string_at(object, "verdict"), "out of bounds");
    assert_non_null(strstr(string_at(object, "advice"), "goes on behind the end"));
    json_decref(array);
    assert_runs("cat other");
    assert_said("{[hello");
}

/* Without a prototype a float is passed as a double; silu takes none, and is judged. */
static const char old_style[] = "#include <math.h>\n"
                                "void rms_norm(rows, dim, out, x, weight, eps)\n"
                                "int rows, dim; float *out; const float *x, *weight; float eps; {\n"
                                "    out[0] = (float)rows + (float)dim + x[0] + weight[0] + eps;\n"
                                "}\n"
                                "void silu(n, y, x) int n; float *y; const float *x; {\n"
                                "    for (int i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n"
                                "}\n";

static void an_old_style_definition_is_told(void **) {
    FILE *file = fopen(AT("%s/old.c", folder), "w");
    assert_non_null(file);
    fputs(old_style, file);
    fclose(file);
    if (run("sh '%s/compile.sh' old.so -w old.c", BUILD) != 0) skip(); /* C23 has none */
    assert_runs("'%s/verify' --library ./old.so", BUILD);
    assert_said("silu   old.so   8 cases");
    assert_said("PASS: 8 of 8 cases pass");
    assert_int_equal(run("'%s/verify' rms_norm --library ./old.so", BUILD), 1);
    assert_said("rms_norm   old.so   not judged\n  rms_norm has an old-style definition");
    assert_said("a float is taken as a double there");
    assert_said("void rms_norm(int rows, int dim, ");
}

static void outputs_can_be_judged_as_json(void **) {
    json_t *array, *object;
    Golden golden = golden_open("rms_norm");
    const GoldenCase *one = golden_case(&golden, "epsilon_matters");
    Tensor right = one->expected, wrong = *output_of_mistake(one, "epsilon_outside");
    right.name = wrong.name = "epsilon_matters";
    safetensors_save(AT("%s/right.safetensors", folder), 1, &right, 0, NULL);
    safetensors_save(AT("%s/wrong.safetensors", folder), 1, &wrong, 0, NULL);
    golden_close(&golden);
    assert_runs("'%s/verify' rms_norm --json --only-given --check-outputs right.safetensors",
                BUILD);
    object = document_said(&array);
    assert_string_equal(string_at(object, "verdict"), "right");
    json_decref(array);
    assert_int_equal(
        run("'%s/verify' rms_norm --json --only-given --check-outputs wrong.safetensors", BUILD),
        1);
    object = document_said(&array);
    assert_string_equal(string_at(object, "verdict"), "wrong");
    assert_string_equal(string_at(object, "mistake"), "epsilon_outside");
    json_decref(array);
    assert_int_equal(run("'%s/verify' rms_norm --json --check-outputs right.safetensors", BUILD),
                     1); /* the other cases are missing */
    document_said(&array);
    json_decref(array);
}

static void lists_can_be_json(void **) {
    json_t *array, *object;
    size_t kernels = 0;
    while (kernel_at((int)kernels)) kernels++;
    assert_runs("'%s/verify' --list --json", BUILD);
    object = document_said(&array);
    assert_int_equal(json_array_size(array), kernels);
    assert_string_equal(string_at(object, "kernel"), kernel_at(0)->name);
    assert_true(json_integer_value(json_object_get(object, "mistakes")) > 0);
    json_decref(array);
    assert_runs("'%s/verify' silu --list --json", BUILD);
    object = document_said(&array);
    assert_string_equal(string_at(object, "chapter"), "02_activation");
    assert_non_null(string_at(json_array_get(json_object_get(object, "cases"), 0), "tries"));
    json_decref(array);
    assert_runs("'%s/verify' rms_norm --mistakes --json", BUILD);
    object = document_said(&array);
    const json_t *mistake = json_array_get(json_object_get(object, "mistakes"), 0);
    assert_string_equal(string_at(mistake, "mistake"), "dim_minus_one");
    assert_string_equal(string_at(mistake, "does"), "Your sum of squares is divided by dim - 1.");
    assert_string_equal(string_at(mistake, "advice"), "Divide by dim.");
    assert_true(json_integer_value(json_object_get(mistake, "cases")) > 1);
    json_decref(array);
    assert_misuse(run("'%s/verify' rms_norm --json --bench", BUILD));
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
        cmocka_unit_test(the_mistakes_are_listed),
        cmocka_unit_test(every_mistake_has_words),
        cmocka_unit_test(a_verdict_can_be_json),
        cmocka_unit_test(a_library_s_verdict_can_be_json),
        cmocka_unit_test(an_old_style_definition_is_told),
        cmocka_unit_test(outputs_can_be_judged_as_json),
        cmocka_unit_test(lists_can_be_json),
    };
    return cmocka_run_group_tests_name("verify", tests, make_folder, remove_folder) != 0;
}
