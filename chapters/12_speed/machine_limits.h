/* The machine's own limits. A speed is reported as a fraction of what this machine can do, measured
 * in the same run, because absolute times mean nothing on a shared machine. */
#ifndef SPEED_MACHINE_LIMITS_H
#define SPEED_MACHINE_LIMITS_H

#include <stddef.h>

/* A share of what memory allows, as text. Above 1 the data cannot have come from memory: small
 * models lie in a cache. */
enum { SHARE_TEXT = 64 };
const char *share_text(char text[static SHARE_TEXT], double share);

/* Bytes per second that so many threads read from memory. The best of several ways to add up so
 * many bytes: from one, two, four or eight places side by side, with and without prefetching, so
 * that it is a limit. The bytes should exceed the last-level cache: SOME_MEMORY does on most
 * machines, MUCH_MEMORY on a share of a large one. */
enum { SOME_MEMORY = 256 << 20, MUCH_MEMORY = 1 << 30 };
double read_bandwidth(int threads, size_t bytes);

/* Floating-point operations per second of so many threads that only compute fused multiply-adds in
 * registers, each counted as two. */
double fma_peak(int threads);

/* The same for BF16 dot products, two multiply-adds in each lane; 0 where the processor has
 * none. */
double bf16_peak(int threads);

/* The same for dot products of bytes, four in each lane, of the kind that this program was compiled
 * for; 0 where there is none. */
double byte_peak(int threads);

/* One go at each of these limits, a few milliseconds long, for callers who measure the time
 * between two pieces of their own work, because a shared machine's limits change from one moment
 * to the next. Each returns how much was done, in bytes or operations. The memory begins at a
 * multiple of 64. */
enum { READING_WAYS = 12 };
double read_memory(int threads, int way, size_t bytes, const void *memory);
double multiply_adds(int threads);
double multiply_bf16_pairs(int threads);
double multiply_bytes(int threads);

/* Some work, in one of several ways, at the turn-th place where it can be done. Returns how
 * much. */
typedef double Measured(const void *context, int turn, int way);

/* The kernel's speed as a share of its limit's: the median of so many turns, each measured beside
 * the limit of that moment. (The best moment of the one need not be the best of the other, where
 * other programs use the same memory.) A few turns before choose the best way of the limit. */
double median_share(Measured *kernel, Measured *limit, int ways, const void *context, int turns,
                    int threads);

#endif
