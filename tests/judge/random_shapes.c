/* Checks beyond the golden cases: random shapes, beside the chapter's own kernel, and calls that
 * the contract refuses. */
#include "tests/judge/diagnosis.h"
#include "tests/judge/own_answer.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ random shapes */

static bool is_like_ours(const void *truth, const Tensor *output, char where[static WORDS]) {
    const OwnAnswer *ours = truth;
    double *expected = tensor_to_double(&ours->answer);
    float *got = tensor_to_float(output);
    Comparison comparison = check_bounds(tensor_count(output), got, expected, ours->bound);
    if (comparison.wrong)
        difference_text(where, comparison.first_wrong, &ours->answer, got[comparison.first_wrong]);
    free(expected);
    free(got);
    return comparison.wrong == 0;
}

/* "x [3, 17] all negative, weight [17], eps 1e-05" */
static char *call_text(char text[static WORDS], const Call *call, const Numbers *numbers) {
    char shape[SHAPE_TEXT + 64];
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < call->input_count && length < WORDS; i++) {
        const Tensor *input = &call->input[i];
        const char *comma = i ? ", " : "";
        NumberKind kind = input->rank && input->dtype == F32 ? numbers->kind[i] : USUAL;
        if (input->rank) shape_text(shape, input->rank, input->shape);
        else number_text(shape, 7, tensor_get(input, 0));
        if (kind != USUAL) sprintf(shape + strlen(shape), " %s", kind_text(kind));
        length +=
            (size_t)snprintf(text + length, WORDS - length, "%s%s %s", comma, input->name, shape);
    }
    return text;
}

/* What a call is tried for, and what comes of it. */
typedef struct {
    const Subject *subject;
    bool exact; /* one answer alone is right, to the bit */
    Size size;
    Numbers numbers; /* of a small call */
    bool other_before, many_times;
    char *say;  /* [DIAGNOSIS]: what is wrong */
    char *note; /* [DIAGNOSIS]: what else is to be told; "" if nothing is */
    Verdict
        *wrong; /* the call whose answer is wrong, as a case; its output is NULL if there is none */
} Attempt;

Verdict verdict_of_random(const Kernel *kernel, const Call *call, const OwnAnswer *ours, bool exact,
                          const Tensor *output) {
    GoldenCase *one = xmalloc(sizeof *one);
    *one = case_of_call("random", call, ours, exact);
    Verdict verdict = {.golden_case = one, .output = tensor_to_float(output)};
    verdict.comparison = compare_with_own(kernel, one, verdict.output);
    return verdict;
}

void random_verdict_free(Verdict *verdict) {
    if (!verdict->output) return;
    case_free(verdict->golden_case);
    free((void *)verdict->golden_case);
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
    char trouble[TROUBLE];
    OwnAnswer ours = {0};
    Trial trial = {.subject = subject,
                   .call = &call,
                   .is_right = is_like_ours,
                   .truth = &ours,
                   .other_before = attempt->other_before,
                   .many_times = attempt->many_times,
                   .many_threads = attempt->size == MEDIUM,
                   .meets = attempt->size == MEDIUM && subject->library &&
                            library_has_threads(subject->library),
                   .is_long = attempt->size == LONG};
    if (before) {
        subject->kernel->random_call(&first, &(Random){before->state}, SMALL);
        trial.before = &first;
    }
    choose_extents(&(Extents){0});
    const Numbers numbers =
        draw_call(subject->kernel, &call, random, attempt->size, &attempt->numbers);
    trial_run(&trial);
    ours = own_answer(subject->kernel, attempt->exact, attempt->size == LONG, &call, trouble);
    if (!ours.bound) fail("the chapter's own %s %s", subject->kernel->name, trouble);

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
                 call_text(inputs, &call, &numbers), LONG_SECONDS);
        agree = true;
    } else if (!agree)
        snprintf(attempt->say, DIAGNOSIS, "random shape %.200s: %.280s",
                 call_text(inputs, shorter ? &first : &call, shorter ? &usual_numbers : &numbers),
                 what);
    char where[WORDS];
    if (!agree && !trial_trouble(&trial)[0] && !is_like_ours(&ours, &trial.first, where))
        *attempt->wrong =
            verdict_of_random(subject->kernel, &call, &ours, attempt->exact, &trial.first);
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

/* One call for each output, as it is in these calls that threads are looked at. */
static bool medium_calls_agree(Attempt *attempt, const Random *before, Random *random) {
    const Random start = *random;
    attempt->size = MEDIUM;
    for (int which = 0, outputs = 1; which < outputs; which++) {
        *random = start;
        begin_medium(which);
        if (!random_call_agrees(attempt, before, random)) return false;
        outputs = outputs_to_ask_for();
    }
    return true;
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
        asked = extents_drawn().count;
        if (attempt->note[0] && strstr(attempt->note, "was not looked at")) return true;
    }
    return true;
}

/* Every other call has numbers of other kinds: in eleven such calls each input has each kind once.
 */
static Numbers numbers_of_call(int index, unsigned long seed) {
    enum { APART = 3 }; /* neighbours are of different kinds */
    Numbers numbers = usual_numbers;
    for (int i = 0; index % 2 == 1 && i < CALL_MAX_INPUTS; i++)
        numbers.kind[i] = (NumberKind)(((unsigned long)(index / 2 + APART * i) + seed) % KINDS);
    return numbers;
}

bool random_shapes_agree(const Subject *subject, char disagreement[static DIAGNOSIS],
                         char note[static DIAGNOSIS], Verdict *wrong) {
    Random random = {.state = 1}, before = random;
    Attempt attempt = {.subject = subject,
                       .exact = answers_exactly(subject->kernel),
                       .say = disagreement,
                       .note = note,
                       .wrong = wrong};
    note[0] = '\0';
    *wrong = (Verdict){0};
    for (int i = 0; i < RANDOM_CALLS + CALLS_OF_THE_DAY; i++) {
        if (i == RANDOM_CALLS) random.state = seed_of_the_day();
        const Random start = random;
        attempt.size = i == RANDOM_CALLS - 2 ? FAR : SMALL;
        attempt.numbers = numbers_of_call(i, i < RANDOM_CALLS ? 0 : seed_of_the_day());
        attempt.many_times = i == 2;
        attempt.other_before = i % 4 == 2;
        bool agree = i == RANDOM_CALLS - 1
                         ? medium_calls_agree(&attempt, &before, &random)
                         : random_call_agrees(&attempt, i && !attempt.other_before ? &before : NULL,
                                              &random);
        if (!agree) {
            if (i >= RANDOM_CALLS && strlen(disagreement) < DIAGNOSIS - 32)
                sprintf(disagreement + strlen(disagreement), " (SEED=%lu)", seed_of_the_day());
            return false;
        }
        before = start;
    }
    attempt.many_times = attempt.other_before = false;
    attempt.size = EMPTY;
    if (subject->kernel->may_be_empty && !random_call_agrees(&attempt, NULL, &random)) return false;
    return long_calls_agree(&attempt, &(Random){.state = 1});
}

/* ------------------------------------------------------------------ the same as cases */

/* Of so many one is far and one of medium size, whatever the count is. */
static Size size_of_case(int index) {
    enum { EACH = 8 };
    return index % EACH == EACH - 2 ? FAR : index % EACH == EACH - 1 ? MEDIUM : SMALL;
}

void random_cases(const Kernel *kernel, unsigned long seed, int count, GoldenCase cases[]) {
    Random random = {.state = seed};
    bool exact = count && answers_exactly(kernel);
    char name[64], trouble[TROUBLE];
    for (int i = 0; i < count; i++) {
        Call call = {0};
        begin_medium(0);
        const Numbers numbers = numbers_of_call(i, seed);
        draw_call(kernel, &call, &random, size_of_case(i), &numbers);
        OwnAnswer ours = own_answer(kernel, exact, false, &call, trouble);
        if (!ours.bound) fail("the chapter's own %s %s", kernel->name, trouble);
        snprintf(name, sizeof name, "random_%lu_%d", seed, i);
        cases[i] = case_of_call(name, &call, &ours, exact);
        free(ours.bound);
        call_free(&call);
    }
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
