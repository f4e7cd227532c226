#include "13_quantization/products.h"
#include "13_quantization/quantization.h"
#include "common/error.h"

#include <string.h>

/* Formats that are read only, those that have a product of their own, and those that are written as
 * well. */
#define READ(name) .dequantize = dequantize_##name
#define MULTIPLIED(name) READ(name), .linear = project_blocks
#define WRITTEN(name) MULTIPLIED(name), .quantize = quantize_##name, .dot = dot_##name

static const QuantType formats[] = {
    {"Q4_0", 2, 32, sizeof(BlockQ4_0), WRITTEN(q4_0)},
    {"Q4_1", 3, 32, sizeof(BlockQ4_1), WRITTEN(q4_1)},
    {"Q5_0", 6, 32, sizeof(BlockQ5_0), WRITTEN(q5_0)},
    {"Q5_1", 7, 32, sizeof(BlockQ5_1), WRITTEN(q5_1)},
    {"Q8_0", 8, 32, sizeof(BlockQ8_0), WRITTEN(q8_0)},
    {"Q2_K", 10, 256, sizeof(BlockQ2_K), READ(q2_k)},
    {"Q3_K", 11, 256, sizeof(BlockQ3_K), READ(q3_k)},
    {"Q4_K", 12, 256, sizeof(BlockQ4_K), MULTIPLIED(q4_k)},
    {"Q5_K", 13, 256, sizeof(BlockQ5_K), MULTIPLIED(q5_k)},
    {"Q6_K", 14, 256, sizeof(BlockQ6_K), MULTIPLIED(q6_k)},
    {"IQ4_NL", 20, 32, sizeof(BlockIQ4_NL), READ(iq4_nl)},
    {"IQ3_S", 21, 256, sizeof(BlockIQ3_S), READ(iq3_s)},
    {"IQ4_XS", 23, 256, sizeof(BlockIQ4_XS), READ(iq4_xs)},
    {"TQ1_0", 34, 256, sizeof(BlockTQ1_0), READ(tq1_0)},
    {"TQ2_0", 35, 256, sizeof(BlockTQ2_0), READ(tq2_0)},
};

const QuantType *format_at(int index) {
    return index < (int)(sizeof formats / sizeof *formats) ? &formats[index] : NULL;
}

const QuantType *format_named(const char *name) {
    const QuantType *format;
    for (int f = 0; (format = format_at(f)); f++)
        if (strcmp(format->name, name) == 0) return format;
    fail("there is no format %s", name);
}

const QuantType *format_of_type(int type) {
    int f = 0;
    while (format_at(f) && format_at(f)->type != type) f++;
    return format_at(f);
}
