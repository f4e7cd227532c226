/* The regular expressions of a tokenizer.json. They are written for the library Oniguruma, and here PCRE2 finds what
 * they match: each is spelled anew where the two mean different things by it, or refused where that is not known. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Pattern Pattern;

/* `where` and `path` are for messages: what holds the pattern. */
Pattern *pattern_new(const char *path, const char *where, const char *expression);
Pattern *pattern_of_text(const char *text); /* finds that text; the text's letters stay the caller's */
Pattern *pattern_of_words(bool signs);      /* words as Rust has them; with `signs`, runs of other signs, too */
Pattern *pattern_of_digits(void);           /* one digit or other numeral, as Rust has them */
Pattern *pattern_of_punctuation(void);      /* one sign of punctuation, as the library tokenizers has them */
void pattern_free(Pattern *pattern);

/* A search through parts of one text, which is UTF-8. */
typedef struct Search Search;

Search *search_new(const Pattern *pattern, size_t length, const char *text);
void search_part(Search *search, size_t start, size_t length); /* what comes before and behind this part is not seen */
bool search_next(Search *search, size_t *from, size_t *to);    /* the next match, from the part's beginning on */
void search_free(Search *search);

#endif
