/* Calls of the training kernels. The arrays that adamw and clip_gradient change are a copy of the
 * input of that name; one of their results is the output, the others are rooms to work in. */
#include "17_training/optimizer.h"
#include "tests/judge/kernels.h"

#include <math.h>
#include <string.h>

/* An array that the kernel changes: a copy of what it was, in the output or in a room. */
static float *changing(const Call *c, const char *name, size_t count, bool is_output) {
    return memcpy(is_output ? output(c) : work_room(name, count), argument(c, name),
                  count * sizeof(float));
}

/* ------------------------------------------------------------------ AdamW */

/* Each row of the gradient is a step's. `of` tells which of the three arrays is asked for. */
static void unpack_adamw(Function kernel, const Call *c) {
    int steps = dimension(c, "gradient", 0), of = whole_number(c, "of"),
        first = whole_number(c, "step");
    size_t n = (size_t)dimension(c, "weight", 0);
    float *weight = changing(c, "weight", n, of == 0), *m = changing(c, "m", n, of == 1);
    float *v = changing(c, "v", n, of == 2);
    const float(*gradient)[n] = argument(c, "gradient");
    for (int s = 0; s < steps; s++)
        AS(adamw, kernel)(n, weight, m, v, gradient[s], first + s, scalar(c, "rate"), scalar(c, "beta1"),
              scalar(c, "beta2"), scalar(c, "eps"), scalar(c, "decay"));
}

static void random_adamw(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 2000, 20011, (size_t)16 << 20);
    size_t steps = size == SMALL && random_between(random, 0, 1) ? 3 : 1;
    random_input(call, random, "weight", 1, SHAPE(n));
    random_input(call, random, "m", 1, SHAPE(n));
    float *v = call_input(call, "v", F32, 1, SHAPE(n));
    for (size_t i = 0; i < n; i++) v[i] = (float)(0.1 + random_uniform(random));
    random_input(call, random, "gradient", 2, SHAPE(steps, n));
    /* A model has weights of any size, and gradients as small. */
    float scale = size == SMALL ? (float)pow(10, -3 * random_between(random, 0, 4)) : 1;
    float *weight = (void *)argument(call, "weight"), *m = (void *)argument(call, "m"),
          *gradient = (void *)argument(call, "gradient");
    for (size_t i = 0; i < n; i++) {
        weight[i] *= scale;
        m[i] *= scale;
        v[i] *= scale * scale;
    }
    for (size_t i = 0; i < steps * n; i++) gradient[i] *= scale;
    index_input(call, "step", random_between(random, 1, 100));
    scalar_or_special(call, random, size, "rate", 0.01, SPECIAL(0, 1));
    scalar_or_special(call, random, size, "beta1", 0.9, SPECIAL(0, 0.5));
    scalar_or_special(call, random, size, "beta2", 0.95, SPECIAL(0.5, 0.999));
    scalar_or_special(call, random, size, "eps", 1e-5, SPECIAL(1e-8, 1e-3));
    scalar_or_special(call, random, size, "decay", 0.1, SPECIAL(0, 1));
    index_input(call, "of", size == LARGE ? 0 : random_between(random, 0, 2));
    call_output(call, F32, 1, SHAPE(n));
}

/* ------------------------------------------------------------------ Muon */

/* Each matrix of the gradient is a step's. `of`: 0 the weights, 1 m. */
static void unpack_muon(Function kernel, const Call *c) {
    int steps = dimension(c, "gradient", 0), rows = dimension(c, "weight", 0),
        columns = dimension(c, "weight", 1);
    size_t n = (size_t)rows * (size_t)columns;
    bool of_m = whole_number(c, "of");
    float *weight = changing(c, "weight", n, !of_m), *m = changing(c, "m", n, of_m);
    const float(*gradient)[rows][columns] = argument(c, "gradient");
    for (int s = 0; s < steps; s++)
        AS(muon, kernel)(rows, columns, (void *)weight, (void *)m, gradient[s], scalar(c, "rate"),
             scalar(c, "beta"), scalar(c, "decay"));
}

static void random_muon(Call *call, Random *random, Size size) {
    size_t rows = extent_squared(random, size, 1, 40, 70, 1024),
           columns = extent_squared(random, size, 1, 40, 50, 1024);
    size_t steps = size == SMALL ? (size_t)random_between(random, 1, 3) : 1;
    random_input(call, random, "weight", 2, SHAPE(rows, columns));
    random_input(call, random, "m", 2, SHAPE(rows, columns));
    random_input(call, random, "gradient", 3, SHAPE(steps, rows, columns));
    scalar_or_special(call, random, size, "rate", 0.02, SPECIAL(0, 1));
    scalar_or_special(call, random, size, "beta", 0.95, SPECIAL(0, 0.5));
    scalar_or_special(call, random, size, "decay", 0.1, SPECIAL(0, 1));
    index_input(call, "of", size == LARGE ? 0 : random_between(random, 0, 1));
    call_output(call, F32, 2, SHAPE(rows, columns));
}

/* ------------------------------------------------------------------ clipping */

/* The arrays lie one after the other in `gradient`, or in each of its rows, one for each call. The
 * output is the same, clipped, or in a case with `of_norm` the norms. */
static void unpack_clip_gradient(Function kernel, const Call *c) {
    int arrays = dimension(c, "sizes", 0);
    const int *sizes = argument(c, "sizes");
    bool of_norm = whole_number(c, "of_norm");
    size_t n[arrays], all = 0, count = tensor_count(input_named(c, "gradient"));
    for (int a = 0; a < arrays; a++) all += n[a] = (size_t)sizes[a];
    float *numbers = changing(c, "gradient", count, !of_norm), *norms = output(c),
          *gradient[arrays];
    for (size_t call = 0; call < count / all; call++) {
        for (int a = 0; a < arrays; a++) {
            gradient[a] = numbers;
            numbers += n[a];
        }
        double norm = AS(clip_gradient, kernel)(arrays, n, gradient, scalar(c, "max_norm"));
        if (of_norm) norms[call] = (float)norm;
    }
}

static void random_clip_gradient(Call *call, Random *random, Size size) {
    size_t arrays = extent(random, size, 1, 5, 3, 1), all = 0;
    int *sizes = call_input(call, "sizes", I32, 1, SHAPE(arrays));
    for (size_t a = 0; a < arrays; a++) {
        sizes[a] = (int)extent(random, size, 1, 700, 5003, (size_t)16 << 20);
        /* So many that one float32 cannot sum them: next to 2^24, 1 is lost. */
        if (size == LONG && sizes[a] > 1 << 17) sizes[a] <<= 7;
        all += (size_t)sizes[a];
    }
    random_input(call, random, "gradient", 1, SHAPE(all));
    double usual = random_uniform(random) * 1.5 * sqrt((double)all);
    scalar_or_special(call, random, size, "max_norm", usual, SPECIAL(0, 1));
    bool of_norm = size != LARGE && random_between(random, 0, 1);
    index_input(call, "of_norm", of_norm);
    call_output(call, F32, 1, SHAPE(of_norm ? 1 : all));
}

/* ------------------------------------------------------------------ the learning rate */

/* A rate for each step in `at`. */
static void unpack_learning_rate(Function kernel, const Call *c) {
    int count = dimension(c, "at", 0);
    const int *at = argument(c, "at");
    float *rates = output(c);
    for (int i = 0; i < count; i++)
        rates[i] =
            AS(learning_rate, kernel)(at[i], whole_number(c, "warmup"), whole_number(c, "steps"),
                                 scalar(c, "peak"), scalar(c, "lowest"));
}

static void random_learning_rate(Call *call, Random *random, Size size) {
    size_t count = extent(random, size, 1, 20, 300, 1000);
    int steps = random_between(random, 2, 1000), warmup = random_between(random, 0, steps - 1);
    int *at = call_input(call, "at", I32, 1, SHAPE(count));
    for (size_t i = 0; i < count; i++) at[i] = random_between(random, 1, steps + steps / 4);
    index_input(call, "warmup", warmup);
    index_input(call, "steps", steps);
    scalar_input(call, "peak", (float)(1 + random_uniform(random)));
    scalar_or_special(call, random, size, "lowest", random_uniform(random), SPECIAL(0, 1));
    call_output(call, F32, 1, SHAPE(count));
}

/* ------------------------------------------------------------------ micro-batches */

static void unpack_microbatch_weights(Function kernel, const Call *c) {
    AS(microbatch_weights, kernel)(dimension(c, "targets", 0), dimension(c, "targets", 1), output(c),
                       argument(c, "targets"));
}

/* The first target always counts. */
static void random_microbatch_weights(Call *call, Random *random, Size size) {
    size_t batches = extent(random, size, 1, 9, 16, 64),
           rows = extent(random, size, 1, 40, 512, 4096);
    int *targets = call_input(call, "targets", I32, 2, SHAPE(batches, rows));
    bool nothing_counts = size == SMALL && random_between(random, 0, 3) == 0;
    for (size_t i = 0; i < batches * rows; i++)
        targets[i] = nothing_counts ? -100 : random_between(random, i ? -5 : 0, 9);
    call_output(call, F32, 1, SHAPE(batches));
}

const Kernel training_kernels[] = {
    {KERNEL(adamw, "17_training", adamw)},
    {KERNEL(muon, "17_training", muon)},
    {KERNEL(clip_gradient, "17_training", clip_gradient)},
    {KERNEL(learning_rate, "17_training", learning_rate)},
    {KERNEL(microbatch_weights, "17_training", microbatch_weights)},
    {0},
};
