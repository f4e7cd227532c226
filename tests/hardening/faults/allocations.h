/* What faults.c and the library that it preloads tell each other, in memory that both share. */
#ifndef TESTS_FAULTS_ALLOCATIONS_H
#define TESTS_FAULTS_ALLOCATIONS_H

#include <stdatomic.h>
#include <stdbool.h>

enum { MOST_PLACES = 1 << 14 };

typedef struct {
    bool looks;   /* for places: it takes its time */
    long fail_at; /* 0: none */
    bool lasting; /* and all that follow */
    bool alone;   /* the program itself, not its forked children */

    bool sanitized;
    atomic_bool
        running; /* what is done now is the program's, not the dynamic linker's or a library's */
    atomic_long count;
    int places;           /* where the program allocates, as the stack tells: */
    long at[MOST_PLACES]; /* the number of the first allocation there */
} Allocations;

#endif
