#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Names come from files and may hold anything. The message stays one line and sends no commands to
 * a terminal. The two bytes of UTF-8 that are U+0080 to U+009F are control characters, too. */
void blank_control_characters(char *text) {
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) c[0] = c[1] = '?';
        if (c[0] < ' ' || c[0] == 127) c[0] = '?';
    }
}

static bool said; /* a message was printed: there is no second one */

#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#elif defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#if SANITIZED /* the leak sanitizer asks this at exit: fail() frees nothing */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return said; }
#endif

static char speaker[32]; /* "rank 1: ", or nothing */

void set_error_prefix(const char *name) { snprintf(speaker, sizeof speaker, "%s: ", name); }

/* Whether a byte continues a UTF-8 character. The text must not be cut before it. */
static bool goes_on(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

/* A message may quote a very long text of a file or a command line. Its beginning is kept, and its
 * end, which says what is wrong. */
static void shorten(size_t room, char message[room], const char *whole) {
    enum { KEPT = 500 };
    size_t first = KEPT;
    const char *rest = whole + strlen(whole) - KEPT;
    while (goes_on(whole[first])) first--;
    while (goes_on(*rest)) rest++;
    snprintf(message, room, "%.*s … %s", (int)first, whole, rest);
}

void write_error(const char *format, va_list arguments) {
    char message[4096], *whole = NULL;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(message, sizeof message, format, arguments);
    if (length >= (int)sizeof message && vasprintf(&whole, format, again) >= 0)
        shorten(sizeof message, message, whole);
    free(whole);
    va_end(again);
    blank_control_characters(message);
    fflush(stdout);
    fprintf(stderr, "error: %s%s\n", speaker, message);
    said = true;
}

bool has_printed_error(void) { return said; }

_Noreturn void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_error(format, arguments);
    exit(1);
}

size_t size_mul(size_t a, size_t b) {
    size_t result;
    return __builtin_mul_overflow(a, b, &result) ? SIZE_MAX : result;
}

void finish_output(void) {
    errno = 0;
    if (said || (fflush(stdout) == 0 && !ferror(stdout))) return;
    fprintf(stderr, "error: the output cannot be written: %s\n",
            errno ? strerror(errno) : "a write failed; is the disk full?");
    _exit(1);
}

static _Noreturn void out_of_memory(size_t bytes) {
    if (bytes > PTRDIFF_MAX) fail("out of memory: more was asked for than there are addresses");
    fail("out of memory: %zu bytes were asked for", bytes);
}

void *xmalloc(size_t bytes) {
    void *memory = NULL;
    if (bytes > PTRDIFF_MAX || posix_memalign(&memory, 64, bytes ? bytes : 1) != 0)
        out_of_memory(bytes);
    return memory;
}

void *xrealloc(void *memory, size_t bytes) {
    memory = realloc(memory, bytes ? bytes : 1);
    if (!memory) out_of_memory(bytes);
    return memory;
}

char *xstrndup(const char *text, size_t length) {
    char *copy = xrealloc(NULL, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
