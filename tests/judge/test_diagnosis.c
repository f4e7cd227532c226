/* The workbench names mistakes. Here are kernels as first drafts get them wrong, each with the
 * words that its diagnosis must have; and right ones in styles of their own, which must pass. */
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

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* a wrong kernel often forgets one */

#define LINEAR(name)                                                                               \
    static void name(int rows, int in, int out, float y[restrict rows][out],                       \
                     const float x[rows][in], const float weight[out][in], const float *bias)
#define NORM(name)                                                                                 \
    static void name(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],   \
                     const float weight[dim], const float *bias, float eps)
#define RMS_NORM(name)                                                                             \
    static void name(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],   \
                     const float weight[dim], float eps)
#define NORM_BF16(name)                                                                            \
    static void name(int rows, int dim, bf16 out[restrict rows][dim], const bf16 x[rows][dim],     \
                     const bf16 weight[dim], float eps)
#define ACTIVATION(name) static void name(int n, float out[n], const float x[n])
#define GATE(name) static void name(int n, float out[n], const float gate[n], const float up[n])
#define ROPE(name)                                                                                 \
    static void name(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],     \
                     const float cosine[T][D / 2], const float sine[T][D / 2])
#define SOFTMAX(name) static void name(int rows, int n, float out[rows][n], const float x[rows][n])
#define SCORES(name)                                                                               \
    static void name(int T, int S, int D, float scores[restrict T][S], const float q[T][D],        \
                     const float k[S][D])
#define MASK(name) static void name(int T, int S, float scores[T][S])
#define SUM(name)                                                                                  \
    static void name(int T, int S, int D, float out[restrict T][D], const float weights[T][S],     \
                     const float v[S][D])
#define ATTENTION(name)                                                                            \
    static void name(int T, int S, int D, float out[restrict T][D], const float q[T][D],           \
                     const float k[S][D], const float v[S][D], float scores[restrict T][S])
#define GROUPED(name)                                                                              \
    static void name(int T, int H, int KV, int D, float out[restrict T][H][D],                     \
                     const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D])
#define FLASH(name)                                                                                \
    static void name(int T, int S, int H, int KV, int D, float out[restrict T][H][D],              \
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D])
#define APPEND(name)                                                                               \
    static int name(int capacity, int KV, int D, float cache_k[capacity][KV][D],                   \
                    float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],    \
                    const float v[T][KV][D])
#define CUT(name) static void name(int V, float out[V], const float logits[V], float p)
#define TOP_K(name) static void name(int V, float out[V], const float logits[V], int k)
#define TEMPERATURE(name) static void name(int V, float out[V], const float logits[V], float T)
#define PENALTY(name)                                                                              \
    static void name(int V, int n, float out[V], const float logits[V], const int ids[n],          \
                     float penalty)

#define ADAMW(name)                                                                                \
    static void name(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n], \
                     const float gradient[n], int step, float rate, float beta1, float beta2,      \
                     float eps, float decay)
#define SWIGLU_BACKWARD(name)                                                                      \
    static void name(int n, float dgate[restrict n], float dup[restrict n], const float dout[n],   \
                     const float gate[n], const float up[n])
#define LINEAR_BACKWARD(name)                                                                      \
    static void name(int rows, int in, int out, float dx[restrict rows][in],                       \
                     float dweight[restrict out][in], float *dbias, const float dy[rows][out],     \
                     const float x[rows][in], const float weight[out][in])
#define LOG_SUM(name)                                                                              \
    static void name(int T, int H, int KV, int D, float out[restrict T][H][D],                     \
                     float lse[restrict T][H], const float q[T][H][D], const float k[T][KV][D],    \
                     const float v[T][KV][D])
#define SHARD_ROWS(name)                                                                           \
    static void name(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],         \
                     const float weight[C][F])
#define SHARD_COLUMNS(name)                                                                        \
    static void name(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],         \
                     const float weight[F][C])
#define EMBEDDING_BACKWARD(name)                                                                   \
    static void name(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C],       \
                     const int ids[T])

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
            for (int i = 0; i < in; i++)
                sum += (double)x[r][i] * ((const float *)weight)[i * out + o];
            y[r][o] = (float)sum;
        }
}
LINEAR(linear_without_tail) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = bias ? bias[o] : 0;
            for (int i = 0; i + 8 <= in; i += 8)
                for (int lane = 0; lane < 8; lane++)
                    sum += (double)x[r][i + lane] * weight[o][i + lane];
            y[r][o] = (float)sum;
        }
}

/* A row in whole numbers from -127 to 127 times a scale. */
static void in_8_bits(int n, float out[n], const float x[n]) {
    float most = 0;
    for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    for (int i = 0; i < n; i++) out[i] = most > 0 ? roundf(x[i] / (most / 127)) * (most / 127) : 0;
}
LINEAR(linear_in_8_bits) {
    float(*x8)[in] = xmalloc((size_t)rows * sizeof *x8),
    (*weight8)[in] = xmalloc((size_t)out * sizeof *weight8);
    for (int r = 0; r < rows; r++) in_8_bits(in, x8[r], x[r]);
    for (int o = 0; o < out; o++) in_8_bits(in, weight8[o], weight[o]);
    linear(rows, in, out, y, x8, weight8, bias);
    free(x8);
    free(weight8);
}

LINEAR(linear_weight_in_blocks) { /* of 32 neighbours, as Q8_0 has them, whose scale is a float */
    float(*weight8)[in] = xmalloc((size_t)out * sizeof *weight8);
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i += 32)
            in_8_bits(in - i < 32 ? in - i : 32, weight8[o] + i, weight[o] + i);
    linear(rows, in, out, y, x, weight8, bias);
    free(weight8);
}
LINEAR(linear_sums_in_half) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            float sum = 0;
            for (int i = 0; i < in; i++)
                sum = f16_to_float(f16_from_float(sum + x[r][i] * weight[o][i]));
            y[r][o] = sum + (bias ? bias[o] : 0);
        }
}

/* ------------------------------------------------------------------ chapter 1 */

static void scale_rows(int rows, int dim, float out[rows][dim], const float x[rows][dim],
                       const float weight[dim], float scale(float mean_square), float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        float by = scale((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i];
    }
}
static float
famous_root(float x) { /* the one with the magic number, and its Newton step forgotten */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = 0x5f3759df - (bits >> 1);
    memcpy(&x, &bits, sizeof bits);
    return x;
}
static float inverse(float x) { return 1 / x; }

RMS_NORM(rms_fast_root) { scale_rows(rows, dim, out, x, weight, famous_root, eps); }
RMS_NORM(rms_not_rooted) { scale_rows(rows, dim, out, x, weight, inverse, eps); }
RMS_NORM(rms_sums_whole_vectors) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i + 8 <= dim; i += 8)
            for (int lane = 0; lane < 8; lane++) sum += (double)x[r][i + lane] * x[r][i + lane];
        float by = 1 / sqrtf((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i];
    }
}
RMS_NORM(rms_sum_unset) {
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) out[r][0] += x[r][i] * x[r][i]; /* the sum is kept in out */
        float by = 1 / sqrtf(out[r][0] / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i];
    }
}
RMS_NORM(rms_of_the_first_1024) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim && i < 1024; i++) sum += (double)x[r][i] * x[r][i];
        double by = 1 / sqrt(sum / dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = (float)(x[r][i] * by * weight[i]);
    }
}
RMS_NORM(rms_weight_forgotten_in_wide_rows) { /* a mistake of one branch: narrow rows are right */
    float ones[dim];
    for (int i = 0; i < dim; i++) ones[i] = 1;
    rms_norm(rows, dim, out, x, dim > 16 && dim < 100 ? ones : weight, eps);
}
RMS_NORM(rms_sum_goes_on) {
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        float by = 1 / sqrtf((float)(sum / dim) + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i];
    }
}
NORM(layer_is_rms) {
    rms_norm(rows, dim, out, x, weight, eps);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] += bias[i];
}
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
RMS_NORM(rms_float_sum) {
    for (int r = 0; r < rows; r++) {
        float sum = 0;
        for (int i = 0; i < dim; i++) sum += x[r][i] * x[r][i];
        float by = 1 / sqrtf(sum / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r][i] = x[r][i] * by * weight[i];
    }
}
/* Twice, as LlamaRMSNorm rounds. */
static void norm_rounded_by(bf16 rounded(float), int rows, int dim, bf16 out[restrict rows][dim],
                            const bf16 x[rows][dim], const bf16 weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++)
            sum += (double)bf16_to_float(x[r][i]) * bf16_to_float(x[r][i]);
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
        for (int i = 0; i < dim; i++)
            sum += (double)bf16_to_float(x[r][i]) * bf16_to_float(x[r][i]);
        float by = (float)(1 / sqrt(sum / dim + eps));
        for (int i = 0; i < dim; i++)
            out[r][i] = tie_away(bf16_to_float(x[r][i]) * by * bf16_to_float(weight[i]));
    }
}
NORM_BF16(bf16_adds) {
    rms_norm_bf16(rows, dim, out, x, weight, eps);
    for (int r = 0; r < rows; r++)
        out[r][0] = bf16_from_float(bf16_to_float(out[r][0]) + bf16_to_float(POISON));
}

/* ------------------------------------------------------------------ chapter 2 */

ACTIVATION(silu_of_the_next) {
    for (int i = 0; i < n; i++) silu(1, &out[i], &x[i + 1]);
}
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
ACTIVATION(gelu_is_tanh) { gelu_tanh(n, out, x); }

/* ------------------------------------------------------------------ chapter 3 */

GATE(swiglu_sum) {
    silu(n, out, gate);
    for (int i = 0; i < n; i++) out[i] += up[i];
}
GATE(swiglu_swapped) { swiglu(n, out, up, gate); }
GATE(glu_kept_within_ten) {
    for (int i = 0; i < n; i++) out[i] = 1 / (1 + expf(-fminf(fmaxf(gate[i], -10), 10))) * up[i];
}
static void feed_forward_adds(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                              const float w1[F][C], const float *b1, const float w2[C][F],
                              const float *b2, Activation *activation,
                              float hidden[restrict T][F]) {
    linear(T, C, F, hidden, x, w1, b1);
    activation(T * F, &hidden[0][0], &hidden[0][0]);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++)
            for (int f = 0; f < F; f++) out[t][c] += w2[c][f] * hidden[t][f];
}
static void feed_forward_without_activation(int T, int C, int F, float out[restrict T][C],
                                            const float x[T][C], const float w1[F][C],
                                            const float *b1, const float w2[C][F], const float *b2,
                                            Activation *activation, float hidden[restrict T][F]) {
    linear(T, C, F, hidden, x, w1, b1);
    linear(T, F, C, out, hidden, w2, b2);
}
static void gated_adds(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                       const float w_gate[F][C], const float w_up[F][C], const float w_down[C][F],
                       GatedUnit *unit, float gate[restrict T][F], float up[restrict T][F]) {
    linear(T, C, F, gate, x, w_gate, NULL);
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
ROPE(rope_other_way) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2; i++) {
                float a = x[t][h][i], b = x[t][h][i + D / 2], c = cosine[t][i], s = sine[t][i];
                out[t][h][i] = a * c + b * s;
                out[t][h][i + D / 2] = b * c - a * s;
            }
}
ROPE(rope_next_position) {
    for (int t = 0; t < T; t++)
        rope_interleaved(1, H, D, &out[t], &x[t], &cosine[t + 1], &sine[t + 1]);
}

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
static void softmax_plus(float epsilon, int rows, int n, float out[rows][n],
                         const float x[rows][n]) {
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
        for (int i = 0; i < n && i < 32; i++)
            most = x[r][i] > most || isnan(x[r][i]) ? x[r][i] : most;
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
SUM(sum_adds) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++)
            for (int i = 0; i < D; i++) out[t][i] += weights[t][s] * v[s][i];
}
ATTENTION(attention_sees_the_future) {
    attention_scores(T, S, D, scores, q, k);
    softmax(T, S, scores, scores);
    weighted_sum(T, S, D, out, scores, v);
}

/* ------------------------------------------------------------------ chapters 6 to 8 */

/* Head h reads key/value head group(h). */
static void grouped_by(int group(int h, int H, int KV), int T, int H, int KV, int D,
                       float out[restrict T][H][D], const float q[T][H][D], const float k[T][KV][D],
                       const float v[T][KV][D]) {
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            float one[1][1][D], keys[T][1][D], values[T][1][D];
            for (int s = 0; s < T; s++) {
                memcpy(keys[s][0], k[s][group(h, H, KV)], sizeof keys[s][0]);
                memcpy(values[s][0], v[s][group(h, H, KV)], sizeof values[s][0]);
            }
            memcpy(one[0][0], q[t][h], sizeof one[0][0]);
            gqa_attention_with_past(1, t + 1, 1, 1, D, (void *)out[t][h], one, keys, values);
        }
}
static int by_remainder(int h, int H, int KV) { return (void)H, h % KV; }
static int the_first(int h, int H, int KV) { return (void)h, (void)H, (void)KV, 0; }
GROUPED(grouped_by_remainder) { grouped_by(by_remainder, T, H, KV, D, out, q, k, v); }
GROUPED(grouped_first_head) { grouped_by(the_first, T, H, KV, D, out, q, k, v); }
GROUPED(grouped_adds) {
    float right[D];
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int s = 0; s <= t; s++)
                for (int i = 0; i < D; i++) {
                    right[i] = v[s][h * KV / H][i];
                    out[t][h][i] += right[i] / (float)(t + 1);
                }
}
APPEND(append_one_late) {
    if (length + T < capacity)
        return kv_cache_append(capacity, KV, D, cache_k, cache_v, length + 1, T, k, v) - 1;
    return kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v);
}
APPEND(append_keeps_the_length) {
    return kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v), length;
}
APPEND(append_swapped) {
    return kv_cache_append(capacity, KV, D, cache_v, cache_k, length, T, k, v);
}
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
                score[s] = sees(t, s, T, S) ? score[s] / sqrt(D) : -INFINITY;
                most = fmax(most, score[s]);
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
static bool in_tiles_up_to_t(int tile, int t, int s, int T, int S) {
    return s <= S - T + t && s / tile <= t / tile;
}
static bool in_tiles_of_32(int t, int s, int T, int S) { return in_tiles_up_to_t(32, t, s, T, S); }
static bool in_tiles_of_64(int t, int s, int T, int S) { return in_tiles_up_to_t(64, t, s, T, S); }
static bool in_tiles_of_24(int t, int s, int T, int S) { return in_tiles_up_to_t(24, t, s, T, S); }
#define FLASH_OF(name, view)                                                                       \
    FLASH(name) { attend_to(view, T, S, H, KV, D, out, q, k, v); }
FLASH_OF(attend_from_itself_on, from_itself_on)
FLASH_OF(attend_after_itself, after_itself)
FLASH_OF(attend_from_t_on, from_t_on)
FLASH_OF(flash_tiles_of_32_up_to_t, in_tiles_of_32)
FLASH_OF(flash_tiles_of_64_up_to_t, in_tiles_of_64)
FLASH_OF(flash_tiles_of_24_up_to_t, in_tiles_of_24)
/* In float32, from the last tile to the first: each key is added to the sum of those before it, or
 * a tile's own sum. */
static void flash_from_the_end(bool by_tiles, int T, int S, int H, int KV, int D,
                               float out[restrict T][H][D], const float q[T][H][D],
                               const float k[S][KV][D], const float v[S][KV][D]) {
    enum { TILE = 32 };
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV), keys = S - T + t + 1;
            float most = -INFINITY, sum[D + 1],
                  part[D + 1]; /* the weights' own behind those of the values */
            memset(sum, 0, sizeof sum);
            for (int from = (keys - 1) / TILE * TILE; from >= 0; from -= TILE) {
                int n = keys - from < TILE ? keys - from : TILE;
                float score[TILE], before = most;
                for (int s = 0; s < n; s++) {
                    score[s] = 0;
                    for (int i = 0; i < D; i++) score[s] += q[t][h][i] * k[from + s][g][i];
                    score[s] /= sqrtf((float)D);
                    most = fmaxf(most, score[s]);
                }
                memset(part, 0, sizeof part);
                for (int i = 0; i <= D; i++) sum[i] *= expf(before - most);
                float *to = by_tiles ? part : sum;
                for (int s = 0; s < n; s++)
                    for (int i = 0; i <= D; i++)
                        to[i] += expf(score[s] - most) * (i < D ? v[from + s][g][i] : 1);
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
                    for (int i = 0; i < D; i++)
                        score[s] += (double)q[t][h][i] * k[from + s][g][i] / sqrt(D);
                    most = fmax(most, score[s]);
                }
                for (int s = 0; s < n; s++) {
                    sum += exp(score[s] - most);
                    for (int i = 0; i < D; i++)
                        mixed[i] += exp(score[s] - most) * v[from + s][g][i];
                }
            }
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(mixed[i] / sum);
        }
}
/* Key by key, the sum made smaller by another factor than e^(old max - new max) where the maximum
 * becomes another. */
typedef float Shrink(float old, float new);
static void flash_shrunk(Shrink *shrink, bool falls, int T, int S, int H, int KV, int D,
                         float out[restrict T][H][D], const float q[T][H][D],
                         const float k[S][KV][D], const float v[S][KV][D]) {
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
                    sum[i] =
                        sum[i] * shrink(most, next) + expf(score - next) * (i < D ? v[s][g][i] : 1);
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
static void look_at(int first, int end, int g, double scale, int KV, int D, float out[restrict D],
                    const float q[D], const float k[end][KV][D], const float v[end][KV][D]) {
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
#define LOOKS(name, first, end, g, scale)                                                          \
    FLASH(name) {                                                                                  \
        for (int t = 0; t < T; t++)                                                                \
            for (int h = 0; h < H; h++)                                                            \
                look_at(first, end, g, scale, KV, D, out[t][h], q[t][h], k, v);                    \
    }
LOOKS(look_by_8, 0, S - T + t + 1, h / (H / KV), 0.125)
LOOKS(look_by_the_root_of_keys, 0, S - T + t + 1, h / (H / KV), 1 / sqrt(S))
LOOKS(look_through_the_last_head, 0, S - T + t + 1, h < KV ? h : KV - 1, 1 / sqrt(D))
LOOKS(look_at_the_last_100, S - T + t < 100 ? 0 : S - T + t - 99, S - T + t + 1, h / (H / KV),
      1 / sqrt(D))
LOOKS(look_half_way, 0, (S - T + t) / 2 + 1, h / (H / KV), 1 / sqrt(D))
static void cached_by_8(int capacity, int length, int T, int H, int KV, int D,
                        float out[restrict T][H][D], float cache_k[capacity][KV][D],
                        float cache_v[capacity][KV][D], const float q[T][H][D],
                        const float k[T][KV][D], const float v[T][KV][D]) {
    look_by_8(T, kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v), H, KV, D, out,
              q, cache_k, cache_v);
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

/* ------------------------------------------------------------------ chapter 9 */

#define BLOCK(name)                                                                                \
    static void name(Decoder *d, int l, int T, int C, float delta[restrict T][C],                  \
                     const float x[T][C])
#define FORWARD(name)                                                                              \
    static void name(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T])

static void plain_norm(const Decoder *d, int T, int C, float out[restrict T][C],
                       const float x[T][C], const float weight[C]) {
    rms_norm(T, C, out, x, weight, (float)d->model->config.rms_norm_eps);
}

/* The feed-forward of rows that are normalized, or not. */
static void plain_feed_forward(const Layer *layer, int T, int C, int F, bool swapped,
                               float delta[restrict T][C], const float normed[T][C]) {
    float(*gate)[F] = xmalloc(sizeof(float[T][F])), (*up)[F] = xmalloc(sizeof(float[T][F]));
    linear_tensor(T, C, F, gate, normed, swapped ? &layer->up_proj : &layer->gate_proj);
    linear_tensor(T, C, F, up, normed, swapped ? &layer->gate_proj : &layer->up_proj);
    swiglu(T * F, *gate, *gate, *up);
    linear_tensor(T, F, C, delta, gate, &layer->down_proj);
    free(gate);
    free(up);
}

BLOCK(feed_forward_swapped) {
    float normed[T][C];
    plain_norm(d, T, C, normed, x, d->model->layers[l].post_attention_layernorm);
    plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, true, delta, normed);
}
BLOCK(feed_forward_of_x) {
    plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, false, delta, x);
}
BLOCK(feed_forward_other_norm) {
    float normed[T][C];
    plain_norm(d, T, C, normed, x, d->model->layers[l].input_layernorm);
    plain_feed_forward(&d->model->layers[l], T, C, d->model->config.F, false, delta, normed);
}

typedef enum { AS_IT_IS, VALUES_TURNED, NO_W_O, ONE_CACHE, NEW_ROWS } Attention;

static void plain_linear(int T, int in, int out, float y[restrict T][out], const float x[T][in],
                         const Tensor *weight, const float *bias) {
    linear_tensor(T, in, out, y, x, weight);
    for (int i = 0; bias && i < T * out; i++) y[i / out][i % out] += bias[i % out];
}

/* In a style of its own: with chapter 6's attention, and malloc for the room. */
static void plain_attention(Attention how, Decoder *d, int l, int T, int C,
                            float delta[restrict T][C], const float x[T][C]) {
    const Layer *layer = &d->model->layers[l];
    int H = d->model->config.H, KV = d->model->config.KV, D = d->model->config.D,
        cache = how == ONE_CACHE ? 0 : l;
    float(*keys)[d->capacity][KV][D] = (void *)d->keys,
    (*values)[d->capacity][KV][D] = (void *)d->values;
    const float(*angles)[T][D / 2] = (void *)d->cos_sin;
    float(*normed)[C] = xmalloc(sizeof(float[T][C])), (*q)[H][D] = xmalloc(sizeof(float[T][H][D]));
    float(*turned)[H][D] = xmalloc(sizeof(float[T][H][D])),
    (*k)[KV][D] = xmalloc(sizeof(float[T][KV][D]));
    __typeof__(rope_half_split) *rope = d->model->interleaved ? rope_interleaved : rope_half_split;
    plain_norm(d, T, C, normed, x, layer->input_layernorm);
    plain_linear(T, C, KV * D, (float(*)[KV * D]) k, normed, &layer->k_proj, layer->k_bias);
    rope(T, KV, D, keys[cache] + d->length, k, angles[COSINES], angles[SINES]);
    plain_linear(T, C, KV * D, (float(*)[KV * D]) k, normed, &layer->v_proj, layer->v_bias);
    if (how == VALUES_TURNED)
        rope(T, KV, D, values[cache] + d->length, k, angles[COSINES], angles[SINES]);
    else memcpy(values[cache] + d->length, k, sizeof(float[T][KV][D]));
    plain_linear(T, C, H * D, (float(*)[H * D]) q, normed, &layer->q_proj, layer->q_bias);
    rope(T, H, D, turned, q, angles[COSINES], angles[SINES]);
    int from = how == NEW_ROWS ? d->length : 0;
    gqa_attention_with_past(T, d->length + T - from, H, KV, D, q, turned, keys[cache] + from,
                            values[cache] + from);
    if (how == NO_W_O && H * D == C) memcpy(delta, q, sizeof(float[T][C]));
    else plain_linear(T, H * D, C, delta, (const float(*)[H * D]) q, &layer->o_proj, layer->o_bias);
    free(normed);
    free(q);
    free(turned);
    free(k);
}

BLOCK(attention_turns_values) { plain_attention(VALUES_TURNED, d, l, T, C, delta, x); }
BLOCK(attention_without_w_o) { plain_attention(NO_W_O, d, l, T, C, delta, x); }
BLOCK(attention_of_one_cache) { plain_attention(ONE_CACHE, d, l, T, C, delta, x); }
BLOCK(attention_of_new_rows) { plain_attention(NEW_ROWS, d, l, T, C, delta, x); }
BLOCK(attention_with_malloc) { plain_attention(AS_IT_IS, d, l, T, C, delta, x); }

static void logits_of_embedding(const Decoder *decoder, float logits[decoder->model->config.V]) {
    int C = decoder->model->config.C, V = decoder->model->config.V;
    linear_tensor(1, C, V, (float(*)[V])logits, (const float(*)[C])decoder->last_hidden,
                  &decoder->model->embed_tokens);
}

/* The loop, with a place for each mistake. */
typedef struct {
    bool no_residual, norm_after, norm_in_stream, side_by_side, no_final_norm, layer_0, last_alone,
        hides_attention, one_less, from_0;
} Loop;

static void plain_forward(Loop how, Decoder *d, int T, int C, float out[restrict T][C],
                          const int ids[T]) {
    const Model *model = d->model;
    int L = model->config.L;
    float(*x)[C] = xmalloc(sizeof(float[T][C])), (*delta)[C] = xmalloc(sizeof(float[T][C])),
    (*read)[C] = xmalloc(sizeof(float[T][C]));
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++)
            x[t][i] = (float)tensor_get(&model->embed_tokens, (size_t)ids[t] * C + i);
    call_stage_hook(d, 0, T, C, x);
    for (int n = 0; n < 2 * (L - how.one_less); n++) {
        int l = how.layer_0 ? 0 : n / 2;
        const float *weight =
            n % 2 ? model->layers[l].post_attention_layernorm : model->layers[l].input_layernorm;
        if (n % 2 == 0 || !how.side_by_side) memcpy(read, x, sizeof(float[T][C]));
        int length = d->length;
        if (how.from_0) d->length = 0;
        (n % 2 ? feed_forward_block : attention_block)(d, l, T, C, delta, read);
        d->length = length;
        if (how.norm_in_stream) plain_norm(d, T, C, x, read, weight);
        for (int t = 0; t < T; t++)
            for (int i = 0; i < C; i++)
                x[t][i] = how.no_residual ? delta[t][i] : x[t][i] + delta[t][i];
        if (how.norm_after) {
            memcpy(delta, x, sizeof(float[T][C]));
            plain_norm(d, T, C, x, delta, weight);
        }
        if (n % 2 || !how.hides_attention) call_stage_hook(d, n + 1, T, C, x);
    }
    int first = how.last_alone ? T - 1 : 0;
    if (how.no_final_norm) memcpy(out, x, sizeof(float[T][C]));
    else plain_norm(d, T - first, C, out + first, x + first, model->norm);
    free(x);
    free(delta);
    free(read);
}

FORWARD(forward_without_residual) { plain_forward((Loop){.no_residual = true}, d, T, C, out, ids); }
FORWARD(forward_norm_after) { plain_forward((Loop){.norm_after = true}, d, T, C, out, ids); }
FORWARD(forward_norm_in_stream) {
    plain_forward((Loop){.norm_in_stream = true}, d, T, C, out, ids);
}
FORWARD(forward_side_by_side) { plain_forward((Loop){.side_by_side = true}, d, T, C, out, ids); }
FORWARD(forward_without_final_norm) {
    plain_forward((Loop){.no_final_norm = true}, d, T, C, out, ids);
}
FORWARD(forward_first_layer) { plain_forward((Loop){.layer_0 = true}, d, T, C, out, ids); }
FORWARD(forward_last_token) { plain_forward((Loop){.last_alone = true}, d, T, C, out, ids); }
FORWARD(forward_shows_no_attention) {
    plain_forward((Loop){.hides_attention = true}, d, T, C, out, ids);
}
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
static int merge_nothing(int n, int out[restrict n], const int ids[n], int left, int right,
                         int merged) {
    memcpy(out, ids, (size_t)n * sizeof *ids);
    return n;
}
static int merge_on_with_the_merged(int n, int out[restrict n], const int ids[n], int left,
                                    int right, int merged) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (count && out[count - 1] == left && ids[i] == right) out[count - 1] = merged;
        else out[count++] = ids[i];
    return count;
}

/* ------------------------------------------------------------------ chapter 11 */

TOP_K(top_k_one_more) { top_k(V, out, logits, k < V ? k + 1 : k); }
CUT(min_p_log10) {
    float most = logits[argmax(V, logits)];
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
PENALTY(penalty_each_time) {
    memcpy(out, logits, (size_t)V * sizeof *logits);
    for (int i = 0; i < n; i++)
        out[ids[i]] = out[ids[i]] > 0 ? out[ids[i]] / penalty : out[ids[i]] * penalty;
}

/* ------------------------------------------------------------------ chapter 13 */

static void q8_divided(int rows, int n, void *blocks, const float x[rows][n]) {
    char *to = blocks;
    for (const float *block = &x[0][0]; block < &x[0][0] + rows * n; block += 32, to += 34) {
        float most = 0;
        for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(block[i]));
        float d = most / 127;
        f16 half = f16_from_float(d);
        to[0] = (char)(half & 255);
        to[1] = (char)(half >> 8);
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

/* The scales of the first four groups are a quarter too large. */
static void q6_k_scaled(int rows, int n, float out[restrict rows][n], const void *blocks) {
    dequantize_q6_k(rows, n, out, blocks);
    for (size_t i = 0; i < (size_t)rows * (size_t)n; i++)
        if (i % 256 < 128) (&out[0][0])[i] *= 1.25f;
}
static void q3_k_high_bits_twice(int rows, int n, float out[restrict rows][n], const void *blocks) {
    dequantize_q3_k(rows, n, out, blocks);
    for (size_t i = 0; i < (size_t)rows * (size_t)n; i++)
        if (i % 256 >= 128 && i % 3 == 0) (&out[0][0])[i] *= -2;
}
static void iq4_nl_without_an_entry(int rows, int n, float out[restrict rows][n],
                                    const void *blocks) {
    const BlockIQ4_NL *b = blocks;
    dequantize_iq4_nl(rows, n, out, blocks);
    for (size_t i = 0; i < (size_t)rows * (size_t)n; i++)
        if ((b[i / 32].q[i % 16] >> (i % 32 < 16 ? 0 : 4) & 15) == 5) (&out[0][0])[i] = 0;
}

static void q5_less_8(int rows, int n, float out[restrict rows][n], const void *blocks) {
    const BlockQ5_0 *block = blocks;
    dequantize_q5_0(rows, n, out, blocks);
    for (int i = 0; i < rows * n; i++)
        (&out[0][0])[i] += 8 * f16_to_float(half_bits(block[i / 32].d));
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

static void rms_norm_backward_sets(int rows, int dim, float dx[restrict rows][dim],
                                   float dweight[restrict dim], const float dy[rows][dim],
                                   const float x[rows][dim], const float weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        memset(dweight, 0, (size_t)dim * sizeof *dweight); /* what = does, in place of += */
        rms_norm_backward(1, dim, dx + r, dweight, dy + r, x + r, weight, eps);
    }
}

static void rms_norm_backward_resets_nothing(int rows, int dim, float dx[restrict rows][dim],
                                             float dweight[restrict dim], const float dy[rows][dim],
                                             const float x[rows][dim], const float weight[dim],
                                             float eps) {
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

static void grouped_backward_with(Slip slip, int T, int H, int KV, int D, float dq[T][H][D],
                                  float dk[T][KV][D], float dv[T][KV][D], const float dout[T][H][D],
                                  const float q[T][H][D], const float k[T][KV][D],
                                  const float v[T][KV][D]) {
    double p[T], dp[T], root = sqrt(slip == COUNTS_ALL_HEADS ? H * D : D);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = h / (H / KV), seen = slip == SKIPS_ITSELF ? t : t + 1;
            double sum = 0, common = 0, most = -INFINITY;
            for (int s = 0; s < seen; s++) {
                p[s] = dp[s] = 0;
                for (int i = 0; i < D; i++) {
                    p[s] += q[t][h][i] * k[s][g][i] / root;
                    dp[s] += (double)dout[t][h][i] * v[s][g][i];
                }
                most = fmax(most, p[s]);
            }
            for (int s = 0; s < seen; s++) sum += p[s] = exp(p[s] - most);
            for (int s = 0; s < seen; s++) common += dp[s] * (p[s] /= sum);
            for (int s = 0; s < seen; s++) {
                double dscore =
                    (slip == PASSES_OVER_SOFTMAX ? dp[s] : p[s] * (dp[s] - common)) / root;
                for (int i = 0; i < D; i++) {
                    if (slip == SETS_DK) dk[s][g][i] = 0;
                    dq[t][h][i] += (float)(dscore * k[s][g][i]);
                    dk[s][g][i] += (float)(dscore * q[t][h][i]);
                    dv[s][g][i] += (float)((slip == PUSHES_DSCORE ? dscore : p[s]) * dout[t][h][i]);
                }
            }
        }
}

#define GROUPED_BACKWARD(name, slip)                                                               \
    static void name(int T, int H, int KV, int D, float dq[T][H][D], float dk[T][KV][D],           \
                     float dv[T][KV][D], const float dout[T][H][D], const float q[T][H][D],        \
                     const float k[T][KV][D], const float v[T][KV][D]) {                           \
        grouped_backward_with(slip, T, H, KV, D, dq, dk, dv, dout, q, k, v);                       \
    }
GROUPED_BACKWARD(grouped_backward_sets, SETS_DK)
GROUPED_BACKWARD(grouped_backward_dscore_in_dv, PUSHES_DSCORE)
GROUPED_BACKWARD(grouped_backward_without_softmax, PASSES_OVER_SOFTMAX)
GROUPED_BACKWARD(grouped_backward_before_itself, SKIPS_ITSELF)
GROUPED_BACKWARD(grouped_backward_of_all_heads, COUNTS_ALL_HEADS)

#define FLASH_BACKWARD(name)                                                                       \
    static void name(int T, int H, int KV, int D, float dq[T][H][D], float dk[T][KV][D],           \
                     float dv[T][KV][D], const float dout[T][H][D], const float q[T][H][D],        \
                     const float k[T][KV][D], const float v[T][KV][D], const float out[T][H][D],   \
                     const float lse[T][H])

/* Query head h, which reads key/value head g and scales its scores for log_sum so. */
static void flash_backward_of(int h, int g, double scale, int T, int H, int KV, int D,
                              float dq[T][H][D], float dk[T][KV][D], float dv[T][KV][D],
                              const float dout[T][H][D], const float q[T][H][D],
                              const float k[T][KV][D], const float v[T][KV][D],
                              const float out[T][H][D], const float lse[T][H]) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++) {
            double score = 0, pushed = 0;
            for (int i = 0; i < D; i++) {
                score += scale * q[t][h][i] * k[s][g][i];
                pushed += (double)dout[t][h][i] * (v[s][g][i] - out[t][h][i]);
            }
            double p = exp(score - lse[t][h]), ds = p * pushed / sqrt(D);
            for (int i = 0; i < D; i++) {
                dq[t][h][i] += (float)(ds * k[s][g][i]);
                dk[s][g][i] += (float)(ds * q[t][h][i]);
                dv[s][g][i] += (float)(p * dout[t][h][i]);
            }
        }
}

FLASH_BACKWARD(flash_backward_modulo) {
    for (int h = 0; h < H; h++)
        flash_backward_of(h, h % KV, 1 / sqrt(D), T, H, KV, D, dq, dk, dv, dout, q, k, v, out, lse);
}

FLASH_BACKWARD(flash_backward_unscaled) {
    for (int h = 0; h < H; h++)
        flash_backward_of(h, h / (H / KV), 1, T, H, KV, D, dq, dk, dv, dout, q, k, v, out, lse);
}

static int rank_of_largest(int ranks, const float largest[ranks]) {
    int rank = 0;
    for (int r = 1; r < ranks; r++)
        if (largest[r] > largest[rank]) rank = r;
    return rank;
}
static int largest_first_parts_longer(int ranks, int V, const float largest[ranks],
                                      const int place[ranks]) {
    int rank = rank_of_largest(ranks, largest), longer = V % ranks;
    return rank * (V / ranks) + (rank < longer ? rank : longer) + place[rank];
}
static int largest_of_odd_parts(int ranks, int V, const float largest[ranks],
                                const int place[ranks]) {
    int rank = rank_of_largest(ranks, largest);
    return rank * (V / ranks) + (rank ? 3 : 0) + place[rank]; /* as if rank 0 had three more */
}
static int largest_by_a_margin(int ranks, int V, const float largest[ranks],
                               const int place[ranks]) {
    int rank = 0;
    for (int r = 1; r < ranks; r++)
        if (largest[r] > largest[rank] + 1e-3f) rank = r;
    return V * rank / ranks + place[rank];
}

LINEAR_BACKWARD(linear_backward_where_x_is) {
    linear_backward(rows, in, out, dx, dx ? dweight : NULL, dbias, dy, x, weight);
}

LINEAR_BACKWARD(linear_backward_sets) {
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            for (int i = 0; i < in; i++) {
                if (dx) dx[r][i] = dy[r][o] * weight[o][i];
                if (dweight) dweight[o][i] = dy[r][o] * x[r][i];
            }
            if (dbias) dbias[o] = dy[r][o];
        }
}

EMBEDDING_BACKWARD(embedding_backward_of_runs) {
    for (int t = 0; t < T; t++)
        if (t == 0 || ids[t] != ids[t - 1]) embedding_backward(1, V, C, dtable, dx + t, ids + t);
}

EMBEDDING_BACKWARD(embedding_backward_but_last) {
    embedding_backward(T - 1, V, C, dtable, dx, ids);
}

static void rope_backward_by_head(int T, int H, int D, float dx[restrict T][H][D],
                                  const float dout[T][H][D], const float cosine[T][D / 2],
                                  const float sine[T][D / 2]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            rope_half_split_backward(1, 1, D, (void *)dx[t][h], (const void *)dout[t][h],
                                     cosine + h % T, sine + h % T);
}

static double loss_with_maximum_from_0(int rows, int V, const float logits[rows][V],
                                       const int targets[rows]) {
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        double most = 0, all = 0;
        for (int v = 0; v < V; v++) most = fmax(most, logits[r][v]);
        for (int v = 0; v < V; v++) all += exp(logits[r][v] - most);
        if (targets[r] >= 0) sum += most + log(all) - logits[r][targets[r]];
    }
    return sum / (double)count_targets((size_t)rows, targets);
}

SWIGLU_BACKWARD(swiglu_backward_shut) {
    for (int i = 0; i < n; i++)
        if (!(gate[i] < -20)) swiglu_backward(1, dgate + i, dup + i, dout + i, gate + i, up + i);
}

static double silu_slope(double x) { return (1 + x / (1 + exp(x))) / (1 + exp(-x)); }

SWIGLU_BACKWARD(swiglu_backward_at_what_comes_in) {
    for (int i = 0; i < n; i++) {
        double product = (double)dout[i] * up[i];
        dgate[i] += (float)(product * silu_slope(product));
        dup[i] += (float)(dout[i] * gate[i] / (1 + exp(-gate[i])));
    }
}

SWIGLU_BACKWARD(swiglu_backward_at_the_product) {
    for (int i = 0; i < n; i++) {
        dgate[i] += (float)((double)dout[i] * up[i] * silu_slope((double)gate[i] * up[i]));
        dup[i] += (float)(dout[i] * gate[i] / (1 + exp(-gate[i])));
    }
}

SWIGLU_BACKWARD(swiglu_backward_sigmoid) {
    for (int i = 0; i < n; i++) {
        dgate[i] += (float)((double)dout[i] * up[i] * silu_slope(gate[i]));
        dup[i] += (float)(dout[i] / (1 + exp(-gate[i])));
    }
}

static void softmax_backward_p_inside(int rows, int n, float dx[restrict rows][n],
                                      const float dp[rows][n], const float p[rows][n]) {
    for (int r = 0; r < rows; r++) {
        double common = 0;
        for (int i = 0; i < n; i++) common += (double)p[r][i] * dp[r][i];
        for (int i = 0; i < n; i++) dx[r][i] += (float)((double)p[r][i] * dp[r][i] - common);
    }
}

ADAMW(adamw_beta1_for_both) {
    double root = sqrt(1 - pow(beta2, step));
    for (size_t i = 0; i < n; i++) {
        double g = gradient[i];
        m[i] = (float)(beta1 * m[i] + (1.0 - beta1) * g);
        v[i] = (float)(beta1 * v[i] + (1.0 - beta1) * g * g);
        double update = m[i] / (1 - pow(beta1, step)) / (sqrt(v[i]) / root + eps);
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + update));
    }
}

ADAMW(adamw_is_lion) {
    for (size_t i = 0; i < n; i++) {
        double ahead = beta1 * m[i] + (1.0 - beta1) * gradient[i];
        weight[i] =
            (float)(weight[i] - rate * ((double)decay * weight[i] + (ahead > 0) - (ahead < 0)));
        m[i] = (float)(beta2 * m[i] + (1.0 - beta2) * gradient[i]);
    }
}

ADAMW(adamw_too_early) {
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

static void adamw_by(Mean *mean, size_t n, float weight[restrict n], float m[restrict n],
                     float v[restrict n], const float gradient[n], int step, float rate,
                     float beta1, float beta2, float eps, float decay) {
    for (size_t i = 0; i < n; i++) {
        m[i] = (float)mean(m[i], gradient[i], step);
        v[i] = (float)mean(v[i], (double)gradient[i] * gradient[i], step);
        double update = m[i] / (1 - pow(beta1, step)) / (sqrt(v[i] / (1 - pow(beta2, step))) + eps);
        weight[i] = (float)(weight[i] - rate * ((double)decay * weight[i] + update));
    }
}

ADAMW(adamw_halfway) {
    adamw_by(halfway, n, weight, m, v, gradient, step, rate, beta1, beta2, eps, decay);
}

ADAMW(adamw_of_all) {
    adamw_by(of_all, n, weight, m, v, gradient, step, rate, beta1, beta2, eps, decay);
}

/* Its m and v go on, and what they are corrected by does not. */
ADAMW(adamw_stands_still) {
    adamw(n, weight, m, v, gradient, step < 12 ? step : 12, rate, beta1, beta2, eps, decay);
}

/* c is 2.0135, two digits exchanged: how much longer that makes the step where there is one
 * direction. Elsewhere it is the right one. */
static void muon_mistyped(int rows, int columns, float weight[restrict rows][columns],
                          float m[restrict rows][columns], const float gradient[rows][columns],
                          float rate, float beta, float decay) {
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

ADAMW(adamw_corrects_100_steps) {
    adamw(n, weight, m, v, gradient, step <= 100 ? step : 1 << 20, rate, beta1, beta2, eps, decay);
}
static double clip_if_not_nothing(int arrays, const size_t n[arrays], float *const gradient[arrays],
                                  float max_norm) {
    double squares = 0;
    for (int a = 0; a < arrays; a++)
        for (size_t i = 0; i < n[a]; i++) squares += (double)gradient[a][i] * gradient[a][i];
    return squares > 0 ? clip_gradient(arrays, n, gradient, max_norm) : 0;
}
static double clip_by_the_root(int arrays, const size_t n[arrays], float *const gradient[arrays],
                               float max_norm) {
    double norm = clip_gradient(arrays, n, gradient, INFINITY),
           factor = sqrt(max_norm / (norm + 1e-6));
    for (int a = 0; a < arrays && factor < 1; a++)
        for (size_t i = 0; i < n[a]; i++) gradient[a][i] = (float)(gradient[a][i] * factor);
    return norm;
}

/* At once at the lowest rate where the warm-up is all there is. */
static float rate_warms_too_short(int step, int warmup, int steps, float peak, float lowest) {
    return step == warmup && step == steps ? lowest
                                           : learning_rate(step, warmup, steps, peak, lowest);
}

static float rate_by(double way, double radians, int step, int warmup, int steps, float peak,
                     float lowest) {
    if (step <= warmup || step >= steps) return learning_rate(step, warmup, steps, peak, lowest);
    return (float)(lowest + ((double)peak - lowest) * (1 + cos(radians * way)) / 2);
}
static float rate_in_degrees(int step, int warmup, int steps, float peak, float lowest) {
    return rate_by((double)(step - warmup) / (steps - warmup), 180, step, warmup, steps, peak,
                   lowest);
}
static float rate_in_whole_numbers(int step, int warmup, int steps, float peak, float lowest) {
    if (step <= warmup) return peak * (float)(step / warmup);
    int way = step < steps ? (step - warmup) / (steps - warmup) : 1;
    return rate_by(way, M_PI, step, warmup, steps, peak, lowest);
}

SHARD_COLUMNS(shard_columns_by_rank) {
    memcpy(part, weight[rank], (size_t)(F / ranks) * sizeof *part);
}
SHARD_COLUMNS(shard_columns_of_numbers) {
    memcpy(part, &weight[0][0] + rank * (F / ranks), (size_t)(F / ranks) * sizeof *part);
}
SHARD_ROWS(shard_rows_by_rank) {
    for (int c = 0; c < C; c++) memcpy(part[c], &weight[c][rank], sizeof *part);
}
SHARD_ROWS(shard_rows_of_the_part) {
    const int own = F / ranks;
    const float(*rows)[own] = (const void *)(&weight[0][0] + rank * own);
    memcpy(part, rows, (size_t)C * sizeof *part);
}
SHARD_ROWS(shard_rows_in_one_piece) {
    const float(*parts)[C][F / ranks] = (const void *)weight;
    memcpy(part, parts[rank], sizeof *parts);
}
static void shard_heads_by_rank(int ranks, int rank, int H, int KV, int kept, int D, int C,
                                float part[restrict H / ranks + 2 * kept][D][C],
                                const float qkv[H + 2 * KV][D][C]) {
    shard_heads(ranks, rank, H, KV, kept, D, C, part, qkv);
    memcpy(part, qkv[rank], (size_t)(H / ranks) * sizeof *part);
}
static void vocabulary_without_its_first(int ranks, int rank, int T, int V, int C,
                                         float out[restrict T][C], const int ids[T],
                                         const float part[V / ranks][C]) {
    vocabulary_embedding(ranks, rank, T, V, C, out, ids, part);
    for (int t = 0; t < T; t++)
        if (ids[t] == V / ranks * rank) memset(out[t], 0, sizeof *out);
}

LOG_SUM(log_sum_too_large) {
    flash_attention_lse(T, H, KV, D, out, lse, q, k, v);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) lse[t][h] *= 1.5f;
}

LOG_SUM(log_sum_of_nothing) {
    flash_attention_lse(T, H, KV, D, out, lse, q, k, v);
    lse[0][0] = -INFINITY;
}

/* ------------------------------------------------------------------ sizes that are wrong */

LINEAR(linear_drops_one_of_three) {
    linear(rows, in, out, y, x, weight, bias);
    for (int r = 0; r < rows && in % 4 == 3; r++)
        for (int o = 0; o < out; o++) y[r][o] -= x[r][in - 2] * weight[o][in - 2];
}
LINEAR(linear_wrong_where_square) {
    linear(rows, in, out, y, x, weight, bias);
    if (in == out) y[rows - 1][0] += 1;
}
RMS_NORM(rms_last_odd_row) {
    rms_norm(rows, dim, out, x, weight, eps);
    for (int i = 0; i < dim && rows % 2; i++) out[rows - 1][i] *= 2;
}
SCORES(scores_without_both_tails) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            double sum = 0;
            for (int i = 0; i < (s < S / 4 * 4 ? D : D / 4 * 4); i++)
                sum += (double)q[t][i] * k[s][i];
            scores[t][s] = (float)(sum / sqrt(D));
        }
}
SUM(sum_without_the_33rd) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D; i++) {
            double sum = 0;
            for (int s = 0; s < S; s++) sum += s == 32 ? 0 : (double)weights[t][s] * v[s][i];
            out[t][i] = (float)sum;
        }
}
static void feed_forward_bias_by_C(int T, int C, int F, float out[restrict T][C],
                                   const float x[T][C], const float w1[F][C], const float *b1,
                                   const float w2[C][F], const float *b2, Activation *activation,
                                   float hidden[restrict T][F]) {
    float *bias = xmalloc((size_t)F * sizeof *bias);
    for (int f = 0; b1 && f < F; f++) bias[f] = b1[f % C];
    feed_forward(T, C, F, out, x, w1, b1 ? bias : NULL, w2, b2, activation, hidden);
    free(bias);
}
static bool sees_up_to_1024_back(int t, int s, int T, int S) {
    return s <= S - T + t && s > S - T + t - 1024;
}
FLASH(look_1024_back) { attend_to(sees_up_to_1024_back, T, S, H, KV, D, out, q, k, v); }
ROPE(rope_in_vectors_of_8) {
    memcpy(out, x, (size_t)T * sizeof *out);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < D / 2 / 8 * 8; i++) {
                float a = x[t][h][i], b = x[t][h][i + D / 2];
                out[t][h][i] = a * cosine[t][i] - b * sine[t][i];
                out[t][h][i + D / 2] = b * cosine[t][i] + a * sine[t][i];
            }
}

GATE(swiglu_kept_within_5) {
    for (int i = 0; i < n; i++) {
        float g = fminf(gate[i], 5), u = fminf(fmaxf(up[i], -5), 5);
        out[i] = g / (1 + expf(-g)) * u;
    }
}
/* A slope of x Phi(x) with a term too many. */
ACTIVATION(gelu_derivative_of_its_own) {
    for (int i = 0; i < n; i++) {
        double share = erfc(-x[i] * M_SQRT1_2) / 2;
        out[i] = (float)(share + 3 * x[i] * share - x[i] * share * share);
    }
}

ACTIVATION(silu_without_its_last) {
    silu(n, out, x);
    if (n > 1) out[n - 1] = x[n - 1] + 1;
}

/* These are wrong where a number is large, or a little everywhere. The more numbers there are, the
 * likelier it shows. */
ACTIVATION(silu_shut_above_2) {
    silu(n, out, x);
    for (int i = 0; i < n; i++)
        if (x[i] > 2) out[i] = 0;
}
ACTIVATION(sigmoid_by_table) {
    for (int i = 0; i < n; i++) {
        float to = isnan(x[i]) ? x[i] : rintf(fminf(fmaxf(x[i], -8), 8) * 256) / 256;
        out[i] = to <= -8 ? 0 : to >= 8 ? 1 : 1 / (1 + expf(-to));
    }
}

/* ------------------------------------------------------------------ right answers, spoilt */

/* The numbers of a case's right answer, and what else a mistake may depend on. */
typedef struct {
    const GoldenCase *golden;
    size_t count, rows, heads,
        width; /* a row has so many numbers; heads: rows of the last matrix */
    const float *right;
} Right;

static double input_at(const Right *of, const char *name, size_t index) {
    return tensor_get(golden_input(of->golden, name), index);
}
static float input_size(const Right *of, const char *name, bool last) {
    const Tensor *input = golden_input(of->golden, name);
    return (float)input->shape[last ? input->rank - 1 : 0];
}

/* Computes the spoilt number i of the answer, which was y. */
typedef float Spoil(const Right *of, size_t i, float y, float unwritten);
#define at(name, index) (float)input_at(of, name, index)
#define has(name) golden_input(of->golden, name)
#define first(name) input_size(of, name, false)
#define last(name) input_size(of, name, true)
#define SPOIL(name, ...)                                                                           \
    static float name(const Right *of, size_t i, float y, float unwritten) {                       \
        const size_t width = of->width, rows = of->rows, row = i / width, column = i % width,      \
                     heads = of->heads, head = row % heads, count = of->count;                     \
        const float *right = of->right;                                                            \
        (void)rows, (void)row, (void)column, (void)head, (void)count, (void)right, (void)y,        \
            (void)unwritten;                                                                       \
        return __VA_ARGS__;                                                                        \
    }
SPOIL(all_but_the_first_row, row ? unwritten : y)
SPOIL(bias_of_the_row, has("bias") ? y - at("bias", column) + at("bias", row % width) : y)
SPOIL(bias_twice, has("bias") ? y + at("bias", column) : y)
SPOIL(nothing_by_nothing, last("x") == 16 ? NAN : y)
SPOIL(odd_unwritten, column % 2 ? unwritten : y)
SPOIL(negated, -y)
SPOIL(in_bf16, bf16_to_float(bf16_from_float(y)))
SPOIL(in_half, f16_to_float(f16_from_float(y)))
SPOIL(last_column_unwritten, column + 1 == width ? unwritten : y)
SPOIL(tail_unwritten, column >= width / 8 * 8 ? unwritten : y)
SPOIL(first_row_everywhere, right[column])
SPOIL(last_row_unwritten, row + 1 == rows ? unwritten : y)
SPOIL(another_root, (y - at("bias", column)) * (1.5f + 0.25f * (float)row) + at("bias", column))
SPOIL(absolute_x, fabsf(at("x", i)))
SPOIL(nan_is_0, isnan(y) ? 0 : y)
SPOIL(negative_unwritten, at("x", i) > 0 ? y : unwritten)
SPOIL(doubled, 2 * y)
SPOIL(less_a_half, y - 0.5f)
SPOIL(inverted, 1 / y)
SPOIL(zero, 0)
SPOIL(first_unwritten, i == 0 ? unwritten : y)
SPOIL(without_subnormals, fabsf(y) < FLT_MIN ? 0 : y)
SPOIL(infinity_is_1, isfinite(at("x", i)) ? y : 1)
SPOIL(one_at_0, at("x", i) == 0 ? 1 : y)
SPOIL(copy_of_x, at("x", i))
SPOIL(reversed, right[count - 1 - i])
SPOIL(second_half_unwritten, column >= width / 2 ? unwritten : y)
SPOIL(shut_below_4, at("x", i) < -4 ? 0 : y)
SPOIL(right_to_six_digits, y * (1 + 3e-6f))
SPOIL(gate_shut_below_20, at("gate", i) < -20 ? 0 : y)
SPOIL(gate_shut_below_4, at("gate", i) < -4 ? 0 : y)
SPOIL(copy_of_up, at("up", i))
SPOIL(x_but_head_0, head ? at("x", i) : y)
SPOIL(x_in_odd_heads, head % 2 ? at("x", i) : y)
SPOIL(halves_exchanged, right[i - column + (column + width / 2) % width])
SPOIL(finite_mask, y == -INFINITY ? -1e9f : y)
SPOIL(not_scaled, y *sqrtf(last("q")))
SPOIL(masked_somewhere, i % 5 == 2 ? -INFINITY : y)
SPOIL(rows_1_and_2_scattered, rows > 3 && (row == 1 || row == 2) ? y * y + (float)i : y)
SPOIL(divided_by_D, y / last("q"))
SPOIL(over_a_whole_root, y *sqrtf(last("q")) * (float)(1 / (int)sqrtf(last("q"))))
SPOIL(divided_by_S, y / last("weights"))
SPOIL(last_row_alone, row + 1 < rows ? unwritten : y)
SPOIL(first_head_everywhere, right[i - head * width])
SPOIL(last_head_everywhere, right[i + (heads - 1 - head) * width])
SPOIL(plus_x, y + at("x", i))
SPOIL(first_k_kept, (float)i < at("k", 0) ? at("logits", i) : -INFINITY)
SPOIL(far_down, y == -INFINITY ? -10000 : y)
SPOIL(squeezed, y / 3 - 1)
SPOIL(every_second_kept, i % 2 ? -INFINITY : at("logits", i))
SPOIL(all_kept, at("logits", i))
SPOIL(multiplied_by_T, at("logits", i) * at("T", 0))
SPOIL(divided_by_T, y / at("T", 0))
SPOIL(ruled_out_is_0, y == -INFINITY ? 0 : y)

/* Row and column, or token and head, are exchanged. */
static float transposed(const Right *of, size_t i, float, float) {
    const size_t *shape = of->golden->expected.shape,
                 inner = of->golden->expected.rank == 3 ? of->width : 1;
    size_t to_row = i / inner / shape[0], to_column = i / inner % shape[0];
    return of->right[(to_column * shape[1] + to_row) * inner + i % inner];
}

/* Less each row's maximum, as a softmax would have them. */
static float less_the_largest(const Right *of, size_t i, float y, float) {
    float most = -INFINITY;
    for (size_t c = 0; c < of->width; c++)
        most = fmaxf(most, of->right[i / of->width * of->width + c]);
    return y - most;
}

static float of_length_one(const Right *of, size_t, float y, float) {
    double squares = 0;
    for (size_t i = 0; i < of->count; i++) squares += of->right[i] * of->right[i];
    return y * (float)(1 / sqrt(squares));
}

/* ------------------------------------------------------------------ what is said of them */

typedef struct {
    const char *kernel;
    Function function; /* NULL: the right answer, spoilt */
    Spoil *spoil;
    const char *words; /* of the diagnosis */
} Draft;
#define DRAFT(kernel, function, words) {#kernel, (Function)function, NULL, words}
#define SPOILT(kernel, spoil, words) {#kernel, NULL, spoil, words}

static const Draft wrong[] = {
    DRAFT(linear, linear_adds, "adds onto what was in out"),
    DRAFT(linear, linear_one_too_far, "past the end of"),
    DRAFT(linear, linear_weight_transposed, "read as [in][out]"),
    DRAFT(linear, linear_without_tail, "ends with the last full vector of 8"),
    DRAFT(linear, linear_in_8_bits, "rounded to 8 bits, row by row (W8A8)"),
    DRAFT(linear, linear_weight_in_blocks,
          "Your weight is rounded to 8 bits, with a scale for 32 neighbours. It"),
    DRAFT(linear, linear_sums_in_half,
          "no more digits than half precision, 11 bits, and is farther off"),
    SPOILT(linear, all_but_the_first_row, "Never written: every row but the first"),
    SPOILT(linear, transposed, "is written as [out][rows]"),
    SPOILT(linear, bias_of_the_row, "bias is chosen by the row"),
    SPOILT(linear, bias_twice, "the right one plus bias"),
    SPOILT(linear, nothing_by_nothing, "0/0"),
    SPOILT(linear, odd_unwritten, "Never written: every second column: 1, 3, 5"),
    DRAFT(rms_norm, rms_fast_root, "rsqrt without a Newton step"),
    DRAFT(rms_norm, rms_not_rooted, "You divide by the mean square"),
    DRAFT(rms_norm, rms_sums_whole_vectors, "ends with the last full vector of 8"),
    DRAFT(rms_norm, rms_sum_unset, "adds onto what was in out"),
    DRAFT(rms_norm, rms_weight_forgotten_in_wide_rows, "Your weight is missing"),
    DRAFT(rms_norm, rms_sum_goes_on, "runs on from one row to the next"),
    DRAFT(layer_norm, layer_is_rms, "RMSNorm, which knows no mean"),
    DRAFT(layer_norm, layer_unbiased, "divided by dim - 1"),
    SPOILT(layer_norm, another_root, "times a number of its own"),
    DRAFT(batch_norm, batch_is_layer, "taken over the other axis"),
    DRAFT(rms_norm_bf16, bf16_adds, "adds onto what was in out"),
    DRAFT(rms_norm_bf16, bf16_ties_away, "round a tie to bf16 away from zero"),
    DRAFT(rms_norm_bf16, bf16_ties_to_zero, "round a tie to bf16 towards zero"),
    DRAFT(rms_norm_bf16, bf16_too_few_up, "at most the third bf16 from the right one"),
    DRAFT(rms_norm_bf16_round_once, bf16_once_ties_away, "round a tie to bf16 away from zero"),
    DRAFT(silu, silu_of_the_next, "past the end of"),
    DRAFT(silu, silu_overflows, "e^88.8 overflows"),
    DRAFT(silu, silu_quick, "an approximation"),
    DRAFT(silu, silu_other_sign, "exponent has the wrong sign"),
    SPOILT(silu, negated, "wrong sign"),
    SPOILT(silu, zero, "all zeros"),
    SPOILT(silu, first_unwritten, "Never written: the first number"),
    SPOILT(silu, last_column_unwritten, "Never written: the last number"),
    SPOILT(silu, without_subnormals, "Only where x is subnormal"),
    SPOILT(silu, infinity_is_1, "Only where x is infinite or NaN"),
    SPOILT(silu, copy_of_x, "Your output is x, unchanged"),
    SPOILT(silu, reversed, "reverse order"),
    SPOILT(silu, tail_unwritten, "vector tail"),
    SPOILT(silu, second_half_unwritten, "Never written: the second half"),
    DRAFT(silu_derivative, silu_derivative_of_sigmoid, "Your slope is s (1 - s)"),
    DRAFT(gelu, gelu_is_tanh, "the tanh approximation"),
    SPOILT(gelu, shut_below_4, "Your output is 0 below -4"),
    SPOILT(gelu, in_bf16, "rounded to bfloat16"),
    DRAFT(swiglu, swiglu_sum, "are added"),
    DRAFT(swiglu, swiglu_swapped, "gate and up are swapped"),
    SPOILT(swiglu, second_half_unwritten, "Never written: the second half"),
    SPOILT(swiglu, gate_shut_below_20, "Your gate is 0 below -20"),
    SPOILT(swiglu, copy_of_up, "Your output is up, unchanged"),
    DRAFT(glu, glu_kept_within_ten, "kept within 10 of zero"),
    DRAFT(feed_forward, feed_forward_adds, "adds onto what was in out"),
    DRAFT(feed_forward, feed_forward_without_activation, "activation is missing"),
    DRAFT(gated_feed_forward, gated_adds, "or in a buffer to work in"),
    DRAFT(rope_half_split, rope_other_way, "in the opposite direction"),
    DRAFT(rope_interleaved, rope_next_position, "past the end of"),
    SPOILT(rope_interleaved, odd_unwritten,
           "Never written: every second number of a head: 1, 3, 5"),
    SPOILT(rope_interleaved, copy_of_x, "Your output is x, unchanged"),
    DRAFT(softmax, softmax_overflows, "Subtract the row's maximum"),
    DRAFT(softmax, softmax_of_all_rows, "runs on from one row to the next"),
    DRAFT(softmax, softmax_plus_1e_6, "about 1e-06 added"),
    DRAFT(softmax, softmax_plus_1e_4, "about 1e-04 added"),
    DRAFT(softmax, softmax_sums_too_few, "times a number of its own"),
    DRAFT(softmax, softmax_maximum_of_the_first_32, "Only NaN and infinity are out of place"),
    DRAFT(softmax, softmax_one_too_far, "past the end of"),
    DRAFT(causal_mask, mask_from_the_top_left, "S - T + t"),
    SPOILT(causal_mask, finite_mask, "a finite number"),
    DRAFT(weighted_sum, sum_adds, "adds onto what was in out"),
    SPOILT(weighted_sum, divided_by_S, "divided by S"),
    DRAFT(attention, attention_sees_the_future, "queries see the future"),
    SPOILT(attention, in_half, "rounded to half precision"),
    SPOILT(attention, last_row_alone, "never written"),
    DRAFT(grouped_query_attention, grouped_by_remainder, "h % KV"),
    DRAFT(grouped_query_attention, grouped_first_head, "all read key/value head 0"),
    DRAFT(grouped_query_attention, grouped_adds, "adds onto what was in out"),
    SPOILT(grouped_query_attention, first_head_everywhere,
           "Every head of your output is the right first one"),
    SPOILT(grouped_query_attention, last_head_everywhere,
           "Every head of your output is the right last one"),
    DRAFT(kv_cache_append, append_one_late, "one slot late"),
    DRAFT(kv_cache_append, append_keeps_the_length, "You return the old length"),
    DRAFT(kv_cache_append, append_swapped, "keys are in the values' cache"),
    DRAFT(gqa_attention_with_past, attend_from_itself_on, "see the future alone"),
    DRAFT(gqa_attention_with_past, attend_after_itself, "and the last one nothing"),
    DRAFT(gqa_attention_with_past, attend_from_t_on, "sees the keys from t on"),
    DRAFT(flash_attention, attend_from_itself_on, "see the future alone"),
    DRAFT(flash_attention, flash_tiles_of_32_up_to_t, "as if it stood at t"),
    DRAFT(flash_attention, flash_tiles_of_64_up_to_t, "as if it stood at t"),
    DRAFT(flash_attention, flash_tiles_of_24_up_to_t, "sees keys 0 to 23, and not 0 to 315"),
    DRAFT(flash_attention, flash_grows_from_nothing, "Only NaN and infinity are out of place"),
    DRAFT(flash_attention, flash_maximum_falls, "Your maximum is the last tile's own"),
    DRAFT(flash_attention, flash_from_the_top_left, "S - T + t"),
    DRAFT(flash_attention, flash_whole_tiles, "last tile is dropped"),
    DRAFT(feed_forward_block, feed_forward_swapped, "It is silu(gate) * up"),
    DRAFT(feed_forward_block, feed_forward_of_x, "rms_norm(x)"),
    DRAFT(feed_forward_block, feed_forward_other_norm, "input_layernorm"),
    SPOILT(feed_forward_block, plus_x, "has x in it already"),
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
    DRAFT(decoder_forward, forward_last_token,
          "This row of out is not written: all T tokens come out"),
    DRAFT(decoder_forward, forward_shows_no_attention,
          "differs is 1, after attention of layer 0, at token 0, number 0"),
    DRAFT(decoder_forward, forward_one_layer_less,
          "differs is 3, after attention of layer 1, at token 0, number 0"),
    DRAFT(decoder_forward, forward_ignores_length,
          "The tokens of the first piece are right, those of the second are not"),
    DRAFT(pair_counts, counts_add, "adds onto what was in out"),
    DRAFT(pair_counts, counts_transposed, "counts[a][b] is for b behind a"),
    DRAFT(merge_pair, merge_nothing, "merge nothing"),
    DRAFT(merge_pair, merge_on_with_the_merged, "You merge what has just been merged"),
    DRAFT(top_k, top_k_one_more, "one too large"),
    SPOILT(top_k, first_k_kept, "Your cut is at a place in the sorted order"),
    SPOILT(top_k, far_down, "gets -1e+04, which softmax may still give something"),
    SPOILT(top_k, squeezed, "logits are changed"),
    DRAFT(top_p, top_p_drops_the_crossing, "crosses p"),
    SPOILT(top_p, every_second_kept, "ruled out that should stay (first: token"),
    DRAFT(repetition_penalty, penalty_each_time, "counts once"),
    DRAFT(quantize_q8_0, q8_divided, "You divide by d. Multiply by 1 / d"),
    DRAFT(dot_q8_0, dot_weight_scale_once, "the scale of the weights' first block"),
    DRAFT(dot_q8_0, dot_scales_once, "multiply once, by the first blocks' scales"),
    DRAFT(dequantize_q4_0, q4_not_masked, "take the whole byte for the first sixteen"),
    DRAFT(dot_q4_0, dot_eight_a_byte, "You subtract 8 once for each byte"),
    DRAFT(vocab_parallel_argmax, largest_first_parts_longer, "as numpy.array_split does"),
    DRAFT(linear_backward, linear_backward_where_x_is, "left out where the other two are NULL"),
    DRAFT(linear_backward, linear_backward_sets,
          "what was there is lost. Write +="), /* one dbias is dy, unchanged */
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
    DRAFT(grouped_query_attention_backward, grouped_backward_dscore_in_dv,
          "Your dv sums dscore dout"),
    DRAFT(grouped_query_attention_backward, grouped_backward_without_softmax,
          "softmax is passed over"),
    DRAFT(grouped_query_attention_backward, grouped_backward_before_itself,
          "do not see their own key"),
    DRAFT(grouped_query_attention_backward, grouped_backward_of_all_heads, "divided by sqrt(H D)"),
    DRAFT(flash_attention_backward, flash_backward_modulo,
          "Your query head h reads key/value head h % KV"),
    DRAFT(flash_attention_backward, flash_backward_unscaled,
          "not divided by sqrt(D) before lse is subtracted"),
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
    SPOILT(rms_norm, in_bf16, "rounded to bfloat16"),
    SPOILT(rms_norm, in_half, "rounded to half precision"),
    SPOILT(rms_norm, last_column_unwritten, "Never written: the last column"),
    SPOILT(rms_norm, tail_unwritten, "Never written: the last width % 8 numbers of each row"),
    SPOILT(rms_norm, first_row_everywhere, "Every row of your output is the right first one"),
    SPOILT(rms_norm, last_row_unwritten, "Never written: the last row"),
    DRAFT(rope_half_split, rope_a_quarter, "is x, unchanged, first at"),
    DRAFT(rope_half_split, rope_in_vectors_of_8, "behind the last full 8 are not turned"),
    SPOILT(rope_half_split, second_half_unwritten, "Never written: the second half of each head"),
    SPOILT(rope_half_split, x_but_head_0, "Only your head 0 is turned"),
    SPOILT(rope_half_split, x_in_odd_heads, "Wrong: every second head: 1, 3, 5"),
    SPOILT(rope_half_split, transposed, "transposed: token and head"),
    SPOILT(rope_half_split, halves_exchanged, "half the axis away"),
    DRAFT(flash_attention, look_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(gqa_attention_with_past, look_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(cached_attention, cached_by_8, "divided by 8, as if each head were 64 wide"),
    DRAFT(gqa_attention_with_past, look_by_the_root_of_keys, "divided by sqrt(S)"),
    DRAFT(flash_attention, look_through_the_last_head,
          "Your query head 1 reads key/value head 1, and not 0"),
    DRAFT(flash_attention, look_at_the_last_100,
          "at position 315 of 316, sees keys 216 to 315, and not 0 to 315"),
    SPOILT(flash_attention, in_bf16, "rounded to bfloat16"),
    DRAFT(gqa_attention_with_past, look_half_way,
          "at position 1 of 2, sees keys 0 to 0, and not 0 to 1"),
    DRAFT(softmax, softmax_from_minus_10000, "Your maximum starts at -10000"),
    DRAFT(min_p, min_p_log10, "becomes log10(p)"),
    SPOILT(min_p, all_kept, "You rule out nothing"),
    DRAFT(gelu_derivative, gelu_derivative_of_its_own,
          "another formula: Phi + 3 x Phi - x Phi Phi. It should be: Phi + x phi. Here Phi is"),
    DRAFT(dequantize_q5_0, q5_less_8, "You subtract 8, as q4_0 does"),
    DRAFT(dequantize_q6_k, q6_k_scaled, "numbers 0 to 127 are wrong, and only by the scale"),
    DRAFT(dequantize_q3_k, q3_k_high_bits_twice,
          "numbers 128 to 255 are wrong, and only in their levels"),
    DRAFT(dequantize_iq4_nl, iq4_nl_without_an_entry, "Where your output is wrong it is 0"),
    DRAFT(clip_gradient, clip_if_not_nothing, "Your norm is 0 where it is NaN"),
    DRAFT(clip_gradient, clip_by_the_root, "is the right one times a number, another one in each"),
    DRAFT(learning_rate, rate_warms_too_short, "step <= warmup"),
    DRAFT(learning_rate, rate_in_degrees, "180 times the way, as degrees"),
    DRAFT(learning_rate, rate_in_whole_numbers,
          "step / warmup and your way along the cosine are divisions of whole"),
    DRAFT(shard_columns, shard_columns_by_rank, "Your part begins at row `rank`"),
    DRAFT(shard_columns, shard_columns_of_numbers, "so many numbers behind the first"),
    DRAFT(shard_rows, shard_rows_by_rank, "Your part begins at column `rank`"),
    DRAFT(shard_rows, shard_rows_of_the_part, "step from row to row by the length of the part"),
    DRAFT(shard_rows, shard_rows_in_one_piece, "cut along the other axis"),
    DRAFT(shard_heads, shard_heads_by_rank, "Your queries begin at head `rank`"),
    DRAFT(vocabulary_embedding, vocabulary_without_its_first,
          "first token of your part gets zeros"),
    DRAFT(flash_attention_lse, log_sum_too_large,
          "In the cases that fail your output is the right one times 1.5"),
    SPOILT(relu, absolute_x, "come out positive"),
    SPOILT(relu, nan_is_0, "turns NaN into 0"),
    SPOILT(relu, negative_unwritten, "never written"),
    SPOILT(relu, one_at_0, "Only where x is 0"),
    DRAFT(sigmoid, sigmoid_by_table, "an approximation"),
    SPOILT(sigmoid, doubled, "times 2, everywhere"),
    SPOILT(sigmoid, less_a_half, "plus -0.5"),
    SPOILT(sigmoid, inverted, "1 / the right one"),
    SPOILT(sigmoid, right_to_six_digits, "less exact than PyTorch"),
    SPOILT(relu_derivative, one_at_0, "slope at 0 is 1"),
    SPOILT(geglu, gate_shut_below_4, "Your gate is 0 below -4"),
    SPOILT(attention_scores, rows_1_and_2_scattered, "nothing is wrong but rows 1 to 2, of 0 to "),
    SPOILT(attention_scores, not_scaled, "not scaled"),
    SPOILT(attention_scores, over_a_whole_root,
           "In 5 of the 6 cases that fail your output is all zeros"),
    SPOILT(attention_scores, masked_somewhere, "which means \"ruled out\""),
    SPOILT(attention_scores, doubled, "times 2, everywhere"),
    SPOILT(attention_scores, divided_by_D, "times 1/D, everywhere"),
    SPOILT(attention_scores, transposed, "transposed: row and column"),
    SPOILT(attention_scores, less_the_largest, "plus a number of its own"),
    SPOILT(attention_scores, of_length_one, "another one in each"),
    SPOILT(temperature, multiplied_by_T, "multiplied by T"),
    SPOILT(temperature, divided_by_T, "Your divisor is T^2"),
    SPOILT(temperature, ruled_out_is_0, "kept that should go"),
};

/* The judge's words about them: trouble first, then the mistake. True if every case passes. */
static bool conclude(const Kernel *kernel, Golden *golden, Verdict *verdicts,
                     char said[static DIAGNOSIS]) {
    int passed = 0;
    said[0] = '\0';
    for (int c = 0; c < golden->count; c++) {
        passed += verdict_passes(&verdicts[c]);
        if (verdicts[c].trouble[0]) snprintf(said, DIAGNOSIS, "%s", verdicts[c].trouble);
    }
    if (!said[0])
        snprintf(said, DIAGNOSIS, "%s", diagnose(kernel, golden, golden->count, verdicts).advice);
    bool all = passed == golden->count;
    for (int c = 0; c < golden->count; c++) verdict_free(&verdicts[c]);
    free(verdicts);
    golden_close(golden);
    return all;
}

static Verdict verdict_of_spoilt(const Kernel *kernel, const GoldenCase *golden, Spoil *spoil) {
    const Tensor *expected = &golden->expected;
    int rank = expected->rank;
    Right of = {
        .golden = golden, .count = tensor_count(expected), .right = tensor_to_float(expected)};
    of.width = expected->shape[rank - 1];
    of.rows = of.width ? of.count / of.width : 0;
    of.heads = rank == 3 ? expected->shape[1] : of.rows;
    const uint32_t bits = POISON << 16 | POISON;
    float unwritten, *numbers = xmalloc(of.count * sizeof *numbers);
    memcpy(&unwritten, &bits, sizeof unwritten);
    for (size_t i = 0; i < of.count; i++) numbers[i] = spoil(&of, i, of.right[i], unwritten);
    Tensor output = *expected;
    output.dtype = F32;
    output.data = numbers;
    Verdict verdict = verdict_of_output(kernel, golden, &output);
    free(numbers);
    free((void *)of.right);
    return verdict;
}

static bool judge_draft(const Draft *draft, char said[static DIAGNOSIS]) {
    const Kernel *kernel = kernel_named(draft->kernel);
    Golden golden = golden_open(draft->kernel);
    Verdict *verdicts = xmalloc((size_t)golden.count * sizeof *verdicts);
    for (int c = 0; c < golden.count; c++)
        verdicts[c] = draft->function ? verdict_of_call(kernel, &golden.cases[c], draft->function)
                                      : verdict_of_spoilt(kernel, &golden.cases[c], draft->spoil);
    return conclude(kernel, &golden, verdicts, said);
}

static bool is_told_by_a_payload(const Draft *draft) {
    return strstr(draft->words, "adds onto") || strstr(draft->words, "to work in") ||
           strstr(draft->words, "past the end");
}

static void mistakes_are_named(void **) {
    int missed = 0;
    for (size_t d = 0; d < sizeof wrong / sizeof *wrong; d++) {
        char said[DIAGNOSIS];
        if (judge_draft(&wrong[d], said))
            fail_msg("%s, \"%s\": passes", wrong[d].kernel, wrong[d].words);
        if (strstr(said, wrong[d].words) ||
            (is_told_by_a_payload(&wrong[d]) && !sums_keep_payloads()))
            continue;
        print_message("%s: \"%s\" is not in \"%s\"\n", wrong[d].kernel, wrong[d].words, said);
        missed++;
    }
    assert_int_equal(missed, 0);
}

/* ------------------------------------------------------------------ sizes that are tried */

/* As if the cache were 0 where nothing was appended yet. */
APPEND(append_without_zeros) {
    float *keys = &cache_k[length][0][0], before[T * KV * D];
    memcpy(before, keys, sizeof before);
    int after = kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v);
    for (int i = 0; i < T * KV * D; i++)
        if (keys[i] == 0) keys[i] = before[i];
    return after;
}

static const Draft sized[] = {
    DRAFT(linear, linear_drops_one_of_three, "only where the last dimension of x is 4 n + 3."),
    DRAFT(linear, linear_sums_in_half, ""),
    DRAFT(linear, linear_wrong_where_square,
          "only where the last dimension of x is equal to the first dimension of weight."),
    DRAFT(rms_norm, rms_last_odd_row, "only where the first dimension of x is odd."),
    DRAFT(rms_norm, rms_of_the_first_1024, "only where the last dimension of x is over 1024."),
    DRAFT(attention_scores, scores_without_both_tails,
          "only where the first dimension of k is no multiple of 4, and the last dimension of q is "
          "no multiple of 4."),
    DRAFT(weighted_sum, sum_without_the_33rd,
          "only where the last dimension of weights is over 32."),
    DRAFT(feed_forward, feed_forward_bias_by_C,
          "only where the last dimension of x is smaller than the first dimension of w1."),
    DRAFT(gqa_attention_with_past, look_1024_back,
          "only where the first dimension of k is over 1024."),
    DRAFT(flash_attention, flash_each_tile_under_its_own_maximum, ""),
    DRAFT(silu, silu_shut_above_2, "numbers from -128 to 128, it is wrong only where x is over 2."),
    DRAFT(silu, silu_without_its_last,
          "all kinds of sizes, it is wrong only where the length of x is over 1."),
    DRAFT(swiglu, swiglu_kept_within_5, "only where gate is over 5, or up is below -5 or over 5."),
    DRAFT(sigmoid, sigmoid_by_table, ""),
    DRAFT(kv_cache_append, append_without_zeros,
          "it is right, but not where k is 0 in every third place, or all 0"),
};

static void sizes_are_tried(void **) {
    for (size_t d = 0; d < sizeof sized / sizeof *sized; d++) {
        const Draft *draft = &sized[d];
        Judgement judgement = judge(&(Subject){kernel_named(draft->kernel), NULL, draft->function});
        bool as_said = draft->words[0] ? strstr(judgement.sizes, draft->words) != NULL
                                       : judgement.sizes[0] == '\0';
        if (judgement.status != WRONG || !as_said)
            fail_msg("%s: \"%s\" is not \"%s\"", draft->kernel, draft->words, judgement.sizes);
        judgement_free(&judgement);
    }
}

/* A diagnosis that would mislead must not be given. */
static void infinities_of_samplers_are_no_overflow(void **) {
    for (size_t d = 0; d < sizeof wrong / sizeof *wrong; d++) {
        char said[DIAGNOSIS];
        if (strcmp(kernel_named(wrong[d].kernel)->chapter, "11_generation") != 0) continue;
        judge_draft(&wrong[d], said);
        assert_null(strstr(said, "overflow"));
    }
}

/* A name that is not true is worse than none. */
static void no_false_name_is_given(void **) {
    static const Draft unnamed[] = {
        DRAFT(vocab_parallel_argmax, largest_of_odd_parts,
              "rounded"), /* whole numbers have few digits anyway */
        DRAFT(vocab_parallel_argmax, largest_by_a_margin, "whole numbers"),
        DRAFT(flash_attention_lse, log_sum_of_nothing, "ruled out"),
        SPOILT(linear, in_half, "sums"),
    };
    for (size_t d = 0; d < sizeof unnamed / sizeof *unnamed; d++) {
        char said[DIAGNOSIS];
        assert_false(judge_draft(&unnamed[d], said));
        if (strstr(said, unnamed[d].words))
            fail_msg("%s: \"%s\" is not true", unnamed[d].kernel, said);
    }
}

static void numbers_are_written_as_readers_write_them(void **) {
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
        lost = isfinite(next) ? (next - sum) - term : 0;
        sum = next;
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

static void rms_by(float sum(int n, const float x[n]), int rows, int dim, float *out,
                   const float *x, const float *weight, float eps) {
#pragma omp parallel for
    for (int r = 0; r < rows; r++) {
        float *squares = xmalloc((size_t)dim * sizeof *squares);
        for (int i = 0; i < dim; i++) squares[i] = x[r * dim + i] * x[r * dim + i];
        float by = 1 / sqrtf(sum(dim, squares) / (float)dim + eps);
        for (int i = 0; i < dim; i++) out[r * dim + i] = x[r * dim + i] * by * weight[i];
        free(squares);
    }
}
RMS_NORM(rms_kahan) { rms_by(kahan, rows, dim, &out[0][0], &x[0][0], weight, eps); }
RMS_NORM(rms_pairwise) { rms_by(pairwise, rows, dim, &out[0][0], &x[0][0], weight, eps); }
RMS_NORM(rms_backwards) { rms_by(backwards, rows, dim, &out[0][0], &x[0][0], weight, eps); }
RMS_NORM(rms_in_lanes) { rms_by(in_lanes, rows, dim, &out[0][0], &x[0][0], weight, eps); }
RMS_NORM(rms_newton) { /* from a bad first guess, in double */
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim; i++) sum += (double)x[r][i] * x[r][i];
        double a = sum / dim + eps, y = isfinite(a) ? famous_root((float)a) : 1 / sqrt(a);
        for (int step = 0; step < 5 && isfinite(a); step++) y *= 1.5 - 0.5 * a * y * y;
        for (int i = 0; i < dim; i++) out[r][i] = (float)(x[r][i] * y) * weight[i];
    }
}
NORM(layer_welford) {
    for (int r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < dim; i++) {
            double before = x[r][i] - mean;
            mean += before / (i + 1);
            squares += before * (x[r][i] - mean);
        }
        double by = 1 / sqrt(squares / dim + eps);
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)((x[r][i] - mean) * by) * weight[i] + bias[i];
    }
}
NORM(layer_in_two_passes) {
    for (float *row = &out[0][0], *end = row + rows * dim; row < end; row += dim, x++) {
        float mean = 0, variance = 0;
        for (int i = 0; i < dim; i++) row[i] = (*x)[i];
        mean = pairwise(dim, row) / (float)dim;
        for (int i = 0; i < dim; i++) row[i] = ((*x)[i] - mean) * ((*x)[i] - mean);
        variance = pairwise(dim, row) / (float)dim;
        for (int i = 0; i < dim; i++)
            row[i] = ((*x)[i] - mean) / sqrtf(variance + eps) * weight[i] + bias[i];
    }
}
/* e^x = 2^k e^r, and e^r by Estrin's scheme, whose products need not wait for one another. */
static double estrin_exp(double x) {
    if (!(fabs(x) < 700)) return x < 0 ? 0 : x > 0 ? INFINITY : x;
    double k = rint(x * M_LOG2E), r = x - k * M_LN2, r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    double low = (1 + r) + r2 * (1 / 2.0 + r / 6),
           middle = (1 / 24.0 + r / 120) + r2 * (1 / 720.0 + r / 5040);
    double high = (1 / 40320.0 + r / 362880) + r2 * (1 / 3628800.0 + r / 39916800);
    return ldexp(low + r4 * middle + r8 * high, (int)k);
}
ACTIVATION(silu_estrin) {
    for (int i = 0; i < n; i++)
        out[i] = (float)(x[i] == -INFINITY ? NAN : x[i] / (1 + estrin_exp(-(double)x[i])));
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
            sum = (most == next ? sum : sum * exp(most - next)) + exp(x[r][i] - next);
            most = next;
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
            score[s] /= sqrt(D);
            most = fmax(most, score[s]);
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
    DRAFT(rms_norm, rms_float_sum, ""),
    DRAFT(flash_attention, flash_by_keys_from_the_end, ""),
};

static void right_kernels_pass_in_any_style(void **) {
    call_time_limit = 600; /* under an emulator too */
    for (size_t d = 0; d < sizeof right / sizeof *right; d++) {
        char said[DIAGNOSIS], note[DIAGNOSIS];
        Verdict wrong;
        if (!judge_draft(&right[d], said))
            fail_msg("right kernel %zu, %s, fails: %s", d, right[d].kernel, said);
        assert_string_equal(said, "");
        const Kernel *kernel = kernel_named(right[d].kernel);
        if (!random_shapes_agree(&(Subject){kernel, NULL, right[d].function}, said, note, &wrong))
            fail_msg("right kernel %zu, %s: %s", d, right[d].kernel, said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(sizes_are_tried),
        cmocka_unit_test(infinities_of_samplers_are_no_overflow),
        cmocka_unit_test(no_false_name_is_given),
        cmocka_unit_test(numbers_are_written_as_readers_write_them),
        cmocka_unit_test(right_kernels_pass_in_any_style),
    };
    return cmocka_run_group_tests_name("diagnosis", tests, NULL, NULL) != 0;
}
