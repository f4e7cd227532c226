/* Chapter 12: one matrix product, y = x w^T, from three loops to the machine's limit.
 *
 * Every rung computes y[r][o] = sum over i of x[r][i] weight[o][i] and differs from the one before in one thing. The last
 * rung is not here: it is projection.c, which has the function of chapter 9 and makes the whole decoder fast. */
#ifndef LADDER_H
#define LADDER_H

/* As the formula says it; the sum is a double, as in common/linear.h. */
void triple_loop(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

/* A row of the weight meets all rows of x before the next is read. */
void loop_order(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

/* A register full of partial sums for one. */
void simd_sum(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

/* Four sums side by side: none waits for its own last addition. */
void several_rows(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

/* Four rows by four rows: what was loaded is used four times. */
void register_tile(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

typedef void Rung(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]);

#endif
