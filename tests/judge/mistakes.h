/* The known mistakes that a golden file stores. */
#ifndef VERIFY_MISTAKES_H
#define VERIFY_MISTAKES_H

#include "common/golden.h"

/* Their names, sorted; the caller frees the list, and not the names. */
const char **known_mistakes(const Golden *golden, int *count);

/* golden_advice() in two parts: what a kernel with this mistake does, "Your epsilon is missing.",
 * and what to do instead, which may be "". */
enum { MISTAKE_TEXT = 512 };
void mistake_texts(const Golden *golden, const char *mistake, char does[static MISTAKE_TEXT],
                   char advice[static MISTAKE_TEXT]);

/* The output of such a kernel in this case; NULL where none is stored, because it is right there or
 * nearly so. */
const Tensor *output_of_mistake(const GoldenCase *golden_case, const char *mistake);

/* How many cases store one: those that can tell it. */
int cases_that_tell(const Golden *golden, const char *mistake);

#endif
