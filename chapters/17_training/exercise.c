/* Chapter 17, your turn: how far to go downhill.
 *
 *     make exercise-17
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. What the functions promise stands in optimizer.h. */
#include "17_training/optimizer.h"

/* Task 1. Up in a straight line, so that step `warmup` has the peak; then down along (1 + cos(pi
 * way)) / 2 to `lowest`, which step `steps` has, and every step after it. Careful: 1 / 2 is 0 in C.
 */
float learning_rate(int step, int warmup, int steps, float peak, float lowest) {
    (void)step, (void)warmup, (void)steps, (void)peak, (void)lowest;
    return 0;
}

/* Task 2. For each weight: take the gradient into m, and its square into v; then the decay, and the
 * step. What is kept in m and v is not corrected; what the step is made of is. */
void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
           const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
           float decay) {
    (void)n, (void)weight, (void)m, (void)v, (void)gradient, (void)step;
    (void)rate, (void)beta1, (void)beta2, (void)eps, (void)decay;
}

/* Task 3. First one norm of all the arrays, then one factor for all numbers in them, max_norm /
 * (norm + 1e-6) as in PyTorch. Chapter 16 has gradient_norm. */
double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays],
                     float max_norm) {
    (void)arrays, (void)n, (void)gradient, (void)max_norm;
    return 0;
}

/* The challenge, without a hint: the mean of the parts' means is not the mean over all targets. */
void microbatch_weights(int batches, int rows, float shares[batches],
                        const int targets[batches][rows]) {
    (void)batches, (void)rows, (void)shares, (void)targets;
}
