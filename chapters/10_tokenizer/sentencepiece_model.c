#include "10_tokenizer/character_map.h"
#include "10_tokenizer/formats.h"
#include "10_tokenizer/sentencepiece.h"
#include "common/error.h"

#include <math.h>

/* tokenizer.model of SentencePiece is a protobuf. A message is fields: a number that says which field and how it is
 * written, then its value: a number in groups of 7 bits (varint), 8 bytes, bytes with their length before them, or
 * 4 bytes.
 * Source: sentencepiece_model.proto, and "Encoding" of the Protocol Buffers documentation. */

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

/* A Llama's changes no character and keeps every space; other people's may do otherwise. */
static void read_normalizer(Tokenizer *t, Message m) {
    uint64_t dummy_prefix = 1, remove_extra = 1, escape = 1;
    Message map = {.at = "", .end = ""};
    for (Field field; next_field(&m, &field);) {
        if (field.number == 2) require_wire(&m, &field, BYTES), map = field.message;
        if (field.number == 3) require_wire(&m, &field, VARINT), dummy_prefix = field.value;
        if (field.number == 4) require_wire(&m, &field, VARINT), remove_extra = field.value;
        if (field.number == 5) require_wire(&m, &field, VARINT), escape = field.value;
    }
    if (remove_extra || map.at < map.end)
        t->map = character_map_new(m.path, remove_extra, (size_t)(map.end - map.at), map.at);
    if (!escape) fail("%s: escape_whitespaces is off: a Llama's spaces are ▁", m.path);
    t->prefix = dummy_prefix ? ALWAYS : NEVER;
    t->drops_prefix = dummy_prefix;
}

Tokenizer *sentencepiece_read(const char *path, size_t length, char *bytes) {
    Tokenizer *t = tokenizer_new(bytes);
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
    read_normalizer(t, normalizer);
    sentencepiece_complete(t);
    require_bytes(t, path);
    return t;
}
