#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "common/error.h"
#include "common/gguf.h"

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

/* The names of all tokens, each with a NUL behind it, and how many bytes they are. They become the
 * tokenizer's. */
static char *copy_names(const Gguf *file, const GgufPair *tokens, size_t *size) {
    const unsigned char *place = tokens->bytes;
    size_t room = 1;
    for (size_t id = 0; id < tokens->count; id++) {
        GgufText name = gguf_text(&place);
        if (name.length == 0 || name.length > MOST_PIECE)
            fail("%s: token %zu is empty, or too long", file->name, id);
        if (memchr(name.letters, 0, name.length))
            fail("%s: token %zu has a NUL in it", file->name, id);
        room += name.length + 1;
    }
    char *names = xmalloc(room), *end = names;
    place = tokens->bytes;
    for (size_t id = 0; id < tokens->count; id++) {
        GgufText name = gguf_text(&place);
        end = put(end, name.length, name.letters);
        *end++ = 0;
    }
    *end = 0;
    *size = room;
    return names;
}

/* No text becomes a token that fills a vocabulary up (UNUSED), nor a control token. */
static TokenType kind_of(const Gguf *file, const GgufPair *types, int id, bool byte_level) {
    static const TokenType kinds[] = {[1] = NORMAL, UNKNOWN, CONTROL, USER_DEFINED, CONTROL, BYTE};
    int type = (int)gguf_number(types, (size_t)id);
    if (type < 1 || type > 6) fail("%s: token %d is of no known type: %d", file->name, id, type);
    return byte_level && kinds[type] == USER_DEFINED ? ADDED : kinds[type];
}

static void read_gguf_tokens(Tokenizer *t, const Gguf *file, const GgufPair *tokens, size_t size) {
    int count = (int)tokens->count;
    const GgufPair *types = list_field(file, KEY "token_type", GGUF_I32, count);
    const GgufPair *scores = t->byte_level ? NULL : list_field(file, KEY "scores", GGUF_F32, count);
    const char *name = t->file;
    char *room = t->names = xmalloc(size);
    for (int id = 0; id < count; id++) {
        Token token = {.piece = name,
                       .piece_length = (int)strlen(name),
                       .kind = kind_of(file, types, id, t->byte_level)};
        token.rank = scores ? (float)-gguf_number(scores, (size_t)id) : 0;
        if (token.rank != token.rank)
            fail("%s: the score of token %d is no number", file->name, id);
        t->has_added |= token.kind == ADDED;
        if (t->byte_level) byte_level_add(t, file->name, token, room);
        else sentencepiece_add(t, file->name, token, room);
        name += token.piece_length + 1;
        room += token.piece_length;
    }
}

/* The id of what a part of a merge spells. */
static int part_id(const Tokenizer *t, int length, const char *bytes) {
    return length > 0 ? map_find(&t->vocabulary.pieces, (size_t)length, bytes) : -1;
}

/* "a b": both are tokens, and so are they together. */
static void read_gguf_merge(Tokenizer *t, const Gguf *file, GgufText merge, int i) {
    char bytes[2 * MOST_PIECE];
    Vocabulary *v = &t->vocabulary;
    const char *blank =
        merge.length <= sizeof bytes ? memchr(merge.letters, ' ', merge.length) : NULL;
    int left = blank ? alphabet_bytes((int)(blank - merge.letters), merge.letters, bytes) : -1;
    int right = left > 0 ? alphabet_bytes((int)(merge.length - (size_t)(blank + 1 - merge.letters)),
                                          blank + 1, bytes + left)
                         : -1;
    int *ids = v->pair_ids[i];
    ids[0] = part_id(t, left, bytes);
    ids[1] = part_id(t, right, bytes + left);
    v->merges[i] = (Merge){(float)i, right > 0 ? part_id(t, left + right, bytes) : -1};
    if (ids[0] < 0 || ids[1] < 0 || v->merges[i].id < 0)
        fail("%s: merge %d is not of two tokens that make a third", file->name, i);
    if (!map_add(&v->pairs, sizeof *v->pair_ids, (const char *)ids, i))
        fail("%s: merge %d is there twice", file->name, i);
}

static void read_gguf_merges(Tokenizer *t, const Gguf *file) {
    const GgufPair *merges = list_field(file, KEY "merges", GGUF_STRING, -1);
    const unsigned char *place = merges->bytes;
    Vocabulary *v = &t->vocabulary;
    v->lists_merges = true;
    v->pair_ids = xmalloc(merges->count * sizeof *v->pair_ids);
    v->merges = xmalloc(merges->count * sizeof *v->merges);
    for (int i = 0; i < (int)merges->count; i++) read_gguf_merge(t, file, gguf_text(&place), i);
}

/* The id that the file names, or -1. */
static int named_id(const Tokenizer *t, const Gguf *file, const char *key, int otherwise) {
    double id = number_field(file, key, otherwise);
    if (!(id >= -1 && id < t->vocabulary.size))
        fail("%s: %s is %.10g, of %d tokens", file->name, key, id, t->vocabulary.size);
    return (int)id;
}

Tokenizer *gguf_tokenizer(const char *path) {
    char model[64], split[64];
    Gguf file = gguf_open(path);
    text_field(&file, KEY "model", model);
    text_field(&file, KEY "pre", split);
    if (!*model) fail("%s: there is no tokenizer in it: name one with --tokenizer", path);
    const bool byte_level = strcmp(model, "gpt2") == 0;
    if (!byte_level && strcmp(model, "llama") != 0)
        fail("%s: its tokenizer is \"%s\": a Llama's is llama or gpt2", path, model);
    if (byte_level && strcmp(split, "llama-bpe") != 0)
        fail("%s: it splits text as \"%s\" does: only llama-bpe is known here", path, split);

    const GgufPair *tokens = list_field(&file, KEY "tokens", GGUF_STRING, -1);
    size_t size;
    Tokenizer *t = tokenizer_new(copy_names(&file, tokens, &size));
    t->byte_level = t->ignore_merges = byte_level;
    if (!byte_level && number_field(&file, KEY "add_space_prefix", 1) != 0) {
        t->prepend_scheme = PREPEND_ALWAYS;
        t->drops_prefix = true;
    }
    read_gguf_tokens(t, &file, tokens, size);
    if (byte_level) {
        read_gguf_merges(t, &file);
        byte_level_complete(t);
    } else sentencepiece_complete(t);
    t->bos = named_id(t, &file, KEY "bos_token_id", t->bos);
    t->eos = named_id(t, &file, KEY "eos_token_id", t->eos);
    t->adds_bos = number_field(&file, KEY "add_bos_token", 1) != 0;
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
    static const uint32_t types[] = {
        [NORMAL] = 1, [UNKNOWN] = 2, [CONTROL] = 3, [USER_DEFINED] = 4, [ADDED] = 4, [BYTE] = 6};
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
