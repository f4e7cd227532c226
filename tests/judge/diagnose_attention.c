/* Rules on what a query attends to: each wrong row is computed again from q, k and v, with one
 * thing changed. */
#include "common/error.h"
#include "tests/judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The T queries of a case are the last of S positions. */
typedef struct {
    const Answer *answer;
    int T, S, H, KV, D;
    double *q, *k, *v; /* [T][H][D], [S][KV][D] twice */
} Heads;

/* One query of one head attends to keys first .. end - 1 of key/value head g, with scores times
 * `scale`. They are then bent to within `cap`, if there is one, and less by `slope` for each step
 * back. */
typedef struct {
    int g, first, end;
    double scale, cap, slope;
} Look;

static int dimension_of(const Tensor *tensor, int from_the_end) {
    return tensor->rank > from_the_end ? (int)tensor->shape[tensor->rank - 1 - from_the_end] : 1;
}

/* All S rows: those that the cache had already, if there is one, and the new ones behind them. */
static double *whole_text(const Heads *heads, const char *cached, const char *name) {
    const Tensor *cache = golden_input(heads->answer->golden, cached);
    const Tensor *rows = golden_input(heads->answer->golden, name);
    size_t row = (size_t)(heads->KV * heads->D), count = tensor_count(rows),
           before = (size_t)heads->S * row - count;
    double *all = xmalloc((size_t)heads->S * row * sizeof *all);
    for (size_t i = 0; i < before; i++) all[i] = tensor_get(cache, i);
    for (size_t i = 0; i < count; i++) all[before + i] = tensor_get(rows, i);
    return all;
}

static Heads heads_of(const Answer *answer) {
    const Tensor *q = golden_input(answer->golden, "q"), *k = golden_input(answer->golden, "k");
    const Tensor *length = golden_input(answer->golden, "length");
    bool has_heads = q->rank == 3;
    Heads heads = {.answer = answer, .T = (int)q->shape[0], .D = dimension_of(q, 0)};
    heads.H = has_heads ? dimension_of(q, 1) : 1;
    heads.KV = has_heads ? dimension_of(k, 1) : 1;
    heads.S = (int)k->shape[0] + (length ? (int)tensor_get(length, 0) : 0);
    heads.q = tensor_to_double(q);
    heads.k = whole_text(&heads, "cache_k", "k");
    heads.v = whole_text(&heads, "cache_v", "v");
    return heads;
}

static void heads_free(Heads *heads) {
    free(heads->q);
    free(heads->k);
    free(heads->v);
}

static Look right_look(const Heads *heads, int row) {
    int t = row / heads->H, h = row % heads->H;
    return (Look){.g = h / (heads->H / heads->KV),
                  .end = heads->S - heads->T + t + 1,
                  .scale = 1 / sqrt(heads->D)};
}

static const double *key_row(const Heads *heads, const double *rows, int s, int g) {
    return rows + (s * heads->KV + g) * heads->D;
}

static double inner_product(const Heads *heads, int row, int s, int g) {
    double sum = 0;
    for (int i = 0; i < heads->D; i++)
        sum += heads->q[row * heads->D + i] * key_row(heads, heads->k, s, g)[i];
    return sum;
}

/* The row of the output that comes of it: is that what came out? */
static bool is_seen(const Heads *heads, int row, const Look *look) {
    int D = heads->D;
    double predicted[D], scores[look->end], most = -INFINITY, sum = 0;
    const float *got = heads->answer->got + row * D;
    for (int s = look->first; s < look->end; s++) {
        scores[s] = look->scale * inner_product(heads, row, s, look->g);
        if (look->cap > 0) scores[s] = look->cap * tanh(scores[s] / look->cap);
        scores[s] -= look->slope * (look->end - 1 - s);
        most = fmax(most, scores[s]);
    }
    memset(predicted, 0, sizeof predicted);
    for (int s = look->first; s < look->end; s++) {
        double weight = exp(scores[s] - most);
        sum += weight;
        for (int i = 0; i < D; i++)
            predicted[i] += weight * key_row(heads, heads->v, s, look->g)[i];
    }
    for (int i = 0; i < D; i++) predicted[i] /= sum;
    double within = 4 * heads->answer->tolerance * row_ulp((size_t)D, predicted);
    for (int i = 0; i < D; i++)
        if (!(fabs(got[i] - predicted[i]) <= within)) return false;
    return true;
}

static bool is_wrong_row(const Heads *heads, int row) {
    for (int i = 0; i < heads->D; i++)
        if (heads->answer->wrong[row * heads->D + i]) return true;
    return false;
}

/* ---------------------------------------------------------------- what explains every wrong row */

/* Finds what the row saw instead, beginning with what it should see. */
typedef bool Find(const Heads *heads, int row, Look *look);

static bool finds_another_head(const Heads *heads, int row, Look *look) {
    int right = look->g;
    for (look->g = 0; look->g < heads->KV; look->g++)
        if (look->g != right && is_seen(heads, row, look)) return true;
    return false;
}

/* The nearest to the right one first: far ones may look alike. */
static bool finds_another_end(const Heads *heads, int row, Look *look) {
    int right = look->end;
    for (int apart = 1; apart < heads->S; apart++)
        for (int sign = -1; sign <= 1; sign += 2) {
            look->end = right + sign * apart;
            if (look->end > 0 && look->end <= heads->S && is_seen(heads, row, look)) return true;
        }
    return false;
}

static bool finds_another_beginning(const Heads *heads, int row, Look *look) {
    for (look->first = 1; look->first < look->end; look->first++)
        if (is_seen(heads, row, look)) return true;
    return false;
}

static bool looks(const Evidence *evidence) {
    const char *chapter = evidence->kernel->chapter;
    const GoldenCase *golden = evidence->count ? evidence->answers[0].golden : NULL;
    return golden && (strcmp(chapter, "04_attention") == 0 || strcmp(chapter, "06") > 0) &&
           strcmp(chapter, "09") < 0 && golden_input(golden, "q") && golden_input(golden, "k") &&
           golden_input(golden, "v");
}

/* The first row that was explained. */
typedef struct {
    const Answer *answer;
    int row, H, KV, S, T, rows; /* how many rows were explained */
    Look look, right;
} Sight;

/* Every wrong row of a case. */
static bool explains_rows(const Heads *heads, Find *find, Sight *first) {
    for (int row = 0; row < heads->T * heads->H; row++) {
        Look right = right_look(heads, row), look = right;
        if (!is_wrong_row(heads, row)) continue;
        if (!find(heads, row, &look)) return false;
        if (!first->rows++) {
            first->answer = heads->answer;
            first->row = row;
            first->look = look;
            first->right = right;
            first->H = heads->H;
            first->KV = heads->KV;
            first->S = heads->S;
            first->T = heads->T;
        }
    }
    return true;
}

static bool explains_all_rows(const Evidence *evidence, Find *find, Sight *first) {
    *first = (Sight){0};
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        if (!fails(answer) || !is_ordinary(answer)) continue;
        Heads heads = heads_of(answer);
        bool explained = explains_rows(&heads, find, first);
        heads_free(&heads);
        if (!explained) return false;
    }
    return first->rows >= SOME_NUMBERS;
}

bool reads_another_head(const Evidence *evidence, char say[static DIAGNOSIS]) {
    Sight first;
    return looks(evidence) && explains_all_rows(evidence, finds_another_head, &first) &&
           say_it(say,
                  "Your query head %d reads key/value head %d, and not %d, where H is %d and KV %d "
                  "(case %s). Query head h reads h / (H / KV): neighbours share.",
                  first.row % first.H, first.look.g, first.right.g, first.H, first.KV,
                  first.answer->golden->name);
}

bool sees_other_keys(const Evidence *evidence, char say[static DIAGNOSIS]) {
    Sight first;
    if (!looks(evidence) || (!explains_all_rows(evidence, finds_another_end, &first) &&
                             !explains_all_rows(evidence, finds_another_beginning, &first)))
        return false;
    return say_it(say,
                  "Your query %d of %d, at position %d of %d, sees keys %d to %d, and not 0 to %d "
                  "(case %s). Query t stands at S - T + t, and sees all up to itself: which mask, "
                  "or bound of a loop, says otherwise?",
                  first.row / first.H, first.T, first.right.end - 1, first.S, first.look.first,
                  first.look.end - 1, first.right.end - 1, first.answer->golden->name);
}

/* ------------------------------------------------------------------ another scale */

/* factor D^of_D S^of_S H^of_H KV^of_KV, in place of 1 / sqrt(D). */
typedef struct {
    double factor, of_D, of_S, of_H, of_KV;
    const char *divisor;
} Scale;

static const Scale scales[] = {
    {1 / 8.0, 0, 0, 0, 0, "8, as if each head were 64 wide"},
    {M_SQRT1_2 / 8, 0, 0, 0, 0, "sqrt(128), as if each head were 128 wide"},
    {M_SQRT2, -0.5, 0, 0, 0, "sqrt(D / 2)"},
    {M_SQRT1_2, -0.5, 0, 0, 0, "sqrt(2 D)"},
    {2, -0.5, 0, 0, 0, "sqrt(D) / 2"},
    {0.5, -0.5, 0, 0, 0, "2 sqrt(D)"},
    {M_LOG2E, -0.5, 0, 0, 0, "sqrt(D) ln(2), as where 2^x is taken, but you take e^x"},
    {1, 0.5, 0, 0, 0, "1 / sqrt(D): they are multiplied by the root"},
    {1, 0, -0.5, 0, 0, "sqrt(S), the root of the number of keys"},
    {1, 0, 0, -0.5, 0, "sqrt(H), the root of the number of heads"},
    {1, -0.5, 0, -0.5, 0, "sqrt(H D), the root of the model's width"},
    {1, -0.5, 0, 0, -0.5, "sqrt(KV D), the root of the width of all keys"},
};

/* Changes how right attention looks at one row. */
typedef void Change(const Heads *heads, int row, const void *by, Look *look);

static void change_scale(const Heads *heads, int row, const void *by, Look *look) {
    const Scale *scale = by;
    (void)row;
    look->scale = scale->factor * pow(heads->D, scale->of_D) * pow(heads->S, scale->of_S) *
                  pow(heads->H, scale->of_H) * pow(heads->KV, scale->of_KV);
}

static void set_cap(const Heads *heads, int row, const void *by, Look *look) {
    (void)heads, (void)row;
    look->cap = *(const double *)by;
}

/* 2^(-8 (h + 1) / H), of Press, Smith and Lewis 2021. */
static void set_slope(const Heads *heads, int row, const void *by, Look *look) {
    (void)by;
    look->slope = pow(2, -8.0 * (row % heads->H + 1) / heads->H);
}

static bool is_changed(const Heads *heads, Change *change, const void *by) {
    for (int row = 0; row < heads->T * heads->H; row++) {
        Look look = right_look(heads, row);
        change(heads, row, by, &look);
        if (is_wrong_row(heads, row) && !is_seen(heads, row, &look)) return false;
    }
    return true;
}

static bool change_explains(const Evidence *evidence, Change *change, const void *by) {
    int told = 0;
    for (int a = 0; looks(evidence) && a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        if (!fails(answer) || !is_ordinary(answer)) continue;
        Heads heads = heads_of(answer);
        bool explained = is_changed(&heads, change, by);
        heads_free(&heads);
        if (!explained) return false;
        told++;
    }
    return told > 1;
}

bool scales_the_scores(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++)
        if (change_explains(evidence, change_scale, &scales[s]))
            return say_it(
                say, "Your scores are divided by %s. Divide by sqrt(D), D the width of a head.",
                scales[s].divisor);
    return false;
}

bool bends_the_scores(const Evidence *evidence, char say[static DIAGNOSIS]) {
    static const double caps[] = {50, 30, 20, 15, 100};
    for (size_t c = 0; c < sizeof caps / sizeof *caps; c++)
        if (change_explains(evidence, set_cap, &caps[c]))
            return say_it(say,
                          "Your scores are capped, %g tanh(score / %g), as in Gemma 2 (softcap). A "
                          "Llama's are not: softmax takes q k / sqrt(D) as it is.",
                          caps[c], caps[c]);
    return change_explains(evidence, set_slope, NULL) &&
           say_it(say,
                  "Your scores are less the farther back a key lies, 2^(-8 (h + 1) / H) for each "
                  "step, as in ALiBi. A Llama has positions in q and k alone, by RoPE.");
}
