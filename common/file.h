/* Whole files: in memory, or mapped. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All bytes of a text, from a file, a pipe or, where path is "-", standard input; a NUL follows
 * them. The caller frees. Or fail(). */
char *file_read(const char *path, size_t *length);

/* The same for a regular file only: a pipe would wait for its writer, and some devices never
 * end. */
char *file_read_regular(const char *path, size_t *length);

enum { FILE_WHY = 160 }; /* bytes of a reason */

/* Maps a regular file read-only; *bytes is NULL if it is empty. Returns false with the reason,
 * such as "cannot open it: …". A file that becomes shorter while it is mapped, or a disk that
 * fails, ends the program with one line and status 1. */
bool file_map(const char *path, void **bytes, size_t *size, char why[static FILE_WHY]);
void file_unmap(void *bytes, size_t size);

/* Releases the memory of these bytes of a mapped file. Reading them again fetches them again. */
void file_unload(const void *bytes, size_t size);

/* Whether something has this name, be it a link that points nowhere. */
bool file_is_there(const char *path);
bool file_is_folder(const char *path);
bool file_is_mapped(const char *path); /* by that name or another one */

/* Whether a regular file has these bytes at this place; and whether there is a non-empty regular
 * file that has other bytes there, which means that writing to the path would destroy something
 * else. */
bool file_has(const char *path, size_t at, const char *bytes);
bool file_would_be_lost(const char *path, size_t at, const char *bytes);

/* A number of four bytes within a file's bytes, at any address. */
static inline uint32_t file_u32(const void *bytes) {
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

bool name_ends_in(const char *name, const char *ending); /* "main.c" in ".c" */

/* A path as one quoted word of a shell command, whatever is in it. The caller frees. */
char *shell_word(const char *path);

#endif
