/* A whole file in memory. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H

#include <stddef.h>

/* All bytes of a file, or of standard input where path is "-"; a NUL follows them. The caller frees. Or fail(). */
char *file_read(const char *path, size_t *length);

#endif
