#include "tests/judge/api.h"
#include "common/error.h"
#include "tests/judge/own_answer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Judging {
    const Kernel *kernel;
    Golden golden;
    bool exact; /* one answer alone is right to a golden case, to the bit */
    int count;
    GoldenCase *cases; /* the golden ones, then the added ones */
    Verdict *verdicts;
    bool *answered;
    bool *whole; /* judged by the largest number of the output, not of each row */
};

void judge_use_golden(const char *folder) { golden_folder = xstrndup(folder, strlen(folder)); }

const char *judge_kernel(int index) {
    const Kernel *kernel = kernel_at(index);
    return kernel ? kernel->name : NULL;
}

const char *judge_chapter(int index) {
    const Kernel *kernel = kernel_at(index);
    return kernel ? kernel->chapter : NULL;
}

int judge_sizes(int which) { return which == 0 ? (int)sizeof(Tensor) : (int)sizeof(size_t); }

/* ------------------------------------------------------------------ cases */

/* Room for one more case, all of it zero. */
static GoldenCase *grow(Judging *judging) {
    int index = judging->count++;
    size_t count = (size_t)judging->count;
    judging->cases = xrealloc(judging->cases, count * sizeof *judging->cases);
    judging->verdicts = xrealloc(judging->verdicts, count * sizeof *judging->verdicts);
    judging->answered = xrealloc(judging->answered, count * sizeof *judging->answered);
    judging->whole = xrealloc(judging->whole, count * sizeof *judging->whole);
    judging->cases[index] = (GoldenCase){0};
    judging->whole[index] = false;
    judging->verdicts[index] = (Verdict){0};
    judging->answered[index] = false;
    return &judging->cases[index];
}

Judging *judging_open(const char *name) {
    const Kernel *kernel = kernel_named(name);
    if (!kernel) return NULL;
    Judging *judging = xmalloc(sizeof *judging);
    *judging =
        (Judging){.kernel = kernel, .golden = golden_open(name), .exact = answers_exactly(kernel)};
    for (int c = 0; c < judging->golden.count; c++) *grow(judging) = judging->golden.cases[c];
    return judging;
}

void judging_close(Judging *judging) {
    for (int c = 0; c < judging->count; c++) {
        verdict_free(&judging->verdicts[c]);
        if (c >= judging->golden.count) case_free(&judging->cases[c]);
    }
    golden_close(&judging->golden);
    free(judging->cases);
    free(judging->verdicts);
    free(judging->answered);
    free(judging->whole);
    free(judging);
}

int judging_cases(const Judging *judging) { return judging->count; }
const char *judging_case(const Judging *judging, int index) { return judging->cases[index].name; }

const char *judging_sentence(const Judging *judging, int index) {
    return judging->cases[index].sentence;
}

int judging_input_count(const Judging *judging, int index) {
    return judging->cases[index].input_count;
}

const Tensor *judging_input(const Judging *judging, int index, int input) {
    return &judging->cases[index].input[input];
}

const char *judging_words(const Judging *judging, const char *input) {
    return words_on_input(judging->kernel->name, input);
}

const Tensor *judging_expected(const Judging *judging, int index) {
    return &judging->cases[index].expected;
}

/* ------------------------------------------------------------------ cases that are added */

/* Our answer plus the difference that the mistake makes in the case where it is stored. */
static Tensor transplanted(const Tensor *mistake, const GoldenCase *from, const Tensor *to) {
    size_t count = tensor_count(to);
    float *numbers = xmalloc((count ? count : 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        double right = tensor_get(&from->expected, i), wrong = tensor_get(mistake, i);
        bool is_finite = right - right == 0 && wrong - wrong == 0;
        numbers[i] = is_finite ? (float)(tensor_get(to, i) + (wrong - right)) : (float)wrong;
    }
    Tensor tensor = *to;
    tensor.dtype = F32;
    tensor.name = xstrndup(mistake->name, strlen(mistake->name));
    tensor.data = numbers;
    return tensor;
}

/* Takes a call and the answer of our kernel as a further case. Frees the call. Where no tolerance
 * is given, what a right answer may be off by is measured. */
static int take_call(Judging *judging, const char *name, Call *call, double tolerance, int like) {
    char trouble[TROUBLE];
    bool is_measured = tolerance == 0;
    OwnAnswer ours =
        own_answer(judging->kernel, judging->exact || !is_measured, false, call, trouble);
    if (!ours.bound) {
        call_free(call);
        return -1;
    }
    int index = judging->count;
    GoldenCase *added = grow(judging);
    double *bound = ours.bound;
    if (!is_measured) ours.bound = NULL;
    *added = case_of_call(name, call, &ours, is_measured && judging->exact);
    free(bound);
    if (!is_measured) {
        judging->verdicts[index].comparison.reference = (tolerance - CHECK_ULPS) / CHECK_MULTIPLE;
        judging->whole[index] = like < 0;
    }
    const GoldenCase *from = like < 0 ? NULL : &judging->cases[like];
    if (from && same_shape(&from->expected, &added->expected))
        for (int m = 0; m < from->known_mistake_count; m++)
            added->known_mistake[added->known_mistake_count++] =
                transplanted(&from->known_mistake[m], from, &added->expected);
    call_free(call);
    return index;
}

int judging_add(Judging *judging, const char *name, int input_count, const Tensor inputs[],
                const Tensor *output, double tolerance, int like) {
    Call call = {0};
    for (int i = 0; i < input_count; i++)
        memcpy(call_input(&call, inputs[i].name, inputs[i].dtype, inputs[i].rank, inputs[i].shape),
               inputs[i].data, tensor_bytes(&inputs[i]));
    call_output(&call, output->dtype, output->rank, output->shape);
    return take_call(judging, name, &call, tolerance, like);
}

int judging_add_random(Judging *judging, unsigned long seed, int count) {
    int first = judging->count;
    GoldenCase *cases = xmalloc((size_t)count * sizeof *cases);
    random_cases(judging->kernel, seed, count, cases);
    for (int i = 0; i < count; i++) *grow(judging) = cases[i];
    free(cases);
    return first;
}

/* ------------------------------------------------------------------ answers */

static bool is_added(const Judging *judging, int index) { return index >= judging->golden.count; }

void judging_answer(Judging *judging, int index, const Tensor *got) {
    const GoldenCase *one = &judging->cases[index];
    Verdict *verdict = &judging->verdicts[index];
    double reference = verdict->comparison.reference;
    verdict_free(verdict);
    *verdict = verdict_of_output(judging->kernel, one, got);
    judging->answered[index] = true;
    if (!is_added(judging, index) || !verdict->output || has_own_bounds(one)) return;
    double *truth = tensor_to_double(&one->expected64);
    size_t row =
        judging->whole[index] ? tensor_count(got) : golden_row(one, judging->kernel->pointwise);
    verdict->comparison = check_within(CHECK_MULTIPLE * reference + CHECK_ULPS, tensor_count(got),
                                       row, verdict->output, truth);
    verdict->comparison.reference = reference;
    free(truth);
}

void judging_trouble(Judging *judging, int index, const char *trouble) {
    Verdict *verdict = &judging->verdicts[index];
    verdict->golden_case = &judging->cases[index];
    judging->answered[index] = true;
    snprintf(verdict->trouble, TROUBLE, "%s", trouble);
}

void judging_later(Judging *judging, int index, const char *words) {
    snprintf(judging->verdicts[index].later, WORDS, "%s", words);
}

/* The verdicts on what was answered, side by side. The cases may have moved since. */
static int answered(const Judging *judging, Verdict verdicts[]) {
    int count = 0;
    for (int c = 0; c < judging->count; c++) {
        if (!judging->answered[c]) continue;
        verdicts[count] = judging->verdicts[c];
        verdicts[count++].golden_case = &judging->cases[c];
    }
    return count;
}

CaseVerdict judging_verdict(const Judging *judging, int index) {
    Verdict verdict = judging->verdicts[index];
    verdict.golden_case = &judging->cases[index];
    const Comparison *comparison = &verdict.comparison;
    CaseVerdict said = {.passes = judging->answered[index] && verdict_passes(&verdict),
                        .wrong = comparison->wrong,
                        .count = comparison->count,
                        .worst = comparison->worst,
                        .ulps = comparison->ulps,
                        .reference = comparison->reference};
    verdict_text(said.first_wrong, &verdict);
    return said;
}

/* report() prints, so standard output is the file for a while. */
int judging_report(const Judging *judging, const char *source, const char *path) {
    Verdict *verdicts = xmalloc((size_t)judging->count * sizeof *verdicts);
    int count = answered(judging, verdicts);
    fflush(stdout);
    int before = dup(STDOUT_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    int passed = report(judging->kernel, &judging->golden, source, count, verdicts);
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(file);
    free(verdicts);
    return passed;
}

int judging_diagnose(const Judging *judging, char mistake[static DIAGNOSIS],
                     char advice[static DIAGNOSIS]) {
    Verdict *verdicts = xmalloc((size_t)judging->count * sizeof *verdicts);
    int count = answered(judging, verdicts), passed = 0;
    for (int v = 0; v < count; v++) passed += verdict_passes(&verdicts[v]);
    mistake[0] = advice[0] = '\0';
    if (passed < count) {
        Diagnosis found = diagnose(judging->kernel, &judging->golden, count, verdicts);
        snprintf(mistake, DIAGNOSIS, "%s", found.known_mistake ? found.known_mistake : "");
        snprintf(advice, DIAGNOSIS, "%s", found.advice);
    }
    free(verdicts);
    return passed;
}

/* ------------------------------------------------------------------ stored mistakes */

const char *judging_mistake(const Judging *judging, int index) {
    const SafeTensors *file = &judging->golden.file;
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strncmp(file->metadata[i].key, "wrong/", 6) == 0 && index-- == 0)
            return file->metadata[i].key + 6;
    return NULL;
}

const char *judging_advice(const Judging *judging, const char *mistake) {
    return golden_advice(&judging->golden, mistake);
}
