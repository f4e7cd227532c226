/* The programs as a stranger meets them: --help, absurd flags, broken files, the workbench's round
 * trips. A good run exits 0; a bad one exits 1 with one clear line on stderr and leaves no file
 * behind; a command line that makes no sense exits 2. */
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/options.h"
#include "tests/program.h"
#include "tests/judge/exercises.h"

#include <fcntl.h>

/* ------------------------------------------------------------------ every program */

static void every_program_helps_and_refuses(void **) {
    char programs[] = PROGRAMS; /* the Makefile's list, separated by blanks */
    for (char *program = strtok(programs, " "); program; program = strtok(NULL, " ")) {
        assert_runs("'%s/%s' --help", BUILD, program);
        assert_said("usage: ");
        assert_said("--help");
        assert_runs("'%s/%s' -h", BUILD, program);
        assert_said("usage: ");
        bool draws = strchr("01", program[0]) &&
                     strstr(said, "--data"); /* a chapter's begins with its number */
        assert_misuse(run("'%s/%s' --no-such-flag", BUILD, program));
        assert_said("--no-such-flag");
        assert_int_equal(run("'%s/%s' --help >/dev/full", BUILD, program), 1);
        assert_one_clear_line();
        assert_misuse(run("'%s/%s' one two three", BUILD, program));
        assert_int_equal(run("'%s/%s' --help >&-", BUILD, program), 1);
        assert_one_clear_line();
        if (!draws) continue;
        assert_misuse(run("'%s/%s' --data", BUILD, program));
        assert_misuse(run("'%s/%s' --data ''", BUILD, program));
        assert_misuse(run("'%s/%s' --data one --data two", BUILD, program));
        assert_said("--data is there twice");
        assert_int_equal(run("'%s/%s' --data /proc/nowhere/deep >stdout", BUILD, program), 1);
        assert_one_clear_line();
    }
}

/* What is wrong is said behind a word, however long that is. */
static void an_endless_word_does_not_hide_what_is_wrong(void **) {
    assert_misuse(
        run("'%s/llama' --max-tokens \"$(head -c 100000 /dev/zero | tr '\\0' 9)\"", BUILD));
    assert_said("error: --max-tokens 99999");
    assert_said("9999 … 9999");
    assert_said("99999: a whole number from 0 to 2147483647 is needed\n");
}

/* A file that is opened must not get the number of the standard output, or what is printed would
 * end in it. */
static void a_closed_stream_is_not_taken_by_a_file(void **) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            close(stream);
            chapter_options(1, (char *[]){"program", NULL}, "");
            _exit(open("/dev/null", O_RDONLY) == stream);
        }
        waitpid(child, &status, 0);
        assert_int_equal(status, 0);
    }
}

/* ------------------------------------------------------------------ verify */

static void list_names_the_kernels(void **) {
    assert_runs("'%s/verify' --list", BUILD);
    assert_said("rms_norm");
    assert_said("gated_feed_forward");
    assert_runs("'%s/verify' rms_norm --list", BUILD);
    assert_said("residual_stream");
}

static void what_is_exported_can_be_answered(void **) {
    assert_runs("'%s/verify' rms_norm --export-inputs inputs.safetensors", BUILD);
    /* The inputs are there, the answers are not; the answers, handed over as outputs, pass. */
    char path[256];
    snprintf(path, sizeof path, "%s/inputs.safetensors", folder);
    SafeTensors inputs = safetensors_open(path);
    assert_non_null(safetensors_find(&inputs, "by_hand/x"));
    assert_null(safetensors_find(&inputs, "by_hand/expected"));
    safetensors_close(&inputs);

    Golden golden = golden_open("rms_norm");
    Tensor outputs[64];
    for (int c = 0; c < golden.count; c++) {
        outputs[c] = golden.cases[c].expected;
        outputs[c].name = golden.cases[c].name;
    }
    snprintf(path, sizeof path, "%s/outputs.safetensors", folder);
    safetensors_save(path, (size_t)golden.count, outputs, 0, NULL);
    assert_runs("'%s/verify' rms_norm --check-outputs outputs.safetensors", BUILD);
    assert_runs("'%s/verify' rms_norm --check-outputs - <outputs.safetensors", BUILD);

    safetensors_save(path, 1, outputs, 0, NULL); /* all others are missing now */
    assert_int_equal(run("'%s/verify' rms_norm --check-outputs outputs.safetensors", BUILD), 1);
    assert_said("no output of this name was handed over");
    assert_runs("'%s/verify' rms_norm --check-outputs outputs.safetensors --case by_hand", BUILD);
    assert_int_equal(
        run("'%s/verify' rms_norm --check-outputs outputs.safetensors --case by_foot", BUILD), 1);
    outputs[0].name = "by_hand/out";
    safetensors_save(path, 1, outputs, 0, NULL);
    assert_error(run("'%s/verify' rms_norm --check-outputs outputs.safetensors", BUILD),
                 "outputs.safetensors: it has by_hand/out, and a tensor is to be named as its case "
                 "is: build/verify rms_norm --list names them");
    golden_close(&golden);
}

/* Answers inputs.safetensors in outputs.safetensors with an rms_norm whose rows are wrong from
 * `wrong_row` on. */
static void answer_rms_norm(size_t wrong_row) {
    enum { MOST = 64 };
    Tensor outputs[MOST];
    size_t count = 0;
    SafeTensors inputs = safetensors_open(AT("%s/inputs.safetensors", folder));
    for (size_t i = 0; i < inputs.count && count < MOST; i++) {
        const Tensor *x = &inputs.tensors[i];
        int length = (int)strcspn(x->name, "/");
        if (strcmp(x->name + length, "/x") != 0) continue;
        Tensor *out = &outputs[count++];
        *out = *x;
        out->name = xstrndup(x->name, (size_t)length);
        const Tensor *weight = safetensors_find(&inputs, AT("%s/weight", out->name)),
                     *eps = safetensors_find(&inputs, AT("%s/eps", out->name));
        size_t rows = x->shape[0], dim = x->shape[1];
        float *numbers = xmalloc(tensor_bytes(x));
        rms_norm((int)rows, (int)dim, (void *)numbers, x->data, weight->data,
                 (float)tensor_get(eps, 0));
        for (size_t r = wrong_row; r < rows; r++) numbers[r * dim] += 1;
        out->data = numbers;
    }
    safetensors_save(AT("%s/outputs.safetensors", folder), count, outputs, 0, NULL);
    safetensors_close(&inputs);
    for (size_t i = 0; i < count; i++) {
        free((void *)outputs[i].data);
        free((char *)outputs[i].name);
    }
}

/* No golden case has more than five rows. */
static void random_cases_can_be_exported(void **) {
    static const char check[] = "rms_norm --check-outputs outputs.safetensors";
    enum { ROWS = 5, ALL = 1000 };
    assert_runs("'%s/verify' rms_norm --export-inputs inputs.safetensors", BUILD);
    answer_rms_norm(ROWS);
    assert_runs("'%s/verify' %s", BUILD, check);

    assert_runs("'%s/verify' rms_norm --export-inputs inputs.safetensors --random 8 --seed 7",
                BUILD);
    assert_said("12 golden cases and 8 random ones");
    assert_said("--random 8 --seed 7\n");
    answer_rms_norm(ROWS);
    assert_int_equal(run("'%s/verify' %s --random 8 --seed 7", BUILD, check), 1);
    assert_said("First mistake, in case \"random_7_");
    answer_rms_norm(ALL);
    assert_runs("'%s/verify' %s --random 8 --seed 7", BUILD, check);
    assert_said("PASS: 20 of 20 cases pass");
    assert_runs("SEED=7 '%s/verify' %s --random 8", BUILD, check);
    assert_int_equal(run("'%s/verify' %s --random 9 --seed 7", BUILD, check), 1);
    assert_said("FAIL: 20 of 21 cases pass");

    static const char *const others[] = {"", "--random 8 --seed 8", "--random 7 --seed 7"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_error(run("'%s/verify' %s %s", BUILD, check, others[i]),
                     "outputs.safetensors: it answers random cases of seed 7, and those are judged "
                     "with --random 8 --seed 7");
    }
    assert_misuse(run("'%s/verify' rms_norm --random 8", BUILD));
    assert_misuse(run("'%s/verify' %s --random 0", BUILD, check));
    assert_misuse(run("'%s/verify' %s --random 8 --seed x", BUILD, check));
}

static void write_npy(const char *name, const char *header, const void *data, size_t bytes) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    Output output = output_open(path);
    fprintf(output.file, "\x93NUMPY\x01%c%c%c%s", 0, (int)strlen(header), 0, header);
    fwrite(data, 1, bytes, output.file);
    output_close(&output);
}

static void a_npy_file_answers_one_case(void **) {
    Golden golden = golden_open("rms_norm");
    const Tensor *expected = &golden_case(&golden, "by_hand")->expected;
    write_npy("good.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }\n",
              expected->data, tensor_bytes(expected));
    assert_runs("'%s/verify' rms_norm --check-outputs good.npy --case by_hand", BUILD);
    assert_said("1 of 1 cases pass");

    static const struct {
        const char *header, *words;
    } bad[] = {
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 4), }\n", "Fortran order"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 4), }\n", "<i4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 5), }\n", "bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }\n",
         "larger than the file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4}\n", "cannot be read"},
        {"{'descr': '<f4', 'shape': (1, 4), }\n", "no fortran_order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape':", "cannot be read"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_npy("bad.npy", bad[i].header, expected->data, tensor_bytes(expected));
        assert_error(run("'%s/verify' rms_norm --check-outputs bad.npy --case by_hand", BUILD),
                     bad[i].words);
    }
    write_npy("flat.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n",
              expected->data, tensor_bytes(expected));
    assert_int_equal(run("'%s/verify' rms_norm --check-outputs flat.npy --case by_hand", BUILD), 1);
    assert_said("[4]");
    golden_close(&golden);
}

static void bad_requests_get_one_line(void **) {
    write_text("garbage.safetensors", "this is no tensor file at all");
    write_text("garbage.so", "nor is this a library");
    static const char *const requests[] = {
        "rms_nrom",
        "rms_norm --check-outputs nowhere.safetensors",
        "rms_norm --check-outputs garbage.safetensors",
        "rms_norm --check-outputs /dev/null",
        "--check-outputs garbage.safetensors",
        "rms_norm --library garbage.so",
        "rms_norm --library nowhere.so",
        "rms_norm --export-inputs /proc/nowhere/x.safetensors",
        "--export-inputs x.safetensors",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int status = run("'%s/verify' %s", BUILD, requests[i]);
        if (status != 1) fail_msg("verify %s: exit status %d", requests[i], status);
        assert_one_clear_line();
    }
}

static void a_zip_of_arrays_is_told(void **) {
    write_text("outputs.npz", "PK\x03\x04 and what numpy.savez writes");
    assert_error(run("'%s/verify' rms_norm --check-outputs outputs.npz", BUILD),
                 "outputs.npz: it is a zip file, such as .npz or .pt: save all cases as "
                 "safetensors, or one as .npy");
}

/* ------------------------------------------------------------- make verify, as a reader uses it */

static const char eps_outside[] = "#include <math.h>\n" RMS_NORM_HEAD EPSILON_OUTSIDE;

static void a_readers_mistake_is_named(void **) {
    write_text("mine.c", eps_outside);
    assert_int_equal(
        run("sh '%s/compile.sh' mine.so mine.c && '%s/verify' --library mine.so", BUILD, BUILD), 1);
    assert_said("epsilon is outside the root");
    const char *first = strstr(said, "  First mistake, in case \"by_hand\": [0, 2]: got "),
               *table = strstr(said, "  case ");
    assert_true(first && table && first < table);
    assert_null(strstr(said, "The smallest case that fails"));
    assert_error(run("'%s/verify' silu --library mine.so", BUILD), "defines no silu");
}

/* Where no mistake is known that gives these numbers, a case is shown whole. */
static void an_unknown_mistake_shows_a_case(void **) {
    write_text("odd.c", "#include <math.h>\n"
                        "void silu(int n, float *out, const float *x) {\n"
                        "    for (int i = 0; i < n; i++) out[i] = cosf(3 * x[i]) - x[i];\n"
                        "}\n");
    assert_int_equal(
        run("sh '%s/compile.sh' odd.so odd.c && '%s/verify' --library odd.so", BUILD, BUILD), 1);
    assert_said("  No known mistake gives these numbers. ");
    assert_said("  The smallest case that fails is \"by_hand\":\n    x [");
    assert_said("    got [");
    assert_said("    expected [");
}

#define SILU(name)                                                                                 \
    "void " name                                                                                   \
    "(int n, float *out, const float *x) { for (int i = 0; i < n; i++) out[i] = x[i]; }\n"

/* A kernel that is there, but not by its name. */
static void a_hidden_kernel_is_told(void **) {
    static const char *const sources[][2] = {
        {"static " SILU("silu"), "defines no kernel of this course: silu is static, or inline, and "
                                 "other files cannot see it"},
        {SILU("SiLU"), "is SiLU meant as silu? A kernel is found by its name"},
        {SILU("_Z4siluiPfPKf"),
         "silu has a C++ name, into which its arguments are mangled. Declare it extern \"C\""},
        {SILU("my_silu"), "is my_silu meant as silu? A kernel is found by its name"},
        {SILU("other"), "verify --list names the kernels"},
    };
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        write_text("hidden.c", sources[s][0]);
        run("sh '%s/compile.sh' hidden.so -w hidden.c", BUILD);
        assert_error(run("'%s/verify' --library ./hidden.so", BUILD), sources[s][1]);
    }
    write_text("hidden.c",
               "static " SILU("silu") SILU("relu") "float my_sigmoid(float x) { return x; }\n");
    run("sh '%s/compile.sh' hidden.so -w hidden.c && '%s/verify' --library ./hidden.so", BUILD,
        BUILD);
    assert_said("\nNot judged: silu is static, or inline, and other files cannot see it. Remove "
                "that word.\n");
    assert_null(strstr(said, "sigmoid"));
    write_text("hidden.c", "static " SILU("silu"));
    run("sh '%s/compile.sh' hidden.so -w hidden.c && '%s/verify' --exercise 02 --library "
        "./hidden.so",
        BUILD, BUILD);
    assert_said("  silu is static, or inline, and other files cannot see it. Remove that word.\n");
}

/* -------------------------------------------------------- make exercise-05, as a reader uses it */

/* Compiles a C file for a chapter's exercise, with every warning an error: its signatures are the
 * headers'. */
static void compile_as(const char *library, const char *source) {
    assert_runs("sh '%s/compile.sh' %s -Wall -Wextra -Werror '%s'", BUILD, library, source);
}

static void an_untouched_exercise_is_not_implemented(void **) {
    const Exercise *exercise;
    for (int e = 0; (exercise = exercise_at(e)); e++) {
        compile_as("exercise.c.so", AT("%s/chapters/%s/exercise.c", ROOT, exercise->chapter));
        assert_runs("'%s/verify' --exercise %.2s --library exercise.c.so", BUILD,
                    exercise->chapter);
        assert_said(AT("Chapter %.2s, exercise.c: 0 of %d tasks solved\n", exercise->chapter,
                       task_count(exercise)));
        assert_said(
            AT("Not solved yet. Next: write %s in exercise.c, then run the same command again.\n",
               exercise->tasks[0]));
        int count = 0;
        for (const char *at = said; (at = strstr(at, "not implemented yet")); at++) count++;
        bool has_steps = strcmp(exercise->chapter, "05_rope") == 0; /* a line each */
        assert_int_equal(count, task_count(exercise) + has_steps);
    }
    assert_int_equal(run("'%s/verify' --library exercise.c.so", BUILD), 1);
    /* The last chapter's kernels change their inputs. */
    assert_said("Your weights, m and v are what they were before.");
    assert_null(strstr(said, "PASS"));
}

/* The tasks are in the file as they are in the list, and in that order; the last one is the
 * challenge. */
static void an_exercise_asks_for_what_is_judged(void **) {
    const Exercise *exercise;
    for (int e = 0; (exercise = exercise_at(e)); e++) {
        run("cat '%s/chapters/%s/exercise.c'", ROOT, exercise->chapter);
        const char *at = said;
        for (int t = 0, count = task_count(exercise); t < count; t++) {
            const char *title = t + 1 < count ? AT("/* Task %d. ", t + 1) : "/* The challenge";
            at = strstr(at, title);
            if (!at)
                fail_msg("chapter %s: no \"%s\", or not in its place", exercise->chapter, title);
            const char *definition = strstr(at, "*/\n"),
                       *named = strstr(at, AT(" %s(", exercise->tasks[t]));
            if (!named || memchr(definition + 3, '\n', (size_t)(named - definition) - 3))
                fail_msg("chapter %s: \"%s\" is not %s", exercise->chapter, title,
                         exercise->tasks[t]);
        }
        assert_null(strstr(at + 1, "/* Task"));
    }
}

/* Plain frequencies alone, with this exponent; scaled as a Llama 3's are, if wanted. */
static void write_frequencies(const char *exponent, bool is_scaled) {
    char source[2048];
    snprintf(
        source, sizeof source,
        "#include \"05_rope/rope.h\"\n#include <math.h>\n"
        "float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *p, int "
        "length) {\n"
        "    for (int i = 0; i < D / 2; i++) {\n"
        "        double f = pow(p->rope_theta, %s / D), low = p->low_freq_factor;\n"
        "        double turns = p->original_max_position_embeddings * f / (2 * M_PI);\n"
        "        double kept = fmin(fmax((turns - low) / (p->high_freq_factor - low), 0), 1);\n"
        "        if (%d && p->rope_type == ROPE_LLAMA3) f *= kept + (1 - kept) / p->factor;\n"
        "        inv_freq[i] = (float)f;\n"
        "    }\n"
        "    return length > 0;\n"
        "}\n",
        exponent, is_scaled);
    write_text("angles.c", source);
    compile_as("angles.so", "angles.c");
}

/* Chapter 5's challenge: a Llama needs the first step alone. */
static void a_challenge_may_have_two_steps(void **) {
    const char *judge = AT("'%s/verify' --exercise 05 --library angles.so", BUILD);
    write_frequencies("-2.0 * i", true);
    assert_runs("%s", judge);
    assert_said("  challenge, step 1   rope_frequencies   right                     11 of 11\n");
    assert_said("  challenge, step 2   rope_frequencies   not implemented yet        0 of 17\n");
    write_frequencies("-1.0 * i", true);
    assert_int_equal(run("%s", judge), 1);
    assert_said("  challenge, step 1   rope_frequencies   wrong                      1 of 11\n");
    assert_said("Your exponent is -i/D.");
    write_frequencies("-2.0 * i", false);
    assert_int_equal(run("%s", judge), 1);
    assert_said("Your frequencies are not scaled.");
}

/* One line a task, then the whole report of the first that is wrong. */
static void the_first_wrong_task_is_reported(void **) {
    write_text("mine.c", eps_outside);
    run("echo 'void batch_norm(int r, int d, float *o, const float *x, const float *w, const float "
        "*b, float e) { (void)r, (void)d, (void)o, (void)x, (void)w, (void)b, (void)e, "
        "__builtin_trap(); }' >>mine.c");
    assert_int_equal(
        run("sh '%s/compile.sh' mine.c.so mine.c && '%s/verify' --exercise 1 --library mine.c.so",
            BUILD, BUILD),
        1);
    assert_said("Chapter 01, mine.c: 0 of 4 tasks solved\n");
    assert_said("crashes ");
    assert_said("epsilon is outside the root");
    assert_said("Next: fix rms_norm in mine.c, then run the same command again.\n");
    assert_null(strstr(said, "Illegal instruction"));
    assert_null(strstr(said, "It calls "));

    assert_int_equal(run("sed 's/(void)out, (void)q, (void)k, (void)v, (void)scores;/softmax(T, S, "
                         "scores, scores), out[0][0] = q[0][0] + k[0][0] + v[0][0];/' "
                         "'%s/chapters/04_attention/exercise.c' >calls.c && sh '%s/compile.sh' "
                         "calls.c.so calls.c && '%s/verify' --exercise 4 --library calls.c.so",
                         ROOT, BUILD, BUILD),
                     1);
    assert_said("  It calls softmax, which is not written yet.\n");
    assert_null(strstr(said, "It calls attention_scores"));
    assert_said("Next: fix attention in calls.c, then run the same command again.\n");
    assert_int_equal(run("'%s/verify' --exercise 44 --library mine.c.so", BUILD), 1);
    assert_one_clear_line();
    assert_misuse(run("'%s/verify' --exercise 1", BUILD));
    assert_misuse(run("'%s/verify' --timeout 1x", BUILD));
    assert_misuse(run("'%s/verify' --list --check-outputs outputs.safetensors", BUILD));
    assert_misuse(run("'%s/verify' rms_norm --export-inputs inputs.safetensors --bench", BUILD));
}

static void a_library_that_loads_for_ever_is_given_up(void **) {
    write_text("endless.c", "__attribute__((constructor)) static void loop(void) { for (volatile "
                            "int i = 0; i == 0;) {} }\n"
                            "void silu(void) {}\n");
    assert_error(run("sh '%s/compile.sh' endless.so -w endless.c && '%s/verify' --timeout 1 "
                     "--library endless.so",
                     BUILD, BUILD),
                 "constructor");
}

/* A right softmax that does this first. */
#define SOFTMAX(first)                                                                             \
    "#include <math.h>\n#include <time.h>\n#include <unistd.h>\n"                                  \
    "void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {\n"                \
    "    " first "\n"                                                                              \
    "    for (int r = 0; r < rows; r++) {\n"                                                       \
    "        double most = -INFINITY, sum = 0;\n"                                                  \
    "        for (int i = 0; i < n; i++) most = fmax(most, x[r][i]);\n"                            \
    "        for (int i = 0; i < n; i++) sum += exp(x[r][i] - most);\n"                            \
    "        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - most) / sum);\n"        \
    "    }\n"                                                                                      \
    "}\n"

static int verify_for_a_second(const char *source) {
    write_text("slow.c", source);
    return run("sh '%s/compile.sh' slow.so slow.c && '%s/verify' --timeout 1 --library slow.so",
               BUILD, BUILD);
}

/* Each call comes back in time, but there are many: after three times the limit the other cases are
 * not tried. Who gets less than a fiftieth of a processor is given up on the clock before that,
 * which is as soon. */
static void a_kernel_that_takes_its_time_is_told_so_soon(void **) {
    static const char slow[] =
        SOFTMAX("for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;) {}");
    assert_int_equal(verify_for_a_second(slow), 1);
    if (!strstr(said, "did not come back within 1 second"))
        assert_said("too slow: the cases before this one took all the time that there is");
}

/* What is timed is larger than what was judged. */
static void a_kernel_too_slow_to_be_timed_may_be_given_more_time(void **) {
    write_text("large.c", SOFTMAX("if (rows * n > 1000000) for (volatile int i = 0; !i;) {}"));
    assert_runs("sh '%s/compile.sh' large.so large.c && '%s/verify' --timeout 1 --bench "
                "--library large.so",
                BUILD, BUILD);
    assert_said("softmax did not come back within 1 second: --timeout N gives it more time\n");
}

/* On a busy machine a kernel waits for the processor, and uses none meanwhile. */
static void a_kernel_that_has_to_wait_is_not_too_slow(void **) {
    static const char sleepy[] =
        SOFTMAX("static int calls; if (calls++ == 0 && n == 77) usleep(1100000);");
    assert_int_equal(verify_for_a_second(sleepy), 0);
    assert_said("PASS: 12 of 12 cases pass\n");
}

/* The Makefile asks before it compiles anything, and what is missing is the first that is said. */
static void a_machine_without_ieee_floats_is_told_at_once(void **) {
    unsetenv("MAKEFLAGS"); /* of the make that runs the tests */
    assert_int_equal(run("make --no-print-directory -C '%s' BUILD=%s/none "
                         "CPPFLAGS='-U__FLT_MANT_DIG__ -D__FLT_MANT_DIG__=25' %s/none/flags",
                         ROOT, folder, folder),
                     2);
    *strchr(said, '\n') = '\0';
    assert_said("float must be IEEE binary32");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_helps_and_refuses),
        cmocka_unit_test(a_closed_stream_is_not_taken_by_a_file),
        cmocka_unit_test(an_endless_word_does_not_hide_what_is_wrong),
        cmocka_unit_test(list_names_the_kernels),
        cmocka_unit_test(what_is_exported_can_be_answered),
        cmocka_unit_test(random_cases_can_be_exported),
        cmocka_unit_test(a_npy_file_answers_one_case),
        cmocka_unit_test(bad_requests_get_one_line),
        cmocka_unit_test(a_zip_of_arrays_is_told),
        cmocka_unit_test(a_readers_mistake_is_named),
        cmocka_unit_test(an_unknown_mistake_shows_a_case),
        cmocka_unit_test(a_hidden_kernel_is_told),
        cmocka_unit_test(an_untouched_exercise_is_not_implemented),
        cmocka_unit_test(an_exercise_asks_for_what_is_judged),
        cmocka_unit_test(a_challenge_may_have_two_steps),
        cmocka_unit_test(the_first_wrong_task_is_reported),
        cmocka_unit_test(a_library_that_loads_for_ever_is_given_up),
        cmocka_unit_test(a_kernel_that_takes_its_time_is_told_so_soon),
        cmocka_unit_test(a_kernel_too_slow_to_be_timed_may_be_given_more_time),
        cmocka_unit_test(a_kernel_that_has_to_wait_is_not_too_slow),
        cmocka_unit_test(a_machine_without_ieee_floats_is_told_at_once),
    };
    return cmocka_run_group_tests_name("programs", tests, make_folder, remove_folder) != 0;
}
