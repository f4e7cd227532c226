/* Chapter 12, your turn: your own ladder.
 *
 *     make exercise-12
 *
 * judges it against PyTorch. Then see how high you are, beside common/linear.h, which sums in double on all threads:
 *
 *     build/verify linear --library build/exercise-12/exercise.c.so --bench */
#include "common/linear.h"

/* The challenge, without a hint: three loops and the bias, which may be NULL, and then as fast as you can. Before each rung
 * predict what you will gain. The benchmark has one row of x: which rungs can help there at all? */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    (void)rows, (void)in, (void)out, (void)y, (void)x, (void)weight, (void)bias;
}
