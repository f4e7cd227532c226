#include "tests/verify/diagnosis.h"
#include "common/error.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the evidence */

/* One case that was answered. */
typedef struct {
    const GoldenCase *golden;
    const float *got;    /* [count] */
    const double *truth; /* [count] */
    const bool *wrong;   /* [count] */
    size_t count, row;   /* numbers; of them, that are judged together */
    size_t wrongs;
    double tolerance; /* in ulps */
} Answer;

/* What the rules look at. A case without an output is no evidence. */
typedef struct {
    const Kernel *kernel;
    int count;
    Answer *answers;
} Evidence;

static bool fails(const Answer *answer) { return answer->wrongs > 0; }

static bool is_near(float got, double truth, double within) {
    if (isnan(truth) || isinf(truth)) return isnan(truth) ? isnan(got) && !is_poison(got) : (double)got == truth;
    return fabs((double)got - truth) <= within;
}

/* How many numbers are not as predicted, in ulps of the largest of a row, right or predicted: what is left where two
 * large numbers cancel has their roundings. `stray`, if wanted, says which. */
static size_t count_strays(const Answer *answer, double tolerance, const double predicted[], bool stray[]) {
    size_t strays = 0;
    for (size_t start = 0; start < answer->count; start += answer->row) {
        double unit = fmax(row_ulp(answer->row, predicted + start), row_ulp(answer->row, answer->truth + start));
        for (size_t i = start; i < start + answer->row; i++) {
            bool is_stray = !is_near(answer->got[i], predicted[i], tolerance * unit);
            strays += is_stray;
            if (stray) stray[i] = is_stray;
        }
    }
    return strays;
}

static bool is_bf16(const Answer *answer) { return answer->golden->expected.dtype == BF16; }

static Answer answer_of(const Kernel *kernel, const Verdict *verdict) {
    const GoldenCase *golden = verdict->golden_case;
    Answer answer = {.golden = golden, .got = verdict->output, .count = tensor_count(&golden->expected)};
    answer.row = is_bf16(&answer) ? 1 : golden_row(golden, kernel->pointwise);
    answer.tolerance = is_bf16(&answer) ? 0 : CHECK_MULTIPLE * verdict->agreement.reference + CHECK_ULPS;
    double *truth = tensor_to_double(&golden->expected64);
    for (size_t i = 0; i < answer.count; i++) {
        double expected = tensor_get(&golden->expected, i);
        if (!isfinite(expected)) truth[i] = expected; /* as check() has it */
    }
    bool *wrong = allocate(answer.count * sizeof *wrong);
    answer.truth = truth, answer.wrong = wrong;
    answer.wrongs = count_strays(&answer, answer.tolerance, truth, wrong);
    return answer;
}

static Evidence evidence_of(const Kernel *kernel, int count, const Verdict verdicts[]) {
    Evidence evidence = {.kernel = kernel, .answers = allocate((size_t)count * sizeof *evidence.answers)};
    for (int i = 0; i < count; i++)
        if (verdicts[i].output) evidence.answers[evidence.count++] = answer_of(kernel, &verdicts[i]);
    return evidence;
}

static void evidence_free(Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++)
        free((void *)evidence->answers[a].truth), free((void *)evidence->answers[a].wrong);
    free(evidence->answers);
}

/* Infinities and NaN follow rules of their own: where they are, a rule of other things cannot tell. */
static bool is_ordinary(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (!isfinite(answer->truth[i]) || (!isfinite(answer->got[i]) && !is_poison(answer->got[i]))) return false;
    return true;
}

/* One number in fifty may stray, since a mistake made in float32 by other hands can cancel in other digits; but most
 * of what is wrong must be explained. Of a case that passes nothing is wrong, so that there nothing may stray. */
static bool few(size_t strays, const Answer *answer) {
    return strays * 50 <= answer->count && strays * 4 <= answer->wrongs;
}

/* ------------------------------------------------------------------ marks */

/* The sandbox fills the output with one NaN before the call, and what lies around the inputs with another. Arithmetic
 * makes a signalling NaN a quiet one, and hands its lower bits on: so a sum that began with one of them tells where it
 * was read. Processors that know one NaN only, as RISC-V does, tell nothing. */
static const uint32_t out_before = POISON << 16 | POISON, around_inputs = CANARY << 16 | CANARY, quiet = 1u << 22;

static bool bears(float value, uint32_t mark) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits | quiet) & ~(1u << 31);
    bool as_float = bits == (mark | quiet), as_bf16 = bits == ((mark | quiet) & 0xffff0000);
    bool as_count = fabsf(value - (float)mark) < 0x1p16f; /* kernels of whole numbers count on from it */
    return (as_float || as_bf16 || as_count) && !is_poison(value);
}

static bool bears_a_mark(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (bears(answer->got[i], out_before) || bears(answer->got[i], around_inputs)) return true;
    return false;
}

/* ------------------------------------------------------------------ twins */

static const Tensor *twin_named(const GoldenCase *golden_case, const char *name) {
    for (int i = 0; i < golden_case->twin_count; i++)
        if (strcmp(golden_case->twin[i].name, name) == 0) return &golden_case->twin[i];
    return NULL;
}

/* Is the output this twin? It is if it is as near to the twin as a right answer is to PyTorch's. */
static bool is_twin(const Answer *answer, const Tensor *twin) {
    double *truth = tensor_to_double(twin);
    bool is = fails(answer) && !bears_a_mark(answer) && few(count_strays(answer, answer->tolerance, truth, NULL), answer);
    free(truth);
    return is;
}

/* What speaks for a twin, and against it. */
typedef struct {
    Diagnosis diagnosis;
    int failing, storing; /* cases that fail and store any twin; of them, those that store this one */
    size_t numbers;       /* that it explains, and that are finite: an overflow looks the same whatever its cause */
} Explanation;

static size_t finite_wrongs(const Answer *answer) {
    size_t count = 0;
    for (size_t i = 0; i < answer->count; i++) count += answer->wrong[i] && isfinite(answer->got[i]);
    return count;
}

static Explanation explain(const Evidence *evidence, const char *twin) {
    Explanation explanation = {.diagnosis.twin = twin};
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        const Tensor *stored = twin_named(answer->golden, twin);
        explanation.failing += fails(answer) && answer->golden->twin_count;
        explanation.storing += fails(answer) && stored;
        explanation.diagnosis.stored += stored != NULL;
        if (!stored || !is_twin(answer, stored)) continue;
        explanation.diagnosis.matched++;
        explanation.numbers += finite_wrongs(answer);
    }
    return explanation;
}

enum { SOME_NUMBERS = 3 }; /* so many are no coincidence */

static bool explains_all(const Explanation *of) { return of->diagnosis.matched == of->failing; }

/* It is named if it explains most of the cases that store it: in the others a second mistake may show. Or if it explains
 * every failing one of them: the others may pass by luck. A case of a number or two may be a coincidence. */
static bool is_convincing(const Explanation *of) {
    int matched = of->diagnosis.matched;
    bool mostly = matched * 2 > of->diagnosis.stored, where_it_fails = matched && matched == of->storing;
    return (mostly && (matched > 1 || explains_all(of))) || ((mostly || where_it_fails) && of->numbers >= SOME_NUMBERS);
}

/* Each case that a twin explains speaks for it, each that it does not against it, half as much. */
static bool better(Diagnosis a, Diagnosis b) {
    int left = 3 * a.matched - a.stored, right = 3 * b.matched - b.stored;
    return left > right || (left == right && a.matched > b.matched);
}

static Explanation best_twin(const Evidence *evidence) {
    Explanation best = {0};
    for (int a = 0; a < evidence->count; a++)
        for (int t = 0; t < evidence->answers[a].golden->twin_count; t++) {
            Explanation other = explain(evidence, evidence->answers[a].golden->twin[t].name);
            if (is_convincing(&other) && (!best.diagnosis.twin || better(other.diagnosis, best.diagnosis))) best = other;
        }
    return best;
}

/* ------------------------------------------------------------------ words for the rules */

char *number_text(char text[static NUMBER_TEXT], int digits, double number) {
    if (isnan(number)) snprintf(text, NUMBER_TEXT, "NaN");
    else if (isinf(number)) snprintf(text, NUMBER_TEXT, number > 0 ? "infinity" : "-infinity");
    else snprintf(text, NUMBER_TEXT, "%.*g", digits, number);
    return text;
}

__attribute__((format(printf, 2, 3))) static bool say_it(char say[static DIAGNOSIS], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(say, DIAGNOSIS, format, arguments);
    va_end(arguments);
    return true;
}

enum { WHERE = SHAPE_TEXT + 64, NAME = 64 };

/* "[0, 3] of case ragged" */
static char *where_text(char text[static WHERE], const Answer *answer, size_t index) {
    char position[SHAPE_TEXT];
    snprintf(text, WHERE, "%s of case %s", index_text(position, index, &answer->golden->expected), answer->golden->name);
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
        length += (size_t)snprintf(text + length, size - length, "%s%s", before, golden->input[i].name);
        listed++;
    }
    return text;
}

/* What one step along an axis of the output is called. */
static const char *axis_name(const Answer *answer, int axis) {
    int rank = answer->golden->expected.rank;
    bool has_heads = false;
    for (int i = 0; i < answer->golden->input_count; i++) has_heads |= answer->golden->input[i].rank == 3;
    if (rank == 1) return "number";
    if (axis == rank - 1) return rank == 3 ? "number of a head" : "column";
    if (rank == 3 && has_heads) return axis == 0 ? "token" : "head";
    return axis == rank - 2 ? "row" : "table";
}

/* An axis of the output: `size` steps of `inner` numbers each. */
typedef struct {
    size_t size, inner;
} Axis;

static Axis axis_of(const Answer *answer, int axis) {
    const Tensor *expected = &answer->golden->expected;
    size_t inner = 1;
    for (int a = axis + 1; a < expected->rank; a++) inner *= expected->shape[a];
    return (Axis){expected->shape[axis], inner};
}

static size_t step_of(Axis axis, size_t index) { return index / axis.inner % axis.size; }

static int rank_of(const Evidence *evidence) { return evidence->count ? evidence->answers[0].golden->expected.rank : 0; }

static const Answer *first_failing(const Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++)
        if (fails(&evidence->answers[a])) return &evidence->answers[a];
    return NULL;
}

static size_t last_dimension(const Tensor *tensor) { return tensor->shape[tensor->rank - 1]; }

/* ------------------------------------------------------------------ marks and gaps */

static bool find_mark(const Evidence *evidence, uint32_t mark, char where[static WHERE], const Answer **found) {
    for (int a = 0; a < evidence->count; a++)
        for (size_t i = 0; i < evidence->answers[a].count; i++) {
            *found = &evidence->answers[a];
            if ((*found)->wrong[i] && bears((*found)->got[i], mark)) return where_text(where, *found, i), true;
        }
    return false;
}

/* out[i] += … without out[i] = 0; a sum kept in out or in a room to work in. */
static bool adds_onto_what_was_there(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE];
    const Answer *found;
    return find_mark(evidence, out_before, where, &found) &&
           say_it(say, "Your kernel adds onto what was in out before, or in a buffer to work in: it shows first at %s. "
                       "It must be set, not added to: nobody has set it to 0 for you.", where);
}

/* A loop that runs one too far, a vector that is loaded whole where only a part of it is left. */
static bool reads_beyond_an_input(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE], inputs[128];
    const Answer *found;
    return find_mark(evidence, around_inputs, where, &found) &&
           say_it(say, "Your kernel reads past the end of %s, or before it begins: what lies there shows first at %s. Which index "
                       "is too large there?", inputs_text(sizeof inputs, inputs, found->golden), where);
}

/* ------------------------------------------------------------------ places: what is wrong lies in one part */

/* A part of an axis: the steps that `holds` is true for. On an axis of fewer steps than `least` it says nothing. */
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

#define TAIL "This is the vector tail: what is left when the width is no multiple of a vector's needs a loop of its own."
/* The narrow ones first. */
static const Place places[] = {
    {at_the_last, 3, false, "the last %s", "Does its loop end one too early?"},
    {at_the_first, 3, false, "the first %s", "Does its loop begin one too late, or with a sum or a maximum that is not set?"},
    {behind_vectors_of_4, 5, true, "the last width %% 4 numbers of %s", TAIL},
    {behind_vectors_of_8, 9, true, "the last width %% 8 numbers of %s", TAIL},
    {behind_vectors_of_16, 17, true, "the last width %% 16 numbers of %s", TAIL},
    {at_odd_steps, 4, false, "every second %s: 1, 3, 5 and so on", "Does a loop go on by two, and compute one of a pair?"},
    {at_even_steps, 4, false, "every second %s: 0, 2, 4 and so on", "Does a loop go on by two, and compute one of a pair?"},
    {in_the_second_half, 4, true, "the second half of %s", "Does a loop end half-way, or is the index of a pair's other number off?"},
    {in_the_first_half, 4, true, "the first half of %s", "Does a loop begin half-way, or is the index of a pair's other number off?"},
    {behind_the_first, 3, false, "every %s but the first",
     "What changes from the second on? Its index in all that is read and written, and a sum or a maximum that begins anew."},
};
enum { PLACES = sizeof places / sizeof *places };

typedef bool Flag(const Answer *answer, size_t index);
static bool is_wrong(const Answer *answer, size_t index) { return answer->wrong[index]; }
static bool is_unwritten(const Answer *answer, size_t index) { return is_poison(answer->got[index]); }
static bool is_swallowed_nan(const Answer *answer, size_t i) { return answer->wrong[i] && isnan(answer->truth[i]) && !is_poison(answer->got[i]); }
static bool is_mask_out_of_place(const Answer *answer, size_t i) {
    return answer->wrong[i] && !isnan(answer->got[i]) && (answer->got[i] == -INFINITY || answer->truth[i] == -INFINITY);
}
static bool is_not_finite(const Answer *answer, size_t i) { return answer->wrong[i] && !isfinite(answer->got[i]) && isfinite(answer->truth[i]); }


/* Are the flagged numbers in most steps of the place, and in no others? */
static bool lies_in(const Answer *answer, const Place *place, Axis axis, Flag *flagged) {
    bool *step = memset(allocate(axis.size), 0, axis.size);
    size_t inside = 0, hit = 0, outside = 0;
    for (size_t i = 0; i < answer->count; i++) step[step_of(axis, i)] |= flagged(answer, i);
    for (size_t k = 0; k < axis.size; k++) {
        bool holds = place->holds(k, axis.size);
        inside += holds, hit += holds && step[k], outside += !holds && step[k];
    }
    free(step);
    return hit * 2 > inside && !outside;
}

static bool is_empty(const Place *place, Axis axis) {
    for (size_t k = 0; k < axis.size; k++)
        if (place->holds(k, axis.size)) return false;
    return true;
}

/* Of every case that can tell: what fails lies there, and what passes has no such place. */
static bool is_the_place(const Evidence *evidence, const Place *place, int number, Flag *flagged) {
    int told = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        Axis axis = axis_of(answer, number);
        if (axis.size < place->least || !is_ordinary(answer)) continue;
        if (fails(answer) ? !lies_in(answer, place, axis, flagged) : !is_empty(place, axis)) return false;
        told += fails(answer);
    }
    return told > 0;
}

/* "the last row", and what may be the cause. */
static bool find_place(const Evidence *evidence, Flag *flagged, char name[static NAME], const char **hint) {
    int rank = rank_of(evidence);
    for (int p = 0; p < PLACES; p++)
        for (int axis = places[p].of_a_row ? rank - 1 : 0; axis < rank; axis++) {
            if (!is_the_place(evidence, &places[p], axis, flagged)) continue;
            const char *row = rank == 1 ? "the output" : rank == 2 ? "each row" : "each head";
            snprintf(name, NAME, places[p].name, places[p].of_a_row ? row : axis_name(&evidence->answers[0], axis));
            *hint = places[p].hint;
            return true;
        }
    return false;
}

static size_t count_flagged(const Evidence *evidence, Flag *flagged) {
    size_t count = 0;
    for (int a = 0; a < evidence->count; a++)
        for (size_t i = 0; i < evidence->answers[a].count; i++) count += flagged(&evidence->answers[a], i);
    return count;
}

static const Answer *first_flagged(const Evidence *evidence, Flag *flagged, char where[static WHERE]) {
    for (int a = 0; a < evidence->count; a++)
        for (size_t i = 0; i < evidence->answers[a].count; i++)
            if (flagged(&evidence->answers[a], i)) return where_text(where, &evidence->answers[a], i), &evidence->answers[a];
    return NULL;
}

static bool is_written(const Answer *answer, size_t index) { return !is_poison(answer->got[index]); }

/* A kernel that is not there yet, a loop that ends early, a result that is kept and not stored. */
static bool leaves_numbers_unwritten(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE], name[NAME];
    const char *hint;
    if (!first_flagged(evidence, is_unwritten, where)) return false;
    if (!count_flagged(evidence, is_written))
        return say_it(say, "Nothing is written to out. Is the kernel implemented, and are its parameters those of the header, in their order?");
    const char *also = count_flagged(evidence, is_wrong) > count_flagged(evidence, is_unwritten) ? " Other numbers are wrong as well." : "";
    if (find_place(evidence, is_unwritten, name, &hint)) return say_it(say, "Never written: %s. %s%s", name, hint, also);
    return say_it(say, "Some numbers are never written, the first at %s: does the loop reach the end, and does every branch write?%s", where, also);
}

static bool is_wrong_in_one_place(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    const char *hint;
    return find_place(evidence, is_wrong, name, &hint) && say_it(say, "Wrong: %s, and nothing else. %s", name, hint);
}

/* ------------------------------------------------------------------ sizes: what fails has a size in common */

/* What a rule asks of a size: must a case of this size fail? */
typedef bool SizeRule(size_t size, size_t limit);
static bool is_no_multiple(size_t size, size_t limit) { return size % limit != 0; }
static bool is_longer(size_t size, size_t limit) { return size > limit; }

/* Of a case's array, or of its output if the name is NULL: the first dimension or the last; 0 if it has none. */
static size_t size_of(const Answer *answer, const char *input, bool first) {
    const Tensor *tensor = input ? golden_input(answer->golden, input) : &answer->golden->expected;
    return !tensor || !is_array(tensor) ? 0 : first ? tensor->shape[0] : last_dimension(tensor);
}

enum { SOME_CASES = 3 };

/* Do the cases fail that must, and no others? One in four may pass by luck: the others show that size matters. */
static bool size_decides(const Evidence *evidence, SizeRule *must_fail, size_t limit, const char *input, bool first) {
    int failing = 0, lucky = 0, passing = 0;
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        size_t size = size_of(answer, input, first);
        bool must = size && must_fail(size, limit);
        if (fails(answer) && !must) return false;
        failing += fails(answer), lucky += must && !fails(answer), passing += !must;
    }
    return failing + passing >= 2 * SOME_CASES && failing && passing >= 2 && lucky * 3 <= failing;
}

/* The array whose size decides; true if there is one. */
static bool find_deciding_size(const Evidence *evidence, SizeRule *must_fail, size_t limit, bool first, const char **name) {
    const Answer *failing = first_failing(evidence);
    for (int i = -1; failing && i < failing->golden->input_count; i++) {
        const char *input = i < 0 ? NULL : failing->golden->input[i].name;
        *name = input ? input : "out";
        if (size_decides(evidence, must_fail, limit, input, first)) return true;
    }
    return false;
}

/* A vector loop over a sum: without its tail every sum is wrong, and only a width that is a multiple passes. */
static bool fails_where_vectors_do_not_fit(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const char *name;
    for (size_t lanes = 4; lanes <= 16; lanes *= 2)
        for (int first = 0; first < 2; first++)
            if (find_deciding_size(evidence, is_no_multiple, lanes, first, &name))
                return say_it(say, "Only cases fail where the %s dimension of %s is no multiple of %zu. "
                                   "A loop in steps of %zu drops what is left, or reads past it: the tail needs a loop of its own.",
                              first ? "first" : "last", name, lanes, lanes);
    return false;
}

/* float scores[64] with 70 keys, a tile that is only written once. */
static bool fails_where_it_is_long(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const char *name;
    for (size_t limit = 8; limit <= 4096; limit *= 2)
        for (int first = 0; first < 2; first++)
            if (find_deciding_size(evidence, is_longer, limit, first, &name))
                return say_it(say, "Only cases fail where the %s dimension of %s is over %zu. Has a buffer, or a block, a fixed size?",
                              first ? "first" : "last", name, limit);
    return false;
}

/* ------------------------------------------------------------------ predictions: the output is another one, in every case */

/* What the output is, if this is the mistake. False: this case cannot tell. */
typedef bool Predict(const Answer *answer, const void *mistake, double predicted[]);

static bool is_always(const Evidence *evidence, Predict *predict, const void *mistake) {
    size_t explained = 0;
    bool holds = true;
    for (int a = 0; a < evidence->count && holds; a++) {
        const Answer *answer = &evidence->answers[a];
        double *predicted = allocate(answer->count * sizeof *predicted), slack = answer->tolerance + (is_bf16(answer) ? 0x1p16 : 0);
        if (predict(answer, mistake, predicted)) {
            holds = few(count_strays(answer, slack, predicted, NULL), answer);
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

static bool is_an_input(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const GoldenCase *golden = first_failing(evidence)->golden;
    for (int i = 0; i < golden->input_count; i++)
        if (is_always(evidence, predict_input, golden->input[i].name))
            return say_it(say, "Your output is %s, unchanged. Is the formula's result stored, or only computed?", golden->input[i].name);
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
    {nothing, "Your output is all zeros. Is the sum stored, is anything divided as whole numbers (1 / 2 is 0), or multiplied by what is not set?"},
    {fabs, "Your output has lost its signs: it is the right one's absolute value."},
    {negative, "Your output has the wrong sign, everywhere: is a minus too many, or the difference the other way round?"},
    {reciprocal, "Your output is 1 / the right one: is the quotient the other way round?"},
    {square, "Your output is the square of the right one: is a root missing, or something multiplied twice?"},
    {root, "Your output is the root of the right one: is a root too many?"},
};

static bool predict_change(const Answer *answer, const void *mistake, double predicted[]) {
    const Change *change = mistake;
    for (size_t i = 0; i < answer->count; i++) predicted[i] = (float)change->of(answer->truth[i]);
    return true;
}

static bool is_changed(const Evidence *evidence, char say[static DIAGNOSIS]) {
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
    {from_the_end, "Your output is right, but in reverse order: the last %s stands first. Does a loop or an index run backwards?", 0},
    {from_before, "Your output is right, but one %s too far on: is the index one too large where you write, or too small where you read?", 0},
    {from_behind, "Your output is right, but one %s too early: is the index one too small where you write, or too large where you read?", 0},
    {from_the_other_half, "Your output is right, but each %s stands half the axis away from where it belongs.", 0},
    {from_the_neighbour, "Your output is right, but each %s has changed places with its neighbour: 0 with 1, 2 with 3, and so on.", 0},
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

static bool is_moved(const Evidence *evidence, char say[static DIAGNOSIS]) {
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
        predicted[block * rows.size * rows.inner + (column * rows.size + row) * columns.inner + i % columns.inner] = answer->truth[i];
    }
    return true;
}

static bool is_transposed(const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (int outer = 0; outer + 1 < rank_of(evidence); outer++) {
        if (!is_always(evidence, predict_transposed, &outer)) continue;
        const Answer *answer = &evidence->answers[0];
        return say_it(say, "Your output is right, but transposed: %s and %s are exchanged where you write. The header says in which order they lie.",
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
    double *predicted = allocate(answer->count * sizeof *predicted), slack = 4 * answer->tolerance + (is_bf16(answer) ? 0x1p18 : 0);
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

static const Answer *first_ordinary(const Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++)
        if (fails(&evidence->answers[a]) && is_ordinary(&evidence->answers[a])) return &evidence->answers[a];
    return NULL;
}

/* Numbers with a name, and dimensions: D is the width of q, S the number of keys. */
static const struct {
    double number;
    const char *name;
} constants[] = {
    {2, "2"}, {0.5, "1/2"}, {3, "3"}, {1 / 3.0, "1/3"}, {4, "4"}, {0.25, "1/4"}, {M_SQRT2, "sqrt(2)"}, {M_SQRT1_2, "1/sqrt(2)"},
    {M_PI, "pi"}, {M_1_PI, "1/pi"}, {M_LN2, "ln(2)"}, {M_LOG2E, "log2(e), 1/ln(2)"},
};
static const struct {
    const char *input;
    bool first;
    const char *name;
} dimensions[] = {
    {"q", false, "D"}, {"k", true, "S"}, {"weights", false, "S"}, {"x", false, "n, the width of x"}, {"x", true, "rows, the length of x"},
    {"gate", false, "n"},
};
static const struct {
    double power;
    const char *name; /* with the dimension's name in it */
} powers[] = {{1, "%s"}, {-1, "1/%s"}, {0.5, "sqrt(%s)"}, {-0.5, "1/sqrt(%s)"}};

/* Is it this number in every case? A power of a dimension; or, with power 0, the number itself. */
static bool number_is(const Evidence *evidence, const Link *link, double number, const char *input, bool first, double power) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        double should = power == 0 ? number : pow((double)size_of(answer, input, first), power), is = number_of(answer, link);
        if (is_ordinary(answer) && !about(is, should) && !(isnan(is) && !fails(answer))) return false;
    }
    return true;
}

/* "sqrt(D)", "1/2", or digits. False if no number is that of all cases. */
static bool number_name(const Evidence *evidence, const Link *link, char name[static NAME]) {
    double number = number_of(first_ordinary(evidence), link);
    for (size_t c = 0; c < sizeof constants / sizeof *constants; c++)
        if (number_is(evidence, link, constants[c].number, NULL, false, 0)) return snprintf(name, NAME, "%s", constants[c].name);
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
static bool is_multiplied(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    if (!all_linked(evidence, &factor, WHOLE) || about(number_of(first_ordinary(evidence), &factor), 1)) return false;
    if (number_name(evidence, &factor, name)) return say_it(say, "Your output is the right one times %s, everywhere: is a factor too many, or one missing?", name);
    return say_it(say, "In each case your output is the right one times a number, and it is another in each: what is computed once for all "
                       "of the output, and what does it depend on?");
}

static bool is_added_to(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char name[NAME];
    return all_linked(evidence, &offset, WHOLE) && number_name(evidence, &offset, name) &&
           say_it(say, "Your output is the right one plus %s, everywhere: is something added that should not be, or missing?", name);
}

/* A sum, a mean, a root, a maximum of a row is wrong, and what is done with it is right. */
static bool is_multiplied_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &factor, ROWS) &&
           say_it(say, "Each row of your output is the right one times a number of its own. What is computed once for a row "
                       "(a sum, a mean, a root) is wrong; what is done with it is right.");
}

static bool is_added_to_by_rows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return all_linked(evidence, &offset, ROWS) &&
           say_it(say, "Each row of your output is the right one plus a number of its own. What is computed once for a row, and subtracted or "
                       "added (a mean, a maximum), is wrong.");
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

static int count_failing(const Evidence *evidence) {
    int count = 0;
    for (int a = 0; a < evidence->count; a++) count += fails(&evidence->answers[a]);
    return count;
}

/* An error of about the same size nearly everywhere is made by a formula; one that is made by roundings grows with the
 * length of a sum, or shows only where something cancels. */
static bool is_an_approximation(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (evidence->answers[0].golden->expected.dtype != F32) return false;
    Errors errors = errors_of(evidence);
    if (errors.least > 0.05) return false;
    if (is_rounded(evidence, fits_bf16)) return say_it(say, "Nearly right: your output is rounded to bfloat16, 8 bits. Compute and store float.");
    if (is_rounded(evidence, fits_f16)) return say_it(say, "Nearly right: your output is rounded to half precision, 11 bits. Compute and store float.");
    bool everywhere = 2 * count_failing(evidence) > evidence->count && errors.least * 1000 > errors.most;
    if (errors.most < 1e-5 || errors.most > 0.05 || !everywhere) return false;
    const Answer *one = first_ordinary(evidence); /* in others, a bias may hide it */
    size_t explained = 0;
    const char *kind = is_linked(one, &factor, one->row, &explained) && explained >= SOME_NUMBERS
                           ? "each row is off by a factor of its own, as 1 / sqrt(x) by rsqrt without a Newton step is"
                           : "an exp or a tanh by a table or a short polynomial, or something between that is kept in half precision or bfloat16";
    return say_it(say, "Nearly right, to about %.0e of a row's largest number: an approximation. It may be %s.", errors.most, kind);
}

static bool is_less_exact(const Evidence *evidence, char say[static DIAGNOSIS]) {
    if (errors_of(evidence).most > 1e-3 || !first_ordinary(evidence) || count_flagged(evidence, is_not_finite)) return false;
    return evidence->kernel->pointwise
               ? say_it(say, "Nearly right, and less exact than PyTorch: a sum that cancels, or an exp that loses digits far out, as exp2(1.4427 x) does.")
               : say_it(say, "Nearly right, and less exact than PyTorch: sum in double or in several partial sums, and mind cancellation.");
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
static bool some_far_out(size_t n, const double x[n]) {
    for (size_t i = 0; i < n; i++)
        if (fabs(x[i]) > 80) return true;
    return false;
}
static bool all_negative(size_t n, const double x[n]) { return n == 1 && x[0] < 0; }
static bool all_positive(size_t n, const double x[n]) { return n == 1 && x[0] > 0; }

static const Kind kinds[] = {
    {some_not_finite, false, "infinite or NaN", "There, 0 * infinity and infinity - infinity are NaN, and every comparison with NaN is false: what does the formula give?"},
    {all_zero, false, "0", "Is something divided by it, or is it a < that should be <=?"},
    {some_subnormal, false, "subnormal, below 1.2e-38", "Is the code compiled with -ffast-math, which makes zeros of them?"},
    {some_far_out, false, "far from 0, over 80 in size", "e^88.8 overflows a float, and e^-104 is 0: use an exponent that is never positive, and mind what is divided."},
    {all_negative, true, "negative", "Which part of the formula is for numbers below 0?"},
    {all_positive, true, "positive", "Which part of the formula is for numbers above 0?"},
};

/* The numbers of an output whose input is of a kind, and the others. */
typedef struct {
    size_t wrong, right, other_wrong, other_right;
} Counts;

/* An input of the output's shape is compared number by number, or row by row where rows are judged together. */
static void count_kind(const Answer *answer, const Tensor *input, const Kind *kind, Counts *counts) {
    double *x = tensor_to_double(input);
    for (size_t i = 0; i < answer->count; i++) {
        bool is_it = kind->is(answer->row, x + i / answer->row * answer->row);
        counts->wrong += is_it && answer->wrong[i], counts->right += is_it && !answer->wrong[i];
        counts->other_wrong += !is_it && answer->wrong[i], counts->other_right += !is_it && !answer->wrong[i];
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
    bool enough = kind->is_common ? counts.wrong >= 3 * counts.right && counts.wrong >= SOME_NUMBERS : counts.wrong > 0;
    return enough && counts.other_wrong == 0 && counts.other_right > counts.wrong / 4;
}

static bool is_wrong_for_special_numbers(const Evidence *evidence, char say[static DIAGNOSIS]) {
    const GoldenCase *golden = first_failing(evidence)->golden;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < golden->input_count; i++)
            if (kind_explains(evidence, &kinds[k], golden->input[i].name))
                return say_it(say, "Only where %s is %s is your output wrong. %s", golden->input[i].name, kinds[k].name, kinds[k].hint);
    return false;
}

static bool swallows_nan(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return count_flagged(evidence, is_swallowed_nan) == count_flagged(evidence, is_wrong) &&
           say_it(say, "Where NaN goes in, NaN has to come out. Comparisons with NaN are false, and fmaxf passes it over.");
}

static bool misplaces_a_mask(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE];
    return count_flagged(evidence, is_mask_out_of_place) == count_flagged(evidence, is_wrong) &&
           first_flagged(evidence, is_wrong, where) &&
           say_it(say, "Only -infinity, which means \"ruled out\", is out of place, first at %s.", where);
}

static bool overflows(const Evidence *evidence, char say[static DIAGNOSIS]) {
    return count_flagged(evidence, is_not_finite) == count_flagged(evidence, is_wrong) &&
           say_it(say, "Only NaN and infinity are out of place: an overflow, 0/0, or infinity - infinity.");
}

/* ------------------------------------------------------------------ samplers */

/* What is wrong with a token's logit. -infinity rules a token out. */
static bool is_kept_in_error(const Answer *answer, size_t i) { return answer->truth[i] == -INFINITY && answer->wrong[i]; }
static bool is_ruled_out_in_error(const Answer *answer, size_t i) { return answer->got[i] == -INFINITY && answer->wrong[i]; }
static bool is_wrongly_kept_or_not(const Answer *answer, size_t i) { return is_kept_in_error(answer, i) || is_ruled_out_in_error(answer, i); }
static bool is_far_down(const Answer *answer, size_t i) { return is_kept_in_error(answer, i) && answer->got[i] <= -1000; }

static bool is_sampler(const Evidence *evidence) { return strcmp(evidence->kernel->chapter, "11_generation") == 0; }

static bool keeps_the_wrong_tokens(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE], number[NUMBER_TEXT];
    const Answer *first = is_sampler(evidence) ? first_flagged(evidence, is_wrongly_kept_or_not, where) : NULL;
    if (!first) return false;
    size_t kept = count_flagged(evidence, is_kept_in_error), out = count_flagged(evidence, is_ruled_out_in_error), token = 0;
    while (!is_wrongly_kept_or_not(first, token)) token++;
    if (kept == count_flagged(evidence, is_far_down) && !out)
        return say_it(say, "What you rule out gets %s. Give it -INFINITY: then its probability is 0 at every temperature.",
                      number_text(number, 7, first->got[token]));
    size_t length = 0;
    if (kept) length += (size_t)snprintf(say, DIAGNOSIS, "%zu kept that should go", kept);
    if (out) length += (size_t)snprintf(say + length, DIAGNOSIS - length, "%s%zu ruled out that should stay", kept ? ", " : "", out);
    snprintf(say + length, DIAGNOSIS - length, " (first: token %zu of case %s).", token, first->golden->name);
    return true;
}

/* The right ones are kept. */
static bool changes_the_logits(const Evidence *evidence, char say[static DIAGNOSIS]) {
    char where[WHERE];
    bool rules_out = strncmp(evidence->kernel->name, "top", 3) == 0 || strcmp(evidence->kernel->name, "min_p") == 0;
    return rules_out && first_flagged(evidence, is_wrong, where) &&
           say_it(say, "The right tokens are kept, but their logits are changed, first at %s. Hand on what came in.", where);
}

/* ------------------------------------------------------------------ the rules */

typedef bool Rule(const Evidence *evidence, char say[static DIAGNOSIS]);

/* From what is certain to what is only likely. Each holds for every failing case, or for all that can tell, and speaks
 * against none that passes. */
static Rule *const certain[] = {adds_onto_what_was_there, reads_beyond_an_input, is_changed, is_an_input, is_moved, is_transposed};
static Rule *const likely[] = {
    leaves_numbers_unwritten, keeps_the_wrong_tokens, changes_the_logits, is_multiplied, is_added_to, is_an_approximation,
    is_wrong_for_special_numbers, swallows_nan, misplaces_a_mask, overflows, is_wrong_in_one_place,
    fails_where_vectors_do_not_fit, is_multiplied_by_rows, is_added_to_by_rows, is_less_exact, fails_where_it_is_long,
};
enum { CERTAIN = sizeof certain / sizeof *certain, LIKELY = sizeof likely / sizeof *likely };

static bool follow(size_t count, Rule *const rules[count], const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t r = 0; r < count; r++)
        if (rules[r](evidence, say)) return true;
    return false;
}

/* A twin that leaves cases unexplained yields to a rule that is certain: what is x unchanged is also x turned by 0. */
Diagnosis diagnose(const Kernel *kernel, int count, const Verdict verdicts[]) {
    char say[DIAGNOSIS];
    Evidence evidence = evidence_of(kernel, count, verdicts);
    Explanation best = best_twin(&evidence);
    bool yields = best.diagnosis.twin && !explains_all(&best) && follow(CERTAIN, certain, &evidence, say);
    evidence_free(&evidence);
    return yields ? (Diagnosis){0} : best.diagnosis;
}

bool general_advice(const Kernel *kernel, int count, const Verdict verdicts[], char say[static DIAGNOSIS]) {
    Evidence evidence = evidence_of(kernel, count, verdicts);
    bool said = first_failing(&evidence) &&
                (follow(CERTAIN, certain, &evidence, say) || follow(LIKELY, likely, &evidence, say));
    evidence_free(&evidence);
    return said;
}
