#include "09_decoder/config.h"
#include "common/error.h"
#include "common/file.h"
#include "common/json.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ config.json */

/* An object of the file; `place` stands before its keys in messages. */
typedef struct {
    const char *path, *place;
    const json_t *json;
} Object;

/* The value of a key; null is as good as nothing. */
static const json_t *value_of(const Object *object, const char *key) {
    const json_t *value = json_object_get(object->json, key);
    return json_is_null(value) ? NULL : value;
}

/* fail()s with the value as JSON spells it: whatever it is, it stays on one line. */
static _Noreturn void refuse(const Object *object, const char *key, const char *why) {
    const char *value = json_dumps(json_object_get(object->json, key),
                                   JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);
    fail("%s: %s%s is %.60s: %s", object->path, object->place, key, value ? value : "missing", why);
}

static int whole_or(const Object *object, const char *key, int otherwise, int low, int high) {
    const json_t *value = value_of(object, key);
    char why[80];
    if (!value) return otherwise;
    snprintf(why, sizeof why, "it must be a whole number from %d to %d", low, high);
    if (!json_is_whole(value, low, high)) refuse(object, key, why);
    return (int)json_integer_value(value);
}

static int whole(const Object *object, const char *key, int low, int high) {
    if (!value_of(object, key)) refuse(object, key, "a Llama needs it");
    return whole_or(object, key, 0, low, high);
}

static double number_or(const Object *object, const char *key, double otherwise, double above) {
    const json_t *value = value_of(object, key);
    char why[80];
    if (!value) return otherwise;
    snprintf(why, sizeof why, "it must be a number above %g", above);
    if (!json_is_number(value) || !(json_number_value(value) > above)) refuse(object, key, why);
    return json_number_value(value);
}

static double number(const Object *object, const char *key, double above) {
    if (!value_of(object, key)) refuse(object, key, "this rope_type needs it");
    return number_or(object, key, 0, above);
}

static bool yes_or_no(const Object *object, const char *key, bool otherwise) {
    const json_t *value = value_of(object, key);
    if (!value) return otherwise;
    if (!json_is_boolean(value)) refuse(object, key, "it must be true or false");
    return json_is_true(value);
}

static const char *text_or(const Object *object, const char *key, const char *otherwise) {
    const json_t *value = value_of(object, key);
    if (!value) return otherwise;
    if (!json_is_string(value)) refuse(object, key, "it must be a string");
    return json_string_value(value);
}

/* Whether it is a Mistral, which is a Llama but for its sliding_window; anything else is refused.
 * Some early Llamas spell it LLaMA. */
static bool is_mistral(const Object *config) {
    const json_t *architecture = json_array_get(value_of(config, "architectures"), 0);
    const char *type = text_or(config, "model_type", architecture ? "llama" : NULL);
    if (!type) refuse(config, "model_type", "is this a Llama's config.json?");
    const bool mistral = strcmp(type, "mistral") == 0;
    if (!mistral && strcmp(type, "llama") != 0)
        refuse(config, "model_type", "this decoder runs \"llama\" and \"mistral\"");
    const char *model = mistral ? "MistralForCausalLM" : "LlamaForCausalLM";
    if (architecture &&
        (!json_is_string(architecture) || strcasecmp(json_string_value(architecture), model) != 0))
        refuse(
            config, "architectures",
            "this decoder runs LlamaForCausalLM and MistralForCausalLM, each with its model_type");
    return mistral;
}

/* Refuses fields that mean another model than the one this chapter computes. */
static void require_llama(const Object *config) {
    const char *act = text_or(config, "hidden_act", "silu");
    if (strcmp(act, "silu") != 0 && strcmp(act, "swish") != 0) /* two names of one function */
        refuse(config, "hidden_act", "a Llama's is \"silu\"");
    const json_t *layer_types = value_of(config, "layer_types");
    for (size_t l = 0; l < json_array_size(layer_types); l++) {
        const char *type = json_string_value(json_array_get(layer_types, l));
        if (!type || strcmp(type, "full_attention") != 0)
            refuse(config, "layer_types", "a Llama's are all full_attention");
    }
    if (value_of(config, "quantization_config"))
        refuse(config, "quantization_config",
               "these weights are quantized; fetch them in BF16, F16 or F32");
}

static RopeType rope_type(const Object *rope) {
    static const char *const names[] = {
        [ROPE_DEFAULT] = "default", [ROPE_LINEAR] = "linear", [ROPE_DYNAMIC] = "dynamic",
        [ROPE_YARN] = "yarn",       [ROPE_LLAMA3] = "llama3", [ROPE_LONGROPE] = "longrope"};
    const char *key = value_of(rope, "rope_type") ? "rope_type" : "type";
    const char *name = text_or(rope, key, "default");
    for (int type = 0; type < (int)(sizeof names / sizeof *names); type++)
        if (strcmp(name, names[type]) == 0) return (RopeType)type;
    refuse(rope, key, "it must be default, linear, dynamic, yarn, llama3 or longrope");
}

/* A number for each pair of a head. */
static float *factors(const Object *rope, const char *key, int D) {
    const json_t *list = value_of(rope, key);
    char why[80];
    snprintf(why, sizeof why, "longrope needs a list of %d numbers above 0, one a pair", D / 2);
    if (json_array_size(list) != (size_t)D / 2) refuse(rope, key, why);
    float *factors = xmalloc((size_t)D / 2 * sizeof *factors);
    for (int i = 0; i < D / 2; i++) {
        const json_t *factor = json_array_get(list, (size_t)i);
        if (!json_is_number(factor) || !(json_number_value(factor) > 0)) refuse(rope, key, why);
        factors[i] = (float)json_number_value(factor);
    }
    return factors;
}

/* rope_parameters since transformers 5, rope_scaling with rope_theta outside of it before. Where a
 * file has both spellings, transformers follows the old one, unless it is empty. Source:
 * RotaryEmbeddingConfigMixin in modeling_rope_utils.py. */
static RopeParameters read_rope(const Object *config, int D, int max_positions) {
    const json_t *scaling = value_of(config, "rope_scaling");
    const bool old = scaling && !(json_is_object(scaling) && json_object_size(scaling) == 0);
    const char *key = old ? "rope_scaling" : "rope_parameters";
    Object rope = {config->path, old ? "rope_scaling." : "rope_parameters.", value_of(config, key)};
    if (rope.json && !json_is_object(rope.json)) refuse(config, key, "it must be an object");
    if (value_of(&rope, "full_attention"))
        refuse(&rope, "full_attention", "a Llama's layers are all of one kind, and turn alike");
    const Object *partial = value_of(&rope, "partial_rotary_factor") ? &rope : config;
    if (number_or(partial, "partial_rotary_factor", 1, 0) != 1)
        refuse(partial, "partial_rotary_factor", "a Llama turns the whole head");

    RopeParameters p = {.rope_type = rope_type(&rope), .max_position_embeddings = max_positions};
    p.rope_theta = number_or(&rope, "rope_theta", number_or(config, "rope_theta", 10000, 1), 1);
    if (p.rope_type == ROPE_DEFAULT) return p;
    p.original_max_position_embeddings = whole_or(
        config, "original_max_position_embeddings",
        whole_or(&rope, "original_max_position_embeddings", max_positions, 1, MOST_POSITIONS), 1,
        MOST_POSITIONS);
    if (p.rope_type == ROPE_YARN || p.rope_type == ROPE_LONGROPE)
        p.factor = number_or(&rope, "factor",
                             (double)max_positions / p.original_max_position_embeddings, 0);
    else p.factor = number(&rope, "factor", 0);
    if (p.rope_type == ROPE_LLAMA3) {
        p.low_freq_factor = number(&rope, "low_freq_factor", 0);
        p.high_freq_factor = number(&rope, "high_freq_factor", p.low_freq_factor);
    }
    if (p.rope_type == ROPE_LONGROPE) {
        p.short_factor = factors(&rope, "short_factor", D);
        p.long_factor = factors(&rope, "long_factor", D);
    }
    p.beta_fast = number_or(&rope, "beta_fast", 0, 0);
    p.beta_slow = number_or(&rope, "beta_slow", 0, 0);
    p.attention_factor = number_or(&rope, "attention_factor", 0, 0);
    p.mscale = number_or(&rope, "mscale", 0, -1);
    p.mscale_all_dim = number_or(&rope, "mscale_all_dim", 0, -1);
    p.keep_fractions = !yes_or_no(&rope, "truncate", true);
    return p;
}

static void read_eos(const Object *object, Config *config) {
    const json_t *value = value_of(object, "eos_token_id");
    config->eos_count = 0;
    if (!json_is_array(value)) {
        config->eos[0] = whole_or(object, "eos_token_id", -1, -1, INT_MAX);
        config->eos_count = config->eos[0] >= 0;
        return;
    }
    if (json_array_size(value) > CONFIG_EOS)
        refuse(object, "eos_token_id", "more ends than this reader takes");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *id = json_array_get(value, i);
        if (!json_is_whole(id, 0, INT_MAX))
            refuse(object, "eos_token_id", "it must be a token's number, or a list of them");
        config->eos[config->eos_count++] = (int)json_integer_value(id);
    }
}

void config_read_ends(const char *path, const json_t *json, Config *config) {
    Object object = {path, "", json};
    if (value_of(&object, "eos_token_id")) read_eos(&object, config);
}

static DType read_dtype(const Object *config) {
    const char *key = value_of(config, "dtype") ? "dtype" : "torch_dtype";
    const char *name = text_or(config, key, "float32");
    if (strncmp(name, "torch.", 6) == 0) name += 6;
    if (strcmp(name, "float32") == 0 || strcmp(name, "auto") == 0) return F32;
    if (strcmp(name, "bfloat16") == 0) return BF16;
    if (strcmp(name, "float16") == 0) return F16;
    if (strcmp(name, "float64") == 0) return F64;
    refuse(config, key, "it must be float32, bfloat16, float16 or auto");
}

/* A Mistral has a sliding window even if the file does not name one. */
static int read_window(const Object *config, bool mistral) {
    const bool said = json_object_get(config->json, "sliding_window");
    return mistral && !said ? 4096 : whole_or(config, "sliding_window", 0, 1, MOST_POSITIONS);
}

static void read_sizes(const Object *object, Config *c) {
    c->C = whole(object, "hidden_size", 1, MOST_WIDTH);
    c->F = whole(object, "intermediate_size", 1, MOST_WIDTH);
    c->L = whole(object, "num_hidden_layers", 1, MOST_LAYERS);
    c->H = whole(object, "num_attention_heads", 1, MOST_WIDTH);
    c->KV = whole_or(object, "num_key_value_heads", c->H, 1, MOST_WIDTH);
    c->V = whole(object, "vocab_size", 1, MOST_WIDTH);
    c->D = whole_or(object, "head_dim", 0, 1, MOST_HEAD);
    config_complete_heads(object->path, c);
}

/* Editors of Windows mark a text in UTF-8 by three bytes before it, which JSON does not know. */
static size_t mark_before(const char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

static json_t *open_by(json_t *read(const char *, size_t, json_error_t *), const char *path) {
    size_t length;
    char *text = file_read_regular(path, &length);
    json_error_t problem;
    size_t mark = mark_before(text);
    json_t *json = read(text + mark, length - mark, &problem);
    if (!json) fail("%s: line %d: no valid JSON: %s", path, problem.line, problem.text);
    free(text);
    return json;
}

json_t *json_open(const char *path) { return open_by(json_read, path); }

json_t *json_open_reals(const char *path) { return open_by(json_read_reals, path); }

Config config_read(const char *path) {
    json_t *json = json_open(path);
    if (!json_is_object(json)) fail("%s: it holds no JSON object: is this a config.json?", path);

    Object object = {path, "", json};
    Config config = {0};
    const bool mistral = is_mistral(&object);
    require_llama(&object);
    read_sizes(&object, &config);
    config.sliding_window = read_window(&object, mistral);
    config.max_position_embeddings =
        whole_or(&object, "max_position_embeddings", 2048, 1, MOST_POSITIONS);
    config.rms_norm_eps = number_or(&object, "rms_norm_eps", 1e-6, 0);
    if (config.rms_norm_eps >= 1)
        refuse(&object, "rms_norm_eps", "it must be a small number, such as 1e-05");
    config.tie_word_embeddings = yes_or_no(&object, "tie_word_embeddings", false);
    config.attention_bias = yes_or_no(&object, "attention_bias", false);
    config.mlp_bias = yes_or_no(&object, "mlp_bias", false);
    config.rope = read_rope(&object, config.D, config.max_position_embeddings);
    if (config.rope.rope_type == ROPE_DYNAMIC && config.D == 2)
        fail("%s: dynamic scaling needs heads wider than 2", path);
    config.pad = whole_or(&object, "pad_token_id", -1, -1, INT_MAX);
    read_eos(&object, &config);
    config.dtype = read_dtype(&object);
    json_decref(json);
    return config;
}

void config_free(Config *config) {
    free((float *)config->rope.short_factor);
    free((float *)config->rope.long_factor);
}

/* ------------------------------------------------------------------ what follows from it */

void config_complete_heads(const char *path, Config *c) {
    if (!c->D && c->C % c->H)
        fail("%s: a width of %d is no multiple of its %d heads, and none is given for a head", path,
             c->C, c->H);
    if (!c->D) c->D = c->C / c->H;
    if (c->D % 2)
        fail("%s: heads are %d wide: RoPE turns pairs, the width must be even", path, c->D);
    if (c->D > MOST_HEAD || c->D > MOST_WIDTH / c->H)
        fail("%s: %d heads of width %d are more than this decoder takes", path, c->H, c->D);
    if (c->H % c->KV)
        fail("%s: %d heads cannot share %d key/value heads evenly", path, c->H, c->KV);
}

int config_context(const Config *config) {
    double stretch = config->rope.rope_type == ROPE_DYNAMIC ? fmax(config->rope.factor, 1) : 1;
    int made_for = (int)fmin(config->max_position_embeddings * stretch, MOST_POSITIONS),
        window = config->sliding_window;
    return window && window < made_for ? window : made_for;
}

const char *config_limit(const Config *config) {
    return config_context(config) == config->sliding_window
               ? "its sliding_window: what a longer text needs, attention that forgets, this "
                 "decoder does not compute"
               : "all that this model was made for";
}

int64_t config_parameters(const Config *config) {
    int64_t C = config->C, F = config->F, H = config->H, KV = config->KV, D = config->D,
            V = config->V;
    int64_t layer = 2 * C * H * D + 2 * C * KV * D + 3 * C * F + 2 * C;
    if (config->attention_bias) layer += H * D + 2 * KV * D + C;
    if (config->mlp_bias) layer += 2 * F + C;
    return (config->tie_word_embeddings ? 1 : 2) * V * C + config->L * layer + C;
}
