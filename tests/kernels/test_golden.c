/* Our kernels against PyTorch, and the judge against the well-known mistakes: every golden case
 * must pass, every known mistake must fail and be named, and no output that is zero, NaN or
 * unwritten may ever pass. */
#include "common/error.h"
#include "common/timer.h"
#include "tests/judge/diagnosis.h"
#include "tests/test.h"

#include <math.h>

/* Every case passes, and in the median our error is no larger than PyTorch's own. */
static void ours_pass(void **state) {
    const Kernel *kernel = *state;
    Golden golden = golden_open(kernel->name);
    double *multiples = xmalloc((size_t)golden.count * sizeof *multiples);
    for (int c = 0; c < golden.count; c++) {
        Verdict verdict = verdict_of_call(kernel, &golden.cases[c], kernel->ours);
        if (!verdict_passes(&verdict)) report(kernel, &golden, kernel->chapter, 1, &verdict);
        assert_true(verdict_passes(&verdict));
        const Comparison *a = &verdict.comparison;
        multiples[c] = a->ulps == 0 ? 0 : a->ulps / a->reference;
        verdict_free(&verdict);
    }
    double typical = median(golden.count, multiples);
    if (!(typical <= 1))
        fail_msg("%s: our median error is %.2f of PyTorch's", kernel->name, typical);
    free(multiples);
    golden_close(&golden);
}

static bool stores(const GoldenCase *golden_case, const char *mistake, Tensor *found) {
    for (int t = 0; t < golden_case->known_mistake_count; t++) {
        *found = golden_case->known_mistake[t];
        if (strcmp(found->name, mistake) == 0) return true;
    }
    return false;
}

/* An implementation with this mistake: its output where one is stored, the right answer elsewhere.
 */
static void judge_known_mistake(const Kernel *kernel, const Golden *golden, const char *mistake) {
    Verdict *verdicts = xmalloc((size_t)golden->count * sizeof *verdicts);
    int stored = 0;
    for (int c = 0; c < golden->count; c++) {
        const GoldenCase *one = &golden->cases[c];
        Tensor output = one->expected, found;
        bool wrong = stores(one, mistake, &found);
        if (wrong) {
            output.data = found.data;
            stored++;
        }
        verdicts[c] = verdict_of_output(kernel, one, &output);
        if (verdict_passes(&verdicts[c]) == wrong)
            fail_msg("%s, case %s: mistake %s is judged wrongly", kernel->name, one->name, mistake);
    }
    const char *named = diagnose(kernel, golden, golden->count, verdicts).known_mistake;
    if (!stored || !named || strcmp(named, mistake) != 0)
        fail_msg("%s: mistake %s is taken for %s", kernel->name, mistake,
                 named ? named : "nothing");
    for (int c = 0; c < golden->count; c++) verdict_free(&verdicts[c]);
    free(verdicts);
}

static void known_mistakes_fail_and_are_named(void **state) {
    const Kernel *kernel = *state;
    Golden golden = golden_open(kernel->name);
    int mistakes = 0;
    for (size_t m = 0; m < golden.file.metadata_count; m++) {
        const char *key = golden.file.metadata[m].key;
        if (strncmp(key, "wrong/", 6) != 0) continue;
        assert_true(strlen(golden.file.metadata[m].value) > 20); /* advice, not a word */
        judge_known_mistake(kernel, &golden, key + 6);
        mistakes++;
    }
    assert_true(mistakes > 0);
    golden_close(&golden);
}

static Verdict verdict_of_constant(const Kernel *kernel, const GoldenCase *one, float value) {
    Tensor output = one->expected;
    output.dtype = F32;
    size_t count = tensor_count(&output);
    float *numbers = xmalloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = value;
    output.data = numbers;
    Verdict verdict = verdict_of_output(kernel, one, &output);
    free(numbers);
    return verdict;
}

static void nothing_else_passes(void **state) {
    const Kernel *kernel = *state;
    Golden golden = golden_open(kernel->name);
    const uint32_t bits = POISON << 16 | POISON;
    float unwritten;
    memcpy(&unwritten, &bits, sizeof unwritten);
    const float constants[] = {0, NAN, INFINITY, unwritten};
    for (int c = 0; c < golden.count; c++)
        for (int i = 0; i < 4; i++) {
            Verdict verdict = verdict_of_constant(kernel, &golden.cases[c], constants[i]);
            if (verdict_passes(&verdict))
                fail_msg("%s, case %s: all %g passes", kernel->name, golden.cases[c].name,
                         constants[i]);
            verdict_free(&verdict);
        }
    golden_close(&golden);
}

int main(void) {
    static const struct {
        const char *what;
        CMUnitTestFunction test;
    } checks[] = {{"passes", ours_pass},
                  {"known mistakes fail and are named", known_mistakes_fail_and_are_named},
                  {"nothing else passes", nothing_else_passes}};
    enum { CHECKS = sizeof checks / sizeof *checks };
    int kernels = 0;
    while (kernel_at(kernels)) kernels++;
    struct CMUnitTest tests[kernels * CHECKS];
    size_t count = 0;
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++)
        for (int c = 0; c < CHECKS; c++) {
            char name[128];
            snprintf(name, sizeof name, "%s: %s", kernel->name, checks[c].what);
            tests[count++] = (struct CMUnitTest){
                .name = strdup(name), .test_func = checks[c].test, .initial_state = (void *)kernel};
        }
    int failed = _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
    for (size_t t = 0; t < count; t++) free((char *)tests[t].name);
    return failed != 0;
}
