/* Chapter 17, your turn: the parts of a training step.
 *
 *     make exercise-17
 *
 * compares each function with PyTorch, names the mistake if it is a known one, and counts the
 * functions that are correct. Work from top to bottom. The (void) lines only prevent warnings about
 * an empty body; remove them when you begin. optimizer.h has the contracts. */
#include "17_training/optimizer.h"

#include <math.h>

/* Task 1. A straight line up to `peak`, which step `warmup` has; then half a cosine, (1 + cos(pi
 * progress)) / 2, down to `lowest`, which step `steps` and every later step has. Careful: 1 / 2 is
 * 0 in C. */
float learning_rate(int step, int warmup, int steps, float peak, float lowest) {
    (void)step, (void)warmup, (void)steps, (void)peak, (void)lowest;
    return 0;
}

/* Task 2. For each weight: update m with the gradient and v with its square, then apply the decay
 * and the step. The stored m and v are not corrected; the step is computed from corrected ones. */
void adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
           const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
           float decay) {
    (void)n, (void)weight, (void)m, (void)v, (void)gradient, (void)step;
    (void)rate, (void)beta1, (void)beta2, (void)eps, (void)decay;
}

/* Task 3. First one norm of all arrays together, then one factor for all their numbers, max_norm /
 * (norm + 1e-6) as in PyTorch, if it is below 1. If the norm is NaN, all gradients become NaN, so
 * that the error is seen. Chapter 16 has gradient_norm. */
double clip_gradient(int arrays, const size_t n[arrays], float *const gradient[arrays],
                     float max_norm) {
    (void)arrays, (void)n, (void)gradient, (void)max_norm;
    return 0;
}

/* The challenge, without a hint: the weight of each micro-batch in the mean over all targets. */
void microbatch_weights(int batches, int rows, float shares[batches],
                        const int targets[batches][rows]) {
    (void)batches, (void)rows, (void)shares, (void)targets;
}
