/* The kernels of a training step in float32, all lanes at once, where the reference ones sum in
 * double; and the tables of them. */
#include "17_training/fast_training_kernels.h"
#include "12_speed/exponential.h"
#include "12_speed/fast_kernels.h"
#include "17_training/product.h"

#include <math.h>

/* ------------------------------------------------------------------ linear layers
 *
 * Forward and backward are three products, which differ in how their factors are laid out. */

static void multiply_forward(DType factors, int rows, int in, int out, float y[restrict rows][out],
                             const float x[rows][in], const float weight[out][in],
                             const float *bias) {
    Matrix inputs = {&x[0][0], (size_t)in, 1};
    Matrix transposed_weight = {&weight[0][0], 1, (size_t)in};
    matmul(factors, rows, out, in, false, y, inputs, transposed_weight);
    for (int r = 0; r < rows && bias; r++)
        for (int o = 0; o < out; o++) y[r][o] += bias[o];
}

static void multiply_backward(DType factors, int rows, int in, int out, float dx[restrict rows][in],
                              float dweight[restrict out][in], float *dbias,
                              const float dy[rows][out], const float x[rows][in],
                              const float weight[out][in]) {
    Matrix outputs = {&dy[0][0], (size_t)out, 1};
    Matrix transposed_outputs = {&dy[0][0], 1, (size_t)out};
    Matrix inputs = {&x[0][0], (size_t)in, 1};
    Matrix weights = {&weight[0][0], (size_t)in, 1};
    if (dx) matmul(factors, rows, in, out, true, dx, outputs, weights);
    if (dweight) matmul(factors, out, in, rows, true, dweight, transposed_outputs, inputs);
    if (dbias) bias_backward(rows, out, dbias, dy);
}

void fast_linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                 const float weight[out][in], const float *bias) {
    multiply_forward(F32, rows, in, out, y, x, weight, bias);
}

void fast_linear_backward(int rows, int in, int out, float dx[restrict rows][in],
                          float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                          const float x[rows][in], const float weight[out][in]) {
    multiply_backward(F32, rows, in, out, dx, dweight, dbias, dy, x, weight);
}

void bf16_linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                 const float weight[out][in], const float *bias) {
    multiply_forward(BF16, rows, in, out, y, x, weight, bias);
}

void bf16_linear_backward(int rows, int in, int out, float dx[restrict rows][in],
                          float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                          const float x[rows][in], const float weight[out][in]) {
    multiply_backward(BF16, rows, in, out, dx, dweight, dbias, dy, x, weight);
}

/* ------------------------------------------------------------------ SwiGLU */

/* sigmoid(|x|) = 1 / (1 + e^-|x|) and sigmoid(-|x|), e^-|x| times the first: no power overflows. */
typedef struct {
    Vector more, less;
} Sigmoids;

INLINE Sigmoids sigmoids_of(Vector x) {
    const VecU32 sign = (VecU32){0} + 0x80000000;
    Vector power = exp_negative((Vector)((VecU32)x | sign));
    Vector more = 1 / (1 + power);
    return (Sigmoids){more, power * more};
}

/* silu(x) = x s and its derivative s (1 + x (1 - s)), where s = sigmoid(x). The subtraction 1 - s
 * would round what is small, so sigmoid(-x) is taken. */
INLINE void add_step(Vector *dgate, Vector *dup, Vector dout, Vector gate, Vector up) {
    Sigmoids of = sigmoids_of(gate);
    VecU32 negative = (VecU32)(gate < 0);
    Vector open = blend(negative, of.less, of.more);
    Vector shut = blend(negative, of.more, of.less);
    *dgate += dout * up * (open * (1 + gate * shut));
    *dup += dout * (gate * open);
}

void fast_swiglu_backward(int n, float dgate[restrict n], float dup[restrict n],
                          const float dout[n], const float gate[n], const float up[n]) {
    int whole = n / LANES * LANES;
    for (int i = 0; i < whole; i += LANES)
        add_step((Vector *)&dgate[i], (Vector *)&dup[i], *(const Vector *)&dout[i],
                 *(const Vector *)&gate[i], *(const Vector *)&up[i]);
    for (int i = whole; i < n; i++) {
        Vector one_gate = {dgate[i]}, one_up = {dup[i]};
        add_step(&one_gate, &one_up, (Vector){dout[i]}, (Vector){gate[i]}, (Vector){up[i]});
        dgate[i] = one_gate[0];
        dup[i] = one_up[0];
    }
}

/* ------------------------------------------------------------------ cross entropy */

static float largest(int V, const float x[V]) {
    float most = -INFINITY;
#pragma omp simd reduction(max : most)
    for (int v = 0; v < V; v++) most = x[v] > most ? x[v] : most;
    return most;
}

/* The sum of e^(x - max), of which none overflows. A long sum is a sum of parts, because float32
 * rounds each addition to a large sum. */
static double sum_of_powers(int V, const float x[V], float max) {
    enum { PART = 64 * LANES };
    double sum = 0;
    for (int first = 0; first < V; first += PART) {
        int end = V - first < PART ? V : first + PART, v = first;
        Vector part = {0};
        for (; v + LANES <= end; v += LANES) part += exp_negative(*(const Vector *)&x[v] - max);
        sum += total(part);
        for (; v < end; v++) sum += exp_negative((Vector){x[v] - max})[0];
    }
    return sum;
}

/* log(sum of e^x) - x[target], where the first is max + log(sum of e^(x - max)). The two large
 * numbers meet first: added to max, the logarithm would lose what is small in it. */
static double row_loss(int V, const float x[V], int target) {
    float max = largest(V, x);
    return log(sum_of_powers(V, x, max)) + ((double)max - x[target]);
}

double fast_cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    return mean_row_loss(row_loss, rows, V, logits, targets);
}

/* dlogits += share e^(x - max) / sum. */
static void add_softmax(int V, float dlogits[restrict V], const float x[V], float max,
                        float share) {
    int v = 0;
    for (; v + LANES <= V; v += LANES)
        *(Vector *)&dlogits[v] += share * exp_negative(*(const Vector *)&x[v] - max);
    for (; v < V; v++) dlogits[v] += share * exp_negative((Vector){x[v] - max})[0];
}

static void row_loss_backward(int V, float dlogits[restrict V], const float x[V], int target,
                              double in_double) {
    float max = largest(V, x), share = (float)in_double;
    add_softmax(V, dlogits, x, max, (float)(share / sum_of_powers(V, x, max)));
    dlogits[target] -= share;
}

void fast_cross_entropy_backward(int rows, int V, float dlogits[restrict rows][V],
                                 const float logits[rows][V], const int targets[rows],
                                 float dloss) {
    mean_row_loss_backward(row_loss_backward, rows, V, dlogits, logits, targets, dloss);
}

/* ------------------------------------------------------------------ tables */

const TrainingKernels fast_training_kernels = {
    .linear = fast_linear,
    .linear_backward = fast_linear_backward,
    .rms_norm = fast_rms_norm,
    .swiglu = fast_swiglu,
    .swiglu_backward = fast_swiglu_backward,
    .flash_attention_lse = fast_flash_attention_lse,
    .flash_attention_backward = fast_flash_attention_backward,
    .cross_entropy = fast_cross_entropy,
    .cross_entropy_backward = fast_cross_entropy_backward,
};

const TrainingKernels bf16_training_kernels = {
    .linear = bf16_linear,
    .linear_backward = bf16_linear_backward,
    .rms_norm = fast_rms_norm,
    .swiglu = fast_swiglu,
    .swiglu_backward = fast_swiglu_backward,
    .flash_attention_lse = fast_flash_attention_lse,
    .flash_attention_backward = fast_flash_attention_backward,
    .cross_entropy = fast_cross_entropy,
    .cross_entropy_backward = fast_cross_entropy_backward,
};
