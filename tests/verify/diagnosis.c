#include "tests/verify/diagnosis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Tensor *twin_named(const GoldenCase *golden_case, const char *name) {
    for (int i = 0; i < golden_case->twin_count; i++)
        if (strcmp(golden_case->twin[i].name, name) == 0) return &golden_case->twin[i];
    return NULL;
}

/* Is the output this twin? It is if it is as near to the twin as a right answer is to PyTorch's. One element in
 * fifty may stray: a mistake made in float32 by other hands can cancel in other digits. */
static bool is_twin(const Kernel *kernel, const Verdict *verdict, const Tensor *twin) {
    if (!verdict->output) return false;
    double *truth = tensor_to_double(twin);
    double tolerance = CHECK_MULTIPLE * verdict->agreement.reference + CHECK_ULPS;
    Agreement near = check_within(tolerance, tensor_count(twin), golden_row(verdict->golden_case, kernel->pointwise),
                                  verdict->output, truth);
    free(truth);
    return near.wrong * 50 <= near.count && near.wrong < verdict->agreement.wrong;
}

/* In how many of the cases that store the twin is the output that twin? */
static Diagnosis explain(const Kernel *kernel, const char *twin, int count, const Verdict verdicts[]) {
    Diagnosis diagnosis = {.twin = twin};
    for (int i = 0; i < count; i++) {
        const Tensor *outputs = twin_named(verdicts[i].golden_case, twin);
        if (!outputs || verdicts[i].missing) continue;
        diagnosis.stored++;
        diagnosis.matched += is_twin(kernel, &verdicts[i], outputs);
    }
    return diagnosis;
}

/* Explains more: a larger share of its cases, or as large a share of more cases. */
static bool better(Diagnosis a, Diagnosis b) {
    int left = a.matched * b.stored, right = b.matched * a.stored;
    return left > right || (left == right && a.matched > b.matched);
}

Diagnosis diagnose(const Kernel *kernel, int count, const Verdict verdicts[]) {
    Diagnosis best = {.matched = 1, .stored = 2}; /* half of the cases explained is no explanation */
    for (int i = 0; i < count; i++)
        for (int t = 0; t < verdicts[i].golden_case->twin_count; t++) {
            Diagnosis other = explain(kernel, verdicts[i].golden_case->twin[t].name, count, verdicts);
            if (other.matched * 2 > other.stored && better(other, best)) best = other;
        }
    return best;
}

const char *general_advice(const Kernel *kernel, int count, const Verdict verdicts[]) {
    size_t wrong = 0, unwritten = 0, misplaced = 0;
    double worst = 0;
    for (int i = 0; i < count; i++) {
        const Agreement *a = &verdicts[i].agreement;
        if (verdicts[i].missing || verdicts[i].trouble[0]) return NULL;
        wrong += a->wrong, unwritten += a->unwritten, misplaced += a->misplaced;
        if (a->wrong) worst = isnan(worst) || isnan(a->ulps) ? NAN : fmax(worst, a->ulps);
    }
    if (wrong == unwritten) return "What is wrong was never written: is the kernel implemented, and does its loop reach the end?";
    if (wrong == misplaced)
        return "Only NaN and infinity are out of place: an overflow, 0/0, or a NaN that a comparison swallowed.";
    if (!(worst < 1e4)) return NULL;
    return kernel->pointwise
               ? "Nearly right, and less exact than PyTorch: a sum that cancels, or an exp that loses digits far out, as exp2(1.4427 x) does."
               : "Nearly right, and less exact than PyTorch: sum in double or in several partial sums, and mind cancellation.";
}
