/* Is it certain numbers that make a kernel wrong? */
#ifndef VERIFY_NUMBERS_H
#define VERIFY_NUMBERS_H

#include "tests/judge/lab.h"

/* A pointwise kernel: wrong where an input is below a number, or over one, and nowhere else? */
bool ends_decide(Lab *lab, char say[static DIAGNOSIS]);

/* A kernel that is right with normal numbers: with which kind of numbers of one input is it wrong?
 * `smallest` is the smallest wrong call that was found; its output is NULL if there is none. */
bool kinds_decide(const Subject *subject, char say[static DIAGNOSIS], Verdict *smallest);

#endif
