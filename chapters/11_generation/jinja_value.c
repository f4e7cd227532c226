#include "11_generation/jinja_parts.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

enum { MOST_MEMORY = 1 << 26 }; /* a template that takes more would never end */

struct Piece {
    struct Piece *before;
};

void *jinja_room(Jinja *j, size_t bytes) {
    enum { EACH = 64 }; /* what a small piece takes at least */
    j->taken += bytes + EACH;
    if (bytes > MOST_MEMORY || j->taken > MOST_MEMORY) jinja_wrong(j, "it takes too much memory for a conversation");
    struct Piece *piece = allocate(sizeof *piece + bytes);
    piece->before = j->memory, j->memory = piece;
    return memset(piece + 1, 0, bytes);
}

void jinja_free(Jinja *j) {
    for (struct Piece *before; j->memory; j->memory = before) {
        before = j->memory->before;
        free(j->memory);
    }
}

/* ------------------------------------------------------------------ texts */

Text text_of(Jinja *j, const char *letters, size_t length, bool said) {
    bool *marks = jinja_room(j, length * (sizeof *marks + 1));
    char *copy = (char *)(marks + length);
    memcpy(copy, letters, length);
    for (size_t i = 0; i < length; i++) marks[i] = said;
    return (Text){length, copy, marks};
}

bool text_is(Text text, const char *letters) {
    return text.length == strlen(letters) && memcmp(text.letters, letters, text.length) == 0;
}

bool text_equal(Text left, Text right) {
    return left.length == right.length && memcmp(left.letters, right.letters, left.length) == 0;
}

Text text_joined(Jinja *j, Text left, Text right) {
    bool *said = jinja_room(j, (left.length + right.length) * (sizeof *said + 1));
    char *letters = (char *)(said + left.length + right.length);
    memcpy(letters, left.letters, left.length), memcpy(letters + left.length, right.letters, right.length);
    memcpy(said, left.said, left.length * sizeof *said),
        memcpy(said + left.length, right.said, right.length * sizeof *said);
    return (Text){left.length + right.length, letters, said};
}

Text text_piece(Text text, size_t from, size_t to) { return (Text){to - from, text.letters + from, text.said + from}; }

/* Python's white space. */
static const char *const spaces[] = {
    " ", "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x1f",
    "\xc2\x85", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

/* The bytes of the white space that a text begins with, or ends with; 0 if there is none. */
static size_t space(Text text, bool at_end) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        size_t n = strlen(spaces[i]);
        if (n <= text.length && memcmp(at_end ? text.letters + text.length - n : text.letters, spaces[i], n) == 0)
            return n;
    }
    return 0;
}

/* The bytes of the character that a text begins with, or ends with, if it is one of these; 0 if it is none. */
static size_t end_in(Text text, Text characters, bool at_end) {
    for (size_t i = 0, n; i < characters.length; i += n) {
        for (n = 1; i + n < characters.length && (characters.letters[i + n] & 0xc0) == 0x80;) n++;
        if (n > text.length) continue;
        const char *there = at_end ? text.letters + text.length - n : text.letters;
        if (memcmp(there, characters.letters + i, n) == 0) return n;
    }
    return 0;
}

Text text_trimmed(Text text, bool left, bool right) {
    size_t n;
    while (left && (n = space(text, false)) > 0) text = text_piece(text, n, text.length);
    while (right && (n = space(text, true)) > 0) text = text_piece(text, 0, text.length - n);
    return text;
}

Text text_without(Text text, Text characters, bool left, bool right) {
    size_t n;
    while (left && (n = end_in(text, characters, false)) > 0) text = text_piece(text, n, text.length);
    while (right && (n = end_in(text, characters, true)) > 0) text = text_piece(text, 0, text.length - n);
    return text;
}

bool text_has(Text text, Text part, size_t *place) {
    const char *found = part.length ? memmem(text.letters, text.length, part.letters, part.length) : text.letters;
    if (found && place) *place = (size_t)(found - text.letters);
    return found;
}

/* ------------------------------------------------------------------ values */

Value value_of_text(Text text) { return (Value){.kind = TEXT, .text = text}; }
Value value_of_number(Kind kind, long number) { return (Value){.kind = kind, .number = number}; }

Values *values_new(Jinja *j, size_t count) {
    Values *list = jinja_room(j, sizeof *list + count * sizeof *list->values);
    list->count = count;
    return list;
}

bool value_true(Value value) {
    switch (value.kind) {
        case BOOLEAN: case NUMBER: return value.number != 0;
        case TEXT: return value.text.length > 0;
        case LIST: return value.list->count > 0;
        case MAP: return value.map->unique || value.map->count > 0;
        case MACRO: return true;
        default: return false;
    }
}

static bool maps_equal(Jinja *j, const Names *left, const Names *right) {
    if (left == right) return true;
    if (left->count != right->count || left->unique || right->unique) return false;
    for (size_t i = 0; i < left->count; i++)
        if (!value_equal(j, left->entries[i].value, names_get(j, right, left->entries[i].name))) return false;
    return true;
}

static bool lists_equal(Jinja *j, const Values *left, const Values *right) {
    bool equal = left->count == right->count;
    jinja_deeper(j, 1);
    for (size_t i = 0; equal && i < left->count; i++) equal = value_equal(j, left->values[i], right->values[i]);
    jinja_deeper(j, -1);
    return equal;
}

bool value_equal(Jinja *j, Value left, Value right) {
    bool numbers = (left.kind == BOOLEAN || left.kind == NUMBER) && (right.kind == BOOLEAN || right.kind == NUMBER);
    if (numbers) return left.number == right.number;
    jinja_works(j, left.kind == TEXT ? left.text.length : 0);
    if (left.kind != right.kind) return false;
    if (left.kind == MAP) return maps_equal(j, left.map, right.map);
    if (left.kind == TEXT) return text_equal(left.text, right.text);
    if (left.kind == MACRO) return left.macro == right.macro;
    return left.kind != LIST || lists_equal(j, left.list, right.list);
}

Text value_text(Jinja *j, Value value) {
    char number[32];
    switch (value.kind) {
        case TEXT: return value.text;
        case NUMBER: return text_of(j, number, (size_t)snprintf(number, sizeof number, "%ld", value.number), false);
        case BOOLEAN: return value.number ? text_of(j, "True", 4, false) : text_of(j, "False", 5, false);
        case NONE: return text_of(j, "None", 4, false);
        case UNDEFINED: return text_of(j, "", 0, false);
        default: jinja_wrong(j, "a list or an object is to be printed: no conversation needs that");
    }
}

/* ------------------------------------------------------------------ names */

Names *names_new(Jinja *j, Names *outer) {
    Names *names = jinja_room(j, sizeof *names);
    names->outer = outer;
    return names;
}

static Value *find(const Names *names, Text name) {
    for (size_t i = 0; i < names->count; i++)
        if (text_equal(names->entries[i].name, name)) return &names->entries[i].value;
    return NULL;
}

void names_set(Jinja *j, Names *names, Text name, Value value) {
    Value *place = find(names, name);
    if (place) {
        *place = value;
        return;
    }
    const void *before = names->entries;
    names->entries = jinja_room(j, (names->count + 1) * sizeof *names->entries);
    if (names->count) memcpy(names->entries, before, names->count * sizeof *names->entries);
    names->entries[names->count].name = name, names->entries[names->count++].value = value;
}

Value names_get(Jinja *j, const Names *names, Text name) {
    for (; names; names = names->outer) {
        jinja_works(j, names->count);
        const Value *found = find(names, name);
        if (found) return *found;
    }
    return (Value){0};
}
