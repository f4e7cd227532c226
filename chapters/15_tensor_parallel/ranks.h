/* Chapter 15: the processes that run a model together, by MPI. `mpirun -n 4 PROGRAM` starts four of
 * them, the ranks 0 to 3; each is the whole program, and knows only by its number which part of the
 * work is its own.
 *
 * All messages are sent by MPI_Isend, so that they can be counted. A program that mpirun has not
 * started is one rank, and needs no MPI. */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int count, rank;
    int here; /* how many of them run on this machine */
} Ranks;

/* From now on, a rank that fails says so in one line that begins with its number, and ends the
 * others with it; so does one that sees that another has died, or that Ctrl-C was pressed. What it
 * prints beside that is rank 0's alone. */
Ranks ranks_open(void);
void ranks_close(void);

/* Brackets code that the ranks run in order, rank 0 first. An error that all ranks have is
 * reported only once. */
void ranks_ordered_begin(void);
void ranks_ordered_end(void);

/* Each rank has an x; afterwards all have their sum, added up in the order of the ranks: the same
 * bits everywhere, each time. A rank sends 2 (ranks - 1) messages: 2 (ranks - 1) / ranks times the
 * bytes of x, if `ranks` divides n. */
void all_reduce_sum(size_t n, float x[n]);

/* Rank 0 receives what each has: of `bytes` bytes on every rank, one behind the other in `all`.
 * Others may pass NULL. */
void gather_ranks(size_t bytes, const void *own, void *all);

/* The same where rank r has n[r] floats. */
void gather_floats(const int n[], const float own[], float all[]);

/* All receive what rank 0 has. */
void broadcast_bytes(size_t bytes, void *data);

/* The messages and bytes that this rank has sent so far, counted by a layer between the program
 * and MPI. */
typedef struct {
    int64_t messages, bytes;
} Sent;
Sent sent_so_far(void);

#endif
