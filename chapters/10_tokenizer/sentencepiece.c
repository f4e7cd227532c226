#include "10_tokenizer/sentencepiece.h"
#include "10_tokenizer/character_map.h"
#include "common/error.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ the text as the pieces spell it */

enum { SPACE_LENGTH = sizeof SPACE - 1 };

/* With a ▁ before it, ▁ for each space, and U+FFFD for each byte that is no UTF-8. */
static char *normalize(const Tokenizer *t, size_t length, const char *text, bool first, size_t *normal_length) {
    char *normal = allocate(3 * length + SPACE_LENGTH), *end = normal;
    const bool has_one = (length > 0 && text[0] == ' ') ||
                         (length >= SPACE_LENGTH && memcmp(text, SPACE, SPACE_LENGTH) == 0);
    if ((t->prefix == ALWAYS || (t->prefix == FIRST && first)) && !(t->one_prefix && has_one))
        end = put(end, SPACE_LENGTH, SPACE);
    for (size_t i = 0; i < length;) {
        bool valid;
        int n = utf8_character(length - i, text + i, &valid);
        if (!valid) end = put(end, 3, "\uFFFD"), i++;
        else if (text[i] == ' ') end = put(end, SPACE_LENGTH, SPACE), i++;
        else end = put(end, (size_t)n, text + i), i += (size_t)n;
    }
    *normal_length = (size_t)(end - normal);
    return normal;
}

/* ------------------------------------------------------------------ words
 *
 * SentencePiece knows no words, it merges the text as a whole. But where no token has two characters side by side that
 * the text has so, nothing merges across: what happens on one side changes nothing on the other. There the text falls
 * apart, most often before a ▁, and so into words. */

enum { PAIR_BITS = 18 };

/* The bit of two characters. Others may share it: then a word is longer than it need be, and its ids are the same. */
static size_t pair_bit(uint32_t left, uint32_t right) {
    return (size_t)((left * 0x9e3779b97f4a7c15 + right) * 0xd6e8feb86659fd93 >> (64 - PAIR_BITS));
}

/* The bytes of a character, as one number, and how many they are. */
static uint32_t character_at(size_t length, const char *text, size_t *n) {
    bool valid;
    uint32_t c = 0;
    *n = (size_t)utf8_character(length, text, &valid);
    for (size_t i = 0; i < *n; i++) c = c << 8 | (unsigned char)text[i];
    return c;
}

void find_pairs(Tokenizer *t) {
    t->beside = allocate((1 << PAIR_BITS) / 8);
    memset(t->beside, 0, (1 << PAIR_BITS) / 8);
    for (int id = 0; id < t->vocabulary.size; id++) {
        const Token *token = &t->vocabulary.tokens[id];
        size_t length = (size_t)token->piece_length, n;
        uint32_t left = character_at(length, token->piece, &n), right;
        for (size_t at = n; at < length; at += n, left = right) {
            right = character_at(length - at, token->piece + at, &n);
            size_t bit = pair_bit(left, right);
            t->beside[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
}

size_t word_length(const Tokenizer *t, size_t length, const char *text) {
    size_t n, at;
    uint32_t left = character_at(length, text, &n), right;
    for (at = n; at < length; at += n, left = right) {
        right = character_at(length - at, text + at, &n);
        size_t bit = pair_bit(left, right);
        if (!(t->beside[bit / 64] >> bit % 64 & 1)) break;
    }
    return at;
}

/* A character is a symbol, and so is a user-defined piece. */
static int character_symbols(const Tokenizer *t, size_t length, const char *word, Symbol symbols[length]) {
    const Vocabulary *v = &t->vocabulary;
    int count = 0, n;
    for (size_t i = 0; i < length; i += (size_t)n) {
        bool valid;
        int id = names_find(&v->user_defined, length - i, word + i);
        n = id >= 0 ? v->tokens[id].piece_length : utf8_character(length - i, word + i, &valid);
        if (id < 0) id = map_find(&v->pieces, (size_t)n, word + i);
        symbols[count++] = (Symbol){.start = (int)i, .length = n, .id = id};
    }
    return count;
}

void sentencepiece_encode(const Tokenizer *t, size_t length, const char *text, bool first, Ids *ids) {
    size_t normal_length, n;
    Text mapped = {0};
    if (t->map) {
        mapped = character_map_apply(t->map, &t->vocabulary, length, text);
        length = mapped.length, text = mapped.text;
    }
    char *normal = normalize(t, length, text, first, &normal_length);
    if (t->map) normal_length = character_map_end(t->map, SPACE, normal_length, normal);
    Words words = words_new(t, normal_length, normal, ids);
    for (size_t at = 0; at < normal_length; at += n) {
        n = word_length(t, normal_length - at, normal + at);
        words_add(&words, at, n);
    }
    words_free(&words), free(normal), free(mapped.text);
}

/* ------------------------------------------------------------------ tokens */

/* The bytes of a piece: each ▁ is a space again. */
static int with_spaces(int length, const char *piece, char *to) {
    char *end = to;
    for (int i = 0; i < length;) {
        if (length - i >= SPACE_LENGTH && memcmp(piece + i, SPACE, SPACE_LENGTH) == 0) *end++ = ' ', i += SPACE_LENGTH;
        else *end++ = piece[i++];
    }
    return (int)(end - to);
}

int byte_of(int length, const char *piece) {
    static const char digits[] = "0123456789ABCDEF";
    if (length != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>') return -1;
    const char *high = memchr(digits, piece[3], 16), *low = memchr(digits, piece[4], 16);
    return high && low ? (int)(16 * (high - digits) + (low - digits)) : -1;
}

int sentencepiece_add(Tokenizer *t, const char *path, Token token, char *room) {
    int id = t->vocabulary.size;
    if (id == MOST_TOKENS) fail("%s: it has over %d tokens", path, MOST_TOKENS);
    if (token.piece_length == 0) fail("%s: token %d is empty", path, id);
    token.bytes = room;
    if (token.kind == BYTE) {
        int byte = byte_of(token.piece_length, token.piece);
        if (byte < 0)
            fail("%s: token %d is said to be a byte, but \"%.*s\" is none", path, id, token.piece_length, token.piece);
        room[0] = (char)byte, token.length = 1;
    } else if (token.kind == UNKNOWN) {
        token.bytes = " ⁇ ", token.length = sizeof " ⁇ " - 1; /* as SentencePiece decodes it */
    } else if (token.kind != CONTROL) {
        token.length = with_spaces(token.piece_length, token.piece, room);
    }
    if (vocabulary_add(&t->vocabulary, token) < 0)
        fail("%s: \"%.*s\" is there twice", path, token.piece_length, token.piece);
    return id;
}

void sentencepiece_complete(Tokenizer *t) {
    find_pairs(t);
    t->first_symbols = character_symbols;
    tokenizer_complete(t, "<s>", "</s>");
}
