#include "tests/verify/diagnosis.h"
#include "common/console.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool verdict_passes(const Verdict *verdict) {
    return !verdict->missing && !verdict->trouble[0] && verdict->agreement.wrong == 0;
}

/* ------------------------------------------------------------------ one case */

Call call_of_case(const GoldenCase *golden_case) {
    Call call = {0};
    for (int i = 0; i < golden_case->input_count; i++) {
        const Tensor *input = &golden_case->input[i];
        memcpy(call_input(&call, input->name, input->dtype, input->rank, input->shape), input->data, tensor_bytes(input));
    }
    call_output(&call, golden_case->expected.dtype, golden_case->expected.rank, golden_case->expected.shape);
    return call;
}

bool same_shape(const Tensor *left, const Tensor *right) {
    return left->rank == right->rank && memcmp(left->shape, right->shape, (size_t)left->rank * sizeof *left->shape) == 0;
}

Verdict verdict_of_output(const Kernel *kernel, const GoldenCase *golden_case, const Tensor *got) {
    Verdict verdict = {.golden_case = golden_case, .missing = got == NULL};
    if (verdict.missing) return verdict;
    char shape[SHAPE_TEXT];
    if (!same_shape(got, &golden_case->expected)) {
        snprintf(verdict.trouble, TROUBLE, "the output handed over has shape %s", shape_text(shape, got->rank, got->shape));
        return verdict;
    }
    verdict.output = tensor_to_float(got);
    verdict.agreement = golden_check(golden_case, kernel->pointwise, got);
    return verdict;
}

Verdict verdict_of_call(const Kernel *kernel, const GoldenCase *golden_case, Function function) {
    char trouble[TROUBLE];
    Call call = call_of_case(golden_case);
    Verdict verdict = {.golden_case = golden_case};
    if (call_run(&call, kernel->unpack, function, trouble))
        verdict = verdict_of_output(kernel, golden_case, &call.output.tensor);
    else memcpy(verdict.trouble, trouble, TROUBLE);
    call_free(&call);
    return verdict;
}

void verdict_free(Verdict *verdict) {
    free(verdict->output);
    verdict->output = NULL;
}

/* ------------------------------------------------------------------ the report */

char *index_text(char text[static SHAPE_TEXT], size_t index, const Tensor *tensor) {
    size_t position[TENSOR_MAX_RANK];
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        position[axis] = index % tensor->shape[axis];
        index /= tensor->shape[axis];
    }
    return shape_text(text, tensor->rank, position);
}

/* "0.9", the error as a multiple of PyTorch's own; in ulps where PyTorch is exact. */
static void multiple_text(char text[static 32], const Agreement *agreement) {
    if (agreement->reference > 0) snprintf(text, 32, "%.3g", agreement->ulps / agreement->reference);
    else snprintf(text, 32, agreement->ulps == 0 ? "0" : "%.3g ulp", agreement->ulps);
}

static void first_wrong_text(char text[static 256], const Verdict *verdict) {
    char where[SHAPE_TEXT];
    size_t first = verdict->agreement.first_wrong;
    const Tensor *expected = &verdict->golden_case->expected;
    index_text(where, first, expected);
    if (verdict->agreement.unwritten == verdict->agreement.count) snprintf(text, 256, "not written");
    else if (verdict->agreement.unwritten == verdict->agreement.wrong)
        snprintf(text, 256, "%s: not written", where);
    else snprintf(text, 256, "%s: got %.7g, expected %.7g", where, verdict->output[first], tensor_get(expected, first));
}

static void verdict_row(Table *table, const Verdict *verdict) {
    char shape[SHAPE_TEXT], multiple[32], first[256] = "";
    const Tensor *expected = &verdict->golden_case->expected;
    const Agreement *agreement = &verdict->agreement;
    shape_text(shape, expected->rank, expected->shape);
    const char *name = verdict->golden_case->name, *mark = verdict_passes(verdict) ? "ok" : "FAIL";
    if (verdict->missing) table_row(table, "%s|%s|||%s||no output of this name was handed over", name, shape, mark);
    else if (verdict->trouble[0]) table_row(table, "%s|%s|||%s||%s", name, shape, mark, verdict->trouble);
    else {
        multiple_text(multiple, agreement);
        if (agreement->wrong) first_wrong_text(first, verdict);
        table_row(table, "%s|%s|%.2g|%s|%s|%zu of %zu|%s", name, shape, agreement->worst, multiple, mark,
                  agreement->wrong, agreement->count, first);
    }
}

int report(const Kernel *kernel, const Golden *golden, const char *source, int count, const Verdict verdicts[]) {
    const char *torch = safetensors_metadata(&golden->file, "torch");
    printf("%s   %s   %d case%s from PyTorch %s\n", kernel->name, source, count, count == 1 ? "" : "s", torch ? torch : "?");
    Table table = {0};
    table_row(&table, "case|shape|worst error|of PyTorch's|<|wrong|<first wrong");
    int passed = 0;
    for (int i = 0; i < count; i++) {
        verdict_row(&table, &verdicts[i]);
        passed += verdict_passes(&verdicts[i]);
    }
    table_print(&table, stdout);
    printf("%s: %d of %d cases pass\n", passed == count ? "PASS" : "FAIL", passed, count);
    if (passed == count) return passed;

    Diagnosis found = diagnose(kernel, count, verdicts);
    char advice[DIAGNOSIS];
    if (found.twin)
        printf("  %s\n  (Your output is that in %d of the %d cases that can tell.)\n", golden_advice(golden, found.twin),
               found.matched, found.stored);
    else if (general_advice(kernel, count, verdicts, advice)) printf("  %s\n", advice);
    return passed;
}

/* ------------------------------------------------------------------ random shapes */

/* Two right float32 kernels on normal random numbers differ by the roundings of their sums, which grow with the
 * root of a length of at most some hundred; 64 ulps of the largest output is many times that, and still some
 * thousand times less than any wrong index makes. */
static const double RANDOM_TOLERANCE = 64;
enum { RANDOM_CALLS = 24 }; /* the last is of medium size, wider than a Llama's rows */

static bool outputs_agree(const Tensor *ours, const Tensor *theirs) {
    double *truth = tensor_to_double(ours);
    float *got = tensor_to_float(theirs);
    /* Where float32 noise tips a rounding to bf16, the two differ by a unit of bf16: 2^16 of float32. */
    double tolerance = RANDOM_TOLERANCE + (ours->dtype == BF16 ? 0x1p16 : 0);
    size_t count = tensor_count(ours);
    bool agree = check_within(tolerance, count, count, got, truth).wrong == 0;
    free(truth), free(got);
    return agree;
}

static bool random_call_agrees(const Kernel *kernel, Function function, Random *random, Size size,
                               char disagreement[static DIAGNOSIS]) {
    char trouble[TROUBLE] = "", shape[SHAPE_TEXT];
    Call call = {0}, again = {0};
    Random start = *random;
    kernel->random_call(&call, random, size);
    kernel->random_call(&again, &start, size);
    bool ran = call_run(&call, kernel->unpack, kernel->ours, trouble) &&
               call_run(&again, kernel->unpack, function, trouble);
    bool agree = ran && outputs_agree(&call.output.tensor, &again.output.tensor);
    shape_text(shape, call.output.tensor.rank, call.output.tensor.shape);
    if (!agree) snprintf(disagreement, DIAGNOSIS, "random shapes: output %s %s", shape, ran ? "differs from the chapter's kernel" : trouble);
    call_free(&call), call_free(&again);
    return agree;
}

bool random_shapes_agree(const Kernel *kernel, Function function, char disagreement[static DIAGNOSIS]) {
    Random random = {.state = 1};
    for (int i = 0; i < RANDOM_CALLS; i++)
        if (!random_call_agrees(kernel, function, &random, i < RANDOM_CALLS - 1 ? SMALL : MEDIUM, disagreement)) return false;
    return true;
}

/* ------------------------------------------------------------------ a kernel as a whole */

const char *fate_name(Fate fate) {
    static const char *const names[] = {"right", "not implemented", "wrong", "out of bounds", "crashes", "does not come back",
                                        "exits", "does not compile"};
    return names[fate];
}

/* The sandbox says in words how a call ended; anything else that can be said of one is a wrong answer. */
static Fate fate_of(const char *trouble) {
    static const struct {
        const char *words;
        Fate fate;
    } ends[] = {{"overran: ", OUT_OF_BOUNDS},          {"went out of bounds: ", OUT_OF_BOUNDS}, {"wrote to its input ", OUT_OF_BOUNDS},
                {"crashed: ", CRASHES},                {"followed a NULL pointer", CRASHES},
                {"did not come back", DOES_NOT_COME_BACK}, {"ended the program", EXITS}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(trouble, ends[i].words)) return ends[i].fate;
    return WRONG;
}

/* A kernel that does not come back is not waited for in every case. */
static void run_cases(Judgement *judgement, Function function) {
    bool lost = false;
    for (int c = 0; c < judgement->golden.count; c++) {
        Verdict *verdict = &judgement->verdicts[c];
        const GoldenCase *one = &judgement->golden.cases[c];
        *verdict = lost ? (Verdict){.golden_case = one, .trouble = "not tried"} : verdict_of_call(judgement->kernel, one, function);
        lost |= fate_of(verdict->trouble) == DOES_NOT_COME_BACK;
        judgement->passed += verdict_passes(verdict);
    }
}

static const Verdict *first(bool is_so(const Verdict *), const Judgement *judgement) {
    for (int c = 0; c < judgement->golden.count; c++)
        if (is_so(&judgement->verdicts[c])) return &judgement->verdicts[c];
    return NULL;
}

static bool in_trouble(const Verdict *verdict) { return verdict->trouble[0]; }
static bool fails(const Verdict *verdict) { return !verdict_passes(verdict); }
static bool written(const Verdict *verdict) { return verdict->agreement.unwritten < verdict->agreement.count; }

/* Of several things that are wrong, the one to be told first: what kept the kernel from an answer, the mistake that
 * the answers show, what they have in common, and if all else fails the first wrong number. */
static void say_what_is_wrong(Judgement *judgement) {
    int count = judgement->golden.count;
    char *say = judgement->diagnosis, where[256];
    const Verdict *troubled = first(in_trouble, judgement), *failing = first(fails, judgement);
    const char *twin = diagnose(judgement->kernel, count, judgement->verdicts).twin;
    judgement->fate = troubled ? fate_of(troubled->trouble) : WRONG;
    if (troubled) snprintf(say, DIAGNOSIS, "case %s: %s", troubled->golden_case->name, troubled->trouble);
    else if (!first(written, judgement) || (twin && strcmp(twin, DOES_NOTHING) == 0)) judgement->fate = NOT_IMPLEMENTED;
    else if (twin) snprintf(say, DIAGNOSIS, "%s", golden_advice(&judgement->golden, twin));
    else if (general_advice(judgement->kernel, count, judgement->verdicts, say)) return;
    else first_wrong_text(where, failing), snprintf(say, DIAGNOSIS, "case %s: %s", failing->golden_case->name, where);
}

Judgement judge(const Kernel *kernel, Function function) {
    Judgement judgement = {.kernel = kernel, .golden = golden_open(kernel->name)};
    size_t bytes = (size_t)judgement.golden.count * sizeof *judgement.verdicts;
    judgement.verdicts = memset(allocate(bytes), 0, bytes);
    if (function) run_cases(&judgement, function);
    if (!function) judgement.fate = NOT_IMPLEMENTED;
    else if (judgement.passed < judgement.golden.count) say_what_is_wrong(&judgement);
    else if (function != kernel->ours) {
        if (random_shapes_agree(kernel, function, judgement.diagnosis)) judgement.random_shapes = RANDOM_CALLS;
        else judgement.fate = fate_of(judgement.diagnosis);
    }
    return judgement;
}

void judgement_print(const Judgement *judgement, const char *source) {
    const Kernel *kernel = judgement->kernel;
    if (report(kernel, &judgement->golden, source, judgement->golden.count, judgement->verdicts) < judgement->golden.count) return;
    if (judgement->fate != RIGHT) printf("FAIL: %s\n", judgement->diagnosis);
    else if (judgement->random_shapes)
        printf("PASS: %d random shapes agree with chapters/%s\n", judgement->random_shapes, kernel->chapter);
}

void judgement_free(Judgement *judgement) {
    for (int c = 0; c < judgement->golden.count; c++) verdict_free(&judgement->verdicts[c]);
    free(judgement->verdicts);
    golden_close(&judgement->golden);
}
