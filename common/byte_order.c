#include "common/byte_order.h"

#include <string.h>

void turn_bytes(size_t size, size_t count, void *to, const void *from) {
    memmove(to, from, size * count);
    for (char *number = to, *end = number + size * count; number < end; number += size)
        for (size_t i = 0; i < size / 2; i++) {
            char byte = number[i];
            number[i] = number[size - 1 - i], number[size - 1 - i] = byte;
        }
}

void file_order(size_t size, size_t count, void *to, const void *from) {
    if (HIGHEST_FIRST) turn_bytes(size, count, to, from);
    else memmove(to, from, size * count);
}
