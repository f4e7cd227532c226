#include "10_tokenizer/words.h"
#include "common/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ ids */

static void reserve(Ids *ids, size_t more) {
    if (ids->capacity - ids->count >= more) return;
    ids->capacity = 2 * ids->capacity + more;
    ids->ids = reallocate(ids->ids, ids->capacity * sizeof *ids->ids);
}

void ids_add(Ids *ids, int id) {
    reserve(ids, 1);
    ids->ids[ids->count++] = id;
}

/* Those at [first, first + count) once more. */
static void ids_repeat(Ids *ids, size_t first, size_t count) {
    reserve(ids, count);
    memcpy(ids->ids + ids->count, ids->ids + first, count * sizeof *ids->ids);
    ids->count += count;
}

/* ------------------------------------------------------------------ a word */

/* A stretch that is no token becomes the tokens of its bytes; if one of these is none either, the unknown token. */
static void fall_back(const Tokenizer *t, size_t length, const char *bytes, Ids *ids) {
    for (size_t i = 0; i < length; i++) {
        if (t->byte_ids[(unsigned char)bytes[i]] >= 0) continue;
        if (t->unknown < 0)
            fail("the text has the byte 0x%02X, and this vocabulary has no token for it", (unsigned char)bytes[i]);
        ids_add(ids, t->unknown);
        return;
    }
    for (size_t i = 0; i < length; i++) ids_add(ids, t->byte_ids[(unsigned char)bytes[i]]);
}

static void merge_word(Words *words, size_t length, const char *word) {
    const Tokenizer *t = words->tokenizer;
    int whole = t->whole_pieces ? map_find(&t->vocabulary.pieces, length, word) : -1;
    if (whole >= 0) {
        ids_add(words->ids, whole);
        return;
    }
    if (words->room < length) {
        free(words->symbols);
        words->room = 2 * length;
        words->symbols = allocate(product(words->room, sizeof *words->symbols));
    }
    Symbol *symbols = words->symbols;
    int count = t->merge(&words->vocabulary, word, t->first_symbols(t, length, word, symbols), symbols);
    for (int i = 0; i < count; i++) {
        if (symbols[i].id >= 0) ids_add(words->ids, symbols[i].id);
        else fall_back(t, (size_t)symbols[i].length, word + symbols[i].start, words->ids);
    }
}

/* ------------------------------------------------------------------ words that were seen
 *
 * Each word has one place, which it shares with others: the last of them stands there. */

struct Seen {
    int start, length;  /* text[start .. start + length - 1]; no length: a place that is free */
    int first, count;   /* its ids */
};

Words words_new(const Tokenizer *t, size_t length, const char *text, Ids *ids) {
    enum { MOST = 1 << 16, LONG = 1000 }; /* a megabyte of places, which stays in cache; short texts repeat little */
    Words words = {t, t->vocabulary, text, ids, .places = 1};
    if (length >= LONG) words.vocabulary = vocabulary_remembering(&t->vocabulary);
    while (words.places < MOST && words.places < length / 4) words.places *= 2;
    words.seen = allocate(words.places * sizeof *words.seen);
    memset(words.seen, 0, words.places * sizeof *words.seen);
    return words;
}

void words_add(Words *words, size_t start, size_t length) {
    const char *word = words->text + start;
    struct Seen *seen = &words->seen[bytes_hash(length, word) & (words->places - 1)];
    if ((size_t)seen->length == length && memcmp(words->text + seen->start, word, length) == 0) {
        ids_repeat(words->ids, (size_t)seen->first, (size_t)seen->count);
        return;
    }
    size_t first = words->ids->count;
    merge_word(words, length, word);
    *seen = (struct Seen){(int)start, (int)length, (int)first, (int)(words->ids->count - first)};
}

void words_free(Words *words) {
    vocabulary_forget(&words->vocabulary);
    free(words->symbols), free(words->seen);
}
