/* Calls of the RoPE kernels: T positions, H heads of width D. */
#include "05_rope/rope.h"
#include "common/check.h"
#include "tests/judge/kernels.h"

#include <math.h>
#include <string.h>

static void unpack_rope(Function kernel, const Call *c) { /* rope_interleaved, rope_half_split */
    AS(rope_half_split, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), dimension(c, "x", 2), output(c),
                    argument(c, "x"), argument(c, "cosine"), argument(c, "sine"));
}

static void unpack_rope_qkv(Function kernel, const Call *c) {
    int KV = whole_number(c, "KV");
    AS(rope_qkv, kernel)(dimension(c, "qkv", 0), dimension(c, "qkv", 1) - 2 * KV, KV, dimension(c, "qkv", 2),
             output(c), argument(c, "qkv"), argument(c, "cosine"), argument(c, "sine"));
}

/* positions 0 .. T-1, the frequencies of Llama 2. */
static void random_table(Call *call, size_t T, size_t D) {
    float *cosine = call_input(call, "cosine", F32, 2, SHAPE(T, D / 2));
    float *sine = call_input(call, "sine", F32, 2, SHAPE(T, D / 2));
    for (size_t t = 0; t < T; t++)
        for (size_t i = 0; i < D / 2; i++) {
            double angle = (double)t * pow(10000, -2.0 * (double)i / (double)D);
            cosine[t * (D / 2) + i] = (float)cos(angle);
            sine[t * (D / 2) + i] = (float)sin(angle);
        }
}

static void random_rope(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 9, 131, 4096);
    size_t H = extent_squared(random, size, 1, 5, 33, 32);
    size_t D = 2 * extent(random, size, 1, 40, 65, 64);
    random_input(call, random, "x", 3, SHAPE(T, H, D));
    random_table(call, T, D);
    call_output(call, F32, 3, SHAPE(T, H, D));
}

static void random_rope_qkv(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 9, 131, 4096);
    size_t KV = extent_squared(random, size, 1, 3, 5, 8),
           H = KV * extent_squared(random, size, 1, 3, 7, 4);
    size_t D = 2 * extent_squared(random, size, 1, 40, 65, 64);
    random_input(call, random, "qkv", 3, SHAPE(T, H + 2 * KV, D));
    random_table(call, T, D);
    index_input(call, "KV", (int64_t)KV);
    call_output(call, F32, 3, SHAPE(T, H + 2 * KV, D));
}

/* A golden case names its RopeParameters as config.json does; what it leaves out is 0. */
static double number_or_0(const Call *c, const char *name) {
    return argument(c, name) ? scalar(c, name) : 0;
}

static RopeParameters rope_parameters(const Call *c) {
    return (RopeParameters){
        .rope_type =
            (RopeType)whole_number(c, "rope_type"), /* as tests/golden/05_rope.py numbers them */
        .rope_theta = number_or_0(c, "rope_theta"),
        .factor = number_or_0(c, "factor"),
        .max_position_embeddings = (int)number_or_0(c, "max_position_embeddings"),
        .original_max_position_embeddings = (int)number_or_0(c, "original_max_position_embeddings"),
        .low_freq_factor = number_or_0(c, "low_freq_factor"),
        .high_freq_factor = number_or_0(c, "high_freq_factor"),
        .beta_fast = number_or_0(c, "beta_fast"),
        .beta_slow = number_or_0(c, "beta_slow"),
        .attention_factor = number_or_0(c, "attention_factor"),
        .mscale = number_or_0(c, "mscale"),
        .mscale_all_dim = number_or_0(c, "mscale_all_dim"),
        .keep_fractions = number_or_0(c, "keep_fractions") != 0,
        .short_factor = argument(c, "short_factor"),
        .long_factor = argument(c, "long_factor"),
    };
}

/* The output: the frequencies, and last the factor that the kernel returns, if it wrote any
 * frequencies. */
static void unpack_rope_frequencies(Function kernel, const Call *c) {
    RopeParameters parameters = rope_parameters(c);
    int D = whole_number(c, "D");
    float *inv_freq = work_room("inv_freq", (size_t)D / 2), *out = output(c);
    float factor =
        AS(rope_frequencies, kernel)(D, inv_freq, &parameters, whole_number(c, "length"));
    memcpy(out, inv_freq, (size_t)D / 2 * sizeof *out);
    if (!is_poison(inv_freq[0])) out[D / 2] = factor;
}

/* The exercise asks first for the frequencies of the Llamas, and then for the other scalings. A
 * dynamic scaling within the trained length is none. */
static bool is_of_a_llama(const GoldenCase *one) {
    double type = tensor_get(golden_input(one, "rope_type"), 0);
    return type == ROPE_DEFAULT || type == ROPE_LLAMA3 ||
           (type == ROPE_DYNAMIC &&
            tensor_get(golden_input(one, "length"), 0) <=
                tensor_get(golden_input(one, "max_position_embeddings"), 0));
}

static void random_rope_frequencies(Call *call, Random *random, Size size) {
    size_t D = 2 * extent(random, size, 2, 64, 129, 1 << 19);
    index_input(call, "D", (int64_t)D);
    index_input(call, "length", random_between(random, 1, 20000));
    index_input(call, "rope_type", random_between(random, ROPE_DEFAULT, ROPE_LLAMA3));
    scalar_input(call, "rope_theta", (float)random_between(random, 1000, 500000));
    scalar_input(call, "factor", (float)random_between(random, 2, 32));
    scalar_input(call, "max_position_embeddings", 8192);
    scalar_input(call, "original_max_position_embeddings", 4096);
    scalar_input(call, "low_freq_factor", 1);
    scalar_input(call, "high_freq_factor", 4);
    call_output(call, F32, 1, SHAPE(D / 2 + 1));
}

static void unpack_rope_table(Function kernel, const Call *c) {
    AS(rope_table, kernel)(dimension(c, "positions", 0), 2 * dimension(c, "inv_freq", 0), output(c),
               argument(c, "positions"), argument(c, "inv_freq"));
}

static void random_rope_table(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 30, 131, 16384);
    size_t half = extent(random, size, 1, 64, 129, 64);
    int *positions = call_input(call, "positions", I32, 1, SHAPE(T));
    for (size_t t = 0; t < T; t++)
        positions[t] = random_between(random, 0, 30); /* farther, float32 angles part */
    float *inv_freq = call_input(call, "inv_freq", F32, 1, SHAPE(half));
    for (size_t i = 0; i < half; i++) inv_freq[i] = (float)pow(10000, -(double)i / (double)half);
    call_output(call, F32, 3, SHAPE(2, T, half));
}

static void odd_width(Call *call) {
    Random random = {.state = 2};
    random_input(call, &random, "x", 3, SHAPE(2, 1, 5));
    random_table(call, 2, 5);
    call_output(call, F32, 3, SHAPE(2, 1, 5));
}

static const Refusal refused_by_rope[] = {
    {"a head of width 5 cannot be cut into pairs", odd_width, false}, {0}};

const Kernel rope_kernels[] = {
    {KERNEL(rope_frequencies, "05_rope", rope_frequencies), .pointwise = true,
     .in_first_step = is_of_a_llama},
    {KERNEL(rope_table, "05_rope", rope_table)},
    {KERNEL(rope_interleaved, "05_rope", rope), .refusals = refused_by_rope},
    {KERNEL(rope_half_split, "05_rope", rope), .refusals = refused_by_rope},
    {KERNEL(rope_qkv, "05_rope", rope_qkv)},
    {0},
};
