/* For the tests that run programs: what they print, how they end, and that an error is one clear
 * line. They run in a folder of their own. A test of one program defines PROGRAM before it includes
 * this. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include "common/file.h"
#include "tests/test.h"

static char said[1 << 16]; /* what the last program printed, on stdout and stderr */

enum { PATH = 512 };

/* A path, or any short text, with printf's format filled in: it lives as long as the block it is
 * written in. */
__attribute__((format(printf, 2, 3))) static inline char *text(char *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to, PATH, format, arguments);
    va_end(arguments);
    return to;
}

#define AT(...) text((char[PATH]){0}, __VA_ARGS__)

/* An rms_norm as a reader writes it, with epsilon outside the root: its head and its body. */
#define RMS_NORM_HEAD                                                                              \
    "void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],\n"  \
    "              const float weight[dim], float eps) {\n"
#define EPSILON_OUTSIDE                                                                            \
    "    for (int r = 0; r < rows; r++) {\n"                                                       \
    "        double sum = 0;\n"                                                                    \
    "        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];\n"                    \
    "        for (int i = 0; i < dim; i++)\n"                                                      \
    "            out[r][i] = (float)(x[r][i] / (sqrt(sum / dim) + eps)) * weight[i];\n"            \
    "    }\n"                                                                                      \
    "}\n"

static char folder[] = "/tmp/llama-test-XXXXXX";

static inline int make_folder(void **) {
    if (!mkdtemp(folder)) return -1;
    /* ROOT is for commands; two mpiruns that begin at once quarrel about one folder. */
    return setenv("ROOT", ROOT, 1) || setenv("OMPI_MCA_orte_tmpdir_base", folder, 1);
}

static inline int remove_folder(void **) { return system(AT("rm -rf %s", folder)); }

/* Writes a file of the folder. */
static inline void write_bytes(const char *name, size_t count, const void *bytes) {
    FILE *file = fopen(AT("%s/%s", folder, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *name, const char *words) {
    write_bytes(name, strlen(words), words);
}

/* Writes a file of the folder: another file with `from` replaced by `to` once. */
static inline void write_replaced(const char *name, const char *source, const char *from,
                                  const char *to) {
    size_t size, length = strlen(from);
    char *bytes = file_read(source, &size), *found = memmem(bytes, size, from, length);
    if (!found) fail_msg("%s is not in %s", from, source);
    size_t before = (size_t)(found - bytes), after = size - before - length;
    char *changed = malloc(size + strlen(to) + 1);
    memcpy(changed, bytes, before);
    memcpy(stpcpy(changed + before, to), found + length, after);
    write_bytes(name, before + strlen(to) + after, changed);
    free(changed);
    free(bytes);
}

#ifndef PROGRAM
#define PROGRAM ""
#endif

/* Runs a shell command, printf's format filled in behind PROGRAM, in the folder; returns its exit
 * status. */
__attribute__((format(printf, 1, 2))) static inline int run(const char *format, ...) {
    char command[4096], shell[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(shell, sizeof shell, "cd %s && { %s %s; } 2>&1", folder, PROGRAM, command);
    FILE *pipe = popen(shell, "r");
    said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A command of the program, or any other of the shell's, which must succeed. */
#define assert_runs(...) assert_int_equal(run(__VA_ARGS__), 0)
#define assert_shell(...) assert_int_equal(system(AT(__VA_ARGS__)), 0)

static inline void assert_said(const char *words) {
    if (!strstr(said, words)) fail_msg("\"%s\" is not in:\n%s", words, said);
}

static inline int files_in_folder(void) {
    assert_runs("ls -A | wc -l");
    return atoi(said);
}

static inline int empty_folder(void **) { return run("rm -f *"); }

/* One line that begins with "error: ". */
static inline void assert_one_clear_line(void) {
    assert_int_equal(strncmp(said, "error: ", 7), 0);
    if (strchr(said, '\n') != said + strlen(said) - 1) fail_msg("not one line:\n%s", said);
}

/* A command line that makes no sense: what is wrong with it, then the usage line. */
static inline void assert_misuse(int status) {
    assert_int_equal(status, 2);
    assert_int_equal(strncmp(said, "error: ", 7), 0);
    const char *usage = strstr(said, "\nusage: ");
    if (!usage || usage != strchr(said, '\n') || strchr(usage + 1, '\n') != said + strlen(said) - 1)
        fail_msg("not an error and a usage line:\n%s", said);
}

/* Exit status 1, and one line that says these words. */
static inline void assert_error(int status, const char *words) {
    if (status != 1) fail_msg("status %d, and not \"%s\":\n%s", status, words, said);
    assert_one_clear_line();
    assert_said(words);
}

/* Checks of cases, which are what stands behind PROGRAM, and what is said (tests/cases.h). */
static inline void a_request_is_refused(void **state) {
    const char *const *its = *state;
    assert_error(run("%s", its[0]), its[1]);
}

static inline void a_request_is_answered(void **state) {
    const char *const *its = *state;
    assert_int_equal(run("%s", its[0]), 0);
    assert_string_equal(said, its[1]);
}

static inline void a_misuse_is_refused(void **state) {
    const char *const *its = *state;
    assert_misuse(run("%s", its[0]));
    assert_said(its[1]);
}

#endif
