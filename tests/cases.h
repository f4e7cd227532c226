/* Cases as data. In tests/NAME.cases a line "# FUNCTION: …" names the function that checks the
 * cases below it. A case is a line, and the lines below it that are indented by four spaces. A
 * field ends at " → " and at a line's end; ⟨0a⟩ stands for a byte; lines that begin with "##" are
 * remarks. Each case is a test of its own: its first line is its name, and its fields are in
 * *state, "" where it has fewer. */
#ifndef TESTS_CASES_H
#define TESTS_CASES_H

#include "common/error.h"
#include "common/file.h"
#include "tests/test.h"

/* cmocka.h makes fail() a macro: (fail) is the project's own. */
enum { MOST_TESTS = 300, MOST_FIELDS = 8 };

typedef const char *Case[MOST_FIELDS];

typedef struct {
    const char *name;
    CMUnitTestFunction function;
} Check;
#define CHECK(function) {#function, function}

/* Replaces each ⟨…⟩ of a field by the bytes that it stands for. */
static inline const char *decode_bytes(char *field) {
    char *to = field;
    for (const char *from = field; *from;) {
        const char *end = strncmp(from, "⟨", 3) == 0 ? strstr(from, "⟩") : NULL;
        if (!end) *to++ = *from++;
        else {
            unsigned byte;
            for (from += 3; from < end && sscanf(from, "%2x", &byte) == 1; from += 2)
                *to++ = (char)byte;
            from = end + 3;
        }
    }
    *to = '\0';
    return field;
}

/* The fields of a line, behind those that the case has already; returns how many there are now. */
static inline size_t add_fields(Case fields, size_t count, char *line) {
    for (char *next; line; line = next, count++) {
        next = strstr(line, " → ");
        if (next) *next = '\0', next += strlen(" → ");
        if (count == MOST_FIELDS) (fail)("the case \"%s\" has too many fields", fields[0]);
        fields[count] = decode_bytes(line);
    }
    return count;
}

/* The function that a heading names. */
static inline const Check *check_of(const char *heading, size_t count, const Check checks[count]) {
    size_t length = strcspn(heading, ":");
    for (size_t i = 0; i < count; i++)
        if (strlen(checks[i].name) == length && memcmp(checks[i].name, heading, length) == 0)
            return &checks[i];
    (fail)("no function checks these cases: %s", heading);
}

/* Runs the tests, then the cases of tests/NAME.cases. */
static inline int run_with_cases(const char *name, size_t test_count,
                                 const struct CMUnitTest tests[], size_t check_count,
                                 const Check checks[], CMFixtureFunction setup,
                                 CMFixtureFunction teardown) {
    static Case cases[MOST_TESTS]; /* static, for what they point to is never freed */
    static struct CMUnitTest all[MOST_TESTS];
    size_t size, count = test_count, fields = 0, checked[check_count];
    char path[512], *rest;
    const Check *check = NULL;
    if (test_count) memcpy(all, tests, test_count * sizeof *tests);
    memset(checked, 0, sizeof checked);
    snprintf(path, sizeof path, "%s/tests/%s.cases", ROOT, name);
    rest = file_read(path, &size);
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!*line || strncmp(line, "##", 2) == 0) continue;
        if (strncmp(line, "# ", 2) == 0) {
            check = check_of(line + 2, check_count, checks);
            fields = 0;
            continue;
        }
        bool is_new = strncmp(line, "    ", 4) != 0;
        if (count == MOST_TESTS || !check || (!is_new && fields == 0))
            (fail)("%s: there is no place for: %s", path, line);
        if (is_new) {
            for (size_t i = 0; i < MOST_FIELDS; i++) cases[count][i] = "";
            all[count] = (struct CMUnitTest){
                .name = xstrndup(line, strlen(line)),
                .test_func = check->function,
                .initial_state = cases[count],
            };
            checked[check - checks]++;
            count++;
            fields = 0;
        }
        fields = add_fields(cases[count - 1], fields, is_new ? line : line + 4);
    }
    for (size_t i = 0; i < check_count; i++)
        if (!checked[i]) (fail)("%s: it has no case of %s", path, checks[i].name);
    struct CMUnitTest run[count]; /* cmocka counts its elements */
    memcpy(run, all, sizeof run);
    return cmocka_run_group_tests_name(name, run, setup, teardown) != 0;
}

#endif
