#include "tests/judge/evidence.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool fails(const Answer *answer) { return answer->wrongs > 0; }
bool is_bf16(const Answer *answer) { return answer->golden->expected.dtype == BF16; }
double rounding(const Answer *answer) { return is_bf16(answer) ? 0x1p16 : 0; }

static bool is_near(float got, double truth, double within) {
    if (isnan(truth)) return isnan(got) && !is_poison(got);
    return isinf(truth) ? (double)got == truth : fabs((double)got - truth) <= within;
}

size_t count_strays(const Answer *answer, double tolerance, const double predicted[],
                    bool stray[]) {
    size_t strays = 0;
    for (size_t start = 0; start < answer->count; start += answer->row) {
        double unit = fmax(row_ulp(answer->row, predicted + start),
                           row_ulp(answer->row, answer->truth + start));
        for (size_t i = start; i < start + answer->row; i++) {
            double within = fmax(tolerance * unit, answer->bound ? answer->bound[i] : 0);
            bool is_stray = !is_near(answer->got[i], predicted[i], within);
            strays += is_stray;
            if (stray) stray[i] = is_stray;
        }
    }
    return strays;
}

bool few(size_t strays, const Answer *answer) {
    return strays * 50 <= answer->count && strays * 4 <= answer->wrongs;
}

static Answer answer_of(const Kernel *kernel, const Verdict *verdict) {
    const GoldenCase *golden = verdict->golden_case;
    Answer answer = {
        .golden = golden, .got = verdict->output, .count = tensor_count(&golden->expected)};
    answer.row = golden->exact ? 1 : golden_row(golden, kernel->pointwise);
    answer.tolerance = golden_tolerance(golden, verdict->comparison.reference);
    if (golden->rounding.name) {
        double *bound = xmalloc(answer.count * sizeof *bound);
        for (size_t i = 0; i < answer.count; i++) bound[i] = golden_rounding(golden, i);
        answer.bound = bound;
    }
    double *truth = tensor_to_double(&golden->expected64);
    for (size_t i = 0; i < answer.count; i++) {
        double expected = tensor_get(&golden->expected, i);
        if (!isfinite(expected)) truth[i] = expected; /* as check() has it */
    }
    bool *wrong = xmalloc(answer.count * sizeof *wrong);
    answer.truth = truth;
    answer.wrong = wrong;
    answer.wrongs = count_strays(&answer, answer.tolerance, truth, wrong);
    return answer;
}

Evidence evidence_of(const Kernel *kernel, int count, const Verdict verdicts[]) {
    Evidence evidence = {.kernel = kernel,
                         .answers = xmalloc((size_t)count * sizeof *evidence.answers)};
    for (int i = 0; i < count; i++)
        if (verdicts[i].output)
            evidence.answers[evidence.count++] = answer_of(kernel, &verdicts[i]);
    return evidence;
}

void evidence_free(Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++) {
        free((void *)evidence->answers[a].truth);
        free((void *)evidence->answers[a].wrong);
        free((void *)evidence->answers[a].bound);
    }
    free(evidence->answers);
}

bool is_ordinary(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (!isfinite(answer->truth[i]) ||
            (!isfinite(answer->got[i]) && !is_poison(answer->got[i])))
            return false;
    return true;
}

const Answer *first_failing(const Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++)
        if (fails(&evidence->answers[a])) return &evidence->answers[a];
    return NULL;
}

int count_failing(const Evidence *evidence) {
    int count = 0;
    for (int a = 0; a < evidence->count; a++) count += fails(&evidence->answers[a]);
    return count;
}

const Answer *first_ordinary(const Evidence *evidence) {
    for (int a = 0; a < evidence->count; a++)
        if (fails(&evidence->answers[a]) && is_ordinary(&evidence->answers[a]))
            return &evidence->answers[a];
    return NULL;
}

/* ------------------------------------------------------------------ flags */

static uint32_t quiet_bits(float value) {
    const uint32_t quiet = 1u << 22, sign = 1u << 31;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits | quiet) & ~sign;
}

/* The sandbox fills the output with one NaN before the call, and what lies around the inputs with
 * another; a third lies where the kernel has set nothing yet. Arithmetic makes a signalling NaN a
 * quiet one, and hands its lower bits on: so a sum that began with one of them tells where it was
 * read. Processors that know one NaN only, as RISC-V does, tell nothing. */
static bool bears(float value, uint32_t mark) {
    const uint32_t marks[] = {mark, mark}, upper_half = mark & 0xffff0000;
    float marked, marked_half;
    double wide; /* what becomes of it in a double that is rounded at the end */
    memcpy(&marked, &mark, sizeof marked);
    memcpy(&marked_half, &upper_half, sizeof marked_half);
    memcpy(&wide, marks, sizeof wide);
    uint32_t bits = quiet_bits(value);
    bool as_float = bits == quiet_bits(marked) || bits == quiet_bits(marked_half);
    bool kept =
        quiet_bits((float)wide) != quiet_bits(NAN); /* and not made the one NaN that there is */
    bool as_double = isnan(wide) && kept && bits == quiet_bits((float)wide);
    bool as_count =
        fabsf(value - (float)mark) < 0x1p16f; /* kernels of whole numbers count on from it */
    return as_float || as_double || as_count;
}

bool is_wrong(const Answer *answer, size_t index) { return answer->wrong[index]; }
bool is_unwritten(const Answer *answer, size_t index) { return is_poison(answer->got[index]); }

bool shows_out_before(const Answer *answer, size_t index) {
    return answer->wrong[index] && !is_poison(answer->got[index]) &&
           bears(answer->got[index], POISON << 16 | POISON);
}

bool shows_around_inputs(const Answer *answer, size_t index) {
    return answer->wrong[index] && bears(answer->got[index], CANARY << 16 | CANARY);
}

bool shows_what_is_unset(const Answer *answer, size_t index) {
    return answer->wrong[index] && bears(answer->got[index], UNSET << 16 | UNSET);
}

size_t count_flagged(const Evidence *evidence, Flag *flagged) {
    size_t count = 0;
    for (int a = 0; a < evidence->count; a++)
        for (size_t i = 0; i < evidence->answers[a].count; i++)
            count += flagged(&evidence->answers[a], i);
    return count;
}

const Answer *first_flagged(const Evidence *evidence, Flag *flagged, size_t *index) {
    for (int a = 0; a < evidence->count; a++)
        for (*index = 0; *index < evidence->answers[a].count; ++*index)
            if (flagged(&evidence->answers[a], *index)) return &evidence->answers[a];
    return NULL;
}
