#include "tests/judge/diagnosis.h"
#include "tests/judge/own_answer.h"
#include "tests/judge/signature.h"
#include "tests/judge/sizes.h"
#include "common/console.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool verdict_passes(const Verdict *verdict) {
    return !verdict->missing && !verdict->trouble[0] && !verdict->later[0] &&
           verdict->comparison.wrong == 0;
}

/* ------------------------------------------------------------------ one case */

char *index_text(char text[static SHAPE_TEXT], size_t index, const Tensor *tensor) {
    size_t position[TENSOR_MAX_RANK];
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        position[axis] = index % tensor->shape[axis];
        index /= tensor->shape[axis];
    }
    return shape_text(text, tensor->rank, position);
}

/* A call with the case's inputs, ready to run. */
static Call call_of_case(const GoldenCase *golden_case) {
    Call call = {0};
    for (int i = 0; i < golden_case->input_count; i++) {
        const Tensor *input = &golden_case->input[i];
        memcpy(call_input(&call, input->name, input->dtype, input->rank, input->shape), input->data,
               tensor_bytes(input));
    }
    call_output(&call, golden_case->expected.dtype, golden_case->expected.rank,
                golden_case->expected.shape);
    return call;
}

bool same_shape(const Tensor *left, const Tensor *right) {
    return left->rank == right->rank &&
           memcmp(left->shape, right->shape, (size_t)left->rank * sizeof *left->shape) == 0;
}

Verdict verdict_of_output(const Kernel *kernel, const GoldenCase *golden_case, const Tensor *got) {
    Verdict verdict = {.golden_case = golden_case, .missing = got == NULL};
    if (verdict.missing) return verdict;
    char shape[SHAPE_TEXT];
    if (!same_shape(got, &golden_case->expected)) {
        snprintf(verdict.trouble, TROUBLE, "the output handed over has shape %s",
                 shape_text(shape, got->rank, got->shape));
        return verdict;
    }
    verdict.output = tensor_to_float(got);
    verdict.comparison = has_own_bounds(golden_case)
                             ? compare_with_own(kernel, golden_case, verdict.output)
                             : golden_check(golden_case, kernel->pointwise, got);
    return verdict;
}

void difference_text(char text[static WORDS], size_t index, const Tensor *expected, float got) {
    char where[SHAPE_TEXT];
    index_text(where, index, expected);
    if (is_poison(got)) snprintf(text, WORDS, "%s: not written", where);
    else
        snprintf(text, WORDS, "%s: got %s, expected %s", where,
                 number_text((char[NUMBER_TEXT]){0}, 7, got),
                 number_text((char[NUMBER_TEXT]){0}, 7, tensor_get(expected, index)));
}

typedef struct {
    const Kernel *kernel;
    const GoldenCase *golden_case;
} GoldenTruth;

static bool is_golden(const void *truth, const Tensor *output, char where[static WORDS]) {
    const GoldenTruth *golden = truth;
    Comparison comparison = golden_check(golden->golden_case, golden->kernel->pointwise, output);
    float *got = tensor_to_float(output);
    if (comparison.wrong)
        difference_text(where, comparison.first_wrong, &golden->golden_case->expected,
                        got[comparison.first_wrong]);
    free(got);
    return comparison.wrong == 0;
}

Verdict verdict_of_subject(const Subject *subject, const GoldenCase *golden_case) {
    Call call = call_of_case(golden_case);
    GoldenTruth truth = {subject->kernel, golden_case};
    Trial trial = {.subject = subject, .call = &call, .is_right = is_golden, .truth = &truth};
    trial_run(&trial);
    Verdict verdict = {.golden_case = golden_case};
    if (trial.first.data) verdict = verdict_of_output(subject->kernel, golden_case, &trial.first);
    snprintf(verdict.trouble, TROUBLE, "%s", trial_trouble(&trial));
    if (trial.first.data) trial_deviates(&trial, verdict.comparison.wrong == 0, verdict.later);
    call_free(&call);
    return verdict;
}

void verdict_free(Verdict *verdict) {
    free(verdict->output);
    verdict->output = NULL;
}

/* ------------------------------------------------------------------ the report */

/* "0.9", the error as a multiple of PyTorch's own; in ulps where PyTorch is exact, unless it is far
 * off, and in a bf16's for one. Bytes and counts are right or not. */
static void multiple_text(char text[static 32], const GoldenCase *golden_case,
                          const Comparison *comparison) {
    const double bf16_ulp = 0x1p16; /* in those of float32 */
    if (isnan(comparison->ulps)) snprintf(text, 32, "nan");
    else if (golden_case->expected.dtype == BF16)
        snprintf(text, 32, "%.3g bf16 ulp", comparison->ulps / bf16_ulp);
    else if (golden_case->exact) snprintf(text, 32, comparison->wrong ? "not exact" : "exact");
    else if (comparison->reference > 0)
        snprintf(text, 32, "%.3g", comparison->ulps / comparison->reference);
    else if (comparison->ulps > 1e6) snprintf(text, 32, "> 1e6 ulp");
    else snprintf(text, 32, comparison->ulps == 0 ? "0" : "%.3g ulp", comparison->ulps);
}

static void first_wrong_text(char text[static WORDS], const Verdict *verdict) {
    char where[SHAPE_TEXT];
    const Comparison *comparison = &verdict->comparison;
    const Tensor *expected = &verdict->golden_case->expected;
    index_text(where, comparison->first_wrong, expected);
    if (comparison->unwritten == comparison->count) snprintf(text, WORDS, "not written");
    else if (comparison->unwritten == comparison->wrong)
        snprintf(text, WORDS, "%s: not written", where);
    else
        difference_text(text, comparison->first_wrong, expected,
                        verdict->output[comparison->first_wrong]);
}

void verdict_text(char text[static WORDS], const Verdict *verdict) {
    if (verdict->missing) snprintf(text, WORDS, "no output of this name was handed over");
    else if (verdict->trouble[0]) snprintf(text, WORDS, "%s", verdict->trouble);
    else if (verdict->comparison.wrong) first_wrong_text(text, verdict);
    else snprintf(text, WORDS, "%s", verdict->later);
}

static void verdict_row(Table *table, const Verdict *verdict) {
    char shape[SHAPE_TEXT], multiple[32], words[WORDS], worst[32];
    const Tensor *expected = &verdict->golden_case->expected;
    const Comparison *comparison = &verdict->comparison;
    shape_text(shape, expected->rank, expected->shape);
    const char *name = verdict->golden_case->name, *mark = verdict_passes(verdict) ? "ok" : "FAIL";
    verdict_text(words, verdict);
    if (verdict->missing || verdict->trouble[0])
        table_row(table, "%s|%s|||%s||%s", name, shape, mark, words);
    else {
        multiple_text(multiple, verdict->golden_case, comparison);
        snprintf(worst, sizeof worst, isnan(comparison->worst) ? "nan" : "%.2g", comparison->worst);
        table_row(table, "%s|%s|%s|%s|%s|%zu of %zu|%s", name, shape, worst, multiple, mark,
                  comparison->wrong, comparison->count, words);
    }
}

static void say_later(const Verdict *verdict) {
    const char *advice = trial_advice(verdict->later);
    if (verdict->comparison.wrong)
        printf("  And in case \"%s\" it %s.\n", verdict->golden_case->name, verdict->later);
    else if (advice) printf("  %s\n", advice);
}

static const Verdict *first_troubled(int count, const Verdict verdicts[]) {
    for (int i = 0; i < count; i++)
        if (verdicts[i].trouble[0]) return &verdicts[i];
    return NULL;
}

/* "x [1, 4] = 1 1 1 3"; several rows have a line each. Of very many numbers the first. */
static void print_numbers(const char *name, const Tensor *tensor) {
    enum { SHOWN = 64 };
    char shape[SHAPE_TEXT];
    size_t count = tensor_count(tensor), shown = count < SHOWN ? count : SHOWN,
           row = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    printf("    %s%s%s =", name, tensor->rank ? " " : "",
           tensor->rank ? shape_text(shape, tensor->rank, tensor->shape) : "");
    for (size_t i = 0; i < shown; i++) {
        if (row > 1 && count > row && i % row == 0) printf("\n     ");
        printf(" %s", number_text((char[NUMBER_TEXT]){0}, 7, tensor_get(tensor, i)));
    }
    printf(count > shown ? " …\n" : "\n");
}

/* Where the mistake is not known, its author gets all that is needed to find it. */
static void show_in_full(const Verdict *verdict) {
    const GoldenCase *one = verdict->golden_case;
    for (int i = 0; i < one->input_count; i++) print_numbers(one->input[i].name, &one->input[i]);
    Tensor got = one->expected;
    got.dtype = F32;
    got.data = verdict->output;
    print_numbers("got", &got);
    print_numbers("expected", &one->expected);
}

static bool is_short(const Verdict *verdict) {
    enum { FEW = 64 };
    if (!verdict->output || verdict->comparison.count > FEW) return false;
    for (int i = 0; i < verdict->golden_case->input_count; i++)
        if (tensor_count(&verdict->golden_case->input[i]) > FEW) return false;
    return true;
}

static void show_smallest(int count, const Verdict verdicts[]) {
    const Verdict *smallest = verdicts; /* the cases are in the order of their size */
    while (smallest < verdicts + count && !smallest->comparison.wrong) smallest++;
    if (smallest == verdicts + count) return;
    printf("  The smallest case that fails is \"%s\":\n", smallest->golden_case->name);
    show_in_full(smallest);
}

/* Where not even a place is known. */
static void say_how_many(int count, const Verdict verdicts[]) {
    size_t wrong = 0, numbers = 0;
    for (int i = 0; i < count; i++) {
        const Comparison *comparison = &verdicts[i].comparison;
        wrong += comparison->wrong;
        if (comparison->wrong) numbers += comparison->count;
    }
    if (wrong == numbers)
        printf("  No known mistake gives these numbers. All numbers of the failing cases are "
               "wrong.\n");
    else
        printf("  No known mistake gives these numbers. Of the failing cases' %zu numbers %zu are "
               "wrong.\n",
               numbers, wrong);
}

/* The first thing to see: what came out, and what should have. */
static void print_first_wrong(int count, const Verdict verdicts[]) {
    char text[WORDS];
    for (int i = 0; i < count; i++) {
        const Verdict *verdict = &verdicts[i];
        if (verdict_passes(verdict)) continue;
        const char *say = verdict->missing      ? "no output of this name was handed over"
                          : verdict->trouble[0] ? verdict->trouble
                                                : verdict->later;
        if (!verdict->trouble[0] && verdict->comparison.wrong) {
            first_wrong_text(text, verdict);
            say = text;
        }
        printf("  First mistake, in case \"%s\": %s\n", verdict->golden_case->name, say);
        return;
    }
}

/* The cases, a row each. Returns how many pass. */
static int report_cases(const Kernel *kernel, const Golden *golden, const char *source, int count,
                        const Verdict verdicts[]) {
    const char *torch = safetensors_metadata(&golden->file, "torch"),
               *library = safetensors_metadata(&golden->file, "library");
    int own = 0;
    for (int i = 0; i < count; i++) own += has_own_bounds(verdicts[i].golden_case);
    printf("%s   %s   %d case%s from %s%s", kernel->name, source, count - own,
           count - own == 1 ? "" : "s", library ? "" : "PyTorch ",
           library ? library
           : torch ? torch
                   : "?");
    if (own) printf(", %d more of the chapter's own kernel", own);
    putchar('\n');
    print_first_wrong(count, verdicts);
    Table table = {0};
    table_row(&table, "case|shape|worst error|of %.*s's|<|wrong|<first wrong",
              library ? (int)strcspn(library, " ") : 7, library ? library : "PyTorch");
    int passed = 0;
    for (int i = 0; i < count; i++) {
        verdict_row(&table, &verdicts[i]);
        passed += verdict_passes(&verdicts[i]);
    }
    table_print(&table, stdout);
    printf("%s: %d of %d cases pass\n", passed == count ? "PASS" : "FAIL", passed, count);
    return passed;
}

/* `sizes` says at which sizes alone it is wrong, if that is known. */
static int report_with(const Kernel *kernel, const Golden *golden, const char *source, int count,
                       const Verdict verdicts[], const char *sizes) {
    int passed = report_cases(kernel, golden, source, count, verdicts);
    if (passed == count) return passed;
    Diagnosis found = diagnose(kernel, golden, count, verdicts);
    const Verdict *troubled = first_troubled(count, verdicts);
    if (troubled && trial_advice(troubled->trouble))
        printf("  %s\n", trial_advice(troubled->trouble));
    if (found.advice[0]) printf("  %s\n", found.advice);
    if (sizes[0]) printf("  %s\n", sizes);
    if (found.known_mistake)
        printf("  (Known mistake %s: your output is the same in %d of the %d cases where it "
               "shows.)\n",
               found.known_mistake, found.matched, found.stored);
    for (int i = 0; i < count; i++)
        if (verdicts[i].later[0]) return say_later(&verdicts[i]), passed;
    if (troubled) return passed;
    if (!found.advice[0] && !sizes[0]) say_how_many(count, verdicts);
    if (!found.known_mistake) show_smallest(count, verdicts);
    return passed;
}

int report(const Kernel *kernel, const Golden *golden, const char *source, int count,
           const Verdict verdicts[]) {
    return report_with(kernel, golden, source, count, verdicts, "");
}

/* ------------------------------------------------------------------ a kernel as a whole */

const char *status_name(KernelStatus kernel_status) {
    static const char *const names[] = {"right",           "not implemented",  "wrong",
                                        "out of bounds",   "crashes",          "does not come back",
                                        "exits",           "does not compile", "the course's own",
                                        "another function"};
    return names[kernel_status];
}

/* The sandbox says in words how a call ended; anything else that can be said of one is a wrong
 * answer. */
KernelStatus status_of(const char *trouble) {
    static const struct {
        const char *words;
        KernelStatus status;
    } ends[] = {{"overran: ", OUT_OF_BOUNDS},           {"went out of bounds: ", OUT_OF_BOUNDS},
                {"wrote to its input ", OUT_OF_BOUNDS}, {"crashed: ", CRASHES},
                {"followed a NULL pointer", CRASHES},   {"did not come back", DOES_NOT_COME_BACK},
                {"too slow", DOES_NOT_COME_BACK},       {"ended the program", EXITS}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(trouble, ends[i].words)) return ends[i].status;
    return WRONG;
}

static bool is_ours(const Subject *subject) {
    return !subject->library && subject->function == subject->kernel->ours;
}

/* A kernel that does not come back, or takes its time, is not waited for in every case. */
static void run_cases(Judgement *judgement, const Subject *subject) {
    const char *lost = NULL;
    double before = seconds_of_jobs();
    for (int c = 0; c < judgement->golden.count; c++) {
        Verdict *verdict = &judgement->verdicts[c];
        const GoldenCase *one = &judgement->golden.cases[c];
        if (lost) {
            *verdict = (Verdict){.golden_case = one};
            snprintf(verdict->trouble, TROUBLE, "%s", lost);
            lost = "not tried";
            continue;
        }
        *verdict = verdict_of_subject(subject, one);
        if (status_of(verdict->trouble) == DOES_NOT_COME_BACK ||
            status_of(verdict->later) == DOES_NOT_COME_BACK)
            lost = "not tried";
        else if (seconds_of_jobs() - before > 3 * call_time_limit && !is_ours(subject))
            lost = "too slow: the cases before this one took all the time that there is";
        judgement->passed += verdict_passes(verdict);
    }
}

static const Verdict *first(bool is_so(const Verdict *), const Judgement *judgement) {
    for (int c = 0; c < judgement->golden.count; c++)
        if (is_so(&judgement->verdicts[c])) return &judgement->verdicts[c];
    return NULL;
}

static bool in_trouble(const Verdict *verdict) { return verdict->trouble[0]; }
static bool deviates(const Verdict *verdict) { return verdict->later[0]; }
static bool fails(const Verdict *verdict) { return !verdict_passes(verdict); }
static bool written(const Verdict *verdict) {
    return verdict->comparison.unwritten < verdict->comparison.count;
}

/* Chooses, of several things that are wrong, the one to report first: what kept the kernel from an
 * answer, the mistake that the answers show, what it did when it was called again, what the answers
 * have in common, and if all else fails the first wrong number. */
static void say_what_is_wrong(Judgement *judgement, const Subject *subject) {
    int count = judgement->golden.count;
    char *say = judgement->diagnosis, where[WORDS];
    const Verdict *troubled = first(in_trouble, judgement), *failing = first(fails, judgement),
                  *deviating = first(deviates, judgement);
    Diagnosis found = diagnose(judgement->kernel, &judgement->golden, count, judgement->verdicts);
    const char *known = found.known_mistake;
    judgement->status = troubled ? status_of(troubled->trouble) : WRONG;
    if (troubled)
        snprintf(say, DIAGNOSIS, "case \"%s\": %s", troubled->golden_case->name, troubled->trouble);
    else if (!first(written, judgement) || (known && strcmp(known, DOES_NOTHING) == 0))
        judgement->status = NOT_IMPLEMENTED;
    else if (!known && deviating) {
        judgement->status = status_of(deviating->later);
        snprintf(say, DIAGNOSIS, "case \"%s\": %s", deviating->golden_case->name, deviating->later);
    } else if (found.advice[0]) memcpy(say, found.advice, DIAGNOSIS);
    else {
        first_wrong_text(where, failing);
        snprintf(say, DIAGNOSIS, "case \"%s\": %s", failing->golden_case->name, where);
    }
    bool is_answer = !known && !deviating && !troubled && judgement->status == WRONG;
    if (is_answer &&
        sizes_decide(subject, NULL, count, judgement->verdicts, judgement->sizes,
                     &judgement->random) &&
        !found.advice[0])
        memcpy(say, judgement->sizes, DIAGNOSIS);
}

/* What the wrong answer to a random call has in common with a mistake, beside all cases that pass.
 */
static void advise(Judgement *judgement, const Subject *subject, const Extents *failing) {
    Verdict *wrong = &judgement->random;
    char *advice = judgement->advice;
    const char *about = trial_advice(judgement->diagnosis);
    int count = judgement->golden.count;
    memcpy(advice, judgement->note, DIAGNOSIS);
    judgement->note[0] = '\0';
    if (about) snprintf(advice, DIAGNOSIS, "%s", about);
    enum { MOST_NUMBERS = 20000 }; /* rules that compare each with each take their time */
    if (about || !wrong->output) return;
    Verdict smallest, *all = xmalloc((size_t)(count + 1) * sizeof *all);
    memcpy(all, judgement->verdicts, (size_t)count * sizeof *all);
    if (sizes_decide(subject, failing, count, judgement->verdicts, judgement->sizes, &smallest))
        advice[0] = '\0';
    all[count] = wrong->comparison.count > MOST_NUMBERS && smallest.output ? smallest : *wrong;
    if (!advice[0] && all[count].comparison.count <= MOST_NUMBERS)
        memcpy(advice, diagnose(judgement->kernel, &judgement->golden, count + 1, all).advice,
               DIAGNOSIS);
    free(all);
    if (smallest.output) {
        random_verdict_free(wrong);
        *wrong = smallest;
    }
}

/* All golden cases pass. What they cannot see: other shapes, and what is refused. */
static void look_further(Judgement *judgement, const Subject *subject) {
    char say[DIAGNOSIS];
    if (!random_shapes_agree(subject, judgement->diagnosis, judgement->note, &judgement->random)) {
        const Extents failing = extents_drawn();
        judgement->status = status_of(judgement->diagnosis);
        advise(judgement, subject, &failing);
        return;
    }
    judgement->random_shapes = RANDOM_CALLS;
    switch (refuses(subject, say)) {
    case REFUSES: break;
    case TO_BE_TOLD: memcpy(judgement->note, say, DIAGNOSIS); break;
    case MUST_REFUSE:
        judgement->status = WRONG;
        memcpy(judgement->diagnosis, say, DIAGNOSIS);
        judgement->note[0] = '\0';
    }
}

/* Checks the source before anything is called: an included file of the course's is nobody's
 * solution, and a helper that happens to have a kernel's name is not that kernel. */
static bool is_the_readers(Judgement *judgement, const Subject *subject) {
    const char *messages = subject->library ? library_messages(subject->library) : NULL;
    Signature signature =
        messages ? signature_of(messages, subject->kernel, judgement->diagnosis) : NOT_FOUND;
    if (signature == COURSES_OWN) judgement->status = THE_COURSES_OWN;
    else if (signature == OTHER_SIGNATURE) judgement->status = ANOTHER_FUNCTION;
    else judgement->diagnosis[0] = '\0';
    return judgement->status == RIGHT;
}

bool hides_a_kernel(const Library *library, const Kernel *only, char say[static DIAGNOSIS]) {
    const Kernel *kernel;
    const char *messages = library_messages(library);
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        if (only && kernel != only) continue;
        if (messages && is_hidden(messages, kernel, say)) return true;
        if (!library_mangles(library, kernel->name)) continue;
        snprintf(say, DIAGNOSIS,
                 "%s has a C++ name, into which its arguments are mangled. Declare it extern \"C\"",
                 kernel->name);
        return true;
    }
    return false;
}

/* The cases of a kernel, those of its first step before the others. */
static Golden open_cases(const Kernel *kernel) {
    Golden golden = golden_open(kernel->name);
    int firsts = 0;
    for (int c = 0; kernel->in_first_step && c < golden.count; c++) {
        if (!kernel->in_first_step(&golden.cases[c])) continue;
        GoldenCase one = golden.cases[c];
        memmove(&golden.cases[firsts + 1], &golden.cases[firsts],
                (size_t)(c - firsts) * sizeof *golden.cases);
        golden.cases[firsts++] = one;
    }
    return golden;
}

static Judgement judge_as_it_is(const Subject *subject) {
    Judgement judgement = {.kernel = subject->kernel, .golden = open_cases(subject->kernel)};
    size_t bytes = (size_t)judgement.golden.count * sizeof *judgement.verdicts;
    judgement.verdicts = memset(xmalloc(bytes), 0, bytes);
    for (int c = 0; c < judgement.golden.count; c++)
        judgement.verdicts[c].golden_case = &judgement.golden.cases[c];
    if (!subject->function) {
        judgement.status = NOT_IMPLEMENTED;
        hides_a_kernel(subject->library, subject->kernel, judgement.diagnosis);
    }
    if (!subject->function || !is_the_readers(&judgement, subject)) return judgement;
    run_cases(&judgement, subject);
    if (judgement.passed < judgement.golden.count) say_what_is_wrong(&judgement, subject);
    else if (!is_ours(subject)) look_further(&judgement, subject);
    return judgement;
}

/* An answer is wrong: is it when the optimizer has its hands off? A race is told as that. */
static bool is_right_plainly(const Judgement *judgement, const Subject *subject) {
    const Verdict *failing = first(fails, judgement);
    bool is_answer = judgement->status == WRONG && failing && failing->comparison.wrong &&
                     !first(in_trouble, judgement);
    Library *plain = is_answer && subject->library ? library_plain(subject->library) : NULL;
    Function function = plain ? library_function(plain, subject->kernel->name) : NULL;
    if (!function) return false;
    Judgement again = judge_as_it_is(&(Subject){subject->kernel, plain, function});
    bool right = again.status == RIGHT;
    judgement_free(&again);
    return right;
}

Judgement judge(const Subject *subject) {
    Judgement judgement = judge_as_it_is(subject);
    judgement.right_plainly = is_right_plainly(&judgement, subject);
    if (judgement.right_plainly)
        snprintf(judgement.diagnosis, DIAGNOSIS,
                 "It is right when it is compiled with -O1 -fno-strict-aliasing -fwrapv. So it is "
                 "your compiler's mistake, or the behaviour of your code is undefined: make verify "
                 "SRC=… SANITIZE=1 finds most of that.");
    return judgement;
}

void judgement_print(const Judgement *judgement, const char *source) {
    const Kernel *kernel = judgement->kernel;
    if (judgement->status == THE_COURSES_OWN || judgement->status == ANOTHER_FUNCTION) {
        printf("%s   %s   not judged\n  %s\n", kernel->name, source, judgement->diagnosis);
        return;
    }
    const Golden *golden = &judgement->golden;
    if (judgement->right_plainly) {
        report_cases(kernel, golden, source, golden->count, judgement->verdicts);
        printf("  %s\n", judgement->diagnosis);
        return;
    }
    if (report_with(kernel, golden, source, golden->count, judgement->verdicts, judgement->sizes) <
        golden->count)
        return;
    if (judgement->status != RIGHT) printf("FAIL: %s\n", judgement->diagnosis);
    if (judgement->status != RIGHT && judgement->advice[0]) printf("  %s\n", judgement->advice);
    if (judgement->sizes[0]) printf("  %s\n", judgement->sizes);
    if (is_short(&judgement->random)) {
        printf("  The smallest wrong call that was found:\n");
        show_in_full(&judgement->random);
    }
    if (judgement->status == RIGHT && judgement->random_shapes)
        printf("PASS: %d random shapes agree with chapters/%s, and %d more of SEED=%lu\n",
               judgement->random_shapes, kernel->chapter, CALLS_OF_THE_DAY, seed_of_the_day());
    if (judgement->note[0]) printf("  Not judged, but told: %s\n", judgement->note);
}

void judgement_free(Judgement *judgement) {
    for (int c = 0; c < judgement->golden.count; c++) verdict_free(&judgement->verdicts[c]);
    free(judgement->verdicts);
    random_verdict_free(&judgement->random);
    golden_close(&judgement->golden);
}
