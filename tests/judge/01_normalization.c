/* Calls of the normalization kernels: rows of dim numbers. */
#include "01_normalization/normalization.h"
#include "12_speed/fast_kernels.h"
#include "tests/judge/kernels.h"

static void unpack_norm(Function kernel, const Call *c) { /* layer_norm, batch_norm */
    AS(layer_norm, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
               argument(c, "weight"), argument(c, "bias"), scalar(c, "eps"));
}

static void unpack_rms_norm(Function kernel, const Call *c) {
    AS(rms_norm, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
             argument(c, "weight"), scalar(c, "eps"));
}

static void unpack_dyt(Function kernel, const Call *c) {
    AS(dyt, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
        argument(c, "weight"), argument(c, "bias"), scalar(c, "alpha"));
}

static void unpack_norm_bf16(Function kernel, const Call *c) {
    AS(rms_norm_bf16, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"),
                  argument(c, "weight"), scalar(c, "eps"));
}

/* x, weight and the output; returns dim. */
static size_t random_rows(Call *call, Random *random, Size size) {
    size_t rows = size == EMPTY ? 0 : extent(random, size, 2, 9, 67, 2048);
    size_t dim = extent(random, size, 1, 300, 4099, 4096);
    random_input(call, random, "x", 2, SHAPE(rows, dim));
    random_input(call, random, "weight", 1, SHAPE(dim));
    call_output(call, F32, 2, SHAPE(rows, dim));
    return dim;
}

static void random_rms_norm(Call *call, Random *random, Size size) {
    random_rows(call, random, size);
    random_eps(call, random, size);
}

static void random_norm(Call *call, Random *random, Size size) {
    random_input(call, random, "bias", 1, SHAPE(random_rows(call, random, size)));
    random_eps(call, random, size);
}

static void random_dyt(Call *call, Random *random, Size size) {
    random_input(call, random, "bias", 1, SHAPE(random_rows(call, random, size)));
    random_alpha(call, random, size);
}

static void random_bf16(Random *random, size_t count, bf16 out[count]) {
    for (size_t i = 0; i < count; i++) out[i] = bf16_from_float((float)random_normal(random));
}

static void random_norm_bf16(Call *call, Random *random, Size size) {
    size_t rows = size == EMPTY ? 0 : extent(random, size, 1, 9, 67, 2048);
    size_t dim = extent(random, size, 1, 300, 4099, 4096);
    random_bf16(random, rows * dim, call_input(call, "x", BF16, 2, SHAPE(rows, dim)));
    random_bf16(random, dim, call_input(call, "weight", BF16, 1, SHAPE(dim)));
    random_eps(call, random, size);
    call_output(call, BF16, 2, SHAPE(rows, dim));
}

const Kernel normalization_kernels[] = {
    {KERNEL(layer_norm, "01_normalization", norm), .may_be_empty = true},
    {KERNEL(rms_norm, "01_normalization", rms_norm), .may_be_empty = true,
     .fast = (Function)fast_rms_norm},
    {KERNEL(batch_norm, "01_normalization", norm), .may_be_empty = true},
    {KERNEL(dyt, "01_normalization", dyt), .may_be_empty = true},
    {KERNEL(rms_norm_bf16, "01_normalization", norm_bf16), .may_be_empty = true},
    {KERNEL(rms_norm_bf16_round_once, "01_normalization", norm_bf16), .may_be_empty = true},
    {0},
};
