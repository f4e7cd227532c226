/* Chapter 16, your turn: the gradient of the output, times the slope of the operation.
 *
 *     make exercise-16
 *
 * compares each function with PyTorch's autograd, names the mistake if it is a known one, and
 * counts the functions that are correct. Work from top to bottom. The (void) lines only prevent
 * warnings about an empty body; remove them when you begin. Remember that gradients are added (+=)
 * to the numbers that are already there. backward.h has the contracts. */
#include "16_backward/backward.h"

#include <math.h>

/* Task 1. dx is dy times the matrix, dweight[o][i] is column o of dy times column i of x, dbias[o]
 * is the sum of column o of dy. Each of the three may be NULL, if it is not wanted. */
void linear_backward(int rows, int in, int out, float dx[restrict rows][in],
                     float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                     const float x[rows][in], const float weight[out][in]) {
    (void)rows, (void)in, (void)out, (void)dx, (void)dweight, (void)dbias, (void)dy, (void)x,
        (void)weight;
}

/* Task 2. out = silu(gate) up is a product of two factors. Chapter 2 has silu and silu_derivative,
 * which compute whole arrays. n may be large, so pass them a block of numbers at a time. */
void swiglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                     const float gate[n], const float up[n]) {
    (void)n, (void)dgate, (void)dup, (void)dout, (void)gate, (void)up;
}

/* Task 3. Each feature is a part of the RMS, so it changes every output of its row. dweight is a
 * sum over the rows. */
void rms_norm_backward(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                       const float dy[rows][dim], const float x[rows][dim], const float weight[dim],
                       float eps) {
    (void)rows, (void)dim, (void)dx, (void)dweight, (void)dy, (void)x, (void)weight, (void)eps;
}

/* Task 4. p are the outputs of softmax, dp their gradients, and dx the gradients of the scores. */
void softmax_backward(int rows, int n, float dx[restrict rows][n], const float dp[rows][n],
                      const float p[rows][n]) {
    (void)rows, (void)n, (void)dx, (void)dp, (void)p;
}

/* The challenge, without a hint: many query heads, which share keys and values. */
void grouped_query_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                                      float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                                      const float dout[T][H][D], const float q[T][H][D],
                                      const float k[T][KV][D], const float v[T][KV][D]) {
    (void)T, (void)H, (void)KV, (void)D, (void)dq, (void)dk, (void)dv, (void)dout, (void)q, (void)k,
        (void)v;
}
