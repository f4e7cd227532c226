#include "14_engine/tokenizers/post_processor.h"
#include "common/error.h"

#include <jansson.h>
#include <stdlib.h>

static bool is_type(const json_t *step, const char *name) {
    const char *type = json_string_value(json_object_get(step, "type"));
    return type && strcmp(type, name) == 0;
}

/* The id of the template's special token of that name. */
static int template_id(const Tokenizer *t, const char *path, const json_t *template,
                       const char *name) {
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(template, "special_tokens"), name), "ids");
    const json_t *id = json_array_get(ids, 0);
    if (json_array_size(ids) != 1 || !json_is_number(id) || json_number_value(id) < 0 ||
        json_number_value(id) >= t->vocabulary.size)
        fail("%s: post_processor: \"%.80s\" is not one of the tokens", path, name);
    return (int)json_number_value(id);
}

/* Its `single` is the text, "A", with tokens around it. Those behind it would end the text, and
 * here a text is to go on: they are left out. */
static void read_template(Tokenizer *t, const char *path, const json_t *template) {
    const json_t *single = json_object_get(template, "single");
    size_t count = json_array_size(single), texts = 0, before = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *token = json_object_get(json_array_get(single, i), "SpecialToken");
        const char *name = json_string_value(json_object_get(token, "id"));
        texts += json_object_get(json_array_get(single, i), "Sequence") != NULL;
        if (!token) continue;
        int id = template_id(t, path, template, name ? name : "");
        if (texts > 0 || before++ > 0) continue;
        t->bos = id;
        t->adds_bos = true;
    }
    if (texts != 1 || before > 1)
        fail("%s: post_processor: a Llama's puts one token before a text, or none", path);
}

void post_processor_read(Tokenizer *t, const char *path, const json_t *json) {
    const json_t *whole = json_object_get(json, "post_processor");
    bool sequence = is_type(whole, "Sequence");
    const json_t *steps = json_object_get(whole, "processors");
    t->adds_bos = false;
    for (size_t i = 0; i < (sequence ? json_array_size(steps) : 1); i++) {
        const json_t *step = sequence ? json_array_get(steps, i) : whole;
        const char *type = json_string_value(json_object_get(step, "type"));
        if (is_type(step, "TemplateProcessing")) read_template(t, path, step);
        else if (type && !is_type(step, "ByteLevel"))
            fail("%s: post_processor: %.40s: a Llama's is TemplateProcessing or ByteLevel", path,
                 type);
    }
}
