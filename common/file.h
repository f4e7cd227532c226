/* Whole files: in memory, or mapped. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All bytes of a text, from a file, a pipe or, where path is "-", standard input; a NUL follows them. The caller frees.
 * Or fail(). */
char *file_read(const char *path, size_t *length);

/* The same of a regular file alone: a pipe would wait for its writer, and some devices never end. */
char *file_read_regular(const char *path, size_t *length);

enum { FILE_WHY = 160 }; /* bytes of a reason */

/* Maps a regular file read-only; *bytes is NULL if it is empty. Returns false with the reason, such as "cannot open
 * it: …". A file that becomes shorter while it is mapped, or a disk that fails, ends the program with one line and
 * status 1. */
bool file_map(const char *path, void **bytes, size_t *size, char why[static FILE_WHY]);
void file_unmap(void *bytes, size_t size);

/* Gives the memory of these bytes back, if they lie in a mapped file: who reads them again waits for them again. */
void file_unload(const void *bytes, size_t size);

/* Whether something has this name. A link that points nowhere does: who opens it is told so. */
bool file_is_there(const char *path);
bool file_is_folder(const char *path);
bool file_is_mapped(const char *path); /* by that name or another one */

/* Whether a regular file has these bytes at this place. And whether there is one with something else there, of another
 * kind than is about to be written: it would be lost. */
bool file_has(const char *path, size_t at, const char *bytes);
bool file_would_be_lost(const char *path, size_t at, const char *bytes);

/* A number of four bytes within a file's bytes, at any address. */
static inline uint32_t file_u32(const void *bytes) {
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

bool name_ends_in(const char *name, const char *ending); /* "main.c" in ".c" */

/* A path as one word of a command for a shell, whatever is in it: in quotes. The caller frees. */
char *shell_word(const char *path);

#endif
