#include "10_tokenizer/utf8.h"
#include "common/error.h"

#include <string.h>

/* ------------------------------------------------------------------ characters */

/* The range of the second byte excludes overlong forms, surrogates and code points beyond
 * U+10FFFF. */
int utf8_character(size_t length, const char *bytes, bool *valid) {
    const unsigned char *b = (const unsigned char *)bytes;
    unsigned char low = 0x80, high = 0xbf;
    int wanted = b[0] < 0x80   ? 1
                 : b[0] < 0xc2 ? 0
                 : b[0] < 0xe0 ? 2
                 : b[0] < 0xf0 ? 3
                 : b[0] < 0xf5 ? 4
                               : 0;
    if (b[0] == 0xe0) low = 0xa0;
    if (b[0] == 0xed) high = 0x9f;
    if (b[0] == 0xf0) low = 0x90;
    if (b[0] == 0xf4) high = 0x8f;
    int n = 1;
    while (n < wanted && (size_t)n < length && b[n] >= low && b[n] <= high) {
        n++;
        low = 0x80;
        high = 0xbf;
    }
    *valid = n == wanted;
    return n;
}

uint32_t utf8_point(const char *bytes, size_t *n) {
    const unsigned char first = (unsigned char)bytes[0];
    *n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t point = *n == 1 ? first : first & (0x7fu >> *n);
    for (size_t i = 1; i < *n; i++) point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
    return point;
}

/* ------------------------------------------------------------------ classes of characters */

/* Binary search for the first range that ends at `point` or after it. */
static ClassStretch stretch_of(uint32_t point) {
    int low = 0, high = character_range_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (character_ranges[middle].last < point) low = middle + 1;
        else high = middle;
    }
    const CharacterRange *range = &character_ranges[low];
    if (low < character_range_count && range->first <= point)
        return (ClassStretch){range->first, range->last + 1, range->class};
    uint32_t from = low > 0 ? range[-1].last + 1 : 0;
    return (ClassStretch){from, low < character_range_count ? range->first : UINT32_MAX, OTHER};
}

static CharacterClass ascii_class(uint32_t c) {
    if ((c | 0x20) - 'a' < 26) return LETTER;
    if (c - '0' < 10) return NUMBER;
    return c == ' ' || c - '\t' < 5 ? SPACE : OTHER;
}

CharacterClass character_class(uint32_t point, ClassStretch *last) {
    if (point < 0x80) return ascii_class(point);
    if (point < last->from || point >= last->to) *last = stretch_of(point);
    return last->class;
}

/* ------------------------------------------------------------------ string buffers */

void buffer_add(StringBuffer *buffer, size_t length, const char *bytes) {
    if (buffer->most && length > buffer->most - buffer->length)
        fail("what the tokenizer puts in place of others makes this text over %zu bytes long: no "
             "model's does that",
             buffer->most);
    if (buffer->capacity - buffer->length < length + 1) {
        buffer->capacity = 2 * buffer->capacity + length + 1;
        buffer->text = xrealloc(buffer->text, buffer->capacity);
    }
    if (length > 0) memcpy(buffer->text + buffer->length, bytes, length);
    buffer->length += length;
}

void buffer_add_utf8(StringBuffer *buffer, bool for_each_byte, size_t length, const char *bytes) {
    for (size_t i = 0; i < length;) {
        bool valid;
        int n = utf8_character(length - i, bytes + i, &valid);
        if (valid) buffer_add(buffer, (size_t)n, bytes + i);
        else buffer_add(buffer, 3, "\uFFFD");
        i += (size_t)(!valid && for_each_byte ? 1 : n);
    }
}
