/* Rules on scale: the output is the right one times, or plus, a number; or it is nearly right. */
#include "common/error.h"
#include "tests/judge/rules.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

/* ------------------------------------------------- one number makes the output of the right one */

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

/* The bias that a number of the output has in it, if it is asked for: what is multiplied is what
 * stood there before. */
static double bias_at(const Answer *answer, size_t index, bool is_asked_for) {
    const Tensor *bias = is_asked_for ? golden_input(answer->golden, "bias") : NULL;
    return bias ? tensor_get(bias, index % tensor_count(bias)) : 0;
}

typedef enum { WHOLE, ROWS, ROWS_BEFORE_BIAS } Stretch; /* what one number holds for */

/* The number that links got to right, from `start` on; NaN if there is none. */
static double link_number(const Answer *answer, const Link *link, size_t start, size_t n,
                          bool before_bias) {
    double number = NAN, best = -INFINITY;
    for (size_t i = start; i < start + n; i++) {
        double bias = bias_at(answer, i, before_bias), right = answer->truth[i] - bias;
        double by = link->find((double)answer->got[i] - bias, right),
               exact = link->exact * fabs(right);
        if (isfinite(by) && exact > best) {
            best = exact;
            number = by;
        }
    }
    return number;
}

/* One such number for every stretch of the output: does it explain the case? The number was taken
 * from a rounded one, hence the slack. Of a stretch with k numbers that are farther off than that,
 * k - 1 are evidence: counts them. */
static bool is_linked(const Answer *answer, const Link *link, Stretch stretch, size_t *explained) {
    double *predicted = xmalloc(answer->count * sizeof *predicted),
           slack = 4 * (answer->tolerance + rounding(answer));
    bool *is_far_off = xmalloc(answer->count * sizeof *is_far_off);
    size_t n = stretch == WHOLE ? answer->count : answer->row;
    count_strays(answer, slack, answer->truth, is_far_off);
    for (size_t start = 0; start < answer->count; start += n) {
        double by = link_number(answer, link, start, n, stretch == ROWS_BEFORE_BIAS);
        size_t told = 0;
        for (size_t i = start; i < start + n; i++) {
            double bias = bias_at(answer, i, stretch == ROWS_BEFORE_BIAS);
            predicted[i] =
                isnan(by) ? answer->truth[i] : link->apply(answer->truth[i] - bias, by) + bias;
            told += is_far_off[i];
        }
        *explained += told ? told - 1 : 0;
    }
    bool linked = few(count_strays(answer, slack, predicted, NULL), answer);
    free(predicted);
    free(is_far_off);
    return linked;
}

static double number_of(const Answer *answer, const Link *link) {
    return link_number(answer, link, 0, answer->count, false);
}

static bool about(double a, double b) { return isfinite(b) && fabs(a - b) <= 3e-3 * fabs(b); }

/* Numbers with a name, and dimensions: D is the width of q, S the number of keys. */
static const struct {
    double number;
    const char *name;
} constants[] = {
    {2, "2"},
    {0.5, "1/2"},
    {3, "3"},
    {1 / 3.0, "1/3"},
    {4, "4"},
    {0.25, "1/4"},
    {M_SQRT2, "sqrt(2)"},
    {M_SQRT1_2, "1/sqrt(2)"},
    {M_PI, "pi"},
    {M_1_PI, "1/pi"},
    {M_LN2, "ln(2)"},
    {M_LOG2E, "1/ln(2)"},
};

/* A quantity that a factor may be computed from: a dimension, the first of an array or the last; or
 * a scalar argument. */
typedef struct {
    const char *input;
    enum { FIRST, LAST, SCALAR } which;
    const char *name;
} Quantity;

static const Quantity dimensions[] = {
    {"q", LAST, "D"},
    {"k", FIRST, "S"},
    {"weights", LAST, "S"},
    {"x", LAST, "n, the width of x"},
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
    {1, "%s"},         {-1, "1/%s"},         {0.5, "sqrt(%s)"}, {-0.5, "1/sqrt(%s)"},
    {2, "%s squared"}, {-2, "1/%s squared"},
};

typedef enum { EVERYWHERE, WHERE_IT_FAILS } Where;

/* True if the factor is this number in every case: a power of a quantity or, without one, the
 * number itself. */
static bool number_is(const Evidence *evidence, const Link *link, Where where, double number,
                      const Quantity *quantity, double power) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        double should = quantity ? pow(value_of(answer, quantity), power) : number,
               is = number_of(answer, link);
        if (!is_ordinary(answer) || (!fails(answer) && (isnan(is) || where == WHERE_IT_FAILS)))
            continue;
        if (!about(is, should)) return false;
    }
    return true;
}

static bool is_power(const Evidence *evidence, const Link *link, Where where,
                     const Quantity *quantity, char name[static NAME]) {
    for (size_t p = 0; p < sizeof powers / sizeof *powers; p++)
        if (number_is(evidence, link, where, 0, quantity, powers[p].power))
            return snprintf(name, NAME, powers[p].name, quantity->name);
    return false;
}

/* "sqrt(D)", "1/2", or digits. False if no number is that of all cases there. */
static bool number_name(const Evidence *evidence, const Link *link, Where where,
                        char name[static NAME]) {
    const Answer *first = first_ordinary(evidence);
    double number = number_of(first, link);
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++)
        if (number_is(evidence, link, where, constants[c].number, NULL, 0))
            return snprintf(name, NAME, "%s", constants[c].name);
    if (number_is(evidence, link, where, number, NULL, 0))
        return snprintf(name, NAME, "%.4g", number);
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
        if (fails(answer) && is_ordinary(answer) && !is_linked(answer, link, stretch, &explained))
            return false;
    }
    return explained >= SOME_NUMBERS;
}

/* A scale that is forgotten or applied twice, a mean that was left a sum. */
bool is_multiplied(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    if (!all_linked(evidence, &factor, WHOLE) ||
        about(number_of(first_ordinary(evidence), &factor), 1))
        return false;
    if (number_name(evidence, &factor, EVERYWHERE, name))
        return say_it(say,
                      "Your output is the right one times %s, everywhere: is a factor too many, or "
                      "one missing?",
                      name);
    if (number_name(evidence, &factor, WHERE_IT_FAILS, name))
        return say_it(say,
                      "In the cases that fail your output is the right one times %s: is a factor "
                      "too many, or one missing?",
                      name);
    return say_it(say,
                  "In each case your output is the right one times a number, another one in each: "
                  "what is computed once for all of the output, and what does it depend on?");
}

bool is_added_to(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    return all_linked(evidence, &offset, WHOLE) &&
           number_name(evidence, &offset, EVERYWHERE, name) &&
           say_it(say,
                  "Your output is the right one plus %s, everywhere: is something added that "
                  "should not be, or missing?",
                  name);
}

/* A sum, a mean, a root, a maximum of a row is wrong, and what is done with it is right. */
bool is_multiplied_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return (all_linked(evidence, &factor, ROWS) ||
            all_linked(evidence, &factor, ROWS_BEFORE_BIAS)) &&
           say_it(say, "Each row of your output is the right one times a number of its own. What "
                       "is computed once for a row (a sum, a mean, a root) is wrong; what is done "
                       "with it is right.");
}

bool is_added_to_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &offset, ROWS) &&
           say_it(
               say,
               "Each row of your output is the right one plus a number of its own. What is "
               "computed once for a row, and subtracted or added (a mean, a maximum), is wrong.");
}

/* ------------------------------------------------------------------ nearly right */

static bool fits_bf16(float value) { return bf16_to_float(bf16_from_float(value)) == value; }
static bool fits_f16(float value) { return f16_to_float(f16_from_float(value)) == value; }

static bool has_no_bias(const Answer *answer) {
    return fails(answer) && !golden_input(answer->golden, "bias");
}

static bool all_fit(const Answer *answer, bool fits(float)) {
    for (size_t i = 0; i < answer->count; i++)
        if (isfinite(answer->got[i]) && !fits(answer->got[i])) return false;
    return true;
}

/* True if every output of the failing cases has so few digits, and the right answers have more. A
 * bias that is added in the end brings all its digits: where some of them have none, only these are
 * asked. Whole numbers have few anyway. A case that passes with all its digits was not rounded. */
static bool is_rounded(const Evidence *evidence, bool fits(float)) {
    bool right_fits = true, all_whole = true, some_have_no_bias = false;
    for (int a = 0; a < evidence->count; a++)
        some_have_no_bias |= has_no_bias(&evidence->answers[a]);
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        bool tells = some_have_no_bias ? has_no_bias(answer) : fails(answer);
        if ((tells || !fails(answer)) && !all_fit(answer, fits)) return false;
        for (size_t i = 0; tells && i < answer->count; i++) {
            right_fits &= fits((float)answer->truth[i]);
            all_whole &= answer->got[i] == rintf(answer->got[i]);
        }
    }
    return !right_fits && !all_whole;
}

/* A rounding moves a number to its neighbour, and one before the last product by two more. */
static bool is_bf16_nearby(const Answer *answer, size_t i) {
    int apart = bf16_from_float(answer->got[i]) - bf16_from_float((float)answer->truth[i]);
    return answer->wrong[i] && abs(apart) <= 3;
}
static bool is_f16_nearby(const Answer *answer, size_t i) {
    int apart = f16_from_float(answer->got[i]) - f16_from_float((float)answer->truth[i]);
    return answer->wrong[i] && abs(apart) <= 3;
}

/* A few digits that were lost in the end alone, or before that, too. */
static bool say_rounded(const Evidence *evidence, Flag *is_nearby, const char *type,
                        char say[static DIAGNOSIS]) {
    bool once = count_flagged(evidence, is_nearby) == count_flagged(evidence, is_wrong);
    if (once)
        return say_it(say, "Nearly right: your output is rounded to %s. Compute and store float.",
                      type);
    return say_it(
        say,
        "Nearly right: your output has no more digits than %s, and is farther off than that alone "
        "makes it: its sums have no more, or what is summed. Keep float or double up to the end.",
        type);
}

bool is_rounded_otherwise(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return is_bf16(&evidence->answers[0]) &&
           count_flagged(evidence, is_bf16_nearby) == count_flagged(evidence, is_wrong) &&
           say_it(say, "Every wrong number is at most the third bf16 from the right one. Round to "
                       "the nearest, a tie to the even one, as often as the header says, and keep "
                       "float32 or more up to there.");
}

/* The smallest and the largest error of the failing cases, as a share of the largest numbers: of
 * their rows, or of a pointwise kernel's whole output, or 1 if that is larger. */
typedef struct {
    double least, most;
    int alike; /* cases whose error is not far below the largest */
} Errors;

static double relative_error(const Answer *answer) {
    double most = 0;
    size_t row = answer->row == 1 ? answer->count : answer->row;
    for (size_t i = 0; i < answer->count; i++) {
        double error = fabs((double)answer->got[i] - answer->truth[i]);
        double unit = row_ulp(row, answer->truth + i / row * row);
        if (answer->row == 1) unit = fmax(unit, 0x1p-24);
        if (answer->wrong[i]) most = fmax(most, error / unit / 0x1p24);
    }
    return most;
}

static Errors errors_of(const Evidence *evidence) {
    Errors errors = {.least = INFINITY};
    for (int a = 0; a < evidence->count; a++) {
        if (!fails(&evidence->answers[a]) || !is_ordinary(&evidence->answers[a])) continue;
        double error = relative_error(&evidence->answers[a]);
        errors.least = fmin(errors.least, error);
        errors.most = fmax(errors.most, error);
    }
    for (int a = 0; a < evidence->count; a++)
        errors.alike += fails(&evidence->answers[a]) && is_ordinary(&evidence->answers[a]) &&
                        relative_error(&evidence->answers[a]) * 1000 > errors.most;
    return errors;
}

static bool is_infinite(const Answer *answer, size_t i) {
    return answer->wrong[i] && !isfinite(answer->got[i]);
}
static bool is_zero_there(const Answer *answer, size_t i) {
    return answer->wrong[i] && answer->got[i] == 0;
}
/* A number that is hardly more than 0 may be lost in a sum that cancels. */
static bool is_nothing(const Answer *answer, size_t i) {
    const double hardly_more = 1e-4;
    return is_zero_there(answer, i) && !(fabs(answer->truth[i]) < hardly_more);
}
static bool are_most(const Evidence *evidence, Flag *flagged) {
    return 2 * count_flagged(evidence, flagged) > count_flagged(evidence, is_wrong);
}

/* An error of about the same size nearly everywhere is made by a formula; one that is made by
 * roundings grows with the length of a sum, or shows only where something cancels. */
bool is_an_approximation(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (evidence->answers[0].golden->expected.dtype != F32) return false;
    Errors errors = errors_of(evidence);
    if (errors.least > 0.05 || are_most(evidence, is_infinite) || are_most(evidence, is_nothing))
        return false;
    if (is_rounded(evidence, fits_bf16))
        return say_rounded(evidence, is_bf16_nearby, "bfloat16, 8 bits", say);
    if (is_rounded(evidence, fits_f16))
        return say_rounded(evidence, is_f16_nearby, "half precision, 11 bits", say);
    int of = evidence->kernel->pointwise ? count_failing(evidence) : evidence->count;
    bool everywhere = errors.alike > 1 && 2 * errors.alike > of;
    if (errors.most < 1e-5 || errors.most > 0.05 || !everywhere) return false;
    size_t explained = 0;
    bool by_rows = is_linked(first_ordinary(evidence), &factor, ROWS_BEFORE_BIAS, &explained);
    return say_it(
        say, "Nearly right, to about %.0e%s: an approximation. It may be %s", errors.most,
        evidence->kernel->pointwise ? "" : " of a row's largest number",
        by_rows && explained >= SOME_NUMBERS
            ? "a root, as each row is off by a factor of its own: rsqrt without a Newton step?"
            : "an exp or a tanh by a table or a short polynomial, or something kept in half "
              "precision.");
}

bool is_less_exact(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (errors_of(evidence).most > 1e-3 || !first_ordinary(evidence) ||
        count_flagged(evidence, is_infinite) || are_most(evidence, is_nothing))
        return false;
    const char *may_be =
        evidence->kernel->pointwise
            ? "a sum that cancels, a constant with too few digits, or an exp that loses digits far "
              "out, as exp2(1.4427 x) does"
            : "sum in double or in several partial sums, as small numbers lose their digits that "
              "are added one by one to a large sum; and mind cancellation";
    return say_it(say, "Nearly right, and less exact than PyTorch: %s.", may_be);
}

bool is_zero_where_wrong(const Evidence *evidence, char say[static DIAGNOSIS]) {
    size_t index, zeros = count_flagged(evidence, is_zero_there);
    char where[WHERE];
    const Answer *found = first_flagged(evidence, is_nothing, &index);
    return found && zeros >= SOME_NUMBERS && zeros == count_flagged(evidence, is_wrong) &&
           say_it(say,
                  "Where your output is wrong it is 0, first at %s. Is something skipped there, or "
                  "a number of a table 0?",
                  where_text(where, found, index));
}

/* ------------------------------------------------------------------ blocks of quantized numbers */

/* A group of numbers that share a scale and, in some formats, a minimum. */
enum { GROUP = 16, MOST_GROUPS = 256 / GROUP };
typedef enum { IS_RIGHT, UNKNOWN, OTHER_SCALE, OTHER_MINIMUM, OTHER_BOTH, OTHER_LEVELS } Fault;

/* Which line through two of its numbers makes what came out of what is right, if one does? */
static Fault fault_of(const float got[GROUP], const double truth[GROUP], const bool wrong[GROUP]) {
    int low = 0, high = 0, wrongs = 0;
    for (int i = 0; i < GROUP; i++) {
        wrongs += wrong[i];
        if (truth[i] < truth[low]) low = i;
        if (truth[i] > truth[high]) high = i;
    }
    if (!wrongs) return IS_RIGHT;
    if (truth[low] == truth[high]) return UNKNOWN;
    double scale = ((double)got[high] - got[low]) / (truth[high] - truth[low]),
           minimum = got[low] - scale * truth[low],
           close = 1e-5 * (fabs(scale) * fmax(fabs(truth[low]), fabs(truth[high])) + fabs(minimum));
    double most = 0, range = truth[high] - truth[low];
    for (int i = 0; i < GROUP; i++) {
        double off = fabs(scale * truth[i] + minimum - got[i]);
        if (!isfinite(got[i])) return UNKNOWN;
        most = off <= most ? most : off;
    }
    if (!(most <= close)) return most < range / 100 ? UNKNOWN : OTHER_LEVELS;
    bool same_scale = fabs(scale - 1) < 1e-5, same_minimum = fabs(minimum) <= close;
    return same_scale ? OTHER_MINIMUM : same_minimum ? OTHER_SCALE : OTHER_BOTH;
}

/* "0 to 15, 64 to 127" */
static void groups_text(size_t size, char text[static size], int groups, const bool is_in[groups]) {
    size_t length = 0;
    text[0] = '\0';
    for (int first = 0, end; first < groups; first = end + 1) {
        end = first;
        while (end < groups && is_in[end]) end++;
        if (end > first && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%d to %d",
                                       length ? ", " : "", first * GROUP, end * GROUP - 1);
    }
}

/* Reading blocks: is it the scales, the minima, or the levels, and of which numbers of a block? */
bool misreads_blocks(const Evidence *evidence, char say[static DIAGNOSIS]) {
    static const char reads[] = "dequantize_";
    static const char *const names[] = {
        [OTHER_SCALE] = "by the scale: the levels are right",
        [OTHER_MINIMUM] = "by what is added or subtracted: scales and levels are right",
        [OTHER_BOTH] = "by the scale, or by scale and minimum: the levels are right",
        [OTHER_LEVELS] = "in their levels: look at the bits that these are made of"};
    const char *name = evidence->kernel->name;
    if (strncmp(name, reads, strlen(reads)) != 0) return false;
    int groups = strcmp(name + strlen(name) - 2, "_k") == 0 ? MOST_GROUPS : 2, wrong_blocks = 0;
    bool is_wrong_group[MOST_GROUPS] = {0};
    Fault fault = IS_RIGHT;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        for (size_t i = 0; fails(answer) && i + GROUP <= answer->count; i += GROUP) {
            Fault here = fault_of(answer->got + i, answer->truth + i, answer->wrong + i);
            if (here == IS_RIGHT) continue;
            is_wrong_group[i / GROUP % (size_t)groups] = true;
            wrong_blocks++;
            if (fault + here == OTHER_SCALE + OTHER_MINIMUM && fault != here) here = OTHER_BOTH;
            if (here > fault) fault = here;
        }
    }
    bool all_zero = count_flagged(evidence, is_zero_there) == count_flagged(evidence, is_wrong);
    if (wrong_blocks < 2 || fault <= UNKNOWN || all_zero) return false;
    char which[128], where[WHERE] = "";
    groups_text(sizeof which, which, groups, is_wrong_group);
    if (count_failing(evidence) == 1)
        snprintf(where, sizeof where, "In case %s alone: ", first_failing(evidence)->golden->name);
    return say_it(say, "%sOf the %d numbers of a block, numbers %s are wrong, and only %s.", where,
                  groups * GROUP, which, names[fault]);
}
