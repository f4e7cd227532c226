/* Chapter 12, your turn: your own ladder.
 *
 *     make exercise-12
 *
 * judges linear() against PyTorch. Then see how high you are, beside common/linear.h (in double, on
 * all threads):
 *
 *     OMP_NUM_THREADS=1 build/verify linear --library build/exercise-12/exercise.c.so --bench
 *
 * It times two tasks, a weight of 4096 x 4096 with one row of x ("linear") and with 64 ("linear,
 * prefill"). Keep a table: the rung, what you predict for each of the two, what you measure. Judge
 * each rung anew before you time it. */
#include "common/linear.h"

/* The challenge, without a hint: begin with three loops and the bias, which may be NULL, and climb.
 *
 *   1. Three loops, a sum in double. How many lanes, how many accumulators? So what share of the
 * FMA peak?
 *   2. The sum in float, and `#pragma omp simd reduction(+ : sum)`. How exact is it still where
 * there are 4096 terms
 *      ("long"), without the pragma and with it? And if you add up parts of 256, each in a float of
 * its own, and these in a double?
 *   3. Four outputs side by side. Which of the two tasks gains, and which cannot?
 *   4. A tile of four rows by four outputs. What becomes of the last rows and outputs, where 4 does
 * not divide them?
 *   5. `#pragma omp parallel for` over the outputs. What does one row gain, what do 64?
 *   6. A panel: rows of the weight packed so that a tile reads them side by side. From how many
 * rows on does it pay? */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    (void)rows, (void)in, (void)out, (void)y, (void)x, (void)weight, (void)bias;
}
