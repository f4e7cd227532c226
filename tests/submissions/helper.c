/* A helper of the reader's has a kernel's name. It is not judged as that kernel. */
#include <math.h>

/* sigmoid: helper.c, line 5: conflicting types for sigmoid: yours is `float sigmoid(float x)`; the course's is */
float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* swiglu: PASS: 24 random shapes agree */
void swiglu(int n, float *out, const float *gate, const float *up) {
    for (int i = 0; i < n; i++) out[i] = gate[i] * sigmoid(gate[i]) * up[i];
}
