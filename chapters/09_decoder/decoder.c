#include "09_decoder/decoder.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ what is done to each token by itself
 *
 * The threads share the tokens out among them, where there is work for more than one: to begin side
 * by side and to wait for the last costs some microseconds. */

static void norm(const Decoder *d, int T, int C, float out[restrict T][C], const float x[T][C],
                 const float weight[C]) {
    float eps = (float)d->model->config.rms_norm_eps;
#pragma omp parallel for if ((double)T * C > 1e5)
    for (int t = 0; t < T; t++) d->kernels->rms_norm(1, C, out + t, x + t, weight, eps);
}

static void apply_rope(const Decoder *d, int T, int H, int D, float out[restrict T][H][D],
                       const float x[T][H][D], const float cosine[T][D / 2],
                       const float sine[T][D / 2]) {
    const Kernels *kernels = d->kernels;
    __typeof__(rope_half_split) *rope =
        d->model->interleaved ? kernels->rope_interleaved : kernels->rope_half_split;
#pragma omp parallel for if ((double)T * H * D > 1e5)
    for (int t = 0; t < T; t++) rope(1, H, D, out + t, x + t, cosine + t, sine + t);
}

static void swiglu_rows(const Decoder *d, int T, int F, float out[restrict T][F],
                        const float gate[T][F], const float up[T][F]) {
#pragma omp parallel for if ((double)T * F > 1e5)
    for (int t = 0; t < T; t++) d->kernels->swiglu(F, out[t], gate[t], up[t]);
}

static void add(int T, int C, float x[restrict T][C], const float delta[T][C]) {
#pragma omp parallel for if ((double)T * C > 1e5)
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] += delta[t][i];
}

/* ------------------------------------------------------------------ the layer */

/* y = x W^T + b. Some Llamas of other makers have a bias b; Meta's have none, NULL. */
static void linear_with_bias(const Decoder *d, int T, int in, int out, float y[restrict T][out],
                             const float x[T][in], const Tensor *weight, const float *bias) {
    d->kernels->linear_tensor(T, in, out, y, x, weight);
    for (int t = 0; bias && t < T; t++)
        for (int i = 0; i < out; i++) y[t][i] += bias[i];
}

/* To a matrix, H heads of D numbers are H D numbers in a row: [T][H][D] and [T][H D] lie in memory
 * alike. */
static void linear_to_heads(const Decoder *d, int T, int C, int H, int D,
                            float heads[restrict T][H][D], const float x[T][C],
                            const Tensor *weight, const float *bias) {
    linear_with_bias(d, T, C, H * D, (float(*)[H * D]) heads, x, weight, bias);
}

static void linear_from_heads(const Decoder *d, int T, int H, int D, int C, float y[restrict T][C],
                              const float heads[T][H][D], const Tensor *weight, const float *bias) {
    linear_with_bias(d, T, H * D, C, y, (const float(*)[H * D]) heads, weight, bias);
}

/* delta = attention(rms_norm(x)) */
void attention_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                     const float x[T][C]) {
    const Config *c = &d->model->config;
    const Layer *layer = &d->model->layers[l];
    int H = c->H, KV = c->KV, D = c->D;
    float(*keys)[d->capacity][KV][D] = (void *)d->keys,
    (*values)[d->capacity][KV][D] = (void *)d->values;
    const float(*angles)[T][D / 2] = (void *)d->cos_sin, (*cosine)[D / 2] = angles[COSINES],
                                (*sine)[D / 2] = angles[SINES];

    size_t mark = d->arena_used;
    float(*normed)[C] = decoder_alloc(d, sizeof(float[T][C]));
    float(*q)[H][D] = decoder_alloc(d, sizeof(float[T][H][D])),
    (*q_rope)[H][D] = decoder_alloc(d, sizeof(float[T][H][D]));
    float(*k)[KV][D] = decoder_alloc(d, sizeof(float[T][KV][D])),
    (*k_rope)[KV][D] = decoder_alloc(d, sizeof(float[T][KV][D]));
    float(*v)[KV][D] = decoder_alloc(d, sizeof(float[T][KV][D])),
    (*attn_out)[H][D] = decoder_alloc(d, sizeof(float[T][H][D]));

    norm(d, T, C, normed, x, layer->input_layernorm);
    linear_to_heads(d, T, C, H, D, q, normed, &layer->q_proj, layer->q_bias);
    linear_to_heads(d, T, C, KV, D, k, normed, &layer->k_proj, layer->k_bias);
    linear_to_heads(d, T, C, KV, D, v, normed, &layer->v_proj, layer->v_bias);
    apply_rope(d, T, H, D, q_rope, q, cosine, sine);
    apply_rope(d, T, KV, D, k_rope, k, cosine, sine);
    int S = d->kernels->kv_cache_append(d->capacity, KV, D, keys[l], values[l], d->length, T,
                                        k_rope, v);
    d->kernels->flash_attention(T, S, H, KV, D, attn_out, q_rope, keys[l], values[l]);
    linear_from_heads(d, T, H, D, C, delta, attn_out, &layer->o_proj, layer->o_bias);
    d->arena_used = mark;
}

/* delta = swiglu(rms_norm(x)) */
void feed_forward_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                        const float x[T][C]) {
    const Config *c = &d->model->config;
    const Layer *layer = &d->model->layers[l];
    int F = c->F;

    size_t mark = d->arena_used;
    float(*normed)[C] = decoder_alloc(d, sizeof(float[T][C]));
    float(*gate)[F] = decoder_alloc(d, sizeof(float[T][F])),
    (*up)[F] = decoder_alloc(d, sizeof(float[T][F]));
    float(*hidden)[F] = decoder_alloc(d, sizeof(float[T][F]));

    norm(d, T, C, normed, x, layer->post_attention_layernorm);
    linear_with_bias(d, T, C, F, gate, normed, &layer->gate_proj, layer->gate_bias);
    linear_with_bias(d, T, C, F, up, normed, &layer->up_proj, layer->up_bias);
    swiglu_rows(d, T, F, hidden, gate, up);
    linear_with_bias(d, T, F, C, delta, hidden, &layer->down_proj, layer->down_bias);
    d->arena_used = mark;
}

/* ------------------------------------------------------------------ the decoder */

/* A row of the table for each token. */
static void embed(int T, int C, float x[T][C], const int ids[T], const Tensor *table) {
    for (int t = 0; t < T; t++) tensor_dequantize_row(table, (size_t)ids[t] * C, C, x[t]);
}

void decoder_forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    const Model *model = d->model;
    int L = model->config.L;
    size_t mark = d->arena_used;
    float(*x)[C] = decoder_alloc(d, sizeof(float[T][C])),
    (*delta)[C] = decoder_alloc(d, sizeof(float[T][C]));

    embed(T, C, x, ids, &model->embed_tokens);
    call_stage_hook(d, 0, T, C, x);
    for (int l = 0; l < L; l++) {
        attention_block(d, l, T, C, delta, x);
        add(T, C, x, delta);
        call_stage_hook(d, 2 * l + 1, T, C, x);

        feed_forward_block(d, l, T, C, delta, x);
        add(T, C, x, delta);
        call_stage_hook(d, 2 * l + 2, T, C, x);
    }
    norm(d, T, C, out, x, model->norm);
    call_stage_hook(d, 2 * L + 1, T, C, out);
    d->arena_used = mark;
}

void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]) {
    int C = decoder->model->config.C, V = decoder->model->config.V;
    decoder->kernels->linear_tensor(1, C, V, (void *)logits, (const void *)decoder->last_hidden,
                                    &decoder->model->lm_head);
}

/* The angles of the next T positions. Dynamic scaling and LongRoPE depend on how long the text is
 * with all that is read now. */
static void rope_cos_sin(Decoder *d, int T, int whole) {
    int D = d->model->config.D, positions[T];
    float inv_freq[D / 2], factor = rope_frequencies(D, inv_freq, &d->model->config.rope, whole);
    float(*table)[T][D / 2] = (void *)d->cos_sin;
    for (int t = 0; t < T; t++) positions[t] = d->length + t;
    rope_table(T, D, table, positions, inv_freq);
    scale_rope_table(T, D, table, factor);
}

static void eval_chunk(Decoder *d, int T, const int ids[T], int whole) {
    int C = d->model->config.C;
    size_t mark = d->arena_used;
    float(*out)[C] = decoder_alloc(d, sizeof(float[T][C]));
    rope_cos_sin(d, T, whole);
    d->forward(d, T, C, out, ids);
    memcpy(d->last_hidden, out[T - 1], sizeof *out);
    d->length += T;
    d->arena_used = mark;
}

/* Positions that go through the layers together: enough to use each weight many times once it is
 * read, few enough that the room to work in does not grow with the prompt. */
enum { CHUNK = 512 };

void decoder_eval(Decoder *d, int T, const int ids[T]) {
    int V = d->model->config.V;
    if (T < 1) fail("%d tokens to read: give at least one", T);
    if (T > d->capacity - d->length)
        fail("a text of %ld tokens does not fit the context of %d", (long)d->length + T,
             d->capacity);
    for (int t = 0; t < T; t++)
        if (ids[t] < 0 || ids[t] >= V)
            fail("token %d is not in the vocabulary of %d (0 to %d)", ids[t], V, V - 1);
    int whole = d->length + T;
    for (int t = 0; t < T; t += CHUNK) eval_chunk(d, T - t < CHUNK ? T - t : CHUNK, ids + t, whole);
}

/* ------------------------------------------------------------------ memory */

enum { LINE = 64 }; /* bytes of a cache line: each array begins at one */

/* Bytes for what is taken at any time: of T tokens three rows of the stream, and what the larger of
 * the blocks takes. */
static size_t arena_bytes(const Config *c, size_t T) {
    size_t C = c->C, F = c->F, queries = (size_t)c->H * c->D, keys = (size_t)c->KV * c->D,
           most_arrays = 10;
    size_t attention = C + 3 * queries + 3 * keys, feed_forward = C + 3 * F;
    size_t width = 3 * C + (attention > feed_forward ? attention : feed_forward);
    return size_mul(T, size_mul(width, sizeof(float)) + most_arrays * LINE);
}

static float *floats(size_t rows, size_t width) {
    return xmalloc(size_mul(size_mul(rows, width), sizeof(float)));
}

Decoder decoder_new(const Model *model, const Kernels *kernels, int capacity) {
    const Config *c = &model->config;
    if (capacity < 1) fail("a decoder for %d positions: give at least one", capacity);
    size_t cached = size_mul(c->L, capacity), keys = (size_t)c->KV * c->D,
           T = capacity < CHUNK ? capacity : CHUNK;
    Decoder decoder = {.model = model,
                       .kernels = kernels,
                       .forward = decoder_forward,
                       .capacity = capacity,
                       .keys = floats(cached, keys),
                       .values = floats(cached, keys),
                       .cos_sin = floats(T, c->D),
                       .last_hidden = floats(1, c->C),
                       .arena_size = arena_bytes(c, T)};
    decoder.arena = xmalloc(decoder.arena_size);
    return decoder;
}

void decoder_free(Decoder *d) {
    free(d->keys);
    free(d->values);
    free(d->cos_sin);
    free(d->last_hidden);
    free(d->arena);
    *d = (Decoder){0};
}

void *decoder_alloc(Decoder *d, size_t bytes) {
    size_t left = d->arena_size - d->arena_used,
           lines = bytes / LINE * LINE + (bytes % LINE ? LINE : 0);
    if (bytes > left || lines > left)
        fail("a decoder's room is too small for %zu bytes more: is what a block takes given back "
             "when it ends?",
             bytes);
    char *memory = d->arena + d->arena_used;
    d->arena_used += lines;
    return memory;
}

void call_stage_hook(const Decoder *d, int stage, int T, int C, const float x[T][C]) {
    if (d->hook) d->hook(d->context, stage, d->length, T, C, x);
}
