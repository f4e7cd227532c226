/* Time, and the machine's own limits: a speed is reported as a share of what this machine can do, measured in
 * the same run, because absolute times mean nothing on a shared machine. */
#ifndef COMMON_MEASURE_H
#define COMMON_MEASURE_H

#include <stddef.h>

double seconds(void); /* a clock that never goes back */
double processor_seconds(void); /* that all threads of this process have used */

/* A clock for work on so many threads. For one, it stands still while the machine is busy with other programs. */
double work_seconds(int threads);

/* So many a second, in words: "13", and below 1 two digits, "0.83". */
enum { RATE_TEXT = 32 };
const char *rate_text(char text[static RATE_TEXT], double rate);

/* How much of what memory allows that is, in words. A share above 1 is none: who is faster than memory reads from a
 * cache, as small models do. */
enum { SHARE_TEXT = 64 };
const char *share_text(char text[static SHARE_TEXT], double share);

/* The best of several repetitions of run(context), in seconds; repeats for about a tenth of a second. */
double best_seconds(void run(void *context), void *context);

/* The number that as many lie below as above; sorts them. */
double median(int count, double numbers[count]);

/* Bytes a second that so many threads read from memory: the best of several ways to add up so many bytes, from one,
 * two, four or eight places side by side, asked for as most programs or as chapter 12's decode, so that it is a limit.
 * They should be more than the last-level cache holds: SOME_MEMORY on most machines, MUCH_MEMORY on a share of a large
 * one. */
enum { SOME_MEMORY = 256 << 20, MUCH_MEMORY = 1 << 30 };
double read_bandwidth(int threads, size_t bytes);

/* Floating-point operations a second of so many threads that do nothing but fused multiply-adds in registers, each
 * counted as two. */
double fma_peak(int threads);

/* The same of threads that do nothing but BF16 dot products, two multiply-adds in each lane; 0 where there are none. */
double bf16_peak(int threads);

/* The same of dot products of bytes, of a kind that this program was compiled for: four in each lane; 0 where there are
 * none. */
double byte_peak(int threads);

/* One go at each of these limits, some thousandths of a second, for who takes the time himself, between two pieces of
 * his own work: what a shared machine gives changes from one moment to the next. Each returns how much was done, in
 * bytes or operations. The memory begins at a multiple of 64. */
enum { READING_WAYS = 12 };
double read_memory(int threads, int way, size_t bytes, const void *memory);
double multiply_adds(int threads);
double multiply_bf16_pairs(int threads);
double multiply_bytes(int threads);

/* Some work, in one of several ways, at the turn-th place where it can be done: says how much that was. */
typedef double Measured(const void *context, int turn, int way);

/* The kernel's speed as a share of its limit's: measured in so many turns, each beside the limit of that moment, and told
 * is the median. (The best moment of the one need not be the best of the other, where other programs use the same
 * memory.) Which way of the limit is the best, a few turns before tell. */
double typical_share(Measured *kernel, Measured *limit, int ways, const void *context, int turns, int threads);

/* Threads that a parallel loop will use: OMP_NUM_THREADS, or all cores; 1 without OpenMP. */
int thread_count(void);
void use_threads(int threads); /* from now on; without OpenMP there is but one */

/* What Linux says of this process: the most memory in bytes that it ever had, mapped files with it; or 0. */
double peak_memory(void);

/* Keeps the compiler from dropping a computation whose result nobody reads. */
void keep(const void *result);

#endif
