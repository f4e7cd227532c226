#include "10_tokenizer/tokenizer.h"
#include "10_tokenizer/beginning.h"
#include "10_tokenizer/byte_level.h"
#include "10_tokenizer/character_map.h"
#include "10_tokenizer/formats.h"
#include "10_tokenizer/pipeline.h"
#include "10_tokenizer/sentencepiece.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening */

static bool is_json(size_t length, const char *bytes) {
    size_t blanks = strspn(bytes, " \t\r\n"); /* a NUL follows the bytes */
    return blanks < length && bytes[blanks] == '{';
}

/* It begins with a number of 32 bits, little endian, that is far from large: the length of the longest token. */
static bool is_llama2c(size_t length, const char *bytes) { return length > 4 && bytes[2] == 0 && bytes[3] == 0; }

/* Field 1 of a protobuf message, of bytes: the first piece. */
static bool is_protobuf(size_t length, const char *bytes) { return length > 1 && bytes[0] == '\n'; }

/* "IQ== 0" */
static bool is_tiktoken(const char *bytes) {
    size_t base64 = strspn(bytes, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
    return base64 > 0 && bytes[base64] == ' ';
}

Tokenizer *tokenizer_parse(const char *path, size_t length, char *bytes) {
    if (is_json(length, bytes)) return hugging_face_read(path, length, bytes);
    if (is_llama2c(length, bytes)) return llama2c_read(path, length, bytes);
    if (is_protobuf(length, bytes)) return sentencepiece_read(path, length, bytes);
    if (is_tiktoken(bytes)) return tiktoken_read(path, length, bytes);
    fail("%s: no tokenizer: it is neither SentencePiece's nor tiktoken's tokenizer.model, nor a tokenizer.json, nor "
         "llama2.c's tokenizer.bin", path);
}

/* The file of a folder that a tokenizer is read from, if there is one. */
static bool find_in_folder(char path[static 4096], const char *folder) {
    static const char *const names[] = {"tokenizer.json", "tokenizer.model", "tokenizer.bin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (snprintf(path, 4096, "%s/%s", folder, names[i]) >= 4096) fail("%.200s…: the path is too long", folder);
        if (file_is_there(path)) return true;
    }
    return false;
}

bool tokenizer_in(const char *folder) {
    char path[4096];
    return find_in_folder(path, folder);
}

Tokenizer *tokenizer_open(const char *path) {
    char file[4096];
    size_t length;
    if (file_is_folder(path)) {
        if (!find_in_folder(file, path))
            fail("%s: it holds neither tokenizer.json nor tokenizer.model nor tokenizer.bin", path);
        path = file;
    }
    if (gguf_is(path)) return gguf_tokenizer(path);
    char *bytes = file_read_regular(path, &length);
    Tokenizer *tokenizer = tokenizer_parse(path, length, bytes);
    added_of_folder(tokenizer, path);
    beginning_of_folder(tokenizer, path);
    return tokenizer;
}

char *model_home(const char *model) {
    const char *slash = strrchr(model, '/');
    if (gguf_is(model) || file_is_folder(model)) return copy_text(model, strlen(model));
    return slash ? copy_text(model, slash > model ? (size_t)(slash - model) : 1) : copy_text(".", 1); /* or it is "/" */
}

Tokenizer *tokenizer_of_model(const char *model, const char *named) {
    if (named) return tokenizer_open(named);
    char *home = model_home(model);
    if (file_is_folder(home) && !tokenizer_in(home))
        fail("%s: no tokenizer.json, tokenizer.model or tokenizer.bin lies %s it: --tokenizer PATH names one", model,
             file_is_folder(model) ? "in" : "beside");
    Tokenizer *tokenizer = tokenizer_open(home);
    free(home);
    return tokenizer;
}

void tokenizer_close(Tokenizer *t) {
    if (!t) return;
    vocabulary_free(&t->vocabulary);
    split_pattern_free(t->split_pattern), pipeline_free(t->pipeline), character_map_free(t->map);
    json_decref(t->json);
    free(t->file), free(t->names), free(t->added_names), free(t->beside), free(t);
}

/* ------------------------------------------------------------------ what it knows */

int tokenizer_size(const Tokenizer *t) { return t->vocabulary.size; }
int tokenizer_bos(const Tokenizer *t) { return t->bos; }
bool tokenizer_adds_bos(const Tokenizer *t) { return begins_with_bos(t); }
int tokenizer_eos(const Tokenizer *t) { return t->eos; }
bool tokenizer_byte_level(const Tokenizer *t) { return t->byte_level; }
int tokenizer_special(const Tokenizer *t, const char *name) { return special_id(t, name); }

const char *tokenizer_bytes(const Tokenizer *t, int id, size_t *length) {
    const Token *token = token_of(t, id);
    *length = (size_t)token->length;
    return token->bytes;
}

const char *tokenizer_piece(const Tokenizer *t, int id, size_t *length) {
    const Token *token = token_of(t, id);
    *length = (size_t)token->piece_length;
    return token->piece;
}

/* ------------------------------------------------------------------ text to ids */

static void encode_plain(const Tokenizer *t, size_t length, const char *text, bool first, Ids *ids) {
    if (length == 0) return;
    if (t->byte_level) byte_level_encode(t, length, text, ids);
    else sentencepiece_encode(t, length, text, first, ids);
}

/* Cuts the text at the names of special tokens; what lies between them is encoded by itself. `begins`: nothing is
 * before it. */
static int *encode(const Tokenizer *t, bool begins, size_t length, const char *text, bool special, size_t *count) {
    if (length > INT_MAX / 4) fail("a text of %zu bytes is too long: encode it in parts", length);
    const Vocabulary *v = &t->vocabulary;
    Ids ids = {0, 1, allocate(sizeof *ids.ids)};
    if (t->pipeline && t->pipeline->encodes) pipeline_encode(t, begins, length, text, special, &ids), length = 0;
    size_t from = 0;
    for (size_t at = 0; (special || t->has_added) && at < length;) {
        int id = names_find(&v->special, length - at, text + at);
        size_t name = id < 0 ? 1 : (size_t)v->tokens[id].piece_length;
        if (id >= 0 && (special || v->tokens[id].kind == ADDED)) {
            encode_plain(t, at - from, text + from, begins && from == 0, &ids);
            ids_add(&ids, id);
            from = at + name;
        }
        at += name;
    }
    encode_plain(t, length - from, text + from, begins && from == 0, &ids);
    *count = ids.count;
    return ids.ids;
}

int *tokenizer_encode(const Tokenizer *t, size_t length, const char *text, bool special, size_t *count) {
    return encode(t, true, length, text, special, count);
}

int *tokenizer_encode_after(const Tokenizer *t, size_t length, const char *text, size_t *count) {
    return encode(t, false, length, text, false, count);
}

void tokenizer_trim(const Tokenizer *t, int left, int right, const char *text, size_t *from, size_t *to) {
    if (t->pipeline && t->pipeline->encodes) pipeline_trim(t->pipeline, left, right, text, from, to);
}

/* ------------------------------------------------------------------ ids to text */

static Text decode_byte_level(const Tokenizer *t, size_t count, const int *ids) {
    Text bytes = {0}, out = {0};
    for (size_t i = 0; i < count; i++)
        text_add(&bytes, (size_t)token_of(t, ids[i])->length, token_of(t, ids[i])->bytes);
    text_add_characters(&out, false, bytes.length, bytes.text);
    free(bytes.text);
    return out;
}

/* The space before the text is dropped: the first one, if nothing else is there before it. */
static Text decode_sentencepiece(const Tokenizer *t, size_t count, const int *ids) {
    Text bytes = {0}, out = {0};
    bool begins = t->drops_prefix;
    for (size_t i = 0; i < count; i++) {
        const Token *token = token_of(t, ids[i]);
        if (token->kind == BYTE) {
            text_add(&bytes, 1, token->bytes);
            continue;
        }
        text_add_characters(&out, true, bytes.length, bytes.text);
        bytes.length = 0;
        begins = begins && out.length == 0;
        int dropped = begins && token->kind != UNKNOWN && token->length > 0 && token->bytes[0] == ' ';
        text_add(&out, (size_t)(token->length - dropped), token->bytes + dropped);
        begins = begins && !dropped;
    }
    text_add_characters(&out, true, bytes.length, bytes.text);
    free(bytes.text);
    return out;
}

char *tokenizer_decode(const Tokenizer *t, size_t count, const int *ids, size_t *length) {
    Text out = (t->pipeline     ? pipeline_decode
                : t->byte_level ? decode_byte_level
                                : decode_sentencepiece)(t, count, ids);
    text_add(&out, 0, "");
    out.text[out.length] = '\0';
    *length = out.length;
    return out.text;
}
