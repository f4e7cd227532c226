/* Which mistake is it? What the failing outputs of a kernel have in common with a known mistake, or
 * with one another. */
#ifndef VERIFY_DIAGNOSIS_H
#define VERIFY_DIAGNOSIS_H

#include "tests/judge/verify.h"

typedef struct {
    const char
        *known_mistake;     /* the stored one that explains most of the failing outputs; or NULL */
    int matched, stored;    /* cases: whose output is that mistake's, that store it */
    char advice[DIAGNOSIS]; /* about it, or what else can be said; "" if that is nothing */
} Diagnosis;

Diagnosis diagnose(const Kernel *kernel, const Golden *golden, int count, const Verdict verdicts[]);

/* A number as a reader reads it, with so many digits: "0.5", "NaN", "-infinity", never "-nan". */
enum { NUMBER_TEXT = 32 };
char *number_text(char text[static NUMBER_TEXT], int digits, double number);

#endif
