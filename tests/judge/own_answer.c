#include "tests/judge/own_answer.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two right float32 kernels differ by their roundings. How much these change an answer is measured,
 * with the chapter's own kernel: every input is changed by 2^-16 of itself, which is 256 times what
 * one rounding does, up or down at random, and once all up. What an answer moves by is, over 256,
 * what one rounding of the inputs does to it, and so of the same order as what one rounding of
 * every product does. The numbers of a row are as many draws, unless the row is narrow or one
 * weight decides it, as in attention that hesitates between two keys. So more are made where that
 * is quick, or a few of many rows would seem not to move at all.
 *
 * A sum of n terms rounds its total n times, and not only its terms once: that is up to sqrt(n)
 * times as much, as roundings of either sign add up. So a number may be off by
 *
 *   ROUNDINGS sqrt(n) (what it moves by) + OWN_ULPS (units in the last place of its row's largest)
 *
 * with n the longest dimension: a hundred-thousandth of the sum of a row of 4096, where a wrong
 * index makes a number another one. Where an answer jumps, as at the border of the most likely
 * tokens, any answer is as good. */
static const double ROUNDINGS = 4, OWN_ULPS = 16;
enum { DRAWS = 2, MOST_DRAWS = 5, LARGE_INPUT = 1 << 20, STEPS = 256 };

/* Where no input is a float32, nothing can be changed a little: so many units in the last place of
 * the largest of all numbers. */
static const double UNMEASURED_ULPS = 64;

static bool can_change(const Tensor *input) { return input->dtype == F32 && input->rank > 0; }

/* The call with its inputs changed by 2^-16 of themselves: at random, or all up. */
static Call changed(Call *call, bool all_up, int draw) {
    Random random = {.state = 3 + (uint64_t)draw};
    Call other = *call;
    for (int i = 0; i < call->input_count; i++) {
        const Tensor *input = &call->input[i];
        if (!can_change(input)) continue;
        const float *numbers = input->data;
        float *moved = call_room(call, tensor_bytes(input));
        uint64_t bits = 0;
        for (size_t j = 0; j < tensor_count(input); j++) {
            if (j % 64 == 0) bits = random_bits(&random);
            bool up = all_up || (bits >> j % 64 & 1);
            moved[j] = numbers[j] * (up ? 1 + 0x1p-16f : 1 - 0x1p-16f);
        }
        other.input[i].data = moved;
    }
    return other;
}

static double longest_dimension(const Call *call) {
    size_t longest = 1;
    for (int i = 0; i < call->input_count; i++)
        for (int axis = 0; axis < call->input[i].rank; axis++)
            if (call->input[i].shape[axis] > longest) longest = call->input[i].shape[axis];
    return (double)longest;
}

/* By what each number moves when the inputs are changed; infinity where it jumps. */
static double *moves_of(size_t count, const Tensor *answer, int draws,
                        const Run changed_runs[draws]) {
    double *moves = memset(xmalloc(count * sizeof *moves), 0, count * sizeof *moves);
    float *was = tensor_to_float(answer);
    for (int draw = 0; draw < draws; draw++) {
        Tensor other = *answer;
        other.data = changed_runs[draw].output;
        float *is = tensor_to_float(&other);
        for (size_t i = 0; i < count; i++) {
            double move = fabs((double)is[i] - was[i]) / STEPS;
            if (isfinite(was[i]) != isfinite(is[i])) moves[i] = INFINITY;
            else if (isfinite(was[i]) && move > moves[i]) moves[i] = move;
        }
        free(is);
    }
    free(was);
    return moves;
}

/* In a gradient terms cancel, to 0 for a query that sees one key. Another order of the sums leaves
 * a rounding of sums that are as large as the largest gradient: up to sqrt(n) ulps of it for n
 * terms.
 */
static double left_of_cancelled_terms(const Kernel *kernel, const Call *call, size_t count,
                                      const double truth[]) {
    static const char gradient[] = "_backward";
    size_t length = strlen(kernel->name), ending = strlen(gradient);
    bool is_gradient = length > ending && strcmp(kernel->name + length - ending, gradient) == 0;
    double of_a_sum = kernel->pointwise ? 0 : sqrt(longest_dimension(call));
    return is_gradient ? fmax(CHECK_ULPS, of_a_sum) * row_ulp(count, truth) : 0;
}

/* A number of a pointwise kernel is made of the product of its inputs, or of itself if it is
 * larger: 1 + erf(x) loses the digits of a small result, but none of x. */
static double made_of(const Tensor inputs[], int input_count, size_t index, size_t count,
                      double truth) {
    double product = 1;
    for (int i = 0; i < input_count; i++)
        if (tensor_count(&inputs[i]) == count) product *= tensor_get(&inputs[i], index);
    return fmax(fabs(product), fabs(truth));
}

/* By how many ulps of that PyTorch's own float32 errs in the golden cases. A kernel's many calls
 * ask one after the other. */
static double error_of_pytorch(const Kernel *kernel) {
    static const Kernel *known;
    static double most;
    if (kernel == known) return most;
    Golden golden = golden_open(kernel->name);
    known = kernel;
    most = 0;
    for (int c = 0; c < golden.count; c++) {
        const GoldenCase *one = &golden.cases[c];
        size_t count = tensor_count(&one->expected);
        for (size_t i = 0; i < count; i++) {
            double truth = tensor_get(&one->expected64, i),
                   error = fabs(tensor_get(&one->expected, i) - truth),
                   from = made_of(one->input, one->input_count, i, count, truth);
            if (isfinite(error) && isfinite(from)) most = fmax(most, error / row_ulp(1, &from));
        }
    }
    golden_close(&golden);
    return most;
}

/* A pointwise kernel may lose as many digits as PyTorch's does. */
static void allow_as_in_pytorch(const Kernel *kernel, const Call *call, size_t count,
                                const double truth[], double bound[]) {
    double multiple = CHECK_MULTIPLE * error_of_pytorch(kernel);
    for (size_t i = 0; i < count; i++) {
        double from = made_of(call->input, call->input_count, i, count, truth[i]);
        if (isfinite(from)) bound[i] = fmax(bound[i], multiple * row_ulp(1, &from));
    }
}

/* So many numbers share their roundings. */
static size_t row_of(const Kernel *kernel, bool exact, const Tensor *answer) {
    return exact || kernel->pointwise || answer->rank == 0 ? 1 : answer->shape[answer->rank - 1];
}

/* `draws` is 0 where nothing can be changed a little. */
static double *bounds_of(const Kernel *kernel, bool exact, const Call *call, const Tensor *answer,
                         int draws, const Run changed_runs[draws]) {
    size_t count = tensor_count(answer), row = row_of(kernel, exact, answer);
    double *bound = memset(xmalloc(count * sizeof *bound), 0, count * sizeof *bound);
    double *truth = tensor_to_double(answer);
    if (answer->dtype == BF16) { /* rounded twice, either may be tipped */
        for (size_t i = 0; i < count; i++) bound[i] = 2 * 0x1p16 * row_ulp(1, &truth[i]);
    } else if (!exact && !draws) {
        double unit = row_ulp(count, truth);
        for (size_t i = 0; i < count; i++) bound[i] = UNMEASURED_ULPS * unit;
    } else if (!exact) {
        double *moves = moves_of(count, answer, draws, changed_runs);
        double factor = ROUNDINGS * sqrt(longest_dimension(call)),
               least = left_of_cancelled_terms(kernel, call, count, truth);
        for (size_t start = 0; start < count; start += row) {
            double most = 0;
            for (size_t i = start; i < start + row; i++)
                if (isfinite(moves[i])) most = fmax(most, moves[i]);
            double own = OWN_ULPS * row_ulp(row, truth + start) + factor * most;
            for (size_t i = start; i < start + row; i++)
                bound[i] = isinf(moves[i]) ? INFINITY : fmax(own, least);
        }
        free(moves);
        if (kernel->pointwise) allow_as_in_pytorch(kernel, call, count, truth, bound);
    }
    free(truth);
    return bound;
}

/* It is computed after the reader's answer, which therefore cannot find it. */
OwnAnswer own_answer(const Kernel *kernel, bool exact, bool is_long, Call *call,
                     char trouble[static TROUBLE]) {
    Run runs[1 + MOST_DRAWS];
    bool measured = false;
    size_t inputs = 0;
    for (int i = 0; i < call->input_count; i++) {
        measured |= can_change(&call->input[i]);
        inputs += tensor_count(&call->input[i]);
    }
    measured = measured && !exact && call->output.dtype != BF16;
    bool is_quick = !kernel->pointwise && inputs < LARGE_INPUT;
    int draws = !measured ? 0 : is_quick ? MOST_DRAWS : DRAWS, count = 1 + draws;
    for (int r = 0; r < count; r++)
        runs[r] = (Run){.call = r ? changed(call, r == draws, r) : *call,
                        .threads = 1,
                        .is_long = is_long,
                        .output = call_room(call, tensor_bytes(&call->output))};
    Outcome outcome = run_job(NULL, kernel->ours, kernel->unpack, count, runs);
    OwnAnswer ours = {.answer = call->output};
    snprintf(trouble, TROUBLE, "%s", outcome.trouble);
    if (outcome.returned < count) return ours;
    ours.answer.data = runs[0].output;
    ours.bound = bounds_of(kernel, exact, call, &ours.answer, draws, runs + 1);
    return ours;
}

bool answers_exactly(const Kernel *kernel) {
    Golden golden = golden_open(kernel->name);
    bool exact = golden.count > 0;
    for (int c = 0; c < golden.count; c++) exact &= golden.cases[c].exact;
    golden_close(&golden);
    return exact;
}

/* ------------------------------------------------------------------ as a case */

static Tensor copy_of(const Tensor *tensor) {
    Tensor copy = *tensor;
    const char *name = tensor->name ? tensor->name : "expected";
    copy.name = xstrndup(name, strlen(name));
    copy.data = memcpy(xmalloc(tensor_bytes(tensor) + 1), tensor->data, tensor_bytes(tensor));
    return copy;
}

GoldenCase case_of_call(const char *name, const Call *call, const OwnAnswer *ours, bool exact) {
    GoldenCase made = {.name = xstrndup(name, strlen(name)),
                       .sentence = "",
                       .expected = copy_of(&ours->answer),
                       .exact = exact};
    for (int i = 0; i < call->input_count; i++)
        made.input[made.input_count++] = copy_of(&call->input[i]);
    made.expected64 = made.expected;
    if (ours->bound)
        made.rounding = copy_of(&(Tensor){.name = "rounding",
                                          .dtype = F64,
                                          .rank = 1,
                                          .shape = {tensor_count(&ours->answer)},
                                          .data = ours->bound});
    return made;
}

static void tensor_free(const Tensor *tensor) {
    free((char *)tensor->name);
    free((void *)tensor->data);
}

void case_free(const GoldenCase *made) {
    for (int i = 0; i < made->input_count; i++) tensor_free(&made->input[i]);
    for (int i = 0; i < made->known_mistake_count; i++) tensor_free(&made->known_mistake[i]);
    tensor_free(&made->expected);
    tensor_free(&made->rounding);
    free((char *)made->name);
}

bool has_own_bounds(const GoldenCase *golden_case) {
    return golden_case->rounding.name && golden_case->rounding.dtype == F64;
}

Comparison compare_with_own(const Kernel *kernel, const GoldenCase *made, const float got[]) {
    size_t count = tensor_count(&made->expected),
           row = made->exact ? 1 : golden_row(made, kernel->pointwise);
    double *truth = tensor_to_double(&made->expected);
    Comparison comparison = check_bounds(count, got, truth, made->rounding.data);
    comparison.ulps = check_within(CHECK_ULPS, count, row, got, truth).ulps;
    free(truth);
    return comparison;
}
