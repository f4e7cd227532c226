/* A text that is being written. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t length, capacity;
    size_t most; /* it must not become longer: fail(); 0: it may */
    char *text;  /* behind it is room for one more byte */
} Text;

void text_add(Text *text, size_t length, const char *bytes);

/* Bytes as UTF-8, with U+FFFD where they are none: one for each byte, or one for all that begin the same character. */
void text_add_characters(Text *text, bool for_each_byte, size_t length, const char *bytes);

#endif
