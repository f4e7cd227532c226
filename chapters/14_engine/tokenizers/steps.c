#include "14_engine/tokenizers/steps.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "common/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ pieces */

static void append_piece(Pieces *pieces, Piece piece) {
    if (pieces->count == pieces->capacity) {
        pieces->capacity = 2 * pieces->capacity + 8;
        pieces->pieces =
            xrealloc(pieces->pieces, size_mul(pieces->capacity, sizeof *pieces->pieces));
    }
    pieces->pieces[pieces->count++] = piece;
}

void pieces_add(Pieces *pieces, size_t length, const char *text, size_t first) {
    append_piece(pieces, (Piece){pieces->text.length, length, first});
    buffer_add(&pieces->text, length, text);
}

void pieces_free(Pieces *pieces) {
    free(pieces->text.text);
    free(pieces->pieces);
}

/* The output of a step, which may become as long as these. */
static Pieces empty_like(const Pieces *pieces) { return (Pieces){.text.most = pieces->text.most}; }

/* ------------------------------------------------------------------ steps that rewrite a piece */

static bool starts_with(size_t length, const char *text, const char *start) {
    size_t n = strlen(start);
    return n <= length && memcmp(text, start, n) == 0;
}

static bool wants_prefix(const Step *step, const Piece *piece, const char *text) {
    return piece->length > 0 && (piece->first > 0 || !step->first_alone) &&
           !(step->unless_it_begins && starts_with(piece->length, text, step->content));
}

/* Counts the piece's bytes in [from, to) that stand for the text's first character. */
static size_t first_within(const Piece *piece, size_t from, size_t to) {
    size_t end = to < piece->first ? to : piece->first;
    return end > from ? end - from : 0;
}

/* The replacement stands for the last character of the text that it replaces. Returns how many
 * bytes stand for the first character of the whole text now. */
static size_t replace(const Step *step, Search *search, const Piece *piece, const char *text,
                      StringBuffer *to) {
    size_t from, end, done = 0, first = 0, length = strlen(step->content);
    search_part(search, piece->start, piece->length);
    while (search_next(search, &from, &end)) {
        first += first_within(piece, done, from) +
                 (piece->first > 0 && end <= piece->first ? length : 0);
        buffer_add(to, from - done, text + done);
        buffer_add(to, length, step->content);
        done = end;
    }
    buffer_add(to, piece->length - done, text + done);
    return first + first_within(piece, done, piece->length);
}

static void encode_byte_level(size_t length, const char *text, StringBuffer *to) {
    for (size_t i = 0; i < length; i++) {
        char letter[2];
        buffer_add(to, (size_t)alphabet_name(1, text + i, letter), letter);
    }
}

/* Up to `most` times `content`, from the front; how many bytes that is. */
static size_t stripped(size_t length, const char *text, const char *content, int most) {
    size_t n = strlen(content), at = 0;
    for (int i = 0; i < most && starts_with(length - at, text + at, content); i++) at += n;
    return at;
}

static void strip(const Step *step, size_t length, const char *text, StringBuffer *to) {
    size_t n = strlen(step->content), from = stripped(length, text, step->content, step->before);
    for (int i = 0;
         i < step->behind && length - from >= n && memcmp(text + length - n, step->content, n) == 0;
         i++)
        length -= n;
    buffer_add(to, length - from, text + from);
}

static void drop(const char *content, size_t length, const char *text, StringBuffer *to) {
    for (size_t i = 0; i < length;) {
        if (starts_with(length - i, text + i, content)) i += strlen(content);
        else buffer_add(to, 1, text + i++);
    }
}

static void rewrite(const Step *step, size_t place, const Piece *piece, const char *text,
                    StringBuffer *to) {
    switch (step->kind) {
    case PREFIX:
        if (wants_prefix(step, piece, text)) buffer_add(to, strlen(step->content), step->content);
        buffer_add(to, piece->length, text);
        break;
    case NORMAL_FORM:
        add_normal_form(to, step->composed, step->compatible, piece->length, text);
        break;
    case LOWER_CASE: add_lower_case(to, piece->length, text); break;
    case BYTE_LEVEL_ENCODE: encode_byte_level(piece->length, text, to); break;
    case STRIP: strip(step, piece->length, text, to); break;
    case METASPACE_STRIP:
        if (place == 0) drop(step->content, piece->length, text, to);
        else buffer_add(to, piece->length, text);
        break;
    default: break;
    }
}

/* The part that the first character of the whole text becomes: as many characters as it would
 * alone. */
static size_t bytes_of_first(const Step *step, size_t place, const Piece *piece, const char *text,
                             size_t length, const char *written) {
    StringBuffer alone = {0};
    size_t first = 0, n;
    if (piece->first > 0)
        rewrite(step, place, &(Piece){0, piece->first, piece->first}, text, &alone);
    for (size_t i = 0; i < alone.length && first < length; i += n) {
        size_t of_it;
        utf8_point(alone.text + i, &n);
        utf8_point(written + first, &of_it);
        first += of_it;
    }
    free(alone.text);
    return first;
}

static void rewrite_all(const Step *step, Pieces *pieces) {
    Pieces out = empty_like(pieces);
    buffer_add(&out.text, 0, ""); /* there is a text, even if nothing is left of it */
    Search *search =
        step->pattern ? search_new(step->pattern, pieces->text.length, pieces->text.text) : NULL;
    for (size_t i = 0; i < pieces->count; i++) {
        const Piece *piece = &pieces->pieces[i];
        const char *text = piece->length ? pieces->text.text + piece->start : "";
        size_t start = out.text.length, first = 0;
        if (step->kind == REPLACE) first = replace(step, search, piece, text, &out.text);
        else rewrite(step, i, piece, text, &out.text);
        size_t length = out.text.length - start;
        if (step->kind != REPLACE && length)
            first = bytes_of_first(step, i, piece, text, length, out.text.text + start);
        append_piece(&out, (Piece){start, length, first});
    }
    if (search) search_free(search);
    pieces_free(pieces);
    *pieces = out;
}

/* ------------------------------------------------------------------ steps that cut a piece */

/* The matches, and the text between them, one after the other. */
typedef struct {
    size_t end;
    bool found;
} Part;

typedef struct {
    size_t count, capacity;
    Part *parts;
} Parts;

static void append_part(Parts *parts, size_t end, bool found) {
    if (parts->count == parts->capacity) {
        parts->capacity = 2 * parts->capacity + 8;
        parts->parts = xrealloc(parts->parts, size_mul(parts->capacity, sizeof *parts->parts));
    }
    parts->parts[parts->count++] = (Part){end, found};
}

static void find_parts(const Step *step, Search *search, const Piece *piece, Parts *parts) {
    size_t from, to, done = 0;
    parts->count = 0;
    search_part(search, piece->start, piece->length);
    while (search_next(search, &from, &to)) {
        if (from > done) append_part(parts, from, step->inverted);
        append_part(parts, to, !step->inverted);
        done = to;
    }
    if (done < piece->length) append_part(parts, piece->length, step->inverted);
}

/* Whether the piece goes on behind parts[i]: what is found stays with its neighbour, unless that
 * was found, too. */
static bool joins_next(Behavior behavior, const Parts *parts, size_t i) {
    if (i + 1 == parts->count) return false;
    bool one = parts->parts[i].found, next = parts->parts[i + 1].found;
    switch (behavior) {
    case CONTIGUOUS: return one == next;
    case MERGED_WITH_PREVIOUS: return next && !one;
    case MERGED_WITH_NEXT: return one && !next;
    default: return false;
    }
}

static void split_pieces(const Step *step, Pieces *pieces) {
    Pieces out = {.text = pieces->text};
    Parts parts = {0};
    Search *search = search_new(step->pattern, pieces->text.length, pieces->text.text);
    for (size_t p = 0; p < pieces->count; p++) {
        const Piece *piece = &pieces->pieces[p];
        find_parts(step, search, piece, &parts);
        for (size_t i = 0, start = 0; i < parts.count; i++) {
            if (joins_next(step->behavior, &parts, i)) continue;
            size_t end = parts.parts[i].end;
            bool removed = end == start || (step->behavior == REMOVED && parts.parts[i].found);
            if (!removed)
                append_piece(&out, (Piece){piece->start + start, end - start,
                                           first_within(piece, start, end)});
            start = end;
        }
    }
    search_free(search);
    free(pieces->pieces);
    free(parts.parts);
    *pieces = out;
}

/* ------------------------------------------------------------------ steps that join pieces */

/* Bytes as UTF-8; or, if they are not as a whole, U+FFFD for every one of them. */
static void add_bytes(StringBuffer *to, size_t length, const char *bytes) {
    bool valid = true;
    for (size_t i = 0; valid && i < length;)
        i += (size_t)utf8_character(length - i, bytes + i, &valid);
    for (size_t i = 0; !valid && i < length; i++) buffer_add(to, 3, "\uFFFD");
    if (valid) buffer_add(to, length, bytes);
}

/* A token that is not spelled in the alphabet stands for itself. */
static void decode_byte_level(Pieces *pieces) {
    StringBuffer bytes = {0};
    Pieces out = empty_like(pieces);
    for (size_t i = 0; i < pieces->count; i++) {
        const Piece *piece = &pieces->pieces[i];
        char *text = pieces->text.text + piece->start, *read = xmalloc(piece->length + 1);
        int length = alphabet_bytes((int)piece->length, text, read);
        buffer_add(&bytes, length < 0 ? piece->length : (size_t)length, length < 0 ? text : read);
        free(read);
    }
    StringBuffer text = {0};
    buffer_add_utf8(&text, false, bytes.length, bytes.text);
    pieces_add(&out, text.length, text.text, 0);
    free(bytes.text);
    free(text.text);
    pieces_free(pieces);
    *pieces = out;
}

int byte_named(size_t length, const char *name) {
    if (length != 6 || memcmp(name, "<0x", 3) != 0 || name[5] != '>') return -1;
    bool is =
        (isxdigit((unsigned char)name[3]) || name[3] == '+') && isxdigit((unsigned char)name[4]);
    return is ? (int)strtol(name + 3, NULL, 16) : -1;
}

static void decode_byte_fallback(Pieces *pieces) {
    StringBuffer bytes = {0}, text = {0};
    Pieces out = empty_like(pieces);
    for (size_t i = 0; i <= pieces->count; i++) {
        const Piece *piece = i < pieces->count ? &pieces->pieces[i] : NULL;
        const char *its = piece ? pieces->text.text + piece->start : "";
        int byte = piece ? byte_named(piece->length, its) : -1;
        if (byte >= 0) {
            buffer_add(&bytes, 1, &(char){(char)byte});
            continue;
        }
        text.length = 0;
        add_bytes(&text, bytes.length, bytes.text);
        if (bytes.length > 0) pieces_add(&out, text.length, text.text, 0);
        if (piece) pieces_add(&out, piece->length, its, 0);
        bytes.length = 0;
    }
    free(bytes.text);
    free(text.text);
    pieces_free(pieces);
    *pieces = out;
}

static void fuse(const char *between, Pieces *pieces) {
    StringBuffer text = {.most = pieces->text.most};
    for (size_t i = 0; i < pieces->count; i++) {
        if (i > 0) buffer_add(&text, strlen(between), between);
        buffer_add(&text, pieces->pieces[i].length, pieces->text.text + pieces->pieces[i].start);
    }
    Pieces out = empty_like(pieces);
    pieces_add(&out, text.length, text.text, 0);
    free(text.text);
    pieces_free(pieces);
    *pieces = out;
}

/* ------------------------------------------------------------------ all of them */

void steps_add(Steps *steps, Step step) {
    steps->steps = xrealloc(steps->steps, (size_t)(steps->count + 1) * sizeof *steps->steps);
    steps->steps[steps->count++] = step;
}

/* A few steps that double every letter would make terabytes of a page. */
static size_t most_of(size_t length) {
    enum {
        TIMES = 100,
        LEAST = 1 << 20
    }; /* compatible normal forms make at most 11 times as much */
    return size_mul(length, TIMES) < SIZE_MAX - LEAST ? size_mul(length, TIMES) + LEAST : SIZE_MAX;
}

void steps_apply(const Steps *steps, Pieces *pieces) {
    pieces->text.most = most_of(pieces->text.length);
    for (int i = 0; i < steps->count; i++) {
        const Step *step = &steps->steps[i];
        switch (step->kind) {
        case SPLIT: split_pieces(step, pieces); break;
        case BYTE_LEVEL_DECODE: decode_byte_level(pieces); break;
        case BYTE_FALLBACK: decode_byte_fallback(pieces); break;
        case FUSE: fuse(step->content, pieces); break;
        default: rewrite_all(step, pieces);
        }
    }
}

void steps_free(Steps *steps) {
    for (int i = 0; i < steps->count; i++) regex_free(steps->steps[i].pattern);
    free(steps->steps);
}
