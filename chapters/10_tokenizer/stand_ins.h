/* Which character is a letter, Unicode says, anew each year, and PCRE2 says as its own Unicode does: to that of 2021,
 * U+31350, a Chinese character since 2022, is none. Ids must not depend on it. So where a text has characters that some
 * PCRE2 may know otherwise than tiktoken, a copy of it is split, in which another stands in for each of them: of the
 * same class, of as many bytes, and so old that every PCRE2 knows it. */
#ifndef STAND_INS_H
#define STAND_INS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    NONE, UPPER, LOWER, MODIFIER, LETTER, HAN, MARK, SPACING, DIGIT, NUMBER, PUNCTUATION, SYMBOL, FORMAT, NEWEST_DIGIT,
    CLASSES
} Class;

/* As whose Unicode: UNICODE_16 is that of the patterns of tiktoken and tokenizers; tokenizers' pre-tokenizer
 * Digits knows those of UNICODE_17, too, which are of the class NEWEST_DIGIT, and Punctuation knows none of the
 * newer characters. */
typedef enum { UNICODE_16, UNICODE_17, UNICODE_OLD } Unicode;

/* The characters [first, last] are of this class; NONE: they are not assigned yet. */
typedef struct {
    uint32_t first, last;
    Class class;
} Newer;

extern const Newer newer[]; /* in order */
extern const int newer_count;

/* The lower case of newer characters, for those whose pattern is none: normal_form.c. */
typedef struct {
    uint32_t first, last;
    int32_t further;
} NewerCase;

extern const NewerCase newer_cases[];
extern const int newer_case_count;

/* The range that has this character, or NULL. */
const Newer *newer_range(uint32_t point);

/* The copy of a text that is UTF-8, as long as it; NULL if it needs none. The caller frees. */
char *with_stand_ins(Unicode unicode, size_t length, const char *text);

#endif
