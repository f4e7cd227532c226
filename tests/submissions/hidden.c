/* Kernels that are there, but not by their names. */

/* verify: Not judged: silu is static, or inline, and other files cannot see it. Remove that word. */
static void silu(int n, float *out, const float *x) {
    for (int i = 0; i < n; i++) out[i] = x[i];
}

/* verify: Not judged: gelu is static, or inline */
inline void gelu(int n, float *out, const float *x) { out[0] = x[n - 1]; }

/* verify: Not judged: is ReLU meant as relu? A kernel is found by its name. */
void ReLU(int n, float *out, const float *x) { silu(n, out, x); }

/* verify: is my_sigmoid meant as sigmoid? */
void my_sigmoid(int n, float *out, const float *x) { silu(n, out, x); }

/* verify: is rmsnorm meant as rms_norm? */
void rmsnorm(int rows, int dim, float *out) { out[rows * dim - 1] = 0; }

/* verify: is LayerNorm meant as layer_norm? */
__attribute__((noinline)) void LayerNorm(int n) { (void)n; }

/* verify: is ropeHalfSplit meant as rope_half_split? */
void ropeHalfSplit(int n) { (void)n; }

/* Helpers that take something else, or are only declared. */
float my_softmax(float x);
float my_softmax(float x) { return x; }
float my_swiglu(float x) { return x; }
void batchnorm(int n);
static float glu(float x) { return x; }

/* verify: 0 of 8 cases pass */
void silu_derivative(int n, float *out, const float *x) { silu(n, out, x), out[0] = glu(my_softmax(my_swiglu(out[0]))); }
