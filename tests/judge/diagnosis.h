/* Which mistake is it? What the failing outputs of a kernel have in common with a wrong twin, or with one another. */
#ifndef VERIFY_DIAGNOSIS_H
#define VERIFY_DIAGNOSIS_H

#include "tests/judge/verify.h"

/* The wrong twin that the failing outputs are, or NULL: the one that explains most of them. */
typedef struct {
    const char *twin;
    int matched, stored; /* cases: that are the twin, that store it */
} Diagnosis;

Diagnosis diagnose(const Kernel *kernel, int count, const Verdict verdicts[]);

/* What can be said where no twin explains. False if that is nothing. */
bool general_advice(const Kernel *kernel, int count, const Verdict verdicts[], char say[static DIAGNOSIS]);

/* A number as a reader reads it, with so many digits: "0.5", "NaN", "-infinity", never "-nan". */
enum { NUMBER_TEXT = 32 };
char *number_text(char text[static NUMBER_TEXT], int digits, double number);

#endif
