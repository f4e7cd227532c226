#include "tests/judge/diagnosis.h"
#include "tests/judge/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *number_text(char text[static NUMBER_TEXT], int digits, double number) {
    if (isnan(number)) snprintf(text, NUMBER_TEXT, "NaN");
    else if (isinf(number)) snprintf(text, NUMBER_TEXT, number > 0 ? "infinity" : "-infinity");
    else snprintf(text, NUMBER_TEXT, "%.*g", digits, number);
    return text;
}

/* ------------------------------------------------------------------ twins */

static const Tensor *twin_named(const GoldenCase *golden_case, const char *name) {
    for (int i = 0; i < golden_case->twin_count; i++)
        if (strcmp(golden_case->twin[i].name, name) == 0) return &golden_case->twin[i];
    return NULL;
}

/* A NaN of the sandbox's is no NaN of a twin's. */
static bool bears_a_mark(const Answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (shows_out_before(answer, i) || shows_around_inputs(answer, i) || shows_what_is_unset(answer, i))
            return true;
    return false;
}

/* Is the output this twin? It is if it is as near to the twin as a right answer is to PyTorch's. */
static bool is_twin(const Answer *answer, const Tensor *twin) {
    if (!fails(answer) || bears_a_mark(answer)) return false;
    double *truth = tensor_to_double(twin);
    size_t strays = count_strays(answer, answer->tolerance, truth, NULL);
    free(truth);
    return few(strays, answer);
}

/* What speaks for a twin, and against it. */
typedef struct {
    Diagnosis diagnosis;
    int failing, storing; /* cases that fail and store any twin; of them, those that store this one */
    size_t numbers;       /* that it explains, 0, NaN and infinity apart: they look the same whatever their cause */
} Explanation;

static size_t count_telling(const Answer *answer) {
    size_t count = 0;
    for (size_t i = 0; i < answer->count; i++)
        count += answer->wrong[i] && answer->got[i] != 0 && answer->got[i] < INFINITY;
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
        explanation.numbers += count_telling(answer);
    }
    return explanation;
}

static bool explains_all(const Explanation *of) { return of->diagnosis.matched == of->failing; }

/* It is named if it explains all cases that fail and store it: others that store it may pass by luck. Or if it explains
 * most that store it: in others a second mistake may show. Either way its numbers must be more than a coincidence, and
 * if it has none but 0, NaN and infinity, it must explain most of what fails. */
static bool is_convincing(const Explanation *of) {
    int matched = of->diagnosis.matched;
    bool all = matched && matched == of->storing, most = matched * 2 > of->diagnosis.stored;
    bool is_likely = matched > 1 && (of->numbers || matched * 2 > of->failing);
    bool is_clear = all && most && (is_likely || explains_all(of));
    return is_clear || ((all || most) && of->numbers >= SOME_NUMBERS);
}

/* Each case that a twin explains speaks for it, each that it does not against it, half as much. */
static bool better(Diagnosis a, Diagnosis b) {
    int left = 3 * a.matched - a.stored, right = 3 * b.matched - b.stored;
    return left > right || (left == right && a.matched > b.matched);
}

static bool is_stored_before(const Evidence *evidence, int end, const char *twin) {
    for (int a = 0; a < end; a++)
        if (twin_named(evidence->answers[a].golden, twin)) return true;
    return false;
}

static Explanation best_twin(const Evidence *evidence) {
    Explanation best = {0};
    for (int a = 0; a < evidence->count; a++)
        for (int t = 0; t < evidence->answers[a].golden->twin_count; t++) {
            const char *twin = evidence->answers[a].golden->twin[t].name;
            if (is_stored_before(evidence, a, twin)) continue;
            Explanation other = explain(evidence, twin);
            if (is_convincing(&other) && (!best.diagnosis.twin || better(other.diagnosis, best.diagnosis)))
                best = other;
        }
    return best;
}

/* ------------------------------------------------------------------ the rules */

/* From what is certain to what is only likely. */
static Rule *const certain[] = {
    adds_onto_what_was_there, reads_beyond_an_input, reads_what_is_unset, is_another_known_output, reads_another_head,
    scales_the_scores, fails_after_some_steps,
};
static Rule *const likely[] = {
    begins_at_a_stage, leaves_numbers_unwritten, keeps_the_wrong_tokens, changes_the_logits,
    misplaces_a_mask, comes_to_nothing, is_rounded_otherwise, adds_to_the_sum, steps_by_another_length,
    sums_the_first_alone, loses_digits_in_long_sums, is_multiplied, is_added_to, is_an_approximation,
    fails_where_keys_came_before, sees_other_keys, is_wrong_for_special_numbers, overflows,
    is_wrong_in_one_place, is_partly_an_input, fails_where_vectors_do_not_fit,
    is_multiplied_by_rows, is_added_to_by_rows,
    is_less_exact, fails_where_it_is_long,
};
enum { CERTAIN = sizeof certain / sizeof *certain, LIKELY = sizeof likely / sizeof *likely };

static bool follow(size_t count, Rule *const rules[count], const Evidence *evidence, char say[static DIAGNOSIS]) {
    for (size_t r = 0; r < count; r++)
        if (rules[r](evidence, say)) return true;
    return false;
}

/* Where it is stored it mostly fails: a case that passes is not this twin. */
static bool is_spoken_against(const Explanation *of) { return of->diagnosis.matched * 2 <= of->diagnosis.stored; }

/* A twin that leaves cases unexplained, or that most cases speak against, yields to a rule that is certain: what is x
 * unchanged is also x turned by 0. */
Diagnosis diagnose(const Kernel *kernel, int count, const Verdict verdicts[]) {
    char say[DIAGNOSIS];
    Evidence evidence = evidence_of(kernel, count, verdicts);
    Explanation best = best_twin(&evidence);
    bool doubted = best.diagnosis.twin && (!explains_all(&best) || is_spoken_against(&best));
    bool yields = doubted && follow(CERTAIN, certain, &evidence, say);
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
