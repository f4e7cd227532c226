/* Chapter 12, your turn: your own ladder.
 *
 *     make exercise-12
 *
 * judges linear() against PyTorch. Then measure it beside the product of common/linear.h, which
 * sums in double and uses all threads:
 *
 *     OMP_NUM_THREADS=1 build/verify linear --library build/exercise-12/exercise.c.so --bench
 *
 * This times two tasks with a weight of 4096 x 4096: one row of x ("linear", a GEMV as in decode)
 * and 64 rows ("linear, prefill", a GEMM). Keep a table: the rung, what you predict for each task,
 * what you measure. Judge each rung again before you time it. */
#include "common/linear.h"

/* The challenge: begin with three loops and the bias, which may be NULL, and climb. rows, in and
 * out may be any positive numbers, and no number outside of the arrays may be read.
 *
 *   1. Three loops and a sum in double. How many lanes and how many accumulators does it use? What
 *      percentage of the FMA peak does that predict?
 *   2. The sum in float, with `#pragma omp simd reduction(+ : sum)`. How large is the error where a
 *      sum has 4096 terms (the case "long"), without the pragma and with it? And if you add up
 *      parts of 256 terms, each in a float of its own, and add these in a double?
 *   3. Four outputs at a time. Which of the two tasks gains, and which cannot?
 *   4. A tile of four rows by four outputs. What do you do with the last rows and outputs, where 4
 *      does not divide them?
 *   5. `#pragma omp parallel for` over the outputs. What does one row gain, and what do 64?
 *   6. Packing: copy rows of the weight so that a tile reads neighbouring numbers. From how many
 *      rows on does it pay?
 *   7. Compute your GFLOP/s, and those of numpy with the five lines of Python in the lesson. How
 *      far is it to OpenBLAS? */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    (void)rows, (void)in, (void)out, (void)y, (void)x, (void)weight, (void)bias;
}
