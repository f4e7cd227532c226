/* Chapter 2, your turn: two activations and two slopes.
 *
 *     make exercise-02
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The contracts are in activation.h. The (void) lines only keep an
 * empty body from warning, and go when you begin. */
#include "02_activation/activation.h"

#include <math.h>

/* Task 1. max(0, x). A NaN must come out as NaN: which of x > 0 and x <= 0 is true for it? */
void relu(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }

/* Task 2. x sigmoid(x). Of the two ways to write sigmoid, 1 / (1 + e^-x) and e^x / (1 + e^x), one
 * ends in infinity / infinity when x is large. */
void silu(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }

/* Task 3. The slope of x sigmoid(beta x). With s = sigmoid(beta x), the product rule asks for the
 * slope of s, and the chain rule puts a beta into it. */
void swish_derivative(int n, float out[n], const float x[n], float beta) {
    (void)n, (void)out, (void)x, (void)beta;
}

/* The challenge, without a hint: the slope of x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
void gelu_tanh_derivative(int n, float out[n], const float x[n]) { (void)n, (void)out, (void)x; }
