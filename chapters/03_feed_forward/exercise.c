/* Chapter 3, your turn: the feed-forward layer of a Llama, from one unit to the whole layer.
 *
 *     make exercise-03
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. */
#include "03_feed_forward/feed_forward.h"
#include "common/linear.h"

#include <math.h>
#include <stddef.h>

/* Task 1. out[i] = silu(gate[i]) up[i], where silu(z) = z / (1 + e^-z).
 * Which of the two goes through silu? */
void swiglu(int n, float out[n], const float gate[n], const float up[n]) {
    (void)n, (void)out, (void)gate, (void)up;
}

/* Task 2. y[r][o] = the dot product of row r of x with row o of weight, plus bias[o] unless bias is
 * NULL. Sum in a double: one case has 4096 terms. What follows is short once this passes. */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    (void)rows, (void)in, (void)out, (void)y, (void)x, (void)weight, (void)bias;
}

/* Task 3. The layer of 2017: up to F numbers, the activation, down to C. Keep the F numbers of each
 * token in hidden. An activation takes one row at a time: activation(F, hidden[t], hidden[t]). */
void feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                  const float w1[F][C], const float *b1, const float w2[C][F], const float *b2,
                  Activation *activation, float hidden[restrict T][F]) {
    (void)T, (void)C, (void)F, (void)out, (void)x, (void)w1, (void)b1, (void)w2, (void)b2;
    (void)activation, (void)hidden;
}

/* The challenge, without a hint: the layer of a Llama, with any gated unit. */
void gated_feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                        const float w_gate[F][C], const float w_up[F][C], const float w_down[C][F],
                        GatedUnit *unit, float gate[restrict T][F], float up[restrict T][F]) {
    (void)T, (void)C, (void)F, (void)out, (void)x, (void)w_gate, (void)w_up, (void)w_down;
    (void)unit, (void)gate, (void)up;
}
