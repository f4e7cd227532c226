/* How programs end on bad input: one clear line on stderr, exit status 1, no partial output
 * file. */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Prints "error: " and the message, and exits 1. A message says what is wrong, where (file, tensor,
 * offset), and what to do. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on messages begin with the name of this process, one of several: "error: rank 1: ". */
void set_error_prefix(const char *name);

/* Prints the message and does not exit; and whether a message was printed. */
void write_error(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
bool has_printed_error(void);

/* Control characters become '?', so that a message with a hostile file's names stays one line. */
void blank_control_characters(char *text);

/* For atexit(): flushes stdout. Output that a full disk cuts off is an error. */
void finish_output(void);

/* malloc that never returns NULL. The memory is aligned to 64 bytes: a cache line, and the widest
 * vector. */
void *xmalloc(size_t bytes);

/* a * b, or SIZE_MAX if that overflows, which xmalloc() refuses: for sizes that a file states. */
size_t size_mul(size_t a, size_t b);

/* realloc, and a copy of so many letters as a string. They never return NULL. */
void *xrealloc(void *memory, size_t bytes);
char *xstrndup(const char *text, size_t length);

#endif
