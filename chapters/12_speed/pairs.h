/* Chapter 12: BF16 dot products. Some processors have an instruction that multiplies two pairs of
 * BF16 numbers in each lane and adds both products to the sum. A pair takes the space of a float32,
 * and is copied, transposed and packed as if it were one. */
#ifndef PAIRS_H
#define PAIRS_H

#include "12_speed/panel.h"

#ifdef __AVX512BF16__
/* The nearest BF16 numbers in pairs: of 2 LANES that follow each other, */
INLINE Vector round_pairs(Vector first, Vector second) {
    return (Vector)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
}

/* and of two rows, each number with the one below it. */
INLINE Vector round_columns(Vector upper, Vector lower) {
#define AND_BELOW(n, lane) lane, (n) + (lane)
    typedef uint16_t Numbers __attribute__((vector_size(sizeof(Vector))));
    Numbers both = (Numbers)round_pairs(upper, lower);
    return (Vector)__builtin_shufflevector(both, both, EACH_LANE(AND_BELOW, LANES));
}
#else
INLINE Vector round_pairs(Vector first, Vector) { return first; }
INLINE Vector round_columns(Vector upper, Vector) { return upper; }
#endif

bool has_bf16_dots(
    void); /* has this processor, and does this compiler know, such an instruction? */

/* Are they faster than as many multiply-adds? AMD's do twice as many in a cycle (Zen 4), Intel's
 * half (Sapphire Rapids). */
bool bf16_dots_pay(void);

/* x is rounded to BF16, if it is not already. Only where has_bf16_dots(). */
extern const Method bf16_pairs;

#endif
