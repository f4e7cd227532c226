#define PCRE2_CODE_UNIT_WIDTH 8

#include "10_tokenizer/bpe.h"
#include "10_tokenizer/families.h"
#include "common/error.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ splitting
 *
 * Merges stay within a word, a number of up to three digits, a run of signs or of spaces. A space goes with the word
 * behind it. */

const char split_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                             "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/* The same for PCRE2, whose \s takes U+180E for a space and is deaf to others without more options: spelled out, it is
 * Unicode's White_Space, as Rust's regex has it, in every version. */
#define S "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
static const char pcre2_pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
                                    "| ?[^" S "\\p{L}\\p{N}]+[\\r\\n]*|[" S "]*[\\r\\n]+|[" S "]+(?![^" S "])|[" S "]+";

void split_pattern_compile(Tokenizer *t) {
    int error;
    PCRE2_SIZE place;
    const PCRE2_SPTR pattern = (PCRE2_SPTR)pcre2_pattern;
    t->split_pattern = pcre2_compile(pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF, &error, &place, NULL);
    PCRE2_UCHAR why[128];
    pcre2_get_error_message(error, why, sizeof why);
    if (!t->split_pattern) fail("PCRE2 does not take the split pattern: %s", (char *)why);
    pcre2_jit_compile(t->split_pattern, PCRE2_JIT_COMPLETE); /* where there is no JIT, it is only slower */
}

void split_pattern_free(void *pattern) { pcre2_code_free(pattern); }

/* ------------------------------------------------------------------ encoding */

/* One word: its bytes grow into tokens. */
static void encode_word(const Tokenizer *t, size_t length, const char *word, Ids *ids) {
    const Vocabulary *v = &t->vocabulary;
    int whole = t->whole_pieces ? map_find(&v->pieces, length, word) : -1;
    if (whole >= 0) {
        ids_add(ids, whole);
        return;
    }
    Symbol *symbols = allocate(product(length, sizeof *symbols));
    for (size_t i = 0; i < length; i++)
        symbols[i] = (Symbol){.start = (int)i, .length = 1, .id = t->byte_ids[(unsigned char)word[i]]};
    int count = bpe_merge(v, word, (int)length, symbols);
    for (int i = 0; i < count; i++) ids_add(ids, symbols[i].id);
    free(symbols);
}

/* What PCRE2 wants besides the pattern. A run of blanks is tried once for each of its blanks, and PCRE2's own limit is
 * ten million tries: here it is as high as it goes. */
typedef struct {
    pcre2_match_data *found;
    pcre2_match_context *limits;
} Splitter;

static Splitter splitter_new(void) {
    Splitter splitter = {pcre2_match_data_create(1, NULL), pcre2_match_context_create(NULL)};
    if (!splitter.found || !splitter.limits) fail("out of memory");
    pcre2_set_match_limit(splitter.limits, UINT32_MAX);
    return splitter;
}

static void splitter_free(Splitter *splitter) {
    pcre2_match_data_free(splitter->found), pcre2_match_context_free(splitter->limits);
}

/* A text of UTF-8: word by word, as the pattern splits it. */
static void encode_words(const Tokenizer *t, const Splitter *splitter, size_t length, const char *text, Ids *ids) {
    for (size_t at = 0; at < length;) {
        int found = pcre2_match(t->split_pattern, (PCRE2_SPTR)text, length, at, PCRE2_NO_UTF_CHECK, splitter->found,
                                splitter->limits);
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(splitter->found);
        if (found < 0 || ends[0] != at || ends[1] <= at) /* each character is in one of the pattern's branches */
            fail("PCRE2 cannot split the text at byte %zu: error %d", at, found);
        encode_word(t, ends[1] - at, text + at, ids);
        at = ends[1];
    }
}

/* How many bytes from the beginning are UTF-8, or are none. */
static size_t stretch(size_t length, const char *text, bool valid) {
    bool is;
    size_t i = 0;
    for (int n; i < length; i += (size_t)n) {
        n = utf8_character(length - i, text + i, &is);
        if (is != valid) break;
    }
    return i;
}

/* What is no UTF-8 is a word by itself. */
void byte_level_encode(const Tokenizer *t, size_t length, const char *text, Ids *ids) {
    Splitter splitter = splitter_new();
    for (size_t at = 0; at < length;) {
        size_t good = stretch(length - at, text + at, true);
        encode_words(t, &splitter, good, text + at, ids);
        at += good;
        size_t bad = stretch(length - at, text + at, false);
        if (bad > 0) encode_word(t, bad, text + at, ids);
        at += bad;
    }
    splitter_free(&splitter);
}

/* ------------------------------------------------------------------ tokenizer.model: a line for each token
 *
 * "IQ== 0": the token's bytes in base64, and its rank, which is its id. */

static int digit_of(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Writes the bytes and returns how many there are; -1 if it is no base64. */
static int decode_base64(size_t length, const char *text, char *to) {
    char *end = to;
    if (length % 4) return -1;
    size_t padding = length && text[length - 1] == '=' ? 1 + (text[length - 2] == '=') : 0;
    for (size_t i = 0; i < length; i += 4) {
        unsigned bits = 0;
        for (size_t j = i; j < i + 4; j++) {
            int digit = j >= length - padding ? 0 : digit_of(text[j]);
            if (digit < 0) return -1;
            bits = bits << 6 | (unsigned)digit;
        }
        *end++ = (char)(bits >> 16), *end++ = (char)(bits >> 8), *end++ = (char)bits;
    }
    return (int)(end - to - (ptrdiff_t)padding);
}

/* The number that the line ends with must be the number of tokens so far. */
static bool ends_with(const char *from, const char *end, int number) {
    char expected[16];
    int length = snprintf(expected, sizeof expected, "%d", number);
    return end - from == length && memcmp(from, expected, (size_t)length) == 0;
}

static void add_special(Tokenizer *t, const char *name, char **room) {
    int length = (int)strlen(name);
    Token token = {.piece = *room, .bytes = *room, .piece_length = length, .length = length, .kind = CONTROL};
    *room = put(*room, (size_t)length, name);
    vocabulary_add(&t->vocabulary, token);
}

/* 256 special tokens follow the ranks. Source: Meta's llama3/tokenizer.py, as it is since Llama 3.2. */
static void add_specials(Tokenizer *t, char *room) {
    static const char *const names[] = {
        "<|begin_of_text|>",      "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>", "<|step_id|>",  "<|start_header_id|>",          "<|end_header_id|>",
        "<|eom_id|>",             "<|eot_id|>",      "<|python_tag|>",               "<|image|>",
    };
    enum { SPECIAL = 256, NAMED = sizeof names / sizeof *names };
    for (int i = 0; i < NAMED; i++) add_special(t, names[i], &room);
    for (int i = NAMED; i < SPECIAL; i++) {
        char name[48];
        snprintf(name, sizeof name, "<|reserved_special_token_%d|>", i - NAMED + 2);
        add_special(t, name, &room);
    }
}

static void read_line(Tokenizer *t, const char *path, const char *line, const char *end, char *room) {
    Vocabulary *v = &t->vocabulary;
    const char *blank = memchr(line, ' ', (size_t)(end - line));
    int id = v->size, length = blank ? decode_base64((size_t)(blank - line), line, room) : -1;
    if (length < 1) fail("%s: line %d: no token in base64 and its rank", path, id + 1);
    if (!ends_with(blank + 1, end, id)) fail("%s: line %d: its rank should be %d", path, id + 1, id);
    if (length > MOST_PIECE || id == MOST_TOKENS)
        fail("%s: line %d: this token is one too many, or too long", path, id + 1);
    Token token = {.piece = room, .bytes = room, .piece_length = length, .length = length, .rank = (float)id};
    if (vocabulary_add(v, token) < 0) fail("%s: line %d: this token is there twice", path, id + 1);
}

void tiktoken_read(Tokenizer *t, const char *path, size_t length, const char *bytes) {
    enum { ROOM_FOR_SPECIALS = 256 * 48 };
    char *room = t->names = allocate(length + ROOM_FOR_SPECIALS);
    const char *end = bytes + length;
    for (const char *line = bytes; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
        read_line(t, path, line, stop, room);
        room += t->vocabulary.tokens[t->vocabulary.size - 1].length;
        line = newline ? newline + 1 : end;
    }
    t->byte_level = t->whole_pieces = true;
    find_bytes(t, path);
    add_specials(t, room);
    split_pattern_compile(t);
}
