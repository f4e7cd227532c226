/* Chapter 13: what the blocks of every format are read with: their count, a float16 of two bytes,
 * and the two halves of a byte. */
#ifndef HALVES_H
#define HALVES_H

#include "13_quantization/blocks.h"
#include "common/error.h"
#include "common/tensor.h"

static inline void require_blocks(int n, int numbers) {
    if (n % numbers) fail("a row of %d numbers cannot be cut into blocks of %d", n, numbers);
}

static inline float fp16_to_fp32(GgmlHalf bytes) { return f16_to_float(half_bits(bytes)); }

/* The levels of IQ4_NL and IQ4_XS: denser around zero, where most weights are. */
extern const int8_t iq4_levels[16];

static inline int low(uint8_t byte) { return byte & 15; }
static inline int high(uint8_t byte) { return byte >> 4; }

#endif
