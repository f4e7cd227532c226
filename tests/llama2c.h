/* A golden model as llama2.c would have exported it, for the tests of those who read such a file.
 */
#ifndef TESTS_LLAMA2C_H
#define TESTS_LLAMA2C_H

#include "09_decoder/model.h"
#include "common/error.h"
#include "common/output.h"
#include "common/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends words of four bytes. */
static inline void append_words(FILE *file, size_t count, const void *words) {
    fwrite(words, 4, count, file);
}

static inline void append(FILE *file, const Tensor *tensor, int heads) {
    float *values = tensor_to_float(tensor), *rows = values;
    int C = (int)tensor->shape[1], D = heads ? (int)tensor->shape[0] / heads : 0;
    if (heads) {
        rows = xmalloc(tensor_count(tensor) * sizeof *rows);
        rows_to_interleaved(heads, D, C, (void *)rows, (void *)values);
        free(values);
    }
    append_words(file, tensor_count(tensor), rows);
    free(rows);
}

static inline void append_norms(FILE *file, const Model *model, bool second) {
    for (int l = 0; l < model->config.L; l++)
        append_words(file, (size_t)model->config.C,
                     second ? model->layers[l].post_attention_layernorm
                            : model->layers[l].input_layernorm);
}

static inline void write_bin(const char *path, const Model *model) {
    const Config *c = &model->config;
    const Layer *layers = model->layers;
    const int header[] = {c->C, c->F, c->L, c->H, c->KV, -c->V, c->max_position_embeddings};
    float frequencies[c->max_position_embeddings * c->D];
    memset(frequencies, 0xff, sizeof frequencies); /* NaN: never read */
    Output output = output_open(path);
    FILE *file = output.file;
    append_words(file, sizeof header / sizeof *header, header);
    append(file, &model->embed_tokens, 0);
    append_norms(file, model, false);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].q_proj, c->H);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].k_proj, c->KV);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].v_proj, 0);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].o_proj, 0);
    append_norms(file, model, true);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].gate_proj, 0);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].down_proj, 0);
    for (int l = 0; l < c->L; l++) append(file, &layers[l].up_proj, 0);
    append_words(file, (size_t)c->C, model->norm);
    fwrite(frequencies, sizeof frequencies, 1, file);
    append(file, &model->lm_head, 0);
    output_close(&output);
}

#endif
