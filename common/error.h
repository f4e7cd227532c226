/* The one way a program ends on bad input: a clear line on stderr, exit status 1, no partial output file. */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Prints "error: " and the message: say what is wrong, where (file, tensor, offset), and what to do. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where several processes speak: from now on a message begins with its name, "error: rank 1: ". */
void speak_as(const char *name);

/* The message alone, for other ends than that; and whether there was one. */
void say_error(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
bool has_said_error(void);

/* Control characters become '?', so that a message stays one line whatever a hostile file calls things. */
void blank_control_characters(char *text);

/* At exit: text that a full disk cuts off is an error, too, though nobody waits for the last of it but exit. */
void finish_output(void);

/* malloc that never returns NULL; the memory is aligned to 64 bytes, a cache line and the widest vector. */
void *allocate(size_t bytes);

/* a b, or SIZE_MAX if it is larger than that, which allocate() refuses: for sizes that a file or a stranger names. */
size_t product(size_t a, size_t b);

/* realloc, and a copy of so many letters as a string of its own, that never return NULL. */
void *reallocate(void *memory, size_t bytes);
char *copy_text(const char *text, size_t length);

#endif
