#include "09_decoder/weights.h"
#include "common/error.h"
#include "common/file.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ what is wrong */

void name_list_add(NameList *list, const char *name) {
    size_t length = strlen(list->names);
    if (++list->count <= 4)
        snprintf(list->names + length, sizeof list->names - length, "%s%.80s", length ? ", " : "",
                 name);
}

void name_list_fail_if_any(const NameList *list, const char *path, const char *what) {
    if (list->count == 0) return;
    fail("%s: %d tensor%s %s: %s%s", path, list->count, list->count == 1 ? "" : "s", what,
         list->names, list->count > 4 ? ", …" : "");
}

/* ------------------------------------------------------------------ a tensor by its name */

static int by_name(const void *left, const void *right) {
    return strcmp(((const Tensor *)left)->name, ((const Tensor *)right)->name);
}

Weights weights_new(const char *path, const char *config, const TensorNames *names, size_t count,
                    Tensor *tensors) {
    qsort(tensors, count, sizeof *tensors, by_name);
    bool *taken = xmalloc(count * sizeof *taken);
    memset(taken, 0, count * sizeof *taken);
    return (Weights){.path = path,
                     .config = config,
                     .names = names,
                     .count = count,
                     .tensors = tensors,
                     .used = taken};
}

const Tensor *weights_find(const Weights *weights, const char *name) {
    return bsearch(&(Tensor){.name = name}, weights->tensors, weights->count,
                   sizeof *weights->tensors, by_name);
}

static void check_type(const Weights *weights, const Tensor *tensor) {
    if (tensor->quant_type || tensor->dtype == F32 || tensor->dtype == BF16 || tensor->dtype == F16)
        return;
    if (tensor->dtype == F64)
        fail("%s: %s is F64: this decoder takes F32, BF16 and F16. transformers converts "
             "it: " CONVERT,
             weights->path, tensor->name, "float32", shell_word(weights->path), "NEW_FOLDER");
    fail("%s: %s is %s: this decoder takes F32, BF16 and F16", weights->path, tensor->name,
         dtype_name(tensor->dtype));
}

Tensor weights_load_tensor(Weights *weights, int rows, int columns, const char *name) {
    char got[SHAPE_TEXT], right[SHAPE_TEXT];
    const size_t shape[] = {(size_t)rows, (size_t)columns}, *wanted = rows ? shape : shape + 1;
    const int rank = rows ? 2 : 1;
    const Tensor *tensor = weights_find(weights, name);
    if (!tensor) {
        name_list_add(&weights->missing, name);
        return (Tensor){0};
    }
    if (tensor->rank != rank || memcmp(tensor->shape, wanted, (size_t)rank * sizeof *wanted) != 0)
        fail("%s: %s is %s, but %s makes it %s", weights->path, name,
             shape_text(got, tensor->rank, tensor->shape), weights->config,
             shape_text(right, rank, wanted));
    check_type(weights, tensor);
    weights->used[tensor - weights->tensors] = true;
    return *tensor;
}

/* ------------------------------------------------------------------ the parts of a model */

enum { NAME = 128 };

/* "model.layers.7.mlp.up_proj.weight" */
static const char *name_of(char name[static NAME], const char *part, int layer, const char *what) {
    int length = snprintf(name, NAME, part, layer);
    snprintf(name + length, NAME - (size_t)length, ".%s", what);
    return name;
}

static Tensor load_matrix(Weights *weights, int rows, int columns, const char *part, int layer) {
    char name[NAME];
    return weights_load_tensor(weights, rows, columns, name_of(name, part, layer, "weight"));
}

/* Small enough to be copied: n numbers in float32. */
static float *load_vector(Weights *weights, int n, const char *part, int layer, const char *what) {
    char name[NAME];
    Tensor tensor = weights_load_tensor(weights, 0, n, name_of(name, part, layer, what));
    return tensor.data ? tensor_to_float(&tensor) : NULL;
}

static void load_biases(Weights *weights, const Config *c, int l, Layer *layer) {
    const TensorNames *names = weights->names;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    if (c->attention_bias) {
        layer->q_bias = load_vector(weights, queries, names->q_proj, l, "bias");
        layer->k_bias = load_vector(weights, keys, names->k_proj, l, "bias");
        layer->v_bias = load_vector(weights, keys, names->v_proj, l, "bias");
        layer->o_bias = load_vector(weights, C, names->o_proj, l, "bias");
    }
    if (c->mlp_bias) {
        layer->gate_bias = load_vector(weights, F, names->gate_proj, l, "bias");
        layer->up_bias = load_vector(weights, F, names->up_proj, l, "bias");
        layer->down_bias = load_vector(weights, C, names->down_proj, l, "bias");
    }
}

static void load_layer(Weights *weights, const Config *c, int l, Layer *layer) {
    const TensorNames *names = weights->names;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    layer->input_layernorm = load_vector(weights, C, names->input_layernorm, l, "weight");
    layer->q_proj = load_matrix(weights, queries, C, names->q_proj, l);
    layer->k_proj = load_matrix(weights, keys, C, names->k_proj, l);
    layer->v_proj = load_matrix(weights, keys, C, names->v_proj, l);
    layer->o_proj = load_matrix(weights, C, queries, names->o_proj, l);
    layer->post_attention_layernorm =
        load_vector(weights, C, names->post_attention_layernorm, l, "weight");
    layer->gate_proj = load_matrix(weights, F, C, names->gate_proj, l);
    layer->up_proj = load_matrix(weights, F, C, names->up_proj, l);
    layer->down_proj = load_matrix(weights, C, F, names->down_proj, l);
    load_biases(weights, c, l, layer);
}

/* Tied weights are one matrix with two names, and a file may have it under either, or under both.
 */
static void load_embedding(Weights *weights, Model *model) {
    int V = model->config.V, C = model->config.C;
    bool tied = model->config.tie_word_embeddings;
    char input[NAME], output[NAME];
    name_of(input, weights->names->embed_tokens, 0, "weight");
    name_of(output, weights->names->lm_head, 0, "weight");
    model->embed_tokens =
        weights_load_tensor(weights, V, C, tied && !weights_find(weights, input) ? output : input);
    model->lm_head = tied && !weights_find(weights, output)
                         ? model->embed_tokens
                         : weights_load_tensor(weights, V, C, output);
}

/* Early checkpoints hold RoPE's frequencies, which follow from the configuration. */
static bool is_stray(const char *name) { return name_ends_in(name, ".rotary_emb.inv_freq"); }

static void refuse_the_rest(const Weights *weights) {
    NameList unexpected = {0};
    for (size_t i = 0; i < weights->count; i++)
        if (!weights->used[i] && !is_stray(weights->tensors[i].name))
            name_list_add(&unexpected, weights->tensors[i].name);
    name_list_fail_if_any(&unexpected, weights->path, "of no Llama");
}

/* If no name is a Llama's, this is another model, or the Llama is a part of it and its names
 * have a prefix. */
static void refuse_other_names(const Weights *weights) {
    for (size_t i = 0; i < weights->count; i++)
        if (weights->used[i]) return;
    if (weights->count > 0)
        fail("%s: its tensors have other names than a Llama's: \"%.80s\", and none is \"%.80s\"",
             weights->path, weights->tensors[0].name, weights->names->embed_tokens);
}

void weights_load_model(Weights *weights, Model *model) {
    int L = model->config.L;
    model->layers = xmalloc((size_t)L * sizeof *model->layers);
    memset(model->layers, 0, (size_t)L * sizeof *model->layers);
    load_embedding(weights, model);
    for (int l = 0; l < L; l++) load_layer(weights, &model->config, l, &model->layers[l]);
    model->norm = load_vector(weights, model->config.C, weights->names->norm, 0, "weight");
    refuse_other_names(weights);
    name_list_fail_if_any(&weights->missing, weights->path,
                          weights->missing.count == 1 ? "is missing" : "are missing");
    refuse_the_rest(weights);
    free(weights->tensors);
    free(weights->used);
}
