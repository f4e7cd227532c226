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
 * one. */
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

/* ------------------------------------------------------------------ products that may be in it */

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
static void add_point(Points *points, const Terms *of, const Place *place) {
    enum { FAR_OUT = 8 };
    double value[NAMES], *product = points->product[points->count];
    float got = place->answer->got[place->index];
    for (int n = 0; n < of->names; n++) {
        value[n] = value_of_name(place, of->name[n]);
        if (!(fabs(value[n]) < 1e4)) return;
    }
    if (!isfinite(got) || fabs(argument_at(place)) > FAR_OUT) return;
    for (int t = 0; t < of->terms; t++) {
        product[t] = 1;
        for (int i = 0; i < of->term[t].count; i++) product[t] *= value[of->term[t].factor[i]];
    }
    points->got[points->count] = got;
    points->truth[points->count] = place->answer->truth[place->index];
    points->before[points->count] = of->before ? input_at(place, of->before) : 0;
    points->count++;
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

/* The sums over all points, of each product times each other and times the target. Each product is
 * divided by its length, the root of its sum of squares. */
typedef struct {
    int terms;
    const double *target;
    double square, length[MOST_TERMS], of[MOST_TERMS][MOST_TERMS], of_target[MOST_TERMS];
} Sums;

static double sum_of(int count, const double a[], const double b[]) {
    double sum = 0;
    for (int p = 0; p < count; p++) sum += a[p] * b[p];
    return sum;
}

static void sum_products(const Points *points, int terms, const double target[], Sums *sums) {
    static double column[MOST_TERMS][POINTS];
    *sums = (Sums){.terms = terms, .target = target};
    sums->square = sum_of(points->count, target, target);
    for (int t = 0; t < terms; t++) {
        for (int p = 0; p < points->count; p++) column[t][p] = points->product[p][t];
        sums->length[t] = sqrt(sum_of(points->count, column[t], column[t])) + 1e-30;
        for (int p = 0; p < points->count; p++) column[t][p] /= sums->length[t];
        sums->of_target[t] = sum_of(points->count, column[t], target);
        for (int other = 0; other <= t; other++)
            sums->of[t][other] = sums->of[other][t] =
                sum_of(points->count, column[t], column[other]);
    }
}

/* Finds the coefficients of these terms. False if they do not give the target. */
static bool give_the_target(const Points *points, const Sums *sums, Formula *formula) {
    double matrix[MOST_IN_IT][MOST_IN_IT + 1], left = sums->square;
    for (int i = 0; i < formula->count; i++) {
        for (int j = 0; j < formula->count; j++)
            matrix[i][j] = sums->of[formula->term[i]][formula->term[j]];
        matrix[i][MOST_IN_IT] = sums->of_target[formula->term[i]];
    }
    if (!solve(formula->count, matrix, formula->coefficient)) return false;
    bool simple = true;
    for (int i = 0; i < formula->count; i++) {
        left -= formula->coefficient[i] * sums->of_target[formula->term[i]];
        formula->coefficient[i] /= sums->length[formula->term[i]];
        simple &= is_simple(formula->coefficient[i]);
    }
    return left <= 1e-8 * sums->square && simple && fits(points, sums->target, formula);
}

/* Adds terms, each behind those before it, until there are so many. */
static bool add_terms(const Points *points, const Sums *sums, int wanted, Formula *formula) {
    if (formula->count == wanted) return give_the_target(points, sums, formula);
    int place = formula->count++;
    for (int t = place ? formula->term[place - 1] + 1 : 0; t < sums->terms; t++) {
        formula->term[place] = t;
        if (add_terms(points, sums, wanted, formula)) return true;
    }
    formula->count--;
    return false;
}

/* The fewest terms that give the target. */
static bool find_formula(const Points *points, int terms, const double target[], Formula *found) {
    static Sums sums;
    sum_products(points, terms, target, &sums);
    for (int wanted = 1; wanted <= MOST_IN_IT; wanted++) {
        *found = (Formula){0};
        if (add_terms(points, &sums, wanted, found)) return true;
    }
    return false;
}

/* ------------------------------------------------------------------ words */

enum { ROOM = 160 };

static void write_formula(char text[static ROOM], const Terms *of, const Formula *formula) {
    size_t length = 0;
    for (int i = 0; i < formula->count && length < ROOM - 64; i++) {
        const Term *term = &of->term[formula->term[i]];
        double coefficient = formula->coefficient[i], by = fabs(coefficient);
        const char *sign = coefficient < 0 ? (i ? " - " : "-") : i ? " + " : "";
        length += (size_t)snprintf(text + length, ROOM - length, "%s", sign);
        if (fabs(by - 1) > 1e-3 || !term->count)
            length += (size_t)snprintf(text + length, ROOM - length, "%.4g%s", by,
                                       term->count ? " " : "");
        for (int f = 0; f < term->count && length < ROOM - 32; f++)
            length += (size_t)snprintf(text + length, ROOM - length, "%s%s", f ? " " : "",
                                       of->name[term->factor[f]]);
    }
}

static bool is_in(const Terms *of, const Formula *formula, const char *name) {
    for (int i = 0; i < formula->count; i++)
        for (int f = 0; f < of->term[formula->term[i]].count; f++)
            if (strcmp(of->name[of->term[formula->term[i]].factor[f]], name) == 0) return true;
    return false;
}

/* " Here Phi is …, phi is ….": the names in either formula that do not say it themselves. */
static void explain_names(char text[static ROOM], const Terms *of, const Formula *yours,
                          const Formula *right) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t f = 0; f < sizeof factors / sizeof *factors && length < ROOM - 48; f++)
        if (factors[f].words &&
            (is_in(of, yours, factors[f].name) || is_in(of, right, factors[f].name)))
            length += (size_t)snprintf(text + length, ROOM - length, "%s%s is %s",
                                       length ? ", " : " Here ", factors[f].name, factors[f].words);
    if (length) snprintf(text + length, ROOM - length, ".");
}

/* The formula of the output, and the right one, in words. */
static bool say_formula(const Terms *of, const Points *points, char say[static DIAGNOSIS]) {
    double got[POINTS] = {0}, truth[POINTS] = {0};
    for (int p = 0; p < points->count; p++) {
        got[p] = points->got[p] - points->before[p];
        truth[p] = points->truth[p] - points->before[p];
    }
    Formula yours, right;
    if (!find_formula(points, of->terms, got, &yours) || fits(points, truth, &yours)) return false;
    char text[ROOM] = "", formula[ROOM] = "", names[ROOM];
    bool known = find_formula(points, of->terms, truth, &right);
    if (!known) right = (Formula){0};
    write_formula(text, of, &yours);
    write_formula(formula, of, &right);
    explain_names(names, of, &yours, &right);
    return say_it(say, "Your numbers are those of another formula: %s.%s%s%s%s", text,
                  known ? " It should be: " : "", formula, known ? "." : "", names);
}

bool is_another_formula(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const Answer *failing = first_ordinary(evidence);
    Terms *of = xmalloc(sizeof *of);
    Points *points = memset(xmalloc(sizeof *points), 0, sizeof *points);
    bool is_known = failing && terms_of(of, evidence->kernel->name, failing->golden);
    if (is_known) collect(points, of, evidence);
    bool found = points->count >= LEAST_POINTS && say_formula(of, points, say);
    free(of);
    free(points);
    return found;
}
