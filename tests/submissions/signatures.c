/* Functions that have a kernel's name, with types that are the header's, or can be called alike, or cannot. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float real;
typedef int whole;

/* silu: 8 of 8 cases pass
 * Types of the reader's own, an attribute, the name in brackets. */
__attribute__((noinline)) void(silu)(whole n, real out[static 1], [[maybe_unused]] const real *x);
void(silu)(whole n, real out[static 1], const real *x) {
    for (int i = 0; i < n; i++) out[i] = x[i] / (1 + expf(-x[i]));
}

/* relu: 0 of 4 cases pass
 * A long for an int, any pointers, and a result that nobody asks for. */
int
relu (long n, /* how many, or 0 */
      void *restrict out , const void*x)
{
    return memcpy(out, x, 0) == out && n == 0;
}

/* sigmoid: conflicting types for sigmoid: yours is `float sigmoid(float x)`; the course's is `void sigmoid(int n, */
float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* gelu: yours is `void gelu(int n, double *out, const double *x)`; the course's is */
void gelu(int n, double *out, const double *x) {
    for (int i = 0; i < n; i++) out[i] = x[i];
}

/* gelu_tanh: yours is `void gelu_tanh(float *out, const float *x, int n)` */
void gelu_tanh(float *out, const float *x, int n) {
    for (int i = 0; i < n; i++) out[i] = x[i];
}

/* sigmoid_derivative: yours is `void sigmoid_derivative(void)` */
void sigmoid_derivative(void) {}

/* silu_derivative: silu_derivative   signatures.c   not judged */
struct pair {
    float a, b;
};
struct pair silu_derivative(int n, float *out, const float *x) {
    return (struct pair){(float)n + out[0], x[0]};
}

/* top_k: top_k   signatures.c   not judged|float k */
void top_k(int V, float *out, const float *logits, float k) {
    for (int i = 0; i < V; i++) out[i] = logits[i] + k;
}

/* feed_forward: FAIL
 * Everything flat, and the activation by a type of the reader's own. */
typedef void Function(int n, float out[], const float x[]);
void feed_forward(int T, int C, int F, float (*out)[C], const float *x, const float *w1, const float *b1,
                  const float *w2, const float *b2, Function *function, float *hidden) {
    (void)F, (void)w1, (void)b1, (void)w2, (void)b2, (void)function, (void)hidden;
    memcpy(out, x, (size_t)(T * C) * sizeof *x);
}
