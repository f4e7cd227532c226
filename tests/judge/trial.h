/* A kernel on one input under different circumstances: with 1, 2 and 5 threads, on arrays that
 * begin on a page and on such that end at a forbidden one, again, after another shape, in place,
 * over NaN and over ordinary numbers. A right kernel's answer is right under all of them. */
#ifndef VERIFY_TRIAL_H
#define VERIFY_TRIAL_H

#include "tests/judge/kernels.h"

/* The function that is judged. */
typedef struct {
    const Kernel *kernel;
    Library *library;  /* where the function lies; NULL: in this program */
    Function function; /* NULL: it is not there */
} Subject;

enum { WORDS = 384, MANY_TIMES = 50, MANY_THREADS = 33, FEW_THREADS = 4 };

/* True if an output is right; otherwise `where` says what is wrong with it. */
typedef bool IsRight(const void *truth, const Tensor *output, char where[static WORDS]);

typedef struct {
    const Subject *subject;
    Call *call;
    const Call *before; /* of another shape, made first in the same process; or NULL */
    bool
        other_before; /* the call itself is made first, with other numbers; then `before` is NULL */
    bool many_times;  /* in the end the call is made MANY_TIMES times more */
    bool many_threads; /* it is made with MANY_THREADS, too */
    bool meets;        /* it is made often, with 2 threads and with FEW_THREADS */
    bool is_long;      /* a dimension is long */
    IsRight *is_right;
    const void *truth;
    Tensor first; /* the first output; its data is NULL if there is none */
    Outcome outcome;
    int count; /* calls, that of `before` included */
    Run runs[MOST_RUNS];
} Trial;

/* Makes all calls; the outputs lie in the call's part of the shared memory. */
void trial_run(Trial *trial);

/* The reason why there is no first output, or "". */
const char *trial_trouble(const Trial *trial);

/* Describes a later output that is wrong, and the circumstance that makes it wrong. False if none
 * is. With a first output that is wrong already, only what the kernel did outside of its arrays. */
bool trial_deviates(const Trial *trial, bool first_is_right, char say[static WORDS]);

/* A sentence on what such a thing comes from, or NULL. */
const char *trial_advice(const char *deviation);

#endif
