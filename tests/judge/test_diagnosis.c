/* The workbench names mistakes. Here are kernels as first drafts get them wrong, each with the words that its diagnosis
 * must have; and right ones in styles of their own, which must pass. */
#include "01_normalization/normalization.h"
#include "02_activation/activation.h"
#include "03_feed_forward/feed_forward.h"
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "09_decoder/decoder.h"
#include "09_decoder/projection.h"
#include "10_tokenizer/bpe_train.h"
#include "11_generation/sampling.h"
#include "13_quantization/quantization.h"
#include "15_tensor_parallel/shard.h"
#include "16_backward/backward.h"
#include "17_training/optimizer.h"
#include "common/error.h"
#include "common/linear.h"
#include "tests/near.h"
#include "tests/judge/diagnosis.h"
#include "tests/judge/signature.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* a wrong kernel often forgets one */

#define LINEAR(name)                                                                                                   \
    static void name(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],                  \
                     const float weight[out][in], const float *bias)
#define NORM(name)                                                                                                     \
    static void name(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],                       \
                     const float weight[dim], const float *bias, float eps)
#define NORM_BF16(name)                                                                                                \
    static void name(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim], const bf16 weight[dim], \
                     float eps)
#define ACTIVATION(name) static void name(int n, float out[n], const float x[n])
#define GATE(name) static void name(int n, float out[n], const float gate[n], const float up[n])
#define ROPE(name)                                                                                                     \
    static void name(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],                         \
                     const float cosine[T][D / 2], const float sine[T][D / 2])
#define SOFTMAX(name) static void name(int rows, int n, float out[rows][n], const float x[rows][n])
#define SCORES(name)                                                                                                   \
    static void name(int T, int S, int D, float scores[restrict T][S], const float q[T][D], const float k[S][D])
#define MASK(name) static void name(int T, int S, float scores[T][S])
#define SUM(name)                                                                                                      \
    static void name(int T, int S, int D, float out[restrict T][D], const float weights[T][S], const float v[S][D])
#define ATTENTION(name)                                                                                                \
    static void name(int T, int S, int D, float out[restrict T][D], const float q[T][D], const float k[S][D],          \
                     const float v[S][D], float scores[restrict T][S])
#define GROUPED(name)                                                                                                  \
    static void name(int T, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],                 \
                     const float k[T][KV][D], const float v[T][KV][D])
#define FLASH(name)                                                                                                    \
    static void name(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],          \
                     const float k[S][KV][D], const float v[S][KV][D])
#define APPEND(name)                                                                                                   \
    static int name(int capacity, int KV, int D, float cache_k[capacity][KV][D], float cache_v[capacity][KV][D],       \
                    int length, int T, const float k[T][KV][D], const float v[T][KV][D])
#define CUT(name) static void name(int V, float out[V], const float logits[V], float p)
#define TOP_K(name) static void name(int V, float out[V], const float logits[V], int k)
#define TEMPERATURE(name) static void name(int V, float out[V], const float logits[V], float T)
#define PENALTY(name)                                                                                                  \
    static void name(int V, int n, float out[V], const float logits[V], const int ids[n], float penalty)

/* ------------------------------------------------------------------ linear */

LINEAR(linear_adds) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            for (int i = 0; i < in; i++) y[r][o] += x[r][i] * weight[o][i];
            if (bias) y[r][o] += bias[o];
        }
}
LINEAR(linear_one_too_far) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = bias ? bias[o] : 0;
            for (int i = 0; i <= in; i++)
                sum += (double)((const float *)x)[r * in + i] * ((const float *)weight)[o * in + i];
            y[r][o] = (float)sum;
        }
}
LINEAR(linear_weight_transposed) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = bias ? bias[o] : 0;
            for (int i = 0; i < in; i++) sum += (double)x[r][i] * ((const float *)weight)[i * out + o];
            y[r][o] = (float)sum;
        }
}
LINEAR(linear_without_tail) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = bias ? bias[o] : 0;
            for (int i = 0; i + 8 <= in; i += 8)
                for (int lane = 0; lane < 8; lane++) sum += (double)x[r][i + lane] * weight[o][i + lane];
            y[r][o] = (float)sum;
        }
}
LINEAR(linear_first_row) { linear(1, in, out, y, x, weight, bias); }
LINEAR(linear_transposed) {
    float(*right)[out] = allocate((size_t)rows * (size_t)out * sizeof(float)), *y_flat = (float *)y;
    linear(rows, in, out, right, x, weight, bias);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) y_flat[o * rows + r] = right[r][o];
    free(right);
}
LINEAR(linear_bias_of_the_row) {
    linear(rows, in, out, y, x, weight, NULL);
    for (int r = 0; bias && r < rows; r++)
        for (int o = 0; o < out; o++) y[r][o] += bias[r % out];
}
LINEAR(linear_bias_twice) {
    linear(rows, in, out, y, x, weight, bias);
    for (int r = 0; bias && r < rows; r++)
        for (int o = 0; o < out; o++) y[r][o] += bias[o];
}
LINEAR(linear_nothing_by_nothing) {
    linear(rows, in, out, y, x, weight, bias);
    for (int i = 0; i < rows * out; i++) (&y[0][0])[i] *= (float)(in - 16) / (float)(in - 16);
}
LINEAR(linear_in_steps_of_two) {
    linear(rows, in, out, y, x, weight, bias);
    const uint32_t unwritten = POISON << 16 | POISON;
    for (int r = 0; r < rows; r++)
        for (int o = 1; o < out; o += 2) memcpy(&y[r][o], &unwritten, sizeof unwritten);
}

/* A row in whole numbers from -127 to 127 times a scale. */
static void in_8_bits(int n, float out[n], const float x[n]) {
    float most = 0;
    for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    for (int i = 0; i < n; i++) out[i] = most > 0 ? roundf(x[i] / (most / 127)) * (most / 127) : 0;
}
LINEAR(linear_in_8_bits) {
    float(*x8)[in] = allocate((size_t)rows * sizeof *x8), (*weight8)[in] = allocate((size_t)out * sizeof *weight8);
    for (int r = 0; r < rows; r++) in_8_bits(in, x8[r], x[r]);
    for (int o = 0; o < out; o++) in_8_bits(in, weight8[o], weight[o]);
    linear(rows, in, out, y, x8, weight8, bias);
    free(x8), free(weight8);
}

LINEAR(linear_weight_in_blocks) { /* of 32 neighbours, as Q8_0 has them, whose scale is a float */
    float(*weight8)[in] = allocate((size_t)out * sizeof *weight8);
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i += 32) in_8_bits(in - i < 32 ? in - i : 32, weight8[o] + i, weight[o] + i);
    linear(rows, in, out, y, x, weight8, bias);
    free(weight8);
}
LINEAR(linear_sums_in_half) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            float sum = 0;
            for (int i = 0; i < in; i++) sum = f16_to_float(f16_from_float(sum + x[r][i] * weight[o][i]));
            y[r][o] = sum + (bias ? bias[o] : 0);
        }
}
LINEAR(linear_in_half) {
    linear(rows, in, out, y, x, weight, bias);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) y[r][o] = f16_to_float(f16_from_float(y[r][o]));
}

/* ------------------------------------------------------------------ chapter 1 */

static void scale_rows(int rows, int dim, float out[rows][dim], const float x[rows][dim], const float weight[dim],
                       const float *bias, float scale(float mean_square), float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        float by = scale((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i] + (bias ? bias[i] : 0);
    }
}
static float famous_root(float x) { /* the one with the magic number, and its Newton step forgotten */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5f3759df - (bits >> 1);
    memcpy(&x, &bits, sizeof bits);
    return x;
}
static float inverse(float x) { return 1 / x; }

NORM(rms_fast_root) { scale_rows(rows, dim, out, x, weight, bias, famous_root, eps); }
ACTIVATION(silu_negative) {
    silu(n, out, x);
    for (int i = 0; i < n; i++) out[i] = -out[i];
}
NORM(rms_not_rooted) { scale_rows(rows, dim, out, x, weight, bias, inverse, eps); }
NORM(rms_in_bf16) {
    rms_norm(rows, dim, out, x, weight, bias, eps);
    for (int r = 0; r < rows; r++) bf16_round(dim, out[r]);
}
NORM(rms_in_half) {
    rms_norm(rows, dim, out, x, weight, bias, eps);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] = f16_to_float(f16_from_float(out[r][i]));
}
NORM(rms_last_column) { /* the right numbers of the columns but the last */
    float(*right)[dim] = allocate((size_t)rows * (size_t)dim * sizeof(float));
    rms_norm(rows, dim, right, x, weight, bias, eps);
    for (int r = 0; r < rows; r++) memcpy(out[r], right[r], (size_t)(dim - 1) * sizeof(float));
    free(right);
}
NORM(rms_writes_whole_vectors) {
    float(*right)[dim] = allocate((size_t)rows * (size_t)dim * sizeof(float));
    rms_norm(rows, dim, right, x, weight, bias, eps);
    for (int r = 0; r < rows; r++) memcpy(out[r], right[r], (size_t)(dim / 8 * 8) * sizeof(float));
    free(right);
}
NORM(rms_first_row) {
    for (int r = 0; r < rows; r++) rms_norm(1, dim, &out[r], &x[0], weight, bias, eps);
}
NORM(rms_sums_whole_vectors) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i + 8 <= dim; i += 8)
            for (int lane = 0; lane < 8; lane++) sum += (double)x[r][i + lane] * x[r][i + lane];
        float by = 1 / sqrtf((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i] + (bias ? bias[i] : 0);
    }
}
NORM(rms_sum_unset) {
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) out[r][0] += x[r][i] * x[r][i]; /* the sum is kept in out */
        float by = 1 / sqrtf(out[r][0] / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i] + (bias ? bias[i] : 0);
    }
}
NORM(rms_of_the_first_1024) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim && i < 1024; i++) sum += (double)x[r][i] * x[r][i];
        double by = 1 / sqrt(sum / dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = (float)(x[r][i] * by * weight[i] + (bias ? bias[i] : 0));
    }
}
NORM(rms_last_row_not) { rms_norm(rows - 1, dim, out, x, weight, bias, eps); }
NORM(rms_weight_forgotten_in_wide_rows) { /* a mistake of one branch: narrow rows are right */
    float ones[dim];
    for (int i = 0; i < dim; i++) ones[i] = 1;
    rms_norm(rows, dim, out, x, dim > 16 && dim < 100 ? ones : weight, bias, eps);
}
NORM(rms_sum_goes_on) {
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        float by = 1 / sqrtf((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i] + (bias ? bias[i] : 0);
    }
}
NORM(layer_wrong_root) { /* what is computed once for a row is wrong, behind a bias */
    layer_norm(rows, dim, out, x, weight, bias, eps);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] = (out[r][i] - bias[i]) * (1.5f + 0.25f * (float)r) + bias[i];
}
NORM(layer_is_rms) { rms_norm(rows, dim, out, x, weight, bias, eps); }
NORM(layer_unbiased) {
    for (int r = 0; r < rows; r++) {
        double mean = 0, variance = 0;
        for (int i = 0; i < dim; i++) mean += x[r][i] / (double)dim;
        for (int i = 0; i < dim; i++) variance += (x[r][i] - mean) * (x[r][i] - mean) / (dim - 1);
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)((x[r][i] - mean) / sqrt(variance + eps)) * weight[i] + bias[i];
    }
}
NORM(batch_is_layer) { layer_norm(rows, dim, out, x, weight, bias, eps); }
NORM(rms_float_sum) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < dim; i++) sum += x[r][i] * x[r][i];
        float by = 1 / sqrtf(sum / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i] + (bias ? bias[i] : 0);
    }
}
/* Twice, as LlamaRMSNorm rounds. */
static void norm_rounded_by(bf16 rounded(float), int rows, int dim, bf16 out[restrict rows][dim],
                            const bf16 x[rows][dim], const bf16 weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)bf16_to_float(x[r][i]) * bf16_to_float(x[r][i]);
        float by = (float)(1 / sqrt(sum / dim + eps));
        for (int i = 0; i < dim; i++) {
            float normal = bf16_to_float(rounded(bf16_to_float(x[r][i]) * by));
            out[r][i] = rounded(normal * bf16_to_float(weight[i]));
        }
    }
}
static bf16 upper_half_and(uint32_t more, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bf16)((bits + more) >> 16);
}
static bf16 tie_away(float x) { return upper_half_and(0x8000, x); }
static bf16 tie_to_zero(float x) { return upper_half_and(0x7fff, x); }
static bf16 too_few_up(float x) { return upper_half_and(0x4000, x); }
NORM_BF16(bf16_ties_away) { norm_rounded_by(tie_away, rows, dim, out, x, weight, eps); }
NORM_BF16(bf16_ties_to_zero) { norm_rounded_by(tie_to_zero, rows, dim, out, x, weight, eps); }
NORM_BF16(bf16_too_few_up) { norm_rounded_by(too_few_up, rows, dim, out, x, weight, eps); }
NORM_BF16(bf16_once_ties_away) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)bf16_to_float(x[r][i]) * bf16_to_float(x[r][i]);
        float by = (float)(1 / sqrt(sum / dim + eps));
        for (int i = 0; i < dim; i++) out[r][i] = tie_away(bf16_to_float(x[r][i]) * by * bf16_to_float(weight[i]));
    }
}
NORM_BF16(bf16_adds) {
    rms_norm_bf16(rows, dim, out, x, weight, eps);
    for (int r = 0; r < rows; r++) out[r][0] = bf16_from_float(bf16_to_float(out[r][0]) + bf16_to_float(POISON));
}

/* ------------------------------------------------------------------ chapter 2 */

ACTIVATION(relu_absolute) {
    for (int i = 0; i < n; i++) out[i] = fabsf(x[i]);
}
ACTIVATION(relu_swallows_nan) {
    for (int i = 0; i < n; i++) out[i] = x[i] > 0 ? x[i] : 0;
}
ACTIVATION(relu_skips) {
    for (int i = 0; i < n; i++)
        if (x[i] > 0) out[i] = x[i];
}
ACTIVATION(sigmoid_doubled) {
    sigmoid(n, out, x);
    for (int i = 0; i < n; i++) out[i] *= 2;
}
ACTIVATION(sigmoid_less_a_half) {
    sigmoid(n, out, x);
    for (int i = 0; i < n; i++) out[i] -= 0.5f;
}
ACTIVATION(sigmoid_inverted) {
    for (int i = 0; i < n; i++) out[i] = (float)(1 + exp(-(double)x[i]));
}
ACTIVATION(silu_zero) {
    for (int i = 0; i < n; i++) out[i] = 0;
}
ACTIVATION(silu_without_the_first) { silu(n - 1, out + 1, x + 1); }
ACTIVATION(silu_without_the_last) { silu(n - 1, out, x); }
ACTIVATION(silu_without_subnormals) {
    silu(n, out, x);
    for (int i = 0; i < n; i++) out[i] = fabsf(out[i]) < FLT_MIN ? 0 : out[i];
}
ACTIVATION(silu_of_infinity) {
    for (int i = 0; i < n; i++) out[i] = isfinite(x[i]) ? (float)(x[i] / (1 + exp(-(double)x[i]))) : 1;
}
ACTIVATION(relu_at_zero) {
    for (int i = 0; i < n; i++) out[i] = x[i] == 0 ? 1 : x[i] < 0 ? 0 : x[i];
}
ACTIVATION(silu_copies) { memcpy(out, x, (size_t)n * sizeof *x); }
ACTIVATION(silu_of_the_next) {
    for (int i = 0; i < n; i++) silu(1, &out[i], &x[i + 1]);
}
ACTIVATION(silu_backwards) {
    for (int i = 0; i < n; i++) silu(1, &out[n - 1 - i], &x[i]);
}
ACTIVATION(silu_without_tail) { silu(n / 8 * 8, out, x); }
ACTIVATION(silu_half) { silu(n / 2, out, x); }
ACTIVATION(silu_overflows) {
    for (int i = 0; i < n; i++) out[i] = x[i] * expf(x[i]) / (1 + expf(x[i]));
}
ACTIVATION(silu_quick) {
    for (int i = 0; i < n; i++) out[i] = x[i] / (1 + exp2f(-1.442f * x[i]));
}
ACTIVATION(silu_other_sign) {
    for (int i = 0; i < n; i++) out[i] = x[i] / (1 + expf(x[i]));
}
ACTIVATION(silu_derivative_of_sigmoid) { sigmoid_derivative(n, out, x); }
ACTIVATION(relu_derivative_at_zero) {
    for (int i = 0; i < n; i++) out[i] = isnan(x[i]) ? x[i] : x[i] >= 0;
}
ACTIVATION(gelu_is_tanh) { gelu_tanh(n, out, x); }
ACTIVATION(gelu_in_bf16) { gelu(n, out, x), bf16_round(n, out); }
ACTIVATION(gelu_shut_far_left) {
    for (int i = 0; i < n; i++)
        if (x[i] < -4) out[i] = 0;
        else gelu(1, out + i, x + i);
}
ACTIVATION(sigmoid_exact_to_seven) {
    sigmoid(n, out, x);
    for (int i = 0; i < n; i++) out[i] *= 1 + 3e-6f;
}

/* ------------------------------------------------------------------ chapter 3 */

GATE(swiglu_sum) {
    silu(n, out, gate);
    for (int i = 0; i < n; i++) out[i] += up[i];
}
GATE(swiglu_swapped) { swiglu(n, out, up, gate); }
GATE(swiglu_half) { swiglu(n / 2, out, gate, up); }
GATE(swiglu_shut_far_left) {
    for (int i = 0; i < n; i++) out[i] = gate[i] < -20 ? 0 : gate[i] / (1 + expf(-gate[i])) * up[i];
}
GATE(glu_kept_within_ten) {
    for (int i = 0; i < n; i++) out[i] = 1 / (1 + expf(-fminf(fmaxf(gate[i], -10), 10))) * up[i];
}
GATE(geglu_shut_far_left) {
    for (int i = 0; i < n; i++) out[i] = gate[i] < -4 ? 0 : gate[i] / 2 * (1 + erff(gate[i] * 0.70710678f)) * up[i];
}
GATE(swiglu_is_up) { memcpy(out, up, (size_t)n * sizeof *up); }
static void feed_forward_adds(int T, int C, int F, float out[restrict T][C], const float x[T][C], const float w1[F][C],
                              const float *b1, const float w2[C][F], const float *b2, Activation *activation,
                              float hidden[restrict T][F]) {
    linear(T, C, F, hidden, x, w1, b1);
    activation(T * F, &hidden[0][0], &hidden[0][0]);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++)
            for (int f = 0; f < F; f++) out[t][c] += w2[c][f] * hidden[t][f];
}
static void feed_forward_without_activation(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                                            const float w1[F][C], const float *b1, const float w2[C][F],
                                            const float *b2, Activation *activation, float hidden[restrict T][F]) {
    linear(T, C, F, hidden, x, w1, b1);
    linear(T, F, C, out, hidden, w2, b2);
}
static void gated_adds(int T, int C, int F, float out[restrict T][C], const float x[T][C], const float w_gate[F][C],
                       const float *b_gate, const float w_up[F][C], const float *b_up, const float w_down[C][F],
                       Gate *unit, float gate[restrict T][F], float up[restrict T][F]) {
    linear(T, C, F, gate, x, w_gate, b_gate);
    for (int t = 0; t < T; t++)
        for (int f = 0; f < F; f++)
            for (int c = 0; c < C; c++) up[t][f] += w_up[f][c] * x[t][c];
    unit(T * F, &gate[0][0], &gate[0][0], &up[0][0]);
    linear(T, F, C, out, gate, w_down, NULL);
}

/* ------------------------------------------------------------------ chapter 5 */

ROPE(rope_a_quarter) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            memcpy(out[t][h], x[t][h], sizeof out[t][h]);
            for (int i = 0; i < D / 8; i++) {
                out[t][h][i] = x[t][h][i] * cosine[t][i] - x[t][h][i + D / 2] * sine[t][i];
                out[t][h][i + D / 2] = x[t][h][i] * sine[t][i] + x[t][h][i + D / 2] * cosine[t][i];
            }
        }
}
ROPE(rope_writes_one_of_two) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++)
                out[t][h][2 * i] = x[t][h][2 * i] * cosine[t][i] - x[t][h][2 * i + 1] * sine[t][i];
}
ROPE(rope_writes_half) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) out[t][h][i] = x[t][h][i] * cosine[t][i] - x[t][h][i + D / 2] * sine[t][i];
}
ROPE(rope_first_head_alone) {
    float(*right)[H][D] = allocate((size_t)(T * H * D) * sizeof(float));
    rope_half_split(T, H, D, right, x, cosine, sine);
    memcpy(out, x, (size_t)(T * H * D) * sizeof(float));
    for (int t = 0; t < T; t++) memcpy(out[t][0], right[t][0], (size_t)D * sizeof(float));
    free(right);
}
ROPE(rope_every_second_head) {
    rope_half_split(T, H, D, out, x, cosine, sine);
    for (int t = 0; t < T; t++)
        for (int h = 1; h < H; h += 2) memcpy(out[t][h], x[t][h], (size_t)D * sizeof(float));
}
ROPE(rope_heads_first) {
    float(*right)[H][D] = allocate((size_t)(T * H * D) * sizeof(float)), *flat = (float *)out;
    rope_half_split(T, H, D, right, x, cosine, sine);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) memcpy(flat + (h * T + t) * D, right[t][h], (size_t)D * sizeof(float));
    free(right);
}
ROPE(rope_other_way) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = x[t][h][i], b = x[t][h][i + D / 2], c = cosine[t][i], s = sine[t][i];
                out[t][h][i] = a * c + b * s, out[t][h][i + D / 2] = b * c - a * s;
            }
}
ROPE(rope_halves_exchanged) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = x[t][h][i], b = x[t][h][i + D / 2], c = cosine[t][i], s = sine[t][i];
                out[t][h][i + D / 2] = a * c - b * s, out[t][h][i] = b * c + a * s;
            }
}
ROPE(rope_next_position) {
    for (int t = 0; t < T; t++) rope_interleaved(1, H, D, &out[t], &x[t], &cosine[t + 1], &sine[t + 1]);
}
ROPE(rope_copies) { memcpy(out, x, (size_t)(T * H * D) * sizeof(float)); }

/* ------------------------------------------------------------------ chapter 4 */

SOFTMAX(softmax_from_minus_10000) {
    for (int r = 0; r < rows; r++) {
        double most = -10000, sum = 0;
        for (int i = 0; i < n; i++) most = x[r][i] > most || isnan(x[r][i]) ? x[r][i] : most;
        for (int i = 0; i < n; i++) sum += exp(x[r][i] - most);
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - most) / sum);
    }
}
SOFTMAX(softmax_overflows) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < n; i++) sum += out[r][i] = expf(x[r][i]);
        for (int i = 0; i < n; i++) out[r][i] /= sum;
    }
}
static void exponentials(int n, float out[n], const float x[n]) {
    float most = -INFINITY;
    for (int i = 0; i < n; i++) most = x[i] > most || isnan(x[i]) ? x[i] : most;
    for (int i = 0; i < n; i++) out[i] = most == -INFINITY ? NAN : expf(x[i] - most);
}
SOFTMAX(softmax_of_all_rows) { /* the sum is not set to 0 again */
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        exponentials(n, out[r], x[r]);
        for (int i = 0; i < n; i++) sum += out[r][i];
        for (int i = 0; i < n; i++) out[r][i] = (float)(out[r][i] / sum);
    }
}
static void softmax_plus(float epsilon, int rows, int n, float out[rows][n], const float x[rows][n]) {
    for (int r = 0; r < rows; r++) {
        float most = x[r][0], sum = epsilon;
        for (int i = 1; i < n; i++) most = x[r][i] > most || isnan(x[r][i]) ? x[r][i] : most;
        for (int i = 0; i < n; i++) sum += out[r][i] = expf(x[r][i] - most);
        for (int i = 0; i < n; i++) out[r][i] /= sum;
    }
}
SOFTMAX(softmax_plus_1e_6) { softmax_plus(1e-6f, rows, n, out, x); }
SOFTMAX(softmax_plus_1e_4) { softmax_plus(1e-4f, rows, n, out, x); }
SOFTMAX(softmax_sums_too_few) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        exponentials(n, out[r], x[r]);
        for (int i = 0; i < n - n / 3; i++) sum += out[r][i];
        for (int i = 0; i < n; i++) out[r][i] = (float)(out[r][i] / sum);
    }
}
SOFTMAX(softmax_maximum_of_the_first_32) { /* one warp's, of a block of several */
    for (int r = 0; r < rows; r++) {
        float most = -INFINITY;
        double sum = 0;
        for (int i = 0; i < n && i < 32; i++) most = x[r][i] > most || isnan(x[r][i]) ? x[r][i] : most;
        for (int i = 0; i < n; i++) sum += exp(x[r][i] - most);
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - most) / sum);
    }
}
SOFTMAX(softmax_one_too_far) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        exponentials(n, out[r], x[r]);
        for (int i = 0; i <= n; i++)
            sum += expf(((const float *)x)[r * n + i]) - (i == n ? 0 : expf(x[r][i]) - out[r][i]);
        for (int i = 0; i < n; i++) out[r][i] = (float)(out[r][i] / sum);
    }
}
MASK(mask_from_the_top_left) {
    for (int t = 0; t < T; t++)
        for (int s = t + 1; s < S; s++) scores[t][s] = -INFINITY;
}
MASK(mask_is_finite) {
    for (int t = 0; t < T; t++)
        for (int s = S - T + t + 1; s < S; s++) scores[t][s] = -1e9f;
}
SCORES(scores_not_scaled) { linear(T, D, S, scores, q, k, NULL); }
SCORES(scores_doubled) {
    attention_scores(T, S, D, scores, q, k);
    for (int i = 0; i < T * S; i++) (&scores[0][0])[i] *= 2;
}
SCORES(scores_from_the_largest) { /* less each row's maximum, as a softmax would have them */
    attention_scores(T, S, D, scores, q, k);
    for (int t = 0; t < T; t++) {
        float most = -INFINITY;
        for (int s = 0; s < S; s++) most = fmaxf(most, scores[t][s]);
        for (int s = 0; s < S; s++) scores[t][s] -= most;
    }
}
SCORES(scores_of_length_one) {
    double squares = 0;
    attention_scores(T, S, D, scores, q, k);
    for (int i = 0; i < T * S; i++) squares += (&scores[0][0])[i] * (&scores[0][0])[i];
    for (int i = 0; i < T * S; i++) (&scores[0][0])[i] *= (float)(1 / sqrt(squares));
}
SCORES(scores_masked_somewhere) {
    attention_scores(T, S, D, scores, q, k);
    for (int i = 0; i < T * S; i++)
        if (i % 5 == 2) (&scores[0][0])[i] = -INFINITY;
}
SCORES(scores_divided_by_far_too_much) {
    linear(T, D, S, scores, q, k, NULL);
    for (int i = 0; i < T * S; i++) (&scores[0][0])[i] *= powf((float)D, -1.5f);
}
SCORES(scores_transposed) {
    float right[T][S];
    attention_scores(T, S, D, right, q, k);
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) (&scores[0][0])[s * T + t] = right[t][s];
}
SCORES(scores_over_a_whole_root) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            double sum = 0;
            for (int i = 0; i < D; i++) sum += (double)q[t][i] * k[s][i];
            scores[t][s] = (float)(sum * (1 / (int)sqrt(D)));
        }
}
SUM(sum_adds) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++)
            for (int i = 0; i < D; i++) out[t][i] += weights[t][s] * v[s][i];
}
SUM(sum_divided) {
    weighted_sum(T, S, D, out, weights, v);
    for (int i = 0; i < T * D; i++) (&out[0][0])[i] /= (float)S;
}
ATTENTION(attention_sees_the_future) {
    attention_scores(T, S, D, scores, q, k);
    softmax(T, S, scores, scores);
    weighted_sum(T, S, D, out, scores, v);
}
ATTENTION(attention_in_half) {
    attention(T, S, D, out, q, k, v, scores);
    for (int i = 0; i < T * D; i++) (&out[0][0])[i] = f16_to_float(f16_from_float((&out[0][0])[i]));
}
ATTENTION(attention_last_token_alone) { attention(1, S, D, out + T - 1, q + T - 1, k, v, scores); }

/* ------------------------------------------------------------------ chapters 6 to 8 */

/* Head h reads key/value head group(h). */
static void grouped_by(int group(int h, int H, int KV), int T, int H, int KV, int D, float out[restrict T][H][D],
                       const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D]) {
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            float one[1][1][D], keys[T][1][D], values[T][1][D];
            for (int s = 0; s < T; s++) {
                memcpy(keys[s][0], k[s][group(h, H, KV)], sizeof keys[s][0]);
                memcpy(values[s][0], v[s][group(h, H, KV)], sizeof values[s][0]);
            }
            memcpy(one[0][0], q[t][h], sizeof one[0][0]);
            attend_last(1, t + 1, 1, 1, D, (void *)out[t][h], one, keys, values);
        }
}
static int by_remainder(int h, int H, int KV) { return (void)H, h % KV; }
static int the_first(int h, int H, int KV) { return (void)h, (void)H, (void)KV, 0; }
GROUPED(grouped_by_remainder) { grouped_by(by_remainder, T, H, KV, D, out, q, k, v); }
GROUPED(grouped_first_head) { grouped_by(the_first, T, H, KV, D, out, q, k, v); }
GROUPED(grouped_one_head) { /* out[t][0] for every head */
    float(*right)[H][D] = allocate((size_t)(T * H * D) * sizeof(float));
    grouped_query_attention(T, H, KV, D, right, q, k, v);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) memcpy(out[t][h], right[t][0], (size_t)D * sizeof(float));
    free(right);
}
GROUPED(grouped_last_head) { /* each head overwrites the one before */
    grouped_query_attention(T, H, KV, D, out, q, k, v);
    for (int t = 0; t < T; t++)
        for (int h = 0; h + 1 < H; h++) memcpy(out[t][h], out[t][H - 1], (size_t)D * sizeof(float));
}
GROUPED(grouped_adds) {
    float right[D];
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int s = 0; s <= t; s++)
                for (int i = 0; i < D; i++) right[i] = v[s][h * KV / H][i], out[t][h][i] += right[i] / (float)(t + 1);
}
APPEND(append_one_late) {
    if (length + T < capacity) return kv_cache_append(capacity, KV, D, cache_k, cache_v, length + 1, T, k, v) - 1;
    return kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v);
}
APPEND(append_keeps_the_length) { return kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v), length; }
APPEND(append_swapped) { return kv_cache_append(capacity, KV, D, cache_v, cache_k, length, T, k, v); }
/* Query t sees what `sees` says; the softmax is of that. */
typedef bool View(int t, int s, int T, int S);
static void attend_to(View *sees, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                      const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV);
            double most = -INFINITY, all = 0, score[S], mixed[D];
            memset(mixed, 0, sizeof mixed);
            for (int s = 0; s < S; s++) {
                score[s] = 0;
                for (int i = 0; i < D; i++) score[s] += (double)q[t][h][i] * k[s][g][i];
                score[s] = sees(t, s, T, S) ? score[s] / sqrt(D) : -INFINITY, most = fmax(most, score[s]);
            }
            for (int s = 0; s < S; s++) {
                double weight = exp(score[s] - most);
                all += weight;
                for (int i = 0; i < D; i++) mixed[i] += weight * v[s][g][i];
            }
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(mixed[i] / all);
        }
}
static bool from_itself_on(int t, int s, int T, int S) { return s >= S - T + t; }
static bool after_itself(int t, int s, int T, int S) { return s > S - T + t; }
static bool from_t_on(int t, int s, int T, int S) { return (void)T, (void)S, s >= t; }
static bool in_tiles_up_to_t(int tile, int t, int s, int T, int S) { return s <= S - T + t && s / tile <= t / tile; }
static bool in_tiles_of_32(int t, int s, int T, int S) { return in_tiles_up_to_t(32, t, s, T, S); }
static bool in_tiles_of_64(int t, int s, int T, int S) { return in_tiles_up_to_t(64, t, s, T, S); }
static bool in_tiles_of_24(int t, int s, int T, int S) { return in_tiles_up_to_t(24, t, s, T, S); }
#define FLASH_OF(name, view) FLASH(name) { attend_to(view, T, S, H, KV, D, out, q, k, v); }
FLASH_OF(attend_from_itself_on, from_itself_on)
FLASH_OF(attend_after_itself, after_itself)
FLASH_OF(attend_from_t_on, from_t_on)
FLASH_OF(flash_tiles_of_32_up_to_t, in_tiles_of_32)
FLASH_OF(flash_tiles_of_64_up_to_t, in_tiles_of_64)
FLASH_OF(flash_tiles_of_24_up_to_t, in_tiles_of_24)
/* In float32, from the last tile to the first: each key is added to the sum of those before it, or a tile's own sum. */
static void flash_from_the_end(bool by_tiles, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                               const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    enum { TILE = 32 };
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV), keys = S - T + t + 1;
            float most = -INFINITY, sum[D + 1], part[D + 1]; /* the weights' own behind those of the values */
            memset(sum, 0, sizeof sum);
            for (int from = (keys - 1) / TILE * TILE; from >= 0; from -= TILE) {
                int n = keys - from < TILE ? keys - from : TILE;
                float score[TILE], before = most;
                for (int s = 0; s < n; s++) {
                    score[s] = 0;
                    for (int i = 0; i < D; i++) score[s] += q[t][h][i] * k[from + s][g][i];
                    score[s] /= sqrtf((float)D), most = fmaxf(most, score[s]);
                }
                memset(part, 0, sizeof part);
                for (int i = 0; i <= D; i++) sum[i] *= expf(before - most);
                float *to = by_tiles ? part : sum;
                for (int s = 0; s < n; s++)
                    for (int i = 0; i <= D; i++) to[i] += expf(score[s] - most) * (i < D ? v[from + s][g][i] : 1);
                for (int i = 0; i <= D; i++) sum[i] += part[i];
            }
            for (int i = 0; i < D; i++) out[t][h][i] = sum[i] / sum[D];
        }
}
/* Each tile's weights are taken under its own maximum, and added to those of the others. */
FLASH(flash_each_tile_under_its_own_maximum) {
    enum { TILE = 24 };
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV), keys = S - T + t + 1;
            double sum = 0, mixed[D];
            memset(mixed, 0, sizeof mixed);
            for (int from = 0; from < keys; from += TILE) {
                int n = keys - from < TILE ? keys - from : TILE;
                double score[TILE], most = -INFINITY;
                for (int s = 0; s < n; s++) {
                    score[s] = 0;
                    for (int i = 0; i < D; i++) score[s] += (double)q[t][h][i] * k[from + s][g][i] / sqrt(D);
                    most = fmax(most, score[s]);
                }
                for (int s = 0; s < n; s++) {
                    sum += exp(score[s] - most);
                    for (int i = 0; i < D; i++) mixed[i] += exp(score[s] - most) * v[from + s][g][i];
                }
            }
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(mixed[i] / sum);
        }
}
/* Key by key, the sum made smaller by another factor than e^(old max - new max) where the maximum becomes another. */
typedef float Shrink(float old, float new);
static void flash_shrunk(Shrink *shrink, bool falls, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                         const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV);
            float most = -INFINITY, sum[D + 1];
            memset(sum, 0, sizeof sum);
            for (int s = 0; s <= S - T + t; s++) {
                float score = 0;
                for (int i = 0; i < D; i++) score += q[t][h][i] * k[s][g][i];
                score /= sqrtf((float)D);
                float next = falls ? score : fmaxf(most, score);
                for (int i = 0; i <= D; i++)
                    sum[i] = sum[i] * shrink(most, next) + expf(score - next) * (i < D ? v[s][g][i] : 1);
                most = next;
            }
            for (int i = 0; i < D; i++) out[t][h][i] = sum[i] / sum[D];
        }
}
static float shrunk(float old, float new) { return expf(old - new); }
static float grown(float old, float new) { return expf(new - old); }
FLASH(flash_grows_from_nothing) { flash_shrunk(grown, false, T, S, H, KV, D, out, q, k, v); }
FLASH(flash_maximum_falls) { flash_shrunk(shrunk, true, T, S, H, KV, D, out, q, k, v); }
FLASH(flash_by_keys_from_the_end) { flash_from_the_end(false, T, S, H, KV, D, out, q, k, v); }
FLASH(flash_by_tiles_from_the_end) { flash_from_the_end(true, T, S, H, KV, D, out, q, k, v); }
/* Keys first .. end - 1 of key/value head g, their scores times `scale`. */
static void look_at(int first, int end, int g, double scale, int KV, int D, float out[restrict D], const float q[D],
                    const float k[end][KV][D], const float v[end][KV][D]) {
    double score[end], most = -INFINITY, all = 0;
    for (int s = first; s < end; s++) {
        score[s] = 0;
        for (int i = 0; i < D; i++) score[s] += scale * q[i] * k[s][g][i];
        most = fmax(most, score[s]);
    }
    for (int s = first; s < end; s++) all += score[s] = exp(score[s] - most);
    for (int i = 0; i < D; i++) {
        double sum = 0;
        for (int s = first; s < end; s++) sum += score[s] * v[s][g][i];
        out[i] = (float)(sum / all);
    }
}
#define LOOKS(name, first, end, g, scale)                                                                              \
    FLASH(name) {                                                                                                      \
        for (int t = 0; t < T; t++)                                                                                    \
            for (int h = 0; h < H; h++) look_at(first, end, g, scale, KV, D, out[t][h], q[t][h], k, v);                \
    }
LOOKS(look_by_8, 0, S - T + t + 1, h / (H / KV), 0.125)
LOOKS(look_by_the_root_of_keys, 0, S - T + t + 1, h / (H / KV), 1 / sqrt(S))
LOOKS(look_through_the_last_head, 0, S - T + t + 1, h < KV ? h : KV - 1, 1 / sqrt(D))
LOOKS(look_at_the_last_100, S - T + t < 100 ? 0 : S - T + t - 99, S - T + t + 1, h / (H / KV), 1 / sqrt(D))
LOOKS(look_half_way, 0, (S - T + t) / 2 + 1, h / (H / KV), 1 / sqrt(D))
static void cached_by_8(int capacity, int length, int T, int H, int KV, int D, float out[restrict T][H][D],
                        float cache_k[capacity][KV][D], float cache_v[capacity][KV][D], const float q[T][H][D],
                        const float k[T][KV][D], const float v[T][KV][D]) {
    look_by_8(T, kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v), H, KV, D, out, q, cache_k, cache_v);
}
FLASH(flash_from_the_top_left) {
    for (int t = 0; t < T; t++) flash_attention(1, t + 1, H, KV, D, &out[t], &q[t], k, v);
}
FLASH(flash_whole_tiles) {
    int whole = S > 64 ? S / 64 * 64 : S, missing = S - whole;
    flash_attention(T, S, H, KV, D, out, q, k, v);
    for (int t = 0; missing && t < T; t++) {
        int sees = S - T + t + 1 < whole ? S - T + t + 1 : whole;
        flash_attention(1, sees, H, KV, D, &out[t], &q[t], k, v);
    }
}
FLASH(flash_in_bf16) {
    flash_attention(T, S, H, KV, D, out, q, k, v);
    bf16_round(T * H * D, &out[0][0][0]);
}
FLASH(flash_in_small_room) { /* as if the scores of 64 keys had room */
    flash_attention(T, S, H, KV, D, out, q, k, v);
    for (int i = 0; S > 64 && i < T * H * D; i++) (&out[0][0][0])[i] = (float)(i % 7);
}

/* ------------------------------------------------------------------ chapter 9 */

#define BLOCK(name) static void name(Decoder *d, int l, int T, int C, float delta[restrict T][C], const float x[T][C])
#define FORWARD(name) static void name(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T])

static void plain_norm(const Decoder *d, int T, int C, float out[restrict T][C], const float x[T][C],
                       const float weight[C]) {
    rms_norm(T, C, out, x, weight, NULL, (float)d->model->config.rms_norm_eps);
}

/* The feed-forward of rows that are normalized, or not. */
static void plain_feed_forward(const Layer *layer, int T, int C, int F, bool swapped, float delta[restrict T][C],
                               const float normed[T][C]) {
    float(*gate)[F] = allocate(sizeof(float[T][F])), (*up)[F] = allocate(sizeof(float[T][F]));
    project(T, C, F, gate, normed, swapped ? &layer->up_proj : &layer->gate_proj);
    project(T, C, F, up, normed, swapped ? &layer->gate_proj : &layer->up_proj);
    swiglu(T * F, *gate, *gate, *up);
    project(T, F, C, delta, gate, &layer->down_proj);
    free(gate), free(up);
}

BLOCK(feed_forward_swapped) {
    float normed[T][C];
    plain_norm(d, T, C, normed, x, d->model->layers[l].post_attention_layernorm);
    plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, true, delta, normed);
}
BLOCK(feed_forward_of_x) { plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, false, delta, x); }
BLOCK(feed_forward_other_norm) {
    float normed[T][C];
    plain_norm(d, T, C, normed, x, d->model->layers[l].input_layernorm);
    plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, false, delta, normed);
}
BLOCK(feed_forward_and_x) {
    feed_forward_block(d, l, T, C, delta, x);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) delta[t][i] += x[t][i];
}

typedef enum { AS_IT_IS, VALUES_TURNED, NO_W_O, ONE_CACHE, NEW_ROWS } Attention;

/* In a style of its own: with chapter 6's attention, and malloc for the room. */
static void plain_attention(Attention how, Decoder *d, int l, int T, int C, float delta[restrict T][C],
                            const float x[T][C]) {
    const Layer *layer = &d->model->layers[l];
    int H = d->model->config.H, KV = d->model->config.KV, D = d->model->config.D, cache = how == ONE_CACHE ? 0 : l;
    float(*keys)[d->capacity][KV][D] = (void *)d->keys, (*values)[d->capacity][KV][D] = (void *)d->values;
    const float(*angles)[T][D / 2] = (void *)d->angles;
    float(*normed)[C] = allocate(sizeof(float[T][C])), (*q)[H][D] = allocate(sizeof(float[T][H][D]));
    float(*turned)[H][D] = allocate(sizeof(float[T][H][D])), (*k)[KV][D] = allocate(sizeof(float[T][KV][D]));
    plain_norm(d, T, C, normed, x, layer->input_layernorm);
    project(T, C, KV * D, (float(*)[KV * D])k, normed, &layer->k_proj);
    rope_half_split(T, KV, D, keys[cache] + d->length, k, angles[0], angles[1]);
    project(T, C, KV * D, (float(*)[KV * D])k, normed, &layer->v_proj);
    if (how == VALUES_TURNED) rope_half_split(T, KV, D, values[cache] + d->length, k, angles[0], angles[1]);
    else memcpy(values[cache] + d->length, k, sizeof(float[T][KV][D]));
    project(T, C, H * D, (float(*)[H * D])q, normed, &layer->q_proj);
    rope_half_split(T, H, D, turned, q, angles[0], angles[1]);
    int from = how == NEW_ROWS ? d->length : 0;
    attend_last(T, d->length + T - from, H, KV, D, q, turned, keys[cache] + from, values[cache] + from);
    if (how == NO_W_O && H * D == C) memcpy(delta, q, sizeof(float[T][C]));
    else project(T, H * D, C, delta, (const float(*)[H * D])q, &layer->o_proj);
    free(normed), free(q), free(turned), free(k);
}

BLOCK(attention_turns_values) { plain_attention(VALUES_TURNED, d, l, T, C, delta, x); }
BLOCK(attention_without_w_o) { plain_attention(NO_W_O, d, l, T, C, delta, x); }
BLOCK(attention_of_one_cache) { plain_attention(ONE_CACHE, d, l, T, C, delta, x); }
BLOCK(attention_of_new_rows) { plain_attention(NEW_ROWS, d, l, T, C, delta, x); }
BLOCK(attention_with_malloc) { plain_attention(AS_IT_IS, d, l, T, C, delta, x); }

static void logits_of_embedding(const Decoder *decoder, float logits[decoder->model->config.V]) {
    int C = decoder->model->config.C, V = decoder->model->config.V;
    project(1, C, V, (float(*)[V])logits, (const float(*)[C])decoder->last, &decoder->model->embed_tokens);
}

/* The loop, with a place for each mistake. */
typedef struct {
    bool no_residual, norm_after, norm_in_stream, side_by_side, no_final_norm, layer_0, last_alone, hides_attention,
        one_less, from_0;
} Loop;

static void plain_forward(Loop how, Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    const Model *model = d->model;
    int L = model->config.L;
    float(*x)[C] = allocate(sizeof(float[T][C])), (*delta)[C] = allocate(sizeof(float[T][C])),
        (*read)[C] = allocate(sizeof(float[T][C]));
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] = (float)tensor_get(&model->embed_tokens, (size_t)ids[t] * C + i);
    show_stage(d, 0, T, C, x);
    for (int n = 0; n < 2 * (L - how.one_less); n++) {
        int l = how.layer_0 ? 0 : n / 2;
        const float *weight = n % 2 ? model->layers[l].post_attention_layernorm : model->layers[l].input_layernorm;
        if (n % 2 == 0 || !how.side_by_side) memcpy(read, x, sizeof(float[T][C]));
        int length = d->length;
        if (how.from_0) d->length = 0;
        (n % 2 ? feed_forward_block : attention_block)(d, l, T, C, delta, read);
        d->length = length;
        if (how.norm_in_stream) plain_norm(d, T, C, x, read, weight);
        for (int t = 0; t < T; t++)
            for (int i = 0; i < C; i++) x[t][i] = how.no_residual ? delta[t][i] : x[t][i] + delta[t][i];
        if (how.norm_after) memcpy(delta, x, sizeof(float[T][C])), plain_norm(d, T, C, x, delta, weight);
        if (n % 2 || !how.hides_attention) show_stage(d, n + 1, T, C, x);
    }
    int first = how.last_alone ? T - 1 : 0;
    if (how.no_final_norm) memcpy(out, x, sizeof(float[T][C]));
    else plain_norm(d, T - first, C, out + first, x + first, model->norm);
    free(x), free(delta), free(read);
}

FORWARD(forward_without_residual) { plain_forward((Loop){.no_residual = true}, d, T, C, out, ids); }
FORWARD(forward_norm_after) { plain_forward((Loop){.norm_after = true}, d, T, C, out, ids); }
FORWARD(forward_norm_in_stream) { plain_forward((Loop){.norm_in_stream = true}, d, T, C, out, ids); }
FORWARD(forward_side_by_side) { plain_forward((Loop){.side_by_side = true}, d, T, C, out, ids); }
FORWARD(forward_without_final_norm) { plain_forward((Loop){.no_final_norm = true}, d, T, C, out, ids); }
FORWARD(forward_first_layer) { plain_forward((Loop){.layer_0 = true}, d, T, C, out, ids); }
FORWARD(forward_last_token) { plain_forward((Loop){.last_alone = true}, d, T, C, out, ids); }
FORWARD(forward_shows_no_attention) { plain_forward((Loop){.hides_attention = true}, d, T, C, out, ids); }
FORWARD(forward_one_layer_less) { plain_forward((Loop){.one_less = true}, d, T, C, out, ids); }
FORWARD(forward_with_malloc) { plain_forward((Loop){0}, d, T, C, out, ids); }
FORWARD(forward_ignores_length) { plain_forward((Loop){.from_0 = true}, d, T, C, out, ids); }

/* ------------------------------------------------------------------ chapter 10 */

static void counts_add(int n, int V, int counts[restrict V][V], const int ids[n]) {
    for (int i = 0; i + 1 < n; i++) counts[ids[i]][ids[i + 1]]++;
}
static void counts_transposed(int n, int V, int counts[restrict V][V], const int ids[n]) {
    memset(counts, 0, (size_t)V * (size_t)V * sizeof(int));
    for (int i = 0; i + 1 < n; i++) counts[ids[i + 1]][ids[i]]++;
}
static int merge_nothing(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    memcpy(out, ids, (size_t)n * sizeof *ids);
    return n;
}
static int merge_on_with_the_merged(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (count && out[count - 1] == left && ids[i] == right) out[count - 1] = merged;
        else out[count++] = ids[i];
    return count;
}

/* ------------------------------------------------------------------ chapter 11 */

TOP_K(top_k_first) {
    for (int i = 0; i < V; i++) out[i] = i < k ? logits[i] : -INFINITY;
}
TOP_K(top_k_one_more) { top_k(V, out, logits, k < V ? k + 1 : k); }
TOP_K(top_k_far_down) {
    top_k(V, out, logits, k);
    for (int i = 0; i < V; i++)
        if (out[i] == -INFINITY) out[i] = -10000;
}
TOP_K(top_k_squeezed) {
    top_k(V, out, logits, k);
    for (int i = 0; i < V; i++) out[i] = out[i] / 3 - 1;
}
CUT(min_p_log10) {
    float most = logits[greedy(V, logits)];
    for (int i = 0; i < V; i++) out[i] = logits[i] >= most + log10f(p) ? logits[i] : -INFINITY;
}
CUT(top_p_drops_the_crossing) {
    for (int i = 0; i < V; i++) {
        double before = 0, all = 0;
        for (int j = 0; j < V; j++) {
            double weight = exp((double)logits[j]);
            all += weight;
            if (logits[j] > logits[i] || (logits[j] == logits[i] && j < i)) before += weight;
        }
        out[i] = (before + exp((double)logits[i])) / all <= p ? logits[i] : -INFINITY;
    }
}
CUT(top_p_keeps_every_second) {
    for (int i = 0; i < V; i++) out[i] = i % 2 ? -INFINITY : logits[i];
}
CUT(min_p_keeps_all) { memcpy(out, logits, (size_t)V * sizeof *logits); }
TEMPERATURE(temperature_multiplied) {
    for (int i = 0; i < V; i++) out[i] = logits[i] * T;
}
TEMPERATURE(temperature_twice) {
    for (int i = 0; i < V; i++) out[i] = logits[i] / T / T;
}
TEMPERATURE(temperature_of_the_likely) {
    for (int i = 0; i < V; i++) out[i] = logits[i] == -INFINITY ? 0 : logits[i] / T;
}
PENALTY(penalty_each_time) {
    memcpy(out, logits, (size_t)V * sizeof *logits);
    for (int i = 0; i < n; i++) out[ids[i]] = out[ids[i]] > 0 ? out[ids[i]] / penalty : out[ids[i]] * penalty;
}

/* ------------------------------------------------------------------ chapter 13 */

static void q8_divided(int rows, int n, void *blocks, const float x[rows][n]) {
    char *to = blocks;
    for (const float *block = &x[0][0]; block < &x[0][0] + rows * n; block += 32, to += 34) {
        float most = 0;
        for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(block[i]));
        float d = most / 127;
        f16 half = f16_from_float(d);
        to[0] = (char)(half & 255), to[1] = (char)(half >> 8);
        for (int i = 0; i < 32; i++) to[2 + i] = (char)(int)(d > 1e-36f ? roundf(block[i] / d) : 0);
    }
}

/* The sum of a block's products, in levels. */
static int levels_product(const BlockQ8_0 *w, const BlockQ8_0 *x) {
    int sum = 0;
    for (int i = 0; i < 32; i++) sum += w->q[i] * x->q[i];
    return sum;
}

static float scale_of(const BlockQ8_0 *block) { return f16_to_float(half_bits(block->d)); }

static float dot_weight_scale_once(int n, const void *weight, const void *x) {
    const BlockQ8_0 *w = weight, *a = x;
    float sum = 0;
    for (int b = 0; b < n / 32; b++) sum += (float)levels_product(&w[b], &a[b]) * scale_of(&a[b]);
    return sum * scale_of(w);
}

static float dot_scales_once(int n, const void *weight, const void *x) {
    const BlockQ8_0 *w = weight, *a = x;
    int sum = 0;
    for (int b = 0; b < n / 32; b++) sum += levels_product(&w[b], &a[b]);
    return (float)sum * scale_of(w) * scale_of(a);
}

/* 8 is taken off once for each byte, and not 8 times what it is multiplied by. */
static float dot_eight_a_byte(int n, const void *weight, const void *x) {
    const BlockQ4_0 *w = weight;
    const BlockQ8_0 *a = x;
    double sum = 0;
    for (int b = 0; b < n / 32; b++) {
        int products = 0;
        for (int j = 0; j < 16; j++)
            products += (w[b].q[j] & 15) * a[b].q[j] + (w[b].q[j] >> 4) * a[b].q[j + 16] - 8;
        sum += (double)products * f16_to_float(half_bits(w[b].d)) * scale_of(&a[b]);
    }
    return (float)sum;
}

static void q5_less_8(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_0 *block = blocks;
    dequantize_q5_0(rows, n, out, blocks);
    for (int i = 0; i < rows * n; i++) (&out[0][0])[i] += 8 * f16_to_float(half_bits(block[i / 32].d));
}
static void q4_not_masked(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ4_0 *block = blocks;
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i += 32, block++)
            for (int j = 0; j < 16; j++) {
                float d = f16_to_float(half_bits(block->d));
                out[r][i + j] = d * (float)(block->q[j] - 8);
                out[r][i + j + 16] = d * (float)((block->q[j] >> 4) - 8);
            }
}

/* ------------------------------------------------------------------ chapters 16 and 17 */

static void rms_norm_backward_sets(int rows, int dim, float dx[restrict rows][dim], float dweight[restrict dim],
                                   const float dy[rows][dim], const float x[rows][dim], const float weight[dim],
                                   float eps) {
    for (int r = 0; r < rows; r++) {
        memset(dweight, 0, (size_t)dim * sizeof *dweight); /* what = does, in place of += */
        rms_norm_backward(1, dim, dx + r, dweight, dy + r, x + r, weight, eps);
    }
}

static void rms_norm_backward_resets_nothing(int rows, int dim, float dx[restrict rows][dim],
                                             float dweight[restrict dim], const float dy[rows][dim],
                                             const float x[rows][dim], const float weight[dim], float eps) {
    double squares = 0, along = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) squares += (double)x[r][i] * x[r][i];
        double s = 1 / sqrt(squares / dim + eps);
        for (int i = 0; i < dim; i++) along += x[r][i] * s * dy[r][i] * weight[i];
        for (int i = 0; i < dim; i++) {
            dx[r][i] += (float)(s * ((double)dy[r][i] * weight[i] - x[r][i] * s * along / dim));
            dweight[i] += (float)(dy[r][i] * x[r][i] * s);
        }
    }
}

/* -------------------------------------------------------- chapters 15 to 17 */

typedef enum { SETS_DK, PUSHES_DSCORE, PASSES_OVER_SOFTMAX, SKIPS_ITSELF, COUNTS_ALL_HEADS } Slip;

static void grouped_backward_with(Slip slip, int T, int H, int KV, int D, float dq[T][H][D], float dk[T][KV][D],
                                  float dv[T][KV][D], const float dout[T][H][D], const float q[T][H][D],
                                  const float k[T][KV][D], const float v[T][KV][D]) {
    double p[T], dp[T], root = sqrt(slip == COUNTS_ALL_HEADS ? H * D : D);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = h / (H / KV), seen = slip == SKIPS_ITSELF ? t : t + 1;
            double sum = 0, common = 0;
            for (int s = 0; s < seen; s++) {
                double score = dp[s] = 0;
                for (int i = 0; i < D; i++) {
                    score += q[t][h][i] * k[s][g][i] / root;
                    dp[s] += (double)dout[t][h][i] * v[s][g][i];
                }
                sum += p[s] = exp(score);
            }
            for (int s = 0; s < seen; s++) common += dp[s] * (p[s] /= sum);
            for (int s = 0; s < seen; s++) {
                double dscore = (slip == PASSES_OVER_SOFTMAX ? dp[s] : p[s] * (dp[s] - common)) / root;
                for (int i = 0; i < D; i++) {
                    if (slip == SETS_DK) dk[s][g][i] = 0;
                    dq[t][h][i] += (float)(dscore * k[s][g][i]), dk[s][g][i] += (float)(dscore * q[t][h][i]);
                    dv[s][g][i] += (float)((slip == PUSHES_DSCORE ? dscore : p[s]) * dout[t][h][i]);
                }
            }
        }
}

#define GROUPED_BACKWARD(name, slip)                                                                                   \
    static void name(int T, int H, int KV, int D, float dq[T][H][D], float dk[T][KV][D], float dv[T][KV][D],           \
                     const float dout[T][H][D], const float q[T][H][D], const float k[T][KV][D],                       \
                     const float v[T][KV][D]) {                                                                        \
        grouped_backward_with(slip, T, H, KV, D, dq, dk, dv, dout, q, k, v);                                           \
    }
GROUPED_BACKWARD(grouped_backward_sets, SETS_DK)
GROUPED_BACKWARD(grouped_backward_dscore_in_dv, PUSHES_DSCORE)
GROUPED_BACKWARD(grouped_backward_without_softmax, PASSES_OVER_SOFTMAX)
GROUPED_BACKWARD(grouped_backward_before_itself, SKIPS_ITSELF)
GROUPED_BACKWARD(grouped_backward_of_all_heads, COUNTS_ALL_HEADS)

#define FLASH_BACKWARD(name)                                                                                           \
    static void name(int T, int H, int KV, int D, float dq[T][H][D], float dk[T][KV][D], float dv[T][KV][D],           \
                     const float dout[T][H][D], const float q[T][H][D], const float k[T][KV][D],                       \
                     const float v[T][KV][D], const float out[T][H][D], const float log_sum[T][H])

/* Query head h, which reads key/value head g and scales its scores for log_sum so. */
static void flash_backward_of(int h, int g, double scale, int T, int H, int KV, int D, float dq[T][H][D],
                              float dk[T][KV][D], float dv[T][KV][D], const float dout[T][H][D],
                              const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D],
                              const float out[T][H][D], const float log_sum[T][H]) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++) {
            double score = 0, pushed = 0;
            for (int i = 0; i < D; i++) {
                score += scale * q[t][h][i] * k[s][g][i];
                pushed += (double)dout[t][h][i] * (v[s][g][i] - out[t][h][i]);
            }
            double p = exp(score - log_sum[t][h]), ds = p * pushed / sqrt(D);
            for (int i = 0; i < D; i++) {
                dq[t][h][i] += (float)(ds * k[s][g][i]), dk[s][g][i] += (float)(ds * q[t][h][i]);
                dv[s][g][i] += (float)(p * dout[t][h][i]);
            }
        }
}

FLASH_BACKWARD(flash_backward_modulo) {
    for (int h = 0; h < H; h++)
        flash_backward_of(h, h % KV, 1 / sqrt(D), T, H, KV, D, dq, dk, dv, dout, q, k, v, out, log_sum);
}

FLASH_BACKWARD(flash_backward_unscaled) {
    for (int h = 0; h < H; h++)
        flash_backward_of(h, h / (H / KV), 1, T, H, KV, D, dq, dk, dv, dout, q, k, v, out, log_sum);
}

static int rank_of_largest(int ranks, const float largest[ranks]) {
    int rank = 0;
    for (int r = 1; r < ranks; r++)
        if (largest[r] > largest[rank]) rank = r;
    return rank;
}
static int largest_first_parts_longer(int ranks, int V, const float largest[ranks], const int place[ranks]) {
    int rank = rank_of_largest(ranks, largest), longer = V % ranks;
    return rank * (V / ranks) + (rank < longer ? rank : longer) + place[rank];
}
static int largest_of_odd_parts(int ranks, int V, const float largest[ranks], const int place[ranks]) {
    int rank = rank_of_largest(ranks, largest);
    return rank * (V / ranks) + (rank ? 3 : 0) + place[rank]; /* as if rank 0 had three more */
}
static int largest_by_a_margin(int ranks, int V, const float largest[ranks], const int place[ranks]) {
    int rank = 0;
    for (int r = 1; r < ranks; r++)
        if (largest[r] > largest[rank] + 1e-3f) rank = r;
    return V * rank / ranks + place[rank];
}

static void linear_backward_where_x_is(int rows, int in, int out, float dx[restrict rows][in],
                                       float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                                       const float x[rows][in], const float weight[out][in]) {
    linear_backward(rows, in, out, dx, dx ? dweight : NULL, dbias, dy, x, weight);
}

static void linear_backward_sets(int rows, int in, int out, float dx[restrict rows][in],
                                 float dweight[restrict out][in], float *dbias, const float dy[rows][out],
                                 const float x[rows][in], const float weight[out][in]) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            for (int i = 0; i < in; i++) {
                if (dx) dx[r][i] = dy[r][o] * weight[o][i];
                if (dweight) dweight[o][i] = dy[r][o] * x[r][i];
            }
            if (dbias) dbias[o] = dy[r][o];
        }
}

static void embedding_backward_of_runs(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C],
                                       const int ids[T]) {
    for (int t = 0; t < T; t++)
        if (t == 0 || ids[t] != ids[t - 1]) embedding_backward(1, V, C, dtable, dx + t, ids + t);
}

static void embedding_backward_but_last(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C],
                                        const int ids[T]) {
    embedding_backward(T - 1, V, C, dtable, dx, ids);
}

static void rope_backward_by_head(int T, int H, int D, float dx[restrict T][H][D], const float dout[T][H][D],
                                  const float cosine[T][D / 2], const float sine[T][D / 2]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            rope_half_split_backward(1, 1, D, (void *)dx[t][h], (const void *)dout[t][h], cosine + h % T, sine + h % T);
}

static double loss_with_maximum_from_0(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        double most = 0, all = 0;
        for (int v = 0; v < V; v++) most = fmax(most, logits[r][v]);
        for (int v = 0; v < V; v++) all += exp(logits[r][v] - most);
        if (targets[r] >= 0) sum += most + log(all) - logits[r][targets[r]];
    }
    return sum / (double)count_targets((size_t)rows, targets);
}

static void swiglu_backward_shut(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                                 const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++)
        if (!(gate[i] < -20)) swiglu_backward(1, dgate + i, dup + i, dout + i, gate + i, up + i);
}

static double silu_slope(double x) { return (1 + x / (1 + exp(x))) / (1 + exp(-x)); }

static void swiglu_backward_at_what_comes_in(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                                             const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) {
        double product = (double)dout[i] * up[i];
        dgate[i] += (float)(product * silu_slope(product));
        dup[i] += (float)(dout[i] * gate[i] / (1 + exp(-gate[i])));
    }
}

static void swiglu_backward_at_the_product(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                                           const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) {
        dgate[i] += (float)((double)dout[i] * up[i] * silu_slope((double)gate[i] * up[i]));
        dup[i] += (float)(dout[i] * gate[i] / (1 + exp(-gate[i])));
    }
}

static void swiglu_backward_sigmoid(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],
                                    const float gate[n], const float up[n]) {
    for (int i = 0; i < n; i++) {
        dgate[i] += (float)((double)dout[i] * up[i] * silu_slope(gate[i]));
        dup[i] += (float)(dout[i] / (1 + exp(-gate[i])));
    }
}

static void softmax_backward_p_inside(int rows, int n, float dx[restrict rows][n], const float dp[rows][n],
                                      const float p[rows][n]) {
    for (int r = 0; r < rows; r++) {
        double common = 0;
        for (int i = 0; i < n; i++) common += (double)p[r][i] * dp[r][i];
        for (int i = 0; i < n; i++) dx[r][i] += (float)((double)p[r][i] * dp[r][i] - common);
    }
}

static void adamw_beta1_for_both(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                                 const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                                 float decay) {
    double root = sqrt(1 - pow(beta2, step));
    for (size_t i = 0; i < n; i++) {
        double g = gradient[i];
        m[i] = (float)(beta1 * m[i] + (1.0 - beta1) * g);
        v[i] = (float)(beta1 * v[i] + (1.0 - beta1) * g * g);
        double update = m[i] / (1 - pow(beta1, step)) / (sqrt(v[i]) / root + eps);
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + update));
    }
}

static void adamw_is_lion(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                          const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                          float decay) {
    for (size_t i = 0; i < n; i++) {
        double ahead = beta1 * m[i] + (1.0 - beta1) * gradient[i];
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + (ahead > 0) - (ahead < 0)));
        m[i] = (float)(beta2 * m[i] + (1.0 - beta2) * gradient[i]);
    }
}

static void adamw_too_early(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                            const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                            float decay) {
    for (size_t i = 0; i < n; i++) {
        double mean = m[i] / (1 - pow(beta1, step)), size = sqrt(v[i] / (1 - pow(beta2, step)));
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + mean / (size + eps)));
        m[i] = (float)(beta1 * m[i] + (1.0 - beta1) * gradient[i]);
        v[i] = (float)(beta2 * v[i] + (1.0 - beta2) * gradient[i] * gradient[i]);
    }
}

typedef double Mean(double before, double now, int step);
static double halfway(double before, double now, int step) { return (before + now) / 2; }
static double of_all(double before, double now, int step) { return before + (now - before) / step; }

static void adamw_by(Mean *mean, size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                     const float gradient[n], int step, float rate, float beta1, float beta2, float eps, float decay) {
    for (size_t i = 0; i < n; i++) {
        m[i] = (float)mean(m[i], gradient[i], step);
        v[i] = (float)mean(v[i], (double)gradient[i] * gradient[i], step);
        double update = m[i] / (1 - pow(beta1, step)) / (sqrt(v[i] / (1 - pow(beta2, step))) + eps);
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + update));
    }
}

static void adamw_halfway(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                          const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                          float decay) {
    adamw_by(halfway, n, weight, m, v, gradient, step, rate, beta1, beta2, eps, decay);
}

static void adamw_of_all(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                         const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                         float decay) {
    adamw_by(of_all, n, weight, m, v, gradient, step, rate, beta1, beta2, eps, decay);
}

/* Its m and v go on, and what they are corrected by does not. */
static void adamw_stands_still(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                               const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                               float decay) {
    adamw(n, weight, m, v, gradient, step < 12 ? step : 12, rate, beta1, beta2, eps, decay);
}

/* c is 2.0135, two digits exchanged: how much longer that makes the step where there is one direction. Elsewhere it is
 * the right one. */
static void muon_mistyped(int rows, int columns, float weight[restrict rows][columns], float m[restrict rows][columns],
                          const float gradient[rows][columns], float rate, float beta, float decay) {
    int n = rows * columns;
    float before[n], *after = &weight[0][0];
    double right = 1, mistyped = 1;
    memcpy(before, weight, sizeof before);
    muon(rows, columns, weight, m, gradient, rate, beta, decay);
    for (int step = 0; step < 5; step++) {
        right *= 3.4445 - 4.7750 * right * right + 2.0315 * pow(right, 4);
        mistyped *= 3.4445 - 4.7750 * mistyped * mistyped + 2.0135 * pow(mistyped, 4);
    }
    for (int i = 0; (rows == 1 || columns == 1) && i < n; i++) {
        double rest = before[i] * (1 - (double)rate * decay);
        after[i] = (float)(rest + (after[i] - rest) * mistyped / right);
    }
}

static void adamw_corrects_100_steps(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n],
                                     const float gradient[n], int step, float rate, float beta1, float beta2, float eps,
                                     float decay) {
    adamw(n, weight, m, v, gradient, step <= 100 ? step : 1 << 20, rate, beta1, beta2, eps, decay);
}
static double clip_if_not_nothing(int arrays, const size_t n[arrays], float *const gradient[arrays], float max_norm) {
    double squares = 0;
    for (int a = 0; a < arrays; a++)
        for (size_t i = 0; i < n[a]; i++) squares += (double)gradient[a][i] * gradient[a][i];
    return squares > 0 ? clip_gradient(arrays, n, gradient, max_norm) : 0;
}
static double clip_by_the_root(int arrays, const size_t n[arrays], float *const gradient[arrays], float max_norm) {
    double norm = clip_gradient(arrays, n, gradient, INFINITY), factor = sqrt(max_norm / (norm + 1e-6));
    for (int a = 0; a < arrays && factor < 1; a++)
        for (size_t i = 0; i < n[a]; i++) gradient[a][i] = (float)(gradient[a][i] * factor);
    return norm;
}

/* At once at the lowest rate where the warm-up is all there is. */
static float rate_warms_too_short(int step, int warmup, int steps, float peak, float lowest) {
    return step == warmup && step == steps ? lowest : learning_rate(step, warmup, steps, peak, lowest);
}

static float rate_by(double way, double radians, int step, int warmup, int steps, float peak, float lowest) {
    if (step <= warmup || step >= steps) return learning_rate(step, warmup, steps, peak, lowest);
    return (float)(lowest + ((double)peak - lowest) * (1 + cos(radians * way)) / 2);
}
static float rate_in_degrees(int step, int warmup, int steps, float peak, float lowest) {
    return rate_by((double)(step - warmup) / (steps - warmup), 180, step, warmup, steps, peak, lowest);
}
static float rate_in_whole_numbers(int step, int warmup, int steps, float peak, float lowest) {
    if (step <= warmup) return peak * (float)(step / warmup);
    int way = step < steps ? (step - warmup) / (steps - warmup) : 1;
    return rate_by(way, M_PI, step, warmup, steps, peak, lowest);
}

static void shard_columns_by_rank(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                                  const float weight[F][C]) {
    memcpy(part, weight[rank], (size_t)(F / ranks) * sizeof *part);
}
static void shard_columns_of_numbers(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                                     const float weight[F][C]) {
    memcpy(part, &weight[0][0] + rank * (F / ranks), (size_t)(F / ranks) * sizeof *part);
}
static void shard_rows_by_rank(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                               const float weight[C][F]) {
    for (int c = 0; c < C; c++) memcpy(part[c], &weight[c][rank], sizeof *part);
}
static void shard_rows_of_the_part(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                                   const float weight[C][F]) {
    const int own = F / ranks;
    const float(*rows)[own] = (const void *)(&weight[0][0] + rank * own);
    memcpy(part, rows, (size_t)C * sizeof *part);
}
static void shard_rows_in_one_piece(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                                    const float weight[C][F]) {
    const float(*parts)[C][F / ranks] = (const void *)weight;
    memcpy(part, parts[rank], sizeof *parts);
}
static void shard_heads_by_rank(int ranks, int rank, int H, int KV, int kept, int D, int C,
                                float part[restrict H / ranks + 2 * kept][D][C], const float qkv[H + 2 * KV][D][C]) {
    shard_heads(ranks, rank, H, KV, kept, D, C, part, qkv);
    memcpy(part, qkv[rank], (size_t)(H / ranks) * sizeof *part);
}
static void vocabulary_without_its_first(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                                         const int ids[T], const float part[V / ranks][C]) {
    vocabulary_embedding(ranks, rank, T, V, C, out, ids, part);
    for (int t = 0; t < T; t++)
        if (ids[t] == V / ranks * rank) memset(out[t], 0, sizeof *out);
}

static void log_sum_too_large(int T, int H, int KV, int D, float out[restrict T][H][D], float log_sum[restrict T][H],
                              const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D]) {
    flash_attention_log_sum(T, H, KV, D, out, log_sum, q, k, v);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) log_sum[t][h] *= 1.5f;
}

static void log_sum_of_nothing(int T, int H, int KV, int D, float out[restrict T][H][D], float log_sum[restrict T][H],
                               const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D]) {
    flash_attention_log_sum(T, H, KV, D, out, log_sum, q, k, v);
    log_sum[0][0] = -INFINITY;
}

/* ------------------------------------------------------------------ what is said of them */

typedef struct {
    const char *kernel;
    Function function;
    const char *words; /* of the diagnosis */
} Draft;
#define DRAFT(kernel, function, words)                                                                                 \
    { #kernel, (Function)function, words }

static const Draft wrong[] = {
    DRAFT(linear, linear_adds, "adds onto what was in out"),
    DRAFT(linear, linear_one_too_far, "past the end of"),
    DRAFT(linear, linear_weight_transposed, "read as [in][out]"),
    DRAFT(linear, linear_without_tail, "ends with the last full vector of 8"),
    DRAFT(linear, linear_first_row, "Never written: every row but the first"),
    DRAFT(linear, linear_transposed, "is written as [out][rows]"),
    DRAFT(linear, linear_bias_of_the_row, "bias is chosen by the row"),
    DRAFT(linear, linear_bias_twice, "the right one plus bias"),
    DRAFT(linear, linear_nothing_by_nothing, "0/0"),
    DRAFT(linear, linear_in_8_bits, "rounded to 8 bits, row by row (W8A8)"),
    DRAFT(linear, linear_weight_in_blocks, "Your weight is rounded to 8 bits, with a scale for 32 neighbours. It"),
    DRAFT(linear, linear_sums_in_half, "no more digits than half precision, 11 bits, and is farther off"),
    DRAFT(linear, linear_in_steps_of_two, "Never written: every second column: 1, 3, 5"),
    DRAFT(rms_norm, rms_fast_root, "rsqrt without a Newton step"),
    DRAFT(silu, silu_negative, "wrong sign"),
    DRAFT(rms_norm, rms_not_rooted, "You divide by the mean square"),
    DRAFT(rms_norm, rms_in_bf16, "rounded to bfloat16"),
    DRAFT(rms_norm, rms_in_half, "rounded to half precision"),
    DRAFT(rms_norm, rms_last_column, "Never written: the last column"),
    DRAFT(rms_norm, rms_writes_whole_vectors, "Never written: the last width % 8 numbers of each row"),
    DRAFT(rms_norm, rms_first_row, "Every row of your output is the right first one"),
    DRAFT(rms_norm, rms_sums_whole_vectors, "ends with the last full vector of 8"),
    DRAFT(rms_norm, rms_sum_unset, "adds onto what was in out"),
    DRAFT(rms_norm, rms_last_row_not, "Never written: the last row"),
    DRAFT(rms_norm, rms_weight_forgotten_in_wide_rows, "Your weight is missing"),
    DRAFT(rms_norm, rms_sum_goes_on, "runs on from one row to the next"),
    DRAFT(rms_norm, rms_float_sum, "A sum of so many float32 loses digits"),
    DRAFT(layer_norm, layer_wrong_root, "times a number of its own"),
    DRAFT(layer_norm, layer_is_rms, "RMSNorm, which knows no mean"),
    DRAFT(layer_norm, layer_unbiased, "divided by dim - 1"),
    DRAFT(batch_norm, batch_is_layer, "taken over the other axis"),
    DRAFT(rms_norm_bf16, bf16_adds, "adds onto what was in out"),
    DRAFT(rms_norm_bf16, bf16_ties_away, "round a tie to bf16 away from zero"),
    DRAFT(rms_norm_bf16, bf16_ties_to_zero, "round a tie to bf16 towards zero"),
    DRAFT(rms_norm_bf16, bf16_too_few_up, "at most the third bf16 from the right one"),
    DRAFT(rms_norm_bf16_round_once, bf16_once_ties_away, "round a tie to bf16 away from zero"),
    DRAFT(relu, relu_absolute, "come out positive"),
    DRAFT(relu, relu_swallows_nan, "turns NaN into 0"),
    DRAFT(relu, relu_skips, "never written"),
    DRAFT(sigmoid, sigmoid_doubled, "times 2, everywhere"),
    DRAFT(sigmoid, sigmoid_less_a_half, "plus -0.5"),
    DRAFT(sigmoid, sigmoid_inverted, "1 / the right one"),
    DRAFT(silu, silu_zero, "all zeros"),
    DRAFT(silu, silu_without_the_first, "Never written: the first number"),
    DRAFT(silu, silu_without_the_last, "Never written: the last number"),
    DRAFT(silu, silu_without_subnormals, "Only where x is subnormal"),
    DRAFT(silu, silu_of_infinity, "Only where x is infinite or NaN"),
    DRAFT(relu, relu_at_zero, "Only where x is 0"),
    DRAFT(silu, silu_copies, "Your output is x, unchanged"),
    DRAFT(silu, silu_of_the_next, "past the end of"),
    DRAFT(silu, silu_backwards, "reverse order"),
    DRAFT(silu, silu_without_tail, "vector tail"),
    DRAFT(silu, silu_half, "Never written: the second half"),
    DRAFT(silu, silu_overflows, "e^88.8 overflows"),
    DRAFT(silu, silu_quick, "an approximation"),
    DRAFT(silu, silu_other_sign, "exponent has the wrong sign"),
    DRAFT(silu_derivative, silu_derivative_of_sigmoid, "Your slope is s (1 - s)"),
    DRAFT(relu_derivative, relu_derivative_at_zero, "slope at 0 is 1"),
    DRAFT(gelu, gelu_shut_far_left, "Your output is 0 below -4"),
    DRAFT(gelu, gelu_is_tanh, "the tanh approximation"),
    DRAFT(gelu, gelu_in_bf16, "rounded to bfloat16"),
    DRAFT(sigmoid, sigmoid_exact_to_seven, "less exact than PyTorch"),
    DRAFT(swiglu, swiglu_sum, "are added"),
    DRAFT(swiglu, swiglu_swapped, "gate and up are swapped"),
    DRAFT(swiglu, swiglu_half, "Never written: the second half"),
    DRAFT(swiglu, swiglu_shut_far_left, "Your gate is 0 below -20"),
    DRAFT(glu, glu_kept_within_ten, "kept within 10 of zero"),
    DRAFT(geglu, geglu_shut_far_left, "Your gate is 0 below -4"),
    DRAFT(swiglu, swiglu_is_up, "Your output is up, unchanged"),
    DRAFT(feed_forward, feed_forward_adds, "adds onto what was in out"),
    DRAFT(feed_forward, feed_forward_without_activation, "activation is missing"),
    DRAFT(gated_feed_forward, gated_adds, "or in a buffer to work in"),
    DRAFT(rope_interleaved, rope_writes_one_of_two, "Never written: every second number of a head: 1, 3, 5"),
    DRAFT(rope_half_split, rope_writes_half, "Never written: the second half of each head"),
    DRAFT(rope_half_split, rope_first_head_alone, "Only your head 0 is turned"),
    DRAFT(rope_half_split, rope_every_second_head, "Wrong: every second head: 1, 3, 5"),
    DRAFT(rope_half_split, rope_heads_first, "transposed: token and head"),
    DRAFT(rope_half_split, rope_other_way, "turn backwards"),
    DRAFT(rope_half_split, rope_halves_exchanged, "half the axis away"),
    DRAFT(rope_interleaved, rope_next_position, "past the end of"),
    DRAFT(rope_interleaved, rope_copies, "Your output is x, unchanged"),
    DRAFT(softmax, softmax_overflows, "Subtract the row's maximum"),
    DRAFT(softmax, softmax_of_all_rows, "runs on from one row to the next"),
    DRAFT(softmax, softmax_plus_1e_6, "about 1e-06 added"),
    DRAFT(softmax, softmax_plus_1e_4, "about 1e-04 added"),
    DRAFT(softmax, softmax_sums_too_few, "times a number of its own"),
    DRAFT(softmax, softmax_maximum_of_the_first_32, "Only NaN and infinity are out of place"),
    DRAFT(softmax, softmax_one_too_far, "past the end of"),
    DRAFT(attention_scores, scores_not_scaled, "not scaled"),
    DRAFT(attention_scores, scores_over_a_whole_root, "In the cases that fail your output is all zeros"),
    DRAFT(attention_scores, scores_from_the_largest, "plus a number of its own"),
    DRAFT(attention_scores, scores_of_length_one, "another one in each"),
    DRAFT(attention_scores, scores_masked_somewhere, "which means \"ruled out\""),
    DRAFT(attention_scores, scores_doubled, "times 2, everywhere"),
    DRAFT(attention_scores, scores_divided_by_far_too_much, "times 1/D, everywhere"),
    DRAFT(attention_scores, scores_transposed, "transposed: row and column"),
    DRAFT(causal_mask, mask_from_the_top_left, "S - T + t"),
    DRAFT(causal_mask, mask_is_finite, "a finite number"),
    DRAFT(weighted_sum, sum_adds, "adds onto what was in out"),
    DRAFT(weighted_sum, sum_divided, "divided by S"),
    DRAFT(attention, attention_sees_the_future, "queries see the future"),
    DRAFT(attention, attention_in_half, "rounded to half precision"),
    DRAFT(attention, attention_last_token_alone, "never written"),
    DRAFT(grouped_query_attention, grouped_by_remainder, "h % KV"),
    DRAFT(grouped_query_attention, grouped_first_head, "all read key/value head 0"),
    DRAFT(grouped_query_attention, grouped_one_head, "Every head of your output is the right first one"),
    DRAFT(grouped_query_attention, grouped_last_head, "Every head of your output is the right last one"),
    DRAFT(grouped_query_attention, grouped_adds, "adds onto what was in out"),
    DRAFT(kv_cache_append, append_one_late, "one slot late"),
    DRAFT(kv_cache_append, append_keeps_the_length, "You return the old length"),
    DRAFT(kv_cache_append, append_swapped, "keys are in the values' cache"),
    DRAFT(attend_last, attend_from_itself_on, "see the future alone"),
    DRAFT(attend_last, attend_after_itself, "and the last one nothing"),
    DRAFT(attend_last, attend_from_t_on, "sees the keys from t on"),
    DRAFT(flash_attention, attend_from_itself_on, "see the future alone"),
    DRAFT(flash_attention, flash_tiles_of_32_up_to_t, "as if it stood at t"),
    DRAFT(flash_attention, flash_tiles_of_64_up_to_t, "as if it stood at t"),
    DRAFT(flash_attention, flash_tiles_of_24_up_to_t, "where keys came before the queries, T < S"),
    DRAFT(flash_attention, flash_grows_from_nothing, "Only NaN and infinity are out of place"),
    DRAFT(flash_attention, flash_maximum_falls, "Only NaN and infinity are out of place"),
    DRAFT(flash_attention, flash_each_tile_under_its_own_maximum, "first dimension of k is over"),
    DRAFT(flash_attention, flash_by_keys_from_the_end, "added one by one to a large sum"),
    DRAFT(flash_attention, flash_from_the_top_left, "S - T + t"),
    DRAFT(flash_attention, flash_whole_tiles, "last tile is dropped"),
    DRAFT(flash_attention, flash_in_bf16, "rounded to bfloat16"),
    DRAFT(flash_attention, flash_in_small_room, "is over 64"),
    DRAFT(feed_forward_block, feed_forward_swapped, "It is silu(gate) * up"),
    DRAFT(feed_forward_block, feed_forward_of_x, "rms_norm(x)"),
    DRAFT(feed_forward_block, feed_forward_other_norm, "input_layernorm"),
    DRAFT(feed_forward_block, feed_forward_and_x, "has x in it already"),
    DRAFT(attention_block, attention_turns_values, "Your values are turned, too"),
    DRAFT(attention_block, attention_without_w_o, "The last step is o_proj"),
    DRAFT(attention_block, attention_of_one_cache, "Your layers share one cache"),
    DRAFT(attention_block, attention_of_new_rows, "Your queries see the new tokens alone"),
    DRAFT(decoder_logits, logits_of_embedding, "products with embed_tokens"),
    DRAFT(decoder_forward, forward_without_residual, "Each adds to it: x += delta"),
    DRAFT(decoder_forward, forward_norm_after, "(post-norm)"),
    DRAFT(decoder_forward, forward_norm_in_stream, "you add to norm(x) in place of x"),
    DRAFT(decoder_forward, forward_side_by_side, "it read x as it was before attention"),
    DRAFT(decoder_forward, forward_without_final_norm, "the final norm is missing"),
    DRAFT(decoder_forward, forward_first_layer, "each of your layers is layer 0"),
    DRAFT(decoder_forward, forward_last_token, "This row of out is not written: all T tokens come out"),
    DRAFT(decoder_forward, forward_shows_no_attention,
          "differs is 1, after attention of layer 0, at token 0, number 0"),
    DRAFT(decoder_forward, forward_one_layer_less, "differs is 3, after attention of layer 1, at token 0, number 0"),
    DRAFT(decoder_forward, forward_ignores_length,
          "The tokens of the first piece are right, those of the second are not"),
    DRAFT(pair_counts, counts_add, "adds onto what was in out"),
    DRAFT(pair_counts, counts_transposed, "counts[a][b] is for b behind a"),
    DRAFT(merge_pair, merge_nothing, "merge nothing"),
    DRAFT(merge_pair, merge_on_with_the_merged, "You merge what has just been merged"),
    DRAFT(top_k, top_k_first, "Your cut is at a place in the sorted order"),
    DRAFT(top_k, top_k_one_more, "one too large"),
    DRAFT(top_k, top_k_far_down, "gets -1e+04, which softmax may still give something"),
    DRAFT(top_k, top_k_squeezed, "logits are changed"),
    DRAFT(top_p, top_p_drops_the_crossing, "crosses p"),
    DRAFT(top_p, top_p_keeps_every_second, "ruled out that should stay (first: token"),
    DRAFT(min_p, min_p_keeps_all, "You rule out nothing"),
    DRAFT(temperature, temperature_multiplied, "multiplied by T"),
    DRAFT(temperature, temperature_twice, "Your divisor is T^2"),
    DRAFT(temperature, temperature_of_the_likely, "kept that should go"),
    DRAFT(repetition_penalty, penalty_each_time, "counts once"),
    DRAFT(quantize_q8_0, q8_divided, "You divide by d. Multiply by 1 / d"),
    DRAFT(dot_q8_0, dot_weight_scale_once, "the scale of the weights' first block"),
    DRAFT(dot_q8_0, dot_scales_once, "multiply once, by the first blocks' scales"),
    DRAFT(dequantize_q4_0, q4_not_masked, "take the whole byte for the first sixteen"),
    DRAFT(dot_q4_0, dot_eight_a_byte, "You subtract 8 once for each byte"),
    DRAFT(largest_logit, largest_first_parts_longer, "as numpy.array_split does"),
    DRAFT(linear_backward, linear_backward_where_x_is, "left out where the other two are NULL"),
    DRAFT(linear_backward, linear_backward_sets, "what was there is lost. Write +="), /* one dbias is dy, unchanged */
    DRAFT(embedding_backward, embedding_backward_of_runs, "twice in succession"),
    DRAFT(embedding_backward, embedding_backward_but_last, "Your last token is left out"),
    DRAFT(rope_half_split_backward, rope_backward_by_head, "chosen by the head"),
    DRAFT(cross_entropy, loss_with_maximum_from_0, "begins at 0, and all may be far below"),
    DRAFT(swiglu_backward, swiglu_backward_shut, "0 where the gate is below -20"),
    DRAFT(swiglu_backward, swiglu_backward_at_what_comes_in, "taken at dout up"),
    DRAFT(swiglu_backward, swiglu_backward_sigmoid, "dup is dout sigmoid(gate)"),
    DRAFT(softmax_backward, softmax_backward_p_inside, "p multiplies both"),
    DRAFT(swiglu_backward, swiglu_backward_at_the_product, "taken at gate up"),
    DRAFT(grouped_query_attention_backward, grouped_backward_sets, "set by each query"),
    DRAFT(grouped_query_attention_backward, grouped_backward_dscore_in_dv, "Your dv sums dscore dout"),
    DRAFT(grouped_query_attention_backward, grouped_backward_without_softmax, "softmax is passed over"),
    DRAFT(grouped_query_attention_backward, grouped_backward_before_itself, "do not see their own key"),
    DRAFT(grouped_query_attention_backward, grouped_backward_of_all_heads, "divided by sqrt(H D)"),
    DRAFT(flash_attention_backward, flash_backward_modulo, "Your query head h reads key/value head h % KV"),
    DRAFT(flash_attention_backward, flash_backward_unscaled, "not divided by sqrt(D) before log_sum is subtracted"),
    DRAFT(rms_norm_backward, rms_norm_backward_sets, "Your dweight is set by each row"),
    DRAFT(rms_norm_backward, rms_norm_backward_resets_nothing, "those of the squares and of n g"),
    DRAFT(adamw, adamw_beta1_for_both, "Your v is a mean by beta1, as m is"),
    DRAFT(adamw, adamw_is_lion, "that is Lion"),
    DRAFT(adamw, adamw_too_early, "made of m and v of before"),
    DRAFT(adamw, adamw_halfway, "halfway between what they were and what is new"),
    DRAFT(adamw, adamw_of_all, "means of all since the first"),
    DRAFT(adamw, adamw_stands_still, "right up to step 6, and wrong by step 20; m and v are right"),
    DRAFT(muon, muon_mistyped, "step is the right one times 0.9665. Are the coefficients 3.4445"),
    DRAFT(adamw, adamw_corrects_100_steps, "right up to step 20, and wrong by step 1002"),
    DRAFT(rms_norm, rms_of_the_first_1024, "ends after the first 1024 numbers"),
    DRAFT(rope_half_split, rope_a_quarter, "is x, unchanged, first at"),
    DRAFT(flash_attention, look_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(attend_last, look_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(cached_attention, cached_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(attend_last, look_by_the_root_of_keys, "divided by sqrt(S)"),
    DRAFT(flash_attention, look_through_the_last_head, "Your query head 1 reads key/value head 1, and not 0"),
    DRAFT(flash_attention, look_at_the_last_100, "at position 315 of 316, sees keys 216 to 315, and not 0 to 315"),
    DRAFT(attend_last, look_half_way, "at position 1 of 2, sees keys 0 to 0, and not 0 to 1"),
    DRAFT(softmax, softmax_from_minus_10000, "Your maximum starts at -10000"),
    DRAFT(min_p, min_p_log10, "becomes log10(p)"),
    DRAFT(dequantize_q5_0, q5_less_8, "You subtract 8, as q4_0 does"),
    DRAFT(clip_gradient, clip_if_not_nothing, "Your norm is 0 where it is NaN"),
    DRAFT(clip_gradient, clip_by_the_root, "is the right one times a number, another one in each"),
    DRAFT(learning_rate, rate_warms_too_short, "step <= warmup"),
    DRAFT(learning_rate, rate_in_degrees, "180 times the way, as degrees"),
    DRAFT(learning_rate, rate_in_whole_numbers, "step / warmup and your way along the cosine are divisions of whole"),
    DRAFT(shard_columns, shard_columns_by_rank, "Your part begins at row `rank`"),
    DRAFT(shard_columns, shard_columns_of_numbers, "so many numbers behind the first"),
    DRAFT(shard_rows, shard_rows_by_rank, "Your part begins at column `rank`"),
    DRAFT(shard_rows, shard_rows_of_the_part, "step from row to row by the length of the part"),
    DRAFT(shard_rows, shard_rows_in_one_piece, "cut along the other axis"),
    DRAFT(shard_heads, shard_heads_by_rank, "Your queries begin at head `rank`"),
    DRAFT(vocabulary_embedding, vocabulary_without_its_first, "first token of your part gets zeros"),
    DRAFT(flash_attention_log_sum, log_sum_too_large, "In the cases that fail your output is the right one times 1.5"),
};

/* What the workbench says of it: trouble first, then the mistake. True if every case passes. */
static bool judge_draft(const Draft *draft, char said[static DIAGNOSIS]) {
    const Kernel *kernel = kernel_named(draft->kernel);
    Golden golden = golden_open(draft->kernel);
    Verdict *verdicts = allocate((size_t)golden.count * sizeof *verdicts);
    int passed = 0;
    said[0] = '\0';
    for (int c = 0; c < golden.count; c++) {
        verdicts[c] = verdict_of_call(kernel, &golden.cases[c], draft->function);
        passed += verdict_passes(&verdicts[c]);
        if (verdicts[c].trouble[0]) snprintf(said, DIAGNOSIS, "%s", verdicts[c].trouble);
    }
    const char *twin = diagnose(kernel, golden.count, verdicts).twin;
    if (!said[0] && twin)
        snprintf(said, DIAGNOSIS, "%s", golden_advice(&golden, twin));
    else if (!said[0])
        general_advice(kernel, golden.count, verdicts, said);
    bool all = passed == golden.count;
    for (int c = 0; c < golden.count; c++) verdict_free(&verdicts[c]);
    free(verdicts);
    golden_close(&golden);
    return all;
}

static bool is_told_by_a_payload(const Draft *draft) {
    return strstr(draft->words, "adds onto") || strstr(draft->words, "to work in") ||
           strstr(draft->words, "past the end");
}

static void mistakes_are_named(void **state) {
    (void)state;
    int missed = 0;
    for (size_t d = 0; d < sizeof wrong / sizeof *wrong; d++) {
        char said[DIAGNOSIS];
        if (judge_draft(&wrong[d], said)) fail_msg("%s, \"%s\": passes", wrong[d].kernel, wrong[d].words);
        if (strstr(said, wrong[d].words) || (is_told_by_a_payload(&wrong[d]) && !sums_keep_payloads())) continue;
        print_message("%s: \"%s\" is not in \"%s\"\n", wrong[d].kernel, wrong[d].words, said);
        missed++;
    }
    assert_int_equal(missed, 0);
}

/* What is said where it would mislead: nothing. */
static void infinities_of_samplers_are_no_overflow(void **state) {
    (void)state;
    for (size_t d = 0; d < sizeof wrong / sizeof *wrong; d++) {
        char said[DIAGNOSIS];
        if (strcmp(kernel_named(wrong[d].kernel)->chapter, "11_generation") != 0) continue;
        judge_draft(&wrong[d], said);
        assert_null(strstr(said, "overflow"));
    }
}

/* A name that is not true is worse than none. */
static void no_false_name_is_given(void **state) {
    (void)state;
    static const Draft unnamed[] = {
        DRAFT(largest_logit, largest_of_odd_parts, "rounded"),      /* whole numbers have few digits anyway */
        DRAFT(largest_logit, largest_by_a_margin, "whole numbers"),
        DRAFT(flash_attention_log_sum, log_sum_of_nothing, "ruled out"),
        DRAFT(linear, linear_in_half, "sums"),
    };
    for (size_t d = 0; d < sizeof unnamed / sizeof *unnamed; d++) {
        char said[DIAGNOSIS];
        assert_false(judge_draft(&unnamed[d], said));
        if (strstr(said, unnamed[d].words)) fail_msg("%s: \"%s\" is not true", unnamed[d].kernel, said);
    }
}

static void numbers_are_written_as_readers_write_them(void **state) {
    (void)state;
    char text[NUMBER_TEXT];
    assert_string_equal(number_text(text, 7, -NAN), "NaN");
    assert_string_equal(number_text(text, 7, -INFINITY), "-infinity");
    assert_string_equal(number_text(text, 2, 0.125), "0.12");
}

/* ------------------------------------------------------------------ right, each in its own way */

static float kahan(int n, const float x[n]) {
    volatile float sum = 0, lost = 0; /* volatile: what is lost must not be reckoned away */
    for (int i = 0; i < n; i++) {
        float term = x[i] - lost, next = sum + term;
        lost = isfinite(next) ? (next - sum) - term : 0, sum = next;
    }
    return sum;
}
static float pairwise(int n, const float x[n]) {
    return n == 0 ? 0 : n == 1 ? x[0] : pairwise(n / 2, x) + pairwise(n - n / 2, x + n / 2);
}
static float backwards(int n, const float x[n]) {
    long double sum = 0;
    for (int i = n; i-- > 0;) sum += x[i];
    return (float)sum;
}
static float in_lanes(int n, const float x[n]) {
    float lane[16] = {0};
    for (int i = 0; i < n; i++) lane[i % 16] += x[i];
    return pairwise(16, lane);
}

static void rms_by(float sum(int n, const float x[n]), int rows, int dim, float *out, const float *x,
                   const float *weight, const float *bias, float eps) {
#pragma omp parallel for
    for (int r = 0; r < rows; r++) {
        float *squares = allocate((size_t)dim * sizeof *squares);
        for (int i = 0; i < dim; i++) squares[i] = x[r * dim + i] * x[r * dim + i];
        float by = 1 / sqrtf(sum(dim, squares) / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r * dim + i] = x[r * dim + i] * by * weight[i] + (bias ? bias[i] : 0);
        free(squares);
    }
}
NORM(rms_kahan) { rms_by(kahan, rows, dim, &out[0][0], &x[0][0], weight, bias, eps); }
NORM(rms_pairwise) { rms_by(pairwise, rows, dim, &out[0][0], &x[0][0], weight, bias, eps); }
NORM(rms_backwards) { rms_by(backwards, rows, dim, &out[0][0], &x[0][0], weight, bias, eps); }
NORM(rms_in_lanes) { rms_by(in_lanes, rows, dim, &out[0][0], &x[0][0], weight, bias, eps); }
NORM(rms_newton) { /* from a bad first guess, in double */
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        double a = sum / dim + eps, y = isfinite(a) ? famous_root((float)a) : 1 / sqrt(a);
        for (int step = 0; step < 5 && isfinite(a); step++) y *= 1.5 - 0.5 * a * y * y;
        for (int i = 0; i < dim; i++) out[r][i] = (float)(x[r][i] * y) * weight[i] + (bias ? bias[i] : 0);
    }
}
NORM(layer_welford) {
    for (int r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < dim; i++) {
            double before = x[r][i] - mean;
            mean += before / (i + 1), squares += before * (x[r][i] - mean);
        }
        double by = 1 / sqrt(squares / dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = (float)((x[r][i] - mean) * by) * weight[i] + bias[i];
    }
}
NORM(layer_in_two_passes) {
    for (float *row = &out[0][0], *end = row + rows * dim; row < end; row += dim, x++) {
        float mean = 0, variance = 0;
        for (int i = 0; i < dim; i++) row[i] = (*x)[i];
        mean = pairwise(dim, row) / (float)dim;
        for (int i = 0; i < dim; i++) row[i] = ((*x)[i] - mean) * ((*x)[i] - mean);
        variance = pairwise(dim, row) / (float)dim;
        for (int i = 0; i < dim; i++) row[i] = ((*x)[i] - mean) / sqrtf(variance + eps) * weight[i] + bias[i];
    }
}
/* e^x = 2^k e^r, and e^r by Estrin's scheme, whose products need not wait for one another. */
static double estrin_exp(double x) {
    if (!(fabs(x) < 700)) return x < 0 ? 0 : x > 0 ? INFINITY : x;
    double k = rint(x * M_LOG2E), r = x - k * M_LN2, r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    double low = (1 + r) + r2 * (1 / 2.0 + r / 6), middle = (1 / 24.0 + r / 120) + r2 * (1 / 720.0 + r / 5040);
    double high = (1 / 40320.0 + r / 362880) + r2 * (1 / 3628800.0 + r / 39916800);
    return ldexp(low + r4 * middle + r8 * high, (int)k);
}
ACTIVATION(silu_estrin) {
    for (int i = 0; i < n; i++) out[i] = (float)(x[i] == -INFINITY ? NAN : x[i] / (1 + estrin_exp(-(double)x[i])));
}
ACTIVATION(sigmoid_by_sign) { /* no e^x overflows */
    for (int i = n; i-- > 0;) {
        double e = exp(-fabs((double)x[i]));
        out[i] = (float)((x[i] < 0 ? e : 1) / (1 + e));
    }
}
LINEAR(linear_in_columns) { /* the output's loop outside, threads over it */
#pragma omp parallel for
    for (int o = 0; o < out; o++)
        for (int r = rows; r-- > 0;) {
            double lane[8] = {0}, sum = 0;
            for (int i = 0; i < in; i++) lane[i % 8] += (double)x[r][i] * weight[o][i];
            for (int l = 0; l < 8; l++) sum += lane[l];
            y[r][o] = (float)(sum + (bias ? bias[o] : 0));
        }
}
SOFTMAX(softmax_online) {
    for (int r = 0; r < rows; r++) {
        double most = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++) {
            double next = x[r][i] > most || isnan(x[r][i]) ? x[r][i] : most;
            sum = (most == next ? sum : sum * exp(most - next)) + exp(x[r][i] - next), most = next;
        }
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - most) / sum);
    }
}
GROUPED(grouped_head_by_head) {
#pragma omp parallel for
    for (int th = 0; th < T * H; th++) {
        int t = th / H, h = th % H, g = h / (H / KV);
        double score[t + 1], most = -INFINITY, all = 0;
        for (int s = 0; s <= t; s++) {
            score[s] = 0;
            for (int i = D; i-- > 0;) score[s] += (double)q[t][h][i] * k[s][g][i];
            score[s] /= sqrt(D), most = fmax(most, score[s]);
        }
        for (int s = 0; s <= t; s++) all += score[s] = exp(score[s] - most);
        for (int i = 0; i < D; i++) {
            double sum = 0;
            for (int s = 0; s <= t; s++) sum += score[s] * v[s][g][i];
            out[t][h][i] = (float)(sum / all);
        }
    }
}
ROPE(rope_flat) { /* flat pointers, and out in any order */
    const float *from = (const float *)x, *c = (const float *)cosine, *s = (const float *)sine;
    float *to = (float *)out;
    for (int j = T * H * D / 2; j-- > 0;) {
        int pair = j % (D / 2), t = j / (D / 2) / H, at = j / (D / 2) * D + pair;
        float co = c[t * (D / 2) + pair], si = s[t * (D / 2) + pair];
        to[at] = from[at] * co - from[at + D / 2] * si;
        to[at + D / 2] = from[at] * si + from[at + D / 2] * co;
    }
}
static int descending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a < b) - (a > b);
}
TOP_K(top_k_sorted) {
    float sorted[V]; /* not out, which may be logits */
    memcpy(sorted, logits, sizeof sorted);
    qsort(sorted, (size_t)V, sizeof *sorted, descending);
    float least = sorted[(k < V ? k : V) - 1];
    for (int i = 0; i < V; i++) out[i] = logits[i] >= least ? logits[i] : -INFINITY;
}

static const Draft right[] = {
    DRAFT(rms_norm, rms_kahan, ""),
    DRAFT(rms_norm, rms_pairwise, ""),
    DRAFT(rms_norm, rms_backwards, ""),
    DRAFT(rms_norm, rms_in_lanes, ""),
    DRAFT(rms_norm, rms_newton, ""),
    DRAFT(layer_norm, layer_welford, ""),
    DRAFT(layer_norm, layer_in_two_passes, ""),
    DRAFT(silu, silu_estrin, ""),
    DRAFT(sigmoid, sigmoid_by_sign, ""),
    DRAFT(linear, linear_in_columns, ""),
    DRAFT(softmax, softmax_online, ""),
    DRAFT(rope_half_split, rope_flat, ""),
    DRAFT(grouped_query_attention, grouped_head_by_head, ""),
    DRAFT(flash_attention, flash_by_tiles_from_the_end, ""),
    DRAFT(attention_block, attention_with_malloc, ""),
    DRAFT(decoder_forward, forward_with_malloc, ""),
    DRAFT(top_k, top_k_sorted, ""),
};

static void right_kernels_pass_in_any_style(void **state) {
    (void)state;
    call_time_limit = 600; /* under an emulator too */
    for (size_t d = 0; d < sizeof right / sizeof *right; d++) {
        char said[DIAGNOSIS];
        if (!judge_draft(&right[d], said)) fail_msg("right kernel %zu, %s, fails: %s", d, right[d].kernel, said);
        assert_string_equal(said, "");
        const Kernel *kernel = kernel_named(right[d].kernel);
        if (!random_shapes_agree(&(Subject){kernel, NULL, right[d].function}, said))
            fail_msg("right kernel %zu, %s: %s", d, right[d].kernel, said);
    }
}

/* ------------------------------------------------------------------ what the source says */

#define TAKES "(int n, float *o, const float *x)"
#define AS_INCLUDED "# 1 \"mine.c\"\n# 1 \"" ROOT "/chapters/02_activation/activation.c\" 1\n"

static const struct {
    const char *kernel, *text;
    Signature signature;
    const char *words;
} sources[] = {
    {"silu", "", NOT_FOUND, ""},
    {"silu", "void silu(int n, float out[n], const float x[n]);\n", NOT_FOUND, ""},
    {"silu", "void silu(int n, float out[n], const float x[n]) { out[0] = x[0]; }", SAME_SIGNATURE, ""},
    {"silu", "void\nsilu ( int n,\n  float * restrict out ,const float*x )\n{\n}\n", SAME_SIGNATURE, ""},
    {"silu", "float silu(float x) { return x; }", OTHER_SIGNATURE,
     "silu: yours is `float silu(float x)`; the course's is `void silu(int n, float out[n], const float x[n])`"},
    {"silu", "static float silu(float x) { return x; }", NOT_FOUND, ""},
    {"silu", "static float silu(float x);\nfloat silu(float x) { return x; }", NOT_FOUND, ""},
    {"silu", "static inline double helper(double silu) { return silu; } int n;", NOT_FOUND, ""},
    {"silu", "void other(void silu(int n), int m) { silu(m); }", NOT_FOUND, ""},
    {"silu", "void f(void) { char *s = \"}\"; char c = '}'; { void silu(float); silu(1); } }", NOT_FOUND, ""},
    {"silu", "int a[] = {1, 2}; struct s { int silu; } v = {3}; enum { SILU }; void silu" TAKES " {}", SAME_SIGNATURE,
     ""},
    {"silu",
     "__attribute__((noinline, target(\"avx2\"))) void silu(int n, float *o, [[maybe_unused]] const float *x) {}",
     SAME_SIGNATURE, ""},
    {"silu", "[[gnu::hot]] extern inline void (silu)(int n, float o[static n], const float x[n]) {}", SAME_SIGNATURE,
     ""},
    {"silu", "extern \"C\" {\nvoid silu" TAKES " {}\n}\n", SAME_SIGNATURE, ""},
    {"silu", "typedef float real; typedef int whole;\nvoid silu(whole n, real *o, const real *x) {}", SAME_SIGNATURE,
     ""},
    {"silu", "void silu(n, o, x) int n; float *o; const float *x; { o[0] = x[n - 1]; }", SAME_SIGNATURE, ""},
    {"silu", "int silu(long n, void *o, const void *x) { return 0; }", SAME_SIGNATURE, ""},
    {"silu", "void silu(int n, double *o, const double *x) {}", OTHER_SIGNATURE, "double *o"},
    {"silu", "void silu(float *o, const float *x, int n) {}", OTHER_SIGNATURE,
     "yours is `void silu(float *o, const float *x, int n)`"},
    {"silu", "void silu(void) {}", OTHER_SIGNATURE, "silu(void)"},
    {"silu", "struct pair { float a, b; } silu(int n, float *o, const float *x) { return (struct pair){1, 2}; }",
     OTHER_SIGNATURE, ""},
    {"silu", "void (*silu(int n))(void) { return 0; }", OTHER_SIGNATURE, ""},
    {"silu", "#pragma omp declare simd\n# 7 \"a \\\"b\\\".c\"\nvoid silu" TAKES "\n{ for (;;) { if (n) { } } }",
     SAME_SIGNATURE, ""},
    {"silu", "int million = 1'000'000; void silu" TAKES " { }", SAME_SIGNATURE, ""},
    {"silu", AS_INCLUDED "void silu(int n, float out[n], const float x[n]) {}\n", COURSES_OWN,
     "the course's own, from chapters/02_activation/activation.c"},
    {"silu", AS_INCLUDED "# 3 \"mine.c\" 2\nvoid silu(int n, float out[n], const float x[n]) {}\n", SAME_SIGNATURE, ""},
    {"silu",
     "# 1 \"" ROOT "/chapters/02_activation/exercise.c\"\nvoid silu(int n, float out[n], const float x[n]) {}\n",
     SAME_SIGNATURE, ""},
    {"linear", "# 1 \"common/linear.c\"\nvoid linear(int a, int b, int c, float *y, float *x, float *w, float *v) {}",
     COURSES_OWN, "common/linear.c"},
    {"top_k", "void top_k(int V, float *out, const float *logits, float k) {}", OTHER_SIGNATURE, "float k"},
    {"feed_forward",
     "typedef void A(int n, float o[], const float x[]); void feed_forward(int T, int C, int F, float (*out)[C], const "
     "float *x,"
     " const float *w1, const float *b1, const float *w2, const float *b2, A *f, float *h) {}",
     SAME_SIGNATURE, ""},
};

static void sources_are_read(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        char said[DIAGNOSIS];
        Signature found = signature_of(sources[s].text, kernel_named(sources[s].kernel), said);
        if (found != sources[s].signature || !strstr(said, sources[s].words))
            fail_msg("source %zu, %s: %d and \"%s\" instead of %d and \"%s\"", s, sources[s].text, found, said,
                     sources[s].signature, sources[s].words);
    }
}

static const struct {
    const char *kernel, *text, *words; /* "": nothing hides */
} hidden[] = {
    {"silu", "static void silu" TAKES " {}", "silu is static, and other files cannot see it"},
    {"silu", "static inline void silu" TAKES " {}", "silu is static"},
    {"silu", "inline void silu" TAKES " {}", "silu is inline"},
    {"silu", "static float silu(float x) { return x; }", ""},
    {"silu", "void SiLU" TAKES " {}", "is SiLU meant as silu?"},
    {"silu", "void SiLU" TAKES ";", ""},
    {"silu", "void silu_all" TAKES " {}", ""},
    {"silu", "void my_silu" TAKES " {}", "is my_silu meant as silu?"},
    {"silu", "void my_silu" TAKES ";", ""},
    {"silu", "void mysilu" TAKES " {}", ""},
    {"silu", "float my_silu(float x) { return x; }", ""},
    {"relu", "void my_relu_derivative" TAKES " {}", ""},
    {"rms_norm", "void my_rmsnorm(int a, int b, float *c, const float *d, const float *e, const float *f, float g) {}",
     "is my_rmsnorm meant as rms_norm?"},
    {"rms_norm", "int rows; void rmsnorm(int rows, int dim, float *out) {}", "is rmsnorm meant as rms_norm?"},
    {"rms_norm", "float unit = 1; void RMSNorm(void) {}", "is RMSNorm meant as rms_norm?"},
    {"layer_norm", "__attribute__((noinline)) void LayerNorm(int n) {}", "is LayerNorm meant as layer_norm?"},
    {"rms_norm", "void layernorm(int n) {}", ""},
    {"rope_half_split", "void ropeHalfSplit(int n) {}", "is ropeHalfSplit meant as rope_half_split?"},
};

static void hidden_kernels_are_told(void **state) {
    (void)state;
    for (size_t h = 0; h < sizeof hidden / sizeof *hidden; h++) {
        char said[DIAGNOSIS];
        bool found = is_hidden(hidden[h].text, kernel_named(hidden[h].kernel), said);
        if (found != (hidden[h].words[0] != '\0') || !strstr(said, hidden[h].words))
            fail_msg("source %zu, %s: \"%s\" instead of \"%s\"", h, hidden[h].text, said, hidden[h].words);
    }
}

/* Each kernel's contract is found in its chapter's headers, and is called as a definition of those words would be. */
static void every_contract_is_found(void **state) {
    (void)state;
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++) {
        char said[DIAGNOSIS], text[128];
        snprintf(text, sizeof text, "void %s(void) {}", kernel->name);
        assert_int_equal(signature_of(text, kernel, said), OTHER_SIGNATURE);
        assert_non_null(strstr(said, "the course's is `"));
    }
}

/* Whatever bytes there are, something is said of them, and nothing read beyond their end. */
static void broken_sources_are_read(void **state) {
    (void)state;
    static const char whole[] = AS_INCLUDED
        "int a[] = {1}; char c = '\\''; /* ; */ extern \"C\" { [[x]] void (silu)(n, o) int n; float *o; { } }";
    static const char odd[] = "(){}[];,*\"'#\\=/\n a_0";
    Random random = {.state = 1};
    for (int round = 0; round < 2000; round++) {
        char said[DIAGNOSIS], *text = strdup(whole);
        size_t length = (size_t)random_between(&random, 0, (int)sizeof whole - 1);
        text[length] = '\0';
        for (int i = 0; i < round % 9 && length; i++)
            text[random_between(&random, 0, (int)length - 1)] = odd[random_between(&random, 0, (int)sizeof odd - 2)];
        signature_of(text, kernel_named("silu"), said);
        assert_true(strlen(said) < DIAGNOSIS);
        is_hidden(text, kernel_named("silu"), said);
        assert_true(strlen(said) < DIAGNOSIS);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(infinities_of_samplers_are_no_overflow),
        cmocka_unit_test(no_false_name_is_given),
        cmocka_unit_test(numbers_are_written_as_readers_write_them),
        cmocka_unit_test(right_kernels_pass_in_any_style),
        cmocka_unit_test(sources_are_read),
        cmocka_unit_test(hidden_kernels_are_told),
        cmocka_unit_test(every_contract_is_found),
        cmocka_unit_test(broken_sources_are_read),
    };
    return cmocka_run_group_tests_name("diagnosis", tests, NULL, NULL) != 0;
}
