/* Checks beyond the golden cases: random shapes, beside the chapter's own kernel, and calls that
 * the contract refuses. */
#include "tests/judge/diagnosis.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ random shapes */

/* Two right float32 kernels differ by their roundings. How much these change an answer is measured,
 * with the chapter's own kernel: every input is changed by 2^-16 of itself, which is 256 times what
 * one rounding does, up or down at random, and once all up. What an answer moves by is, over 256, what
 * one rounding of the inputs does to it, and so of the same order as what one rounding of every
 * product does. The numbers of a row are as many draws; where a row is narrow, more are needed, or a
 * few of many rows would seem not to move at all.
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
enum { DRAWS = 2, MOST_DRAWS = 5, NARROW = 8, LARGE_INPUT = 1 << 20, STEPS = 256 };

/* Where no input is a float32, nothing can be changed a little: so many units in the last place of
 * the largest of all numbers. */
static const double UNMEASURED_ULPS = 64;

typedef struct {
    Tensor answer;
    double *bound; /* for each number: what it may be off by */
} Ours;

static bool is_like_ours(const void *truth, const Tensor *output, char where[static WORDS]) {
    const Ours *ours = truth;
    double *expected = tensor_to_double(&ours->answer);
    float *got = tensor_to_float(output);
    Comparison comparison = check_bounds(tensor_count(output), got, expected, ours->bound);
    if (comparison.wrong)
        difference_text(where, comparison.first_wrong, &ours->answer, got[comparison.first_wrong]);
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
        double factor = ROUNDINGS * sqrt(longest_dimension(call));
        for (size_t start = 0; start < count; start += row) {
            double most = 0;
            for (size_t i = start; i < start + row; i++)
                if (isfinite(moves[i])) most = fmax(most, moves[i]);
            double own = OWN_ULPS * row_ulp(row, truth + start) + factor * most;
            for (size_t i = start; i < start + row; i++)
                bound[i] = isinf(moves[i]) ? INFINITY : own;
        }
        free(moves);
    }
    free(truth);
    return bound;
}

/* The answer of the chapter's own kernel. It is computed after the reader's, which therefore cannot
 * find it. */
static Ours our_answer(const Kernel *kernel, bool exact, bool is_long, Call *call) {
    Run runs[1 + MOST_DRAWS];
    bool measured = false;
    size_t inputs = 0;
    for (int i = 0; i < call->input_count; i++) {
        measured |= can_change(&call->input[i]);
        inputs += tensor_count(&call->input[i]);
    }
    measured = measured && !exact && call->output.dtype != BF16;
    bool narrow = row_of(kernel, exact, &call->output) < NARROW && !kernel->pointwise &&
                  inputs < LARGE_INPUT;
    int draws = !measured ? 0 : narrow ? MOST_DRAWS : DRAWS, count = 1 + draws;
    for (int r = 0; r < count; r++)
        runs[r] = (Run){.call = r ? changed(call, r == draws, r) : *call,
                        .threads = 1,
                        .is_long = is_long,
                        .output = call_room(call, tensor_bytes(&call->output))};
    Outcome outcome = run_job(NULL, kernel->ours, kernel->unpack, count, runs);
    if (outcome.returned < count) fail("the chapter's own %s %s", kernel->name, outcome.trouble);
    Ours ours = {.answer = call->output};
    ours.answer.data = runs[0].output;
    ours.bound = bounds_of(kernel, exact, call, &ours.answer, draws, runs + 1);
    return ours;
}

/* What a call is tried for, and what comes of it. */
typedef struct {
    const Subject *subject;
    bool exact; /* one answer alone is right, to the bit */
    Size size;
    bool many_times;
    char *say;  /* [DIAGNOSIS]: what is wrong */
    char *note; /* [DIAGNOSIS]: what else is to be told; "" if nothing is */
    Verdict
        *wrong; /* the call whose answer is wrong, as a case; its output is NULL if there is none */
} Attempt;

static Tensor copy_of(const Tensor *tensor) {
    Tensor copy = *tensor;
    copy.name = xstrndup(tensor->name, strlen(tensor->name));
    copy.data = memcpy(xmalloc(tensor_bytes(tensor) + 1), tensor->data, tensor_bytes(tensor));
    return copy;
}

/* Makes a case of a call, for diagnose(): what the course's kernel answers is expected. */
static void keep_wrong(const Attempt *attempt, const Call *call, const Ours *ours,
                       const Tensor *output) {
    GoldenCase *one = xmalloc(sizeof *one);
    size_t count = tensor_count(output);
    *one = (GoldenCase){.name = "random", .sentence = "", .exact = attempt->exact};
    for (int i = 0; i < call->input_count; i++)
        one->input[one->input_count++] = copy_of(&call->input[i]);
    one->expected = copy_of(&ours->answer);
    one->expected64 = one->expected;
    one->rounding = (Tensor){.name = "rounding", .dtype = F64, .rank = 1, .shape = {count}};
    one->rounding.data = memcpy(xmalloc(count * sizeof *ours->bound + 1), ours->bound,
                                count * sizeof *ours->bound);
    float *got = tensor_to_float(output);
    double *truth = tensor_to_double(&ours->answer);
    *attempt->wrong = (Verdict){.golden_case = one, .output = got};
    attempt->wrong->comparison = check_bounds(count, got, truth, ours->bound);
    free(truth);
}

void random_verdict_free(Verdict *verdict) {
    if (!verdict->output) return;
    GoldenCase *one = (GoldenCase *)verdict->golden_case;
    for (int i = 0; i < one->input_count; i++) {
        free((void *)one->input[i].data);
        free((char *)one->input[i].name);
    }
    free((void *)one->rounding.data);
    free((void *)one->expected.data);
    free((char *)one->expected.name);
    free(one);
    verdict_free(verdict);
}

static void note_leak(const Attempt *attempt, const Outcome *outcome) {
    enum { SOME = 16 }; /* bytes: an array, and not a counter of the library's */
    if (outcome->leaked < SOME || attempt->note[0]) return;
    snprintf(attempt->note, DIAGNOSIS,
             "each call leaves %zu bytes of the heap behind, which nobody can free: a malloc "
             "without its free",
             outcome->leaked);
}

/* Each call comes after one of another shape, if there is one before it. */
static bool random_call_agrees(const Attempt *attempt, const Random *before, Random *random) {
    const Subject *subject = attempt->subject;
    Call first = {0}, call = {0};
    Ours ours = {0};
    Trial trial = {.subject = subject,
                   .call = &call,
                   .is_right = is_like_ours,
                   .truth = &ours,
                   .many_times = attempt->many_times,
                   .many_threads = attempt->size == MEDIUM,
                   .meets = attempt->size == MEDIUM && subject->library &&
                            library_has_threads(subject->library),
                   .is_long = attempt->size == LONG};
    if (before) {
        subject->kernel->random_call(&first, &(Random){before->state}, SMALL);
        trial.before = &first;
    }
    subject->kernel->random_call(&call, random, attempt->size);
    trial_run(&trial);
    ours = our_answer(subject->kernel, attempt->exact, attempt->size == LONG, &call);

    char what[WORDS] = "", inputs[WORDS];
    snprintf(what, sizeof what, "%s", trial_trouble(&trial));
    bool agree = !what[0] && !trial_deviates(&trial, true, what);
    bool shorter = !agree && trial.outcome.returned == 0 &&
                   before; /* it did not come through the call before */
    bool late = attempt->size == LONG && status_of(what) == DOES_NOT_COME_BACK;
    if (late) {
        snprintf(attempt->note, DIAGNOSIS,
                 "with %.200s a call takes over %d seconds, so what it answers there was not "
                 "looked at",
                 call_text(inputs, &call), LONG_SECONDS);
        agree = true;
    } else if (!agree)
        snprintf(attempt->say, DIAGNOSIS, "random shape %.200s: %.280s",
                 call_text(inputs, shorter ? &first : &call), what);
    char where[WORDS];
    if (!agree && !trial_trouble(&trial)[0] && !is_like_ours(&ours, &trial.first, where))
        keep_wrong(attempt, &call, &ours, &trial.first);
    note_leak(attempt, &trial.outcome);
    free(ours.bound);
    call_free(&call);
    if (before) call_free(&first);
    return agree;
}

unsigned long seed_of_the_day(void) {
    const char *given = getenv("SEED");
    if (given && *given) return strtoul(given, NULL, 10);
    time_t now = time(NULL);
    struct tm day;
    gmtime_r(&now, &day);
    return (unsigned long)(day.tm_year + 1900) * 10000 + (unsigned long)(day.tm_mon + 1) * 100 +
           (unsigned long)day.tm_mday;
}

static bool is_exact(const Kernel *kernel) {
    Golden golden = golden_open(kernel->name);
    bool exact = golden.count > 0;
    for (int c = 0; c < golden.count; c++) exact &= golden.cases[c].exact;
    golden_close(&golden);
    return exact;
}

/* One call for each dimension that can be long. */
static bool long_calls_agree(Attempt *attempt, Random *random) {
    attempt->size = LONG;
    for (int which = 0, asked = 1; which < asked; which++) {
        begin_long(which);
        if (!random_call_agrees(attempt, NULL, random)) {
            snprintf(
                attempt->note, DIAGNOSIS,
                "All shorter ones are right. Is there room for fewer, is a counter of 16 bits, "
                "or is a long sum kept in a float32?");
            return false;
        }
        asked = extents_asked();
        if (attempt->note[0] && strstr(attempt->note, "was not looked at")) return true;
    }
    return true;
}

bool random_shapes_agree(const Subject *subject, char disagreement[static DIAGNOSIS],
                         char note[static DIAGNOSIS], Verdict *wrong) {
    Random random = {.state = 1}, before = random;
    Attempt attempt = {subject, is_exact(subject->kernel), SMALL, false, disagreement, note, wrong};
    note[0] = '\0';
    *wrong = (Verdict){0};
    for (int i = 0; i < RANDOM_CALLS + CALLS_OF_THE_DAY; i++) {
        if (i == RANDOM_CALLS) random.state = seed_of_the_day();
        const Random start = random;
        attempt.size = i == RANDOM_CALLS - 2 ? FAR : i == RANDOM_CALLS - 1 ? MEDIUM : SMALL;
        attempt.many_times = i == 1;
        if (!random_call_agrees(&attempt, i ? &before : NULL, &random)) {
            if (i >= RANDOM_CALLS && strlen(disagreement) < DIAGNOSIS - 32)
                sprintf(disagreement + strlen(disagreement), " (SEED=%lu)", seed_of_the_day());
            return false;
        }
        before = start;
    }
    attempt.many_times = false;
    attempt.size = EMPTY;
    if (subject->kernel->may_be_empty && !random_call_agrees(&attempt, NULL, &random)) return false;
    return long_calls_agree(&attempt, &(Random){.state = 1});
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
