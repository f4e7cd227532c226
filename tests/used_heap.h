/* For the tests of kernels that ask for room to work in. */
#ifndef TESTS_USED_HEAP_H
#define TESTS_USED_HEAP_H

#include <stdlib.h>
#ifdef __GLIBC__ /* as stdlib.h says */
#include <malloc.h>
#endif

/* Room that malloc hands out again is not zero: here it is NaN. The last block stays, which is
 * returned, or malloc would give all of it back to the system. */
static inline void *soil_the_heap(void) {
    enum { BLOCKS = 4096, BYTES = 2 << 10 }; /* more than what other tests gave back */
    volatile unsigned char *block[BLOCKS];
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0); /* or glibc, if the environment asks for it, soils it after us */
#endif
    for (int b = 0; b < BLOCKS; b++) block[b] = malloc(BYTES);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; block[b] && i < BYTES; i++) block[b][i] = 0xff;
    for (int b = 0; b < BLOCKS - 1; b++) free((void *)block[b]);
    return (void *)block[BLOCKS - 1];
}

#endif
