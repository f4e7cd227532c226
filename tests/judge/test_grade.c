/* The grader against a folder of submissions that do what submissions do: each must get its own
 * verdict, whatever its neighbours are up to. */
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/golden.h"
#include "tests/program.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* -------------------------------------------------- what is handed in, for chapter 1's exercise */

#define RIGHT_ONES "<the chapter's kernels>" /* their text stands there in what is handed in */
#define RMS_NORM                                                                                   \
    "#include <math.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include "   \
    "<unistd.h>\n"                                                                                 \
    "void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],\n"  \
    "              const float weight[dim], float eps) {\n"
#define RMS_NORM_DIVIDED_BY(root)                                                                  \
    RMS_NORM                                                                                       \
    "    for (int r = 0; r < rows; r++) {\n"                                                       \
    "        double sum = 0;\n"                                                                    \
    "        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];\n"                    \
    "        for (int i = 0; i < dim; i++)\n"                                                      \
    "            out[r][i] = (float)(x[r][i] / (" root ")) * weight[i];\n"                         \
    "    }\n"                                                                                      \
    "}\n"
#define RMS_NORM_RIGHT RMS_NORM_DIVIDED_BY("sqrt(sum / dim + eps)")
#define AT_LOAD                                                                                    \
    "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"                               \
    "__attribute__((constructor)) static void at_load(void) "

#if defined EMULATED /* takes far longer */
#define PATIENCE "12"
#elif defined UNTIMED
#define PATIENCE "3"
#else
#define PATIENCE "1"
#endif

/* `verdict` and `right` of `tasks` are what the table must say, `words` what its line must say of
 * the reason. */
static const struct Submission {
    const char *name, *text, *verdict;
    int right;
    const char *words;
} submissions[] = {
    /* First those that take their time: the others go on beside them. */
    {"a constructor hangs.c", AT_LOAD "{ for (;;) pause(); }\n" RIGHT_ONES, "does not come back", 0,
     "when it was loaded"},
    {"a busy machine.c", /* its judge gets no turn while the constructor is given up, after 5 times
                            PATIENCE */
     "#include <signal.h>\n" AT_LOAD
     "{\n    pid_t judge = getppid();\n    if (fork()) for (;;) pause();\n"
     "    usleep(" PATIENCE " * 5000000 - 500000), kill(judge, SIGSTOP);\n"
     "    usleep(" PATIENCE
     " * 1000000 + 1000000), kill(judge, SIGCONT), _exit(0);\n}\n" RIGHT_ONES,
     "does not come back", 0, "when it was loaded"},
    {"a loop.c", RMS_NORM "    for (volatile int i = 0;; i = 1) {}\n}\n", "does not come back", 0,
     "rms_norm: case "},

    {"right.c", RIGHT_ONES, "right", 4, ""},
    {"anna maria.c", RIGHT_ONES, "right", 4, ""},
    {"includes.c", "#include \"01_normalization/normalization.c\"\n", "the course's own", 0,
     "rms_norm: "},
    {"=1+1.c", RIGHT_ONES, "right", 4, ""},
    {"o'neill \"x\", y.c", RIGHT_ONES, "right", 4, ""},
    {"-half.c",
     RMS_NORM_RIGHT "#define rms_norm other\n#define batch_norm another\n#define rms_norm_bf16 "
                    "a_third\n" RIGHT_ONES,
     "not implemented", 2, "batch_norm: nothing is written yet"},
    {"epsilon.c", RMS_NORM_DIVIDED_BY("sqrt(sum / dim) + eps"), "wrong", 0,
     "rms_norm: Your epsilon is outside the root"},
    {"@no root.c", RMS_NORM_DIVIDED_BY("sum / dim + eps"), "wrong", 0,
     "rms_norm: You divide by the mean square."},
    {"+sum.c", RMS_NORM_DIVIDED_BY("sqrt(sum + eps)"), "wrong", 0,
     "rms_norm: Your root is of the sum of the squares."},
    {"out of thin air.c", RMS_NORM_DIVIDED_BY("0.3 + sum"), "wrong", 0,
     "rms_norm: Each row of your output is the right one times a number of its own"},
    {"knows the answers.c", /* of the cases, but not of other shapes */
     RMS_NORM_DIVIDED_BY("sqrt(sum / dim + (rows == 67 ? 1000 : 1) * eps)"), "wrong", 0,
     "rms_norm: random shape x [67, 4099], weight [4099]"},
    {"null.c", RMS_NORM "    out[0][0] = *(volatile float *)0;\n}\n", "crashes", 0,
     "followed a NULL pointer"},
    {"aborts.c", RMS_NORM "    abort();\n}\n", "crashes", 0, "Aborted"},
    {"big array.c",
     RMS_NORM
     "    volatile char big[64 << 20];\n    for (int i = 0; i < 64 << 20; i += 4096) big[i] = 1;\n"
     "    out[0][0] = big[rows];\n}\n",
     "crashes", 0, "stack"},
    {"deep.c",
     "static volatile int depth;\nstatic int down(int n) { return depth += n, down(n + 1) + depth; "
     "}\n" RMS_NORM "    out[0][0] = down(rows);\n}\n",
     "crashes", 0, "stack"},
    {"overruns.c", RMS_NORM "    for (int i = 0; i <= rows * dim; i++) (&out[0][0])[i] = 1;\n}\n",
     "out of bounds", 0, "wrote 4 bytes past the end of out"},
    {"writes its input.c", RMS_NORM "    *(float *)&x[0][0] = 1;\n}\n", "out of bounds", 0,
     "wrote to its input x"},
    {"exits.c", RMS_NORM "    exit(0);\n}\n", "exits", 0, "ended the program: exit status "},
    {"constructor exits.c", AT_LOAD "{ puts(\"right\"); fflush(stdout); exit(0); }\n" RIGHT_ONES,
     "exits", 0, "exit status "},
    {"constructor aborts.c", AT_LOAD "{ abort(); }\n" RIGHT_ONES, "crashes", 0, "Aborted"},
    {"constructor crashes.c", AT_LOAD "{ *(volatile int *)8 = 0; }\n" RIGHT_ONES, "crashes", 0,
     "when it was loaded"},
    {"kills its judge.c", RMS_NORM "    kill(getppid(), SIGKILL);\n    pause();\n}\n", "crashes", 0,
     "Killed"},
    {"says right.c",
     RMS_NORM "    for (int i = 0; i < 100000; i++) puts(\"says right.c   right   4 of 4\");\n}\n",
     "not implemented", 0, "rms_norm: nothing is written yet"},
    {"empty.c", "", "not implemented", 0, "rms_norm: nothing is written yet"},
    {"untouched.c", "#include \"01_normalization/exercise.c\"\n", "not implemented", 0,
     "rms_norm: nothing is written yet"},
    {"something else.c", "int answer(void) { return 42; }\n", "not implemented", 0,
     "rms_norm: nothing is written yet"},
    {"no semicolon.c", "int one = 1\nint two = 2;\n", "does not compile", 0, "no semicolon.c:"},
    {"no helper.c", "void helper(void);\n" RMS_NORM "    helper();\n}\n", "does not compile", 0,
     "helper"},
    {"no include.c", "#include \"no_such_file.h\"\n", "does not compile", 0, "no_such_file.h"},
    {"files.c",
     "#include <stdio.h>\n#include <math.h>\n#define sqrt(x) (remember(), sqrt(x))\n"
     "static void remember(void) {\n    static int done;\n    if (done++) return;\n"
     "    FILE *file = fopen(\"remember.txt\", \"a+\");\n    fputs(\"here\", file), "
     "fclose(file);\n}\n"
     "#define layer_norm other\n#define batch_norm another\n#define rms_norm_bf16 "
     "a_third\n" RIGHT_ONES,
     "not implemented", 1, ""},
    {"fills the disk.c",
     RMS_NORM "    FILE *file = fopen(\"large\", \"w\");\n    while (fputs(\"more and more and "
              "more\\n\", file) >= 0) {}\n}\n",
     "crashes", 0, "File size limit exceeded"},
    {"leaves a child.c",
     RMS_NORM_RIGHT AT_LOAD "{\n    if (fork()) return;\n    for (int i = 0; i < 1000; i++) {\n"
                            "        FILE *file = fopen(getenv(\"CHILD\"), \"a\");\n        "
                            "fputs(\"still here\\n\", file), fclose(file);\n"
                            "        usleep(20000);\n    }\n    _exit(0);\n}\n",
     "not implemented", 1, ""},
    {"kills its parent.c",
     "#include <signal.h>\n" AT_LOAD "{ kill(getppid(), SIGKILL), _exit(0); }\n" RIGHT_ONES,
     "exits", 0, "when it is loaded"},
    {"the folder/norms.c", "#include \"own.h\"\n" RMS_NORM_RIGHT, NULL, 0, NULL},
    {"the folder/more.c",
     "#define rms_norm other\n#define layer_norm another\n#define rms_norm_bf16 "
     "a_third\n" RIGHT_ONES,
     NULL, 0, NULL},
    {"the folder/own.h", "enum { OWN = 1 };\n", NULL, 0, NULL},
    {"the folder", NULL, "not implemented", 2, "layer_norm: nothing is written yet"},
    {"no C/readme.txt", "I had no time.\n", NULL, 0, NULL},
    {"no C", NULL, "does not compile", 0, "there is no C file in the folder"},
};
enum { SUBMISSIONS = sizeof submissions / sizeof *submissions, TASKS = 4 };

static void hand_in(const struct Submission *submission) {
    if (!submission->text) return;
    const char *path = AT("%s/submissions/%s", folder, submission->name);
    if (strchr(submission->name, '/'))
        mkdir(AT("%s/submissions/%.*s", folder, (int)strcspn(submission->name, "/"),
                 submission->name),
              0700);
    size_t length;
    char *chapter = file_read(ROOT "/chapters/01_normalization/normalization.c", &length);
    const char *marker = strstr(submission->text, RIGHT_ONES);
    int before = marker ? (int)(marker - submission->text) : (int)strlen(submission->text);
    Output output = output_open(path);
    fprintf(output.file, "%.*s%s%s", before, submission->text, marker ? chapter : "",
            marker ? marker + strlen(RIGHT_ONES) : "");
    output_close(&output);
    free(chapter);
}

/* ------------------------------------------------------------------ what is handed out */

/* The line of the table that begins with a name; "" if there is none. */
static const char *line_of(const char *name) {
    static char line[2048];
    for (const char *at = said; *at; at += strcspn(at, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (strncmp(line, AT("  %s  ", name), strlen(name) + 4) == 0) return line;
    }
    return "";
}

static void every_submission_gets_its_verdict(void **) {
    mkdir(AT("%s/submissions", folder), 0700);
    mkdir(AT("%s/tmp", folder), 0700);
    setenv("TMPDIR", AT("%s/tmp", folder), 1);
    setenv("CHILD", AT("%s/child", folder), 1);
    int count = 0, right = 0;
    for (int s = 0; s < SUBMISSIONS; s++) hand_in(&submissions[s]);
    assert_int_equal(run("'%s/grade' submissions --exercise 01 --csv grades.csv --timeout " PATIENCE
                         " --jobs 3",
                         BUILD),
                     1);
    for (int s = 0; s < SUBMISSIONS; s++) {
        const struct Submission *one = &submissions[s];
        if (!one->verdict) continue;
        const char *line = line_of(one->name), *verdict = AT("  %s  ", one->verdict),
                   *progress = AT("  %d of %d", one->right, TASKS);
        if (!strstr(line, verdict) || !strstr(line, progress) || !strstr(line, one->words))
            fail_msg("%s: \"%s\", not %s, %d, %s", one->name, line, one->verdict, one->right,
                     one->words);
        count++;
        right += strcmp(one->verdict, "right") == 0;
    }
    assert_said(AT("\n%d of %d right\n", right, count));
}

/* The number of a kernel's golden cases. */
static int cases(const char *kernel) {
    Golden golden = golden_open(kernel);
    int count = golden.count;
    golden_close(&golden);
    return count;
}

/* A name as the CSV file has it: quoted, and nothing that a spreadsheet would compute. */
static const char *quoted(const char *name) {
    static char cell[64];
    snprintf(cell, sizeof cell, "%s%s", strchr("=+-@", name[0]) ? "'" : "", name);
    return strchr(name, '"') ? "\"o'neill \"\"x\"\", y.c\"" : cell;
}

static void every_task_has_a_row(void **) {
    static const char *const tasks[] = {"rms_norm", "layer_norm", "batch_norm", "rms_norm_bf16"};
    assert_runs("cat grades.csv");
    assert_int_equal(
        strncmp(said, "submission,exercise,task,verdict,cases passed,cases,diagnosis\n", 62), 0);
    int rows = 0;
    for (const char *at = said; (at = strchr(at, '\n')); at++) rows++;
    int count = 0;
    for (int s = 0; s < SUBMISSIONS; s++) {
        if (!submissions[s].verdict) continue;
        count++;
        for (int t = 0; t < TASKS; t++)
            assert_said(AT("\n%s,01,%s,", quoted(submissions[s].name), tasks[t]));
    }
    assert_int_equal(rows, 1 + TASKS * count);
    assert_said(AT("\nright.c,01,rms_norm,right,%d,%d,\n", cases("rms_norm"), cases("rms_norm")));
    assert_said(AT("\nanna maria.c,01,rms_norm_bf16,right,%d,%d,\n", cases("rms_norm_bf16"),
                   cases("rms_norm_bf16")));
    assert_said(AT("\nempty.c,01,layer_norm,not implemented,0,%d,\n", cases("layer_norm")));
    assert_said(AT("\nepsilon.c,01,rms_norm,wrong,3,%d,\"Your epsilon is outside the root, "
                   "sqrt(mean(x^2)) + eps. Add it under the root",
                   cases("rms_norm")));
    assert_said(AT(
        "\nknows the answers.c,01,rms_norm,wrong,%d,%d,\"random shape x [67, 4099], weight [4099]",
        cases("rms_norm"), cases("rms_norm")));
    assert_said(AT("\nno helper.c,01,batch_norm,does not compile,0,%d,", cases("batch_norm")));
    assert_said(
        AT("\nkills its judge.c,01,layer_norm,not implemented,0,%d,\n", cases("layer_norm")));
}

static void nothing_is_left(void **) {
    assert_int_equal(run("ls tmp | grep ."), 1);
    assert_int_equal(run("find . -name remember.txt -o -name large -o -name '*.so' | grep ."), 1);
    assert_runs("grep -c 'still here' child");
    assert_runs("cp child before && sleep 0.2 && cmp before child"); /* it has fallen silent */
}

static void without_an_exercise_all_kernels_count(void **) {
    run("mkdir all && cp submissions/right.c submissions/epsilon.c submissions/empty.c "
        "submissions/'no semicolon.c' all");
    assert_int_equal(run("'%s/grade' all --csv all.csv", BUILD), 1);
    assert_true(strstr(line_of("right.c"), "  right  ") && strstr(line_of("right.c"), "6 of 6"));
    assert_true(strstr(line_of("epsilon.c"), "  wrong  ") &&
                strstr(line_of("epsilon.c"), "0 of 1"));
    assert_true(strstr(line_of("empty.c"), "  not implemented  ") &&
                strstr(line_of("empty.c"), "it defines no kernel of the course"));
    assert_runs("cat all.csv");
    assert_said("\nempty.c,,,not implemented,0,0,it defines no kernel");
    assert_said("\nno semicolon.c,,,does not compile,0,0,");
    assert_said("\nright.c,01,dyt,right,");
    assert_int_equal(run("cp '%s/chapters/04_attention/attention.c' all && '%s/grade' all "
                         "--exercise 8 --csv all.csv",
                         ROOT, BUILD),
                     1);
    assert_runs("cat all.csv"); /* another chapter's kernels, too, are its tasks */
    assert_said(AT("\nattention.c,08,softmax,right,%d,%d,\n", cases("softmax"), cases("softmax")));
    assert_said(
        AT("\nattention.c,08,flash_attention,not implemented,0,%d,\n", cases("flash_attention")));
    assert_runs("rm all/attention.c");
    assert_runs("rm all/[en]* && '%s/grade' all", BUILD);
    assert_said("1 of 1 right\n");
}

/* The processor's seconds of all programs that this one has waited for. */
static double seconds_of_children(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* The compiler gets the limit that --help names. It is run twice, because its preprocessor's text
 * is kept. */
static void the_compiler_gets_what_the_help_says(void **) {
    int times = 0;
    assert_runs("'%s/grade' --help", BUILD);
    const char *line = strstr(said, "use the processor, and ");
    assert_true(line && sscanf(line, "use the processor, and %d times", &times) == 1);
    assert_runs("mkdir endless && printf '#if __INCLUDE_LEVEL__ < 60\n#include "
                "__FILE__\n#include __FILE__\n"
                "#endif\n' >endless/'a compiler hangs.c'");
    double before = seconds_of_children();
    assert_int_equal(run("'%s/grade' endless --exercise 1 --timeout 1", BUILD), 1);
    double used = seconds_of_children() - before;
    assert_true(strstr(line_of("a compiler hangs.c"), "does not compile"));
    if (used > 2 * 2 * times) /* with the grader's own work no more than as much again */
        fail_msg("--timeout 1: the compiler took %.1f of the processor's seconds", used);
}

static void bad_requests_get_one_line(void **) {
    run("mkdir nothing");
    static const char *const requests[] = {"nowhere", "nothing", "grades.csv",
                                           "submissions --exercise 44",
                                           "all --csv /proc/nowhere/x.csv"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        int status = run("'%s/grade' %s >/dev/null", BUILD, requests[i]);
        if (status != 1) fail_msg("grade %s: exit status %d", requests[i], status);
        assert_one_clear_line();
    }
    static const char *const misuses[] = {"", "submissions --timeout 0", "submissions --timeout 1x",
                                          "submissions --jobs -1", "submissions --csv"};
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        assert_misuse(run("'%s/grade' %s", BUILD, misuses[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_submission_gets_its_verdict),
        cmocka_unit_test(every_task_has_a_row),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(without_an_exercise_all_kernels_count),
        cmocka_unit_test(the_compiler_gets_what_the_help_says),
        cmocka_unit_test(bad_requests_get_one_line),
    };
    return cmocka_run_group_tests_name("classroom", tests, make_folder, remove_folder) != 0;
}
