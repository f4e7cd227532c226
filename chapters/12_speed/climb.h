/* Chapter 12: what each rung of the ladder waits for, the speed that this predicts, and the speed
 * that is measured. */
#ifndef CLIMB_H
#define CLIMB_H

#include "12_speed/ladder.h"
#include "common/tensor.h"

/* The operations of a version's inner loop, from which its speed is predicted. */
typedef struct {
    int lanes; /* multiply-adds that one instruction does */
    int sums;  /* of them are under way, each waiting for none but itself */
    int loads; /* of vectors (or single numbers) … */
    int uses;  /* … for so many multiply-adds */
} Loop;

typedef struct {
    const char *name;
    MatmulVersion *run;
    DType dtype;    /* of the weights, whatever the compiler is told */
    Loop one, many; /* for a single row of x, and for many */
    bool once;      /* a weight is read from memory once, not once for each row of x */
    bool shared;    /* by all threads */
    bool pairs; /* many rows are multiplied in pairs: as fast as dot products are, not multiply-adds
                 */
} Step;

/* All of them; the last only where the processor has it. */
const Step *matmul_benchmarks(int *count);

/* A build for finding mistakes says nothing about speed, nor does an emulator: it gets little to
 * do. */
#if defined __SANITIZE_ADDRESS__ || !defined __OPTIMIZE__ || defined UNTIMED
enum { MEASURES = false };
#else
enum { MEASURES = true };
#endif

/* The rungs' task: one row meets more weights than most caches hold, as in decode; or many rows a
 * matrix, as in prefill. */
enum { IN = 2048, MANY = 128 };
typedef struct {
    int rows, out;
    float *x, *y, *right; /* right: what rung 0 says */
    float *weight;
    bf16 *half; /* the same numbers */
} Task;

Task task_new(int rows);
void task_free(Task *task);

/* A kernel and its limit are measured in alternating rounds, because a shared machine's speed
 * changes from moment to moment. There are at least two rounds, and one for every way of
 * reading, unless it takes too long. for (Rounds turns = rounds_new(); rounds_go_on(&turns);) … */
typedef struct {
    int count; /* this is turn 1, 2, … */
    double start;
} Rounds;

Rounds rounds_new(void);
bool rounds_go_on(Rounds *turns);

/* Operations a second, two for each multiply-add, of a rung and of what limits it. A rung that is
 * wrong is not measured: fail() names it. */
typedef struct {
    double fma, pairs; /* the limits: multiply-adds, BF16 dot products … */
    double bandwidth;  /* … and reading, in bytes a second */
    double operations; /* that a byte of weights is worth */
    double predicted, measured;
} Speed;

Speed speed_of(const Step *step, Task *task);

/* As a fraction of this task's limit: the bandwidth for a single row, else the FMA peak. */
double share_of_limit(const Speed *speed, const Task *task, double operations);

#endif
