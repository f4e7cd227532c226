/* Calls of the activation kernels: n numbers, one by one. */
#include "02_activation/activation.h"
#include "tests/judge/kernels.h"

static void unpack_activation(Function kernel, const Call *c) {
    AS(silu, kernel)(dimension(c, "x", 0), output(c), argument(c, "x"));
}

static void unpack_swish(Function kernel, const Call *c) {
    AS(swish, kernel)(dimension(c, "x", 0), output(c), argument(c, "x"), scalar(c, "beta"));
}

static void random_activation(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 2000, 20011, (size_t)16 << 20);
    random_input(call, random, "x", 1, SHAPE(n));
    call_output(call, F32, 1, SHAPE(n));
}

static void random_swish(Call *call, Random *random, Size size) {
    random_activation(call, random, size);
    scalar_or_special(call, random, size, "beta", 4 * random_uniform(random), SPECIAL(0, 1, -1.5));
}

#define ACTIVATION(function)                                                                       \
    {KERNEL(function, "02_activation", activation), .pointwise = true, .in_place = {"x"}}, {       \
        KERNEL(function##_derivative, "02_activation", activation), .pointwise = true,             \
            .in_place = {                                                                          \
                "x"                                                                                \
            }                                                                                      \
    }

const Kernel activation_kernels[] = {
    ACTIVATION(relu),
    ACTIVATION(sigmoid),
    ACTIVATION(gelu),
    ACTIVATION(gelu_tanh),
    ACTIVATION(silu),
    {KERNEL(swish, "02_activation", swish), .pointwise = true, .in_place = {"x"}},
    {KERNEL(swish_derivative, "02_activation", swish), .pointwise = true, .in_place = {"x"}},
    {0},
};
