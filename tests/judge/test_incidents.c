/* INCIDENTS.md: each of its public bugs is a stored mistake, and the judge calls it by the name
 * that the page gives. */
#include "common/error.h"
#include "common/file.h"
#include "tests/judge/as_json.h"
#include "tests/judge/mistakes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELL = 400, LEAST = 40, MOST = 400 };

/* | what happened | [program](address) | `kernel` | `mistake` | */
typedef struct {
    char what[CELL], program[CELL], address[CELL], kernel[CELL], mistake[CELL];
} Incident;

static bool read_row(const char *line, Incident *row) {
    return sscanf(line, "| %399[^|]| [%399[^]]](%399[^)]) | `%399[^`]` | `%399[^`]` |", row->what,
                  row->program, row->address, row->kernel, row->mistake) == 5;
}

static bool begins_a_table(const char *line) {
    return strncmp(line, "| what happened |", 17) == 0 || strncmp(line, "|---|", 5) == 0;
}

/* All rows of the page; a line of a table that is none is a mistake of the page. */
static int read_page(Incident rows[MOST]) {
    size_t length;
    int count = 0;
    char *page = file_read(ROOT "/tests/judge/INCIDENTS.md", &length), *place;
    for (char *line = strtok_r(page, "\n", &place); line; line = strtok_r(NULL, "\n", &place)) {
        if (line[0] != '|' || begins_a_table(line)) continue;
        assert_true(count < MOST);
        if (!read_row(line, &rows[count++])) fail_msg("no row of this page: %s", line);
    }
    free(page);
    return count;
}

static void every_report_has_an_address(void **state) {
    static Incident rows[MOST];
    char kind[16], rest[2];
    (void)state;
    int count = read_page(rows), number;
    assert_true(count >= LEAST);
    for (int i = 0; i < count; i++) {
        const char *address = rows[i].address;
        if (sscanf(address, "https://github.com/%*[^/]/%*[^/]/%15[a-z]/%d%1s", kind, &number,
                   rest) != 2 ||
            (strcmp(kind, "issues") != 0 && strcmp(kind, "pull") != 0))
            fail_msg("%s: no issue and no pull request", address);
        for (int before = 0; before < i; before++)
            if (strcmp(rows[before].address, address) == 0) fail_msg("%s is there twice", address);
    }
}

/* The report on outputs that have this mistake wherever it shows, and are right elsewhere. */
static json_t *report_on(const Kernel *kernel, const Golden *golden, const char *mistake) {
    Verdict *verdicts = xmalloc((size_t)golden->count * sizeof *verdicts);
    for (int c = 0; c < golden->count; c++) {
        const GoldenCase *one = &golden->cases[c];
        const Tensor *stored = output_of_mistake(one, mistake);
        Tensor output = one->expected;
        if (stored) output.data = stored->data;
        verdicts[c] = verdict_of_output(kernel, one, &output);
    }
    json_t *told = verdicts_as_json(kernel, golden, "incident", golden->count, verdicts);
    for (int c = 0; c < golden->count; c++) verdict_free(&verdicts[c]);
    free(verdicts);
    return told;
}

static const char *text_at(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void every_report_is_named(void **state) {
    static Incident rows[MOST];
    (void)state;
    int count = read_page(rows);
    for (int i = 0; i < count; i++) {
        const Kernel *kernel = kernel_named(rows[i].kernel);
        const char *mistake = rows[i].mistake;
        if (!kernel) fail_msg("%s is no kernel", rows[i].kernel);
        Golden golden = golden_open(kernel->name);
        if (cases_that_tell(&golden, mistake) == 0)
            fail_msg("%s stores no mistake %s", kernel->name, mistake);
        json_t *told = report_on(kernel, &golden, mistake);
        if (strcmp(text_at(told, "verdict"), "wrong") != 0 ||
            strcmp(text_at(told, "mistake"), mistake) != 0 || !*text_at(told, "advice"))
            fail_msg("%s: %s is called %s, \"%s\"", kernel->name, mistake, text_at(told, "mistake"),
                     text_at(told, "advice"));
        json_decref(told);
        golden_close(&golden);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_report_has_an_address),
        cmocka_unit_test(every_report_is_named),
    };
    return cmocka_run_group_tests_name("incidents", tests, NULL, NULL) != 0;
}
