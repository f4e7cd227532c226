#include "14_engine/lesson/layouts.h"
#include "05_rope/rope.h"
#include "common/error.h"
#include "common/gguf.h"
#include "common/output.h"

#include <stdio.h>
#include <stdlib.h>

#define OUTSIDE(member) offsetof(Model, member), .in_layers = false
#define INSIDE(member) offsetof(Layer, member), .in_layers = true
const Part parts[PARTS] = {
    {"embed_tokens", "tok_embeddings", "token_embd", OUTSIDE(embed_tokens)},
    {"input_layernorm", "attention_norm", "attn_norm", INSIDE(input_layernorm), .is_norm = true},
    {"self_attn.q_proj", "attention.wq", "attn_q", INSIDE(q_proj), .is_rotated = true},
    {"self_attn.k_proj", "attention.wk", "attn_k", INSIDE(k_proj), .is_rotated = true},
    {"self_attn.v_proj", "attention.wv", "attn_v", INSIDE(v_proj)},
    {"self_attn.o_proj", "attention.wo", "attn_output", INSIDE(o_proj)},
    {"post_attention_layernorm", "ffn_norm", "ffn_norm", INSIDE(post_attention_layernorm),
     .is_norm = true},
    {"mlp.gate_proj", "feed_forward.w1", "ffn_gate", INSIDE(gate_proj)},
    {"mlp.down_proj", "feed_forward.w2", "ffn_down", INSIDE(down_proj)},
    {"mlp.up_proj", "feed_forward.w3", "ffn_up", INSIDE(up_proj)},
    {"norm", "norm", "output_norm", OUTSIDE(norm), .is_norm = true},
};

/* A norm's weight is an array of C floats. */
Tensor part_tensor(const Model *model, const Part *part, int layer) {
    const char *from = part->in_layers ? (char *)&model->layers[layer] : (char *)model;
    if (!part->is_norm) return *(const Tensor *)(from + part->member);
    float *weight = *(float *const *)(from + part->member);
    return (Tensor){.dtype = F32, .rank = 1, .shape = {(size_t)model->config.C}, .data = weight};
}

/* The numbers of a tensor in float32, rows in the order of Meta's files. The caller frees. */
static float *meta_numbers(const Model *model, const Part *part, const Tensor *tensor) {
    float *numbers = tensor_to_float(tensor);
    if (!part->is_rotated) return numbers;
    int D = model->config.D, C = model->config.C, heads = (int)tensor->shape[0] / D;
    float *rows = xmalloc(tensor_count(tensor) * sizeof *rows);
    rows_to_interleaved(heads, D, C, (void *)rows, (void *)numbers);
    free(numbers);
    return rows;
}

Model meta_model(const Model *model) {
    Model meta = *model;
    meta.interleaved = true;
    meta.layers = xmalloc((size_t)model->config.L * sizeof *meta.layers);
    for (int l = 0; l < model->config.L; l++) {
        Layer *layer = &meta.layers[l];
        *layer = model->layers[l];
        layer->q_proj.data = meta_numbers(model, &parts[2], &model->layers[l].q_proj);
        layer->k_proj.data = meta_numbers(model, &parts[3], &model->layers[l].k_proj);
        layer->q_proj.dtype = layer->k_proj.dtype = F32;
    }
    return meta;
}

void meta_model_free(Model *meta) {
    for (int l = 0; l < meta->config.L; l++) {
        free((void *)meta->layers[l].q_proj.data);
        free((void *)meta->layers[l].k_proj.data);
    }
    free(meta->layers);
}

void save_as_gguf(const Model *model, const char *path) {
    const Config *c = &model->config;
    GgufPairs pairs = {0};
    gguf_add_text(&pairs, "general.architecture", "llama");
    gguf_add_u32(&pairs, "llama.block_count", (uint32_t)c->L);
    gguf_add_u32(&pairs, "llama.context_length", (uint32_t)c->max_position_embeddings);
    gguf_add_u32(&pairs, "llama.embedding_length", (uint32_t)c->C);
    gguf_add_u32(&pairs, "llama.feed_forward_length", (uint32_t)c->F);
    gguf_add_u32(&pairs, "llama.attention.head_count", (uint32_t)c->H);
    gguf_add_u32(&pairs, "llama.attention.head_count_kv", (uint32_t)c->KV);
    gguf_add_f32(&pairs, "llama.attention.layer_norm_rms_epsilon", (float)c->rms_norm_eps);
    gguf_add_f32(&pairs, "llama.rope.freq_base", (float)c->rope.rope_theta);
    GgufTensor tensors[PARTS * c->L];
    char names[PARTS * c->L][40];
    size_t count = 0;
    for (int l = 0; l < c->L; l++)
        for (const Part *part = parts; part < parts + PARTS; part++) {
            if (!part->in_layers && l > 0) continue;
            Tensor from = part_tensor(model, part, l);
            if (part->in_layers) snprintf(names[count], 40, "blk.%d.%s.weight", l, part->gguf);
            else snprintf(names[count], 40, "%s.weight", part->gguf);
            tensors[count] = (GgufTensor){.name = names[count],
                                          .type = GGUF_TYPE_F32,
                                          .rank = from.rank,
                                          .shape = {from.shape[0], from.shape[1]},
                                          .data = meta_numbers(model, part, &from),
                                          .bytes = tensor_count(&from) * sizeof(float)};
            count++;
        }
    gguf_save(path, pairs.count, pairs.pairs, count, tensors, NULL, NULL);
    for (size_t i = 0; i < count; i++) free((void *)tensors[i].data);
    gguf_pairs_free(&pairs);
}

/* llama2.c's .bin: a header, then each part of all layers, without any name. */
void save_as_bin(const Model *model, const char *path) {
    const Config *c = &model->config;
    const int header[] = {c->C, c->F, c->L, c->H, c->KV, c->V, c->max_position_embeddings};
    const size_t table = (size_t)c->max_position_embeddings * (size_t)c->D; /* no longer read */
    Output output = output_open(path);
    fwrite(header, sizeof header, 1, output.file);
    for (const Part *part = parts; part < parts + PARTS; part++)
        for (int l = 0; l < (part->in_layers ? c->L : 1); l++) {
            Tensor from = part_tensor(model, part, l);
            float *numbers = meta_numbers(model, part, &from);
            fwrite(numbers, sizeof *numbers, tensor_count(&from), output.file);
            free(numbers);
        }
    for (size_t i = 0; i < table; i++) fwrite(&(float){0}, sizeof(float), 1, output.file);
    output_close(&output);
}
