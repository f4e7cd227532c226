#include "15_backward/parameters.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next tensor of the array: a matrix, or a vector where rows is 0. */
static float *place(Parameters *w, const char *name, int rows, int columns) {
    char whole[64];
    int length = snprintf(whole, sizeof whole, "%s.weight", name);
    float *numbers = w->numbers + w->count;
    Tensor tensor = {.name = copy_text(whole, (size_t)length), .dtype = F32, .rank = rows ? 2 : 1, .data = numbers};
    tensor.shape[0] = (size_t)(rows ? rows : columns);
    if (rows) tensor.shape[1] = (size_t)columns;
    w->tensors[w->tensor_count++] = tensor;
    w->count += tensor_count(&tensor);
    return numbers;
}

static float *place_in_layer(Parameters *w, int l, const char *name, int rows, int columns) {
    char whole[56];
    snprintf(whole, sizeof whole, "model.layers.%d.%s", l, name);
    return place(w, whole, rows, columns);
}

static LayerParameters place_layer(Parameters *w, int l) {
    const Config *c = &w->config;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    LayerParameters layer;
    layer.input_layernorm = place_in_layer(w, l, "input_layernorm", 0, C);
    layer.q_proj = place_in_layer(w, l, "self_attn.q_proj", queries, C);
    layer.k_proj = place_in_layer(w, l, "self_attn.k_proj", keys, C);
    layer.v_proj = place_in_layer(w, l, "self_attn.v_proj", keys, C);
    layer.o_proj = place_in_layer(w, l, "self_attn.o_proj", C, queries);
    layer.post_attention_layernorm = place_in_layer(w, l, "post_attention_layernorm", 0, C);
    layer.gate_proj = place_in_layer(w, l, "mlp.gate_proj", F, C);
    layer.up_proj = place_in_layer(w, l, "mlp.up_proj", F, C);
    layer.down_proj = place_in_layer(w, l, "mlp.down_proj", C, F);
    return layer;
}

Parameters parameters_new(const Config *config) {
    enum { OF_A_LAYER = 9, OTHERS = 3 };
    if (config->attention_bias || config->mlp_bias)
        fail("%s is true: there are gradients of weights here, and not of biases, which no Llama of Meta's has",
             config->attention_bias ? "attention_bias" : "mlp_bias");
    size_t bytes = product((size_t)config_parameters(config), sizeof(float)), L = (size_t)config->L;
    Parameters w = {.config = *config, .numbers = allocate(bytes), .layers = allocate(L * sizeof *w.layers),
                 .tensors = allocate((OF_A_LAYER * L + OTHERS) * sizeof *w.tensors)};
    memset(w.numbers, 0, bytes);
    w.embed_tokens = place(&w, "model.embed_tokens", config->V, config->C);
    for (int l = 0; l < config->L; l++) w.layers[l] = place_layer(&w, l);
    w.norm = place(&w, "model.norm", 0, config->C);
    w.lm_head = config->tie_word_embeddings ? w.embed_tokens : place(&w, "lm_head", config->V, config->C);
    return w;
}

static void copy_layer(const Config *c, LayerParameters *to, const Layer *from) {
    size_t C = (size_t)c->C, F = (size_t)c->F, queries = (size_t)c->H * (size_t)c->D,
           keys = (size_t)c->KV * (size_t)c->D;
    memcpy(to->input_layernorm, from->input_layernorm, C * sizeof(float));
    memcpy(to->post_attention_layernorm, from->post_attention_layernorm, C * sizeof(float));
    tensor_numbers(&from->q_proj, 0, queries * C, to->q_proj);
    tensor_numbers(&from->k_proj, 0, keys * C, to->k_proj);
    tensor_numbers(&from->v_proj, 0, keys * C, to->v_proj);
    tensor_numbers(&from->o_proj, 0, C * queries, to->o_proj);
    tensor_numbers(&from->gate_proj, 0, F * C, to->gate_proj);
    tensor_numbers(&from->up_proj, 0, F * C, to->up_proj);
    tensor_numbers(&from->down_proj, 0, C * F, to->down_proj);
}

Parameters parameters_of(const Model *model) {
    Parameters w = parameters_new(&model->config);
    size_t C = (size_t)w.config.C, V = (size_t)w.config.V;
    w.interleaved = model->interleaved;
    tensor_numbers(&model->embed_tokens, 0, V * C, w.embed_tokens);
    for (int l = 0; l < w.config.L; l++) copy_layer(&w.config, &w.layers[l], &model->layers[l]);
    memcpy(w.norm, model->norm, C * sizeof(float));
    if (w.lm_head != w.embed_tokens) tensor_numbers(&model->lm_head, 0, V * C, w.lm_head);
    return w;
}

void parameters_free(Parameters *w) {
    for (int i = 0; i < w->tensor_count; i++) free((char *)w->tensors[i].name);
    free(w->tensors), free(w->layers), free(w->numbers);
    *w = (Parameters){0};
}
