/* The inside of a tokenizer: what its families share, and what a reader of a file format fills in.
 * The files of this chapter from top to bottom, each of which calls only those below it:
 *
 *     tokenizer.c                     opens a file, encodes and decodes
 *     sentencepiece.c, byte_level.c   the two families: each reads its file and cuts a text
 *     tokenizer_internal.c            words become ids
 *     bpe.c, vocabulary.c             symbols merge into tokens
 *     utf8.c, unicode_data.c          characters
 *
 * 14_engine/tokenizers adds the formats of other people on top. */
#ifndef TOKENIZER_INTERNAL_H
#define TOKENIZER_INTERNAL_H

#include "10_tokenizer/bpe.h"
#include "10_tokenizer/tokenizer.h"
#include "10_tokenizer/utf8.h"

#include <stdint.h>
#include <string.h>

/* ---- the tokenizer */

/* The ids of a text, collected. */
typedef struct {
    size_t count, capacity;
    int *ids;
} Ids;

void ids_add(Ids *ids, int id);

/* An extension for tokenizers that do something else than the two families. A NULL hook means the
 * family's own way. */
typedef struct {
    /* Encodes a whole text; `first`: nothing precedes it. */
    void (*encode)(const Tokenizer *, bool first, size_t length, const char *text, bool special,
                   Ids *ids);
    /* Rewrites a stretch of text without special tokens before it is encoded. Returns false if
     * nothing is left. */
    bool (*normalize)(const Tokenizer *, size_t length, const char *text, StringBuffer *normal);
    StringBuffer (*decode)(const Tokenizer *, size_t count, const int *ids);
    void (*trim)(const Tokenizer *, int left, int right, const char *text, size_t *from,
                 size_t *to);
    void (*close)(Tokenizer *);
} TokenizerHooks;

/* SentencePiece's family puts a ▁ before a text, so that its first word looks like any other:
 * never, only at the beginning (not again after a special token), or always. */
typedef enum { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS } PrependScheme;

struct Tokenizer {
    Vocabulary vocabulary;
    __typeof__(bpe_merge) *merge; /* merges the symbols of a word: bpe_merge, or a reader's own */
    int bos, eos;                 /* or -1 */
    int unknown;                  /* stands for what no token spells; or -1 */
    bool adds_bos;                /* puts BOS before a text */
    int byte_ids[256];            /* the token of each byte */
    bool byte_level;
    bool ignore_merges; /* a word that is a token becomes it, even if no merges lead there */
    /* Splits a word into the symbols that merging begins with; returns their number. */
    int (*first_symbols)(const Tokenizer *, size_t length, const char *word,
                         Symbol symbols[length]);
    /* tiktoken: the special tokens have the ids after the last rank, whatever that is */
    bool names_follow;
    bool has_added; /* there are ADDED tokens, and every text is searched for them */

    /* SentencePiece's family alone: */
    PrependScheme prepend_scheme;
    bool no_double_prefix; /* a text that begins with a space gets no second one */
    bool drops_prefix;     /* when it is decoded */
    /* the file asks to remove spaces at the ends and repeated ones: not a Llama's */
    bool removes_spaces;
    size_t charsmap_length;
    /* the file's table of characters that are rewritten: a Llama's has none */
    const char *charsmap;
    uint64_t *beside; /* a bit for two characters: does any token have them side by side? */

    TokenizerHooks hooks;
    struct Pipeline *pipeline; /* the hooks' data, or NULL */

    char *file;  /* the tokens' names point into the file's bytes */
    char *names; /* and into names that were spelled anew */
};

/* A tokenizer without tokens. The file's bytes become the tokenizer's. */
Tokenizer *tokenizer_new(char *file);

/* Called when all tokens are added: finds those of the bytes, the names that a text is searched
 * for, the unknown token, BOS and EOS. */
void tokenizer_complete(Tokenizer *tokenizer, const char *bos, const char *eos);

/* fail()s if a byte has no token. */
void require_bytes(const Tokenizer *tokenizer, const char *path);

/* The token of an id; or fail()s. */
const Token *token_of(const Tokenizer *tokenizer, int id);

/* The id of a special token, or -1. */
int special_id(const Tokenizer *tokenizer, const char *name);

/* Writes bytes and returns where the next ones go. */
static inline char *put(char *to, size_t length, const char *from) {
    memcpy(to, from, length);
    return to + length;
}

/* ---- words become ids
 *
 * Texts repeat their words: a word that occurred before is not merged again, its ids are copied. */

typedef struct {
    const Tokenizer *tokenizer;
    Vocabulary vocabulary; /* the tokenizer's, with a cache of merges */
    const char *text;
    Ids *ids;
    size_t symbol_room;
    Symbol *symbols;
    size_t places; /* for words that occurred: a power of two */
    struct Seen *seen;
} EncodeCache;

/* For the words of this text; their ids are added to `ids`, to which nothing else is added in the
 * meantime. */
EncodeCache encode_cache_new(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);
void encode_cache_add(EncodeCache *cache, size_t start, size_t length);
void encode_cache_free(EncodeCache *cache);

/* ---- SentencePiece's family, Llama 1 and 2: sentencepiece.c */

#define SPACE_MARK "▁" /* U+2581, which stands for a space */

/* Adds the ids of a text without special tokens. `first`: it is the beginning of the whole text. */
void sentencepiece_encode(const Tokenizer *tokenizer, size_t length, const char *text, bool first,
                          Ids *ids);
StringBuffer sentencepiece_decode(const Tokenizer *tokenizer, size_t count, const int *ids);

/* SentencePiece's tokenizer.model: whether a file is one, by its first bytes, and the tokenizer
 * that it holds. A NUL follows the bytes, which become the tokenizer's. */
bool sentencepiece_is(size_t length, const char *bytes);
Tokenizer *sentencepiece_read(const char *path, size_t length, char *bytes);

/* For readers: adds a token and returns its id. Its bytes are written to `room`, at most as many as
 * its name has. When all tokens are there, call sentencepiece_complete(). */
int sentencepiece_add(Tokenizer *tokenizer, const char *path, Token token, char *room);
void sentencepiece_complete(Tokenizer *tokenizer);

/* Records which two characters any token has side by side; and the distance to the next two that
 * none has, across which nothing merges. */
void find_pairs(Tokenizer *tokenizer);
size_t word_length(const Tokenizer *tokenizer, size_t length, const char *text);

int byte_of(int length,
            const char *piece); /* "<0x0A>" is 10; -1 for a piece that is not a byte's */

/* ---- the byte-level family, Llama 3: byte_level.c */

/* Adds the ids of a text without special tokens. */
void byte_level_encode(const Tokenizer *tokenizer, size_t length, const char *text, Ids *ids);
StringBuffer byte_level_decode(const Tokenizer *tokenizer, size_t count, const int *ids);

/* The same for tiktoken's tokenizer.model. */
bool tiktoken_is(const char *bytes);
Tokenizer *tiktoken_read(const char *path, size_t length, char *bytes);

/* For readers: adds a token whose name, if it is NORMAL, is spelled in GPT-2's alphabet; its bytes
 * are written to `room`. When all tokens are there, call byte_level_complete(). */
void byte_level_add(Tokenizer *tokenizer, const char *path, Token token, char *room);
void byte_level_complete(Tokenizer *tokenizer);

/* GPT-2's alphabet has a printable letter for each byte. Reads a name that is spelled in it and
 * returns the number of its bytes, at most its length, or -1 if it is not; and writes one, of at
 * most twice as many bytes. */
int alphabet_bytes(int length, const char *name, char *bytes);
int alphabet_name(int length, const char *bytes, char *name);

/* Meta's pattern, as tokenizer.json spells it. */
extern const char llama3_pattern[];

#endif
