/* What came out instead: the output as a whole is another known one, or nearly right. */
#include "common/error.h"
#include "tests/verify/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ predictions: the output is another, in every case */

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

static const Change changes[] = {
    {nothing, "Your output is all zeros. Is the sum stored, is anything divided as whole numbers (1 / 2 is 0), or "
              "multiplied by what is not set?"},
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

/* From which step along an axis each number comes; past the axis's end: nobody knows. */
typedef struct {
    size_t (*from)(size_t step, size_t size);
    const char *words; /* with the axis's name in it */
    int axis;
} Move;

static size_t from_the_first(size_t step, size_t size) { return (void)step, (void)size, 0; }
static size_t from_the_end(size_t step, size_t size) { return size - 1 - step; }
static size_t from_before(size_t step, size_t size) { return step ? step - 1 : size; }
static size_t from_behind(size_t step, size_t size) { return (void)size, step + 1; }
static size_t from_the_other_half(size_t step, size_t size) { return size % 2 ? step : (step + size / 2) % size; }
static size_t from_the_neighbour(size_t step, size_t size) { return (step ^ 1) < size ? step ^ 1 : step; }

static const Move moves[] = {
    {from_the_first, "Every %s of your output is the right first one. Does each read its own numbers?", 0},
    {from_the_end,
     "Your output is right, but in reverse order: the last %s stands first. Does a loop or an index run backwards?", 0},
    {from_before,
     "Your output is right, but one %s too far on: is an index one too large where you write, or too small where you read?", 0},
    {from_behind,
     "Your output is right, but one %s too early: is an index one too small where you write, or too large where you read?", 0},
    {from_the_other_half, "Your output is right, but each %s stands half the axis away from where it belongs.", 0},
    {from_the_neighbour,
     "Your output is right, but each %s has changed places with its neighbour: 0 with 1, 2 with 3, and so on.", 0},
};

static bool predict_move(const Answer *answer, const void *mistake, double predicted[]) {
    const Move *move = mistake;
    Axis axis = axis_of(answer, move->axis);
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
        return say_it(say, "Your output is right, but transposed: %s and %s are exchanged where you write. The header says "
                           "in which order they lie.",
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

static double times(double right, double by) { return right * by; }
static double quotient(double got, double right) { return got / right; }
static double plus(double right, double by) { return right + by; }
static double difference(double got, double right) { return got - right; }

static const Link factor = {times, quotient, 1}, offset = {plus, difference, -1};

/* The number that links got to right; NaN if there is none. */
static double link_number(const Link *link, size_t n, const float got[n], const double right[n]) {
    double number = NAN, best = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double by = link->find(got[i], right[i]), exact = link->exact * fabs(right[i]);
        if (isfinite(by) && exact > best) best = exact, number = by;
    }
    return number;
}

/* One such number for every `stretch` of the output: does it explain the case? Of a stretch with k wrong numbers, k - 1
 * are evidence: counts them. The number was taken from a rounded one, hence the tolerance. */
static bool is_linked(const Answer *answer, const Link *link, size_t stretch, size_t *explained) {
    double *predicted = allocate(answer->count * sizeof *predicted), slack = 4 * (answer->tolerance + rounding(answer));
    for (size_t start = 0; start < answer->count; start += stretch) {
        double by = link_number(link, stretch, answer->got + start, answer->truth + start);
        size_t told = 0;
        for (size_t i = start; i < start + stretch; i++) {
            predicted[i] = link->apply(answer->truth[i], by);
            told += answer->wrong[i];
        }
        *explained += told ? told - 1 : 0;
    }
    bool linked = few(count_strays(answer, slack, predicted, NULL), answer);
    free(predicted);
    return linked;
}

static double number_of(const Answer *answer, const Link *link) {
    return link_number(link, answer->count, answer->got, answer->truth);
}

static bool about(double a, double b) { return fabs(a - b) <= 3e-3 * fabs(b); }

/* Numbers with a name, and dimensions: D is the width of q, S the number of keys. */
static const struct {
    double number;
    const char *name;
} constants[] = {
    {2, "2"}, {0.5, "1/2"}, {3, "3"}, {1 / 3.0, "1/3"}, {4, "4"}, {0.25, "1/4"}, {M_SQRT2, "sqrt(2)"}, {M_SQRT1_2, "1/sqrt(2)"},
    {M_PI, "pi"}, {M_1_PI, "1/pi"}, {M_LN2, "ln(2)"}, {M_LOG2E, "1/ln(2)"},
};

static const struct {
    const char *input;
    bool first;
    const char *name;
} dimensions[] = {
    {"q", false, "D"},
    {"k", true, "S"},
    {"weights", false, "S"},
    {"x", false, "n, the width of x"},
    {"x", true, "rows, the length of x"},
    {"gate", false, "n"},
};
static const struct {
    double power;
    const char *name; /* with the dimension's name in it */
} powers[] = {{1, "%s"}, {-1, "1/%s"}, {0.5, "sqrt(%s)"}, {-0.5, "1/sqrt(%s)"}};

/* Is it this number in every case? A power of a dimension; or, with power 0, the number itself. */
static bool number_is(const Evidence *evidence, const Link *link, double number, const char *input, bool first,
                      double power) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        double should = power == 0 ? number : pow((double)size_of(answer, input, first), power);
        double is = number_of(answer, link);
        if (is_ordinary(answer) && !about(is, should) && !(isnan(is) && !fails(answer))) return false;
    }
    return true;
}

/* "sqrt(D)", "1/2", or digits. False if no number is that of all cases. */
static bool number_name(const Evidence *evidence, const Link *link, char name[static NAME]) {
    double number = number_of(first_ordinary(evidence), link);
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++)
        if (number_is(evidence, link, constants[c].number, NULL, false, 0))
            return snprintf(name, NAME, "%s", constants[c].name);
    if (number_is(evidence, link, number, NULL, false, 0)) return snprintf(name, NAME, "%.4g", number);
    for (size_t d = 0; d < sizeof dimensions / sizeof *dimensions; d++)
        for (size_t p = 0; p < sizeof powers / sizeof *powers; p++)
            if (number_is(evidence, link, 0, dimensions[d].input, dimensions[d].first, powers[p].power))
                return snprintf(name, NAME, powers[p].name, dimensions[d].name);
    return false;
}

typedef enum { WHOLE, ROWS } Stretch;

/* Are all failing cases linked, as a whole or row by row? */
static bool all_linked(const Evidence *evidence, const Link *link, Stretch stretch) {
    size_t explained = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        size_t numbers = stretch == ROWS ? answer->row : answer->count;
        if (fails(answer) && is_ordinary(answer) && !is_linked(answer, link, numbers, &explained)) return false;
    }
    return explained >= SOME_NUMBERS;
}

/* A scale that is forgotten or applied twice, a mean that was left a sum. */
bool is_multiplied(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    if (!all_linked(evidence, &factor, WHOLE) || about(number_of(first_ordinary(evidence), &factor), 1)) return false;
    if (number_name(evidence, &factor, name))
        return say_it(say, "Your output is the right one times %s, everywhere: is a factor too many, or one missing?",
                      name);
    return say_it(say, "In each case your output is the right one times a number, another one in each: what is computed "
                       "once for all of the output, and what does it depend on?");
}

bool is_added_to(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    return all_linked(evidence, &offset, WHOLE) && number_name(evidence, &offset, name) &&
           say_it(say, "Your output is the right one plus %s, everywhere: is something added that should not be, or "
                       "missing?", name);
}

/* A sum, a mean, a root, a maximum of a row is wrong, and what is done with it is right. */
bool is_multiplied_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &factor, ROWS) &&
           say_it(say, "Each row of your output is the right one times a number of its own. What is computed once for a "
                       "row (a sum, a mean, a root) is wrong; what is done with it is right.");
}

bool is_added_to_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &offset, ROWS) &&
           say_it(say, "Each row of your output is the right one plus a number of its own. What is computed once for a "
                       "row, and subtracted or added (a mean, a maximum), is wrong.");
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
    const Answer *one = first_ordinary(evidence); /* in others, a bias may hide it */
    size_t explained = 0;
    bool by_rows = is_linked(one, &factor, one->row, &explained) && explained >= SOME_NUMBERS;
    return say_it(say, "Nearly right, to about %.0e of a row's largest number: an approximation. It may be %s", errors.most,
                  by_rows ? "a root, as each row is off by a factor of its own: rsqrt without a Newton step?"
                          : "an exp or a tanh by a table or a short polynomial, or something kept in half precision.");
}

static bool is_infinite(const Answer *answer, size_t i) { return answer->wrong[i] && !isfinite(answer->got[i]); }

bool is_less_exact(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (errors_of(evidence).most > 1e-3 || !first_ordinary(evidence) || count_flagged(evidence, is_infinite))
        return false;
    const char *may_be = evidence->kernel->pointwise
                             ? "a sum that cancels, or an exp that loses digits far out, as exp2(1.4427 x) does"
                             : "sum in double or in several partial sums, and mind cancellation";
    return say_it(say, "Nearly right, and less exact than PyTorch: %s.", may_be);
}
