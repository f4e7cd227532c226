/* Rules on positions: in which places, cases and numbers the output is wrong. And the words that
 * all rules share. */
#include "common/error.h"
#include "tests/judge/diagnosis.h"
#include "tests/judge/rules.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ words */

bool say_it(char say[static DIAGNOSIS], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(say, DIAGNOSIS, format, arguments);
    va_end(arguments);
    return true;
}

char *where_text(char text[static WHERE], const Answer *answer, size_t index) {
    char position[SHAPE_TEXT];
    snprintf(text, WHERE, "%s of case %s", index_text(position, index, &answer->golden->expected),
             answer->golden->name);
    return text;
}

static bool is_array(const Tensor *tensor) { return tensor->rank > 0; }

/* "x, weight or bias": the case's arrays. */
static char *inputs_text(size_t size, char text[static size], const GoldenCase *golden) {
    int arrays = 0, listed = 0;
    size_t length = 0;
    for (int i = 0; i < golden->input_count; i++) arrays += is_array(&golden->input[i]);
    text[0] = '\0';
    for (int i = 0; i < golden->input_count && length < size; i++) {
        if (!is_array(&golden->input[i])) continue;
        const char *before = listed == 0 ? "" : listed + 1 == arrays ? " or " : ", ";
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s", before, golden->input[i].name);
        listed++;
    }
    return text;
}

const char *axis_name(const Answer *answer, int axis) {
    int rank = answer->golden->expected.rank;
    bool has_heads = false;
    for (int i = 0; i < answer->golden->input_count; i++)
        has_heads |= answer->golden->input[i].rank == 3;
    if (rank == 1) return "number";
    if (axis == rank - 1) return rank == 3 ? "number of a head" : "column";
    if (rank == 3 && has_heads) return axis == 0 ? "token" : "head";
    return axis == rank - 2 ? "row" : "table";
}

Axis axis_of(const Answer *answer, int axis) {
    const Tensor *expected = &answer->golden->expected;
    size_t inner = 1;
    for (int a = axis + 1; a < expected->rank; a++) inner *= expected->shape[a];
    return (Axis){expected->shape[axis], inner};
}

size_t step_of(Axis axis, size_t index) { return index / axis.inner % axis.size; }

int rank_of(const Evidence *evidence) {
    return evidence->count ? evidence->answers[0].golden->expected.rank : 0;
}

size_t size_of(const Answer *answer, const char *input, bool first) {
    const Tensor *tensor = input ? golden_input(answer->golden, input) : &answer->golden->expected;
    return !tensor || !is_array(tensor) ? 0
           : first                      ? tensor->shape[0]
                                        : tensor->shape[tensor->rank - 1];
}

/* ------------------------------------------------------------------ marks of the sandbox */

/* In their words %1$s is where the mark shows first, and %2$s are the inputs. */
static const struct {
    Flag *shows;
    const char *words;
} marks[] = {
    /* out[i] += … without out[i] = 0; a sum kept in out or in a room to work in */
    {shows_out_before,
     "Your kernel adds onto what was in out before, or in a buffer to work in: it shows first at "
     "%1$s. It must be set, not added to: nobody has set it to 0 for you."},
    /* a loop that runs one too far, a vector that is loaded whole where only a part of it is left
     */
    {shows_around_inputs, "Your kernel reads past the end of %2$s, or before it begins: what lies "
                          "there shows first at %1$s. Which index is too large there?"},
    /* float sum; or malloc() in place of calloc() */
    {shows_what_is_unset, "Your kernel reads a variable, or memory from malloc, that it has not "
                          "set, or past its end: what lies there shows first at %1$s. Does every "
                          "sum, and every largest number, begin with something?"},
};

bool shows_a_mark(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE], inputs[128];
    size_t index;
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        const Answer *found = first_flagged(evidence, marks[m].shows, &index);
        if (!found) continue;
        return snprintf(say, DIAGNOSIS, marks[m].words, where_text(where, found, index),
                        inputs_text(sizeof inputs, inputs, found->golden));
    }
    return false;
}

/* ------------------------------------------------------- places: what is wrong lies in one part */

/* A part of an axis: the steps that `holds` is true for. On an axis of fewer steps than `least` it
 * says nothing. */
typedef struct {
    bool (*holds)(size_t step, size_t size);
    size_t least;
    bool of_a_row;    /* said of a row's numbers; otherwise of any axis */
    const char *name; /* with the axis's name in it, or the row's */
    const char *hint;
} Place;

static bool behind_the_first(size_t step, size_t size) { return (void)size, step > 0; }
static bool at_the_last(size_t step, size_t size) { return step + 1 == size; }
static bool at_the_first(size_t step, size_t size) { return (void)size, step == 0; }
static bool at_odd_steps(size_t step, size_t size) { return (void)size, step % 2 == 1; }
static bool at_even_steps(size_t step, size_t size) { return (void)size, step % 2 == 0; }
static bool in_the_second_half(size_t step, size_t size) { return step >= size / 2; }
static bool in_the_first_half(size_t step, size_t size) { return step < size / 2; }
static bool behind_vectors_of_4(size_t step, size_t size) { return step >= size - size % 4; }
static bool behind_vectors_of_8(size_t step, size_t size) { return step >= size - size % 8; }
static bool behind_vectors_of_16(size_t step, size_t size) { return step >= size - size % 16; }

static const char tail[] = "This is the vector tail: where the width is no multiple of a vector's, "
                           "what is left needs a loop of its own.",
                  by_two[] = "Does a loop go on by two, and compute one of a pair?";

/* The narrow ones first. */
static const Place places[] = {
    {at_the_last, 3, false, "the last %s", "Does its loop end one too early?"},
    {at_the_first, 3, false, "the first %s",
     "Does its loop begin one too late, or with a sum or a maximum that is not set?"},
    {behind_vectors_of_4, 5, true, "the last width %% 4 numbers of %s", tail},
    {behind_vectors_of_8, 9, true, "the last width %% 8 numbers of %s", tail},
    {behind_vectors_of_16, 17, true, "the last width %% 16 numbers of %s", tail},
    {at_odd_steps, 4, false, "every second %s: 1, 3, 5 and so on", by_two},
    {at_even_steps, 4, false, "every second %s: 0, 2, 4 and so on", by_two},
    {in_the_second_half, 4, true, "the second half of %s",
     "Does a loop end half-way, or is the index of a pair's other number off?"},
    {in_the_first_half, 4, true, "the first half of %s",
     "Does a loop begin half-way, or is the index of a pair's other number off?"},
    {behind_the_first, 3, false, "every %s but the first",
     "What changes from the second on? Its index in all that is read and written, and what must "
     "begin anew: a sum, a maximum."},
};
enum { PLACES = sizeof places / sizeof *places };

/* Are the flagged numbers in all steps of the place, and in no others? A wrong kernel may be right
 * in some by luck. */
static bool lies_in(const Answer *answer, const Place *place, Axis axis, Flag *flagged) {
    bool *step = memset(xmalloc(axis.size), 0, axis.size);
    size_t inside = 0, hit = 0, outside = 0;
    for (size_t i = 0; i < answer->count; i++) step[step_of(axis, i)] |= flagged(answer, i);
    for (size_t k = 0; k < axis.size; k++) {
        bool holds = place->holds(k, axis.size);
        inside += holds;
        hit += holds && step[k];
        outside += !holds && step[k];
    }
    free(step);
    return !outside && (flagged == is_wrong ? hit * 4 >= inside * 3 : hit == inside);
}

static bool is_empty(const Place *place, Axis axis) {
    for (size_t k = 0; k < axis.size; k++)
        if (place->holds(k, axis.size)) return false;
    return true;
}

/* In every case that can tell, the failures are in that place, and the cases that pass have no such
 * place. */
static bool is_the_place(const Evidence *evidence, const Place *place, int number, Flag *flagged) {
    int told = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        Axis axis = axis_of(answer, number);
        if (axis.size < 2 || !is_ordinary(answer)) continue;
        bool is_long =
            axis.size >= place->least; /* a short one may speak against it, and never for it */
        if (fails(answer) ? !lies_in(answer, place, axis, flagged)
                          : is_long && !is_empty(place, axis))
            return false;
        told += fails(answer) && is_long;
    }
    return told > 0;
}

/* "the last row", and what may be the cause. */
static bool find_place(const Evidence *evidence, Flag *flagged, char name[static NAME],
                       const char **hint) {
    int rank = rank_of(evidence);
    for (int p = 0; p < PLACES; p++)
        for (int axis = places[p].of_a_row && rank ? rank - 1 : 0; axis < rank; axis++) {
            if (!is_the_place(evidence, &places[p], axis, flagged)) continue;
            const char *row = rank == 1 ? "the output" : rank == 2 ? "each row" : "each head";
            snprintf(name, NAME, places[p].name,
                     places[p].of_a_row ? row : axis_name(&evidence->answers[0], axis));
            *hint = places[p].hint;
            return true;
        }
    return false;
}

static bool is_written(const Answer *answer, size_t index) {
    return !is_poison(answer->got[index]);
}

/* A kernel that is not there yet, a loop that ends early, a result that is kept and not stored. */
bool leaves_numbers_unwritten(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE], name[NAME];
    const char *hint;
    size_t index;
    const Answer *found = first_flagged(evidence, is_unwritten, &index);
    if (!found) return false;
    if (!count_flagged(evidence, is_written))
        return say_it(say, "Nothing is written to out. Is the kernel implemented, and are its "
                           "parameters those of the header, in their order?");
    bool others = count_flagged(evidence, is_wrong) > count_flagged(evidence, is_unwritten);
    const char *also = others ? " Other numbers are wrong as well." : "";
    if (find_place(evidence, is_unwritten, name, &hint))
        return say_it(say, "Never written: %s. %s%s", name, hint, also);
    return say_it(say,
                  "Some numbers are never written, the first at %s: does the loop reach the end, "
                  "and does every branch write?%s",
                  where_text(where, found, index), also);
}

/* The name of stage s of 2 L + 2 of the residual stream. */
static char *stage_text(char text[static NAME], size_t stage, size_t stages) {
    if (stage == 0) snprintf(text, NAME, "the embedding");
    else if (stage == stages - 1) snprintf(text, NAME, "the last norm");
    else
        snprintf(text, NAME, "%s of layer %zu", stage % 2 ? "attention" : "the feed-forward",
                 (stage - 1) / 2);
    return text;
}

/* The stream of chapter 9's decoder: what comes after the first stage that differs inherits. */
bool begins_at_a_stage(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const Answer *answer = first_failing(evidence);
    if (strcmp(evidence->kernel->name, "decoder_forward") != 0 ||
        !count_flagged(evidence, is_written))
        return false;
    Axis stages = axis_of(answer, 0), tokens = axis_of(answer, 1), numbers = axis_of(answer, 2);
    size_t index = 0;
    while (!answer->wrong[index]) index++;
    size_t stage = step_of(stages, index), token = step_of(tokens, index);
    const Tensor *pieces = golden_input(answer->golden, "split");
    size_t split = pieces ? (size_t)tensor_get(pieces, 0) : 0;
    char name[NAME];
    const char *hint = stage == 0 ? "Is it row ids[t] of embed_tokens?"
                       : stage == stages.size - 1
                           ? "Is it model->norm, over all T tokens?"
                           : "What each block adds is judged by itself, so look at what it is "
                             "given, and at what becomes of delta.";
    if (is_unwritten(answer, index))
        hint = stage < stages.size - 1
                   ? "This stage is not shown: does the loop reach it, and call call_stage_hook()?"
                   : "This row of out is not written: all T tokens come out.";
    else if (token > 0 && token == split)
        hint = "The tokens of the first piece are right, those of the second are not: is d->length "
               "minded?";
    return say_it(
        say,
        "The first stage that differs is %zu, after %s, at token %zu, number %zu (case %s). %s",
        stage, stage_text(name, stage, stages.size), token, step_of(numbers, index),
        answer->golden->name, hint);
}

bool is_wrong_in_one_place(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    const char *hint;
    return find_place(evidence, is_wrong, name, &hint) &&
           say_it(say, "Wrong: %s, and nothing else. %s", name, hint);
}

/* Of the first failing case with some right numbers: in which steps of an axis the wrong ones are.
 */
bool is_wrong_in_some_steps(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const Answer *answer = first_failing(evidence), *end = evidence->answers + evidence->count;
    while (answer < end &&
           (!fails(answer) || answer->wrongs == answer->count || !is_ordinary(answer)))
        answer++;
    if (rank_of(evidence) < 2) return false;
    for (int number = 0; answer < end && number < rank_of(evidence); number++) {
        Axis axis = axis_of(answer, number);
        bool *step = memset(xmalloc(axis.size), 0, axis.size);
        size_t first = axis.size, last = 0, count = 0;
        for (size_t i = 0; i < answer->count; i++) step[step_of(axis, i)] |= answer->wrong[i];
        for (size_t k = 0; k < axis.size; k++) {
            if (!step[k]) continue;
            if (first == axis.size) first = k;
            last = k;
            count++;
        }
        free(step);
        if (axis.size < 3 || count == axis.size || count != last - first + 1) continue;
        const char *name = axis_name(answer, number), *of = answer->golden->name;
        if (count == 1)
            return say_it(say, "In case %s nothing is wrong but %s %zu, of 0 to %zu.", of, name,
                          first, axis.size - 1);
        return say_it(say, "In case %s nothing is wrong but %ss %zu to %zu, of 0 to %zu.", of,
                      number == 2 ? "number" : name, first, last, axis.size - 1);
    }
    return false;
}

/* ------------------------------------------------------------------ steps of an optimizer */

/* The last step of a case of adamw; 0 if it does not ask for the weights, which alone the
 * corrections change. */
static size_t last_step(const Answer *answer) {
    const Tensor *step = golden_input(answer->golden, "step"),
                 *of = golden_input(answer->golden, "of");
    if (!step || !of || tensor_get(of, 0) != 0) return 0;
    return (size_t)tensor_get(step, 0) + size_of(answer, "gradient", true) - 1;
}

/* Corrections that end, or stand still, after so many steps. Other mistakes show within the first
 * few. */
bool fails_after_some_steps(const Evidence *evidence, char say[static DIAGNOSIS]) {
    enum { FIRST_STEPS = 4 };
    size_t right = 0, wrong = SIZE_MAX;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        size_t last = last_step(answer);
        if (fails(answer) && last < wrong) wrong = last;
        if (!fails(answer) && last > right) right = last;
    }
    return right > FIRST_STEPS && right < wrong &&
           say_it(
               say,
               "Your weights are right up to step %zu, and wrong by step %zu; m and v are right. "
               "Do your corrections end, or stand still? They are 1 - beta^step at every step.",
               right, wrong);
}

/* ------------------------------------------------------------------ special numbers */

/* A kind of input, of one number or of a whole row. */
typedef struct {
    bool (*is)(size_t n, const double x[n]);
    bool is_common;
    const char *name, *hint;
} Kind;

static bool some_not_finite(size_t n, const double x[n]) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return true;
    return false;
}
static bool all_zero(size_t n, const double x[n]) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0) return false;
    return true;
}
static bool some_subnormal(size_t n, const double x[n]) {
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0 && fabs(x[i]) < FLT_MIN) return true;
    return false;
}
static bool all_far_out(size_t n, const double x[n]) { return n == 1 && fabs(x[0]) > 80; }
static bool all_negative(size_t n, const double x[n]) { return n == 1 && x[0] < 0; }
static bool all_positive(size_t n, const double x[n]) { return n == 1 && x[0] > 0; }

static const Kind kinds[] = {
    {some_not_finite, false, "infinite or NaN",
     "There, 0 * infinity is NaN, and every comparison with NaN is false: what does the formula "
     "give?"},
    {all_zero, false, "0", "Is something divided by it, or is it a < that should be <=?"},
    {some_subnormal, false, "subnormal, below 1.2e-38",
     "Is the code compiled with -ffast-math, which makes zeros of them?"},
    {all_far_out, false, "far from 0, over 80 in size",
     "e^88.8 overflows a float, and e^-104 is 0: use an exponent that is never positive, and mind "
     "what is divided."},
    {all_negative, true, "negative", "Which part of the formula is for numbers below 0?"},
    {all_positive, true, "positive", "Which part of the formula is for numbers above 0?"},
};

/* The numbers of an output whose input is of a kind, and the others. */
typedef struct {
    size_t wrong, right, other_wrong, other_right;
} Counts;

/* An input of the output's shape is compared number by number, or row by row where rows are judged
 * together. */
static void count_kind(const Answer *answer, const Tensor *input, const Kind *kind,
                       Counts *counts) {
    double *x = tensor_to_double(input);
    for (size_t i = 0; i < answer->count; i++) {
        bool is_it = kind->is(answer->row, x + i / answer->row * answer->row);
        counts->wrong += is_it && answer->wrong[i];
        counts->right += is_it && !answer->wrong[i];
        counts->other_wrong += !is_it && answer->wrong[i];
        counts->other_right += !is_it && !answer->wrong[i];
    }
    free(x);
}

/* Nothing else is wrong; and as half of all numbers are of one sign, of those most must be. */
static bool kind_explains(const Evidence *evidence, const Kind *kind, const char *name) {
    Counts counts = {0};
    for (int a = 0; a < evidence->count; a++) {
        const Tensor *input = golden_input(evidence->answers[a].golden, name);
        if (!input || tensor_count(input) != evidence->answers[a].count) return false;
        count_kind(&evidence->answers[a], input, kind, &counts);
    }
    bool enough = kind->is_common ? counts.wrong >= 3 * counts.right && counts.wrong >= SOME_NUMBERS
                                  : counts.wrong > 0;
    return enough && counts.other_wrong == 0 && counts.other_right > counts.wrong / 4;
}

bool is_wrong_for_special_numbers(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const GoldenCase *golden = first_failing(evidence)->golden;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < golden->input_count; i++)
            if (kind_explains(evidence, &kinds[k], golden->input[i].name))
                return say_it(say, "Only where %s is %s is your output wrong. %s",
                              golden->input[i].name, kinds[k].name, kinds[k].hint);
    return false;
}

static bool is_mask_out_of_place(const Answer *answer, size_t i) {
    return answer->wrong[i] && !isnan(answer->got[i]) &&
           (answer->got[i] == -INFINITY || answer->truth[i] == -INFINITY);
}
static bool is_not_finite(const Answer *answer, size_t i) {
    return answer->wrong[i] && !isfinite(answer->got[i]) && isfinite(answer->truth[i]);
}

/* From attention to the samplers, -infinity is a key or a token that is ruled out; elsewhere it is
 * the log of 0. */
static bool knows_masks(const Evidence *evidence) {
    const char *chapter = evidence->kernel->chapter;
    return (strcmp(chapter, "04_attention") == 0 || strcmp(chapter, "06") > 0) &&
           strcmp(chapter, "12") < 0;
}

bool misplaces_a_mask(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE];
    size_t index;
    const Answer *found =
        knows_masks(evidence) ? first_flagged(evidence, is_mask_out_of_place, &index) : NULL;
    return found &&
           count_flagged(evidence, is_mask_out_of_place) == count_flagged(evidence, is_wrong) &&
           say_it(say, "Only -infinity, which means \"ruled out\", is out of place, first at %s.",
                  where_text(where, found, index));
}

bool overflows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return count_flagged(evidence, is_not_finite) == count_flagged(evidence, is_wrong) &&
           say_it(
               say,
               "Only NaN and infinity are out of place: an overflow, 0/0, or infinity - infinity.");
}

/* ------------------------------------------------------------------ samplers */

/* Mistakes in a token's logit. -infinity rules a token out. */
static bool is_kept_in_error(const Answer *answer, size_t i) {
    return answer->truth[i] == -INFINITY && answer->wrong[i];
}
static bool is_ruled_out_in_error(const Answer *answer, size_t i) {
    return answer->got[i] == -INFINITY && answer->wrong[i];
}
static bool is_wrongly_kept_or_not(const Answer *answer, size_t i) {
    return is_kept_in_error(answer, i) || is_ruled_out_in_error(answer, i);
}
static bool is_far_down(const Answer *answer, size_t i) {
    return is_kept_in_error(answer, i) && answer->got[i] <= -1000;
}

static bool is_sampler(const Evidence *evidence) {
    return strcmp(evidence->kernel->chapter, "11_generation") == 0;
}

bool keeps_the_wrong_tokens(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char number[NUMBER_TEXT];
    size_t token, kept = count_flagged(evidence, is_kept_in_error);
    size_t out = count_flagged(evidence, is_ruled_out_in_error);
    const Answer *first =
        is_sampler(evidence) ? first_flagged(evidence, is_wrongly_kept_or_not, &token) : NULL;
    if (!first) return false;
    if (kept == count_flagged(evidence, is_far_down) && !out)
        return say_it(say,
                      "What you rule out gets %s. Give it -INFINITY: its probability is 0 at every "
                      "temperature.",
                      number_text(number, 7, first->got[token]));
    char kept_text[64] = "", out_text[64] = "";
    if (kept) snprintf(kept_text, sizeof kept_text, "%zu kept that should go", kept);
    if (out)
        snprintf(out_text, sizeof out_text, "%s%zu ruled out that should stay", kept ? ", " : "",
                 out);
    return say_it(say, "%s%s (first: token %zu of case %s).", kept_text, out_text, token,
                  first->golden->name);
}

/* The right ones are kept. */
bool changes_the_logits(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const char *name = evidence->kernel->name;
    bool rules_out =
        strcmp(name, "top_k") == 0 || strcmp(name, "top_p") == 0 || strcmp(name, "min_p") == 0;
    char where[WHERE];
    size_t index;
    const Answer *found = first_flagged(evidence, is_wrong, &index);
    return rules_out && say_it(say,
                               "The right tokens are kept, but their logits are changed, first at "
                               "%s. Hand on what came in.",
                               where_text(where, found, index));
}
