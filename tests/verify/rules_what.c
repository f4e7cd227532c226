/* What came out instead: the output as a whole is another known one, or nearly right. */
#include "common/error.h"
#include "tests/verify/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the output is another one, in every case */

/* What rounding an output to its type may do, in ulps of float32. */
static double rounding(const Answer *answer) { return is_bf16(answer) ? 0x1p16 : 0; }

/* What the output is, if this is the mistake. False: this case cannot tell. */
typedef bool Predict(const Answer *answer, const void *mistake, double predicted[]);

static bool is_always(const Evidence *evidence, Predict *predict, const void *mistake) {
    size_t explained = 0;
    bool holds = true;
    for (int a = 0; a < evidence->count && holds; a++) {
        const Answer *answer = &evidence->answers[a];
        double *predicted = allocate(answer->count * sizeof *predicted);
        if (predict(answer, mistake, predicted)) {
            holds = few(count_strays(answer, answer->tolerance + rounding(answer), predicted, NULL), answer);
            explained += answer->wrongs;
        }
        free(predicted);
    }
    return holds && explained >= SOME_NUMBERS;
}

/* The result is never stored, or the formula is skipped. */
static bool predict_input(const Answer *answer, const void *name, double predicted[]) {
    const Tensor *input = golden_input(answer->golden, name);
    if (!input || tensor_count(input) != answer->count) return false;
    for (size_t i = 0; i < answer->count; i++) predicted[i] = tensor_get(input, i);
    return true;
}

bool is_an_input(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const GoldenCase *golden = first_failing(evidence)->golden;
    for (int i = 0; i < golden->input_count; i++)
        if (is_always(evidence, predict_input, golden->input[i].name))
            return say_it(say, "Your output is %s, unchanged. Is the formula's result stored, or only computed?",
                          golden->input[i].name);
    return false;
}

/* What became of each number. */
typedef struct {
    double (*of)(double right);
    const char *words;
} Change;

static double nothing(double right) { return (void)right, 0; }
static double negative(double right) { return -right; }
static double reciprocal(double right) { return 1 / right; }
static double square(double right) { return right * right; }
static double root(double right) { return sqrt(right); }

#define WHY_ZEROS "Is the sum stored, is anything divided as whole numbers (1 / 2 is 0), or multiplied by what is not " \
                  "set?"

static const Change changes[] = {
    {nothing, "Your output is all zeros. " WHY_ZEROS},
    {fabs, "Your output has lost its signs: it is the right one's absolute value."},
    {negative,
     "Your output has the wrong sign, everywhere: is a minus too many, or the difference the other way round?"},
    {reciprocal, "Your output is 1 / the right one: is the quotient the other way round?"},
    {square, "Your output is the square of the right one: is a root missing, or something multiplied twice?"},
    {root, "Your output is the root of the right one: is a root too many?"},
};

static bool predict_change(const Answer *answer, const void *mistake, double predicted[]) {
    const Change *change = mistake;
    for (size_t i = 0; i < answer->count; i++) predicted[i] = (float)change->of(answer->truth[i]);
    return true;
}

bool is_changed(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++)
        if (is_always(evidence, predict_change, &changes[c])) return say_it(say, "%s", changes[c].words);
    return false;
}

/* In other cases it is right: 1 / (int)sqrt(D) is 1 where D is 1. */
bool comes_to_nothing(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (int a = 0; a < evidence->count; a++)
        for (size_t i = 0; fails(&evidence->answers[a]) && i < evidence->answers[a].count; i++)
            if (evidence->answers[a].got[i] != 0) return false;
    return count_flagged(evidence, is_wrong) >= SOME_NUMBERS &&
           say_it(say, "In the cases that fail your output is all zeros. " WHY_ZEROS);
}

/* The right one, and an input once too often or too seldom: a bias that is added twice, the residual stream. */
typedef struct {
    double (*of)(double right, double input);
    const char *words; /* with the input's name in it, twice */
    const char *input;
} Company;

static double sum(double right, double input) { return right + input; }
static double rest(double right, double input) { return right - input; }
static double times(double right, double input) { return right * input; }
static double share(double right, double input) { return right / input; }

static const Company companies[] = {
    {sum, "Your output is the right one plus %s. Is %s added twice, or where it should not be?", NULL},
    {rest, "Your output is the right one minus %s. Is %s not added, or subtracted?", NULL},
    {times, "Your output is the right one times %s. Is %s multiplied twice, or where it should not be?", NULL},
    {share, "Your output is the right one divided by %s. Is the multiplication by %s missing?", NULL},
};

/* The input is as large as the output, or as one of its rows; where it was left out, there is nothing to see. */
static bool predict_company(const Answer *answer, const void *mistake, double predicted[]) {
    const Company *company = mistake;
    const Tensor *input = golden_input(answer->golden, company->input);
    size_t count = input ? tensor_count(input) : 0;
    if (input && (count == 1 || (count != answer->count && count != size_of(answer, NULL, false)))) return false;
    for (size_t i = 0; i < answer->count; i++)
        predicted[i] = input ? (float)company->of(answer->truth[i], tensor_get(input, i % count)) : answer->truth[i];
    return true;
}

bool is_in_company(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const GoldenCase *golden = first_failing(evidence)->golden;
    for (size_t c = 0; c < sizeof companies / sizeof *companies; c++)
        for (int i = 0; i < golden->input_count; i++) {
            Company company = {companies[c].of, companies[c].words, golden->input[i].name};
            if (!is_always(evidence, predict_company, &company)) continue;
            return snprintf(say, DIAGNOSIS, company.words, company.input, company.input);
        }
    return false;
}

/* From which step along an axis each number comes; past the axis's end: nobody knows. */
typedef struct {
    size_t (*from)(size_t step, size_t size);
    const char *words; /* with the axis's name in it */
    int axis;
} Move;

static size_t from_the_first(size_t step, size_t size) { return (void)step, (void)size, 0; }
static size_t from_the_last(size_t step, size_t size) { return (void)step, size - 1; }
static size_t from_the_end(size_t step, size_t size) { return size - 1 - step; }
static size_t from_before(size_t step, size_t size) { return step ? step - 1 : size; }
static size_t from_behind(size_t step, size_t size) { return (void)size, step + 1; }
static size_t from_the_other_half(size_t step, size_t size) { return size % 2 ? step : (step + size / 2) % size; }
static size_t from_the_neighbour(size_t step, size_t size) { return (step ^ 1) < size ? step ^ 1 : step; }

static const Move moves[] = {
    {from_the_first, "Every %s of your output is the right first one. Does each read its own numbers?", 0},
    {from_the_last, "Every %s of your output is the right last one. Does each write its own numbers?", 0},
    {from_the_end,
     "Your output is right, but in reverse order: the last %s stands first. Does a loop or an index run backwards?", 0},
    {from_before,
     "Your output is right, but one %s too far on: is an index too large where you write, or too small to read?", 0},
    {from_behind,
     "Your output is right, but one %s too early: is an index too small where you write, or too large to read?", 0},
    {from_the_other_half, "Your output is right, but each %s stands half the axis away from where it belongs.", 0},
    {from_the_neighbour,
     "Your output is right, but each %s has changed places with its neighbour: 0 with 1, 2 with 3, and so on.", 0},
};

static bool predict_move(const Answer *answer, const void *mistake, double predicted[]) {
    const Move *move = mistake;
    Axis axis = axis_of(answer, move->axis);
    if (axis.size < 2) return false; /* there is nowhere to move */
    for (size_t i = 0; i < answer->count; i++) {
        size_t step = step_of(axis, i), from = move->from(step, axis.size);
        predicted[i] = from < axis.size ? answer->truth[i + (from - step) * axis.inner] : answer->got[i];
    }
    return true;
}

bool is_moved(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t m = 0; m < sizeof moves / sizeof *moves; m++)
        for (int axis = 0; axis < rank_of(evidence); axis++) {
            Move move = {moves[m].from, moves[m].words, axis};
            if (!is_always(evidence, predict_move, &move)) continue;
            return snprintf(say, DIAGNOSIS, move.words, axis_name(&evidence->answers[0], axis));
        }
    return false;
}

/* out[i][j] is stored where out[j][i] belongs. */
static bool predict_transposed(const Answer *answer, const void *mistake, double predicted[]) {
    const int outer = *(const int *)mistake;
    Axis rows = axis_of(answer, outer), columns = axis_of(answer, outer + 1);
    for (size_t i = 0; i < answer->count; i++) {
        size_t row = step_of(rows, i), column = step_of(columns, i), block = i / (rows.size * rows.inner);
        predicted[block * rows.size * rows.inner + (column * rows.size + row) * columns.inner + i % columns.inner] =
            answer->truth[i];
    }
    return true;
}

bool is_transposed(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (int outer = 0; outer + 1 < rank_of(evidence); outer++) {
        if (!is_always(evidence, predict_transposed, &outer)) continue;
        const Answer *answer = &evidence->answers[0];
        return say_it(say, "Your output is right, but transposed: %s and %s are exchanged where you write. The header "
                           "says in which order they lie.",
                      axis_name(answer, outer), axis_name(answer, outer + 1));
    }
    return false;
}

/* ------------------------------------------------------------------ one number makes the output of the right one */

/* `by` makes the right number the one that came out: by multiplying, or by adding. */
typedef struct {
    double (*apply)(double right, double by);
    double (*find)(double got, double right);
    double exact; /* 1: it is found best where numbers are large, -1: small */
} Link;

static double quotient(double got, double right) { return got / right; }
static double plus(double right, double by) { return right + by; }
static double difference(double got, double right) { return got - right; }

static const Link factor = {times, quotient, 1}, offset = {plus, difference, -1};

/* The bias that a number of the output has in it, if it is asked for: what is multiplied is what stood there before. */
static double bias_at(const Answer *answer, size_t index, bool is_asked_for) {
    const Tensor *bias = is_asked_for ? golden_input(answer->golden, "bias") : NULL;
    return bias ? tensor_get(bias, index % tensor_count(bias)) : 0;
}

typedef enum { WHOLE, ROWS, ROWS_BEFORE_BIAS } Stretch; /* what one number holds for */

/* The number that links got to right, from `start` on; NaN if there is none. */
static double link_number(const Answer *answer, const Link *link, size_t start, size_t n, bool before_bias) {
    double number = NAN, best = -INFINITY;
    for (size_t i = start; i < start + n; i++) {
        double bias = bias_at(answer, i, before_bias), right = answer->truth[i] - bias;
        double by = link->find((double)answer->got[i] - bias, right), exact = link->exact * fabs(right);
        if (isfinite(by) && exact > best) best = exact, number = by;
    }
    return number;
}

/* One such number for every stretch of the output: does it explain the case? The number was taken from a rounded one,
 * hence the slack. Of a stretch with k numbers that are farther off than that, k - 1 are evidence: counts them. */
static bool is_linked(const Answer *answer, const Link *link, Stretch stretch, size_t *explained) {
    double *predicted = allocate(answer->count * sizeof *predicted), slack = 4 * (answer->tolerance + rounding(answer));
    bool *is_far_off = allocate(answer->count * sizeof *is_far_off);
    size_t n = stretch == WHOLE ? answer->count : answer->row;
    count_strays(answer, slack, answer->truth, is_far_off);
    for (size_t start = 0; start < answer->count; start += n) {
        double by = link_number(answer, link, start, n, stretch == ROWS_BEFORE_BIAS);
        size_t told = 0;
        for (size_t i = start; i < start + n; i++) {
            double bias = bias_at(answer, i, stretch == ROWS_BEFORE_BIAS);
            predicted[i] = isnan(by) ? answer->truth[i] : link->apply(answer->truth[i] - bias, by) + bias;
            told += is_far_off[i];
        }
        *explained += told ? told - 1 : 0;
    }
    bool linked = few(count_strays(answer, slack, predicted, NULL), answer);
    free(predicted), free(is_far_off);
    return linked;
}

static double number_of(const Answer *answer, const Link *link) {
    return link_number(answer, link, 0, answer->count, false);
}

static bool about(double a, double b) { return fabs(a - b) <= 3e-3 * fabs(b); }

/* Numbers with a name, and dimensions: D is the width of q, S the number of keys. */
static const struct {
    double number;
    const char *name;
} constants[] = {
    {2, "2"}, {0.5, "1/2"}, {3, "3"}, {1 / 3.0, "1/3"}, {4, "4"}, {0.25, "1/4"}, {M_SQRT2, "sqrt(2)"},
    {M_SQRT1_2, "1/sqrt(2)"}, {M_PI, "pi"}, {M_1_PI, "1/pi"}, {M_LN2, "ln(2)"}, {M_LOG2E, "1/ln(2)"},
};

/* Something of which a factor may be made: a dimension, the first of an array or the last; or a scalar argument. */
typedef struct {
    const char *input;
    enum { FIRST, LAST, SCALAR } which;
    const char *name;
} Quantity;

static const Quantity dimensions[] = {
    {"q", LAST, "D"}, {"k", FIRST, "S"}, {"weights", LAST, "S"}, {"x", LAST, "n, the width of x"},
    {"x", FIRST, "the rows of x"},
};

static double value_of(const Answer *answer, const Quantity *quantity) {
    const Tensor *input = golden_input(answer->golden, quantity->input);
    if (quantity->which == SCALAR) return input && input->rank == 0 ? tensor_get(input, 0) : NAN;
    return input ? (double)size_of(answer, quantity->input, quantity->which == FIRST) : NAN;
}

static const struct {
    double power;
    const char *name; /* with the quantity's name in it */
} powers[] = {
    {1, "%s"}, {-1, "1/%s"}, {0.5, "sqrt(%s)"}, {-0.5, "1/sqrt(%s)"}, {2, "%s squared"}, {-2, "1/%s squared"},
};

typedef enum { EVERYWHERE, WHERE_IT_FAILS } Where;

/* Is it this number in every case there? A power of a quantity; or, without one, the number itself. */
static bool number_is(const Evidence *evidence, const Link *link, Where where, double number, const Quantity *quantity,
                      double power) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        double should = quantity ? pow(value_of(answer, quantity), power) : number, is = number_of(answer, link);
        if (!is_ordinary(answer) || (!fails(answer) && (isnan(is) || where == WHERE_IT_FAILS))) continue;
        if (!isfinite(should) || !about(is, should)) return false;
    }
    return true;
}

static bool is_power(const Evidence *evidence, const Link *link, Where where, const Quantity *quantity,
                     char name[static NAME]) {
    for (size_t p = 0; p < sizeof powers / sizeof *powers; p++)
        if (number_is(evidence, link, where, 0, quantity, powers[p].power))
            return snprintf(name, NAME, powers[p].name, quantity->name);
    return false;
}

/* "sqrt(D)", "1/2", or digits. False if no number is that of all cases there. */
static bool number_name(const Evidence *evidence, const Link *link, Where where, char name[static NAME]) {
    const Answer *first = first_ordinary(evidence);
    double number = number_of(first, link);
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++)
        if (number_is(evidence, link, where, constants[c].number, NULL, 0))
            return snprintf(name, NAME, "%s", constants[c].name);
    if (number_is(evidence, link, where, number, NULL, 0)) return snprintf(name, NAME, "%.4g", number);
    for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++)
        if (is_power(evidence, link, where, &dimensions[d], name)) return true;
    for (int i = 0; i < first->golden->input_count; i++) {
        Quantity argument = {first->golden->input[i].name, SCALAR, first->golden->input[i].name};
        if (is_power(evidence, link, where, &argument, name)) return true;
    }
    return false;
}

/* Are all failing cases linked, as a whole or row by row? */
static bool all_linked(const Evidence *evidence, const Link *link, Stretch stretch) {
    size_t explained = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        if (fails(answer) && is_ordinary(answer) && !is_linked(answer, link, stretch, &explained)) return false;
    }
    return explained >= SOME_NUMBERS;
}

/* A scale that is forgotten or applied twice, a mean that was left a sum. */
bool is_multiplied(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    if (!all_linked(evidence, &factor, WHOLE) || about(number_of(first_ordinary(evidence), &factor), 1)) return false;
    if (number_name(evidence, &factor, EVERYWHERE, name))
        return say_it(say, "Your output is the right one times %s, everywhere: is a factor too many, or one missing?",
                      name);
    if (number_name(evidence, &factor, WHERE_IT_FAILS, name))
        return say_it(say, "In the cases that fail your output is the right one times %s: is a factor too many, or one "
                           "missing?", name);
    return say_it(say, "In each case your output is the right one times a number, another one in each: what is "
                       "computed once for all of the output, and what does it depend on?");
}

bool is_added_to(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    return all_linked(evidence, &offset, WHOLE) && number_name(evidence, &offset, EVERYWHERE, name) &&
           say_it(say, "Your output is the right one plus %s, everywhere: is something added that should not be, or "
                       "missing?", name);
}

/* A sum, a mean, a root, a maximum of a row is wrong, and what is done with it is right. */
bool is_multiplied_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return (all_linked(evidence, &factor, ROWS) || all_linked(evidence, &factor, ROWS_BEFORE_BIAS)) &&
           say_it(say, "Each row of your output is the right one times a number of its own. What is computed once for "
                       "a row (a sum, a mean, a root) is wrong; what is done with it is right.");
}

bool is_added_to_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &offset, ROWS) &&
           say_it(say, "Each row of your output is the right one plus a number of its own. What is computed once for a "
                       "row, and subtracted or added (a mean, a maximum), is wrong.");
}

/* The largest of a softmax is 1 / sum: what its reciprocal has grown by was added to the sum. */
static bool predict_larger_sum(const Answer *answer, const void *added, double predicted[]) {
    for (size_t start = 0; start < answer->count; start += answer->row) {
        double largest = 0;
        for (size_t i = start; i < start + answer->row; i++) largest = fmax(largest, answer->truth[i]);
        for (size_t i = start; i < start + answer->row; i++)
            predicted[i] = answer->truth[i] / (1 + *(const double *)added * largest);
    }
    return true;
}

/* An epsilon, against a division by 0 that cannot be. It is found best where the sum is smallest. */
bool adds_to_the_sum(const Evidence *evidence, char say[static DIAGNOSIS]) {
    double added = 0, largest = 0;
    if (strcmp(evidence->kernel->name, "softmax") != 0) return false;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        for (size_t i = 0; i < answer->count; i++)
            if (answer->wrong[i] && answer->truth[i] > largest)
                largest = answer->truth[i], added = 1 / (double)answer->got[i] - 1 / largest;
    }
    return added > 0 && is_always(evidence, predict_larger_sum, &added) &&
           say_it(say, "Your sum has about %.0e added, so that no row sums to 1. It is 1 or more, as e^(max - max) is: "
                       "there is no 0 to guard against.", added);
}

/* ------------------------------------------------------------------ nearly right */

static bool fits_bf16(float value) { return bf16_to_float(bf16_from_float(value)) == value; }
static bool fits_f16(float value) { return f16_to_float(f16_from_float(value)) == value; }

/* Does everything that came out of the failing cases have so few digits, and what is right does not? */
static bool is_rounded(const Evidence *evidence, bool fits(float)) {
    bool right_fits = true;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        for (size_t i = 0; fails(answer) && i < answer->count; i++) {
            if (isfinite(answer->got[i]) && !fits(answer->got[i])) return false;
            right_fits &= fits((float)answer->truth[i]);
        }
    }
    return !right_fits;
}

/* A rounding moves a number to its neighbour, and one before the last product by two more. */
static bool is_bf16_nearby(const Answer *answer, size_t i) {
    int apart = bf16_from_float(answer->got[i]) - bf16_from_float((float)answer->truth[i]);
    return answer->wrong[i] && abs(apart) <= 3;
}

bool is_rounded_otherwise(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return is_bf16(&evidence->answers[0]) &&
           count_flagged(evidence, is_bf16_nearby) == count_flagged(evidence, is_wrong) &&
           say_it(say, "Every wrong number is at most the third bf16 from the right one. Round to the nearest, a tie to "
                       "the even one, as often as the header says, and keep float32 or more up to there.");
}

/* The smallest and the largest error of the failing cases, as a share of their rows' largest numbers. */
typedef struct {
    double least, most;
} Errors;

static double relative_error(const Answer *answer) {
    double most = 0;
    for (size_t i = 0; i < answer->count; i++) {
        double error = fabs((double)answer->got[i] - answer->truth[i]);
        double unit = row_ulp(answer->row, answer->truth + i / answer->row * answer->row);
        if (answer->wrong[i]) most = fmax(most, error / unit / 0x1p24);
    }
    return most;
}

static Errors errors_of(const Evidence *evidence) {
    Errors errors = {INFINITY, 0};
    for (int a = 0; a < evidence->count; a++) {
        if (!fails(&evidence->answers[a]) || !is_ordinary(&evidence->answers[a])) continue;
        double error = relative_error(&evidence->answers[a]);
        errors.least = fmin(errors.least, error), errors.most = fmax(errors.most, error);
    }
    return errors;
}

/* An error of about the same size nearly everywhere is made by a formula; one that is made by roundings grows with the
 * length of a sum, or shows only where something cancels. */
bool is_an_approximation(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (evidence->answers[0].golden->expected.dtype != F32) return false;
    Errors errors = errors_of(evidence);
    if (errors.least > 0.05) return false;
    if (is_rounded(evidence, fits_bf16))
        return say_it(say, "Nearly right: your output is rounded to bfloat16, 8 bits. Compute and store float.");
    if (is_rounded(evidence, fits_f16))
        return say_it(say, "Nearly right: your output is rounded to half precision, 11 bits. Compute and store float.");
    bool everywhere = 2 * count_failing(evidence) > evidence->count && errors.least * 1000 > errors.most;
    if (errors.most < 1e-5 || errors.most > 0.05 || !everywhere) return false;
    size_t explained = 0;
    bool by_rows = is_linked(first_ordinary(evidence), &factor, ROWS_BEFORE_BIAS, &explained);
    return say_it(say, "Nearly right, to about %.0e of a row's largest number: an approximation. It may be %s",
                  errors.most,
                  by_rows && explained >= SOME_NUMBERS
                          ? "a root, as each row is off by a factor of its own: rsqrt without a Newton step?"
                          : "an exp or a tanh by a table or a short polynomial, or something kept in half precision.");
}

/* Each addition rounds, so that the error grows with what is summed; a quarter of an ulp for each number is more than
 * it comes to. Where it is larger, or short rows fail, something else is wrong. */
bool loses_digits_in_long_sums(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        if (fails(answer) && (!is_ordinary(answer) || relative_error(answer) * 0x1p24 > 0.25 * (double)answer->row))
            return false;
    }
    return say_it(say, "Nearly right: only long rows are wrong, by a few units in the last place. A sum of so many "
                       "float32 loses digits: sum in double, or in several parts that are added in the end.");
}

static bool is_infinite(const Answer *answer, size_t i) { return answer->wrong[i] && !isfinite(answer->got[i]); }

bool is_less_exact(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (errors_of(evidence).most > 1e-3 || !first_ordinary(evidence) || count_flagged(evidence, is_infinite))
        return false;
    const char *may_be = evidence->kernel->pointwise
                             ? "a sum that cancels, or an exp that loses digits far out, as exp2(1.4427 x) does"
                             : "sum in double or in several partial sums, as small numbers lose their digits that are "
                               "added one by one to a large sum; and mind cancellation";
    return say_it(say, "Nearly right, and less exact than PyTorch: %s.", may_be);
}
