#include "10_tokenizer/vocabulary.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ bytes to a number */

/* Open addressing: an entry stands at its hash, or in the next place that was free. At most half of
 * the places are taken, so the next free one is near. */
struct Entry {
    const char *key; /* NULL: free */
    uint32_t length;
    int value;
};

/* FNV-1a, and a last step that mixes the high bits down. */
uint64_t bytes_hash(size_t length, const char *key) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)key[i]) * 0x100000001b3;
    return h ^ h >> 32;
}

/* The entry of a key, or the free place where it belongs. */
static struct Entry *entry_place(const Map *map, size_t length, const char *key) {
    size_t i = bytes_hash(length, key) & (map->capacity - 1);
    for (;; i = (i + 1) & (map->capacity - 1)) {
        struct Entry *entry = &map->entries[i];
        if (!entry->key || (entry->length == length && memcmp(entry->key, key, length) == 0))
            return entry;
    }
}

static void grow(Map *map) {
    Map larger = {map->count, map->capacity ? 2 * map->capacity : 1024, NULL};
    larger.entries = xmalloc(larger.capacity * sizeof *larger.entries);
    memset(larger.entries, 0, larger.capacity * sizeof *larger.entries);
    for (size_t i = 0; i < map->capacity; i++) {
        const struct Entry *entry = &map->entries[i];
        if (entry->key) *entry_place(&larger, entry->length, entry->key) = *entry;
    }
    free(map->entries);
    *map = larger;
}

bool map_add(Map *map, size_t length, const char *key, int value) {
    if (2 * map->count >= map->capacity) grow(map);
    struct Entry *entry = entry_place(map, length, key);
    if (entry->key) return false;
    *entry = (struct Entry){key, (uint32_t)length, value};
    map->count++;
    return true;
}

int map_find(const Map *map, size_t length, const char *key) {
    if (map->count == 0) return -1;
    const struct Entry *entry = entry_place(map, length, key);
    return entry->key ? entry->value : -1;
}

/* ------------------------------------------------------------------ tokens */

int vocabulary_add(Vocabulary *v, Token token) {
    if (v->size == v->capacity) {
        v->capacity = v->capacity ? 2 * v->capacity : 1024;
        v->tokens = xrealloc(v->tokens, (size_t)v->capacity * sizeof *v->tokens);
    }
    if (token.kind == NORMAL || token.kind == USER_DEFINED) {
        if (!map_add(&v->pieces, (size_t)token.piece_length, token.piece, v->size)) return -1;
        if (token.piece_length > v->longest) v->longest = token.piece_length;
    }
    v->tokens[v->size] = token;
    return v->size++;
}

static int compare_names(const void *left, const void *right) {
    const Name *a = left, *b = right;
    int order = memcmp(a->name, b->name, (size_t)(a->length < b->length ? a->length : b->length));
    return order ? order : a->length - b->length;
}

void names_sort(NameTable *names) {
    if (names->count > 0)
        qsort(names->names, (size_t)names->count, sizeof *names->names, compare_names);
}

static NameTable sorted_names(const Vocabulary *v, bool of_kind(TokenType)) {
    NameTable names = {0};
    for (int id = 0; id < v->size; id++) names.count += of_kind(v->tokens[id].kind);
    names.names = xmalloc((size_t)names.count * sizeof *names.names);
    Name *next = names.names;
    for (int id = 0; id < v->size; id++)
        if (of_kind(v->tokens[id].kind))
            *next++ = (Name){v->tokens[id].piece, v->tokens[id].piece_length, id};
    names_sort(&names);
    return names;
}

static bool is_special(TokenType kind) {
    return kind == ADDED || kind == CONTROL || kind == UNKNOWN;
}
static bool is_user_defined(TokenType kind) { return kind == USER_DEFINED; }

void vocabulary_sort_names(Vocabulary *v) {
    free(v->special.names);
    free(v->user_defined.names); /* if some came since */
    v->special = sorted_names(v, is_special);
    v->user_defined = sorted_names(v, is_user_defined);
}

void vocabulary_free(Vocabulary *v) {
    free(v->tokens);
    free(v->pieces.entries);
    free(v->pairs.entries);
    free(v->pair_ids);
    free(v->merges);
    free(v->special.names);
    free(v->user_defined.names);
}

static Merge find_merge(const Vocabulary *v, const char *text, int left_length, int left_id,
                        int right_length, int right_id) {
    const Merge none = {.id = -1};
    if (v->lists_merges) {
        const int pair[2] = {left_id, right_id};
        int i = map_find(&v->pairs, sizeof pair, (const char *)pair);
        return i < 0 ? none : v->merges[i];
    }
    if (left_length > v->longest - right_length) return none;
    if (left_id >= 0 && v->tokens[left_id].kind == USER_DEFINED) return none;
    if (right_id >= 0 && v->tokens[right_id].kind == USER_DEFINED) return none;
    int id = map_find(&v->pieces, (size_t)(left_length + right_length), text);
    return id < 0 ? none : (Merge){v->tokens[id].rank, id};
}

/* Each pair has one place, which it shares with others: the last one asked for stands there. */
struct Asked {
    int left, right; /* ids; -1: nothing stands here */
    Merge merge;
};

enum { PLACE_BITS = 15 }; /* half a megabyte: it stays in the cache, as the vocabulary does not */

Vocabulary vocabulary_remembering(const Vocabulary *v) {
    Vocabulary copy = *v;
    copy.asked = xmalloc(sizeof *copy.asked << PLACE_BITS);
    for (int i = 0; i < 1 << PLACE_BITS; i++) copy.asked[i].left = -1;
    return copy;
}

void vocabulary_forget(Vocabulary *copy) { free(copy->asked); }

Merge vocabulary_merge(const Vocabulary *v, const char *text, int left_length, int left_id,
                       int right_length, int right_id) {
    if (!v->asked || left_id < 0 || right_id < 0)
        return find_merge(v, text, left_length, left_id, right_length, right_id);
    uint64_t pair = (uint64_t)left_id << 32 | (uint64_t)right_id;
    struct Asked *asked = &v->asked[pair * 0x9e3779b97f4a7c15 >> (64 - PLACE_BITS)];
    if (asked->left != left_id || asked->right != right_id)
        *asked = (struct Asked){left_id, right_id,
                                find_merge(v, text, left_length, left_id, right_length, right_id)};
    return asked->merge;
}

/* The first of the names [low, high) whose byte at `depth` is at least `byte`; all of them begin
 * alike up to there. */
static int first_with(const NameTable *names, int low, int high, int depth, int byte) {
    while (low < high) {
        int middle = (low + high) / 2;
        const Name *name = &names->names[middle];
        int its = depth < name->length ? (unsigned char)name->name[depth] : -1;
        if (its < byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* With each byte of the text, fewer names are left. The one that ends there, if there is one, is
 * the first of them. */
int names_find(const NameTable *names, size_t length, const char *text) {
    int low = 0, high = names->count, longest = -1;
    for (int depth = 0; low < high && (size_t)depth < length; depth++) {
        int byte = (unsigned char)text[depth];
        low = first_with(names, low, high, depth, byte);
        high = first_with(names, low, high, depth, byte + 1);
        if (low < high && names->names[low].length == depth + 1) longest = names->names[low].id;
    }
    return longest;
}
