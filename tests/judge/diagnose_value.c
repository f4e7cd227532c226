/* Rules on values: the output as a whole is another known one. */
#include "common/error.h"
#include "tests/judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Computes the output that this mistake would give. False if this case cannot tell. */
typedef bool Predict(const Answer *answer, const void *mistake, double predicted[]);

static bool is_always(const Evidence *evidence, Predict *predict, const void *mistake) {
    size_t explained = 0;
    bool holds = true;
    for (int a = 0; a < evidence->count && holds; a++) {
        const Answer *answer = &evidence->answers[a];
        double *predicted = xmalloc(answer->count * sizeof *predicted);
        if (predict(answer, mistake, predicted)) {
            holds = few(count_strays(answer, answer->tolerance + rounding(answer), predicted, NULL),
                        answer);
            explained += answer->wrongs;
        }
        free(predicted);
    }
    return holds && explained >= SOME_NUMBERS;
}

/* ------------------------------------------------- one formula, of the right answer or an input */

/* A formula that may have been computed instead; of some there is one for each input, or for each
 * axis. */
typedef struct {
    Predict *predict;
    union {
        double (*change)(double right);
        double (*with_input)(double right, double input);
        size_t (*from)(
            size_t step,
            size_t size); /* the step along the axis that each came from; past the end: unknown */
    } by;
    enum { ONCE, EACH_INPUT, EACH_AXIS, NEIGHBOURING_AXES } times;
    const char
        *words; /* the name of the input stands in them, or of the axis and the one after it */
} Candidate;

typedef struct {
    const Candidate *candidate;
    const char *input; /* this one, */
    int axis;          /* or this one */
} Tried;

static double nothing(double) { return 0; }
static double negative(double right) { return -right; }
static double reciprocal(double right) { return 1 / right; }
static double square(double right) { return right * right; }
static double root(double right) { return sqrt(right); }

static bool changed(const Answer *answer, const void *mistake, double predicted[]) {
    const Tried *tried = mistake;
    for (size_t i = 0; i < answer->count; i++)
        predicted[i] = (float)tried->candidate->by.change(answer->truth[i]);
    return true;
}

/* An input of another size cannot be the output: a wrong element there is evidence against it. */
static bool an_input(const Answer *answer, const void *mistake, double predicted[]) {
    const Tensor *input = golden_input(answer->golden, ((const Tried *)mistake)->input);
    if (!input) return false;
    bool fits = tensor_count(input) == answer->count;
    for (size_t i = 0; i < answer->count; i++) {
        double other = isnan(answer->got[i]) ? 0 : NAN; /* than what it is */
        predicted[i] = fits ? tensor_get(input, i) : answer->wrong[i] ? other : answer->truth[i];
    }
    return true;
}

static bool partly_an_input(const Answer *answer, const void *mistake, double predicted[]) {
    bool fits = an_input(answer, mistake, predicted);
    for (size_t i = 0; i < answer->count; i++)
        if (!answer->wrong[i]) predicted[i] = answer->truth[i];
    return fits;
}

static double sum(double right, double input) { return right + input; }
static double rest(double right, double input) { return right - input; }
static double times(double right, double input) { return right * input; }
static double share(double right, double input) { return right / input; }

/* An input once too often or too seldom: a bias that is added twice, the residual stream. The input
 * is as large as the output, or as one of its rows; where it was left out, there is nothing to see.
 * */
static bool combined(const Answer *answer, const void *mistake, double predicted[]) {
    const Tried *tried = mistake;
    const Tensor *input = golden_input(answer->golden, tried->input);
    size_t count = input ? tensor_count(input) : 0;
    if (input && (count == 1 || (count != answer->count && count != size_of(answer, NULL, false))))
        return false;
    for (size_t i = 0; i < answer->count; i++) {
        double right = answer->truth[i];
        predicted[i] =
            input ? (float)tried->candidate->by.with_input(right, tensor_get(input, i % count))
                  : right;
    }
    return true;
}

static size_t the_first(size_t, size_t) { return 0; }
static size_t the_last(size_t, size_t size) { return size - 1; }
static size_t from_the_end(size_t step, size_t size) { return size - 1 - step; }
static size_t the_one_before(size_t step, size_t size) { return step ? step - 1 : size; }
static size_t the_one_after(size_t step, size_t) { return step + 1; }
static size_t of_the_other_half(size_t step, size_t size) {
    return size % 2 ? step : (step + size / 2) % size;
}
static size_t the_neighbour(size_t step, size_t size) {
    return (step ^ 1) < size ? step ^ 1 : step;
}

static bool moved(const Answer *answer, const void *mistake, double predicted[]) {
    const Tried *tried = mistake;
    Axis axis = axis_of(answer, tried->axis);
    if (axis.size < 2) return false; /* there is nowhere to move */
    for (size_t i = 0; i < answer->count; i++) {
        size_t step = step_of(axis, i), from = tried->candidate->by.from(step, axis.size);
        predicted[i] =
            from < axis.size ? answer->truth[i + (from - step) * axis.inner] : answer->got[i];
    }
    return true;
}

/* out[i][j] is stored where out[j][i] belongs. */
static bool transposed(const Answer *answer, const void *mistake, double predicted[]) {
    const int outer = ((const Tried *)mistake)->axis;
    Axis rows = axis_of(answer, outer), columns = axis_of(answer, outer + 1);
    for (size_t i = 0; i < answer->count; i++) {
        size_t row = step_of(rows, i), column = step_of(columns, i),
               block = i / (rows.size * rows.inner);
        predicted[block * rows.size * rows.inner + (column * rows.size + row) * columns.inner +
                  i % columns.inner] = answer->truth[i];
    }
    return true;
}

#define WHY_ZEROS                                                                                  \
    "Is the sum stored, is anything divided as whole numbers (1 / 2 is 0), or multiplied by what " \
    "is "                                                                                          \
    "not set?"

static const Candidate candidates[] = {
    {changed, {.change = nothing}, ONCE, "Your output is all zeros. " WHY_ZEROS},
    {changed,
     {.change = fabs},
     ONCE,
     "Your output has lost its signs: it is the right one's absolute value."},
    {changed,
     {.change = negative},
     ONCE,
     "Your output has the wrong sign, everywhere: is a minus too many, or the difference the other "
     "way round?"},
    {changed,
     {.change = reciprocal},
     ONCE,
     "Your output is 1 / the right one: is the quotient the other way round?"},
    {changed,
     {.change = square},
     ONCE,
     "Your output is the square of the right one: is a root missing, or something multiplied "
     "twice?"},
    {changed,
     {.change = root},
     ONCE,
     "Your output is the root of the right one: is a root too many?"},
    {an_input,
     {0},
     EACH_INPUT,
     "Your output is %s, unchanged. Is the formula's result stored, or only computed?"},
    {combined,
     {.with_input = sum},
     EACH_INPUT,
     "Your output is the right one plus %s. Is %s added twice, or where it should not be?"},
    {combined,
     {.with_input = rest},
     EACH_INPUT,
     "Your output is the right one minus %s. Is %s not added, or subtracted?"},
    {combined,
     {.with_input = times},
     EACH_INPUT,
     "Your output is the right one times %s. Is %s multiplied twice, or where it should not be?"},
    {combined,
     {.with_input = share},
     EACH_INPUT,
     "Your output is the right one divided by %s. Is the multiplication by %s missing?"},
    {moved,
     {.from = the_first},
     EACH_AXIS,
     "Every %s of your output is the right first one. Does each read its own numbers?"},
    {moved,
     {.from = the_last},
     EACH_AXIS,
     "Every %s of your output is the right last one. Does each write its own numbers?"},
    {moved,
     {.from = from_the_end},
     EACH_AXIS,
     "Your output is right, but in reverse order: the last %s stands first. Does a loop or an "
     "index run backwards?"},
    {moved,
     {.from = the_one_before},
     EACH_AXIS,
     "Your output is right, but one %s too far on: is an index too large where you write, or too "
     "small to read?"},
    {moved,
     {.from = the_one_after},
     EACH_AXIS,
     "Your output is right, but one %s too early: is an index too small where you write, or too "
     "large to read?"},
    {moved,
     {.from = of_the_other_half},
     EACH_AXIS,
     "Your output is right, but each %s stands half the axis away from where it belongs."},
    {moved,
     {.from = the_neighbour},
     EACH_AXIS,
     "Your output is right, but each %s has changed places with its neighbour: 0 with 1, 2 with 3, "
     "and so on."},
    {transposed,
     {0},
     NEIGHBOURING_AXES,
     "Your output is right, but transposed: %s and %s are exchanged where you write. The header "
     "says in which order they lie."},
};

/* The number of inputs or axes that the candidate is tried with. */
static int choices(const Candidate *candidate, const Evidence *evidence) {
    int rank = rank_of(evidence);
    if (candidate->times == EACH_INPUT) return first_failing(evidence)->golden->input_count;
    return candidate->times == ONCE ? 1 : candidate->times == EACH_AXIS ? rank : rank - 1;
}

static bool is_candidate(const Evidence *evidence, const Candidate *candidate,
                         char say[static DIAGNOSIS]) {
    const Answer *answer = &evidence->answers[0];
    bool of_input = candidate->times == EACH_INPUT, of_two = candidate->times == NEIGHBOURING_AXES;
    for (int i = 0; i < choices(candidate, evidence); i++) {
        const char *input = of_input ? first_failing(evidence)->golden->input[i].name : NULL;
        if (!is_always(evidence, candidate->predict, &(Tried){candidate, input, i})) continue;
        return snprintf(say, DIAGNOSIS, candidate->words, of_input ? input : axis_name(answer, i),
                        of_input ? input
                        : of_two ? axis_name(answer, i + 1)
                                 : "");
    }
    return false;
}

/* The result is never stored, the formula is skipped, a minus or a root is missing, an index is
 * off. */
bool is_another_known_output(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t c = 0; c < sizeof candidates / sizeof *candidates; c++)
        if (is_candidate(evidence, &candidates[c], say)) return true;
    return false;
}

/* A loop over pairs, or rows, that ends before all are done, where the rest is a copy. */
bool is_partly_an_input(const Evidence *evidence, char say[static DIAGNOSIS]) {
    static const Candidate some = {
        partly_an_input, {0}, EACH_INPUT, "Where your output is wrong it is %s, unchanged"};
    char where[WHERE], is_input[DIAGNOSIS];
    size_t index;
    const Answer *first = first_flagged(evidence, is_wrong, &index);
    return is_candidate(evidence, &some, is_input) &&
           say_it(say,
                  "%.300s, first at %s; the rest is right. Does a loop end before all is done?",
                  is_input, where_text(where, first, index));
}

static bool is_zero(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (answer->got[i] != 0) return false;
    return true;
}

/* 1 / (int)sqrt(D) is 0, but 1 where D is 1, and there the output is right, or 2, where it is
 * wrong: of several cases one may fail with other numbers. */
bool comes_to_nothing(const Evidence *evidence, char say[static DIAGNOSIS]) {
    int failing = count_failing(evidence), zero = 0;
    size_t wrong = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        if (!fails(answer) || !is_zero(answer)) continue;
        zero++;
        wrong += answer->wrongs;
    }
    bool most = zero == failing || (zero == failing - 1 && zero >= SOME_NUMBERS);
    return zero && most && wrong >= SOME_NUMBERS &&
           say_it(say, "In %d of the %d cases that fail your output is all zeros. " WHY_ZEROS, zero,
                  failing);
}

/* ------------------------------------------------------------------ formulas of one kernel */

/* A weight after Muon's steps, if the decay alone changed it. */
static double decayed(const Answer *answer, size_t i) {
    const GoldenCase *golden = answer->golden;
    double rate = tensor_get(golden_input(golden, "rate"), 0),
           decay = tensor_get(golden_input(golden, "decay"), 0);
    return tensor_get(golden_input(golden, "weight"), i) *
           pow(1 - rate * decay, (double)golden_input(golden, "gradient")->shape[0]);
}

/* A matrix of one row, or of one column, has a single direction, and a step along it. */
static bool has_one_direction(const Answer *answer) {
    const size_t *shape = answer->golden->expected.shape;
    return tensor_get(golden_input(answer->golden, "of"), 0) == 0 &&
           (shape[0] == 1 || shape[1] == 1);
}

static bool predict_length(const Answer *answer, const void *length, double predicted[]) {
    if (!has_one_direction(answer)) return false;
    for (size_t i = 0; i < answer->count; i++) {
        double rest = decayed(answer, i);
        predicted[i] = rest + *(const double *)length * (answer->truth[i] - rest);
    }
    return true;
}

/* The coefficients of Muon's iteration decide to which value it takes a singular value of 1. The
 * longest step is the most exact evidence. */
bool steps_by_another_length(const Evidence *evidence, char say[static DIAGNOSIS]) {
    double length = 1, longest = 0;
    if (strcmp(evidence->kernel->name, "muon") != 0) return false;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        for (size_t i = 0; has_one_direction(answer) && i < answer->count; i++) {
            double rest = decayed(answer, i), step = answer->truth[i] - rest;
            if (answer->wrong[i] && fabs(step) > longest) {
                longest = fabs(step);
                length = ((double)answer->got[i] - rest) / step;
            }
        }
    }
    return longest > 0 && is_always(evidence, predict_length, &length) &&
           say_it(say,
                  "Of a matrix of one row or one column your step is the right one times %.4g. Are "
                  "the coefficients 3.4445, -4.7750 and 2.0315, or is a factor too many, or one "
                  "missing?",
                  length);
}

/* The largest of a softmax is 1 / sum: what its reciprocal has grown by was added to the sum. */
static bool predict_larger_sum(const Answer *answer, const void *added, double predicted[]) {
    for (size_t start = 0; start < answer->count; start += answer->row) {
        double largest = 0;
        for (size_t i = start; i < start + answer->row; i++)
            largest = fmax(largest, answer->truth[i]);
        for (size_t i = start; i < start + answer->row; i++)
            predicted[i] = answer->truth[i] / (1 + *(const double *)added * largest);
    }
    return true;
}

/* An epsilon, against a division by 0 that cannot be. It is found best where the sum is smallest.
 */
bool adds_to_the_sum(const Evidence *evidence, char say[static DIAGNOSIS]) {
    double added = 0, largest = 0;
    if (strcmp(evidence->kernel->name, "softmax") != 0) return false;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        for (size_t i = 0; i < answer->count; i++)
            if (answer->wrong[i] && answer->truth[i] > largest) {
                largest = answer->truth[i];
                added = 1 / (double)answer->got[i] - 1 / largest;
            }
    }
    return added > 0 && is_always(evidence, predict_larger_sum, &added) &&
           say_it(say,
                  "Your sum has about %.0e added, so that no row sums to 1. It is 1 or more, as "
                  "e^(max - max) is: there is no 0 to guard against.",
                  added);
}
