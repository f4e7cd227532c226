/* Chapter 2, exercises: two activation functions and two derivatives.
 *
 *     make exercise-02
 *
 * compares each function with PyTorch, names your mistake if it recognizes it, and shows your
 * progress.
 * Write the functions from top to bottom. The contracts are in activation.h. The (void) statements
 * only prevent warnings about an empty body; delete them when you begin. */
#include "02_activation/activation.h"

#include <math.h>

/* Task 1. max(0, x). For a NaN the result must be NaN. Is x > 0 true for a NaN? Is x <= 0? */
void relu(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }

/* Task 2. x sigmoid(x), this time in float32 alone, with expf and without a double. Of the two
 * formulas for sigmoid, 1 / (1 + e^-x) and e^x / (1 + e^x), one computes infinity / infinity when x
 * is large. */
void silu(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }

/* Task 3. The derivative of x sigmoid(beta x). Let s = sigmoid(beta x). The product rule needs the
 * derivative of s, and the chain rule gives that derivative a factor of beta. */
void swish_derivative(int n, float out[n], const float x[n], float beta) {
    (void)n, (void)out, (void)x, (void)beta;
}

/* The challenge, without a hint: the derivative of
 * x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
void gelu_tanh_derivative(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }
