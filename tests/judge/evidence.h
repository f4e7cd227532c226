/* A kernel's answers, number by number: the evidence from which diagnosis.c concludes which mistake
 * it is. */
#ifndef VERIFY_EVIDENCE_H
#define VERIFY_EVIDENCE_H

#include "tests/judge/verify.h"

/* One case that was answered. */
typedef struct {
    const GoldenCase *golden;
    const float *got;    /* [count] */
    const double *truth; /* [count] */
    const bool *wrong;   /* [count] */
    size_t count, row;   /* numbers; of them, that are judged together */
    size_t wrongs;
    double tolerance;    /* in ulps */
    const double *bound; /* [count]: or so far, if that is more; NULL: no number has one */
} Answer;

/* The cases of a kernel. One that has no output is no evidence. */
typedef struct {
    const Kernel *kernel;
    int count;
    Answer *answers;
} Evidence;

Evidence evidence_of(const Kernel *kernel, int count, const Verdict verdicts[]);
void evidence_free(Evidence *evidence);

bool fails(const Answer *answer);
bool is_bf16(const Answer *answer);
double
rounding(const Answer *answer); /* what rounding to the output's type may do, in ulps of float32 */

/* Infinities and NaN follow rules of their own: where they are, a rule of other things cannot tell.
 */
bool is_ordinary(const Answer *answer);

const Answer *first_failing(const Evidence *evidence); /* NULL if there is none */
int count_failing(const Evidence *evidence);
const Answer *first_ordinary(const Evidence *evidence); /* of those that fail */

/* Counts the numbers that are not as predicted, within a tolerance in ulps of the largest of a row,
 * right or predicted: what is left where two large numbers cancel has their roundings. Or within
 * the answer's own bound. `stray`, if wanted, says which. */
size_t count_strays(const Answer *answer, double tolerance, const double predicted[], bool stray[]);

/* One number in fifty may stray, since a mistake made in float32 by other hands can cancel in other
 * digits; but most of what is wrong must be explained. Of a case that passes nothing is wrong, so
 * that there nothing may stray. */
bool few(size_t strays, const Answer *answer);

enum { SOME_NUMBERS = 3 }; /* so many are no coincidence */

/* A property of one number of an answer. */
typedef bool Flag(const Answer *answer, size_t index);
Flag is_wrong, is_unwritten;
Flag shows_out_before; /* it was computed from what lay in out before the call, or in a room to work
                          in */
Flag shows_around_inputs; /* from what lies before or behind the inputs */
Flag shows_what_is_unset; /* from the kernel's own variables and memory, as they are before it sets
                             them */

size_t count_flagged(const Evidence *evidence, Flag *flagged);
const Answer *first_flagged(const Evidence *evidence, Flag *flagged,
                            size_t *index); /* NULL if there is none */

#endif
