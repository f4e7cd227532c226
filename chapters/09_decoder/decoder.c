#include "09_decoder/decoder.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "04_rope/rope.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "09_decoder/projection.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* Positions that go through the layers together: enough to use each weight many times once it is read, few enough that
 * the room to work in does not grow with the prompt. */
enum { CHUNK = 512 };

/* Room for one chunk of T positions. */
struct Workspace {
    void *x, *normed;               /* [T][C] */
    void *q, *turned_q, *attended;  /* [T][H][D] */
    void *k, *turned_k, *v;         /* [T][KV][D] */
    void *gate, *up;                /* [T][F] */
    float *inv_freq;                /* [D / 2] */
    void *angles;                   /* [2][T][D / 2]: cosine and sine */
};

static void *floats(size_t rows, size_t width) { return allocate(product(product(rows, width), sizeof(float))); }

Decoder decoder_new(const Model *model, int capacity) {
    const Config *c = &model->config;
    if (capacity < 1) fail("a decoder for %d positions: give at least one", capacity);
    size_t cached = product(c->L, capacity), T = capacity < CHUNK ? capacity : CHUNK;
    size_t C = c->C, F = c->F, queries = (size_t)c->H * c->D, keys = (size_t)c->KV * c->D;
    Decoder decoder = {.model = model, .capacity = capacity, .keys = floats(cached, keys),
                       .values = floats(cached, keys), .last = floats(1, C), .work = allocate(sizeof *decoder.work)};
    *decoder.work = (struct Workspace){
        .x = floats(T, C), .normed = floats(T, C),
        .q = floats(T, queries), .turned_q = floats(T, queries), .attended = floats(T, queries),
        .k = floats(T, keys), .turned_k = floats(T, keys), .v = floats(T, keys),
        .gate = floats(T, F), .up = floats(T, F),
        .inv_freq = floats(1, (size_t)c->D / 2), .angles = floats(T, c->D)};
    return decoder;
}

void decoder_free(Decoder *decoder) {
    struct Workspace *w = decoder->work;
    free(w->x), free(w->normed), free(w->q), free(w->turned_q), free(w->attended), free(w->k), free(w->turned_k);
    free(w->v), free(w->gate), free(w->up), free(w->inv_freq), free(w->angles), free(w);
    free(decoder->keys), free(decoder->values), free(decoder->last);
    *decoder = (Decoder){0};
}

/* ------------------------------------------------------------------ the layer
 *
 * What is done to each position by itself, the threads share out among them. */

/* PyTorch's bfloat16 rounds whatever an operation gives. Here, if it is wanted, what meets a matrix is rounded and nothing
 * else: where the matrix is BF16, too, some processors multiply it twice as fast (chapter 12). */
static void round_rows(const Decoder *d, int T, int n, float x[T][n]) {
    if (!d->model->rounds) return;
#pragma omp parallel for if (T > 1)
    for (int t = 0; t < T; t++) bf16_round(n, x[t]);
}

static void norm(const Decoder *d, int T, const float *weight) {
    int C = d->model->config.C;
    float(*normed)[C] = d->work->normed, (*x)[C] = d->work->x;
#pragma omp parallel for if (T > 1)
    for (int t = 0; t < T; t++) rms_norm(1, C, normed + t, x + t, weight, NULL, (float)d->model->config.rms_norm_eps);
    round_rows(d, T, C, normed);
}

static void rotate(const Decoder *d, int T, int H, void *turned_, const void *x_) {
    int D = d->model->config.D;
    float(*turned)[H][D] = turned_, (*cosine)[D / 2] = d->work->angles, (*sine)[D / 2] = cosine + T;
    const float(*x)[H][D] = x_;
    __typeof__(rope_half_split) *rope = d->model->interleaved ? rope_interleaved : rope_half_split;
#pragma omp parallel for if (T > 1)
    for (int t = 0; t < T; t++) rope(1, H, D, turned + t, x + t, cosine + t, sine + t);
}

static void gate(int T, int F, float gate[T][F], const float up[T][F]) {
#pragma omp parallel for if (T > 1)
    for (int t = 0; t < T; t++) swiglu(F, gate[t], gate[t], up[t]);
}

static void add(int T, int C, float x[restrict T][C], const float more[T][C]) {
#pragma omp parallel for if (T > 1)
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] += more[t][i];
}

/* x += attention(rms_norm(x)) */
static void attention_block(Decoder *d, int l, int T) {
    const Config *c = &d->model->config;
    const Layer *layer = &d->model->layers[l];
    struct Workspace *w = d->work;
    int C = c->C, H = c->H, KV = c->KV, D = c->D;
    float(*keys)[d->capacity][KV][D] = d->keys, (*values)[d->capacity][KV][D] = d->values;

    norm(d, T, layer->input_layernorm);
    project_all(T, C, w->normed, 3, (Product[]){{w->q, &layer->q_proj}, {w->k, &layer->k_proj}, {w->v, &layer->v_proj}});

    rotate(d, T, H, w->turned_q, w->q);
    rotate(d, T, KV, w->turned_k, w->k);
    int S = kv_cache_append(d->capacity, KV, D, keys[l], values[l], d->length, T, w->turned_k, w->v);
    flash_attention(T, S, H, KV, D, w->attended, w->turned_q, keys[l], values[l]);
    round_rows(d, T, H * D, w->attended);

    project(T, H * D, C, w->normed, w->attended, &layer->o_proj);
    add(T, C, w->x, w->normed);
}

/* x += swiglu(rms_norm(x)) */
static void feed_forward_block(Decoder *d, int l, int T) {
    const Config *c = &d->model->config;
    const Layer *layer = &d->model->layers[l];
    struct Workspace *w = d->work;
    int C = c->C, F = c->F;

    norm(d, T, layer->post_attention_layernorm);
    project_all(T, C, w->normed, 2, (Product[]){{w->gate, &layer->gate_proj}, {w->up, &layer->up_proj}});
    gate(T, F, w->gate, w->up);
    round_rows(d, T, F, w->gate);
    project(T, F, C, w->normed, w->gate, &layer->down_proj);
    add(T, C, w->x, w->normed);
}

/* ------------------------------------------------------------------ the decoder */

static void show(const Decoder *d, int stage, int T, const void *x) {
    if (d->watch) d->watch(d->context, stage, d->length, T, d->model->config.C, x);
}

/* The angles of the next T positions. Dynamic scaling depends on how long the text is with all that is read now. */
static void turn_angles(Decoder *d, int T, int whole) {
    int D = d->model->config.D, positions[T];
    float factor = rope_frequencies(D, d->work->inv_freq, &d->model->config.rope, whole);
    for (int t = 0; t < T; t++) positions[t] = d->length + t;
    rope_table(T, D, d->work->angles, positions, d->work->inv_freq, factor);
}

/* A row of the table for each token. */
static void embed(int T, int C, float x[T][C], const int ids[T], const Tensor *table) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] = (float)tensor_get(table, (size_t)ids[t] * C + i);
}

static void read_chunk(Decoder *d, int T, const int ids[T], int whole) {
    const Model *model = d->model;
    int C = model->config.C, L = model->config.L;
    float(*normed)[C] = d->work->normed;

    turn_angles(d, T, whole);
    embed(T, C, d->work->x, ids, &model->embed_tokens);
    show(d, 0, T, d->work->x);
    for (int l = 0; l < L; l++) {
        attention_block(d, l, T);
        feed_forward_block(d, l, T);
        show(d, l + 1, T, d->work->x);
    }
    norm(d, T, model->norm);
    show(d, L + 1, T, normed);
    memcpy(d->last, normed[T - 1], sizeof *normed);
    d->length += T;
}

void decoder_read(Decoder *d, int T, const int ids[T]) {
    int V = d->model->config.V;
    if (T < 1) fail("%d tokens to read: give at least one", T);
    if (T > d->capacity - d->length)
        fail("a text of %ld tokens does not fit the context of %d", (long)d->length + T, d->capacity);
    for (int t = 0; t < T; t++)
        if (ids[t] < 0 || ids[t] >= V) fail("token %d is not in the vocabulary of %d (0 to %d)", ids[t], V, V - 1);
    int whole = d->length + T;
    for (int t = 0; t < T; t += CHUNK) read_chunk(d, T - t < CHUNK ? T - t : CHUNK, ids + t, whole);
}

void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]) {
    const Config *c = &decoder->model->config;
    project(1, c->C, c->V, (void *)logits, (void *)decoder->last, &decoder->model->lm_head);
}
