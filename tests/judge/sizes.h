/* Is it the sizes that make a kernel wrong, or numbers that are large? That is tried, where it can
 * be called. */
#ifndef VERIFY_SIZES_H
#define VERIFY_SIZES_H

#include "tests/judge/verify.h"

/* Calls the subject's kernel with sizes chosen for that, and each time with other numbers: at which
 * is it wrong? `failing` are those of a random call that is, or NULL. What is said holds for all
 * these calls, and no golden case speaks against it. False if there is nothing to say. `smallest`
 * is the smallest wrong call that was found; its output is NULL if there is none. */
bool sizes_decide(const Subject *subject, const Extents *failing, int count,
                  const Verdict verdicts[], char say[static DIAGNOSIS], Verdict *smallest);

#endif
