#include "10_tokenizer/beginning.h"
#include "10_tokenizer/sentencepiece.h"
#include "common/error.h"

#include <jansson.h>
#include <stdlib.h>

/* Whoever trains a Llama on may give it tokens more. A tokenizer.model stays as Meta made it, and they stand beside it:
 * by their ids in added_tokens_decoder of tokenizer_config.json, or by their names in added_tokens.json, which is
 * older. */

typedef struct {
    const char *name; /* NULL: there is none of this id */
    bool special;
} Added;

typedef struct {
    const char *path;
    int size, count; /* of the tokenizer.model, and how many more there may be */
    Added *added;    /* [count], those from size on */
} List;

static void note(List *list, const Tokenizer *t, double number, const char *name, bool special) {
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > MOST_PIECE || !(number >= 0 && number < list->size + list->count))
        fail("%s: token %g is added, \"%.80s\": its name or its number cannot be", list->path, number,
             name ? name : "");
    int id = (int)number;
    if (id >= list->size) {
        list->added[id - list->size] = (Added){name, special};
        return;
    }
    Token *token = &t->vocabulary.tokens[id];
    if ((size_t)token->piece_length != length || memcmp(token->piece, name, length) != 0)
        fail("%s: token %d is added, \"%.80s\", but it is \"%.*s\"", list->path, id, name, token->piece_length,
             token->piece);
    if (token->kind == NORMAL || token->kind == USER_DEFINED) token->kind = special ? CONTROL : ADDED;
}

/* {"32000": {"content": "<|im_start|>", "special": true, …}} */
static void note_decoder(List *list, const Tokenizer *t, const json_t *decoder) {
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    const char *id;
    json_t *token;
    json_object_foreach((json_t *)decoder, id, token) {
        const char *name = json_string_value(json_object_get(token, "content"));
        double number = strtod(id, NULL);
        for (int f = 0; f < 3; f++)
            if (number >= list->size && json_is_true(json_object_get(token, flags[f])))
                fail("%s: \"%.80s\" is added with %s: only a tokenizer.json may have that here", list->path,
                     name ? name : "", flags[f]);
        note(list, t, number, name, json_is_true(json_object_get(token, "special")));
    }
}

/* {"<|im_start|>": 32000} */
static void note_names(List *list, const Tokenizer *t, const json_t *names) {
    const char *name;
    json_t *id;
    json_object_foreach((json_t *)names, name, id)
        note(list, t, json_is_number(id) ? json_number_value(id) : -1, name, false);
}

/* The names become the tokenizer's. */
static void add_all(Tokenizer *t, const List *list) {
    size_t room_needed = 1;
    int last = list->count;
    while (last > 0 && !list->added[last - 1].name) last--;
    for (int i = 0; i < last; i++) {
        if (!list->added[i].name)
            fail("%s: no token has the id %d, and there are some behind it", list->path, list->size + i);
        room_needed += 2 * strlen(list->added[i].name);
    }
    char *room = t->added_names = allocate(room_needed);
    for (int i = 0; i < last; i++) {
        int length = (int)strlen(list->added[i].name);
        Token token = {.piece = room, .piece_length = length, .kind = list->added[i].special ? CONTROL : ADDED};
        room = put(room, (size_t)length, list->added[i].name);
        sentencepiece_add(t, list->path, token, room);
        room += length;
        t->has_added |= token.kind == ADDED;
    }
    if (last == 0) return;
    t->prefix = t->prefix == NEVER ? NEVER : FIRST, t->one_prefix = true; /* as transformers has it then */
}

void added_of_folder(Tokenizer *t, const char *file) {
    char path[BESIDE_PATH], older[BESIDE_PATH];
    if (t->json || t->byte_level) return;
    json_t *config = json_beside(path, file, "tokenizer_config.json");
    json_t *names = json_beside(older, file, "added_tokens.json");
    const json_t *decoder = json_object_get(config, "added_tokens_decoder");
    int count = (int)(json_object_size(decoder) + json_object_size(names));
    List list = {decoder ? path : older, t->vocabulary.size, count, allocate((size_t)count * sizeof *list.added)};
    memset(list.added, 0, (size_t)count * sizeof *list.added);
    if (decoder) note_decoder(&list, t, decoder);
    else note_names(&list, t, names);
    if (count > 0) add_all(t, &list);
    for (int id = 0; id < list.size; id++) t->has_added |= t->vocabulary.tokens[id].kind == ADDED;
    vocabulary_sort_names(&t->vocabulary);
    free(list.added), json_decref(config), json_decref(names);
}
