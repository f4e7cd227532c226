#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/formats/gguf_model.h"
#include "14_engine/tokenizers/gguf_splits.h"
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "common/error.h"
#include "common/gguf.h"
#include "common/json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A GGUF file says which family its tokenizer is of, and lists names, scores or merges, and kinds
 * of its tokens. Source: docs/gguf.md of ggml, and llama-vocab.cpp of llama.cpp. */

#define KEY "tokenizer.ggml."

/* The array of this key, of `count` elements, or of any number where that is -1. */
static const GgufPair *list_field(const Gguf *file, const char *key, GgufValue type, int count) {
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair || !pair->is_array || pair->type != type)
        fail("%s: %s is missing, or no list of what it should be", file->name, key);
    if (pair->count > MOST_TOKENS)
        fail("%s: %s has over %d elements", file->name, key, MOST_TOKENS);
    if (count >= 0 && pair->count != (size_t)count)
        fail("%s: %s has %zu elements for %d tokens", file->name, key, pair->count, count);
    return pair;
}

/* A single text, or "". */
static const char *text_field(const Gguf *file, const char *key, char text[static 64]) {
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair || pair->is_array || pair->type != GGUF_STRING) return strcpy(text, "");
    const unsigned char *place = pair->bytes;
    GgufText said = gguf_text(&place);
    snprintf(text, 64, "%.*s", said.length < 63 ? (int)said.length : 63, said.letters);
    return text;
}

static double number_field(const Gguf *file, const char *key, double otherwise) {
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair) return otherwise;
    if (pair->is_array || pair->type == GGUF_STRING) fail("%s: %s is no number", file->name, key);
    return gguf_number(pair, 0);
}

/* An array of strings that the file may lack. */
static const GgufPair *texts_or_none(const Gguf *file, const char *key) {
    return gguf_pair(file, key) ? list_field(file, key, GGUF_STRING, -1) : NULL;
}

/* ------------------------------------------------------------------ the tokens */

/* The names of all tokens, each with a NUL behind it, and how many bytes they are. They become the
 * tokenizer's. A token without a name gets one, as llama.cpp gives it. */
static char *copy_names(const Gguf *file, const GgufPair *tokens, size_t *size) {
    enum { UNNAMED = 24 };
    const unsigned char *place = tokens->bytes;
    size_t room = 1;
    for (size_t id = 0; id < tokens->count; id++) {
        GgufText name = gguf_text(&place);
        if (name.length > MOST_PIECE) fail("%s: the name of token %zu is too long", file->name, id);
        if (memchr(name.letters, 0, name.length))
            fail("%s: token %zu has a NUL in it", file->name, id);
        room += name.length ? name.length + 1 : UNNAMED;
    }
    char *names = xmalloc(room), *end = names;
    place = tokens->bytes;
    for (size_t id = 0; id < tokens->count; id++) {
        GgufText name = gguf_text(&place);
        if (name.length) end = put(end, name.length, name.letters);
        else end += sprintf(end, "[EMPTY_%zu]", id);
        *end++ = 0;
    }
    *end = 0;
    *size = room;
    return names;
}

/* Whether one of these keys names the token: it is then none that a text becomes. */
static bool is_named_special(const Gguf *file, int id) {
    static const char *const keys[] = {KEY "bos_token_id", KEY "eos_token_id", KEY "eot_token_id",
                                       KEY "eom_token_id", KEY "padding_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (number_field(file, keys[i], -1) == id) return true;
    return false;
}

/* Where the file has no types, names tell what is no text. At byte level, a name that is not
 * spelled in the alphabet was added to the vocabulary. */
static TokenType kind_by_name(const Gguf *file, int id, const char *name, bool byte_level) {
    char bytes[MOST_PIECE];
    int length = (int)strlen(name);
    if (is_named_special(file, id) || strcmp(name, "<s>") == 0) return CONTROL;
    if (byte_level) return alphabet_bytes(length, name, bytes) < 0 ? USER_DEFINED : NORMAL;
    if (strcmp(name, "<unk>") == 0) return UNKNOWN;
    return byte_of(length, name) >= 0 ? BYTE : NORMAL;
}

/* No text becomes a token that fills a vocabulary up (UNUSED), nor a control token. */
static TokenType kind_of(const Gguf *file, const GgufPair *types, int id, const char *name,
                         bool byte_level) {
    static const TokenType kinds[] = {[1] = NORMAL, UNKNOWN, CONTROL, USER_DEFINED, CONTROL, BYTE};
    int type = types ? (int)gguf_number(types, (size_t)id) : 1;
    if (type < 1 || type > 6) fail("%s: token %d is of no known type: %d", file->name, id, type);
    if (kinds[type] == NORMAL && gguf_ends_text(strlen(name), name)) return CONTROL;
    return types ? kinds[type] : kind_by_name(file, id, name, byte_level);
}

static const GgufPair *token_types(const Gguf *file, int count) {
    const char *key = KEY "token_type";
    return gguf_pair(file, key) ? list_field(file, key, GGUF_I32, count) : NULL;
}

/* ------------------------------------------------------------------ a tokenizer.json's value
 *
 * A vocabulary with merges is what a tokenizer.json holds, so it becomes one's value, and is read
 * as such. */

static json_t *split_step(const char *pattern) {
    if (strcmp(pattern, GGUF_DIGITS) == 0)
        return json_pack("{s:s, s:b}", "type", "Digits", "individual_digits", 1);
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern,
                     "behavior", "Isolated", "invert", 0);
}

/* {"type": "Sequence", "pretokenizers": […]}: the patterns, then the bytes. */
static json_t *split_steps(const GgufSplit *split) {
    json_t *steps = json_array();
    for (int i = 0; i < GGUF_PATTERNS && split->patterns[i]; i++)
        json_array_append_new(steps, split_step(split->patterns[i]));
    json_array_append_new(steps, json_pack("{s:s, s:b, s:b}", "type", "ByteLevel",
                                           "add_prefix_space", 0, "use_regex", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}

/* Llama 2's steps: a space before the text, if the file wants one, and ▁ for each space. */
static json_t *mark_steps(bool prepends) {
    json_t *steps = json_array();
    if (prepends)
        json_array_append_new(steps, json_pack("{s:s, s:s}", "type", "Prepend", "prepend", "▁"));
    json_array_append_new(steps, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                                           "String", " ", "content", "▁"));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

/* And back. */
static json_t *unmark_steps(bool strips) {
    json_t *steps = json_array();
    json_array_append_new(steps, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                                           "String", "▁", "content", " "));
    json_array_append_new(steps, json_pack("{s:s}", "type", "ByteFallback"));
    json_array_append_new(steps, json_pack("{s:s}", "type", "Fuse"));
    if (strips)
        json_array_append_new(steps, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content",
                                               " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", steps);
}

/* Adds each token's name and id to `vocab`, and those that are looked for by their names to
 * `added`. Returns the name of the unknown token, or NULL. */
static const char *list_tokens(const Gguf *file, int count, const char *names, bool byte_level,
                               json_t *vocab, json_t *added) {
    const GgufPair *types = token_types(file, count);
    const char *unknown = NULL, *name = names;
    for (int id = 0; id < count; id++, name += strlen(name) + 1) {
        if (json_object_get(vocab, name))
            fail("%s: token %d, \"%.80s\", is there twice", file->name, id, name);
        json_object_set_new_nocheck(vocab, name, json_integer(id));
        TokenType kind = kind_of(file, types, id, name, byte_level);
        char bytes[MOST_PIECE];
        if (byte_level && kind == NORMAL && alphabet_bytes((int)strlen(name), name, bytes) < 0)
            fail("%s: token %d, \"%.80s\", is not written in the byte-level alphabet", file->name,
                 id, name);
        if (kind == UNKNOWN) unknown = name;
        if (kind == NORMAL || kind == BYTE) continue;
        json_t *token = json_pack("{s:i, s:b, s:b}", "id", id, "special", kind != USER_DEFINED,
                                  "normalized", 0);
        json_object_set_new(token, "content", json_string_nocheck(name));
        json_array_append_new(added, token);
    }
    return unknown;
}

static json_t *list_merges(const GgufPair *merges) {
    json_t *list = json_array();
    const unsigned char *place = merges->bytes;
    for (size_t i = 0; i < merges->count; i++) {
        GgufText merge = gguf_text(&place);
        json_array_append_new(list, json_stringn_nocheck(merge.letters, merge.length));
    }
    return list;
}

/* `split` is NULL for a vocabulary of characters. */
static json_t *json_of(const Gguf *file, int count, const char *names, const GgufPair *merges,
                       const GgufSplit *split, bool marks) {
    json_t *json = json_new(), *model = json_object(), *vocab = json_object(),
           *added = json_array();
    const char *unknown = list_tokens(file, count, names, split != NULL, vocab, added);
    json_object_set_new(json, "added_tokens", added);
    json_object_set_new(json, split ? "pre_tokenizer" : "normalizer",
                        split ? split_steps(split) : mark_steps(marks));
    json_object_set_new(json, split ? "normalizer" : "pre_tokenizer", json_null());
    json_object_set_new(json, "decoder",
                        split ? json_pack("{s:s}", "type", "ByteLevel") : unmark_steps(marks));
    json_object_set_new(json, "model", model);
    json_object_set_new(model, "type", json_string("BPE"));
    json_object_set_new(model, "ignore_merges", json_boolean(split && split->ignore_merges));
    json_object_set_new(model, "byte_fallback", json_boolean(!split));
    json_object_set_new(model, "fuse_unk", json_boolean(!split));
    json_object_set_new(model, "vocab", vocab);
    json_object_set_new(model, "merges", list_merges(merges));
    if (unknown) json_object_set_new(model, "unk_token", json_string_nocheck(unknown));
    return json;
}

/* ------------------------------------------------------------------ bytes: Llama 3, and others */

/* Files that were written before April 2024 do not say how text is split. Llama 3's names tell its
 * own vocabulary; for the others it is what llama.cpp does, which is the best that is known. */
static const GgufSplit *split_of(const Gguf *file, int count, const char *names) {
    char said[64];
    if (*text_field(file, KEY "pre", said)) {
        const GgufSplit *split = gguf_split_named(said);
        if (!split)
            fail("%s: its tokenizer splits text as \"%s\" does, which is not known here: run the "
                 "model's Hugging Face folder, or name its tokenizer.json with --tokenizer",
                 file->name, said);
        return split;
    }
    const char *guess = "default";
    for (int id = 0; id < count; id++, names += strlen(names) + 1)
        if (strcmp(names, "<|begin_of_text|>") == 0) guess = "llama-bpe";
    fprintf(stderr,
            "note: %s does not say how its tokenizer splits text (" KEY "pre): it is taken for "
            "\"%s\"; --tokenizer with the model's own tokenizer.json is sure\n",
            file->name, guess);
    return gguf_split_named(guess);
}

static Tokenizer *read_byte_level(const Gguf *file, int count, const char *names) {
    const GgufSplit *split = split_of(file, count, names);
    const GgufPair *merges = list_field(file, KEY "merges", GGUF_STRING, -1);
    Tokenizer *t = hugging_face_of(file->name, json_of(file, count, names, merges, split, false));
    t->adds_bos = split->adds_bos;
    return t;
}

/* ------------------------------------------------------------------ characters: Llama 1 and 2 */

/* Whether the scores say which of two merges comes first. */
static bool has_scores(const GgufPair *scores) {
    for (size_t id = 0; scores && id < scores->count; id++)
        if (gguf_number(scores, id) != gguf_number(scores, 0)) return true;
    return false;
}

/* One score for each token, in float32 or, in some files, int32. */
static const GgufPair *token_scores(const Gguf *file, int count) {
    const char *key = KEY "scores";
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair) return NULL;
    return list_field(file, key, pair->type == GGUF_I32 ? GGUF_I32 : GGUF_F32, count);
}

static Tokenizer *read_scored(const Gguf *file, const GgufPair *scores, size_t size, char *names,
                              bool marks) {
    const int count = (int)scores->count;
    const GgufPair *types = token_types(file, count);
    Tokenizer *t = tokenizer_new(names);
    char *room = t->names = xmalloc(size);
    t->prepend_scheme = marks ? PREPEND_ALWAYS : PREPEND_NEVER;
    t->drops_prefix = marks;
    for (int id = 0; id < count; id++) {
        Token token = {.piece = names,
                       .piece_length = (int)strlen(names),
                       .rank = (float)-gguf_number(scores, (size_t)id),
                       .kind = kind_of(file, types, id, names, false)};
        if (isnan(token.rank)) fail("%s: the score of token %d is no number", file->name, id);
        sentencepiece_add(t, file->name, token, room);
        names += token.piece_length + 1;
        room += token.piece_length;
    }
    sentencepiece_complete(t);
    return t;
}

/* What SentencePiece does to a text before it is cut. llama.cpp leaves it out. */
static void read_normalizer(Tokenizer *t, const Gguf *file) {
    static const char key[] = KEY "precompiled_charsmap";
    const GgufPair *map = gguf_pair(file, key);
    if (map && (!map->is_array || gguf_value_bytes(map->type) != 1))
        fail("%s: %s is no list of bytes", file->name, key);
    t->removes_spaces = number_field(file, KEY "remove_extra_whitespaces", 0) != 0;
    if (!t->removes_spaces && (!map || map->count == 0)) return;
    t->charsmap_length = map ? map->count : 0;
    t->charsmap = map ? (const char *)map->bytes : NULL;
    pipeline_uses_charsmap(t, file->name);
    t->charsmap = NULL; /* the file is about to be closed */
}

static Tokenizer *read_characters(const Gguf *file, int count, size_t size, char *names) {
    const bool marks = number_field(file, KEY "add_space_prefix", 1) != 0;
    const GgufPair *scores = token_scores(file, count), *merges = texts_or_none(file, KEY "merges");
    Tokenizer *t;
    if (has_scores(scores)) {
        t = read_scored(file, scores, size, names, marks);
    } else {
        if (!merges || merges->count == 0)
            fail("%s: its tokenizer has neither scores nor merges, which say what merges first: "
                 "run the model's Hugging Face folder, or name its tokenizer.model with "
                 "--tokenizer",
                 file->name);
        t = hugging_face_of(file->name, json_of(file, count, names, merges, NULL, marks));
        free(names);
    }
    t->adds_bos = true;
    read_normalizer(t, file);
    return t;
}

/* ------------------------------------------------------------------ both */

/* The id that the file names, or -1. */
static int named_id(const Tokenizer *t, const Gguf *file, const char *key, int otherwise) {
    double id = number_field(file, key, otherwise);
    if (!(id >= -1 && id < t->vocabulary.size))
        fail("%s: %s is %.10g, of %d tokens", file->name, key, id, t->vocabulary.size);
    return (int)id;
}

bool gguf_has_tokenizer(const char *path) {
    char model[64], split[64];
    Gguf file = gguf_open(path);
    text_field(&file, KEY "model", model);
    text_field(&file, KEY "pre", split);
    bool has = strcmp(model, "llama") == 0 ||
               (strcmp(model, "gpt2") == 0 && (!*split || gguf_split_named(split)));
    gguf_close(&file);
    return has;
}

Tokenizer *gguf_tokenizer(const char *path) {
    char model[64];
    size_t size;
    Gguf file = gguf_open(path);
    text_field(&file, KEY "model", model);
    if (!*model) fail("%s: there is no tokenizer in it: name one with --tokenizer", path);
    const bool byte_level = strcmp(model, "gpt2") == 0;
    if (!byte_level && strcmp(model, "llama") != 0)
        fail("%s: its tokenizer is \"%s\": a Llama's is llama or gpt2", path, model);
    const GgufPair *tokens = list_field(&file, KEY "tokens", GGUF_STRING, -1);
    const int count = (int)tokens->count;
    char *names = copy_names(&file, tokens, &size);
    Tokenizer *t = byte_level ? read_byte_level(&file, count, names)
                              : read_characters(&file, count, size, names);
    if (byte_level) free(names);
    t->bos = named_id(t, &file, KEY "bos_token_id", t->bos);
    t->eos = named_id(t, &file, KEY "eos_token_id", t->eos);
    t->adds_bos = number_field(&file, KEY "add_bos_token", t->adds_bos) != 0;
    gguf_close(&file);
    return t;
}

/* ------------------------------------------------------------------ writing */

/* As files spell the names of tokens. What is written lies one behind the other at *room. */
static GgufText spelled(bool byte_level, const Token *token, char **room) {
    char *start = *room;
    if (byte_level && token->kind == NORMAL)
        *room += alphabet_name(token->length, token->bytes, start);
    else *room = put(start, (size_t)token->piece_length, token->piece);
    return (GgufText){(size_t)(*room - start), start};
}

static void add_names(const Tokenizer *t, GgufPairs *pairs) {
    const Vocabulary *v = &t->vocabulary;
    size_t size = 1;
    for (int id = 0; id < v->size; id++)
        size += 2 * (size_t)v->tokens[id].piece_length + 2 * (size_t)v->tokens[id].length;
    char *all = xmalloc(size), *room = all;
    GgufText *names = xmalloc((size_t)v->size * sizeof *names);
    for (int id = 0; id < v->size; id++) names[id] = spelled(t->byte_level, &v->tokens[id], &room);
    gguf_add_texts(pairs, KEY "tokens", (size_t)v->size, names);
    free(names);
    free(all);
}

static void add_kinds(const Tokenizer *t, GgufPairs *pairs) {
    static const uint32_t types[] = {[NORMAL] = 1,       [UNKNOWN] = 2, [CONTROL] = 3,
                                     [USER_DEFINED] = 4, [ADDED] = 4,   [BYTE] = 6};
    const Vocabulary *v = &t->vocabulary;
    uint32_t *kinds = xmalloc((size_t)v->size * sizeof *kinds);
    for (int id = 0; id < v->size; id++)
        kinds[id] = types[id == t->unknown ? UNKNOWN : v->tokens[id].kind];
    gguf_add_u32s(pairs, KEY "token_type", GGUF_I32, (size_t)v->size, kinds);
    free(kinds);
}

/* With scores, whatever makes a token may merge. If a tokenizer.json lists all of that, the place
 * of the first merge that makes a token is its rank: so does llama.cpp's converter, and the ids are
 * the same. */
static void find_ranks(const Vocabulary *v, float ranks[v->size]) {
    for (int id = 0; id < v->size; id++) {
        const Token *token = &v->tokens[id];
        ranks[id] = (float)v->pairs.count;
        for (int cut = 1; token->kind == NORMAL && cut < token->piece_length; cut++) {
            const int pair[2] = {
                map_find(&v->pieces, (size_t)cut, token->piece),
                map_find(&v->pieces, (size_t)(token->piece_length - cut), token->piece + cut)};
            if (pair[0] >= 0 && pair[1] >= 0 &&
                map_find(&v->pairs, sizeof pair, (const char *)pair) < 0)
                fail("this tokenizer.json does not merge all that makes a token, as \"%.*s\", and "
                     "GGUF has no words for that: --tokenizer takes a tokenizer.model, if there is "
                     "one",
                     token->piece_length, token->piece);
        }
    }
    for (size_t i = v->pairs.count; i-- > 0;) ranks[v->merges[i].id] = (float)i;
}

static void add_scores(const Tokenizer *t, GgufPairs *pairs) {
    const Vocabulary *v = &t->vocabulary;
    float *scores = xmalloc((size_t)v->size * sizeof *scores);
    for (int id = 0; id < v->size; id++) scores[id] = v->tokens[id].rank;
    if (v->lists_merges) find_ranks(v, scores);
    for (int id = 0; id < v->size; id++) scores[id] = -scores[id];
    gguf_add_u32s(pairs, KEY "scores", GGUF_F32, (size_t)v->size,
                  (const uint32_t *)(const void *)scores);
    free(scores);
}

/* The merges as texts, collected. */
typedef struct {
    size_t count, capacity;
    GgufText *texts;
} Merges;

static void add_merge(Merges *merges, int left_length, const char *left, int right_length,
                      const char *right) {
    char *text = xmalloc(2 * (size_t)(left_length + right_length) + 1);
    int length = alphabet_name(left_length, left, text);
    text[length++] = ' ';
    length += alphabet_name(right_length, right, text + length);
    if (merges->count == merges->capacity)
        merges->texts = xrealloc(merges->texts, (merges->capacity = 2 * merges->capacity + 1000) *
                                                    sizeof *merges->texts);
    merges->texts[merges->count++] = (GgufText){(size_t)length, text};
}

/* tiktoken merges whatever makes a token, that of the lowest rank first: so every way to put a
 * token together is a merge, in the order of the tokens. Source: TikTokenConverter of
 * transformers. */
static void all_merges(const Vocabulary *v, Merges *merges) {
    for (int id = 0; id < v->size; id++) {
        const Token *token = &v->tokens[id];
        for (int cut = 1; token->kind == NORMAL && cut < token->length; cut++)
            if (map_find(&v->pieces, (size_t)cut, token->bytes) >= 0 &&
                map_find(&v->pieces, (size_t)(token->length - cut), token->bytes + cut) >= 0)
                add_merge(merges, cut, token->bytes, token->length - cut, token->bytes + cut);
    }
}

static void add_merges(const Tokenizer *t, GgufPairs *pairs) {
    const Vocabulary *v = &t->vocabulary;
    Merges merges = {0};
    if (!v->lists_merges) all_merges(v, &merges);
    for (size_t i = 0; v->lists_merges && i < v->pairs.count; i++) {
        const Token *left = &v->tokens[v->pair_ids[i][0]], *right = &v->tokens[v->pair_ids[i][1]];
        add_merge(&merges, left->length, left->bytes, right->length, right->bytes);
    }
    gguf_add_texts(pairs, KEY "merges", merges.count, merges.texts);
    for (size_t i = 0; i < merges.count; i++) free((char *)merges.texts[i].letters);
    free(merges.texts);
}

void gguf_tokenizer_pairs(const Tokenizer *t, GgufPairs *pairs) {
    if (t->hooks.encode)
        fail("this tokenizer.json is of neither of Llama's families, and GGUF has no words for "
             "what it does to a text: --tokenizer takes a tokenizer.model, if there is one");
    if (t->hooks.normalize)
        fail("this tokenizer.model has a character map, or removes spaces: a .gguf of ours has "
             "neither");
    if (!t->byte_level && (t->no_double_prefix || (t->vocabulary.lists_merges && t->has_added)))
        fail("in this tokenizer %s, and GGUF has no words for that: --tokenizer takes a "
             "tokenizer.model without added tokens",
             t->has_added ? "a text begins anew behind an added token"
                          : "a text that begins with a space gets no other");
    gguf_add_text(pairs, KEY "model", t->byte_level ? "gpt2" : "llama");
    gguf_add_text(pairs, KEY "pre", t->byte_level ? "llama-bpe" : "default");
    add_names(t, pairs);
    add_kinds(t, pairs);
    if (t->byte_level) add_merges(t, pairs);
    else add_scores(t, pairs);
    if (!t->byte_level)
        gguf_add_bool(pairs, KEY "add_space_prefix", t->prepend_scheme != PREPEND_NEVER);
    if (t->bos >= 0) gguf_add_u32(pairs, KEY "bos_token_id", (uint32_t)t->bos);
    if (t->eos >= 0) gguf_add_u32(pairs, KEY "eos_token_id", (uint32_t)t->eos);
    gguf_add_bool(pairs, KEY "add_bos_token", tokenizer_adds_bos(t));
}
