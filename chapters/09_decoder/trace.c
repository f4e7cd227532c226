#include "09_decoder/trace.h"
#include "01_normalization/normalization.h"
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "09_decoder/projection.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void record(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    HiddenStates *trace = context;
    float(*states)[trace->T][C] = (void *)trace->states;
    bool within_a_layer = stage % 2 && stage < 2 * (trace->stages - 2);
    if (!within_a_layer) memcpy(states[(stage + 1) / 2][first], x, (size_t)T * sizeof *x);
}

HiddenStates record_hidden_states(const Model *model, const Kernels *kernels, int T,
                                  const int ids[T]) {
    int C = model->config.C, V = model->config.V, stages = model->config.L + 2,
        context = config_context(&model->config);
    if (T > context)
        fail("a prompt of %d tokens is longer than this model's context of %d, %s", T, context,
             config_limit(&model->config));
    size_t of_states = size_mul(size_mul(stages, T), C), of_logits = size_mul(T, V);
    HiddenStates trace = {T,
                          stages,
                          C,
                          V,
                          xmalloc((size_t)T * sizeof(int)),
                          xmalloc(size_mul(of_states, sizeof(float))),
                          xmalloc(size_mul(of_logits, sizeof(float)))};
    memcpy(trace.ids, ids, (size_t)T * sizeof(int));
    Decoder decoder = decoder_new(model, kernels, T);
    decoder.hook = record;
    decoder.context = &trace;
    decoder_eval(&decoder, T, ids);
    float(*states)[T][C] = (void *)trace.states;
    kernels->linear_tensor(T, C, V, (float(*)[V])trace.logits, states[stages - 1], &model->lm_head);
    decoder_free(&decoder);
    return trace;
}

void hidden_states_free(HiddenStates *trace) {
    free(trace->ids);
    free(trace->states);
    free(trace->logits);
}

const char *stage_name(char name[static 32], int stage, int stages) {
    if (stage == 0) return "embed_tokens";
    if (stage == stages - 1) return "norm";
    snprintf(name, 32, "layers.%d", stage - 1);
    return name;
}

/* One head's queries or keys of the normalized stream, turned to their positions. */
static void head_vectors(const Model *model, int T, int heads, int head, const float *normed,
                         const Tensor *weight, const float *bias,
                         float out[restrict T][model->config.D]) {
    int C = model->config.C, D = model->config.D, positions[T];
    float(*all)[heads][D] = xmalloc((size_t)T * sizeof *all);
    float(*turned)[heads][D] = xmalloc((size_t)T * sizeof *turned);
    float inv_freq[D / 2], (*table)[T][D / 2] = xmalloc(2 * sizeof *table);
    for (int t = 0; t < T; t++) positions[t] = t;
    float factor = rope_frequencies(D, inv_freq, &model->config.rope, T);
    rope_table(T, D, table, positions, inv_freq);
    scale_rope_table(T, D, table, factor);
    linear_tensor(T, C, heads * D, (float(*)[heads * D]) all, (const float(*)[C])normed, weight);
    for (int i = head * D; bias && i < (head + 1) * D; i++)
        for (int t = 0; t < T; t++) all[t][head][i - head * D] += bias[i];
    (model->interleaved ? rope_interleaved : rope_half_split)(T, heads, D, turned, all,
                                                              table[COSINES], table[SINES]);
    for (int t = 0; t < T; t++) memcpy(out[t], turned[t][head], sizeof out[t]);
    free(all);
    free(turned);
    free(table);
}

void head_weights(const Model *model, const HiddenStates *trace, int l, int h,
                  float weights[restrict trace->T][trace->T]) {
    const Config *c = &model->config;
    const Layer *layer = &model->layers[l];
    int T = trace->T, C = c->C, D = c->D;
    float(*states)[T][C] = (void *)trace->states,
    (*normed)[C] = xmalloc((size_t)T * sizeof *normed);
    float(*q)[D] = xmalloc((size_t)T * sizeof *q), (*k)[D] = xmalloc((size_t)T * sizeof *k);
    float(*scores)[T] = xmalloc((size_t)T * sizeof *scores);
    rms_norm(T, C, normed, states[l], layer->input_layernorm, (float)c->rms_norm_eps);
    head_vectors(model, T, c->H, h, (float *)normed, &layer->q_proj, layer->q_bias, q);
    head_vectors(model, T, c->KV, h / (c->H / c->KV), (float *)normed, &layer->k_proj,
                 layer->k_bias, k);
    attention_scores(T, T, D, scores, q, k);
    causal_mask(T, T, scores);
    softmax(T, T, weights, scores);
    free(normed);
    free(q);
    free(k);
    free(scores);
}
