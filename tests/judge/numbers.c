#include "tests/judge/numbers.h"

#include <string.h>

/* ------------------------------------------------------------------ below one, or over another */

/* An input takes all eighths of -128 to 128, in an order in which neighbours are far apart. */
enum { NUMBERS = 2049, APART = 1021 };
static float number_at(int n) { return (float)(n - NUMBERS / 2) / 8; }

/* Where the input is below a number, or over one, a pointwise kernel is wrong; and nowhere else. */
static bool ends_are_wrong(Lab *lab, int input, char say[static 64]) {
    enum { SOME = 8 };
    Call call = {0};
    Verdict wrong = {0};
    bool is_wrong[NUMBERS] = {0};
    int low = 0, high = 0, all = 0;
    lab_call(lab, &call, (uint64_t)++lab->calls << 20, &(Extents){.count = 1, .size = {NUMBERS}});
    for (int n = 0; n < NUMBERS; n++)
        ((float *)call.input[input].data)[n * APART % NUMBERS] = number_at(n);
    if (is_wrong_answer(lab, &call, &wrong) && wrong.output) {
        const GoldenCase *one = wrong.golden_case;
        for (int n = 0; n < NUMBERS; n++) {
            size_t at = (size_t)(n * APART % NUMBERS);
            double truth = tensor_get(&one->expected, at), bound = golden_rounding(one, at);
            is_wrong[n] = check_bounds(1, &wrong.output[at], &truth, &bound).wrong;
            all += is_wrong[n];
        }
    }
    while (low < NUMBERS && is_wrong[low]) low++;
    while (high < NUMBERS && is_wrong[NUMBERS - 1 - high]) high++;
    random_verdict_free(&wrong);
    if (low >= SOME && high >= SOME)
        snprintf(say, 64, "below %g or over %g", number_at(low), number_at(NUMBERS - 1 - high));
    else if (low >= SOME) snprintf(say, 64, "below %g", number_at(low));
    else snprintf(say, 64, "over %g", number_at(NUMBERS - 1 - high));
    call_free(&call);
    return all >= SOME && all == low + high && NUMBERS - all >= SOME;
}

bool ends_decide(Lab *lab, char say[static DIAGNOSIS]) {
    Call call = {0};
    char name[32], ends[64];
    lab_call(lab, &call, 1, NULL);
    int count = call.input_count;
    bool fits = lab->subject->kernel->pointwise && lab->count == 1 && call.output.rank == 1;
    for (int i = 0; i < count; i++)
        fits &= call.input[i].rank == 1 && call.input[i].dtype == F32 &&
                call.input[i].shape[0] == call.output.shape[0];
    call_free(&call);
    size_t length = 0;
    for (int i = 0; fits && i < count; i++) {
        lab_call(lab, &call, 1, NULL);
        snprintf(name, sizeof name, "%s", call.input[i].name);
        call_free(&call);
        if (!ends_are_wrong(lab, i, ends)) continue;
        length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s%s is %s",
                                   length ? ", or "
                                          : "Called with numbers from -128 to 128, it is "
                                            "wrong only where ",
                                   name, ends);
    }
    if (length) snprintf(say + length, DIAGNOSIS - length, ". Is something clamped, or cut off?");
    return length > 0;
}

/* ------------------------------------------------------------------ kinds of numbers */

/* Calls in which the numbers of one input are of a kind. Sets the input's name. */
static bool is_wrong_with(Lab *lab, int input, NumberKind kind, char name[static 32],
                          Verdict *smallest) {
    enum { TRIES = 6, SOME = 2 };
    int wrong = 0;
    Numbers numbers = usual_numbers;
    numbers.kind[input] = kind;
    for (int t = 0; t < TRIES && wrong < SOME && !lab->is_over; t++) {
        Call call = {0};
        Verdict verdict = {0};
        choose_numbers(&numbers);
        lab_call(lab, &call, (uint64_t)++lab->calls << 20, NULL);
        bool is_of_the_kind = numbers_drawn().kind[input] == kind;
        if (is_of_the_kind && is_wrong_answer(lab, &call, &verdict)) {
            snprintf(name, 32, "%s", call.input[input].name);
            wrong++;
        }
        bool is_smaller = verdict.output && (!smallest->output ||
                                             verdict.comparison.count < smallest->comparison.count);
        if (is_smaller) random_verdict_free(smallest);
        if (is_smaller) *smallest = verdict;
        else random_verdict_free(&verdict);
        call_free(&call);
    }
    choose_numbers(&usual_numbers);
    return wrong == SOME;
}

bool kinds_decide(const Subject *subject, char say[static DIAGNOSIS], Verdict *smallest) {
    enum { ROOM = 160 };
    Lab lab = lab_of(subject);
    size_t length = 0;
    char name[32], said[32] = "";
    for (int input = 0; input < CALL_MAX_INPUTS; input++)
        for (NumberKind kind = USUAL + 1; kind < KINDS && length < DIAGNOSIS - ROOM; kind++) {
            if (!is_wrong_with(&lab, input, kind, name, smallest)) continue;
            const char *before = !length ? "With usual random numbers it is right, but not where "
                                 : strcmp(name, said) == 0 ? ", or "
                                                           : ", or where ";
            length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s", before);
            if (strcmp(name, said) != 0)
                length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s is ", name);
            length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s", kind_text(kind));
            snprintf(said, sizeof said, "%s", name);
        }
    if (length) snprintf(say + length, DIAGNOSIS - length, ".");
    return length > 0;
}
