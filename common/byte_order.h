/* The files of this course hold their numbers little endian, lowest byte first, as nearly every machine has them in
 * memory. Where a machine has the highest first (s390x), they are turned when they are read and when they are
 * written. */
#ifndef COMMON_BYTE_ORDER_H
#define COMMON_BYTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

enum { HIGHEST_FIRST = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ }; /* this machine */

/* `count` numbers of `size` bytes each, every one from back to front. `to` may be `from`. */
void turn_bytes(size_t size, size_t count, void *to, const void *from);

/* The same from a file's order to this machine's, or back: turned or as they are. */
void file_order(size_t size, size_t count, void *to, const void *from);

/* One number of a file, wherever it lies in memory. */
static inline uint32_t file_u32(const void *bytes) {
    const unsigned char *b = bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

#endif
