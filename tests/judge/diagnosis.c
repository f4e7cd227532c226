#include "tests/judge/diagnosis.h"
#include "tests/judge/mistakes.h"
#include "tests/judge/rules.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *number_text(char text[static NUMBER_TEXT], int digits, double number) {
    if (isnan(number)) snprintf(text, NUMBER_TEXT, "NaN");
    else if (isinf(number)) snprintf(text, NUMBER_TEXT, number > 0 ? "infinity" : "-infinity");
    else snprintf(text, NUMBER_TEXT, "%.*g", digits, number);
    return text;
}

/* ------------------------------------------------------------------ known mistakes */

/* The NaN marks of the sandbox are never a mistake's own NaN. */
static bool bears_a_mark(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (shows_out_before(answer, i) || shows_around_inputs(answer, i) ||
            shows_what_is_unset(answer, i))
            return true;
    return false;
}

/* True if the output is as near to this mistake's as a right answer is to PyTorch's. */
static bool is_output_of(const Answer *answer, const Tensor *mistake) {
    if (!fails(answer) || bears_a_mark(answer)) return false;
    double *truth = tensor_to_double(mistake);
    size_t strays = count_strays(answer, answer->tolerance, truth, NULL);
    free(truth);
    return few(strays, answer);
}

/* The evidence for a known mistake, and against it. */
typedef struct {
    Diagnosis diagnosis;
    int failing,
        storing;    /* cases that fail and store any mistake; of them, those that store this one */
    int refuting;   /* that store it and pass, and ask for an output that it explains elsewhere */
    size_t numbers; /* that it explains, 0, NaN and infinity apart: they look the same whatever
                       their cause */
} Explanation;

static size_t count_telling(const Answer *answer) {
    size_t count = 0;
    for (size_t i = 0; i < answer->count; i++)
        count += answer->wrong[i] && answer->got[i] != 0 && answer->got[i] < INFINITY;
    return count;
}

/* A kernel with several outputs has cases of each: by `of`, or by which arrays come in. */
static bool ask_for_the_same(const GoldenCase *one, const GoldenCase *other) {
    const Tensor *of = golden_input(one, "of"), *other_of = golden_input(other, "of");
    bool same = one->input_count == other->input_count &&
                (!of || (other_of && tensor_get(of, 0) == tensor_get(other_of, 0)));
    for (int i = 0; same && i < one->input_count; i++)
        same = golden_input(other, one->input[i].name);
    return same;
}

static bool is_refuted(const Evidence *evidence, const Answer *passing, const char *mistake) {
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        const Tensor *stored = output_of_mistake(answer->golden, mistake);
        if (stored && ask_for_the_same(passing->golden, answer->golden) &&
            is_output_of(answer, stored))
            return true;
    }
    return false;
}

static Explanation explain(const Evidence *evidence, const char *mistake) {
    Explanation explanation = {.diagnosis.known_mistake = mistake};
    for (int a = 0; a < evidence->count; a++) {
        const Answer *answer = &evidence->answers[a];
        const Tensor *stored = output_of_mistake(answer->golden, mistake);
        explanation.failing += fails(answer) && answer->golden->known_mistake_count;
        explanation.storing += fails(answer) && stored;
        explanation.diagnosis.stored += stored != NULL;
        explanation.refuting += stored && !fails(answer) && is_refuted(evidence, answer, mistake);
        if (!stored || !is_output_of(answer, stored)) continue;
        explanation.diagnosis.matched++;
        explanation.numbers += count_telling(answer);
    }
    return explanation;
}

static bool explains_all(const Explanation *of) { return of->diagnosis.matched == of->failing; }

/* It is named if it explains all cases that fail and store it: others that store it may pass by
 * luck. Or if it explains most that store it, and none of them passes: in others a second mistake
 * may show. Either way its numbers must be more than a coincidence, and if it has none but 0, NaN
 * and infinity, it must explain most of what fails. */
static bool is_convincing(const Explanation *of) {
    int matched = of->diagnosis.matched;
    bool all = matched && matched == of->storing,
         most = matched * 2 > of->diagnosis.stored && (all || !of->refuting);
    bool is_likely = matched > 1 && (of->numbers || matched * 2 > of->failing);
    bool is_clear = all && most && (is_likely || explains_all(of));
    return is_clear || ((all || most) && of->numbers >= SOME_NUMBERS);
}

/* Each case that a mistake explains speaks for it, each that it does not against it, half as much.
 */
static bool better(Diagnosis a, Diagnosis b) {
    int left = 3 * a.matched - a.stored, right = 3 * b.matched - b.stored;
    return left > right || (left == right && a.matched > b.matched);
}

static bool is_stored_before(const Evidence *evidence, int end, const char *mistake) {
    for (int a = 0; a < end; a++)
        if (output_of_mistake(evidence->answers[a].golden, mistake)) return true;
    return false;
}

static Explanation best_known_mistake(const Evidence *evidence) {
    Explanation best = {0};
    for (int a = 0; a < evidence->count; a++)
        for (int t = 0; t < evidence->answers[a].golden->known_mistake_count; t++) {
            const char *mistake = evidence->answers[a].golden->known_mistake[t].name;
            if (is_stored_before(evidence, a, mistake)) continue;
            Explanation other = explain(evidence, mistake);
            if (is_convincing(&other) &&
                (!best.diagnosis.known_mistake || better(other.diagnosis, best.diagnosis)))
                best = other;
        }
    return best;
}

/* ------------------------------------------------------------------ the rules */

/* Rules that are certain come before those that are only likely. */
static Rule *const certain[] = {
    shows_a_mark,      is_another_known_output, reads_another_head,
    scales_the_scores, bends_the_scores,        fails_after_some_steps,
};
static Rule *const likely[] = {
    begins_at_a_stage,
    leaves_numbers_unwritten,
    keeps_the_wrong_tokens,
    changes_the_logits,
    misplaces_a_mask,
    comes_to_nothing,
    misreads_blocks,
    is_rounded_otherwise,
    adds_to_the_sum,
    steps_by_another_length,
    is_multiplied,
    is_added_to,
    is_another_formula,
    is_an_approximation,
    sees_other_keys,
    is_wrong_for_special_numbers,
    overflows,
    is_wrong_in_one_place,
    is_partly_an_input,
    is_zero_where_wrong,
    is_multiplied_by_rows,
    is_added_to_by_rows,
    is_less_exact,
    is_wrong_in_some_steps,
};
enum { CERTAIN = sizeof certain / sizeof *certain, LIKELY = sizeof likely / sizeof *likely };

static bool follow(size_t count, Rule *const rules[count], const Evidence *evidence,
                   char say[static DIAGNOSIS]) {
    for (size_t r = 0; r < count; r++)
        if (rules[r](evidence, say)) return true;
    return false;
}

/* Most cases that store it must fail: a case that passes is not this mistake. */
static bool is_spoken_against(const Explanation *of) {
    return of->diagnosis.matched * 2 <= of->diagnosis.stored;
}

/* Of a mistake that shows in few of the cases that could show it, this is said first. */
static void put_in_words(const Explanation *of, const char *words, char advice[static DIAGNOSIS]) {
    const Diagnosis *found = &of->diagnosis;
    if (is_spoken_against(of) && found->stored > 2)
        snprintf(advice, DIAGNOSIS,
                 "In %d of the %d cases that could show it, and not in the others: %s",
                 found->matched, found->stored, words);
    else snprintf(advice, DIAGNOSIS, "%s", words);
}

/* A mistake that leaves cases unexplained, or that most cases speak against, yields to a rule that
 * is certain: what is x unchanged is also x turned by 0. */
static Diagnosis diagnose_cases(const Kernel *kernel, const Golden *golden, int count,
                                const Verdict verdicts[]) {
    Evidence evidence = evidence_of(kernel, count, verdicts);
    Explanation best = best_known_mistake(&evidence);
    Diagnosis found = best.diagnosis;
    bool doubted = !found.known_mistake || !explains_all(&best) || is_spoken_against(&best);
    if (first_failing(&evidence) && doubted && follow(CERTAIN, certain, &evidence, found.advice))
        found.known_mistake = NULL;
    else if (found.known_mistake)
        put_in_words(&best, golden_advice(golden, found.known_mistake), found.advice);
    else if (first_failing(&evidence)) follow(LIKELY, likely, &evidence, found.advice);
    evidence_free(&evidence);
    return found;
}

/* Of a kernel that is written in two steps: while cases of the first fail, those of the second say
 * nothing about the mistake. */
Diagnosis diagnose(const Kernel *kernel, const Golden *golden, int count,
                   const Verdict verdicts[]) {
    Verdict *first = xmalloc((size_t)count * sizeof *first);
    int firsts = 0, failing = 0;
    for (int i = 0; kernel->in_first_step && i < count; i++) {
        if (!kernel->in_first_step(verdicts[i].golden_case)) continue;
        failing += !verdict_passes(&verdicts[i]);
        first[firsts++] = verdicts[i];
    }
    Diagnosis found = failing ? diagnose_cases(kernel, golden, firsts, first)
                              : diagnose_cases(kernel, golden, count, verdicts);
    free(first);
    return found;
}
