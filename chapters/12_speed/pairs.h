/* Chapter 12: BF16 dot products. Some processors have an instruction that multiplies two pairs of BF16 numbers in each
 * lane and adds both products to the sum. A pair takes the room of a float32, and is copied, turned and packed as if
 * it were one. */
#ifndef PAIRS_H
#define PAIRS_H

#include "12_speed/panel.h"

bool has_bf16_dots(void); /* has this processor, and does this compiler know, such an instruction? */

/* Are they faster than as many multiply-adds? AMD's do twice as many in a cycle (Zen 4), Intel's half (Sapphire
 * Rapids). */
bool bf16_dots_pay(void);

/* x is rounded to BF16, if it is not already. Only where has_bf16_dots(). */
extern const Method bf16_pairs;

#endif
