#include "03_feed_forward/feed_forward.h"

/* Every unit is activation(gate) * up. The activation is computed in small blocks, so that out may be gate or
 * up and no memory is asked for. */
static void gated(int n, float out[n], const float gate[n], const float up[n], Activation *activation) {
    enum { BLOCK = 256 };
    for (int start = 0; start < n; start += BLOCK) {
        float open[BLOCK];
        int count = n - start < BLOCK ? n - start : BLOCK;
        activation(count, open, gate + start);
        for (int i = 0; i < count; i++) out[start + i] = open[i] * up[start + i];
    }
}

void glu(int n, float out[n], const float gate[n], const float up[n]) { gated(n, out, gate, up, sigmoid); }
void reglu(int n, float out[n], const float gate[n], const float up[n]) { gated(n, out, gate, up, relu); }
void geglu(int n, float out[n], const float gate[n], const float up[n]) { gated(n, out, gate, up, gelu); }
void swiglu(int n, float out[n], const float gate[n], const float up[n]) { gated(n, out, gate, up, silu); }

void bilinear(int n, float out[n], const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) out[i] = gate[i] * up[i];
}
