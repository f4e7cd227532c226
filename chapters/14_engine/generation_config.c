#include "14_engine/generation_config.h"
#include "common/error.h"
#include "common/file.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

/* The number of a key, from low to high. A null is as good as no key. */
static double number_or(const char *path, const json_t *json, const char *key, double otherwise,
                        double low, double high) {
    const json_t *value = json_object_get(json, key);
    if (!value || json_is_null(value)) return otherwise;
    double number = json_number_value(value);
    if (!json_is_number(value) || number < low || number > high)
        fail("%s: %s must be a number from %g to %g", path, key, low, high);
    return number;
}

/* A count. Files that are written by hand have 50.0 as well. */
static int whole_or(const char *path, const json_t *json, const char *key, int otherwise) {
    const json_t *value = json_object_get(json, key);
    if (!value || json_is_null(value)) return otherwise;
    double number = json_number_value(value);
    if (!json_is_number(value) || number < 0 || number > INT_MAX || number != floor(number))
        fail("%s: %s must be a whole number from 0 on", path, key);
    return (int)number;
}

static void read_sampling(const char *path, const json_t *json, SamplingParams *s) {
    double T = number_or(path, json, "temperature", s->temperature, 0, MAX_TEMPERATURE);
    s->temperature =
        T == 0 ? 0
               : (float)number_or(path, json, "temperature", T, MIN_TEMPERATURE, MAX_TEMPERATURE);
    s->top_k = whole_or(path, json, "top_k", s->top_k);
    s->top_p = (float)number_or(path, json, "top_p", s->top_p, 0, 1);
    s->min_p = (float)number_or(path, json, "min_p", s->min_p, 0, 1);
    s->repetition_penalty =
        (float)number_or(path, json, "repetition_penalty", s->repetition_penalty, 0.01, 100);
    if (json_is_false(json_object_get(json, "do_sample"))) s->temperature = 0;
}

void generation_config_read(const char *folder, SamplingParams *sampling, Config *config) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/generation_config.json", folder) >= (int)sizeof path)
        fail("%.200s…: the path is too long", folder);
    if (!file_is_there(path)) return;
    json_t *json = json_open(path);
    if (!json_is_object(json)) fail("%s: it holds no JSON object", path);
    read_sampling(path, json, sampling);
    config_read_ends(path, json, config);
    json_decref(json);
}

void add_chatml_end(Config *config, const Tokenizer *tokenizer) {
    const int id = tokenizer_special(tokenizer, "<|im_end|>");
    if (id >= 0 && config->eos_count < CONFIG_EOS) config->eos[config->eos_count++] = id;
}

void check_vocabularies(const Model *model, const Tokenizer *tokenizer, bool notes) {
    enum { FEW = 256 };
    int V = model->config.V, size = tokenizer_size(tokenizer);
    if (size >= V + FEW || size < V / 2)
        fail("the model has a vocabulary of %d tokens and the tokenizer one of %d: they do not "
             "belong together",
             V, size);
    if (notes && size < V)
        fprintf(
            stderr,
            "note: the model has %d tokens, and the tokenizer %d: those from %d on have no text\n",
            V, size, size);
}
