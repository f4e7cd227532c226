#include "tests/judge/kernels.h"
#include "common/linear.h"

#include <math.h>
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

/* ------------------------------------------------------------------ inputs without a parameter */

static const struct {
    const char *kernel, *input, *words; /* kernel NULL: any */
} explained[] = {
    {"adamw", "of", "which array is the output: 0 weight, 1 m, 2 v"},
    {"muon", "of", "which array is the output: 0 weight, 1 m"},
    {"clip_gradient", "of_norm",
     "1: the output is the norm that is returned, and not the gradient"},
    {"clip_gradient", "sizes", "the arrays' lengths: they lie one after the other in gradient"},
    {"flash_attention_lse", "of_out", "1: the output is out, [T][H D], and not lse"},
    {"feed_forward", "activation", "0 relu, 1 gelu, 2 silu"},
    {"gated_feed_forward", "unit", "0 glu, 1 bilinear, 2 reglu, 3 geglu, 4 swiglu"},
    {"activation_backward", "derivative", "of which activation: 0 relu, 1 gelu, 2 silu"},
    {"learning_rate", "at", "the steps: the output has a rate for each"},
    {"rope_frequencies", "rope_type",
     "0 default, 1 linear, 2 dynamic, 3 yarn, 4 llama3, 5 longrope, 6 factors of each pair"},
    {"decoder_logits", "last", "the last hidden state, before the norm"},
    {"attention_block", "interleaved", "1: the model's pairs are (2i, 2i + 1)"},
    {"bpe_merge", "pieces", "the bytes of all pieces, one piece after the other"},
    {"bpe_merge", "lengths", "how many bytes each piece has"},
    {NULL, "layer", "which layer it is, from 0"},
    {NULL, "alone", "the other gradients are NULL"},
    {NULL, "split", "the text comes in two pieces, of which the second begins there; 0: in one"},
    {NULL, "other", "rows that another layer is given between the two pieces"},
    {NULL, "ranks", "how many ranks there are"},
    {NULL, "rank", "the rank whose part is asked for"},
};

const char *words_on_input(const char *kernel, const char *input) {
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++)
        if ((!explained[i].kernel || strcmp(explained[i].kernel, kernel) == 0) &&
            strcmp(explained[i].input, input) == 0)
            return explained[i].words;
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

const Numbers usual_numbers = {0};
static Numbers chosen_numbers, drawn_numbers;

void choose_numbers(const Numbers *numbers) {
    chosen_numbers = *numbers;
    drawn_numbers = usual_numbers;
}

Numbers numbers_drawn(void) { return drawn_numbers; }

Numbers draw_call(const Kernel *kernel, Call *call, Random *random, Size size,
                  const Numbers *numbers) {
    choose_numbers(size == SMALL ? numbers : &usual_numbers);
    kernel->random_call(call, random, size);
    const Numbers drawn_here = numbers_drawn();
    choose_numbers(&usual_numbers);
    return drawn_here;
}

const char *kind_text(NumberKind kind) {
    static const char *const texts[KINDS] = {[POSITIVE] = "all positive",
                                             [NEGATIVE] = "all negative",
                                             [SOME_ZERO] = "0 in every third place",
                                             [ALL_ZERO] = "all 0",
                                             [SECOND_HALF_ZERO] = "0 in its second half",
                                             [EQUAL] = "all equal",
                                             [HALVES] = "multiples of 1/2",
                                             [LARGE_NUMBERS] = "10 times as large as usual",
                                             [TINY_NUMBERS] = "10000 times as small as usual",
                                             [OUTLIER] = "usual but for one number near 100"};
    return texts[kind];
}

static float of_kind(NumberKind kind, size_t count, size_t i, const float normal[count]) {
    switch (kind) {
    case POSITIVE: return fabsf(normal[i]);
    case NEGATIVE: return -fabsf(normal[i]);
    case SOME_ZERO: return i % 3 == 1 ? 0 : normal[i];
    case ALL_ZERO: return 0;
    case SECOND_HALF_ZERO: return i >= count / 2 ? 0 : normal[i];
    case EQUAL: return normal[0];
    case HALVES: return roundf(2 * normal[i]) / 2;
    case LARGE_NUMBERS: return 10 * normal[i];
    case TINY_NUMBERS: return 1e-4f * normal[i];
    case OUTLIER: return i == count * 5 / 7 ? 100 + normal[i] : normal[i];
    default: return normal[i];
    }
}

void random_input(Call *call, Random *random, const char *name, int rank, const size_t shape[]) {
    NumberKind kind = chosen_numbers.kind[call->input_count];
    drawn_numbers.kind[call->input_count] = kind;
    size_t count = 1;
    for (int axis = 0; axis < rank; axis++) count *= shape[axis];
    float *input = call_input(call, name, F32, rank, shape);
    fill_long(random, count, input);
    for (size_t i = 0; kind != USUAL && i < count; i++) input[i] = of_kind(kind, count, i, input);
}

void scalar_input(Call *call, const char *name, float value) {
    *(float *)call_input(call, name, F32, 0, NULL) = value;
}

void scalar_or_special(Call *call, Random *random, Size size, const char *name, double usual,
                       int count, const double special[]) {
    bool is_special = size == SMALL && random_between(random, 0, 3) == 0;
    scalar_input(call, name,
                 (float)(is_special ? special[random_between(random, 0, count - 1)] : usual));
}

void random_eps(Call *call, Random *random, Size size) {
    scalar_or_special(call, random, size, "eps", 1e-5, SPECIAL(1e-6, 1e-3, 0.5));
}

void random_alpha(Call *call, Random *random, Size size) {
    double usual = random_uniform(random);
    scalar_or_special(call, random, size, "alpha", usual, SPECIAL(0, 1, -0.7));
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

static int medium_output, outputs = 1;

void begin_medium(int which) {
    medium_output = which;
    outputs = 1;
}

int outputs_to_ask_for(void) { return outputs; }

int one_of(Random *random, Size size, int choices) {
    outputs = choices;
    return size == MEDIUM  ? medium_output
           : size >= LARGE ? 0
                           : random_between(random, 0, choices - 1);
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
