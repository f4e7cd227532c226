/* The vocabulary of a tokenizer: its tokens, how they are found, and what two of them merge
 * into. */
#ifndef VOCABULARY_H
#define VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- bytes to a number */

uint64_t bytes_hash(size_t length, const char *bytes); /* one number for equal bytes */

typedef struct {
    size_t count, capacity;
    struct Entry *entries;
} Map;

/* Returns false if the key is there already. The key's bytes stay the caller's. */
bool map_add(Map *map, size_t length, const char *key, int value);
int map_find(const Map *map, size_t length, const char *key); /* or -1 */

/* ---- tokens */

typedef enum {
    NORMAL,
    BYTE,         /* <0x00> to <0xFF> of SentencePiece */
    USER_DEFINED, /* SentencePiece's: it is one token wherever it occurs, and merges with nothing */
    ADDED,   /* Hugging Face's: the same, and the text ends before it and starts anew after it */
    CONTROL, /* a special token: no text becomes it, unless that is asked for */
    UNKNOWN, /* <unk> */
} TokenType;

typedef struct {
    const char *piece, *bytes; /* its name, and what it adds to a text: tokenizer.h */
    int piece_length, length;
    TokenType kind;
    /* the lower, the earlier it is merged: minus SentencePiece's score, or tiktoken's rank */
    float rank;
} Token;

/* Names that are looked for in a text. Sorted: those that begin alike are neighbours. */
typedef struct {
    const char *name;
    int length, id;
} Name;

typedef struct {
    int count;
    Name *names;
} NameTable;

typedef struct {
    float rank;
    int id; /* -1: they do not merge */
} Merge;

typedef struct {
    int size, capacity;
    Token *tokens;
    Map pieces;        /* what a text can become: name (at byte level, bytes) to id */
    int longest;       /* of those, in bytes */
    NameTable special; /* ADDED, CONTROL and UNKNOWN */
    NameTable user_defined;

    /* tokenizer.json lists what may merge. Elsewhere, whatever is a token when put together may. */
    bool lists_merges;
    Map pairs; /* two ids, as bytes, to their place in merges */
    int (*pair_ids)[2];
    Merge *merges;

    struct Asked
        *asked; /* what two tokens merge into, if that was asked before; NULL: nobody remembers */
} Vocabulary;

enum {
    MOST_TOKENS = 1 << 24,
    MOST_PIECE = 8000
}; /* every rank is a whole number that a float can hold */

/* Returns its id; -1 if a text that becomes this token becomes another one already. */
int vocabulary_add(Vocabulary *vocabulary, Token token);

/* To be called when all tokens are there, and again when there are more: makes special and
 * user_defined. */
void vocabulary_sort_names(Vocabulary *vocabulary);
void vocabulary_free(Vocabulary *vocabulary);

/* The token that two neighbours merge into; `text` begins with the left one, and the right one
 * follows. An id may be -1. */
Merge vocabulary_merge(const Vocabulary *vocabulary, const char *text, int left_length, int left_id,
                       int right_length, int right_id);

/* The same vocabulary, for one text: what merged once is not looked up again. vocabulary_forget()
 * frees what it then knows. */
Vocabulary vocabulary_remembering(const Vocabulary *vocabulary);
void vocabulary_forget(Vocabulary *remembering);

void names_sort(NameTable *names);

/* The longest of the names that the text begins with: its id, or -1. */
int names_find(const NameTable *names, size_t length, const char *text);

#endif
