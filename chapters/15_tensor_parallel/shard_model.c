#include "15_tensor_parallel/shard_model.h"
#include "14_engine/formats/model_open_any.h"
#include "common/error.h"
#include "common/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ does it divide? */

static ShardRange heads_of(const Config *c, int ranks, int rank) {
    return shard_range(c->H, ranks, rank);
}

/* The key/value heads that these query heads read. */
static ShardRange kv_heads_of(const Config *c, ShardRange heads) {
    int group = c->H / c->KV, first = heads.first / group,
        last = (heads.first + heads.count - 1) / group;
    return (ShardRange){first, last - first + 1};
}

/* On a rank as on the whole, query head h must read head h / (H / KV). */
static bool heads_divide(const Config *c, int ranks) {
    if (ranks > c->H || c->H % ranks) return false;
    for (int rank = 0; rank < ranks; rank++) {
        ShardRange heads = heads_of(c, ranks, rank), kv = kv_heads_of(c, heads);
        if (heads.count % kv.count) return false;
        for (int h = 0; h < heads.count; h++)
            if ((heads.first + h) / (c->H / c->KV) != kv.first + h / (heads.count / kv.count))
                return false;
    }
    return true;
}

static void check_heads(const char *path, const Config *c, int ranks) {
    char possible[200] = "";
    if (heads_divide(c, ranks)) return;
    for (int n = 1; n <= c->H; n++) {
        size_t length = strlen(possible);
        if (heads_divide(c, n))
            snprintf(possible + length, sizeof possible - length, "%s%d", length ? ", " : "", n);
    }
    fail(
        "%s: num_attention_heads %d and num_key_value_heads %d cannot be cut for %d ranks: take %s",
        path, c->H, c->KV, ranks, possible);
}

/* Numbers that must stay together: a block's. */
static int numbers_of(const Tensor *weight) {
    return weight->quant_type ? weight->quant_type->numbers : 1;
}

/* A matrix in blocks is cut between them. */
static void check_blocks(const char *path, const Model *whole, int ranks) {
    const Config *c = &whole->config;
    for (int l = 0; l < c->L; l++) {
        int of_o = numbers_of(&whole->layers[l].o_proj),
            of_down = numbers_of(&whole->layers[l].down_proj);
        if (c->H / ranks * c->D % of_o)
            fail("%s: for %d ranks o_proj is cut every %d numbers, and its %s has blocks of %d",
                 path, ranks, c->H / ranks * c->D, tensor_type(&whole->layers[l].o_proj), of_o);
        if (c->F / of_down < ranks)
            fail("%s: its intermediate_size %d has %d blocks of %s, too few for %d ranks", path,
                 c->F, c->F / of_down, tensor_type(&whole->layers[l].down_proj), ranks);
    }
}

/* ------------------------------------------------------------------ the matrices */

static size_t row_bytes(const Tensor *weight) { return tensor_bytes(weight) / weight->shape[0]; }

/* Some of a matrix's outputs: whole rows, used where they lie. */
static Tensor some_outputs(const Tensor *weight, ShardRange rows) {
    Tensor part = *weight;
    part.data = (const char *)weight->data + (size_t)rows.first * row_bytes(weight);
    part.shape[0] = (size_t)rows.count;
    return part;
}

/* Some of its inputs: a piece of every row. Not there before shard_load(), unless it is all of
 * them. */
static Tensor some_inputs(const Tensor *weight, ShardRange columns) {
    Tensor part = *weight;
    if ((size_t)columns.count == weight->shape[1]) return part;
    part.shape[1] = (size_t)columns.count;
    part.data = NULL;
    return part;
}

/* A few megabytes at a time: what was read of the file is let go of again, for it is read only
 * here. */
static void copy_inputs(Tensor *part, const Tensor *whole, int first) {
    enum { AT_A_TIME = 4 << 20 };
    size_t pitch = row_bytes(whole), width = row_bytes(part), numbers = (size_t)numbers_of(whole);
    size_t skipped = pitch / (whole->shape[1] / numbers) * ((size_t)first / numbers),
           rows = 1 + AT_A_TIME / pitch;
    char *to = xmalloc(tensor_bytes(part));
    const char *from = whole->data;
    part->data = to;
    for (size_t row = 0; row < whole->shape[0]; row++) {
        memcpy(to + row * width, from + row * pitch + skipped, width);
        if ((row + 1) % rows == 0) file_unload(from + (row + 1 - rows) * pitch, rows * pitch);
    }
    file_unload(from, whole->shape[0] * pitch);
}

/* Hidden features lie between two blocks of down_proj, in every layer. */
static ShardRange hidden_of(const Model *whole, int ranks, int rank) {
    int unit = 1;
    for (int l = 0; l < whole->config.L; l++)
        if (numbers_of(&whole->layers[l].down_proj) > unit)
            unit = numbers_of(&whole->layers[l].down_proj);
    ShardRange units = shard_range(whole->config.F / unit, ranks, rank);
    return (ShardRange){units.first * unit, units.count * unit};
}

/* The biases of some outputs. */
static float *some_biases(float *bias, ShardRange rows) { return bias ? bias + rows.first : NULL; }

/* Biases of row-parallel layers are kept by rank 0 alone, because the sum over the ranks must
 * contain them once. */
static float *once(float *bias, const Shard *s) { return s->rank == 0 ? bias : NULL; }

static Layer cut_layer(const Layer *whole, const Shard *s, int D) {
    ShardRange queries = {s->heads.first * D, s->heads.count * D},
               keys = {s->kv_heads.first * D, s->kv_heads.count * D};
    Layer layer = *whole;
    layer.q_bias = some_biases(whole->q_bias, queries);
    layer.k_bias = some_biases(whole->k_bias, keys);
    layer.v_bias = some_biases(whole->v_bias, keys);
    layer.gate_bias = some_biases(whole->gate_bias, s->hidden);
    layer.up_bias = some_biases(whole->up_bias, s->hidden);
    layer.o_bias = once(whole->o_bias, s);
    layer.down_bias = once(whole->down_bias, s);
    layer.q_proj = some_outputs(&whole->q_proj, queries);
    layer.k_proj = some_outputs(&whole->k_proj, keys);
    layer.v_proj = some_outputs(&whole->v_proj, keys);
    layer.o_proj = some_inputs(&whole->o_proj, queries);
    layer.gate_proj = some_outputs(&whole->gate_proj, s->hidden);
    layer.up_proj = some_outputs(&whole->up_proj, s->hidden);
    layer.down_proj = some_inputs(&whole->down_proj, s->hidden);
    return layer;
}

Shard shard_open(const char *path, int ranks, int rank) {
    Shard s = {.whole = model_open_any(path), .ranks = ranks, .rank = rank};
    const Config *c = &s.whole.config;
    check_heads(path, c, ranks);
    check_blocks(path, &s.whole, ranks);
    s.heads = heads_of(c, ranks, rank);
    s.kv_heads = kv_heads_of(c, s.heads);
    s.hidden = hidden_of(&s.whole, ranks, rank);
    s.tokens = shard_range(c->V, ranks, rank);

    s.model = s.whole;
    s.model.config.H = s.heads.count;
    s.model.config.KV = s.kv_heads.count;
    s.model.config.F = s.hidden.count;
    s.model.embed_tokens = some_outputs(&s.whole.embed_tokens, s.tokens);
    s.model.lm_head = some_outputs(&s.whole.lm_head, s.tokens);
    s.model.layers = xmalloc((size_t)c->L * sizeof *s.model.layers);
    for (int l = 0; l < c->L; l++) s.model.layers[l] = cut_layer(&s.whole.layers[l], &s, c->D);
    return s;
}

void shard_load(Shard *s) {
    int D = s->model.config.D;
    if (s->ranks == 1) return;
    for (int l = 0; l < s->model.config.L; l++) {
        copy_inputs(&s->model.layers[l].o_proj, &s->whole.layers[l].o_proj, s->heads.first * D);
        copy_inputs(&s->model.layers[l].down_proj, &s->whole.layers[l].down_proj, s->hidden.first);
    }
}

void shard_close(Shard *s) {
    for (int l = 0; l < s->model.config.L && s->ranks > 1; l++) {
        free((void *)s->model.layers[l].o_proj.data);
        free((void *)s->model.layers[l].down_proj.data);
    }
    free(s->model.layers);
    model_close(&s->whole);
}

/* --------------------------------------------------- what it weighs, and whether it is the same */

enum { MATRICES = 7 };

static const Tensor *matrix(const Layer *layer, int m) {
    return (const Tensor *[MATRICES]){&layer->q_proj,   &layer->k_proj,    &layer->v_proj,
                                      &layer->o_proj,   &layer->gate_proj, &layer->up_proj,
                                      &layer->down_proj}[m];
}

size_t shard_bytes(const Shard *s) {
    size_t bytes = tensor_bytes(&s->model.embed_tokens);
    if (s->whole.lm_head.data != s->whole.embed_tokens.data)
        bytes += tensor_bytes(&s->model.lm_head);
    for (int l = 0; l < s->model.config.L; l++)
        for (int m = 0; m < MATRICES; m++) bytes += tensor_bytes(matrix(&s->model.layers[l], m));
    return bytes;
}

/* Source: Fowler, Noll, Vo: FNV-1a. */
static void mix(uint64_t *hash, size_t size, const void *bytes) {
    for (const unsigned char *b = bytes; size-- > 0; b++) *hash = (*hash ^ *b) * 0x100000001b3u;
}

static void mix_tensor(uint64_t *hash, const Tensor *weight) {
    size_t bytes = tensor_bytes(weight);
    mix(hash, strlen(tensor_type(weight)), tensor_type(weight));
    mix(hash, bytes < 256 ? bytes : 256, weight->data);
    file_unload(weight->data, 256);
}

uint64_t shard_fingerprint(const Shard *s) {
    const Model *model = &s->whole;
    const Config *c = &model->config;
    const int sizes[] = {c->C, c->F, c->L, c->H, c->KV, c->D, c->V, model->interleaved};
    const double numbers[] = {c->rms_norm_eps, c->rope.rope_theta, c->rope.factor};
    size_t norm = (size_t)c->C * sizeof(float);
    uint64_t hash = 0xcbf29ce484222325u;
    mix(&hash, sizeof sizes, sizes);
    mix(&hash, sizeof numbers, numbers);
    mix(&hash, norm, model->norm);
    mix_tensor(&hash, &model->embed_tokens);
    mix_tensor(&hash, &model->lm_head);
    for (int l = 0; l < c->L; l++) {
        mix(&hash, norm, model->layers[l].input_layernorm);
        mix(&hash, norm, model->layers[l].post_attention_layernorm);
        for (int m = 0; m < MATRICES; m++) mix_tensor(&hash, matrix(&model->layers[l], m));
    }
    return hash;
}
