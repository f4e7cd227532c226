#include "14_engine/tokenizers/pipeline.h"

#include "common/error.h"
#include "common/json.h"

#include <stdlib.h>

/* Each step of a tokenizer.json is one or a few of steps.h. What is not known is named with the
 * field. */

_Noreturn void refuse_json(const char *path, const char *key, const json_t *value,
                           const char *why) {
    char *text =
        value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT) : NULL;
    fail("%s: %s is %.80s: %s", path, key, text ? text : "missing", why);
}

bool has_values(const json_t *object, const char *values) {
    json_t *expected = json_read(values, strlen(values), NULL), *value;
    const char *key;
    bool same = json_is_object(object);
    json_object_foreach(expected, key, value) same =
        same && json_equal(json_object_get(object, key), value);
    json_decref(expected);
    return same;
}

/* ------------------------------------------------------------------ values */

/* The place of a step in the file, for messages. */
typedef struct {
    const char *path, *key; /* "pre_tokenizer" */
    const json_t *step;
    const char *type;
} Place;

static const char *string_of(const Place *p, const char *name) {
    const char *text = json_string_value(json_object_get(p->step, name));
    if (!text || strlen(text) > MOST_PIECE)
        refuse_json(p->path, p->key, p->step, "it needs a text where there is none");
    return text;
}

static const char *character_of(const Place *p, const char *name) {
    const char *text = string_of(p, name);
    size_t n = 0;
    if (*text) utf8_point(text, &n);
    if (n == 0 || n != strlen(text))
        refuse_json(p->path, p->key, p->step,
                    "it needs one character where there is none, or more");
    return text;
}

static bool is_on(const Place *p, const char *name, bool otherwise) {
    const json_t *value = json_object_get(p->step, name);
    if (value && !json_is_null(value) && !json_is_boolean(value))
        refuse_json(p->path, p->key, p->step, "what should be true or false is neither");
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static int count_of(const Place *p, const char *name) {
    const json_t *value = json_object_get(p->step, name);
    if (!json_is_whole(value, 0, MOST_PIECE))
        refuse_json(p->path, p->key, p->step, "what should be a count is none");
    return (int)json_integer_value(value);
}

/* {"String": " "} or {"Regex": "\\s+"} */
static Regex *pattern_at(const Place *p) {
    const json_t *pattern = json_object_get(p->step, "pattern");
    const char *text = json_string_value(json_object_get(pattern, "String")),
               *regex = json_string_value(json_object_get(pattern, "Regex"));
    if (!text == !regex || !*(text ? text : regex))
        refuse_json(p->path, p->key, p->step, "it needs a pattern");
    return text ? regex_of_text(text) : regex_new(p->path, p->key, regex);
}

static bool is_one_of(const char *name, int count, const char *const names[count], int *which) {
    for (*which = 0; *which < count; ++*which)
        if (strcmp(name, names[*which]) == 0) return true;
    return false;
}

/* Calls read() with each step of a Sequence, or with the one that stands there without. */
static void read_steps(Steps *steps, const char *path, const char *key, const char *list,
                       const json_t *json, void read(Steps *, const Place *)) {
    if (!json || json_is_null(json)) return;
    const char *type = json_string_value(json_object_get(json, "type"));
    if (!type) refuse_json(path, key, json, "it has no type");
    if (strcmp(type, "Sequence") != 0) {
        read(steps, &(Place){path, key, json, type});
        return;
    }
    const json_t *each = json_object_get(json, list);
    if (!json_is_array(each)) refuse_json(path, key, json, "it is a Sequence of nothing");
    for (size_t i = 0; i < json_array_size(each); i++)
        read_steps(steps, path, key, list, json_array_get(each, i), read);
}

/* ------------------------------------------------------------------ normalizers */

static void need_normal_forms(const Place *p) {
    if (!has_normal_forms)
        refuse_json(
            p->path, p->key, p->step,
            "this program was built without the library utf8proc, which that needs (apt install "
            "libutf8proc-dev | dnf install utf8proc-devel | brew install utf8proc, then make)");
}

static void normalizer_steps(Steps *steps, const Place *p) {
    static const char *const forms[] = {"NFD", "NFC", "NFKD", "NFKC"};
    int form;
    if (is_one_of(p->type, 4, forms, &form)) {
        need_normal_forms(p);
        steps_add(steps, (Step){.kind = NORMAL_FORM, .composed = form & 1, .compatible = form & 2});
    } else if (strcmp(p->type, "Lowercase") == 0) {
        need_normal_forms(p);
        steps_add(steps, (Step){.kind = LOWER_CASE});
    } else if (strcmp(p->type, "Prepend") == 0) {
        steps_add(steps, (Step){.kind = PREFIX, .content = string_of(p, "prepend")});
    } else if (strcmp(p->type, "Replace") == 0) {
        steps_add(
            steps,
            (Step){.kind = REPLACE, .content = string_of(p, "content"), .pattern = pattern_at(p)});
    } else {
        refuse_json(p->path, p->key, p->step,
                    "known are NFC, NFD, NFKC, NFKD, Lowercase, Prepend and Replace");
    }
}

/* ------------------------------------------------------------------ pre-tokenizers */

/* GPT-2's own. */
static const char gpt2_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static void read_byte_level(Steps *steps, const Place *p) {
    if (is_on(p, "add_prefix_space", true))
        steps_add(steps, (Step){.kind = PREFIX, .content = " ", .unless_it_begins = true});
    if (is_on(p, "use_regex", true))
        steps_add(steps,
                  (Step){.kind = SPLIT, .pattern = regex_new(p->path, p->key, gpt2_pattern)});
    steps_add(steps, (Step){.kind = BYTE_LEVEL_ENCODE});
}

static Behavior behavior_at(const Place *p) {
    static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
    int behavior;
    if (!is_one_of(string_of(p, "behavior"), 5, names, &behavior))
        refuse_json(p->path, p->key, p->step, "its behavior is unknown");
    return (Behavior)behavior;
}

/* Whether it puts its mark before a text, and there alone where the whole text begins. Older files
 * have add_prefix_space. */
static bool marks_beginning(const Place *p, bool *first) {
    static const char *const schemes[] = {"never", "first", "always"};
    const json_t *scheme = json_object_get(p->step, "prepend_scheme");
    int which = is_on(p, "add_prefix_space", true) ? 2 : 0;
    if (scheme && !is_one_of(string_of(p, "prepend_scheme"), 3, schemes, &which))
        refuse_json(p->path, p->key, p->step, "its prepend_scheme must be never, first or always");
    *first = which == 1;
    return which > 0;
}

static void read_metaspace(Steps *steps, const Place *p) {
    const char *mark = character_of(p, "replacement");
    bool first;
    steps_add(steps, (Step){.kind = REPLACE, .content = mark, .pattern = regex_of_text(" ")});
    if (marks_beginning(p, &first))
        steps_add(steps, (Step){.kind = PREFIX,
                                .content = mark,
                                .unless_it_begins = true,
                                .first_alone = first});
    if (is_on(p, "split", true))
        steps_add(
            steps,
            (Step){.kind = SPLIT, .pattern = regex_of_text(mark), .behavior = MERGED_WITH_NEXT});
}

static void pre_tokenizer_steps(Steps *steps, const Place *p) {
    if (strcmp(p->type, "ByteLevel") == 0) {
        read_byte_level(steps, p);
    } else if (strcmp(p->type, "Metaspace") == 0) {
        read_metaspace(steps, p);
    } else if (strcmp(p->type, "Split") == 0) {
        steps_add(steps, (Step){.kind = SPLIT,
                                .pattern = pattern_at(p),
                                .behavior = behavior_at(p),
                                .inverted = is_on(p, "invert", false)});
    } else if (strcmp(p->type, "Digits") == 0) {
        Behavior behavior = is_on(p, "individual_digits", false) ? ISOLATED : CONTIGUOUS;
        steps_add(steps, (Step){.kind = SPLIT, .pattern = regex_of_digits(), .behavior = behavior});
    } else if (strcmp(p->type, "Punctuation") == 0) {
        Behavior behavior = json_object_get(p->step, "behavior") ? behavior_at(p) : ISOLATED;
        steps_add(steps,
                  (Step){.kind = SPLIT, .pattern = regex_of_punctuation(), .behavior = behavior});
    } else if (strcmp(p->type, "Whitespace") == 0) {
        steps_add(steps, (Step){.kind = SPLIT,
                                .pattern = regex_of_words(true),
                                .behavior = REMOVED,
                                .inverted = true});
    } else if (strcmp(p->type, "WhitespaceSplit") == 0) {
        steps_add(steps, (Step){.kind = SPLIT,
                                .pattern = regex_new(p->path, p->key, "\\s"),
                                .behavior = REMOVED});
    } else {
        refuse_json(p->path, p->key, p->step,
                    "known are ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit "
                    "and Metaspace");
    }
}

/* ------------------------------------------------------------------ decoders */

static void decoder_steps(Steps *steps, const Place *p) {
    if (strcmp(p->type, "ByteLevel") == 0) {
        steps_add(steps, (Step){.kind = BYTE_LEVEL_DECODE});
    } else if (strcmp(p->type, "Replace") == 0) {
        steps_add(
            steps,
            (Step){.kind = REPLACE, .content = string_of(p, "content"), .pattern = pattern_at(p)});
    } else if (strcmp(p->type, "ByteFallback") == 0) {
        steps_add(steps, (Step){.kind = BYTE_FALLBACK});
    } else if (strcmp(p->type, "Fuse") == 0) {
        steps_add(steps, (Step){.kind = FUSE, .content = ""});
    } else if (strcmp(p->type, "Strip") == 0) {
        steps_add(steps, (Step){.kind = STRIP,
                                .content = character_of(p, "content"),
                                .before = count_of(p, "start"),
                                .behind = count_of(p, "stop")});
    } else if (strcmp(p->type, "Metaspace") == 0) {
        const char *mark = character_of(p, "replacement");
        bool first;
        if (marks_beginning(p, &first))
            steps_add(steps, (Step){.kind = METASPACE_STRIP, .content = mark});
        steps_add(steps, (Step){.kind = REPLACE, .content = " ", .pattern = regex_of_text(mark)});
    } else {
        refuse_json(p->path, p->key, p->step,
                    "known are ByteLevel, Replace, ByteFallback, Fuse, Strip and Metaspace");
    }
}

/* ------------------------------------------------------------------ all of it */

void pipeline_read(Pipeline *p, const char *path, const json_t *json) {
    const json_t *decoder = json_object_get(json, "decoder"),
                 *model = json_object_get(json, "model");
    read_steps(&p->normalizer, path, "normalizer", "normalizers",
               json_object_get(json, "normalizer"), normalizer_steps);
    read_steps(&p->pre_tokenizer, path, "pre_tokenizer", "pretokenizers",
               json_object_get(json, "pre_tokenizer"), pre_tokenizer_steps);
    read_steps(&p->decoder, path, "decoder", "decoders", decoder, decoder_steps);
    if (!decoder || json_is_null(decoder))
        steps_add(&p->decoder, (Step){.kind = FUSE, .content = " "});
    p->byte_fallback = json_is_true(json_object_get(model, "byte_fallback"));
    p->fuse_unk = json_is_true(json_object_get(model, "fuse_unk"));
}
