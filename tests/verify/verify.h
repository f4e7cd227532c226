/* Judging one kernel's outputs against its golden cases, and saying what went wrong. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "common/golden.h"
#include "tests/verify/kernels.h"

/* One case: what came out, and what check() says of it. */
typedef struct {
    const GoldenCase *golden_case;
    bool missing;           /* no output was handed over for this case */
    char trouble[TROUBLE];  /* what kept the kernel from an answer, or "" */
    float *output;          /* what it gave, widened to float32 */
    Agreement agreement;
} Verdict;

bool verdict_passes(const Verdict *verdict);

/* Runs `function` on one case. */
Verdict verdict_of_call(const Kernel *kernel, const GoldenCase *golden_case, Function function);

/* Judges an output computed elsewhere; `got` may have any dtype, its shape must be the case's. NULL: missing. */
Verdict verdict_of_output(const Kernel *kernel, const GoldenCase *golden_case, const Tensor *got);

bool same_shape(const Tensor *left, const Tensor *right);
char *index_text(char text[static SHAPE_TEXT], size_t index, const Tensor *tensor); /* "[0, 3]" */
void verdict_free(Verdict *verdict);

/* The call that a golden case describes, ready to run. */
Call call_of_case(const GoldenCase *golden_case);

/* Prints the report of one kernel: a row a case, the verdict, one line of diagnosis. `source` is where the
 * kernel came from, for the first line. Returns how many verdicts pass. */
int report(const Kernel *kernel, const Golden *golden, const char *source, int count, const Verdict verdicts[]);

enum { DIAGNOSIS = 512 };

/* Runs `function` beside the chapter's own kernel on random shapes. True if all agree; otherwise says where not. */
bool random_shapes_agree(const Kernel *kernel, Function function, char disagreement[static DIAGNOSIS]);

/* What becomes of somebody's kernel. */
typedef enum { RIGHT, NOT_IMPLEMENTED, WRONG, OUT_OF_BOUNDS, CRASHES, DOES_NOT_COME_BACK, EXITS, DOES_NOT_COMPILE } Fate;
const char *fate_name(Fate fate); /* "right", "not implemented", … */

/* A twin of this name is no mistake: it is what a kernel leaves that does nothing, where its output is not empty before. */
#define DOES_NOTHING "does_nothing"

/* A kernel judged by running it: on every golden case, then, if they pass and it is not ours, on random shapes. */
typedef struct {
    const Kernel *kernel;
    Golden golden;
    Verdict *verdicts;         /* [golden.count] */
    int passed;                /* of them */
    int random_shapes;         /* that were tried and agree */
    Fate fate;
    char diagnosis[DIAGNOSIS]; /* what is wrong, in one line; "" if nothing is, or nothing was written */
} Judgement;

Judgement judge(const Kernel *kernel, Function function); /* NULL: not implemented */
void judgement_print(const Judgement *judgement, const char *source); /* report(), and a line on the random shapes */
void judgement_free(Judgement *judgement);

#endif
