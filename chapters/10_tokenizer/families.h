/* What tokenizer.c, sentencepiece.c, tiktoken.c and hugging_face.c share: a tokenizer from the inside. */
#ifndef FAMILIES_H
#define FAMILIES_H

#include "10_tokenizer/tokenizer.h"
#include "10_tokenizer/vocabulary.h"

#include <string.h>

/* Where SentencePiece's family puts a ▁ before a text, so that its first word looks like any other. */
typedef enum { NEVER, FIRST, ALWAYS } Prefix; /* FIRST: not anew after a special token */

struct Tokenizer {
    Vocabulary vocabulary;
    int bos, eos;
    bool byte_level;
    bool whole_pieces;   /* a word that is a token becomes it, even if no merges lead there */
    bool has_added;      /* there are ADDED tokens: every text must be searched for them */

    int byte_ids[256];   /* the token of each byte */
    Prefix prefix;       /* SentencePiece's family alone */
    bool one_prefix;     /* a text that begins with a space gets no second one */
    bool drops_prefix;   /* when it is decoded */
    void *split_pattern; /* byte level alone: PCRE2's */

    char *file;          /* what the tokens' names point into: the file itself, */
    struct json_t *json; /* its JSON, */
    char *names;         /* and what had to be spelled anew */
};

/* The ids of a text, collected. */
typedef struct {
    size_t count, capacity;
    int *ids;
} Ids;

void ids_add(Ids *ids, int id);

/* Fills an empty tokenizer from a file's bytes, which become the tokenizer's, or fail()s; `path` is for messages. What
 * was filled so far can be closed at any time. */
void tokenizer_parse(Tokenizer *tokenizer, const char *path, size_t length, char *bytes);
void tokenizer_free(Tokenizer *tokenizer); /* what is in it, not itself */

void sentencepiece_read(Tokenizer *tokenizer, const char *path, size_t length, const char *bytes);
void llama2c_read(Tokenizer *tokenizer, const char *path, size_t length, const char *bytes);
void tiktoken_read(Tokenizer *tokenizer, const char *path, size_t length, const char *bytes);
void hugging_face_read(Tokenizer *tokenizer, const char *path, size_t length, const char *bytes);

/* Adds the ids of a text without special tokens. `first`: it is the beginning of the whole text. */
void sentencepiece_encode(const Tokenizer *tokenizer, size_t length, const char *text, bool first, Ids *ids);
void byte_level_encode(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);

int byte_of(int length, const char *piece); /* "<0x0A>" is 10; -1 if the piece is no byte's */

/* Adds a token of SentencePiece's family and returns its id. At `room` its bytes are written, at most as many as its
 * name has. */
int sentencepiece_add(Tokenizer *tokenizer, const char *path, Token token, char *room);

/* Meta's pattern, as tokenizer.json spells it. */
extern const char split_pattern[];
void split_pattern_compile(Tokenizer *tokenizer);
void split_pattern_free(void *pattern);

/* Writes bytes and returns where the next ones go. */
static inline char *put(char *to, size_t length, const char *from) {
    memcpy(to, from, length);
    return to + length;
}

/* Finds the token of each byte, or fail()s. */
void find_bytes(Tokenizer *tokenizer, const char *path);

#endif
