/* Chapter 15: the processes that run a model together, by MPI. `mpirun -n 4 PROGRAM` starts four of
 * them, the ranks 0 to 3. Each is the whole program, and its rank tells it which part of the work
 * it has to do.
 *
 * All messages are sent by MPI_Isend, so that they can be counted. A program that was not started
 * by mpirun is a single rank, and needs no MPI. */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int count, rank;
    int here; /* how many of them run on this machine */
} Ranks;

/* From now on, a rank that fails prints one line that begins with its number, and ends all other
 * ranks. So does a rank that finds that another rank has died, or that Ctrl-C was pressed. Apart
 * from that, only rank 0 prints. */
Ranks ranks_open(void);
void ranks_close(void);

/* Brackets code that the ranks run in order, rank 0 first. An error that all ranks have is
 * reported only once. */
void ranks_ordered_begin(void);
void ranks_ordered_end(void);

/* All-reduce: replaces the x of every rank by the sum over all ranks, added in the order of the
 * ranks, so that all ranks and all runs have the same bits. A rank sends 2 (ranks - 1) messages,
 * with 2 (ranks - 1) / ranks times the bytes of x if `ranks` divides n. */
void all_reduce_sum(size_t n, float x[n]);

/* Gather: rank 0 receives the `bytes` bytes of every rank in `all`, in the order of the ranks.
 * Other ranks may pass NULL. */
void gather_ranks(size_t bytes, const void *own, void *all);

/* The same where rank r has n[r] floats. */
void gather_floats(const int n[], const float own[], float all[]);

/* Broadcast: all ranks receive the data of rank 0. */
void broadcast_bytes(size_t bytes, void *data);

/* The messages and bytes that this rank has sent so far, counted by a layer between the program
 * and MPI. */
typedef struct {
    int64_t messages, bytes;
} Sent;
Sent sent_so_far(void);

#endif
