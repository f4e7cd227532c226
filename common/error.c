#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void fail(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fputs("error: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void *allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, bytes ? bytes : 1) != 0) fail("out of memory: %zu bytes were asked for", bytes);
    return memory;
}
