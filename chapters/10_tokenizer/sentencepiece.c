#include "10_tokenizer/bpe.h"
#include "10_tokenizer/families.h"
#include "common/error.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ encoding */

static const char space[] = "▁"; /* U+2581, what a space is written as */
enum { SPACE = sizeof space - 1 };

/* The text as the pieces spell it: with a ▁ before it, ▁ for each space, and U+FFFD for each byte that is no UTF-8. */
static char *normalize(const Tokenizer *t, size_t length, const char *text, bool first, size_t *normal_length) {
    char *normal = allocate(3 * length + SPACE), *end = normal;
    const bool has_one = text[0] == ' ' || (length >= SPACE && memcmp(text, space, SPACE) == 0);
    if ((t->prefix == ALWAYS || (t->prefix == FIRST && first)) && !(t->one_prefix && has_one))
        end = put(end, SPACE, space);
    for (size_t i = 0; i < length;) {
        bool valid;
        int n = utf8_character(length - i, text + i, &valid);
        if (!valid) end = put(end, 3, "\uFFFD"), i++;
        else if (text[i] == ' ') end = put(end, SPACE, space), i++;
        else end = put(end, (size_t)n, text + i), i += (size_t)n;
    }
    *normal_length = (size_t)(end - normal);
    return normal;
}

/* One symbol for each character, or for a user-defined piece. */
static int first_symbols(const Vocabulary *v, size_t length, const char *text, Symbol symbols[length]) {
    int count = 0, n;
    for (size_t i = 0; i < length; i += (size_t)n) {
        bool valid;
        int id = names_find(&v->user_defined, length - i, text + i);
        n = id >= 0 ? v->tokens[id].piece_length : utf8_character(length - i, text + i, &valid);
        if (id < 0) id = map_find(&v->pieces, (size_t)n, text + i);
        symbols[count++] = (Symbol){.start = (int)i, .length = n, .id = id};
    }
    return count;
}

void sentencepiece_encode(const Tokenizer *t, size_t length, const char *text, bool first, Ids *ids) {
    const Vocabulary *v = &t->vocabulary;
    size_t normal_length;
    char *normal = normalize(t, length, text, first, &normal_length);
    Symbol *symbols = allocate(product(normal_length, sizeof *symbols));
    int count = first_symbols(v, normal_length, normal, symbols);
    int whole = t->whole_pieces ? map_find(&v->pieces, normal_length, normal) : -1;
    if (whole >= 0) count = 1, symbols[0].id = whole;
    else count = bpe_merge(v, normal, count, symbols);
    for (int i = 0; i < count; i++) {
        if (symbols[i].id >= 0) ids_add(ids, symbols[i].id);
        else for (int b = 0; b < symbols[i].length; b++) /* no piece has this character: byte fallback */
            ids_add(ids, t->byte_ids[(unsigned char)normal[symbols[i].start + b]]);
    }
    free(symbols), free(normal);
}

/* ------------------------------------------------------------------ tokens */

/* The bytes of a piece: each ▁ is a space again. */
static int with_spaces(int length, const char *piece, char *to) {
    char *end = to;
    for (int i = 0; i < length;) {
        if (length - i >= SPACE && memcmp(piece + i, space, SPACE) == 0) *end++ = ' ', i += SPACE;
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

/* ------------------------------------------------------------------ tokenizer.model: a protobuf
 *
 * A message is fields: a number that says which field and how it is written, then its value: a number in groups of 7 bits
 * (varint), 8 bytes, bytes with their length before them, or 4 bytes. Source: sentencepiece_model.proto, and "Encoding"
 * of the Protocol Buffers documentation. */

typedef enum { VARINT, FIXED64, BYTES, FIXED32 = 5 } Wire;

typedef struct {
    const char *path, *file, *at, *end; /* a message is file[at .. end - 1] */
} Message;

typedef struct {
    int number;
    Wire wire;
    uint64_t value;    /* VARINT, FIXED32 */
    Message message;   /* BYTES */
} Field;

static _Noreturn void broken(const Message *m, const char *why) {
    fail("%s: byte %td: %s: is the file complete?", m->path, m->at - m->file, why);
}

static uint64_t read_varint(Message *m) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (m->at == m->end) broken(m, "it ends within a number");
        unsigned char byte = (unsigned char)*m->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    broken(m, "a number of more than 10 bytes");
}

static const char *read_bytes(Message *m, uint64_t length) {
    if (length > (uint64_t)(m->end - m->at)) broken(m, "a field that is longer than what holds it");
    m->at += length;
    return m->at - length;
}

static bool next_field(Message *m, Field *field) {
    if (m->at == m->end) return false;
    uint64_t tag = read_varint(m);
    if (tag >> 3 == 0 || tag >> 3 >= 1u << 29) broken(m, "a field without a number");
    *field = (Field){.number = (int)(tag >> 3), .wire = (Wire)(tag & 7)};
    switch (field->wire) {
    case VARINT: field->value = read_varint(m); break;
    case FIXED64: read_bytes(m, 8); break; /* nothing here is written so */
    case FIXED32:
        for (int i = 0; i < 4; i++) field->value |= (uint64_t)(unsigned char)read_bytes(m, 1)[0] << 8 * i;
        break;
    case BYTES: {
        uint64_t length = read_varint(m);
        const char *bytes = read_bytes(m, length);
        field->message = (Message){m->path, m->file, bytes, bytes + length};
        break;
    }
    default: broken(m, "a field of an unknown kind");
    }
    return true;
}

static void require_wire(const Message *m, const Field *field, Wire wire) {
    if (field->wire != wire) broken(m, "a field that is written otherwise than SentencePiece writes it");
}

static Token read_piece(Message m) {
    static const Kind kinds[] = {NORMAL, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, NORMAL, BYTE};
    enum { UNUSED = 5 };
    Token token = {.kind = NORMAL};
    for (Field field; next_field(&m, &field);) {
        if (field.number == 1) {
            require_wire(&m, &field, BYTES);
            if (field.message.end - field.message.at > MOST_PIECE) broken(&m, "a piece that is too long");
            token.piece = field.message.at, token.piece_length = (int)(field.message.end - field.message.at);
        } else if (field.number == 2) {
            require_wire(&m, &field, FIXED32);
            float score;
            memcpy(&score, &(uint32_t){(uint32_t)field.value}, sizeof score);
            if (isnan(score)) broken(&m, "a score that is no number");
            token.rank = -score;
        } else if (field.number == 3) {
            require_wire(&m, &field, VARINT);
            if (field.value == UNUSED) fail("%s: it has pieces of the type UNUSED, a Llama's has none", m.path);
            if (field.value < 1 || field.value > 6) broken(&m, "a piece of an unknown type");
            token.kind = kinds[field.value];
        }
    }
    return token;
}

/* How the vocabulary was trained. What would make it another tokenizer than Llama's is refused. */
static void check_trainer(Message m) {
    static const char *const types[] = {"", "Unigram", "BPE", "word", "character"};
    uint64_t type = 1, suffix = 0, fallback = 0;
    for (Field field; next_field(&m, &field);) {
        if (field.number == 3) require_wire(&m, &field, VARINT), type = field.value;
        if (field.number == 24) require_wire(&m, &field, VARINT), suffix = field.value;
        if (field.number == 35) require_wire(&m, &field, VARINT), fallback = field.value;
    }
    if (type != 2)
        fail("%s: it is a %s model: a Llama's is BPE", m.path, type >= 1 && type <= 4 ? types[type] : "strange");
    if (suffix) fail("%s: treat_whitespace_as_suffix is on: a Llama's spaces stand before the word", m.path);
    if (!fallback) fail("%s: byte_fallback is off: a Llama's is on", m.path);
}

static void check_normalizer(Tokenizer *t, Message m) {
    uint64_t dummy_prefix = 1, remove_extra = 1, escape = 1;
    for (Field field; next_field(&m, &field);) {
        const Message *bytes = &field.message;
        if (field.number == 2) require_wire(&m, &field, BYTES);
        if (field.number == 2 && bytes->at < bytes->end)
            fail("%s: it has a character map (nmt_nfkc or the like): a Llama's normalizer is \"identity\"", m.path);
        if (field.number == 3) require_wire(&m, &field, VARINT), dummy_prefix = field.value;
        if (field.number == 4) require_wire(&m, &field, VARINT), remove_extra = field.value;
        if (field.number == 5) require_wire(&m, &field, VARINT), escape = field.value;
    }
    if (remove_extra) fail("%s: remove_extra_whitespaces is on: a Llama keeps every space", m.path);
    if (!escape) fail("%s: escape_whitespaces is off: a Llama's spaces are ▁", m.path);
    t->prefix = dummy_prefix ? ALWAYS : NEVER;
    t->drops_prefix = dummy_prefix;
}

void sentencepiece_read(Tokenizer *t, const char *path, size_t length, const char *bytes) {
    Message model = {path, bytes, bytes, bytes + length}, trainer = {path, bytes, bytes, bytes}, normalizer = trainer;
    char *room = t->names = allocate(length); /* no token is longer than its message */
    for (Field field; next_field(&model, &field);) {
        if (field.number > 5) continue;
        require_wire(&model, &field, BYTES);
        if (field.number == 1) {
            int id = sentencepiece_add(t, path, read_piece(field.message), room);
            room += t->vocabulary.tokens[id].piece_length;
        }
        if (field.number == 2) trainer = field.message;
        if (field.number == 3) normalizer = field.message;
        if (field.number == 5 && field.message.at < field.message.end)
            fail("%s: it has a denormalizer: a Llama's has none", path);
    }
    check_trainer(trainer);
    check_normalizer(t, normalizer);
    find_bytes(t, path);
}

/* ------------------------------------------------------------------ tokenizer.bin of llama2.c
 *
 * The length of the longest token, then each token: its score, its length, its bytes with spaces as spaces. How many there
 * are is not said: it ends with the last. Source: tokenizer.py and run.c of llama2.c. */

static uint32_t word_at(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The name as other files have it: with ▁ for the spaces, and <s> for "\n<s>\n". Returns its length. */
static int spell(int id, int length, const char *bytes, char *to) {
    char *end = to;
    for (int i = 0; i < length; i++) {
        if (bytes[i] == ' ') end = put(end, SPACE, space);
        else if (bytes[i] != '\n' || (id != 1 && id != 2)) *end++ = bytes[i];
    }
    return (int)(end - to);
}

void llama2c_read(Tokenizer *t, const char *path, size_t length, const char *bytes) {
    enum { HEADER = 4, BEFORE = 8, FIRST_BYTE = 3, LAST_BYTE = FIRST_BYTE + 255 };
    char *room = t->names = allocate(4 * length);
    for (size_t at = HEADER; at < length;) {
        int id = t->vocabulary.size;
        if (length - at < BEFORE || word_at(bytes + at + 4) > length - at - BEFORE)
            fail("%s: token %d ends behind the file's end: is the file complete?", path, id);
        uint32_t score_bits = word_at(bytes + at), size = word_at(bytes + at + 4);
        if (size > MOST_PIECE) fail("%s: token %d is too long", path, id);
        Kind kind = id == 0 ? UNKNOWN : id < FIRST_BYTE ? CONTROL : id <= LAST_BYTE ? BYTE : NORMAL;
        Token token = {.piece = room, .kind = kind};
        token.piece_length = spell(id, (int)size, bytes + at + BEFORE, room);
        room += token.piece_length;
        memcpy(&token.rank, &score_bits, sizeof token.rank);
        if (isnan(token.rank)) fail("%s: the score of token %d is no number", path, id);
        token.rank = -token.rank;
        sentencepiece_add(t, path, token, room);
        room += t->vocabulary.tokens[id].length;
        at += BEFORE + size;
    }
    t->prefix = ALWAYS, t->drops_prefix = true;
    find_bytes(t, path);
}
