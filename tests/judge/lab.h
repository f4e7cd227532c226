/* A kernel that can be called is tried: with sizes and with numbers that are chosen to find out at
 * which it is wrong. */
#ifndef VERIFY_LAB_H
#define VERIFY_LAB_H

#include "tests/judge/verify.h"

/* A dimension that a random call asks for, as a reader finds it: in an array, or as a whole number
 * of its own. */
typedef struct {
    char name[32]; /* of the input; "" if nothing shows it */
    int axis, rank;
    size_t unit; /* by how much it grows at a time */
} Dimension;

enum { WORK_TO_FIND = 1 << 24, WORK_TO_SCAN = 1 << 23 };

typedef struct {
    const Subject *subject;
    bool exact;             /* one answer alone is right, to the bit */
    bool is_over;           /* a call does not come back, or all take too long */
    double most_work, work; /* of a call that is made; of all that were made */
    int calls;              /* so far; each has a seed of its own */
    uint64_t kind;          /* that calls should have; 0: any */
    int count;              /* dimensions */
    Dimension dimension[MOST_EXTENTS];
} Lab;

/* One call, and what came of it. */
typedef struct {
    Extents extents;
    size_t size[MOST_EXTENTS]; /* of the lab's dimensions */
    uint64_t kind;
    bool is_too_large, wrong;
} Point;

Lab lab_of(const Subject *subject);

/* The call of a seed, of these sizes or, if they are NULL, of small ones as they come. */
void lab_call(const Lab *lab, Call *call, uint64_t seed, const Extents *extents);

/* `keep`, if it is wanted, is a wrong answer as a case. */
bool is_wrong_answer(Lab *lab, Call *call, Verdict *keep);

/* One more call, and three: with other numbers one may be right by luck. */
Point lab_ask(Lab *lab, const Extents *extents, Verdict *keep);
Point lab_ask_often(Lab *lab, const Extents *extents);

/* An input of a call, or its output; NULL if there is none of this name. */
extern const char output_name[];
size_t size_in(const Tensor *input, const Dimension *dimension);

/* Finds out what the dimensions are called. */
void name_dimensions(Lab *lab);

#endif
