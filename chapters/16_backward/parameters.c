#include "16_backward/parameters.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next tensor of the array: a matrix, or a vector where rows is 0. */
static float *place(Parameters *w, const char *name, int rows, int columns) {
    float *numbers = w->numbers + w->count;
    Tensor tensor = {
        .name = xstrndup(name, strlen(name)), .dtype = F32, .rank = rows ? 2 : 1, .data = numbers};
    tensor.shape[0] = (size_t)(rows ? rows : columns);
    if (rows) tensor.shape[1] = (size_t)columns;
    w->tensors[w->tensor_count++] = tensor;
    w->count += tensor_count(&tensor);
    return numbers;
}

static float *place_in_layer(Parameters *w, int l, const char *name, const char *what, int rows,
                             int columns) {
    char whole[64];
    snprintf(whole, sizeof whole, "model.layers.%d.%s.%s", l, name, what);
    return place(w, whole, rows, columns);
}

static float *place_norm(Parameters *w, int l, const char *name) {
    return place_in_layer(w, l, name, "weight", 0, w->config.C);
}

/* A matrix, and its bias if it has one. */
static float *place_linear(Parameters *w, int l, const char *name, int out, int in, bool has_bias,
                           float **bias) {
    float *weight = place_in_layer(w, l, name, "weight", out, in);
    *bias = has_bias ? place_in_layer(w, l, name, "bias", 0, out) : NULL;
    return weight;
}

static LayerParameters place_layer(Parameters *w, int l) {
    const Config *c = &w->config;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    bool attention = c->attention_bias, mlp = c->mlp_bias;
    LayerParameters layer;
    layer.input_layernorm = place_norm(w, l, "input_layernorm");
    layer.q_proj = place_linear(w, l, "self_attn.q_proj", queries, C, attention, &layer.q_bias);
    layer.k_proj = place_linear(w, l, "self_attn.k_proj", keys, C, attention, &layer.k_bias);
    layer.v_proj = place_linear(w, l, "self_attn.v_proj", keys, C, attention, &layer.v_bias);
    layer.o_proj = place_linear(w, l, "self_attn.o_proj", C, queries, attention, &layer.o_bias);
    layer.post_attention_layernorm = place_norm(w, l, "post_attention_layernorm");
    layer.gate_proj = place_linear(w, l, "mlp.gate_proj", F, C, mlp, &layer.gate_bias);
    layer.up_proj = place_linear(w, l, "mlp.up_proj", F, C, mlp, &layer.up_bias);
    layer.down_proj = place_linear(w, l, "mlp.down_proj", C, F, mlp, &layer.down_bias);
    return layer;
}

Parameters parameters_new(const Config *config) {
    enum { OF_A_LAYER = 16, OTHERS = 3 }; /* tensors at most */
    size_t bytes = size_mul((size_t)config_parameters(config), sizeof(float)),
           L = (size_t)config->L;
    Parameters w = {.config = *config,
                    .numbers = xmalloc(bytes),
                    .layers = xmalloc(L * sizeof *w.layers),
                    .tensors = xmalloc((OF_A_LAYER * L + OTHERS) * sizeof *w.tensors)};
    memset(w.numbers, 0, bytes);
    w.embed_tokens = place(&w, "model.embed_tokens.weight", config->V, config->C);
    for (int l = 0; l < config->L; l++) w.layers[l] = place_layer(&w, l);
    w.norm = place(&w, "model.norm.weight", 0, config->C);
    w.lm_head = config->tie_word_embeddings ? w.embed_tokens
                                            : place(&w, "lm_head.weight", config->V, config->C);
    return w;
}

static void copy_linear(size_t out, size_t in, float *weight, float *bias, const Tensor *its_weight,
                        const float *its_bias) {
    tensor_dequantize_row(its_weight, 0, out * in, weight);
    if (bias) memcpy(bias, its_bias, out * sizeof *bias);
}

static void copy_layer(const Config *c, LayerParameters *to, const Layer *from) {
    size_t C = (size_t)c->C, F = (size_t)c->F, queries = (size_t)c->H * (size_t)c->D,
           keys = (size_t)c->KV * (size_t)c->D;
    memcpy(to->input_layernorm, from->input_layernorm, C * sizeof(float));
    memcpy(to->post_attention_layernorm, from->post_attention_layernorm, C * sizeof(float));
    copy_linear(queries, C, to->q_proj, to->q_bias, &from->q_proj, from->q_bias);
    copy_linear(keys, C, to->k_proj, to->k_bias, &from->k_proj, from->k_bias);
    copy_linear(keys, C, to->v_proj, to->v_bias, &from->v_proj, from->v_bias);
    copy_linear(C, queries, to->o_proj, to->o_bias, &from->o_proj, from->o_bias);
    copy_linear(F, C, to->gate_proj, to->gate_bias, &from->gate_proj, from->gate_bias);
    copy_linear(F, C, to->up_proj, to->up_bias, &from->up_proj, from->up_bias);
    copy_linear(C, F, to->down_proj, to->down_bias, &from->down_proj, from->down_bias);
}

Parameters parameters_of(const Model *model) {
    Parameters w = parameters_new(&model->config);
    size_t C = (size_t)w.config.C, V = (size_t)w.config.V;
    w.interleaved = model->interleaved;
    tensor_dequantize_row(&model->embed_tokens, 0, V * C, w.embed_tokens);
    for (int l = 0; l < w.config.L; l++) copy_layer(&w.config, &w.layers[l], &model->layers[l]);
    memcpy(w.norm, model->norm, C * sizeof(float));
    if (w.lm_head != w.embed_tokens) tensor_dequantize_row(&model->lm_head, 0, V * C, w.lm_head);
    return w;
}

void parameters_free(Parameters *w) {
    for (int i = 0; i < w->tensor_count; i++) free((char *)w->tensors[i].name);
    free(w->tensors);
    free(w->layers);
    free(w->numbers);
    *w = (Parameters){0};
}
