#include "tests/verify/kernels.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "common/linear.h"

#include <string.h>

/* Kernels of one signature are a family: one function unpacks a call into arguments, one makes random calls. */
#define AS(type, kernel) ((__typeof__(type) *)(kernel))
#define SHAPE(...) (const size_t[]){__VA_ARGS__}

static size_t product(int rank, const size_t shape[]) {
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++) count *= shape[axis];
    return count;
}

static void random_input(Call *call, Random *random, const char *name, int rank, const size_t shape[]) {
    random_fill(random, product(rank, shape), call_input(call, name, F32, rank, shape));
}

static void scalar_input(Call *call, const char *name, float value) {
    *(float *)call_input(call, name, F32, 0, NULL) = value;
}

static void index_input(Call *call, const char *name, int64_t value) {
    *(int64_t *)call_input(call, name, I64, 0, NULL) = value;
}

/* ------------------------------------------------------------------ y = x W^T + b */

static void unpack_linear(Function kernel, const Call *c) {
    AS(linear, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), dimension(c, "weight", 0), output(c),
                       argument(c, "x"), argument(c, "weight"), argument(c, "bias"));
}

static void random_linear(Call *call, Random *random, bool large) {
    size_t rows = large ? 1 : (size_t)random_between(random, 1, 5);
    size_t in = large ? 4096 : (size_t)random_between(random, 1, 70);
    size_t out = large ? 4096 : (size_t)random_between(random, 1, 70);
    random_input(call, random, "x", 2, SHAPE(rows, in));
    random_input(call, random, "weight", 2, SHAPE(out, in));
    if (large || random_between(random, 0, 1)) random_input(call, random, "bias", 1, SHAPE(out));
    call_output(call, F32, 2, SHAPE(rows, out));
}

/* ------------------------------------------------------------------ chapter 1: rows of dim numbers */

static void unpack_norm(Function kernel, const Call *c) { /* layer_norm, rms_norm, batch_norm */
    AS(layer_norm, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
                           argument(c, "weight"), argument(c, "bias"), scalar(c, "eps"));
}

static void unpack_dyt(Function kernel, const Call *c) {
    AS(dyt, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
                    argument(c, "weight"), argument(c, "bias"), scalar(c, "alpha"));
}

static void unpack_norm_bf16(Function kernel, const Call *c) {
    AS(rms_norm_bf16, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
                              argument(c, "weight"), scalar(c, "eps"));
}

static void random_rows(Call *call, Random *random, bool large) {
    size_t rows = large ? 2048 : (size_t)random_between(random, 2, 9);
    size_t dim = large ? 4096 : (size_t)random_between(random, 1, 300);
    random_input(call, random, "x", 2, SHAPE(rows, dim));
    random_input(call, random, "weight", 1, SHAPE(dim));
    random_input(call, random, "bias", 1, SHAPE(dim));
    call_output(call, F32, 2, SHAPE(rows, dim));
}

static void random_norm(Call *call, Random *random, bool large) {
    random_rows(call, random, large);
    scalar_input(call, "eps", 1e-5f);
}

static void random_dyt(Call *call, Random *random, bool large) {
    random_rows(call, random, large);
    scalar_input(call, "alpha", (float)random_uniform(random));
}

static void random_input_bf16(Call *call, Random *random, const char *name, int rank, const size_t shape[]) {
    bf16 *numbers = call_input(call, name, BF16, rank, shape);
    for (size_t i = 0; i < product(rank, shape); i++) numbers[i] = bf16_from_float((float)random_normal(random));
}

static void random_norm_bf16(Call *call, Random *random, bool large) {
    size_t rows = large ? 2048 : (size_t)random_between(random, 1, 9);
    size_t dim = large ? 4096 : (size_t)random_between(random, 1, 300);
    random_input_bf16(call, random, "x", 2, SHAPE(rows, dim));
    random_input_bf16(call, random, "weight", 1, SHAPE(dim));
    scalar_input(call, "eps", 1e-5f);
    call_output(call, BF16, 2, SHAPE(rows, dim));
}

/* ------------------------------------------------------------------ chapters 2 and 3: n numbers, one by one */

static void unpack_activation(Function kernel, const Call *c) {
    AS(silu, kernel)(dimension(c, "x", 0), output(c), argument(c, "x"));
}

static void unpack_swish(Function kernel, const Call *c) {
    AS(swish, kernel)(dimension(c, "x", 0), output(c), argument(c, "x"), scalar(c, "beta"));
}

static void unpack_gate(Function kernel, const Call *c) {
    AS(swiglu, kernel)(dimension(c, "gate", 0), output(c), argument(c, "gate"), argument(c, "up"));
}

static size_t random_length(Random *random, bool large) {
    return large ? (size_t)16 << 20 : (size_t)random_between(random, 1, 2000);
}

static void random_activation(Call *call, Random *random, bool large) {
    size_t n = random_length(random, large);
    random_input(call, random, "x", 1, SHAPE(n));
    call_output(call, F32, 1, SHAPE(n));
}

static void random_swish(Call *call, Random *random, bool large) {
    random_activation(call, random, large);
    scalar_input(call, "beta", 4 * (float)random_uniform(random));
}

static void random_gate(Call *call, Random *random, bool large) {
    size_t n = random_length(random, large);
    random_input(call, random, "gate", 1, SHAPE(n));
    random_input(call, random, "up", 1, SHAPE(n));
    call_output(call, F32, 1, SHAPE(n));
}

/* ------------------------------------------------------------------ chapter 3: whole layers */

static Activation *const activations[] = {relu, gelu, silu};         /* as tests/golden/03_feed_forward.py numbers them */
static Gate *const units[] = {glu, bilinear, reglu, geglu, swiglu}; /* the same */

static void unpack_feed_forward(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), F = dimension(c, "w1", 0);
    AS(feed_forward, kernel)(T, C, F, output(c), argument(c, "x"), argument(c, "w1"), argument(c, "b1"),
                             argument(c, "w2"), argument(c, "b2"), activations[whole_number(c, "activation")],
                             work_room("hidden", (size_t)T * F));
}

static void unpack_gated_feed_forward(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), F = dimension(c, "w_gate", 0);
    AS(gated_feed_forward, kernel)(T, C, F, output(c), argument(c, "x"), argument(c, "w_gate"),
                                   argument(c, "b_gate"), argument(c, "w_up"), argument(c, "b_up"),
                                   argument(c, "w_down"), units[whole_number(c, "unit")],
                                   work_room("gate", (size_t)T * F), work_room("up", (size_t)T * F));
}

/* x [T][C] and the output [T][C]; returns C and F. */
static void random_layer(Call *call, Random *random, bool large, size_t *C, size_t *F) {
    size_t T = large ? 1 : (size_t)random_between(random, 1, 4);
    *C = large ? 1024 : (size_t)random_between(random, 1, 40);
    *F = large ? 2816 : (size_t)random_between(random, 1, 80);
    random_input(call, random, "x", 2, SHAPE(T, *C));
    call_output(call, F32, 2, SHAPE(T, *C));
}

static void random_feed_forward(Call *call, Random *random, bool large) {
    size_t C, F;
    random_layer(call, random, large, &C, &F);
    random_input(call, random, "w1", 2, SHAPE(F, C));
    random_input(call, random, "b1", 1, SHAPE(F));
    random_input(call, random, "w2", 2, SHAPE(C, F));
    random_input(call, random, "b2", 1, SHAPE(C));
    index_input(call, "activation", random_between(random, 0, 2));
}

static void random_gated_feed_forward(Call *call, Random *random, bool large) {
    size_t C, F;
    random_layer(call, random, large, &C, &F);
    random_input(call, random, "w_gate", 2, SHAPE(F, C));
    random_input(call, random, "w_up", 2, SHAPE(F, C));
    random_input(call, random, "w_down", 2, SHAPE(C, F));
    index_input(call, "unit", random_between(random, 0, 4));
}

/* ------------------------------------------------------------------ the registry */

#define KERNEL(name, chapter, family, pointwise) \
    { #name, chapter, (Function)name, unpack_##family, random_##family, pointwise }
#define ACTIVATION(name)                                   \
    KERNEL(name, "02_activation", activation, true),       \
    KERNEL(name##_derivative, "02_activation", activation, true)

const Kernel kernels[] = {
    KERNEL(linear, "common", linear, false),
    KERNEL(layer_norm, "01_normalization", norm, false),
    KERNEL(rms_norm, "01_normalization", norm, false),
    KERNEL(batch_norm, "01_normalization", norm, false),
    KERNEL(dyt, "01_normalization", dyt, false),
    KERNEL(rms_norm_bf16, "01_normalization", norm_bf16, false),
    KERNEL(rms_norm_bf16_round_once, "01_normalization", norm_bf16, false),
    ACTIVATION(relu),
    ACTIVATION(sigmoid),
    ACTIVATION(gelu),
    ACTIVATION(gelu_tanh),
    ACTIVATION(silu),
    KERNEL(swish, "02_activation", swish, true),
    KERNEL(swish_derivative, "02_activation", swish, true),
    KERNEL(glu, "03_feed_forward", gate, true),
    KERNEL(bilinear, "03_feed_forward", gate, true),
    KERNEL(reglu, "03_feed_forward", gate, true),
    KERNEL(geglu, "03_feed_forward", gate, true),
    KERNEL(swiglu, "03_feed_forward", gate, true),
    KERNEL(feed_forward, "03_feed_forward", feed_forward, false),
    KERNEL(gated_feed_forward, "03_feed_forward", gated_feed_forward, false),
};
const int kernel_count = sizeof kernels / sizeof *kernels;

const Kernel *kernel_named(const char *name) {
    for (int k = 0; k < kernel_count; k++)
        if (strcmp(kernels[k].name, name) == 0) return &kernels[k];
    return NULL;
}
