/* Which mistake is it? What the failing outputs of a kernel have in common with a wrong twin, or with one another. */
#ifndef VERIFY_DIAGNOSIS_H
#define VERIFY_DIAGNOSIS_H

#include "tests/verify/verify.h"

/* The wrong twin that the failing outputs are, or NULL: the one that explains the largest share of the cases that
 * store it. */
typedef struct {
    const char *twin;
    int matched, stored; /* cases */
} Diagnosis;

Diagnosis diagnose(const Kernel *kernel, int count, const Verdict verdicts[]);

/* A sentence for what no twin explains, or NULL. */
const char *general_advice(const Kernel *kernel, int count, const Verdict verdicts[]);

#endif
