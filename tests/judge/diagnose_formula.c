/* The rule on formulas: which one did the kernel compute? Where each number of an output is a sum
 * of few products of known factors, such as x, sigmoid(x) and the sigmoid's square, these products
 * can be found: all pairs and triples of them are tried, as in a linear regression. */
#include "common/error.h"
#include "tests/judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ factors */

/* A number of an answer, and its row. */
typedef struct {
    const char *kernel;
    const Answer *answer;
    size_t index, width;
} Place;

/* The number of an input that belongs there: one of as many, of a column, of a row, or the only
 * one.
 */
static double input_at(const Place *place, const char *name) {
    const Tensor *input = golden_input(place->answer->golden, name);
    size_t count = input ? tensor_count(input) : 0;
    return !input                          ? NAN
           : count == place->answer->count ? tensor_get(input, place->index)
           : count == 1                    ? tensor_get(input, 0)
           : count == place->width         ? tensor_get(input, place->index % place->width)
           : count * place->width == place->answer->count
               ? tensor_get(input, place->index / place->width)
               : NAN;
}

static double argument_at(const Place *place) {
    double x = input_at(place, "gate"), beta = input_at(place, "beta");
    if (isnan(x)) x = input_at(place, "x");
    return isnan(beta) ? x : beta * x;
}

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid_at(const Place *place) { return sigmoid_of(argument_at(place)); }
static double sigmoid_of_up(const Place *place) { return sigmoid_of(input_at(place, "up")); }
static double normal_share(const Place *place) { return erfc(-argument_at(place) * M_SQRT1_2) / 2; }
static double normal_density(const Place *place) {
    double x = argument_at(place);
    return exp(-x * x / 2) * M_SQRT1_2 * M_2_SQRTPI / 2;
}
static double positive_gate(const Place *place) { return argument_at(place) > 0; }
static double positive_up(const Place *place) { return input_at(place, "up") > 0; }

static const double CUBE = 0.044715;
static double tanh_at(const Place *place) {
    double x = argument_at(place), alpha = input_at(place, "alpha");
    return tanh(isnan(alpha) ? M_SQRT2 * M_2_SQRTPI / 2 * (x + CUBE * x * x * x) : alpha * x);
}
static double slope_within(const Place *place) {
    double x = argument_at(place);
    return M_SQRT2 * M_2_SQRTPI / 2 * (1 + 3 * CUBE * x * x);
}

/* The mean of what a factor is in the row, or in the column where batch_norm has it so. */
static double mean_of(const Place *place, double (*factor)(const Place *)) {
    size_t rows = place->answer->count / place->width, row = place->index / place->width;
    bool by_column = strcmp(place->kernel, "batch_norm") == 0;
    size_t n = by_column ? rows : place->width;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        Place other = *place;
        other.index =
            by_column ? i * place->width + place->index % place->width : row * place->width + i;
        sum += factor(&other);
    }
    return sum / (double)n;
}

static double x_at(const Place *place) { return input_at(place, "x"); }
static double mean_at(const Place *place) { return mean_of(place, x_at); }
static bool is_rms(const Place *place) { return strncmp(place->kernel, "rms", strlen("rms")) == 0; }
static double square_at(const Place *place) { return x_at(place) * x_at(place); }
static double root_at(const Place *place) {
    double mean = is_rms(place) ? 0 : mean_at(place);
    return 1 / sqrt(mean_of(place, square_at) - mean * mean + input_at(place, "eps"));
}
static double centred_at(const Place *place) {
    return x_at(place) - (is_rms(place) ? 0 : mean_at(place));
}
static double weighted_dy(const Place *place) {
    return input_at(place, "dy") * input_at(place, "weight");
}
static double weighted_dy_x(const Place *place) { return weighted_dy(place) * x_at(place); }
static double mean_of_dy(const Place *place) { return mean_of(place, weighted_dy); }
static double mean_of_dy_x(const Place *place) {
    double mean = is_rms(place) ? 0 : mean_at(place);
    return mean_of(place, weighted_dy_x) - mean * mean_of_dy(place);
}

static double p_dp(const Place *place) { return input_at(place, "p") * input_at(place, "dp"); }
static double dp_at(const Place *place) { return input_at(place, "dp"); }
static double sum_of_p_dp(const Place *place) {
    return mean_of(place, p_dp) * (double)place->width;
}
static double sum_of_dp(const Place *place) { return mean_of(place, dp_at) * (double)place->width; }

static double exponential(const Place *place) { return exp(input_at(place, "logits")); }
/* A row without a target counts for nothing, and tells nothing. */
static double softmax_at(const Place *place) {
    if (!(input_at(place, "targets") >= 0)) return NAN;
    return exponential(place) / (mean_of(place, exponential) * (double)place->width);
}
static double is_target(const Place *place) {
    return input_at(place, "targets") == (double)(place->index % place->width);
}
static double one_over_counted(const Place *place) {
    const Tensor *targets = golden_input(place->answer->golden, "targets");
    int counted = 0;
    for (size_t i = 0; i < tensor_count(targets); i++) counted += tensor_get(targets, i) >= 0;
    return 1.0 / counted;
}
static double one_over_rows(const Place *place) {
    return (double)place->width / (double)place->answer->count;
}

static const struct {
    const char *name;
    double (*value)(const Place *);
    const char *words; /* NULL: the name says it */
} factors[] = {
    {"s", sigmoid_at, "sigmoid of the argument"},
    {"s(up)", sigmoid_of_up, "sigmoid(up)"},
    {"Phi", normal_share, "(1 + erf(x / sqrt(2))) / 2"},
    {"phi", normal_density, "the slope of Phi"},
    {"[gate > 0]", positive_gate, NULL},
    {"[up > 0]", positive_up, NULL},
    {"t", tanh_at, "the tanh"},
    {"u'", slope_within, "the slope of its argument"},
    {"mean", mean_at, "that of x"},
    {"(x - mean)", centred_at, NULL},
    {"r", root_at, "1 / the root"},
    {"A", mean_of_dy, "the mean of dy weight"},
    {"B", mean_of_dy_x, "the mean of dy weight (x - mean)"},
    {"S", sum_of_p_dp, "the row's sum of p dp"},
    {"D", sum_of_dp, "the row's sum of dp"},
    {"softmax", softmax_at, NULL},
    {"[target]", is_target, NULL},
    {"1/counted", one_over_counted, NULL},
    {"1/rows", one_over_rows, NULL},
};

/* ------------------------------------------------------------------ the products that may be in it
 */

enum { SETS = 4, MOST_TERMS = 200, NAMES = 64, POINTS = 64, LEAST_POINTS = 10 };

/* A product takes one of each set, which stand between bars; factors stand between blanks. */
static const struct {
    const char *kernels, *before, *sets[SETS];
} families[] = {
    {" sigmoid sigmoid_derivative silu silu_derivative ", NULL, {"|x|x x", "|s|s s|s s s"}},
    {" swish swish_derivative ", NULL, {"|x|x x", "|s|s s", "|beta|beta beta"}},
    {" gelu gelu_derivative ", NULL, {"|x|x x|x x x", "|Phi|Phi Phi|phi"}},
    {" gelu_tanh gelu_tanh_derivative ", NULL, {"|x|x x", "|t|t t", "|u'"}},
    {" glu swiglu ", NULL, {"|gate", "|s|s s|s(up)", "|up|up up"}},
    {" geglu ", NULL, {"|gate", "|Phi|phi|s", "|up|up up"}},
    {" reglu bilinear ", NULL, {"|gate", "|[gate > 0]|[up > 0]", "|up|up up"}},
    {" glu_backward swiglu_backward ",
     "dgate dup",
     {"|gate|gate gate", "|s|s s|s s s|s(up)|s(up) s(up)", "|up", "|dout"}},
    {" geglu_backward ", "dgate dup", {"|gate|gate gate", "|Phi|Phi Phi|phi|s", "|up", "|dout"}},
    {" reglu_backward bilinear_backward ",
     "dgate dup",
     {"|gate", "|[gate > 0]|[up > 0]|[gate > 0] [up > 0]", "|up", "|dout"}},
    {" layer_norm batch_norm ", NULL, {"|x|mean|bias", "|r|r r", "|weight|weight weight"}},
    {" rms_norm ", NULL, {"|x|x x", "|r|r r", "|weight|weight weight"}},
    {" dyt ", NULL, {"|t|x|bias", "|weight", "|alpha"}},
    {" dyt_backward ", "dx", {"|dy", "|weight", "|alpha|alpha alpha", "|t|t t"}},
    {" rms_norm_backward layer_norm_backward ",
     "dx",
     {"dy|A|x|(x - mean)|(x - mean) B|B", "|weight", "|r|r r|r r r"}},
    {" softmax_backward ", "dx", {"|p|p p", "|dp|S|D"}},
    {" cross_entropy_backward ", "dlogits", {"softmax|[target]|", "|dloss", "|1/counted|1/rows"}},
};

/* A product, by the numbers of its factors' names. */
typedef struct {
    int count, factor[8];
} Term;

typedef struct {
    const char *kernel, *before; /* an input that the output is added to, if it is one */
    int names, terms;
    char name[NAMES][16];
    Term term[MOST_TERMS];
} Terms;

static int number_of_name(Terms *of, const char *name, size_t length) {
    for (int n = 0; n < of->names; n++)
        if (strlen(of->name[n]) == length && strncmp(of->name[n], name, length) == 0) return n;
    snprintf(of->name[of->names], sizeof of->name[0], "%.*s", (int)length, name);
    return of->names++;
}

/* Adds the products of `term` with one of each further set. */
static void multiply(Terms *of, const char *const sets[], int set, Term term) {
    if (set == SETS || !sets[set]) {
        if (of->terms < MOST_TERMS) of->term[of->terms++] = term;
        return;
    }
    for (const char *choice = sets[set];; choice++) {
        Term longer = term;
        while (*choice && *choice != '|') {
            bool in_brackets = *choice == '[' || *choice == '(';
            size_t length = in_brackets ? strcspn(choice, "])") + 1 : strcspn(choice, " |");
            longer.factor[longer.count++] = number_of_name(of, choice, length);
            choice += length;
            if (*choice == ' ') choice++;
        }
        multiply(of, sets, set + 1, longer);
        if (!*choice) return;
    }
}

static bool terms_of(Terms *of, const char *kernel, const GoldenCase *golden) {
    char blank[64];
    snprintf(blank, sizeof blank, " %s ", kernel);
    *of = (Terms){.kernel = kernel};
    for (size_t f = 0; f < sizeof families / sizeof *families && !of->terms; f++)
        if (strstr(families[f].kernels, blank)) {
            for (int i = 0; families[f].before && i < golden->input_count; i++)
                if (strstr(families[f].before, golden->input[i].name))
                    of->before = golden->input[i].name;
            if (!families[f].before || of->before) multiply(of, families[f].sets, 0, (Term){0});
        }
    return of->terms > 0;
}

/* ------------------------------------------------------------------ which of them are in it? */

enum { MOST_IN_IT = 3 };
typedef struct {
    int count, term[MOST_IN_IT];
    double coefficient[MOST_IN_IT];
} Formula;

typedef struct {
    int count;
    double product[POINTS][MOST_TERMS], got[POINTS], truth[POINTS], before[POINTS];
} Points;

static double value_of_name(const Place *place, const char *name) {
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        if (strcmp(factors[f].name, name) == 0) return factors[f].value(place);
    return input_at(place, name);
}

/* Far out everything is 0 or x, and tells nothing. */
static bool add_point(Points *points, const Terms *of, const Place *place) {
    enum { FAR_OUT = 8 };
    double value[NAMES], *product = points->product[points->count];
    float got = place->answer->got[place->index];
    for (int n = 0; n < of->names; n++) {
        value[n] = value_of_name(place, of->name[n]);
        if (!(fabs(value[n]) < 1e4)) return false;
    }
    if (!isfinite(got) || fabs(argument_at(place)) > FAR_OUT) return false;
    for (int t = 0; t < of->terms; t++) {
        product[t] = 1;
        for (int i = 0; i < of->term[t].count; i++) product[t] *= value[of->term[t].factor[i]];
    }
    points->got[points->count] = got;
    points->truth[points->count] = place->answer->truth[place->index];
    points->before[points->count] = of->before ? input_at(place, of->before) : 0;
    points->count++;
    return true;
}

/* Some of each case that asks for this output, wrong ones and others; those that fail first. */
static void collect(Points *points, const Terms *of, const Evidence *evidence) {
    enum { OF_A_CASE = 16 };
    for (int pass = 0; pass < 2; pass++)
        for (int a = 0; a < evidence->count; a++) {
            const Answer *answer = &evidence->answers[a];
            const Tensor *out = &answer->golden->expected;
            if (fails(answer) != (pass == 0) || !is_ordinary(answer) || out->rank == 0) continue;
            if (of->before && !golden_input(answer->golden, of->before)) continue;
            Place place = {of->kernel, answer, 0, out->shape[out->rank - 1]};
            size_t step = answer->count / OF_A_CASE + 1,
                   wrong_step = answer->wrongs / OF_A_CASE + 1, wrongs = 0;
            for (size_t i = 0; i < answer->count && points->count < POINTS; i++) {
                bool is_next = answer->wrong[i] ? wrongs++ % wrong_step == 0 : i % step == 0;
                place.index = i;
                if (is_next) add_point(points, of, &place);
            }
        }
}

/* Halves, thirds and their like. */
static bool is_simple(double coefficient) {
    double twelfths = 12 * coefficient;
    return fabs(coefficient) > 1e-3 && fabs(twelfths - rint(twelfths)) < 1e-3 * fabs(twelfths);
}

static bool fits(const Points *points, const double target[], const Formula *formula) {
    int strays = 0;
    for (int p = 0; p < points->count; p++) {
        double sum = 0, size = 1e-30;
        for (int i = 0; i < formula->count; i++) {
            double term = formula->coefficient[i] * points->product[p][formula->term[i]];
            sum += term;
            size += fabs(term);
        }
        strays += !(fabs(target[p] - sum) <= 1e-5 * (size + fabs(points->before[p])));
    }
    return strays * 30 <= points->count;
}

/* The coefficients by least squares: Gaussian elimination in the sums of products. */
static bool solve(int n, double matrix[n][MOST_IN_IT + 1], double coefficient[n]) {
    for (int k = 0; k < n; k++) {
        if (!(matrix[k][k] > 1e-9)) return false;
        for (int i = k + 1; i < n; i++) {
            double by = matrix[i][k] / matrix[k][k];
            for (int j = k; j < n; j++) matrix[i][j] -= by * matrix[k][j];
            matrix[i][MOST_IN_IT] -= by * matrix[k][MOST_IN_IT];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        coefficient[k] = matrix[k][MOST_IN_IT];
        for (int j = k + 1; j < n; j++) coefficient[k] -= matrix[k][j] * coefficient[j];
        coefficient[k] /= matrix[k][k];
    }
    return true;
}

/* The fewest terms that give the target. The sums of products are those of columns of length 1. */
static bool find_formula(const Points *points, int terms, const double target[], Formula *found) {
    static double sums[MOST_TERMS][MOST_TERMS + 1];
    double length[MOST_TERMS], square = 0;
    for (int p = 0; p < points->count; p++) square += target[p] * target[p];
    for (int i = 0; i < terms; i++) {
        length[i] = 0;
        for (int p = 0; p < points->count; p++)
            length[i] += points->product[p][i] * points->product[p][i];
        length[i] = sqrt(length[i]) + 1e-30;
    }
    for (int i = 0; i < terms; i++)
        for (int j = 0; j <= terms; j++) {
            double sum = 0;
            for (int p = 0; p < points->count; p++)
                sum += points->product[p][i] / length[i] *
                       (j == terms ? target[p] : points->product[p][j] / length[j]);
            sums[i][j] = sum;
        }
    for (int n = 1; n <= MOST_IN_IT; n++)
        for (int a = 0; a < terms; a++)
            for (int b = n > 1 ? a + 1 : terms - 1; b < terms; b++)
                for (int c = n > 2 ? b + 1 : terms - 1; c < terms; c++) {
                    Formula formula = {.count = n, .term = {a, b, c}};
                    double matrix[MOST_IN_IT][MOST_IN_IT + 1], left = square;
                    for (int i = 0; i < n; i++) {
                        for (int j = 0; j < n; j++)
                            matrix[i][j] = sums[formula.term[i]][formula.term[j]];
                        matrix[i][MOST_IN_IT] = sums[formula.term[i]][terms];
                    }
                    if (!solve(n, matrix, formula.coefficient)) continue;
                    bool simple = true;
                    for (int i = 0; i < n; i++) {
                        left -= formula.coefficient[i] * sums[formula.term[i]][terms];
                        formula.coefficient[i] /= length[formula.term[i]];
                        simple &= is_simple(formula.coefficient[i]);
                    }
                    if (left > 1e-8 * square || !simple || !fits(points, target, &formula))
                        continue;
                    *found = formula;
                    return true;
                }
    return false;
}

/* ------------------------------------------------------------------ words */

static size_t write_formula(size_t size, char text[static size], const Terms *of,
                            const Formula *formula) {
    size_t length = 0;
    for (int i = 0; i < formula->count && length < size - 64; i++) {
        const Term *term = &of->term[formula->term[i]];
        double coefficient = formula->coefficient[i], by = fabs(coefficient);
        const char *sign = coefficient < 0 ? (i ? " - " : "-") : i ? " + " : "";
        length += (size_t)snprintf(text + length, size - length, "%s", sign);
        if (fabs(by - 1) > 1e-3 || !term->count)
            length += (size_t)snprintf(text + length, size - length, "%.4g%s", by,
                                       term->count ? " " : "");
        for (int f = 0; f < term->count && length < size - 32; f++)
            length += (size_t)snprintf(text + length, size - length, "%s%s", f ? " " : "",
                                       of->name[term->factor[f]]);
    }
    return length;
}

static bool is_in(const Terms *of, const Formula *formula, const char *name) {
    for (int i = 0; i < formula->count; i++)
        for (int f = 0; f < of->term[formula->term[i]].count; f++)
            if (strcmp(of->name[of->term[formula->term[i]].factor[f]], name) == 0) return true;
    return false;
}

bool is_another_formula(const Evidence *evidence, char say[static DIAGNOSIS]) {
    enum { ROOM = 160 };
    const Answer *failing = first_ordinary(evidence);
    Terms *of = xmalloc(sizeof *of);
    Points *points = memset(xmalloc(sizeof *points), 0, sizeof *points);
    double got[POINTS], truth[POINTS];
    Formula yours, right;
    char text[ROOM] = "", formula[ROOM] = "", where[ROOM] = "";
    bool found = failing && terms_of(of, evidence->kernel->name, failing->golden);
    if (found) collect(points, of, evidence);
    for (int p = 0; p < points->count; p++) {
        got[p] = points->got[p] - points->before[p];
        truth[p] = points->truth[p] - points->before[p];
    }
    found = found && points->count >= LEAST_POINTS &&
            find_formula(points, of->terms, got, &yours) && !fits(points, truth, &yours);
    if (found) write_formula(sizeof text, text, of, &yours);
    bool known = found && find_formula(points, of->terms, truth, &right);
    if (known) write_formula(sizeof formula, formula, of, &right);
    size_t length = 0;
    for (size_t f = 0; found && f < sizeof factors / sizeof *factors && length < ROOM - 48; f++)
        if (factors[f].words &&
            (is_in(of, &yours, factors[f].name) || (known && is_in(of, &right, factors[f].name))))
            length += (size_t)snprintf(where + length, ROOM - length, "%s%s is %s",
                                       length ? ", " : " Here ", factors[f].name, factors[f].words);
    if (found)
        say_it(say, "Your numbers are those of another formula: %s.%s%s%s%s%s", text,
               known ? " It should be: " : "", formula, known ? "." : "", where, *where ? "." : "");
    free(of);
    free(points);
    return found;
}
