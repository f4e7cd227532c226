/* The steps of a tokenizer.json: what happens to a text before its words are merged, and to tokens
 * when they become a text again. The text is in pieces; a step rewrites every piece, cuts it, or
 * joins it with others. Source: normalizers, pre_tokenizers and decoders of the library
 * tokenizers. */
#ifndef STEPS_H
#define STEPS_H

#include "14_engine/tokenizers/regex.h"
#include "10_tokenizer/utf8.h"

typedef struct {
    size_t start, length; /* in the text of all pieces */
    /* so many of its bytes, from its start on, stand for the first character of the whole text */
    size_t first;
} Piece;

typedef struct {
    StringBuffer text;
    size_t count, capacity;
    Piece *pieces;
} Pieces;

void pieces_add(Pieces *pieces, size_t length, const char *text, size_t first);
void pieces_free(Pieces *pieces);

typedef enum {
    /* of a text */
    PREFIX,      /* puts `content` before it */
    REPLACE,     /* puts `content` for what the pattern finds */
    NORMAL_FORM, /* NFC, or another */
    LOWER_CASE,
    BYTE_LEVEL_ENCODE, /* writes each byte as a letter of GPT-2's alphabet */
    SPLIT,             /* cuts it at what the pattern finds */
    /* of tokens */
    BYTE_LEVEL_DECODE, /* and back; they become one */
    BYTE_FALLBACK,     /* <0xE7> <0x9A> <0x84> become a character */
    STRIP,             /* takes `content` from the front and the end, up to so many times */
    METASPACE_STRIP,   /* takes every `content` from the first one */
    FUSE,              /* they become one, with `content` between them */
} StepKind;

/* What happens to a match of the pattern. */
typedef enum { ISOLATED, REMOVED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS } Behavior;

typedef struct {
    StepKind kind;
    const char *content;
    Regex *pattern;
    Behavior behavior;
    bool inverted;         /* SPLIT: what the pattern does not find */
    bool unless_it_begins; /* PREFIX: with `content` */
    bool first_alone;      /* PREFIX: of what has the first character of the whole text */
    bool composed, compatible;
    int before, behind;
} Step;

typedef struct {
    int count;
    Step *steps;
} Steps;

/* "<0x0A>" is 10, and so are "<0x0a>" and "<0x+A>"; -1 if a token is no byte's. */
int byte_named(size_t length, const char *name);

void steps_add(Steps *steps, Step step);
void steps_apply(const Steps *steps, Pieces *pieces);
void steps_free(Steps *steps);

/* normal_form.c: NFC, NFD, NFKC or NFKD (composed or not, compatible or not) of a text, and its
 * letters in lower case, as the library has them: of Unicode 9 and 17. Where this program was built
 * without utf8proc, has_normal_forms is false. */
extern const bool has_normal_forms;
void add_normal_form(StringBuffer *to, bool composed, bool compatible, size_t length,
                     const char *text);
void add_lower_case(StringBuffer *to, size_t length, const char *text);

#endif
