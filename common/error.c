#include "common/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Names come from files and may hold anything: the message stays one line, and commands no terminal. The two bytes of
 * UTF-8 that are U+0080 to U+009F are control characters, too. */
void blank_control_characters(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) c[0] = c[1] = '?';
        if (c[0] < ' ' || c[0] == 127) c[0] = '?';
    }
}

void say_error(const char *format, va_list arguments) {
    char message[4096];
    vsnprintf(message, sizeof message, format, arguments);
    blank_control_characters(message);
    fflush(stdout);
    fprintf(stderr, "error: %s\n", message);
}

_Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say_error(format, arguments);
    exit(1);
}

size_t product(size_t a, size_t b) {
    size_t result;
    return __builtin_mul_overflow(a, b, &result) ? SIZE_MAX : result;
}

void *allocate(size_t bytes) {
    void *memory = NULL;
    if (bytes > PTRDIFF_MAX) fail("out of memory: more was asked for than there are addresses");
    if (posix_memalign(&memory, 64, bytes ? bytes : 1) != 0) fail("out of memory: %zu bytes were asked for", bytes);
    return memory;
}
