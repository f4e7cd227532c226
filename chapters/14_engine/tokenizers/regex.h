/* The regular expressions of a tokenizer.json. They are written for the library Oniguruma; here
 * PCRE2 runs them. An expression is translated where the two libraries mean different things by it,
 * and refused where that is not known.
 *
 * PCRE2 is not asked what a letter is, for its version of Unicode may be another one: it gets one
 * byte for each character, the character itself if that is of ASCII, otherwise its class
 * (unicode_classes.h); and \p{L} becomes the set of the bytes of all letters. */
#ifndef REGEX_H
#define REGEX_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Regex Regex;

/* False where this program was built without PCRE2: then texts alone are searched for. */
extern const bool has_regex;

/* `where` and `path` are for messages: what holds the expression. */
Regex *regex_new(const char *path, const char *where, const char *expression);
Regex *regex_of_text(const char *text); /* finds that text; the text stays the caller's */
Regex *
regex_of_words(bool signs);   /* words as Rust has them; with `signs`, runs of other signs, too */
Regex *regex_of_digits(void); /* one digit or other numeral, as the pre-tokenizer Digits has them */
Regex *
regex_of_punctuation(void); /* one punctuation mark, as the pre-tokenizer Punctuation has them */
void regex_free(Regex *regex);

/* A search through parts of one text, which is valid UTF-8. */
typedef struct Search Search;

Search *search_new(const Regex *regex, size_t length, const char *text);

/* The part to search. What precedes and follows it is not seen. */
void search_part(Search *search, size_t start, size_t length);

/* Finds the next match, from the part's beginning on: bytes [from, to) of the part. */
bool search_next(Search *search, size_t *from, size_t *to);
void search_free(Search *search);

#endif
