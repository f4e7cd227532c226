/* The answer of the chapter's own kernel to a call, which no golden file has: what another right
 * kernel may be off by is measured. */
#ifndef VERIFY_OWN_ANSWER_H
#define VERIFY_OWN_ANSWER_H

#include "common/golden.h"
#include "tests/judge/sandbox.h"
#include "tests/judge/kernels.h"

typedef struct {
    Tensor answer; /* its data lies in the call's memory */
    double *bound; /* for each number: what it may be off by; the caller frees it */
} OwnAnswer;

/* The bound is NULL if our kernel does not come back from the call, and `trouble` says why.
 * `exact`: one answer alone is right, to the bit. */
OwnAnswer own_answer(const Kernel *kernel, bool exact, bool is_long, Call *call,
                     char trouble[static TROUBLE]);

/* Does every golden case of the kernel have one right answer? */
bool answers_exactly(const Kernel *kernel);

/* A copy of the call as a case whose answer and rounding are ours (no rounding if the bound is
 * NULL), and the end of it. */
GoldenCase case_of_call(const char *name, const Call *call, const OwnAnswer *ours, bool exact);
void case_free(const GoldenCase *made);

/* Does the case come from there, and have a bound for each number? */
bool has_own_bounds(const GoldenCase *golden_case);

/* Counts the numbers of `got` that are farther from the case's answer than its rounding allows. */
Comparison compare_with_own(const Kernel *kernel, const GoldenCase *made, const float got[]);

#endif
