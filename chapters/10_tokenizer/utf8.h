/* Characters in UTF-8, and a text that is being written. */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- characters */

/* Number of bytes of the character at the start of `bytes`. If they are not valid UTF-8: how many
 * of them are the start of a character that is not finished, at least 1 and at most 3, as the
 * Unicode Standard counts it (3.9, "maximal subparts"). */
int utf8_character(size_t length, const char *bytes, bool *valid);

/* Code point of a character of valid UTF-8, and its number of bytes. */
uint32_t utf8_point(const char *bytes, size_t *n);

/* ---- classes of characters */

/* \p{L}, \p{N} and \s of a regular expression, as Unicode 16 defines them. */
typedef enum { OTHER, LETTER, NUMBER, SPACE } CharacterClass;

typedef struct {
    uint32_t first, last;
    CharacterClass class;
} CharacterRange;

/* unicode_data.c: sorted; what is in none of the ranges is OTHER. */
extern const CharacterRange character_ranges[];
extern const int character_range_count;

/* The stretch of code points around the last one that was looked up: the next one is mostly in it,
 * too. */
typedef struct {
    uint32_t from, to; /* [from, to) */
    CharacterClass class;
} ClassStretch;

CharacterClass character_class(uint32_t point, ClassStretch *last);

/* ---- a text that is being written */

typedef struct {
    size_t length, capacity;
    size_t most; /* a longer text is an error of the tokenizer's file: fail(); 0: no limit */
    char *text;  /* has room for one more byte than `length` */
} StringBuffer;

void buffer_add(StringBuffer *buffer, size_t length, const char *bytes);

/* Adds bytes as UTF-8, with U+FFFD where they are invalid: one for each such byte, or one for each
 * unfinished character. */
void buffer_add_utf8(StringBuffer *buffer, bool for_each_byte, size_t length, const char *bytes);

#endif
