#include "10_tokenizer/tokenizer_internal.h"
#include "common/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ the tokenizer */

Tokenizer *tokenizer_new(char *file) {
    Tokenizer *tokenizer = xmalloc(sizeof *tokenizer);
    *tokenizer = (Tokenizer){
        .merge = bpe_merge, .bos = -1, .eos = -1, .unknown = -1, .adds_bos = true, .file = file};
    return tokenizer;
}

static void find_byte_tokens(Tokenizer *t) {
    const Vocabulary *v = &t->vocabulary;
    memset(t->byte_ids, -1, sizeof t->byte_ids);
    for (int id = 0; id < v->size; id++)
        if (v->tokens[id].length == 1 && v->tokens[id].kind == (t->byte_level ? NORMAL : BYTE))
            t->byte_ids[(unsigned char)v->tokens[id].bytes[0]] = id;
}

void require_bytes(const Tokenizer *t, const char *path) {
    for (int byte = 0; byte < 256; byte++)
        if (t->byte_ids[byte] < 0)
            fail("%s: it has no token for the byte 0x%02X: such a file has one for each", path,
                 byte);
}

const Token *token_of(const Tokenizer *t, int id) {
    if (id < 0 || id >= t->vocabulary.size)
        fail("%d is no token: this vocabulary has those from 0 to %d", id, t->vocabulary.size - 1);
    return &t->vocabulary.tokens[id];
}

int special_id(const Tokenizer *t, const char *name) {
    int id = names_find(&t->vocabulary.special, strlen(name), name);
    return id >= 0 && t->vocabulary.tokens[id].piece_length == (int)strlen(name) ? id : -1;
}

void tokenizer_complete(Tokenizer *t, const char *bos, const char *eos) {
    find_byte_tokens(t);
    vocabulary_sort_names(&t->vocabulary);
    t->bos = special_id(t, bos);
    t->eos = special_id(t, eos);
    for (int id = t->vocabulary.size - 1; id >= 0; id--)
        if (t->vocabulary.tokens[id].kind == UNKNOWN) t->unknown = id;
}

/* ------------------------------------------------------------------ ids */

static void reserve(Ids *ids, size_t more) {
    if (ids->capacity - ids->count >= more) return;
    ids->capacity = 2 * ids->capacity + more;
    ids->ids = xrealloc(ids->ids, ids->capacity * sizeof *ids->ids);
}

void ids_add(Ids *ids, int id) {
    reserve(ids, 1);
    ids->ids[ids->count++] = id;
}

/* Adds those at [first, first + count) once more. */
static void ids_repeat(Ids *ids, size_t first, size_t count) {
    reserve(ids, count);
    memcpy(ids->ids + ids->count, ids->ids + first, count * sizeof *ids->ids);
    ids->count += count;
}

/* ------------------------------------------------------------------ one word */

/* A stretch that is not a token becomes the tokens of its bytes; if one of the bytes has no token,
 * the unknown token. */
static void byte_fallback(const Tokenizer *t, size_t length, const char *bytes, Ids *ids) {
    for (size_t i = 0; i < length; i++) {
        if (t->byte_ids[(unsigned char)bytes[i]] >= 0) continue;
        if (t->unknown < 0)
            fail("the text has the byte 0x%02X, and this vocabulary has no token for it",
                 (unsigned char)bytes[i]);
        ids_add(ids, t->unknown);
        return;
    }
    for (size_t i = 0; i < length; i++) ids_add(ids, t->byte_ids[(unsigned char)bytes[i]]);
}

static void merge_word(EncodeCache *cache, size_t length, const char *word) {
    const Tokenizer *t = cache->tokenizer;
    int whole = t->ignore_merges ? map_find(&t->vocabulary.pieces, length, word) : -1;
    if (whole >= 0) {
        ids_add(cache->ids, whole);
        return;
    }
    if (cache->symbol_room < length) {
        free(cache->symbols);
        cache->symbol_room = 2 * length;
        cache->symbols = xmalloc(size_mul(cache->symbol_room, sizeof *cache->symbols));
    }
    Symbol *symbols = cache->symbols;
    int count =
        t->merge(&cache->vocabulary, word, t->first_symbols(t, length, word, symbols), symbols);
    for (int i = 0; i < count; i++) {
        if (symbols[i].id >= 0) ids_add(cache->ids, symbols[i].id);
        else byte_fallback(t, (size_t)symbols[i].length, word + symbols[i].start, cache->ids);
    }
}

/* ------------------------------------------------------------------ words that occurred before
 *
 * Each word has one place, which it shares with others: the place holds the last of them. */

struct Seen {
    int start, length; /* text[start .. start + length - 1]; length 0: the place is free */
    int first, count;  /* its ids */
};

EncodeCache encode_cache_new(const Tokenizer *t, size_t length, const char *text, Ids *ids) {
    enum {
        MOST = 1 << 16,
        LONG = 1000
    }; /* a megabyte of places, which stays in cache; short texts repeat little */
    EncodeCache cache = {t, t->vocabulary, text, ids, .places = 1};
    if (length >= LONG) cache.vocabulary = vocabulary_remembering(&t->vocabulary);
    while (cache.places < MOST && cache.places < length / 4) cache.places *= 2;
    cache.seen = xmalloc(cache.places * sizeof *cache.seen);
    memset(cache.seen, 0, cache.places * sizeof *cache.seen);
    return cache;
}

void encode_cache_add(EncodeCache *cache, size_t start, size_t length) {
    const char *word = cache->text + start;
    struct Seen *seen = &cache->seen[bytes_hash(length, word) & (cache->places - 1)];
    if ((size_t)seen->length == length && memcmp(cache->text + seen->start, word, length) == 0) {
        ids_repeat(cache->ids, (size_t)seen->first, (size_t)seen->count);
        return;
    }
    size_t first = cache->ids->count;
    merge_word(cache, length, word);
    *seen = (struct Seen){(int)start, (int)length, (int)first, (int)(cache->ids->count - first)};
}

void encode_cache_free(EncodeCache *cache) {
    vocabulary_forget(&cache->vocabulary);
    free(cache->symbols);
    free(cache->seen);
}
