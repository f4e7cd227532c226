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

/* What a word begins as: at byte level each byte is a symbol, otherwise each character or user-defined piece. */
static int first_symbols(const Tokenizer *t, size_t length, const char *word, Symbol symbols[length]) {
    const Vocabulary *v = &t->vocabulary;
    int count = 0, n;
    for (size_t i = 0; i < length; i += (size_t)n) {
        bool valid;
        int id = t->byte_level ? t->byte_ids[(unsigned char)word[i]] : names_find(&v->user_defined, length - i, word + i);
        n = t->byte_level ? 1 : id >= 0 ? v->tokens[id].piece_length : utf8_character(length - i, word + i, &valid);
        if (id < 0) id = map_find(&v->pieces, (size_t)n, word + i);
        symbols[count++] = (Symbol){.start = (int)i, .length = n, .id = id};
    }
    return count;
}

static void merge_word(Words *words, size_t length, const char *word) {
    const Tokenizer *t = words->tokenizer;
    int whole = t->byte_level && t->whole_pieces ? map_find(&t->vocabulary.pieces, length, word) : -1;
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
    int count = bpe_merge(&words->vocabulary, word, first_symbols(t, length, word, symbols), symbols);
    for (int i = 0; i < count; i++) {
        if (symbols[i].id >= 0) ids_add(words->ids, symbols[i].id);
        else for (int b = 0; b < symbols[i].length; b++) /* no piece has this character: byte fallback */
            ids_add(words->ids, t->byte_ids[(unsigned char)word[symbols[i].start + b]]);
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
    enum { MOST = 1 << 16, LONG = 1000 }; /* a megabyte of places, which stays in the cache; short texts repeat little */
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
