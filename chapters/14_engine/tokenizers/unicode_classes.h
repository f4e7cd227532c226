/* Everything that a tokenizer.json may ask of a character, as the libraries tiktoken and tokenizers
 * answer it, whatever version of Unicode this machine's PCRE2 and utf8proc know. unicode_tables.c
 * has the data. */
#ifndef UNICODE_CLASSES_H
#define UNICODE_CLASSES_H

#include <stdint.h>

enum {
    BLANK = 1,        /* \s: White_Space */
    HAN = 2,          /* \p{Han} */
    WORD = 4,         /* \w in brackets */
    ONLY_WORD = 8,    /* \w outside of brackets has these, too: ² ³ ¹ ¼ ½ ¾ */
    RUST_WORD = 16,   /* \w of the pre-tokenizer Whitespace, and of a token's single_word */
    DIGIT = 32,       /* the pre-tokenizer Digits, of Unicode 17 */
    PUNCTUATION = 64, /* the pre-tokenizer Punctuation, of Unicode 7 */
    CASE_OF_S = 128,  /* ſ, which is s where case does not count */
    CASE_OF_K = 256,  /* the Kelvin sign, which is k */
    NEWER = 512,      /* not in Unicode 9, which is that of the normal forms */
};

/* Characters of which all answers are the same. */
typedef struct {
    char letter; /* in unicode_class_runs */
    /* general category of Unicode 16: "Lu"; P, S, Z and C, but for Zs, are not divided */
    const char *category;
    int traits;
} UnicodeClass;

extern const UnicodeClass unicode_classes[];
extern const int unicode_class_count;
extern const char unicode_class_runs[];

/* The place of a code point's class in unicode_classes. The first call reads the table: it should
 * not be made by several threads. */
int unicode_class(uint32_t point);

/* Lower case of the characters [first, last] that are NEWER: so much further on. */
typedef struct {
    uint32_t first, last;
    int32_t further;
} NewerCase;

extern const NewerCase newer_cases[];
extern const int newer_case_count;

#endif
