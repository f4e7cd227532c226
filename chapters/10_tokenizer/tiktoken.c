#include "10_tokenizer/byte_level.h"
#include "10_tokenizer/formats.h"
#include "common/error.h"

#include <stdio.h>

/* tokenizer.model of tiktoken has a line for each token, "IQ== 0": the token's bytes in base64, and its rank, which is
 * its id. */

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

Tokenizer *tiktoken_read(const char *path, size_t length, char *bytes) {
    enum { ROOM_FOR_SPECIALS = 256 * 48 };
    Tokenizer *t = tokenizer_new(bytes);
    char *room = t->names = allocate(length + ROOM_FOR_SPECIALS);
    const char *end = bytes + length;
    for (const char *line = bytes; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *stop = newline ? newline : end;
        if (stop > line && stop[-1] == '\r') stop--; /* it has been on Windows */
        read_line(t, path, line, stop, room);
        room += t->vocabulary.tokens[t->vocabulary.size - 1].length;
        line = newline ? newline + 1 : end;
    }
    t->byte_level = t->whole_pieces = t->names_follow = true;
    add_specials(t, room);
    byte_level_complete(t);
    return t;
}
