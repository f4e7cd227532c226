/* Calls of the quantization kernels: rows of numbers, and the blocks that encode them. */
#include "13_quantization/quantization.h"
#include "common/check.h"
#include "tests/judge/kernels.h"

#include <string.h>

/* Bytes are handed over as floats: each fits in one. A block of nothing but what was there before
 * stays unwritten. */
static void as_floats(size_t count, int block, float out[count], const uint8_t bytes[count]) {
    const uint16_t poison = POISON;
    uint8_t unwritten[2];
    memcpy(unwritten, &poison, 2);
    for (size_t start = 0; start < count; start += (size_t)block) {
        bool written = false;
        for (size_t i = start; i < start + (size_t)block; i++)
            written |= bytes[i] != unwritten[i % 2];
        for (size_t i = start; i < start + (size_t)block; i++)
            if (written) out[i] = bytes[i];
            else memcpy(&out[i], (const uint16_t[]){POISON, POISON}, sizeof *out);
    }
}

static void unpack_quantize(int block, Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), n = dimension(c, "x", 1);
    size_t bytes = (size_t)rows * (size_t)(n / 32 * block);
    void *blocks = work_room("blocks", (bytes + sizeof(float) - 1) / sizeof(float));
    AS(quantize_q8_0, kernel)(rows, n, blocks, argument(c, "x"));
    as_floats(bytes, block, output(c), blocks);
}

static void random_quantize(int block, Call *call, Random *random, Size size) {
    size_t rows = extent_squared(random, size, 1, 4, 9, 64),
           blocks = extent_squared(random, size, 1, 5, 35, 128);
    random_input(call, random, "x", 2, SHAPE(rows, 32 * blocks));
    call_output(call, F32, 2, SHAPE(rows, (size_t)block * blocks));
}

static void unpack_dequantize(Function kernel, const Call *c) {
    int rows = (int)c->output.shape[0], n = (int)c->output.shape[1];
    AS(dequantize_q8_0, kernel)(rows, n, output(c), argument(c, "blocks"));
}

/* Any bytes, but for the float16 scales: of these the exponent is one that weights have. */
static void random_blocks(Call *call, Random *random, const char *name, const QuantType *format,
                          const int halves[2], size_t rows, size_t count) {
    size_t bytes = (size_t)format->bytes;
    uint8_t *block = call_input(call, name, U8, 2, SHAPE(rows, count * bytes));
    for (size_t b = 0; b < rows * count; b++, block += bytes) {
        for (size_t i = 0; i < bytes; i++) block[i] = (uint8_t)random_between(random, 0, 255);
        for (int h = 0; h < 2; h++)
            if (halves[h] >= 0)
                block[halves[h] + 1] = (uint8_t)((block[halves[h] + 1] & 0x83) | 0x20);
        /* Of equal weights the scale is 0, and of such as begin at 0 the minimum is. */
        for (int h = 0; h < 2 && random_between(random, 0, 3) == 0; h++)
            if (halves[h] >= 0 && random_between(random, 0, 1))
                block[halves[h]] = block[halves[h] + 1] = 0;
    }
}

/* The offsets of the scales in a format's blocks, little-endian. */
static const int *halves_of(const QuantType *format) {
    static const struct {
        const char *name;
        int at[2];
    } others[] = {{"Q4_1", {0, 2}}, {"Q5_1", {0, 2}}, {"Q2_K", {80, 82}}, {"Q3_K", {108, -1}},
                  {"Q4_K", {0, 2}}, {"Q5_K", {0, 2}}, {"Q6_K", {208, -1}}};
    static const int first[2] = {0, -1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, format->name) == 0) return others[i].at;
    return first;
}

static void random_dequantize(const char *name, Call *call, Random *random, Size size) {
    const QuantType *format = format_named(name);
    size_t rows = extent_squared(random, size, 1, 4, 9, 64),
           count = extent_squared(random, size, 1, 5, 35, 128 * 32 / (size_t)format->numbers);
    random_blocks(call, random, "blocks", format, halves_of(format), rows, count);
    call_output(call, F32, 2, SHAPE(rows, count * (size_t)format->numbers));
}

/* y[r][o], one product at a time. */
static void unpack_dot(int block, Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), out = dimension(c, "weight", 0),
        n = dimension(c, "x", 1) / (int)sizeof(BlockQ8_0) * 32;
    size_t row = (size_t)(n / 32 * block), x_row = (size_t)n / 32 * sizeof(BlockQ8_0);
    const char *weight = argument(c, "weight"), *x = argument(c, "x");
    float(*y)[out] = output(c);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++)
            y[r][o] = AS(dot_q8_0, kernel)(n, weight + (size_t)o * row, x + (size_t)r * x_row);
}

static void random_dot(const char *name, Call *call, Random *random, Size size) {
    const QuantType *format = format_named(name), *q8_0 = format_named("Q8_0");
    size_t rows = extent_squared(random, size, 1, 4, 5, 1),
           out = extent_squared(random, size, 1, 4, 7, 4096),
           count = extent_squared(random, size, 1, 6, 35, 128);
    random_blocks(call, random, "weight", format, halves_of(format), out, count);
    random_blocks(call, random, "x", q8_0, halves_of(q8_0), rows, count);
    call_output(call, F32, 2, SHAPE(rows, out));
}

#define READS(name, format)                                                                        \
    static void random_dequantize_##name(Call *call, Random *random, Size size) {                  \
        random_dequantize(format, call, random, size);                                             \
    }
#define BOTH(name, format, Block)                                                                  \
    READS(name, format)                                                                            \
    static void unpack_quantize_##name(Function kernel, const Call *c) {                           \
        unpack_quantize((int)sizeof(Block), kernel, c);                                            \
    }                                                                                              \
    static void random_quantize_##name(Call *call, Random *random, Size size) {                    \
        random_quantize((int)sizeof(Block), call, random, size);                                   \
    }                                                                                              \
    static void unpack_dot_##name(Function kernel, const Call *c) {                                \
        unpack_dot((int)sizeof(Block), kernel, c);                                                 \
    }                                                                                              \
    static void random_dot_##name(Call *call, Random *random, Size size) {                         \
        random_dot(format, call, random, size);                                                    \
    }

BOTH(q8_0, "Q8_0", BlockQ8_0)
BOTH(q4_0, "Q4_0", BlockQ4_0)
BOTH(q4_1, "Q4_1", BlockQ4_1)
BOTH(q5_0, "Q5_0", BlockQ5_0)
BOTH(q5_1, "Q5_1", BlockQ5_1)
READS(iq4_nl, "IQ4_NL")
READS(q2_k, "Q2_K")
READS(q3_k, "Q3_K")
READS(q4_k, "Q4_K")
READS(q5_k, "Q5_K")
READS(q6_k, "Q6_K")

/* A row of 33 numbers; there is room for two blocks of any format. */
static void a_number_over(Call *call) {
    random_input(call, &(Random){.state = 2}, "x", 2, SHAPE(1, 33));
    call_output(call, F32, 2, SHAPE(1, 64));
}

static void a_number_over_to_read(Call *call) {
    call_input(call, "blocks", U8, 2, SHAPE(1, 512));
    call_output(call, F32, 2, SHAPE(1, 33));
}

static const Refusal refused_by_writers[] = {
    {"a row of 33 numbers is no whole number of blocks", a_number_over, false}, {0}};
static const Refusal refused_by_readers[] = {
    {"a row of 33 numbers is no whole number of blocks", a_number_over_to_read, false}, {0}};

#define WRITER(format)                                                                             \
    {KERNEL(quantize_##format, "13_quantization", quantize_##format), .pointwise = true,           \
     .refusals = refused_by_writers}
#define READER(format)                                                                             \
    {.name = "dequantize_" #format,                                                                \
     .chapter = "13_quantization",                                                                 \
     .ours = (Function)dequantize_##format,                                                        \
     .unpack = unpack_dequantize,                                                                  \
     .random_call = random_dequantize_##format,                                                    \
     .pointwise = true,                                                                            \
     .refusals = refused_by_readers}
#define PRODUCT(format) {KERNEL(dot_##format, "13_quantization", dot_##format)}

const Kernel quantization_kernels[] = {
    WRITER(q8_0),  WRITER(q4_0),  WRITER(q4_1),  WRITER(q5_0), WRITER(q5_1),   READER(q8_0),
    READER(q4_0),  READER(q4_1),  READER(q5_0),  READER(q5_1), READER(iq4_nl), READER(q2_k),
    READER(q3_k),  READER(q4_k),  READER(q5_k),  READER(q6_k), PRODUCT(q8_0),  PRODUCT(q4_0),
    PRODUCT(q4_1), PRODUCT(q5_0), PRODUCT(q5_1), {0},
};
