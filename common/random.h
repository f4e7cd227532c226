/* A seeded random generator: the same numbers on every machine. */
#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t state; /* any seed */
} Random;

uint64_t random_bits(Random *random);                  /* SplitMix64 (Steele, Lea, Flood 2014) */
double random_uniform(Random *random);                 /* in [0, 1), 53 bits */
double random_normal(Random *random);                  /* mean 0, variance 1 (Box, Muller 1958) */
int random_between(Random *random, int low, int high); /* low <= result <= high */
void random_fill(Random *random, size_t count, float out[count]); /* normal, as torch.randn */

#endif
