#include "16_backward/backward.h"
#include "common/numbers.h"

enum { BLOCK = 256 }; /* numbers at a time, so that no memory must be allocated */

void activation_backward(int n, float dx[restrict n], const float dy[n], const float x[n],
                         Activation *derivative) {
    for (int start = 0; start < n; start += BLOCK) {
        float slope[BLOCK];
        int count = min_int(BLOCK, n - start);
        derivative(count, slope, x + start);
        for (int i = 0; i < count; i++) dx[start + i] += dy[start + i] * slope[i];
    }
}

/* The product rule: each factor receives the gradient of the product, times the other factor. For
 * the gate, it is also multiplied by the slope of the activation. */
static void gated_backward(int n, float dgate[restrict n], float dup[restrict n],
                           const float dout[n], const float gate[n], const float up[n],
                           Activation *activation, Activation *derivative) {
    for (int start = 0; start < n; start += BLOCK) {
        float open[BLOCK], slope[BLOCK];
        int count = min_int(BLOCK, n - start);
        activation(count, open, gate + start);
        derivative(count, slope, gate + start);
        for (int i = 0; i < count; i++) {
            dgate[start + i] += dout[start + i] * up[start + i] * slope[i];
            dup[start + i] += dout[start + i] * open[i];
        }
    }
}

void glu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                  const float gate[n], const float up[n]) {
    gated_backward(n, dgate, dup, dout, gate, up, sigmoid, sigmoid_derivative);
}

void reglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                    const float gate[n], const float up[n]) {
    gated_backward(n, dgate, dup, dout, gate, up, relu, relu_derivative);
}

void geglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                    const float gate[n], const float up[n]) {
    gated_backward(n, dgate, dup, dout, gate, up, gelu, gelu_derivative);
}

void swiglu_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                     const float gate[n], const float up[n]) {
    gated_backward(n, dgate, dup, dout, gate, up, silu, silu_derivative);
}

void bilinear_backward(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                       const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) {
        dgate[i] += dout[i] * up[i];
        dup[i] += dout[i] * gate[i];
    }
}
