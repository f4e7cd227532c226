#include "10_tokenizer/tokenizer_internal.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ normalization */

enum { SPACE_LENGTH = sizeof SPACE_MARK - 1 };

/* With a ▁ before it, ▁ for each space, and U+FFFD for each byte that is no UTF-8. */
static char *add_space_marks(const Tokenizer *t, size_t length, const char *text, bool first,
                             size_t *normal_length) {
    char *normal = xmalloc(3 * length + SPACE_LENGTH), *end = normal;
    const bool has_one = (length > 0 && text[0] == ' ') ||
                         (length >= SPACE_LENGTH && memcmp(text, SPACE_MARK, SPACE_LENGTH) == 0);
    if ((t->prepend_scheme == PREPEND_ALWAYS || (t->prepend_scheme == PREPEND_FIRST && first)) &&
        !(t->no_double_prefix && has_one))
        end = put(end, SPACE_LENGTH, SPACE_MARK);
    for (size_t i = 0, n; i < length; i += n) {
        bool valid;
        n = (size_t)utf8_character(length - i, text + i, &valid);
        if (!valid) {
            end = put(end, 3, "\uFFFD");
            n = 1;
        } else if (text[i] == ' ') {
            end = put(end, SPACE_LENGTH, SPACE_MARK);
        } else {
            end = put(end, n, text + i);
        }
    }
    *normal_length = (size_t)(end - normal);
    return normal;
}

/* ------------------------------------------------------------------ words
 *
 * SentencePiece knows no words, it merges the text as a whole. But where no token has two
 * characters side by side that the text has so, nothing merges across: what happens on one side
 * changes nothing on the other. There the text falls apart, most often before a ▁, into words. */

enum { PAIR_BITS = 18 };

/* The bit of two characters. Others may share it: then a word is longer than it need be, and its
 * ids are the same. */
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
    t->beside = xmalloc((1 << PAIR_BITS) / 8);
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
static int character_symbols(const Tokenizer *t, size_t length, const char *word,
                             Symbol symbols[length]) {
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

void sentencepiece_encode(const Tokenizer *t, size_t length, const char *text, bool first,
                          Ids *ids) {
    size_t normal_length, n;
    char *normal = add_space_marks(t, length, text, first, &normal_length);
    EncodeCache cache = encode_cache_new(t, normal_length, normal, ids);
    for (size_t at = 0; at < normal_length; at += n) {
        n = word_length(t, normal_length - at, normal + at);
        encode_cache_add(&cache, at, n);
    }
    encode_cache_free(&cache);
    free(normal);
}

/* ------------------------------------------------------------------ ids to text */

/* Drops the space that was put before the text: the first one, if nothing else comes before it. */
StringBuffer sentencepiece_decode(const Tokenizer *t, size_t count, const int *ids) {
    StringBuffer bytes = {0}, out = {0};
    bool begins = t->drops_prefix;
    for (size_t i = 0; i < count; i++) {
        const Token *token = token_of(t, ids[i]);
        if (token->kind == BYTE) {
            buffer_add(&bytes, 1, token->bytes);
            continue;
        }
        buffer_add_utf8(&out, true, bytes.length, bytes.text);
        bytes.length = 0;
        begins = begins && out.length == 0;
        int dropped =
            begins && token->kind != UNKNOWN && token->length > 0 && token->bytes[0] == ' ';
        buffer_add(&out, (size_t)(token->length - dropped), token->bytes + dropped);
        begins = begins && !dropped;
    }
    buffer_add_utf8(&out, true, bytes.length, bytes.text);
    free(bytes.text);
    return out;
}

/* ------------------------------------------------------------------ tokens */

/* The bytes of a piece: each ▁ is a space again. */
static int with_spaces(int length, const char *piece, char *to) {
    char *end = to;
    for (int i = 0; i < length;) {
        bool is_mark =
            length - i >= SPACE_LENGTH && memcmp(piece + i, SPACE_MARK, SPACE_LENGTH) == 0;
        *end++ = is_mark ? ' ' : piece[i];
        i += is_mark ? SPACE_LENGTH : 1;
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
            fail("%s: token %d is said to be a byte, but \"%.*s\" is none", path, id,
                 token.piece_length, token.piece);
        room[0] = (char)byte;
        token.length = 1;
    } else if (token.kind == UNKNOWN) {
        token.bytes = " ⁇ "; /* as SentencePiece decodes it */
        token.length = sizeof " ⁇ " - 1;
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

/* ------------------------------------------------------------------ tokenizer.model
 *
 * The file is a protobuf. A message is fields: a number that says which field and how it is
 * written, then its value: a number in groups of 7 bits (varint), 8 bytes, bytes with their length
 * before them, or 4 bytes. Source: sentencepiece_model.proto, and "Encoding" in the Protocol Buffer
 * documentation. */

typedef enum { VARINT, FIXED64, BYTES, FIXED32 = 5 } Wire;

typedef struct {
    const char *path, *file, *at, *end; /* a message is file[at .. end - 1] */
} Message;

typedef struct {
    int number;
    Wire wire;
    uint64_t value;  /* VARINT, FIXED32 */
    Message message; /* BYTES */
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
        for (int i = 0; i < 4; i++)
            field->value |= (uint64_t)(unsigned char)read_bytes(m, 1)[0] << 8 * i;
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
    if (field->wire != wire)
        broken(m, "a field that is written otherwise than SentencePiece writes it");
}

static Token read_piece(Message m) {
    static const TokenType kinds[] = {NORMAL, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, NORMAL, BYTE};
    enum { UNUSED = 5 };
    Token token = {.kind = NORMAL};
    for (Field field; next_field(&m, &field);) {
        if (field.number == 1) {
            require_wire(&m, &field, BYTES);
            if (field.message.end - field.message.at > MOST_PIECE)
                broken(&m, "a piece that is too long");
            token.piece = field.message.at;
            token.piece_length = (int)(field.message.end - field.message.at);
        } else if (field.number == 2) {
            require_wire(&m, &field, FIXED32);
            float score;
            memcpy(&score, &(uint32_t){(uint32_t)field.value}, sizeof score);
            if (isnan(score)) broken(&m, "a score that is no number");
            token.rank = -score;
        } else if (field.number == 3) {
            require_wire(&m, &field, VARINT);
            if (field.value == UNUSED)
                fail("%s: it has pieces of the type UNUSED, a Llama's has none", m.path);
            if (field.value < 1 || field.value > 6) broken(&m, "a piece of an unknown type");
            token.kind = kinds[field.value];
        }
    }
    return token;
}

/* Checks how the vocabulary was trained: settings that mean another tokenizer than Llama's are
 * refused. */
static void check_trainer(Message m) {
    static const char *const types[] = {"", "Unigram", "BPE", "word", "character"};
    uint64_t type = 1, suffix = 0, fallback = 0;
    for (Field field; next_field(&m, &field);) {
        if (field.number == 3) {
            require_wire(&m, &field, VARINT);
            type = field.value;
        }
        if (field.number == 24) {
            require_wire(&m, &field, VARINT);
            suffix = field.value;
        }
        if (field.number == 35) {
            require_wire(&m, &field, VARINT);
            fallback = field.value;
        }
    }
    if (type != 2)
        fail("%s: it is a %s model: a Llama's is BPE", m.path,
             type >= 1 && type <= 4 ? types[type] : "strange");
    if (suffix)
        fail("%s: treat_whitespace_as_suffix is on: a Llama's spaces stand before the word",
             m.path);
    if (!fallback) fail("%s: byte_fallback is off: a Llama's is on", m.path);
}

/* A Llama's file rewrites no character and keeps every space. What others ask for is only recorded
 * here. */
static void read_normalizer(Tokenizer *t, Message m) {
    uint64_t dummy_prefix = 1, remove_extra = 1, escape = 1;
    static const char none[] = "";
    Message map = {.at = none, .end = none};
    for (Field field; next_field(&m, &field);) {
        if (field.number == 2) {
            require_wire(&m, &field, BYTES);
            map = field.message;
        }
        if (field.number == 3) {
            require_wire(&m, &field, VARINT);
            dummy_prefix = field.value;
        }
        if (field.number == 4) {
            require_wire(&m, &field, VARINT);
            remove_extra = field.value;
        }
        if (field.number == 5) {
            require_wire(&m, &field, VARINT);
            escape = field.value;
        }
    }
    t->removes_spaces = remove_extra;
    t->charsmap_length = (size_t)(map.end - map.at);
    t->charsmap = map.at;
    if (!escape) fail("%s: escape_whitespaces is off: a Llama's spaces are ▁", m.path);
    t->prepend_scheme = dummy_prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    t->drops_prefix = dummy_prefix;
}

/* The first byte is that of a protobuf's field 1, bytes: the first piece. */
bool sentencepiece_is(size_t length, const char *bytes) { return length > 1 && bytes[0] == '\n'; }

Tokenizer *sentencepiece_read(const char *path, size_t length, char *bytes) {
    Tokenizer *t = tokenizer_new(bytes);
    Message model = {path, bytes, bytes, bytes + length}, trainer = {path, bytes, bytes, bytes},
            normalizer = trainer;
    char *room = t->names = xmalloc(length); /* no token is longer than its message */
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
