/* Kernels as strangers write them, in tests/submissions/: each file is compiled and judged as `make
 * verify` does it. A comment before a kernel,
 *
 *     / * silu: went out of bounds|crashed
 *
 * says what its report must say: one of these texts. "verify" stands for all that verify prints. */
#include "tests/near.h"
#include "tests/program.h"
#include "tests/judge/landlock.h"

#include <dirent.h>
#include <stdbool.h>

/* The report of a kernel: from the line that begins with its name to the next empty one. */
static const char *report_of(const char *kernel) {
    static char report[1 << 14];
    const char *begin = said;
    if (strcmp(kernel, "verify") == 0) return said;
    while (begin && strncmp(begin, AT("%s   ", kernel), strlen(kernel) + 3) != 0)
        begin = (begin = strchr(begin, '\n')) ? begin + 1 : NULL;
    if (!begin) return "";
    const char *end = strstr(begin, "\n\n");
    snprintf(report, sizeof report, "%.*s", end ? (int)(end - begin) : (int)strlen(begin), begin);
    return report;
}

/* True if the report says one of "this|that". */
static bool says(const char *report, const char *words) {
    char some[PATH];
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
        snprintf(some, sizeof some, "%.*s", (int)strcspn(at, "|"), at);
        if (strstr(report, some)) return true;
    }
    return false;
}

/* Looks for the comments in a file; returns how many there are. */
static int check_expectations(const char *path) {
    int count = 0;
    char line[1024], kernel[64], words[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "/* %63[a-z_]: %511[^\n]", kernel, words) != 2) continue;
        char *end = strstr(words, " */");
        if (end) *end = '\0';
        if (!says(report_of(kernel), words))
            fail_msg("%s: of %s it is not said: %s\n%s", path, kernel, words, said);
        count++;
    }
    fclose(file);
    return count;
}

/* Some mistakes can be told only where there is OpenMP, or where sums hand a NaN on as it is, or
 * where the golden values can be hidden: an emulator has no Landlock, nor has a Linux before 5.13.
 */
static bool can_be_told(const char *name) {
#ifndef _OPENMP
    if (strcmp(name, "threads.c") == 0) return false;
#endif
    if (strcmp(name, "unset.c") == 0) return sums_keep_payloads();
    return strcmp(name, "golden.c") != 0 || goldens_can_be_hidden();
}

static void judge_file(void **state) {
    const char *name = *state, *path = AT("%s/tests/submissions/%s", ROOT, name);
    if (!can_be_told(name)) skip();
    bool right = strncmp(name, "right", 5) == 0 || strcmp(name, "helper.c") == 0;
    if (run("sh '%s/compile.sh' '%s.so' -Wall -Wextra -Werror '%s'", BUILD, name, path) != 0)
        fail_msg("%s", said);
    const char *timed = strcmp(name, "right_but_not_timed.c") == 0 ? "--bench" : "";
    assert_int_equal(
        run("cd '%s' && '%s/verify' %s --library '%s/%s.so'", ROOT, BUILD, timed, folder, name),
        right ? 0 : 1);
    assert_true(check_expectations(path) > 0);
}

/* What the first judgement left behind does not change the second. */
static void a_report_is_the_same_again(void **) {
    assert_runs("sh '%s/compile.sh' again.so '%s/tests/submissions/undefined.c'", BUILD, ROOT);
    for (int time = 0; time < 2; time++) {
        assert_int_equal(run("'%s/verify' --library ./again.so", BUILD), 1);
        assert_said("It is right when it is compiled with -O1");
    }
}

int main(void) {
    const char *path = ROOT "/tests/submissions";
    struct CMUnitTest tests[64];
    size_t count = 0;
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_report_is_the_same_again);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < 64;) {
        const char *dot = strrchr(entry->d_name, '.');
        char *name = strdup(entry->d_name);
        if (dot && strcmp(dot, ".c") == 0)
            tests[count++] =
                (struct CMUnitTest){.name = name, .test_func = judge_file, .initial_state = name};
        else free(name);
    }
    if (directory) closedir(directory);
    int failed = _cmocka_run_group_tests("strangers", tests, count, make_folder, remove_folder);
    for (size_t t = 0; t < count; t++) free(tests[t].initial_state);
    return failed != 0 || count == 0;
}
