/* A target of `make fuzz` and of the replay in `make test`: any bytes are taken, and what was
 * promised of them holds. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void promise(bool kept, const char *what, const char *of_what) {
    if (kept) return;
    fprintf(stderr, "broken promise: %s: %s\n", what, of_what);
    abort();
}

#endif
