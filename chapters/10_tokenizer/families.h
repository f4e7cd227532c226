/* A tokenizer from the inside: what the two families of tokenizers and the formats of files share. What is above
 * includes what is below, never the other way round:
 *
 *     tokenizer.c                                                     opens a file by what it is, encodes and decodes
 *     sentencepiece_model.c, llama2c.c, tiktoken.c, hugging_face.c,
 *     gguf_tokenizer.c                                                the formats: each reads a tokenizer
 *     sentencepiece.c, byte_level.c                                   the families: each cuts a text into words
 *     pipeline.c, steps.c, pattern.c, normal_form.c,
 *     character_map.c, added.c                                        and what other people's vocabularies do instead
 *     words.c, stand_ins.c                                            words become ids; newer letters
 *     families.c                                                      a tokenizer's parts
 *     bpe.c, vocabulary.c                                             symbols grow into tokens */
#ifndef FAMILIES_H
#define FAMILIES_H

#include "10_tokenizer/bpe.h"

#include <stdint.h>
#include <string.h>

/* Where SentencePiece's family puts a ▁ before a text, so that its first word looks like any other. */
typedef enum { NEVER, FIRST, ALWAYS } Prefix; /* FIRST: not anew after a special token */

typedef struct Tokenizer {
    Vocabulary vocabulary;
    __typeof__(bpe_merge) *merge; /* bpe_merge; in `make mine` perhaps the reader's */
    int bos, eos;        /* or -1 */
    int unknown;         /* what stands for what no token spells; or -1 */
    bool adds_bos;       /* before a text */
    int byte_ids[256];   /* the token of each byte */
    bool byte_level;
    bool whole_pieces;   /* a word that is a token becomes it, even if no merges lead there */
    /* What a word begins as. */
    int (*first_symbols)(const struct Tokenizer *, size_t length, const char *word, Symbol symbols[length]);
    bool names_follow;   /* tiktoken's alone: its special tokens have the ids behind its last rank, whatever that is */
    bool has_added;      /* there are ADDED tokens: every text must be searched for them */

    Prefix prefix;       /* SentencePiece's family alone, as what follows: */
    bool one_prefix;     /* a text that begins with a space gets no second one */
    bool drops_prefix;   /* when it is decoded */
    struct CharacterMap *map; /* of other people's: what a text becomes first; or NULL */
    uint64_t *beside;    /* a bit for two characters: does any token have them side by side? */

    void *split_pattern; /* byte level alone: PCRE2's */

    struct Pipeline *pipeline; /* of a tokenizer.json that says what else happens, or NULL */

    char *file;          /* what the tokens' names point into: the file itself, */
    struct json_t *json; /* its JSON, */
    char *names;         /* what had to be spelled anew, */
    char *added_names;   /* and what a folder adds */
} Tokenizer;

/* Without tokens. The file's bytes become the tokenizer's. */
Tokenizer *tokenizer_new(char *file);

/* To be called when all tokens are there: finds those of the bytes, the names that a text is searched for, the unknown
 * token, and those of a text's beginning and end. */
void tokenizer_complete(Tokenizer *tokenizer, const char *bos, const char *eos);

/* fail()s if a byte has no token. */
void require_bytes(const Tokenizer *tokenizer, const char *path);

/* The token of an id; or fail()s. */
const Token *token_of(const Tokenizer *tokenizer, int id);

/* The id of a special token, or -1. */
int special_id(const Tokenizer *tokenizer, const char *name);

/* Does a text begin with BOS? */
bool begins_with_bos(const Tokenizer *tokenizer);

/* Writes bytes and returns where the next ones go. */
static inline char *put(char *to, size_t length, const char *from) {
    memcpy(to, from, length);
    return to + length;
}

#endif
