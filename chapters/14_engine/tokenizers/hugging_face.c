#include "14_engine/tokenizers/post_processor.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "14_engine/tokenizers/pipeline.h"
#include "common/error.h"
#include "common/json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tokenizer.json says what happens to a text, step by step: a normalizer, a pre_tokenizer, a
 * model, a decoder. The two families are two ways of filling that in, and are told here by these;
 * any other is left to pipeline.h. Source: the library tokenizers of Hugging Face; LlamaConverter
 * and TikTokenConverter of transformers. */

/* The steps of a Sequence, or the one that stands there without it. NULL behind the last. */
static const json_t *step_at(const json_t *steps, const char *list, size_t i) {
    if (has_values(steps, "{\"type\": \"Sequence\"}"))
        return json_array_get(json_object_get(steps, list), i);
    return i == 0 && !json_is_null(steps) ? steps : NULL;
}

/* ------------------------------------------------------------------ which family */

/* Llama 1 and 2, as most files have it: Prepend and Replace do what SentencePiece's normalizer
 * does. */
static bool is_prepend(Tokenizer *t, const json_t *normalizer, const json_t *pre_tokenizer) {
    const json_t *s = step_at(normalizer, "normalizers", 0);
    bool prepends = has_values(s, "{\"type\": \"Prepend\", \"prepend\": \"▁\"}");
    if (prepends) s = step_at(normalizer, "normalizers", 1);
    t->prepend_scheme = prepends ? PREPEND_ALWAYS : PREPEND_NEVER;
    return has_values(
               s,
               "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}") &&
           !step_at(normalizer, "normalizers", prepends ? 2 : 1) &&
           !step_at(pre_tokenizer, "pretokenizers", 0);
}

/* The same as newer files have it: here a text that begins with a space gets no second one before
 * it. */
static bool is_metaspace(Tokenizer *t, const json_t *normalizer, const json_t *metaspace) {
    static const char *const schemes[] = {
        [PREPEND_NEVER] = "never", [PREPEND_FIRST] = "first", [PREPEND_ALWAYS] = "always"};
    if (step_at(normalizer, "normalizers", 0) ||
        !has_values(metaspace,
                    "{\"type\": \"Metaspace\", \"replacement\": \"▁\", \"split\": false}"))
        return false;
    const char *scheme = json_string_value(json_object_get(metaspace, "prepend_scheme"));
    for (PrependScheme prefix = PREPEND_NEVER; scheme && prefix <= PREPEND_ALWAYS; prefix++) {
        if (strcmp(scheme, schemes[prefix]) != 0) continue;
        t->prepend_scheme = prefix;
        t->no_double_prefix = true;
        return true;
    }
    return false;
}

/* Llama 3: Meta's pattern, then the bytes as they are. */
static bool is_split(const json_t *normalizer, const json_t *pre_tokenizer, const json_t *decoder) {
    const json_t *split = step_at(pre_tokenizer, "pretokenizers", 0),
                 *bytes = step_at(pre_tokenizer, "pretokenizers", 1);
    const char *pattern =
        json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    return !step_at(normalizer, "normalizers", 0) && pattern &&
           strcmp(pattern, llama3_pattern) == 0 &&
           has_values(split,
                      "{\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false}") &&
           has_values(
               bytes,
               "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}") &&
           !step_at(pre_tokenizer, "pretokenizers", 2) &&
           has_values(decoder, "{\"type\": \"ByteLevel\"}");
}

/* Whether the added tokens leave the text around them alone, and are all looked for at once. */
static bool are_plain(const json_t *added, bool normalizes) {
    static const char *const flags[] = {"single_word", "lstrip", "rstrip", "normalized"};
    for (size_t i = 0; i < json_array_size(added); i++)
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
            bool on = json_is_true(json_object_get(json_array_get(added, i), flags[f]));
            bool first = json_is_true(json_object_get(json_array_get(added, 0), flags[f]));
            if (on && (strcmp(flags[f], "normalized") != 0 || normalizes)) return false;
            if (on != first) return false;
        }
    return true;
}

/* Whether the vocabulary has a token for each byte, as its family spells it. */
static bool has_bytes(const json_t *vocab, bool byte_level) {
    for (int byte = 0; byte < 256; byte++) {
        char name[8] = "";
        if (byte_level) alphabet_name(1, &(char){(char)byte}, name);
        else snprintf(name, sizeof name, "<0x%02X>", byte);
        if (!json_object_get(vocab, name)) return false;
    }
    return true;
}

/* Sets what the family does; false if it is none of the two. */
static bool is_family(Tokenizer *t, const json_t *json, const json_t *model) {
    const json_t *normalizer = json_object_get(json, "normalizer"),
                 *pre_tokenizer = json_object_get(json, "pre_tokenizer");
    t->byte_level = is_split(normalizer, pre_tokenizer, json_object_get(json, "decoder"));
    bool characters =
        has_values(model, "{\"byte_fallback\": true}") && !t->ignore_merges &&
        (is_prepend(t, normalizer, pre_tokenizer) || is_metaspace(t, normalizer, pre_tokenizer));
    return (t->byte_level || characters) &&
           has_bytes(json_object_get(model, "vocab"), t->byte_level) &&
           are_plain(json_object_get(json, "added_tokens"), step_at(normalizer, "normalizers", 0));
}

static void check_model(const char *path, const json_t *model) {
    static const char *const foreign[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const json_t *value = json_object_get(model, foreign[i]);
        if (value && !json_is_null(value) &&
            !(json_is_string(value) && json_string_length(value) == 0))
            refuse_json(path, foreign[i], value, "only a model without is known here");
    }
    const json_t *dropout = json_object_get(model, "dropout");
    if (dropout && !json_is_null(dropout) &&
        !(json_is_number(dropout) && json_number_value(dropout) == 0))
        refuse_json(path, "dropout", dropout,
                    "it is for training: with it a text has other ids each time");
}

/* ------------------------------------------------------------------ the vocabulary */

static int vocab_id(const char *path, const char *piece, const json_t *id, int below) {
    if (!json_is_whole(id, 0, below - 1))
        fail("%s: the id of \"%.80s\" is none, or there are not as many tokens", path, piece);
    return (int)json_integer_value(id);
}

static Token named(const char *path, const char *piece, TokenType kind) {
    size_t length = strlen(piece);
    if (length > MOST_PIECE) fail("%s: the token \"%.40s…\" is too long", path, piece);
    return (Token){.piece = piece, .piece_length = (int)length, .kind = kind};
}

static void take_id(Token tokens[], const char *path, int id, Token token) {
    if (tokens[id].piece && strcmp(tokens[id].piece, token.piece) != 0)
        fail("%s: \"%.80s\" and \"%.80s\" have the same id, %d", path, tokens[id].piece,
             token.piece, id);
    tokens[id] = token;
}

static void take_added(Token tokens[], const char *path, const json_t *added, int most) {
    const json_t *content = json_object_get(added, "content");
    const char *piece = json_is_string(content) ? json_string_value(content) : "";
    TokenType kind = json_is_true(json_object_get(added, "special")) ? CONTROL : ADDED;
    take_id(tokens, path, vocab_id(path, piece, json_object_get(added, "id"), most),
            named(path, piece, kind));
}

/* In a pipeline tokens stay as the file spells them; pipeline_encodes() finds their bytes. */
static void add_tokens(Tokenizer *t, const char *path, bool family, int count,
                       const Token *tokens) {
    size_t room_needed = 1;
    for (int id = 0; id < count; id++) room_needed += (size_t)tokens[id].piece_length;
    char *room = t->names = xmalloc(room_needed);
    for (int id = 0; id < count; id++) {
        Token token = tokens[id];
        if (!token.piece) fail("%s: no token has the id %d", path, id);
        if (token.piece_length == 0) fail("%s: token %d is empty", path, id);
        t->has_added |= token.kind == ADDED;
        if (family && token.kind == NORMAL && byte_of(token.piece_length, token.piece) >= 0)
            token.kind = BYTE;
        if (!family) vocabulary_add(&t->vocabulary, token);
        else if (t->byte_level) byte_level_add(t, path, token, room);
        else sentencepiece_add(t, path, token, room);
        room += token.piece_length;
    }
}

/* The tokens of the model, and those that were added to them, which may be among the former. */
static void read_json_vocabulary(Tokenizer *t, const char *path, bool family, const json_t *json,
                                 const json_t *model) {
    const json_t *vocab = json_object_get(model, "vocab"),
                 *added = json_object_get(json, "added_tokens");
    const char *piece;
    json_t *id;
    if (!json_is_object(vocab)) fail("%s: its model has no vocab", path);
    size_t most = json_object_size(vocab) + json_array_size(added);
    if (most > MOST_TOKENS) fail("%s: it has over %d tokens", path, MOST_TOKENS);

    int count = 0;
    Token *tokens = t->vocabulary.tokens = xmalloc(most * sizeof *tokens);
    memset(tokens, 0, most * sizeof *tokens);
    json_object_foreach((json_t *)vocab, piece, id)
        take_id(tokens, path, vocab_id(path, piece, id, (int)most), named(path, piece, NORMAL));
    for (size_t i = 0; i < json_array_size(added); i++)
        take_added(tokens, path, json_array_get(added, i), (int)most);
    for (int i = 0; i < (int)most; i++)
        if (tokens[i].piece) count = i + 1;
    t->vocabulary.tokens = NULL;
    add_tokens(t, path, family, count, tokens);
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
static void split_merge(const char *path, const json_t *merge, size_t i, char *left, char *right,
                        char *joined) {
    const char *a = json_string_value(json_array_get(merge, 0)),
               *b = json_string_value(json_array_get(merge, 1));
    int a_length = a ? (int)strnlen(a, MOST_PIECE) : 0;
    if (json_is_string(merge)) {
        a = json_string_value(merge);
        b = strchr(a, ' ');
        a_length = b ? (int)(b - a) : 0;
        b = b ? b + 1 : NULL;
    }
    if (!a || !b || a_length > MOST_PIECE || strlen(b) > MOST_PIECE)
        fail("%s: merge %zu is no pair of tokens", path, i);
    sprintf(left, "%.*s", a_length, a);
    sprintf(right, "%s", b);
    sprintf(joined, "%s%s", left, right);
}

static void read_json_merges(Tokenizer *t, const char *path, const json_t *vocab,
                             const json_t *merges) {
    char left[MOST_PIECE + 1], right[MOST_PIECE + 1], joined[2 * MOST_PIECE + 1];
    Vocabulary *v = &t->vocabulary;
    size_t count = json_array_size(merges);
    if (!json_is_array(merges) || count > MOST_TOKENS)
        fail("%s: its model has no merges, or too many", path);
    v->lists_merges = true;
    v->pair_ids = xmalloc(count * sizeof *v->pair_ids);
    v->merges = xmalloc(count * sizeof *v->merges);
    for (size_t i = 0; i < count; i++) {
        split_merge(path, json_array_get(merges, i), i, left, right, joined);
        v->pair_ids[i][0] = piece_id(path, vocab, left, i);
        v->pair_ids[i][1] = piece_id(path, vocab, right, i);
        v->merges[i] = (Merge){(float)i, piece_id(path, vocab, joined, i)};
        if (!map_add(&v->pairs, sizeof v->pair_ids[i], (const char *)v->pair_ids[i], (int)i))
            fail("%s: merge %zu, of \"%.40s\" and \"%.40s\", is there twice", path, i, left, right);
    }
}

static void complete_tokenizer(Tokenizer *t, bool family, const json_t *json, const json_t *model) {
    const json_t *vocab = json_object_get(model, "vocab"),
                 *unknown = json_object_get(model, "unk_token");
    if (!family) {
        tokenizer_complete(t, "<s>", "</s>");
        if (t->bos < 0) t->bos = special_id(t, "<|begin_of_text|>");
        if (t->eos < 0) t->eos = special_id(t, "<|end_of_text|>");
        pipeline_encodes(t, vocab, json_object_get(json, "added_tokens"));
    } else if (t->byte_level) {
        byte_level_complete(t); /* its decoder does what the family's does */
    } else {
        sentencepiece_complete(t);
        pipeline_decodes(t);
    }
    const json_t *id =
        json_is_string(unknown) ? json_object_get(vocab, json_string_value(unknown)) : NULL;
    if (id) t->unknown = (int)json_integer_value(id);
}

Tokenizer *hugging_face_of(const char *path, json_t *json) {
    Tokenizer *t = tokenizer_new(NULL);
    pipeline_of(t)->json = json;
    const json_t *model = json_object_get(json, "model");
    if (!json_is_object(model)) fail("%s: it has no model: is this a tokenizer.json?", path);
    if (!has_values(model, "{\"type\": \"BPE\"}"))
        refuse_json(path, "the model's type", json_object_get(model, "type"), "a Llama's is BPE");
    check_model(path, model);
    t->ignore_merges = json_is_true(json_object_get(model, "ignore_merges"));
    bool family = is_family(t, json, model);
    if (!family || !t->byte_level) pipeline_read(t->pipeline, path, json);
    if (!family)
        t->byte_level = has_values(json_object_get(json, "decoder"), "{\"type\": \"ByteLevel\"}");
    read_json_vocabulary(t, path, family, json, model);
    read_json_merges(t, path, json_object_get(model, "vocab"), json_object_get(model, "merges"));
    complete_tokenizer(t, family, json, model);
    post_processor_read(t, path, json);
    return t;
}

Tokenizer *hugging_face_read(const char *path, size_t length, char *bytes) {
    json_error_t problem;
    json_t *json = json_read(bytes, length, &problem);
    if (!json) fail("%s: line %d: no valid JSON: %s", path, problem.line, problem.text);
    free(bytes);
    return hugging_face_of(path, json);
}
