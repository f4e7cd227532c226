#include "common/file.h"
#include "common/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *file_read(const char *path, size_t *length) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) fail("%s: %s", path, strerror(errno));
    size_t capacity = 1 << 16, got;
    char *bytes = reallocate(NULL, capacity);
    *length = 0;
    while ((got = fread(bytes + *length, 1, capacity - *length - 1, file)) > 0) {
        *length += got;
        if (*length + 1 == capacity) bytes = reallocate(bytes, capacity *= 2); /* a pipe does not tell its length */
    }
    if (ferror(file)) {
        const char *why = strerror(errno);
        free(bytes);
        fail("%s: %s", path, why);
    }
    if (file != stdin) fclose(file);
    bytes[*length] = '\0';
    return bytes;
}
