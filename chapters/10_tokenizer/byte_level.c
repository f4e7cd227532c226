#include "10_tokenizer/tokenizer_internal.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ------------------------------------------------------------------ splitting
 *
 * Merges stay within a word, a number of up to three digits, a run of signs or of spaces. A space
 * goes with the word that follows it. */

const char llama3_pattern[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static bool is_line_end(char c) { return c == '\r' || c == '\n'; }

/* The end of the run of characters of this class that begins at `at`; of no more than `most` of
 * them. */
static size_t end_of_run(size_t length, const char *text, size_t at, CharacterClass class,
                         size_t most, ClassStretch *last) {
    for (size_t n; at < length && most > 0; at += n, most--)
        if (character_class(utf8_point(text + at, &n), last) != class) break;
    return at;
}

/* The length of the s, t, re, ve, m, ll or d that the text begins with, in upper or lower case. The
 * letter that begins with the bytes C5 BF is a long s, whose upper case is S, too. */
static size_t contraction(size_t length, const char *text) {
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d", "\u017F"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (n <= length && strncasecmp(text, ends[i], n) == 0) return n;
    }
    return 0;
}

/* The length of the first word of a text of valid UTF-8, as Llama 3's pattern cuts it. Of the
 * pattern's alternatives, in their order, the first one that matches counts. */
static size_t llama3_word(size_t length, const char *text, ClassStretch *last) {
    size_t n, end;
    CharacterClass class = character_class(utf8_point(text, &n), last);

    /* (?i:'s|'t|'re|'ve|'m|'ll|'d) */
    size_t ending = text[0] == '\'' ? contraction(length - 1, text + 1) : 0;
    if (ending > 0) return 1 + ending;

    /* [^\r\n\p{L}\p{N}]?\p{L}+ */
    size_t before = class == LETTER || class == NUMBER || is_line_end(text[0]) ? 0 : n;
    end = end_of_run(length, text, before, LETTER, SIZE_MAX, last);
    if (end > before) return end;

    /* \p{N}{1,3} */
    if (class == NUMBER) return end_of_run(length, text, 0, NUMBER, 3, last);

    /* ` ?[^\s\p{L}\p{N}]+[\r\n]*` */
    before = text[0] == ' ';
    end = end_of_run(length, text, before, OTHER, SIZE_MAX, last);
    if (end > before) {
        while (end < length && is_line_end(text[end])) end++;
        return end;
    }

    /* \s*[\r\n]+: up to the last line end of this white space */
    size_t spaces = end_of_run(length, text, 0, SPACE, SIZE_MAX, last);
    for (end = spaces; end > 0; end--)
        if (is_line_end(text[end - 1])) return end;

    /* \s+(?!\S): all of the white space, but not its last character where something follows */
    end = spaces;
    if (spaces < length) {
        end--;
        while ((text[end] & 0xc0) == 0x80) end--;
    }
    if (end > 0) return end;

    /* \s+ */
    return spaces;
}

/* ------------------------------------------------------------------ text to ids */

/* Number of bytes from the beginning that are valid UTF-8, or that are not. */
static size_t valid_stretch(size_t length, const char *text, bool valid) {
    bool is;
    size_t i = 0;
    for (int n; i < length; i += (size_t)n) {
        n = utf8_character(length - i, text + i, &is);
        if (is != valid) break;
    }
    return i;
}

/* Bytes that are not valid UTF-8 are a word by themselves. */
void byte_level_encode(const Tokenizer *t, size_t length, const char *text, Ids *ids) {
    EncodeCache cache = encode_cache_new(t, length, text, ids);
    ClassStretch last = {0};
    for (size_t at = 0, n; at < length; at += n) {
        size_t valid = at + valid_stretch(length - at, text + at, true);
        for (; at < valid; at += n) {
            n = llama3_word(valid - at, text + at, &last);
            encode_cache_add(&cache, at, n);
        }
        n = valid_stretch(length - at, text + at, false);
        if (n > 0) encode_cache_add(&cache, at, n);
    }
    encode_cache_free(&cache);
}

StringBuffer byte_level_decode(const Tokenizer *t, size_t count, const int *ids) {
    StringBuffer bytes = {0}, out = {0};
    for (size_t i = 0; i < count; i++) {
        const Token *token = token_of(t, ids[i]);
        buffer_add(&bytes, (size_t)token->length, token->bytes);
    }
    buffer_add_utf8(&out, false, bytes.length, bytes.text);
    free(bytes.text);
    return out;
}

/* ------------------------------------------------------------------ tokens */

/* GPT-2's alphabet: printable characters of Latin-1 stand for themselves, U+0100 and on for the
 * other bytes in their order: 00 to 20, 7F to A0, and AD. Source: bytes_to_unicode of GPT-2. */
static int letter_of_byte(int byte) {
    if (byte <= 0x20) return 0x100 + byte;
    if (byte >= 0x7f && byte <= 0xa0) return 0x121 + byte - 0x7f;
    return byte == 0xad ? 0x143 : byte;
}

static int byte_of_letter(int point) {
    int byte = point < 0x100    ? point
               : point <= 0x120 ? point - 0x100
               : point <= 0x142 ? point - 0x121 + 0x7f
                                : 0xad;
    return letter_of_byte(byte) == point ? byte : -1;
}

int alphabet_bytes(int length, const char *name, char *bytes) {
    int count = 0;
    for (int i = 0, n; i < length; i += n) {
        bool valid;
        n = utf8_character((size_t)(length - i), name + i, &valid);
        int point = n == 1 ? (unsigned char)name[i] : (name[i] & 0x1f) << 6 | (name[i + 1] & 0x3f);
        int byte = valid && n <= 2 ? byte_of_letter(point) : -1;
        if (byte < 0) return -1;
        bytes[count++] = (char)byte;
    }
    return count;
}

int alphabet_name(int length, const char *bytes, char *name) {
    int count = 0;
    for (int i = 0; i < length; i++) {
        int point = letter_of_byte((unsigned char)bytes[i]);
        if (point >= 0x80) name[count++] = (char)(0xc0 | point >> 6);
        name[count++] = (char)(point < 0x80 ? point : 0x80 | (point & 0x3f));
    }
    return count;
}

void byte_level_add(Tokenizer *t, const char *path, Token token, char *room) {
    if (token.kind == NORMAL) {
        int length = alphabet_bytes(token.piece_length, token.piece, room);
        if (length < 0)
            fail("%s: \"%.80s\" is not written in the byte-level alphabet", path, token.piece);
        token.piece = room;
        token.piece_length = length;
    }
    token.bytes = token.piece;
    token.length = token.piece_length;
    if (vocabulary_add(&t->vocabulary, token) < 0)
        fail("%s: token %d is there twice", path, t->vocabulary.size);
}

static int byte_symbols(const Tokenizer *t, size_t length, const char *word,
                        Symbol symbols[length]) {
    for (size_t i = 0; i < length; i++)
        symbols[i] =
            (Symbol){.start = (int)i, .length = 1, .id = t->byte_ids[(unsigned char)word[i]]};
    return (int)length;
}

void byte_level_complete(Tokenizer *t) {
    t->first_symbols = byte_symbols;
    tokenizer_complete(t, "<|begin_of_text|>", "<|end_of_text|>");
}

/* ------------------------------------------------------------------ tokenizer.model
 *
 * tiktoken's file has a line for each token, "IQ== 0": the token's bytes in base64, and its rank,
 * which is its id. */

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
        *end++ = (char)(bits >> 16);
        *end++ = (char)(bits >> 8);
        *end++ = (char)bits;
    }
    return (int)(end - to - (ptrdiff_t)padding);
}

/* The number that the line ends with must be the number of tokens so far. */
static bool is_number(const char *from, const char *end, int number) {
    char expected[16];
    int length = snprintf(expected, sizeof expected, "%d", number);
    return end - from == length && memcmp(from, expected, (size_t)length) == 0;
}

static void add_special(Tokenizer *t, const char *name, char **room) {
    int length = (int)strlen(name);
    Token token = {
        .piece = *room, .bytes = *room, .piece_length = length, .length = length, .kind = CONTROL};
    *room = put(*room, (size_t)length, name);
    vocabulary_add(&t->vocabulary, token);
}

/* 256 special tokens follow the ranks. Source: Meta's llama3/tokenizer.py, as it is since Llama
 * 3.2. */
static void add_specials(Tokenizer *t, char *room) {
    static const char *const names[] = {
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|reserved_special_token_0|>",
        "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>",
        "<|step_id|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|python_tag|>",
        "<|image|>",
    };
    enum { SPECIAL = 256, NAMED = sizeof names / sizeof *names };
    for (int i = 0; i < NAMED; i++) add_special(t, names[i], &room);
    for (int i = NAMED; i < SPECIAL; i++) {
        char name[48];
        snprintf(name, sizeof name, "<|reserved_special_token_%d|>", i - NAMED + 2);
        add_special(t, name, &room);
    }
}

static void read_rank(Tokenizer *t, const char *path, const char *line, const char *end,
                      char *room) {
    Vocabulary *v = &t->vocabulary;
    const char *blank = memchr(line, ' ', (size_t)(end - line));
    int id = v->size, length = blank ? decode_base64((size_t)(blank - line), line, room) : -1;
    if (length < 1) fail("%s: line %d: no token in base64 and its rank", path, id + 1);
    if (!is_number(blank + 1, end, id))
        fail("%s: line %d: its rank should be %d", path, id + 1, id);
    if (length > MOST_PIECE || id == MOST_TOKENS)
        fail("%s: line %d: this token is one too many, or too long", path, id + 1);
    Token token = {
        .piece = room, .bytes = room, .piece_length = length, .length = length, .rank = (float)id};
    if (vocabulary_add(v, token) < 0) fail("%s: line %d: this token is there twice", path, id + 1);
}

/* "IQ== 0" */
bool tiktoken_is(const char *bytes) {
    size_t base64 =
        strspn(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
    return base64 > 0 && bytes[base64] == ' ';
}

Tokenizer *tiktoken_read(const char *path, size_t length, char *bytes) {
    enum { ROOM_FOR_SPECIALS = 256 * 48 };
    Tokenizer *t = tokenizer_new(bytes);
    char *room = t->names = xmalloc(length + ROOM_FOR_SPECIALS);
    const char *end = bytes + length;
    for (const char *line = bytes; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)),
                   *stop = newline ? newline : end;
        if (stop > line && stop[-1] == '\r') stop--; /* it has been on Windows */
        read_rank(t, path, line, stop, room);
        room += t->vocabulary.tokens[t->vocabulary.size - 1].length;
        line = newline ? newline + 1 : end;
    }
    t->byte_level = t->ignore_merges = t->names_follow = true;
    add_specials(t, room);
    byte_level_complete(t);
    return t;
}
