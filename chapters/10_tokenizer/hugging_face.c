#include "10_tokenizer/beginning.h"
#include "10_tokenizer/byte_level.h"
#include "10_tokenizer/formats.h"
#include "10_tokenizer/sentencepiece.h"
#include "common/error.h"
#include "common/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A tokenizer.json says what happens to a text, step by step: a normalizer, a pre_tokenizer, a model, a decoder. The two
 * families are two ways of filling that in; anything else is another tokenizer, and is refused.
 * Source: the library tokenizers of Hugging Face; LlamaConverter and TikTokenConverter of transformers. */

/* fail()s with the value as JSON spells it: whatever it is, it stays on one line. */
static _Noreturn void refuse(const char *path, const char *key, const json_t *value, const char *why) {
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT) : NULL;
    fail("%s: %s is %.80s: %s", path, key, text ? text : "missing", why);
}

/* Whether an object has these values; it may have more. */
static bool is(const json_t *object, const char *values) {
    json_t *expected = json_read(values, strlen(values), NULL), *value;
    const char *key;
    bool same = json_is_object(object);
    json_object_foreach(expected, key, value) same = same && json_equal(json_object_get(object, key), value);
    json_decref(expected);
    return same;
}

/* The steps of a Sequence, or the one that stands there without it. NULL behind the last. */
static const json_t *step(const json_t *steps, const char *list, size_t i) {
    if (is(steps, "{\"type\": \"Sequence\"}")) return json_array_get(json_object_get(steps, list), i);
    return i == 0 && !json_is_null(steps) ? steps : NULL;
}

/* ------------------------------------------------------------------ the steps */

/* Llama 1 and 2, as most files have it: Prepend and Replace do what SentencePiece's normalizer does. */
static bool read_normalizer(Tokenizer *t, const char *path, const json_t *normalizer) {
    const json_t *s;
    bool replaces = false;
    for (size_t i = 0; (s = step(normalizer, "normalizers", i)); i++) {
        if (is(s, "{\"type\": \"Prepend\", \"prepend\": \"▁\"}")) t->prefix = ALWAYS;
        else if (is(s, "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}")) replaces = true;
        else refuse(path, "normalizer", s, "a Llama's does nothing but put ▁ before the text and for spaces");
    }
    if (t->prefix != NEVER && !replaces) refuse(path, "normalizer", normalizer, "it replaces no spaces");
    return replaces;
}

/* The same as newer files have it: here a text that begins with a space gets no second one before it. */
static bool read_metaspace(Tokenizer *t, const char *path, const json_t *metaspace) {
    if (!is(metaspace, "{\"type\": \"Metaspace\", \"replacement\": \"▁\"}")) return false;
    const json_t *scheme = json_object_get(metaspace, "prepend_scheme");
    const char *name = json_is_string(scheme) ? json_string_value(scheme) : "";
    if (!json_is_false(json_object_get(metaspace, "split")))
        refuse(path, "pre_tokenizer", metaspace, "a Llama's does not split at spaces");
    if (strcmp(name, "never") == 0) t->prefix = NEVER;
    else if (strcmp(name, "first") == 0) t->prefix = FIRST;
    else if (strcmp(name, "always") == 0) t->prefix = ALWAYS;
    else refuse(path, "pre_tokenizer", metaspace, "its prepend_scheme must be never, first or always");
    t->one_prefix = true;
    return true;
}

/* Llama 3: Meta's pattern, then the bytes as they are. */
static bool read_split(const char *path, const json_t *pre_tokenizer) {
    const json_t *split = step(pre_tokenizer, "pretokenizers", 0), *bytes = step(pre_tokenizer, "pretokenizers", 1);
    if (!is(split, "{\"type\": \"Split\"}")) return false;
    const json_t *pattern = json_object_get(json_object_get(split, "pattern"), "Regex");
    if (!json_is_string(pattern) || strcmp(json_string_value(pattern), split_pattern) != 0)
        refuse(path, "pre_tokenizer", split, "its pattern is not Llama 3's");
    if (!is(split, "{\"behavior\": \"Isolated\", \"invert\": false}") || step(pre_tokenizer, "pretokenizers", 2) ||
        !is(bytes, "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}"))
        refuse(path, "pre_tokenizer", pre_tokenizer, "a Llama's splits by Meta's pattern alone, and then takes bytes");
    return true;
}

static void read_steps(Tokenizer *t, const char *path, const json_t *json) {
    const json_t *normalizer = json_object_get(json, "normalizer");
    const json_t *pre_tokenizer = json_object_get(json, "pre_tokenizer");
    bool replaces = read_normalizer(t, path, normalizer);
    if (replaces && step(pre_tokenizer, "pretokenizers", 0))
        refuse(path, "pre_tokenizer", pre_tokenizer, "the normalizer does its work already");
    if (replaces || read_metaspace(t, path, pre_tokenizer)) return;
    if (!read_split(path, pre_tokenizer)) refuse(path, "pre_tokenizer", pre_tokenizer, "it is no Llama's");
    t->byte_level = true;
}

static void read_decoder(Tokenizer *t, const char *path, const json_t *decoder) {
    static const char *const steps[] = {
        "{\"type\": \"Replace\", \"pattern\": {\"String\": \"▁\"}, \"content\": \" \"}", "{\"type\": \"ByteFallback\"}",
        "{\"type\": \"Fuse\"}", "{\"type\": \"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}"};
    enum { STRIP = 3, STEPS };
    if (t->byte_level) {
        if (!is(decoder, "{\"type\": \"ByteLevel\"}")) refuse(path, "decoder", decoder, "at byte level it is ByteLevel");
        return;
    }
    size_t i = 0;
    for (const json_t *s; (s = step(decoder, "decoders", i)); i++)
        if (i == STEPS || !is(s, steps[i])) refuse(path, "decoder", s, "it is not the next step of a Llama's");
    if (i < STRIP) refuse(path, "decoder", decoder, "a Llama's is Replace, ByteFallback and Fuse, and mostly Strip");
    t->drops_prefix = i == STEPS;
}

static void check_model(const Tokenizer *t, const char *path, const json_t *model) {
    static const char *const foreign[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const json_t *value = json_object_get(model, foreign[i]);
        if (value && !json_is_null(value) && !(json_is_string(value) && json_string_length(value) == 0))
            refuse(path, foreign[i], value, "a Llama's model has none");
    }
    if (!t->byte_level && !json_is_true(json_object_get(model, "byte_fallback")))
        refuse(path, "byte_fallback", json_object_get(model, "byte_fallback"), "a Llama's is on");
}

/* ------------------------------------------------------------------ the vocabulary */

static int read_id(const char *path, const char *piece, const json_t *id, int below) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= below)
        fail("%s: the id of \"%.80s\" is none, or there are not as many tokens", path, piece);
    return (int)json_integer_value(id);
}

static Token named(const char *path, const char *piece, Kind kind) {
    size_t length = strlen(piece);
    if (length > MOST_PIECE) fail("%s: the token \"%.40s…\" is too long", path, piece);
    return (Token){.piece = piece, .piece_length = (int)length, .kind = kind};
}

static void take_id(Token tokens[], const char *path, int id, Token token) {
    if (tokens[id].piece && strcmp(tokens[id].piece, token.piece) != 0)
        fail("%s: \"%.80s\" and \"%.80s\" have the same id, %d", path, tokens[id].piece, token.piece, id);
    tokens[id] = token;
}

static void take_added(Token tokens[], const char *path, const json_t *added, const char *unknown, int most) {
    const json_t *content = json_object_get(added, "content");
    const char *piece = json_is_string(content) ? json_string_value(content) : "";
    static const char *const adjustments[] = {"single_word", "lstrip", "rstrip"};
    for (size_t i = 0; i < sizeof adjustments / sizeof *adjustments; i++)
        if (json_is_true(json_object_get(added, adjustments[i])))
            refuse(path, "an added token", added, "only one that leaves the text around it alone can be found");
    Kind kind = json_is_true(json_object_get(added, "special")) ? CONTROL : ADDED;
    if (strcmp(piece, unknown) == 0) kind = UNKNOWN;
    take_id(tokens, path, read_id(path, piece, json_object_get(added, "id"), most), named(path, piece, kind));
}

static void add_tokens(Tokenizer *t, const char *path, int count, const Token *tokens, const char *unknown) {
    size_t room_needed = 1;
    for (int id = 0; id < count; id++) room_needed += (size_t)tokens[id].piece_length;
    char *room = t->names = allocate(room_needed);
    for (int id = 0; id < count; id++) {
        Token token = tokens[id];
        if (!token.piece) fail("%s: no token has the id %d", path, id);
        if (token.piece_length == 0) fail("%s: token %d is empty", path, id);
        t->has_added |= token.kind == ADDED;
        if (t->byte_level) {
            byte_level_add(t, path, token, room);
        } else {
            if (token.kind == NORMAL && byte_of(token.piece_length, token.piece) >= 0) token.kind = BYTE;
            if (token.kind == NORMAL && strcmp(token.piece, unknown) == 0) token.kind = UNKNOWN;
            sentencepiece_add(t, path, token, room);
        }
        room += token.piece_length;
    }
}

/* The tokens of the model, and those that were added to them, which may be among the former. */
static void read_vocabulary(Tokenizer *t, const char *path, const json_t *json, const json_t *model) {
    const json_t *vocab = json_object_get(model, "vocab"), *added = json_object_get(json, "added_tokens");
    const json_t *unk_token = json_object_get(model, "unk_token");
    const char *unknown = json_is_string(unk_token) ? json_string_value(unk_token) : "", *piece;
    json_t *id;
    if (!json_is_object(vocab)) fail("%s: its model has no vocab", path);
    size_t most = json_object_size(vocab) + json_array_size(added);
    if (most > MOST_TOKENS) fail("%s: it has over %d tokens", path, MOST_TOKENS);

    int count = 0;
    Token *tokens = t->vocabulary.tokens = allocate(most * sizeof *tokens);
    memset(tokens, 0, most * sizeof *tokens);
    json_object_foreach((json_t *)vocab, piece, id)
        take_id(tokens, path, read_id(path, piece, id, (int)most), named(path, piece, NORMAL));
    for (size_t i = 0; i < json_array_size(added); i++)
        take_added(tokens, path, json_array_get(added, i), unknown, (int)most);
    for (int i = 0; i < (int)most; i++)
        if (tokens[i].piece) count = i + 1;
    t->vocabulary.tokens = NULL;
    add_tokens(t, path, count, tokens, unknown);
    free(tokens);
}

/* ------------------------------------------------------------------ the merges */

/* The id of a piece that a merge speaks of. */
static int piece_id(const char *path, const json_t *vocab, const char *piece, size_t merge) {
    const json_t *id = json_object_get(vocab, piece);
    if (!id) fail("%s: merge %zu speaks of \"%.80s\", which is no token", path, merge, piece);
    return (int)json_integer_value(id);
}

/* "a b", or ["a", "b"]: both parts, and `joined`. */
static void read_merge(const char *path, const json_t *merge, size_t i, char *left, char *right, char *joined) {
    const char *a = json_string_value(json_array_get(merge, 0)), *b = json_string_value(json_array_get(merge, 1));
    int a_length = a ? (int)strnlen(a, MOST_PIECE) : 0;
    if (json_is_string(merge)) {
        a = json_string_value(merge), b = strchr(a, ' ');
        a_length = b ? (int)(b - a) : 0;
        b = b ? b + 1 : NULL;
    }
    if (!a || !b || a_length > MOST_PIECE || strlen(b) > MOST_PIECE) fail("%s: merge %zu is no pair of tokens", path, i);
    sprintf(left, "%.*s", a_length, a);
    sprintf(right, "%s", b);
    sprintf(joined, "%s%s", left, right);
}

static void read_merges(Tokenizer *t, const char *path, const json_t *vocab, const json_t *merges) {
    char left[MOST_PIECE + 1], right[MOST_PIECE + 1], joined[2 * MOST_PIECE + 1];
    Vocabulary *v = &t->vocabulary;
    size_t count = json_array_size(merges);
    if (!json_is_array(merges) || count > MOST_TOKENS) fail("%s: its model has no merges, or too many", path);
    v->lists_merges = true;
    v->pair_ids = allocate(count * sizeof *v->pair_ids);
    v->merges = allocate(count * sizeof *v->merges);
    for (size_t i = 0; i < count; i++) {
        read_merge(path, json_array_get(merges, i), i, left, right, joined);
        v->pair_ids[i][0] = piece_id(path, vocab, left, i), v->pair_ids[i][1] = piece_id(path, vocab, right, i);
        v->merges[i] = (Merge){(float)i, piece_id(path, vocab, joined, i)};
        if (!map_add(&v->pairs, sizeof v->pair_ids[i], (const char *)v->pair_ids[i], (int)i))
            fail("%s: merge %zu, of \"%.40s\" and \"%.40s\", is there twice", path, i, left, right);
    }
}

Tokenizer *hugging_face_read(const char *path, size_t length, char *bytes) {
    Tokenizer *t = tokenizer_new(bytes);
    json_error_t problem;
    json_t *json = t->json = json_read(bytes, length, &problem);
    if (!json) fail("%s: line %d: no valid JSON: %s", path, problem.line, problem.text);
    const json_t *model = json_object_get(json, "model");
    if (!json_is_object(model)) fail("%s: it has no model: is this a tokenizer.json?", path);
    if (!is(model, "{\"type\": \"BPE\"}"))
        refuse(path, "the model's type", json_object_get(model, "type"), "a Llama's is BPE");
    read_steps(t, path, json);
    read_decoder(t, path, json_object_get(json, "decoder"));
    check_model(t, path, model);
    t->whole_pieces = json_is_true(json_object_get(model, "ignore_merges"));
    read_vocabulary(t, path, json, model);
    read_merges(t, path, json_object_get(model, "vocab"), json_object_get(model, "merges"));
    if (t->byte_level) byte_level_complete(t, path);
    else sentencepiece_complete(t, path);
    beginning_of_json(t, path, json);
    return t;
}
