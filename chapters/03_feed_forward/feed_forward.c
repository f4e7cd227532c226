#include "03_feed_forward/feed_forward.h"
#include "common/linear.h"

#include <math.h>
#include <stddef.h>

void swiglu(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) out[i] = (float)(gate[i] / (1 + exp(-gate[i])) * up[i]);
}

void feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                  const float w1[F][C], const float *b1, const float w2[C][F], const float *b2,
                  Activation *activation, float hidden[restrict T][F]) {
    linear(T, C, F, hidden, x, w1, b1);
    for (int t = 0; t < T; t++) activation(F, hidden[t], hidden[t]);
    linear(T, F, C, out, hidden, w2, b2);
}

void gated_feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                        const float w_gate[F][C], const float w_up[F][C], const float w_down[C][F],
                        GatedUnit *unit, float gate[restrict T][F], float up[restrict T][F]) {
    linear(T, C, F, gate, x, w_gate, NULL);
    linear(T, C, F, up, x, w_up, NULL);
    for (int t = 0; t < T; t++) unit(F, gate[t], gate[t], up[t]);
    linear(T, F, C, out, gate, w_down, NULL);
}

long llama_hidden_width(long C, double ffn_dim_multiplier, long multiple_of) {
    long width = 2 * (4 * C) / 3;
    width = (long)(ffn_dim_multiplier * (double)width);
    return (width + multiple_of - 1) / multiple_of * multiple_of;
}

/* ------------------------------------------------------------------ the other gated units */

void glu(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) out[i] = (float)(1 / (1 + exp(-gate[i])) * up[i]);
}

void bilinear(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) out[i] = gate[i] * up[i];
}

void reglu(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) out[i] = (gate[i] <= 0 ? 0 : gate[i]) * up[i];
}

void geglu(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) {
        float bent;
        gelu(1, &bent, &gate[i]);
        out[i] = bent * up[i];
    }
}
