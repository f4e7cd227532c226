#include "14_engine/tokenizers/tokenizer_config.h"
#include "14_engine/tokenizers/pipeline.h"
#include "14_engine/tokenizers/post_processor.h"
#include "common/error.h"
#include "common/file.h"
#include "common/json.h"

#include <jansson.h>
#include <stdlib.h>

enum { BESIDE_PATH = 4096 };

/* The JSON of that name in the folder of `file`, or NULL if there is none; `path` becomes its
 * path. */
static json_t *json_beside(char path[static BESIDE_PATH], const char *file, const char *name) {
    const char *slash = strrchr(file, '/');
    size_t length;
    json_error_t problem;
    if (snprintf(path, BESIDE_PATH, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name) >=
        BESIDE_PATH)
        fail("%.200s…: the path is too long", file);
    if (!file_is_there(path)) return NULL;
    char *text = file_read_regular(path, &length);
    json_t *json = json_read_reals(text, length, &problem);
    if (!json) fail("%s: line %d: no valid JSON: %s", path, problem.line, problem.text);
    free(text);
    return json;
}

/* ------------------------------------------------------------------ added tokens
 *
 * A model that is trained further may get more tokens. Its tokenizer.model stays as Meta made it,
 * and the tokens are in the files beside it: by their ids in added_tokens_decoder of
 * tokenizer_config.json, or by their names in added_tokens.json, which is older. */

typedef struct {
    const char *name; /* NULL: there is none of this id */
    bool special;
} NamedToken;

typedef struct {
    const char *path;
    int size, count;   /* of the tokenizer.model, and how many more there may be */
    NamedToken *added; /* [count], those from size on */
} TokenList;

static void note_token(TokenList *list, const Tokenizer *t, double number, const char *name,
                       bool special) {
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length > MOST_PIECE || !(number >= 0 && number < list->size + list->count))
        fail("%s: token %g is added, \"%.80s\": its name or its number cannot be", list->path,
             number, name ? name : "");
    int id = (int)number;
    if (id >= list->size) {
        list->added[id - list->size] = (NamedToken){name, special};
        return;
    }
    Token *token = &t->vocabulary.tokens[id];
    if ((size_t)token->piece_length != length || memcmp(token->piece, name, length) != 0)
        fail("%s: token %d is added, \"%.80s\", but it is \"%.*s\"", list->path, id, name,
             token->piece_length, token->piece);
    if (token->kind == NORMAL || token->kind == USER_DEFINED)
        token->kind = special ? CONTROL : ADDED;
}

/* {"32000": {"content": "<|im_start|>", "special": true, …}} */
static void note_added_decoder(TokenList *list, const Tokenizer *t, const json_t *decoder) {
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    const char *id;
    json_t *token;
    json_object_foreach((json_t *)decoder, id, token) {
        const char *name = json_string_value(json_object_get(token, "content"));
        double number = strtod(id, NULL);
        for (int f = 0; f < 3; f++)
            if (number >= list->size && json_is_true(json_object_get(token, flags[f])))
                fail("%s: \"%.80s\" is added with %s: only a tokenizer.json may have that here",
                     list->path, name ? name : "", flags[f]);
        note_token(list, t, number, name, json_is_true(json_object_get(token, "special")));
    }
}

/* {"<|im_start|>": 32000} */
static void note_names(TokenList *list, const Tokenizer *t, const json_t *names) {
    const char *name;
    json_t *id;
    json_object_foreach((json_t *)names, name, id)
        note_token(list, t, json_is_number(id) ? json_number_value(id) : -1, name, false);
}

/* The names become the tokenizer's. */
static void append_tokens(Tokenizer *t, const TokenList *list) {
    size_t room_needed = 1;
    int last = list->count;
    while (last > 0 && !list->added[last - 1].name) last--;
    for (int i = 0; i < last; i++) {
        if (!list->added[i].name)
            fail("%s: no token has the id %d, and there are some behind it", list->path,
                 list->size + i);
        room_needed += 2 * strlen(list->added[i].name);
    }
    char *room = pipeline_of(t)->added_names = xmalloc(room_needed);
    for (int i = 0; i < last; i++) {
        int length = (int)strlen(list->added[i].name);
        Token token = {.piece = room,
                       .piece_length = length,
                       .kind = list->added[i].special ? CONTROL : ADDED};
        room = put(room, (size_t)length, list->added[i].name);
        sentencepiece_add(t, list->path, token, room);
        room += length;
        t->has_added |= token.kind == ADDED;
    }
    if (last == 0) return;
    t->prepend_scheme = t->prepend_scheme == PREPEND_NEVER
                            ? PREPEND_NEVER
                            : PREPEND_FIRST; /* as transformers has it then */
    t->no_double_prefix = true;
}

static void read_added_tokens(Tokenizer *t, const char *file) {
    char path[BESIDE_PATH], older[BESIDE_PATH];
    if ((t->pipeline && t->pipeline->json) || t->byte_level) return;
    json_t *config = json_beside(path, file, "tokenizer_config.json");
    json_t *names = json_beside(older, file, "added_tokens.json");
    const json_t *decoder = json_object_get(config, "added_tokens_decoder");
    int count = (int)(json_object_size(decoder) + json_object_size(names));
    TokenList list = {decoder ? path : older, t->vocabulary.size, count,
                      xmalloc((size_t)count * sizeof *list.added)};
    memset(list.added, 0, (size_t)count * sizeof *list.added);
    if (decoder) note_added_decoder(&list, t, decoder);
    else note_names(&list, t, names);
    if (count > 0) append_tokens(t, &list);
    for (int id = 0; id < list.size; id++) t->has_added |= t->vocabulary.tokens[id].kind == ADDED;
    vocabulary_sort_names(&t->vocabulary);
    free(list.added);
    json_decref(config);
    json_decref(names);
}

/* ------------------------------------------------------------------ BOS and EOS */

/* bos_token or eos_token: "<s>", or {"content": "<s>", …}. Some files have an empty name where
 * there is none. Returns false if there is a name that no token has. */
static bool read_name(const Tokenizer *t, const json_t *said, int *id) {
    const char *name =
        json_string_value(json_is_object(said) ? json_object_get(said, "content") : said);
    if (!name || !*name) return true;
    for (int i = 0; i < t->vocabulary.size; i++) {
        const Token *token = &t->vocabulary.tokens[i];
        if (token->piece_length != (int)strlen(name) ||
            memcmp(token->piece, name, strlen(name)) != 0)
            continue;
        *id = i;
        return true;
    }
    return false;
}

/* bos_token_id or eos_token_id. Returns false if there is no such token. */
static bool config_id(const Tokenizer *t, const json_t *said, int *id) {
    if (!json_is_number(said)) return true;
    if (json_number_value(said) < 0 || json_number_value(said) >= t->vocabulary.size) return false;
    *id = (int)json_number_value(said);
    return true;
}

/* A list of ranks that was cut off looks whole, but the special tokens behind it have lower ids
 * than the model's. */
static void check_names_that_follow(const Tokenizer *t, const char *file) {
    char path[BESIDE_PATH];
    json_t *config = json_beside(path, file, "config.json");
    const json_t *said = json_object_get(config, "bos_token_id");
    int id = special_id(t, "<|begin_of_text|>");
    if (json_is_number(said) && json_number_value(said) > id)
        fail("%s: it has %d ranks, and so <|begin_of_text|> is token %d; for %s it is %.10g: is "
             "the file complete?",
             file, id, id, path, json_number_value(said));
    json_decref(config);
}

static void read_bos_and_eos(Tokenizer *t, const char *file) {
    char path[BESIDE_PATH];
    json_t *own = t->pipeline ? t->pipeline->json : NULL;
    json_t *tokenizer = own ? json_incref(own) : json_beside(path, file, "tokenizer.json");
    if (tokenizer && !own) post_processor_read(t, path, tokenizer);
    json_t *names = json_beside(path, file, "tokenizer_config.json");
    if (!tokenizer) t->adds_bos = !json_is_false(json_object_get(names, "add_bos_token"));
    const json_t *bos = json_object_get(names, "bos_token");
    if ((!tokenizer || !t->adds_bos) && !read_name(t, bos, &t->bos))
        refuse_json(path, "bos_token", bos, "no token has that name");
    read_name(t, json_object_get(names, "eos_token"), &t->eos);
    json_t *config = t->bos < 0 || t->eos < 0 ? json_beside(path, file, "config.json") : NULL;
    const json_t *eos = json_object_get(config, "eos_token_id"); /* there may be several */
    bos = json_object_get(config, "bos_token_id");
    if (t->bos < 0 && !config_id(t, bos, &t->bos))
        refuse_json(path, "bos_token_id", bos, "there are fewer tokens");
    if (t->eos < 0) config_id(t, json_is_array(eos) ? json_array_get(eos, 0) : eos, &t->eos);
    json_decref(tokenizer);
    json_decref(names);
    json_decref(config);
    if (t->names_follow) check_names_that_follow(t, file);
}

void tokenizer_config_read(Tokenizer *t, const char *path) {
    read_added_tokens(t, path);
    read_bos_and_eos(t, path);
}
