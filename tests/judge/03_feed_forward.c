/* Calls of the feed-forward kernels: gates of n numbers, and whole layers. */
#include "03_feed_forward/feed_forward.h"
#include "12_speed/fast_kernels.h"
#include "tests/judge/kernels.h"

static void unpack_gate(Function kernel, const Call *c) {
    AS(swiglu, kernel)(dimension(c, "gate", 0), output(c), argument(c, "gate"), argument(c, "up"));
}

static void random_gate(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 2000, 20011, (size_t)16 << 20);
    random_input(call, random, "gate", 1, SHAPE(n));
    random_input(call, random, "up", 1, SHAPE(n));
    call_output(call, F32, 1, SHAPE(n));
}

/* As tests/golden/03_feed_forward.py numbers them. */
static Activation *const activations[] = {relu, gelu, silu};
static GatedUnit *const units[] = {glu, bilinear, reglu, geglu, swiglu}; /* the same */

static void unpack_feed_forward(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), F = dimension(c, "w1", 0);
    AS(feed_forward, kernel)(T, C, F, output(c), argument(c, "x"), argument(c, "w1"), argument(c, "b1"),
                 argument(c, "w2"), argument(c, "b2"), activations[whole_number(c, "activation")],
                 work_room("hidden", (size_t)T * F));
}

static void unpack_gated_feed_forward(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), F = dimension(c, "w_gate", 0);
    AS(gated_feed_forward, kernel)(T, C, F, output(c), argument(c, "x"), argument(c, "w_gate"),
                       argument(c, "w_up"), argument(c, "w_down"), units[whole_number(c, "unit")],
                       work_room("gate", (size_t)T * F), work_room("up", (size_t)T * F));
}

/* x [T][C] and the output [T][C]; returns C and F. */
static void random_layer(Call *call, Random *random, Size size, size_t *C, size_t *F) {
    size_t T = extent(random, size, 1, 4, 9, 1);
    *C = extent(random, size, 1, 40, 130, 1024);
    *F = extent(random, size, 1, 80, 350, 2816);
    random_input(call, random, "x", 2, SHAPE(T, *C));
    call_output(call, F32, 2, SHAPE(T, *C));
}

static void random_feed_forward(Call *call, Random *random, Size size) {
    size_t C, F;
    random_layer(call, random, size, &C, &F);
    random_input(call, random, "w1", 2, SHAPE(F, C));
    random_input(call, random, "b1", 1, SHAPE(F));
    random_input(call, random, "w2", 2, SHAPE(C, F));
    random_input(call, random, "b2", 1, SHAPE(C));
    index_input(call, "activation", random_between(random, 0, 2));
}

static void random_gated_feed_forward(Call *call, Random *random, Size size) {
    size_t C, F;
    random_layer(call, random, size, &C, &F);
    random_input(call, random, "w_gate", 2, SHAPE(F, C));
    random_input(call, random, "w_up", 2, SHAPE(F, C));
    random_input(call, random, "w_down", 2, SHAPE(C, F));
    index_input(call, "unit", random_between(random, 0, 4));
}

const Kernel feed_forward_kernels[] = {
    {KERNEL(glu, "03_feed_forward", gate), .pointwise = true, .in_place = {"gate", "up"}},
    {KERNEL(bilinear, "03_feed_forward", gate), .pointwise = true, .in_place = {"gate", "up"}},
    {KERNEL(reglu, "03_feed_forward", gate), .pointwise = true, .in_place = {"gate", "up"}},
    {KERNEL(geglu, "03_feed_forward", gate), .pointwise = true, .in_place = {"gate", "up"}},
    {KERNEL(swiglu, "03_feed_forward", gate), .fast = (Function)fast_swiglu, .pointwise = true,
     .in_place = {"gate", "up"}},
    {KERNEL(feed_forward, "03_feed_forward", feed_forward)},
    {KERNEL(gated_feed_forward, "03_feed_forward", gated_feed_forward)},
    {0},
};
