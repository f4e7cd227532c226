/* Chapter 12: one matrix product, y = x w^T, from three loops to the machine's limit.
 *
 * Every rung computes y[r][o] = sum over i of x[r][i] weight[o][i] and differs from the one before
 * in one thing. Rungs 0 and 1 sum in double, as common/linear.h does; from rung 2 on sums are
 * float32. What comes after these is not here: it is projection.c, whose fast_linear_tensor() makes
 * the whole decoder fast. */
#ifndef LADDER_H
#define LADDER_H

typedef void MatmulVersion(int rows, int in, int out, float y[restrict rows][out],
                           const float x[rows][in], const float weight[out][in]);

/* As the formula says it. */
void triple_loop(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                 const float weight[out][in]);

/* A row of the weight meets all rows of x before the next is read. */
void loop_order(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                const float weight[out][in]);

/* The accumulator is a float. */
void float_sum(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
               const float weight[out][in]);

/* A register full of accumulators for one. */
void simd_sum(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
              const float weight[out][in]);

/* Four of these side by side: none waits for its own last addition. */
void multiple_accumulators(int rows, int in, int out, float y[restrict rows][out],
                           const float x[rows][in], const float weight[out][in]);

/* Four rows by four rows: what was loaded is used four times. */
void register_tile(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const float weight[out][in]);

/* Packing: the weights of a tile are copied, transposed, into a panel that stays in the
 * first-level cache while all rows of x use it. */
void packed_panels(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const float weight[out][in]);

#endif
