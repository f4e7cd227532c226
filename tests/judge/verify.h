/* Judging one kernel's outputs against its golden cases, and saying what went wrong. */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "common/golden.h"
#include "tests/judge/own_answer.h"
#include "tests/judge/trial.h"

/* One case: what came out, and what check() says of it. */
typedef struct {
    const GoldenCase *golden_case;
    bool missing;          /* no output was handed over for this case */
    char trouble[TROUBLE]; /* what kept the kernel from an answer, or "" */
    char later[WORDS]; /* what it did wrong when it was called again, under other circumstances; or
                          "" */
    float *output;     /* what it gave, widened to float32 */
    Comparison comparison;
} Verdict;

bool verdict_passes(const Verdict *verdict);

/* Calls the subject's kernel on one case, under several circumstances. */
Verdict verdict_of_subject(const Subject *subject, const GoldenCase *golden_case);

/* The same for a function of this program. */
static inline Verdict verdict_of_call(const Kernel *kernel, const GoldenCase *golden_case,
                                      Function function) {
    return verdict_of_subject(&(Subject){.kernel = kernel, .function = function}, golden_case);
}

/* Judges an output computed elsewhere; `got` may have any dtype, its shape must be the case's.
 * NULL: missing. */
Verdict verdict_of_output(const Kernel *kernel, const GoldenCase *golden_case, const Tensor *got);

bool same_shape(const Tensor *left, const Tensor *right);
char *index_text(char text[static SHAPE_TEXT], size_t index, const Tensor *tensor); /* "[0, 3]" */
/* "[2, 3]: got 0.7, expected 0.5" */
void difference_text(char text[static WORDS], size_t index, const Tensor *expected, float got);
/* What is wrong with an answer, or why there is none; "" if it passes. */
void verdict_text(char text[static WORDS], const Verdict *verdict);
void verdict_free(Verdict *verdict);

/* Prints the report of one kernel: a row a case, the verdict, one line of diagnosis. `source` is
 * where the kernel came from, for the first line. Returns how many verdicts pass. */
int report(const Kernel *kernel, const Golden *golden, const char *source, int count,
           const Verdict verdicts[]);

enum { DIAGNOSIS = 512 };

/* Calls the subject's kernel and the chapter's own on so many random shapes, of which the last is
 * of medium size, wider than a Llama's rows, and the one before it is far. Then come some of
 * today's, one without rows where the contract has those, and for each dimension a call in which it
 * is longer than any of a Llama's. True if all agree; otherwise says where not. `note` is what is
 * to be told besides; or "". `wrong` is the call whose answer is wrong, if it is one, as a case's
 * verdict. */
enum { RANDOM_CALLS = 24, CALLS_OF_THE_DAY = 8 };
bool random_shapes_agree(const Subject *subject, char disagreement[static DIAGNOSIS],
                         char note[static DIAGNOSIS], Verdict *wrong);

/* Such a call as a case's verdict, with what the course's kernel answers as the truth. */
Verdict verdict_of_random(const Kernel *kernel, const Call *call, const OwnAnswer *ours, bool exact,
                          const Tensor *output);
void random_verdict_free(Verdict *verdict);

/* So many random cases of a seed, random_SEED_0, random_SEED_1, …, whose answers are those of the
 * chapter's own kernel. case_free() frees each. */
void random_cases(const Kernel *kernel, unsigned long seed, int count, GoldenCase cases[]);

/* The date as a number, 20261128; or what the variable SEED of the environment says. */
unsigned long seed_of_the_day(void);

/* Checks that it refuses the calls that the contract says are refused. */
typedef enum { REFUSES, TO_BE_TOLD, MUST_REFUSE } Refusing;
Refusing refuses(const Subject *subject, char say[static DIAGNOSIS]);

/* The verdict on somebody's kernel. */
typedef enum {
    RIGHT,
    NOT_IMPLEMENTED,
    WRONG,
    OUT_OF_BOUNDS,
    CRASHES,
    DOES_NOT_COME_BACK,
    EXITS,
    DOES_NOT_COMPILE,
    THE_COURSES_OWN,
    ANOTHER_FUNCTION
} KernelStatus;
const char *status_name(KernelStatus kernel_status); /* "right", "not implemented", … */
/* The fate that the sandbox's words about a call, or about loading a library, mean; WRONG for
 * anything else. */
KernelStatus status_of(const char *trouble);

/* A library defines no kernel of the course, or not the only one that is asked for: does one hide
 * in it? Then `say` is how, and what to do. */
bool hides_a_kernel(const Library *library, const Kernel *only, char say[static DIAGNOSIS]);

/* A stored output of this name is no mistake: it is what a kernel leaves that does nothing, where
 * its output is not empty before. */
#define DOES_NOTHING "does_nothing"

/* A kernel judged by running it: on every golden case, then, if they pass and it is not ours, on
 * random shapes. */
typedef struct {
    const Kernel *kernel;
    Golden golden;
    Verdict *verdicts; /* [golden.count] */
    int passed;        /* of them */
    int random_shapes; /* that were tried and agree */
    KernelStatus status;
    char diagnosis[DIAGNOSIS]; /* what is wrong, in one line; "" if nothing is, or nothing was
                                  written */
    char sizes[DIAGNOSIS];     /* at which sizes alone it is wrong; "" if they do not decide */
    Verdict random;            /* a random call whose answer is wrong; its output is NULL if there
                                  is none */
    bool right_plainly;        /* compiled with few optimizations */
    char note[DIAGNOSIS];      /* what else is to be told of one that is right; "" if nothing is */
    char advice[DIAGNOSIS];    /* on a random shape's wrong answer; "" if there is none */
} Judgement;

Judgement judge(const Subject *subject);
void judgement_print(const Judgement *judgement,
                     const char *source); /* report(), and a line on the random shapes */
void judgement_free(Judgement *judgement);

#endif
