#include "tests/verify/verify.h"
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

/* ------------------------------------------------------------------ which mistake is it? */

static const Tensor *twin_named(const GoldenCase *golden_case, const char *name) {
    for (int i = 0; i < golden_case->twin_count; i++)
        if (strcmp(golden_case->twin[i].name, name) == 0) return &golden_case->twin[i];
    return NULL;
}

/* Is the output this twin? It is if it is as near to the twin as a right answer is to PyTorch's. One element in
 * fifty may stray: a mistake made in float32 by other hands can cancel in other digits. */
static bool is_twin(const Kernel *kernel, const Verdict *verdict, const Tensor *twin, double *distance) {
    if (!verdict->output) return false;
    double *truth = tensor_to_double(twin);
    double tolerance = CHECK_MULTIPLE * verdict->agreement.reference + CHECK_ULPS;
    Agreement near = check_within(tolerance, tensor_count(twin), golden_row(verdict->golden_case, kernel->pointwise),
                                  verdict->output, truth);
    free(truth);
    *distance = fmax(*distance, near.worst);
    return near.wrong * 50 <= near.count && near.wrong < verdict->agreement.wrong;
}

/* In how many of the cases that store the twin is the output that twin? */
static double share_explained(const Kernel *kernel, const char *twin, int count, const Verdict verdicts[],
                              double *distance) {
    int stored = 0, matched = 0;
    *distance = 0;
    for (int i = 0; i < count; i++) {
        const Tensor *outputs = twin_named(verdicts[i].golden_case, twin);
        if (!outputs || verdicts[i].missing) continue;
        stored++;
        matched += is_twin(kernel, &verdicts[i], outputs, distance);
    }
    return stored ? (double)matched / stored : 0;
}

const char *diagnose(const Kernel *kernel, int count, const Verdict verdicts[], double *distance) {
    const char *best = NULL;
    double best_share = 0.5; /* less than half of the cases explained is no explanation */
    for (int i = 0; i < count; i++)
        for (int t = 0; t < verdicts[i].golden_case->twin_count; t++) {
            const char *twin = verdicts[i].golden_case->twin[t].name;
            double far, share = share_explained(kernel, twin, count, verdicts, &far);
            bool better = share > best_share || (best && share == best_share && far < *distance);
            if (!better) continue;
            best = twin, best_share = share, *distance = far;
        }
    return best;
}

/* A sentence for what no twin explains, or NULL. */
static const char *general_advice(int count, const Verdict verdicts[]) {
    size_t wrong = 0, unwritten = 0;
    double worst = 0;
    bool trouble = false;
    for (int i = 0; i < count; i++) {
        const Verdict *v = &verdicts[i];
        trouble |= v->missing || v->trouble[0];
        wrong += v->agreement.wrong, unwritten += v->agreement.unwritten;
        if (v->agreement.wrong) worst = isnan(worst) || isnan(v->agreement.ulps) ? NAN : fmax(worst, v->agreement.ulps);
    }
    if (wrong && wrong == unwritten) return "What is wrong was never written: is the kernel implemented, and does its loop reach the end?";
    if (isnan(worst)) return "NaN or infinity where PyTorch has a number, or the other way round: an overflow, 0/0, or a swallowed NaN.";
    if (wrong && !trouble && worst < 1e4)
        return "The right function, less exactly than PyTorch: sum in double or in several partial sums, and mind cancellation.";
    return NULL;
}

/* ------------------------------------------------------------------ the report */

static char *index_text(char text[static SHAPE_TEXT], size_t index, const Tensor *tensor) {
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

    double distance;
    const char *twin = diagnose(kernel, count, verdicts, &distance), *advice = general_advice(count, verdicts);
    if (twin) printf("  %s (Your output is that, to %.1e.)\n", golden_advice(golden, twin), distance);
    else if (advice) printf("  %s\n", advice);
    return passed;
}

/* ------------------------------------------------------------------ random shapes */

/* Two right float32 kernels on normal random numbers differ by the roundings of their sums, which grow with the
 * root of a length of at most some hundred; 64 ulps of the largest output is many times that, and still some
 * thousand times less than any wrong index makes. */
static const double RANDOM_TOLERANCE = 64;
enum { RANDOM_CALLS = 24 };

static bool outputs_agree(const Tensor *ours, const Tensor *theirs) {
    double *truth = tensor_to_double(ours);
    float *got = tensor_to_float(theirs);
    /* One rounding of a bf16 is 2^16 float32 ulps; nearly every element must still be equal. */
    double tolerance = RANDOM_TOLERANCE + (ours->dtype == BF16 ? 0x1p16 : 0);
    size_t count = tensor_count(ours);
    bool agree = check_within(tolerance, count, count, got, truth).wrong == 0;
    free(truth), free(got);
    return agree;
}

bool random_shapes_agree(const Kernel *kernel, Function function) {
    Random random = {.state = 1};
    char trouble[TROUBLE] = "";
    for (int i = 0; i < RANDOM_CALLS; i++) {
        Call call = {0}, again = {0};
        Random start = random;
        kernel->random_call(&call, &random, SMALL);
        kernel->random_call(&again, &start, SMALL);
        bool ran = call_run(&call, kernel->unpack, kernel->ours, trouble) &&
                   call_run(&again, kernel->unpack, function, trouble);
        bool agree = ran && outputs_agree(&call.output.tensor, &again.output.tensor);
        char shape[SHAPE_TEXT];
        shape_text(shape, call.output.tensor.rank, call.output.tensor.shape);
        call_free(&call), call_free(&again);
        if (agree) continue;
        printf("FAIL: random shapes: output %s %s\n", shape, ran ? "differs from the chapter's kernel" : trouble);
        return false;
    }
    printf("PASS: %d random shapes agree with chapters/%s\n", RANDOM_CALLS, kernel->chapter);
    return true;
}
