#include "10_tokenizer/beginning.h"
#include "10_tokenizer/pipeline.h"
#include "common/error.h"
#include "common/file.h"
#include "common/json.h"

#include <jansson.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ the post_processor */

static bool is_type(const json_t *step, const char *name) {
    const char *type = json_string_value(json_object_get(step, "type"));
    return type && strcmp(type, name) == 0;
}

/* The id of the template's special token of that name. */
static int template_id(const Tokenizer *t, const char *path, const json_t *template, const char *name) {
    const json_t *ids = json_object_get(json_object_get(json_object_get(template, "special_tokens"), name), "ids");
    const json_t *id = json_array_get(ids, 0);
    if (json_array_size(ids) != 1 || !json_is_number(id) || json_number_value(id) < 0 ||
        json_number_value(id) >= t->vocabulary.size)
        fail("%s: post_processor: \"%.80s\" is not one of the tokens", path, name);
    return (int)json_number_value(id);
}

/* Its `single` is the text, "A", with tokens around it. Those behind it would end the text, and here a text is to go
 * on: they are left out. */
static void read_template(Tokenizer *t, const char *path, const json_t *template) {
    const json_t *single = json_object_get(template, "single");
    size_t count = json_array_size(single), texts = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *token = json_object_get(json_array_get(single, i), "SpecialToken");
        const char *name = json_string_value(json_object_get(token, "id"));
        texts += json_object_get(json_array_get(single, i), "Sequence") != NULL;
        if (!token) continue;
        int id = template_id(t, path, template, name ? name : "");
        if (texts == 0 && before++ == 0) t->bos = id, t->adds_bos = true;
    }
    if (texts != 1 || before > 1) fail("%s: post_processor: a Llama's puts one token before a text, or none", path);
}

void beginning_of_json(Tokenizer *t, const char *path, const json_t *json) {
    const json_t *whole = json_object_get(json, "post_processor");
    bool sequence = is_type(whole, "Sequence");
    const json_t *steps = json_object_get(whole, "processors");
    t->adds_bos = false;
    for (size_t i = 0; i < (sequence ? json_array_size(steps) : 1); i++) {
        const json_t *step = sequence ? json_array_get(steps, i) : whole;
        const char *type = json_string_value(json_object_get(step, "type"));
        if (is_type(step, "TemplateProcessing")) read_template(t, path, step);
        else if (type && !is_type(step, "ByteLevel"))
            fail("%s: post_processor: %.40s: a Llama's is TemplateProcessing or ByteLevel", path, type);
    }
}

/* ------------------------------------------------------------------ the files beside a tokenizer */

json_t *json_beside(char path[static BESIDE_PATH], const char *file, const char *name) {
    const char *slash = strrchr(file, '/');
    size_t length;
    json_error_t problem;
    if (snprintf(path, BESIDE_PATH, "%.*s%s", slash ? (int)(slash + 1 - file) : 0, file, name) >= BESIDE_PATH)
        fail("%.200s…: the path is too long", file);
    if (!file_is_there(path)) return NULL;
    char *text = file_read_regular(path, &length);
    json_t *json = json_read_reals(text, length, &problem);
    if (!json) fail("%s: line %d: no valid JSON: %s", path, problem.line, problem.text);
    free(text);
    return json;
}

/* bos_token or eos_token: "<s>", or {"content": "<s>", …}. Some files have an empty name where there is none. Returns
 * false if there is a name that no token has. */
static bool read_name(const Tokenizer *t, const json_t *said, int *id) {
    const char *name = json_string_value(json_is_object(said) ? json_object_get(said, "content") : said);
    if (!name || !*name) return true;
    for (int i = 0; i < t->vocabulary.size; i++) {
        const Token *token = &t->vocabulary.tokens[i];
        if (token->piece_length != (int)strlen(name) || memcmp(token->piece, name, strlen(name)) != 0) continue;
        *id = i;
        return true;
    }
    return false;
}

/* bos_token_id or eos_token_id. Returns false if there is no such token. */
static bool read_id(const Tokenizer *t, const json_t *said, int *id) {
    if (!json_is_number(said)) return true;
    if (json_number_value(said) < 0 || json_number_value(said) >= t->vocabulary.size) return false;
    *id = (int)json_number_value(said);
    return true;
}

/* A list of ranks that was cut off looks whole, but the special tokens behind it have lower ids than the model's. */
static void check_names_that_follow(const Tokenizer *t, const char *file) {
    char path[BESIDE_PATH];
    json_t *config = json_beside(path, file, "config.json");
    const json_t *said = json_object_get(config, "bos_token_id");
    int id = special_id(t, "<|begin_of_text|>");
    if (json_is_number(said) && json_number_value(said) > id)
        fail("%s: it has %d ranks, and so <|begin_of_text|> is token %d; for %s it is %.10g: is the file complete?",
             file, id, id, path, json_number_value(said));
    json_decref(config);
}

void beginning_of_folder(Tokenizer *t, const char *file) {
    char path[BESIDE_PATH];
    json_t *tokenizer = t->json ? json_incref(t->json) : json_beside(path, file, "tokenizer.json");
    if (tokenizer && !t->json) beginning_of_json(t, path, tokenizer);
    json_t *names = json_beside(path, file, "tokenizer_config.json");
    if (!tokenizer) t->adds_bos = !json_is_false(json_object_get(names, "add_bos_token"));
    const json_t *bos = json_object_get(names, "bos_token");
    if ((!tokenizer || !t->adds_bos) && !read_name(t, bos, &t->bos))
        refuse(path, "bos_token", bos, "no token has that name");
    read_name(t, json_object_get(names, "eos_token"), &t->eos);
    json_t *config = t->bos < 0 || t->eos < 0 ? json_beside(path, file, "config.json") : NULL;
    const json_t *eos = json_object_get(config, "eos_token_id"); /* there may be several */
    bos = json_object_get(config, "bos_token_id");
    if (t->bos < 0 && !read_id(t, bos, &t->bos)) refuse(path, "bos_token_id", bos, "there are fewer tokens");
    if (t->eos < 0) read_id(t, json_is_array(eos) ? json_array_get(eos, 0) : eos, &t->eos);
    json_decref(tokenizer), json_decref(names), json_decref(config);
    if (t->names_follow) check_names_that_follow(t, file);
}
