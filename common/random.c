#include "common/random.h"

#include <math.h>

uint64_t random_bits(Random *random) {
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_uniform(Random *random) { return (double)(random_bits(random) >> 11) * 0x1p-53; }

double random_normal(Random *random) {
    const double pi = 3.14159265358979323846;
    double u = 1 - random_uniform(random),
           v = random_uniform(random); /* u > 0: its logarithm is finite */
    return sqrt(-2 * log(u)) * cos(2 * pi * v);
}

int random_between(Random *random, int low, int high) {
    return low + (int)(random_bits(random) % (uint64_t)(high - low + 1));
}

void random_fill(Random *random, size_t count, float out[count]) {
    for (size_t i = 0; i < count; i++) out[i] = (float)random_normal(random);
}
