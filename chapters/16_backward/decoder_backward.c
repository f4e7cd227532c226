#include "16_backward/decoder_backward.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

enum { LINE = 64, CHUNK = 64 }; /* bytes of a cache line; rows whose logits are at hand at a time */

/* Room for rows x width numbers. What is taken after a moment is given back together, as in
 * chapter 9. */
static void *activations_alloc(Activations *a, size_t rows, size_t width) {
    size_t bytes = size_mul(size_mul(rows, width), sizeof(float));
    size_t lines = bytes / LINE * LINE + (bytes % LINE ? LINE : 0),
           left = a->arena_size - a->arena_used;
    if (bytes > left || lines > left)
        fail("the room for activations is too small for %zu bytes more", bytes);
    char *memory = a->arena + a->arena_used;
    a->arena_used += lines;
    return memory;
}

static void *activations_alloc_zeros(Activations *a, size_t rows, size_t width) {
    return memset(activations_alloc(a, rows, width), 0, rows * width * sizeof(float));
}

static size_t max_int(size_t a, size_t b) { return a > b ? a : b; }

/* Bytes for what is remembered of R rows, and for what is taken for a while: by the largest of
 * attention, feed-forward and the logits. */
static size_t arena_bytes(const Config *c, size_t R, size_t T) {
    size_t C = (size_t)c->C, F = (size_t)c->F, H = (size_t)c->H, L = (size_t)c->L, most_arrays = 16;
    size_t queries = H * (size_t)c->D, keys = (size_t)c->KV * (size_t)c->D;
    size_t layer = 2 * C + 2 * queries + 2 * keys + H + 2 * F;
    size_t attention = 2 * C + 3 * queries + 3 * keys, feed_forward = 2 * C + 4 * F;
    size_t rows = size_mul(R, L * layer + 3 * C + max_int(attention, feed_forward));
    size_t others = size_mul(2 * CHUNK, (size_t)c->V) + T * (size_t)c->D;
    return size_mul(rows + others, sizeof(float)) + (L + 2) * most_arrays * LINE;
}

Activations activations_new(const Config *c, const TrainingKernels *kernels, int B, int T) {
    if (B < 1 || T < 1) fail("a batch of %d texts of %d tokens: give at least one of each", B, T);
    if (T > config_context(c))
        fail("a text of %d tokens does not fit the context of %d", T, config_context(c));
    size_t R = (size_t)B * (size_t)T, C = (size_t)c->C, F = (size_t)c->F;
    size_t queries = (size_t)c->H * (size_t)c->D, keys = (size_t)c->KV * (size_t)c->D;
    Activations a = {.kernels = kernels,
                     .B = B,
                     .T = T,
                     .bos = -1,
                     .layers = xmalloc((size_t)c->L * sizeof *a.layers),
                     .arena_size = arena_bytes(c, R, (size_t)T)};
    a.arena = xmalloc(a.arena_size);
    for (int l = 0; l < c->L; l++)
        a.layers[l] = (SavedActivations){.x = activations_alloc(&a, R, C),
                                         .q = activations_alloc(&a, R, queries),
                                         .k = activations_alloc(&a, R, keys),
                                         .v = activations_alloc(&a, R, keys),
                                         .attn_out = activations_alloc(&a, R, queries),
                                         .lse = activations_alloc(&a, R, (size_t)c->H),
                                         .between = activations_alloc(&a, R, C),
                                         .gate = activations_alloc(&a, R, F),
                                         .up = activations_alloc(&a, R, F)};
    a.last = activations_alloc(&a, R, C);
    a.cos_sin = activations_alloc(&a, (size_t)T, (size_t)c->D);
    return a;
}

void activations_free(Activations *a) {
    free(a->arena);
    free(a->layers);
    *a = (Activations){0};
}

/* ------------------------------------------------------------------ attention, there and back */

/* RoPE on each text by itself: the positions begin anew. */
static void apply_rope(const Parameters *w, const Activations *a, int heads, float *out,
                       const float *x) {
    int T = a->T, D = w->config.D;
    float(*turned)[T][heads][D] = (void *)out, (*angles)[T][D / 2] = (void *)a->cos_sin;
    const float(*plain)[T][heads][D] = (const void *)x;
    __typeof__(rope_half_split) *rope = w->interleaved ? rope_interleaved : rope_half_split;
    for (int b = 0; b < a->B; b++)
        rope(T, heads, D, turned[b], plain[b], angles[COSINES], angles[SINES]);
}

static void apply_rope_backward(const Parameters *w, const Activations *a, int heads, float *dx,
                                const float *dout) {
    int T = a->T, D = w->config.D;
    float(*plain)[T][heads][D] = (void *)dx, (*angles)[T][D / 2] = (void *)a->cos_sin;
    const float(*turned)[T][heads][D] = (const void *)dout;
    __typeof__(rope_half_split_backward) *rope =
        w->interleaved ? rope_interleaved_backward : rope_half_split_backward;
    for (int b = 0; b < a->B; b++)
        rope(T, heads, D, plain[b], turned[b], angles[COSINES], angles[SINES]);
}

/* The end of the text that begins at row r: the end of its T tokens, or the next token that
 * begins a text. */
static int end_of_text(const Activations *a, const int *ids, int r) {
    int end = r / a->T * a->T + a->T;
    while (++r < end && ids[r] != a->bos) {
    }
    return r;
}

/* Attention on each text by itself. */
static void attend(const Config *c, const Activations *a, const int *ids,
                   const SavedActivations *m) {
    const TrainingKernels *kernels = a->kernels;
    int T = a->T, H = c->H, KV = c->KV, D = c->D;
    float(*out)[H][D] = (void *)m->attn_out, (*lse)[H] = (void *)m->lse;
    const float(*q)[H][D] = (void *)m->q, (*k)[KV][D] = (void *)m->k, (*v)[KV][D] = (void *)m->v;
#pragma omp parallel for
    for (int b = 0; b < a->B; b++)
        for (int r = b * T, end; r < (b + 1) * T; r = end) {
            end = end_of_text(a, ids, r);
            kernels->flash_attention_lse(end - r, H, KV, D, out + r, lse + r, q + r, k + r, v + r);
        }
}

static void attend_backward(const Config *c, const Activations *a, const int *ids,
                            const SavedActivations *m, float *dq, float *dk, float *dv,
                            const float *dattended) {
    const TrainingKernels *kernels = a->kernels;
    int T = a->T, H = c->H, KV = c->KV, D = c->D;
    float(*dqueries)[H][D] = (void *)dq, (*dkeys)[KV][D] = (void *)dk,
    (*dvalues)[KV][D] = (void *)dv;
    const float(*q)[H][D] = (void *)m->q, (*k)[KV][D] = (void *)m->k, (*v)[KV][D] = (void *)m->v;
    const float(*out)[H][D] = (void *)m->attn_out, (*lse)[H] = (void *)m->lse;
    const float(*dout)[H][D] = (const void *)dattended;
#pragma omp parallel for
    for (int b = 0; b < a->B; b++)
        for (int r = b * T, end; r < (b + 1) * T; r = end) {
            end = end_of_text(a, ids, r);
            kernels->flash_attention_backward(end - r, H, KV, D, dqueries + r, dkeys + r,
                                              dvalues + r, dout + r, q + r, k + r, v + r, out + r,
                                              lse + r);
        }
}

/* between = x + attention(rms_norm(x)) */
static void attention_forward(const Parameters *w, Activations *a, const int *ids, int l) {
    const Config *c = &w->config;
    const LayerParameters *layer = &w->layers[l];
    const SavedActivations *m = &a->layers[l];
    const TrainingKernels *kernels = a->kernels;
    int R = a->B * a->T, C = c->C, queries = c->H * c->D, keys = c->KV * c->D;
    size_t mark = a->arena_used;
    float(*normed)[C] = activations_alloc(a, R, C);
    float(*q)[queries] = activations_alloc(a, R, queries),
    (*k)[keys] = activations_alloc(a, R, keys);
    const float(*x)[C] = (void *)m->x;
    float(*between)[C] = (void *)m->between;

    kernels->rms_norm(R, C, normed, x, layer->input_layernorm, (float)c->rms_norm_eps);
    kernels->linear(R, C, queries, q, normed, (void *)layer->q_proj, layer->q_bias);
    kernels->linear(R, C, keys, k, normed, (void *)layer->k_proj, layer->k_bias);
    kernels->linear(R, C, keys, (void *)m->v, normed, (void *)layer->v_proj, layer->v_bias);
    apply_rope(w, a, c->H, m->q, q[0]);
    apply_rope(w, a, c->KV, m->k, k[0]);
    attend(c, a, ids, m);
    kernels->linear(R, queries, C, between, (void *)m->attn_out, (void *)layer->o_proj,
                    layer->o_bias);
    for (int r = 0; r < R; r++)
        for (int i = 0; i < C; i++) between[r][i] += x[r][i];
    a->arena_used = mark;
}

/* dx comes in as the gradient of `between`. It is that of x as well, for x was passed on unchanged;
 * and what comes back through attention and norm is added to it. */
static void attention_backward(const Parameters *w, Parameters *gradients, Activations *a,
                               const int *ids, int l, int C, float dx[a->B * a->T][C]) {
    const Config *c = &w->config;
    const LayerParameters *layer = &w->layers[l], *d = &gradients->layers[l];
    const SavedActivations *m = &a->layers[l];
    const TrainingKernels *kernels = a->kernels;
    int R = a->B * a->T, queries = c->H * c->D, keys = c->KV * c->D;
    size_t mark = a->arena_used;
    float(*normed)[C] = activations_alloc(a, R, C),
    (*dnormed)[C] = activations_alloc_zeros(a, R, C);
    float(*dattended)[queries] = activations_alloc_zeros(a, R, queries);
    float(*dq)[queries] = activations_alloc_zeros(a, R, queries),
    (*dq_rope)[queries] = activations_alloc_zeros(a, R, queries);
    float(*dk)[keys] = activations_alloc_zeros(a, R, keys),
    (*dk_rope)[keys] = activations_alloc_zeros(a, R, keys);
    float(*dv)[keys] = activations_alloc_zeros(a, R, keys);

    kernels->linear_backward(R, queries, C, dattended, (void *)d->o_proj, d->o_bias, dx,
                             (void *)m->attn_out, (void *)layer->o_proj);
    attend_backward(c, a, ids, m, dq_rope[0], dk_rope[0], dv[0], dattended[0]);
    apply_rope_backward(w, a, c->H, dq[0], dq_rope[0]);
    apply_rope_backward(w, a, c->KV, dk[0], dk_rope[0]);
    kernels->rms_norm(R, C, normed, (void *)m->x, layer->input_layernorm, (float)c->rms_norm_eps);
    kernels->linear_backward(R, C, queries, dnormed, (void *)d->q_proj, d->q_bias, dq, normed,
                             (void *)layer->q_proj);
    kernels->linear_backward(R, C, keys, dnormed, (void *)d->k_proj, d->k_bias, dk, normed,
                             (void *)layer->k_proj);
    kernels->linear_backward(R, C, keys, dnormed, (void *)d->v_proj, d->v_bias, dv, normed,
                             (void *)layer->v_proj);
    rms_norm_backward(R, C, dx, d->input_layernorm, dnormed, (void *)m->x, layer->input_layernorm,
                      (float)c->rms_norm_eps);
    a->arena_used = mark;
}

/* ----------------------------------------------------------------- feed-forward, there and back */

/* The stream after it: what the next layer is given, or the last norm. */
static void *after_layer(const Parameters *w, const Activations *a, int l) {
    return l + 1 < w->config.L ? a->layers[l + 1].x : a->last;
}

/* after = between + feed_forward(rms_norm(between)) */
static void feed_forward_forward(const Parameters *w, Activations *a, int l) {
    const Config *c = &w->config;
    const LayerParameters *layer = &w->layers[l];
    const SavedActivations *m = &a->layers[l];
    const TrainingKernels *kernels = a->kernels;
    int R = a->B * a->T, C = c->C, F = c->F;
    size_t mark = a->arena_used;
    float(*normed)[C] = activations_alloc(a, R, C), (*hidden)[F] = activations_alloc(a, R, F);
    const float(*between)[C] = (void *)m->between, (*gate)[F] = (void *)m->gate,
          (*up)[F] = (void *)m->up;
    float(*after)[C] = after_layer(w, a, l);

    kernels->rms_norm(R, C, normed, between, layer->post_attention_layernorm,
                      (float)c->rms_norm_eps);
    kernels->linear(R, C, F, (void *)m->gate, normed, (void *)layer->gate_proj, layer->gate_bias);
    kernels->linear(R, C, F, (void *)m->up, normed, (void *)layer->up_proj, layer->up_bias);
#pragma omp parallel for
    for (int r = 0; r < R; r++) kernels->swiglu(F, hidden[r], gate[r], up[r]);
    kernels->linear(R, F, C, after, hidden, (void *)layer->down_proj, layer->down_bias);
    for (int r = 0; r < R; r++)
        for (int i = 0; i < C; i++) after[r][i] += between[r][i];
    a->arena_used = mark;
}

/* dx: of what came after it, and then of `between`. */
static void feed_forward_backward(const Parameters *w, Parameters *gradients, Activations *a, int l,
                                  int C, float dx[a->B * a->T][C]) {
    const Config *c = &w->config;
    const LayerParameters *layer = &w->layers[l], *d = &gradients->layers[l];
    const SavedActivations *m = &a->layers[l];
    const TrainingKernels *kernels = a->kernels;
    int R = a->B * a->T, F = c->F;
    size_t mark = a->arena_used;
    float(*normed)[C] = activations_alloc(a, R, C),
    (*dnormed)[C] = activations_alloc_zeros(a, R, C);
    float(*hidden)[F] = activations_alloc(a, R, F),
    (*dhidden)[F] = activations_alloc_zeros(a, R, F);
    float(*dgate)[F] = activations_alloc_zeros(a, R, F),
    (*dup)[F] = activations_alloc_zeros(a, R, F);
    const float(*gate)[F] = (void *)m->gate, (*up)[F] = (void *)m->up;

#pragma omp parallel for
    for (int r = 0; r < R; r++) kernels->swiglu(F, hidden[r], gate[r], up[r]);
    kernels->linear_backward(R, F, C, dhidden, (void *)d->down_proj, d->down_bias, dx, hidden,
                             (void *)layer->down_proj);
#pragma omp parallel for
    for (int r = 0; r < R; r++)
        kernels->swiglu_backward(F, dgate[r], dup[r], dhidden[r], gate[r], up[r]);
    kernels->rms_norm(R, C, normed, (void *)m->between, layer->post_attention_layernorm,
                      (float)c->rms_norm_eps);
    kernels->linear_backward(R, C, F, dnormed, (void *)d->gate_proj, d->gate_bias, dgate, normed,
                             (void *)layer->gate_proj);
    kernels->linear_backward(R, C, F, dnormed, (void *)d->up_proj, d->up_bias, dup, normed,
                             (void *)layer->up_proj);
    rms_norm_backward(R, C, dx, d->post_attention_layernorm, dnormed, (void *)m->between,
                      layer->post_attention_layernorm, (float)c->rms_norm_eps);
    a->arena_used = mark;
}

/* ------------------------------------------------------------------ the logits and their loss */

/* The targets, and their loss weights; NULL: all have the same. */
typedef struct {
    const int *ids;
    const float *loss_weight;
    double all; /* what they count together */
} Targets;

/* The rows from the first on that count as it does. */
static int alike(int rows, const float *counts) {
    int n = 1;
    while (n < rows && (!counts || counts[n] == counts[0])) n++;
    return n;
}

/* The share in the loss of rows r to r + n, and its gradient, unless that is NULL. Those that count
 * alike are a mean of their own, which has the share of what they count. */
static double loss_of_rows(const TrainingKernels *kernels, int r, int n, int V, float (*dlogits)[V],
                           const float logits[n][V], const Targets *t, float dloss) {
    double loss = 0;
    for (int i = 0, some; i < n; i += some) {
        const int *targets = t->ids + r + i;
        const float *counts = t->loss_weight ? t->loss_weight + r + i : NULL;
        some = alike(n - i, counts);
        double share = sum_loss_weights((size_t)some, targets, counts) / t->all;
        if (!(share > 0)) continue;
        loss += share * kernels->cross_entropy(some, V, logits + i, targets);
        if (dlogits)
            kernels->cross_entropy_backward(some, V, dlogits + i, logits + i, targets,
                                            (float)(share * dloss));
    }
    return loss;
}

/* The logits of a few rows at a time, their share in the loss, and at once what comes back from
 * them: they are never there for the whole batch. dlast: of the stream after the last layer;
 * without gradients, NULL, it is the loss alone. */
static double head(const Parameters *w, Parameters *gradients, Activations *a, int C,
                   float dlast[a->B * a->T][C], const Targets *t, float dloss) {
    const TrainingKernels *kernels = a->kernels;
    int R = a->B * a->T, V = w->config.V;
    float eps = (float)w->config.rms_norm_eps;
    double loss = 0;
    size_t mark = a->arena_used;
    float(*normed)[C] = activations_alloc(a, R, C),
    (*dnormed)[C] = activations_alloc_zeros(a, R, C);
    float(*logits)[V] = activations_alloc(a, CHUNK, V),
    (*dlogits)[V] = activations_alloc(a, CHUNK, V);

    kernels->rms_norm(R, C, normed, (void *)a->last, w->norm, eps);
    for (int r = 0; r < R; r += CHUNK) {
        int n = R - r < CHUNK ? R - r : CHUNK;
        if (!count_targets((size_t)n, t->ids + r)) continue;
        kernels->linear(n, C, V, logits, normed + r, (void *)w->lm_head, NULL);
        if (gradients) memset(dlogits, 0, (size_t)n * sizeof *dlogits);
        loss += loss_of_rows(kernels, r, n, V, gradients ? dlogits : NULL, logits, t, dloss);
        if (!gradients) continue;
        kernels->linear_backward(n, C, V, dnormed + r, (void *)gradients->lm_head, NULL, dlogits,
                                 normed + r, (void *)w->lm_head);
    }
    if (gradients)
        rms_norm_backward(R, C, dlast, gradients->norm, dnormed, (void *)a->last, w->norm, eps);
    a->arena_used = mark;
    return t->all > 0 ? loss : NAN;
}

/* ------------------------------------------------------------------ the decoder */

static void embed(const Parameters *w, Activations *a, const int *ids) {
    int R = a->B * a->T, C = w->config.C, V = w->config.V;
    const float(*table)[C] = (void *)w->embed_tokens;
    float(*x)[C] = (void *)a->layers[0].x;
    for (int r = 0; r < R; r++) {
        if (ids[r] < 0 || ids[r] >= V)
            fail("token %d is not in the vocabulary of %d (0 to %d)", ids[r], V, V - 1);
        memcpy(x[r], table[ids[r]], sizeof x[r]);
    }
}

static void rope_cos_sin(const Parameters *w, Activations *a) {
    int T = a->T, D = w->config.D, *positions = xmalloc((size_t)T * sizeof *positions);
    float inv_freq[D / 2], factor = rope_frequencies(D, inv_freq, &w->config.rope, T);
    for (int t = 0; t < T; t++) positions[t] = t;
    rope_table(T, D, (void *)a->cos_sin, positions, inv_freq);
    scale_rope_table(T, D, (void *)a->cos_sin, factor);
    free(positions);
}

static void forward(const Parameters *w, Activations *a, const int *ids) {
    rope_cos_sin(w, a);
    embed(w, a, ids);
    for (int l = 0; l < w->config.L; l++) {
        attention_forward(w, a, ids, l);
        feed_forward_forward(w, a, l);
    }
}

static void show(const Activations *a, int stage, int C, const float dx[a->B * a->T][C]) {
    if (a->hook) a->hook(a->context, stage, a->B * a->T, C, dx);
}

double decoder_weighted(const Parameters *w, Parameters *gradients, Activations *a, const int *ids,
                        const int *targets, const float *counts, float dloss) {
    int R = a->B * a->T, C = w->config.C;
    const Targets t = {targets, counts, sum_loss_weights((size_t)R, targets, counts)};
    forward(w, a, ids);
    if (!gradients) return head(w, NULL, a, C, NULL, &t, 0);

    size_t mark = a->arena_used;
    float(*dx)[C] = activations_alloc_zeros(a, R, C);
    double loss = head(w, gradients, a, C, dx, &t, dloss);
    show(a, 2 * w->config.L, C, dx);
    for (int l = w->config.L - 1; l >= 0; l--) {
        feed_forward_backward(w, gradients, a, l, C, dx);
        show(a, 2 * l + 1, C, dx);
        attention_backward(w, gradients, a, ids, l, C, dx);
        show(a, 2 * l, C, dx);
    }
    embedding_backward(R, w->config.V, C, (void *)gradients->embed_tokens, dx, ids);
    a->arena_used = mark;
    return loss;
}

double decoder_loss(const Parameters *w, Activations *a, const int *ids, const int *targets) {
    return decoder_weighted(w, NULL, a, ids, targets, NULL, 0);
}

double decoder_backward(const Parameters *w, Parameters *gradients, Activations *a, const int *ids,
                        const int *targets, float dloss) {
    return decoder_weighted(w, gradients, a, ids, targets, NULL, dloss);
}
