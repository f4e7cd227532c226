/* How good is a judge? Every stored mistake of every kernel is given to judges with the tolerances
 * that tests commonly have, and to ours: how many do they let pass, and how many right kernels do
 * they refuse? */
#include "common/console.h"
#include "common/error.h"
#include "tests/judge/mistakes.h"
#include "tests/judge/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* |got - expected| <= absolute + relative |expected|, as numpy and PyTorch have it. */
typedef struct {
    const char *name;
    double relative, absolute;
    enum { EVERY_CASE, TELLING_CASE, FIRST_CASE } cases;
} Judge;

static const Judge judges[] = {
    {"rtol = atol = 1e-2, the first case alone", 1e-2, 1e-2, FIRST_CASE},
    {"rtol = atol = 1e-3, the first case alone", 1e-3, 1e-3, FIRST_CASE},
    {"rtol = atol = 1e-3, the most telling case alone", 1e-3, 1e-3, TELLING_CASE},
    {"rtol = atol = 1e-2, every case", 1e-2, 1e-2, EVERY_CASE},
    {"rtol = atol = 1e-3, every case", 1e-3, 1e-3, EVERY_CASE},
    {"rtol = atol = 1e-4, every case", 1e-4, 1e-4, EVERY_CASE},
    {"torch.testing.assert_close, every case", 1.3e-6, 1e-5, EVERY_CASE},
    {"torch.allclose, every case", 1e-5, 1e-8, EVERY_CASE},
    {"ours", NAN, NAN, EVERY_CASE},
};
enum { JUDGES = sizeof judges / sizeof *judges };

static bool is_close(const Judge *judge, double got, double expected) {
    if (isnan(expected)) return isnan(got);
    if (isinf(expected)) return got == expected;
    return fabs(got - expected) <= judge->absolute + judge->relative * fabs(expected);
}

/* Does the judge take this for the case's answer? */
static bool accepts(const Judge *judge, const Kernel *kernel, const GoldenCase *one,
                    const Tensor *got) {
    if (isnan(judge->relative)) return golden_check(one, kernel->pointwise, got).wrong == 0;
    for (size_t i = 0; i < tensor_count(got); i++)
        if (!is_close(judge, tensor_get(got, i), tensor_get(&one->expected, i))) return false;
    return true;
}

/* The case whose output is another one for most of the stored mistakes. */
static int most_telling_case(const Golden *golden) {
    int best = 0;
    for (int c = 1; c < golden->count; c++)
        if (golden->cases[c].known_mistake_count > golden->cases[best].known_mistake_count)
            best = c;
    return best;
}

static bool asks(const Judge *judge, const Golden *golden, int c) {
    return judge->cases == EVERY_CASE ||
           c == (judge->cases == FIRST_CASE ? 0 : most_telling_case(golden));
}

/* A mistake passes if its output is taken for right wherever it is asked for. Where none is stored
 * it is right, or so nearly that no judge could tell. */
static bool passes(const Judge *judge, const Kernel *kernel, const Golden *golden,
                   const char *mistake) {
    for (int c = 0; c < golden->count; c++) {
        const GoldenCase *one = &golden->cases[c];
        const Tensor *stored = output_of_mistake(one, mistake);
        if (!stored || !asks(judge, golden, c)) continue;
        Tensor got = one->expected;
        got.data = stored->data;
        if (!accepts(judge, kernel, one, &got)) return false;
    }
    return true;
}

/* Is a right kernel refused: the chapter's own, or the fast one of chapter 12? */
static bool refuses_one(const Judge *judge, const Kernel *kernel, const Golden *golden,
                        Function function) {
    for (int c = 0; c < golden->count; c++) {
        const GoldenCase *one = &golden->cases[c];
        if (!asks(judge, golden, c)) continue;
        Verdict verdict = verdict_of_call(kernel, one, function);
        Tensor got = one->expected;
        got.dtype = F32;
        got.data = verdict.output;
        bool is_taken = accepts(judge, kernel, one, &got);
        verdict_free(&verdict);
        if (!is_taken) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ counts */

typedef struct {
    int kernels, mistakes, right;
    int passed[JUDGES], refused[JUDGES];
} Counts;

static void count_mistakes(Counts *counts, const Kernel *kernel, const Golden *golden) {
    int count;
    const char **names = known_mistakes(golden, &count);
    counts->mistakes += count;
    for (int j = 0; j < JUDGES; j++)
        for (int m = 0; m < count; m++)
            counts->passed[j] += passes(&judges[j], kernel, golden, names[m]);
    free(names);
}

static void count_right(Counts *counts, const Kernel *kernel, const Golden *golden) {
    const Function right[] = {kernel->ours, kernel->fast};
    for (int r = 0; r < 2; r++) {
        if (!right[r]) continue;
        counts->right++;
        for (int j = 0; j < JUDGES; j++)
            counts->refused[j] += refuses_one(&judges[j], kernel, golden, right[r]);
    }
}

static Counts count_all(void) {
    Counts counts = {0};
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        Golden golden = golden_open(kernel->name);
        counts.kernels++;
        count_mistakes(&counts, kernel, &golden);
        count_right(&counts, kernel, &golden);
        golden_close(&golden);
    }
    return counts;
}

/* ------------------------------------------------------------------ what passes */

/* The mistakes that this judge lets pass, a line a kernel. */
static void print_passed(const Judge *judge) {
    const Kernel *kernel;
    Table table = {0};
    table_row(&table, "kernel|<taken for right");
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        enum { LINE = 2048 };
        char line[LINE] = "";
        Golden golden = golden_open(kernel->name);
        int count;
        const char **names = known_mistakes(&golden, &count);
        for (int m = 0; m < count; m++)
            if (passes(judge, kernel, &golden, names[m]))
                snprintf(line + strlen(line), LINE - strlen(line), "%s%s", *line ? ", " : "",
                         names[m]);
        if (*line) table_row(&table, "%s|%s", kernel->name, line);
        free(names);
        golden_close(&golden);
    }
    table_print(&table, stdout);
}

int main(void) {
    Counts counts = count_all();
    Table table = {0};
    printf(
        "How good is a judge? Each gets the outputs of all stored mistakes of %d kernels, and\n"
        "those of %d right kernels: the chapters' own and the fast ones. `make studies` computes\n"
        "this page anew.\n",
        counts.kernels, counts.right);
    section("Mistakes that pass, right kernels that fail");
    table_row(&table, "judge|of %d mistakes pass|percent|of %d right kernels fail", counts.mistakes,
              counts.right);
    for (int j = 0; j < JUDGES; j++)
        table_row(&table, "%s|%d|%.1f|%d", judges[j].name, counts.passed[j],
                  100.0 * counts.passed[j] / counts.mistakes, counts.refused[j]);
    table_print(&table, stdout);
    section("Taken for right in every case, with rtol = atol = 1e-3");
    print_passed(&judges[4]);
    return 0;
}
