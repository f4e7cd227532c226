#include "tests/judge/kernels.h"
#include "common/linear.h"

#include <string.h>

const Kernel *kernel_at(int index) {
    static const Kernel *const chapters[] = {
        common_kernels,     normalization_kernels, activation_kernels, feed_forward_kernels,
        rope_kernels,       attention_kernels,     decoder_kernels,    tokenizer_kernels,
        generation_kernels, quantization_kernels,  parallel_kernels,   backward_kernels,
        training_kernels};
    for (size_t c = 0; c < sizeof chapters / sizeof *chapters; c++)
        for (const Kernel *kernel = chapters[c]; kernel->name; kernel++)
            if (index-- == 0) return kernel;
    return NULL;
}

const Kernel *kernel_named(const char *name) {
    const Kernel *kernel;
    for (int k = 0; (kernel = kernel_at(k)); k++)
        if (strcmp(kernel->name, name) == 0) return kernel;
    return NULL;
}

/* ------------------------------------------------------------------ arguments of random calls */

/* Normal numbers. Of many, those after the first are these again: 65539 is a prime, so that an
 * index which is off by a round number still finds another one. */
static void fill_long(Random *random, size_t count, float out[count]) {
    enum { DRAWN = 65539 };
    random_fill(random, count < DRAWN ? count : DRAWN, out);
    for (size_t done = DRAWN; done < count; done *= 2)
        memcpy(out + done, out, (count - done < done ? count - done : done) * sizeof *out);
}

void random_input(Call *call, Random *random, const char *name, int rank, const size_t shape[]) {
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++) count *= shape[axis];
    fill_long(random, count, call_input(call, name, F32, rank, shape));
}

void scalar_input(Call *call, const char *name, float value) {
    *(float *)call_input(call, name, F32, 0, NULL) = value;
}

void index_input(Call *call, const char *name, int64_t value) {
    *(int64_t *)call_input(call, name, I64, 0, NULL) = value;
}

static int long_one;
static Extents drawn, chosen;

void begin_long(int which) { long_one = which; }

void choose_extents(const Extents *extents) {
    chosen = *extents;
    drawn.count = 0;
}

Extents extents_drawn(void) { return drawn; }

enum { LONG_POWER = 1 << 17, LONG_SQUARED = 1 << 11 };

static size_t extent_beyond(size_t power, Random *random, Size size, int low, int high,
                            size_t medium, size_t large) {
    enum { TINY = 2 };
    int which = drawn.count++;
    size_t extent;
    if (size == CHOSEN) extent = which < chosen.count ? chosen.size[which] : (size_t)low;
    else if (size == LONG && which == long_one)
        extent = power + (size_t)random_between(random, 1, 40);
    else {
        bool tiny = size == LONG && low <= TINY && high >= TINY;
        size_t small = (size_t)random_between(random, low, tiny ? TINY : high);
        extent = size == MEDIUM ? medium : size >= LARGE ? large : small;
    }
    if (which >= MOST_EXTENTS) return extent;
    drawn.least[which] = (size_t)low;
    drawn.is_squared[which] = power == LONG_SQUARED;
    return drawn.size[which] = extent;
}

size_t extent(Random *random, Size size, int low, int high, size_t medium, size_t large) {
    return extent_beyond(LONG_POWER, random, size, low, high, medium, large);
}

size_t extent_squared(Random *random, Size size, int low, int high, size_t medium, size_t large) {
    return extent_beyond(LONG_SQUARED, random, size, low, high, medium, large);
}

/* ------------------------------------------------------------------ y = x W^T + b */

static void unpack_linear(Function kernel, const Call *c) {
    AS(linear, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), dimension(c, "weight", 0), output(c),
           argument(c, "x"), argument(c, "weight"), argument(c, "bias"));
}

static void random_linear(Call *call, Random *random, Size size) {
    size_t rows = extent(random, size, 1, 5, 35, size == LARGE ? 1 : 64);
    size_t in = extent(random, size, 1, 70, 1031, 4096),
           out = extent(random, size, 1, 70, 517, 4096);
    random_input(call, random, "x", 2, SHAPE(rows, in));
    random_input(call, random, "weight", 2, SHAPE(out, in));
    if (size != SMALL || random_between(random, 0, 1))
        random_input(call, random, "bias", 1, SHAPE(out));
    call_output(call, F32, 2, SHAPE(rows, out));
}

static double linear_operations(const Call *c) {
    return 2.0 * dimension(c, "x", 0) * dimension(c, "x", 1) * dimension(c, "weight", 0);
}

const Kernel common_kernels[] = {
    {KERNEL(linear, "common", linear), .operations = linear_operations, .has_prefill = true},
    {0},
};
