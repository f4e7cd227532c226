/* Checks beyond the golden cases: random shapes, beside the chapter's own kernel, and calls that
 * the contract refuses. */
#include "tests/judge/diagnosis.h"
#include "common/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ random shapes */

/* Two right float32 kernels on normal random numbers differ by the roundings of their sums, which
 * grow with the root of a length of at most some hundred; 64 ulps of the largest output is many
 * times that, and still some thousand times less than any wrong index makes. */
static const double RANDOM_TOLERANCE = 64;

typedef struct {
    Tensor answer;
    Size size;
} Ours;

static bool is_like_ours(const void *truth, const Tensor *output, char where[static WORDS]) {
    const Tensor *ours = &((const Ours *)truth)->answer;
    double *expected = tensor_to_double(ours);
    float *got = tensor_to_float(output);
    /* Sums over thousands: the root is four times as large. Where float32 noise tips a rounding to
     * bf16, the two differ by a unit of bf16: 2^16 of float32. */
    double tolerance = RANDOM_TOLERANCE * (((const Ours *)truth)->size == FAR ? 4 : 1) +
                       (ours->dtype == BF16 ? 0x1p16 : 0);
    size_t count = tensor_count(ours);
    Comparison comparison = check_within(tolerance, count, count, got, expected);
    if (comparison.wrong)
        difference_text(where, comparison.first_wrong, ours, got[comparison.first_wrong]);
    free(expected);
    free(got);
    return comparison.wrong == 0;
}

/* "x [3, 17], weight [17], eps 1e-05" */
static char *call_text(char text[static WORDS], const Call *call) {
    char shape[SHAPE_TEXT];
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < call->input_count && length < WORDS; i++) {
        const Tensor *input = &call->input[i];
        const char *comma = i ? ", " : "";
        if (input->rank) shape_text(shape, input->rank, input->shape);
        else number_text(shape, 7, tensor_get(input, 0));
        length +=
            (size_t)snprintf(text + length, WORDS - length, "%s%s %s", comma, input->name, shape);
    }
    return text;
}

/* The answer of the chapter's own kernel. It is computed after the reader's, which therefore cannot
 * find it. */
static Tensor our_answer(const Kernel *kernel, Call *call) {
    Run run = {.call = *call, .threads = 1, .output = call_room(call, tensor_bytes(&call->output))};
    Outcome outcome = run_job(NULL, kernel->ours, kernel->unpack, 1, &run);
    if (outcome.returned < 1) fail("the chapter's own %s %s", kernel->name, outcome.trouble);
    Tensor output = call->output;
    output.data = run.output;
    return output;
}

static bool random_call_agrees(const Subject *subject, const Random *before, Random *random,
                               Size size, char disagreement[static DIAGNOSIS]) {
    Call first = {0}, call = {0};
    Ours ours = {.size = size};
    Trial trial = {.subject = subject, .call = &call, .is_right = is_like_ours, .truth = &ours};
    if (before) {
        subject->kernel->random_call(&first, &(Random){before->state}, SMALL);
        trial.before = &first;
    }
    subject->kernel->random_call(&call, random, size);
    trial_run(&trial);
    ours.answer = our_answer(subject->kernel, &call);

    char what[WORDS] = "", inputs[WORDS];
    snprintf(what, sizeof what, "%s", trial_trouble(&trial));
    bool agree = !what[0] && !trial_deviates(&trial, true, what);
    bool shorter = !agree && trial.outcome.returned == 0 &&
                   before; /* it did not come through the call before */
    if (!agree)
        snprintf(disagreement, DIAGNOSIS, "random shape %.200s: %.280s",
                 call_text(inputs, shorter ? &first : &call), what);
    call_free(&call);
    if (before) call_free(&first);
    return agree;
}

/* Each shape comes after the one before it. */
bool random_shapes_agree(const Subject *subject, char disagreement[static DIAGNOSIS]) {
    Random random = {.state = 1}, before = random;
    for (int i = 0; i < RANDOM_CALLS; i++) {
        const Random start = random;
        Size size = i < RANDOM_CALLS - 2 ? SMALL : i < RANDOM_CALLS - 1 ? FAR : MEDIUM;
        if (!random_call_agrees(subject, i ? &before : NULL, &random, size, disagreement))
            return false;
        before = start;
    }
    return true;
}

/* ------------------------------------------------------------------ what the contract refuses */

static bool refuses_one(const Subject *subject, const Refusal *refusal,
                        char say[static DIAGNOSIS]) {
    Run run = {.threads = 1, .may_end = true};
    refusal->call(&run.call);
    Outcome outcome =
        run_job(subject->library, subject->function, subject->kernel->unpack, 1, &run);
    bool went_on = outcome.returned == 1;
    if (outcome.complaint[0]) snprintf(say, DIAGNOSIS, "%s: %s", refusal->words, outcome.complaint);
    else if (went_on)
        snprintf(say, DIAGNOSIS, "%s: the contract says that fail() refuses it, and it went on",
                 refusal->words);
    else
        snprintf(say, DIAGNOSIS, "%s: the contract says that fail() refuses it, and it %s",
                 refusal->words, outcome.trouble);
    call_free(&run.call);
    return !went_on && !outcome.complaint[0] && !outcome.trouble[0];
}

Refusing refuses(const Subject *subject, char say[static DIAGNOSIS]) {
    const Refusal *refusal = subject->kernel->refusals;
    for (; refusal && refusal->words; refusal++)
        if (!refuses_one(subject, refusal, say))
            return refusal->is_asked ? MUST_REFUSE : TO_BE_TOLD;
    return REFUSES;
}
