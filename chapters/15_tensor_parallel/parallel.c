#include "15_tensor_parallel/parallel.h"
#include "11_generation/sampling.h"
#include "15_tensor_parallel/ranks.h"
#include "common/error.h"
#include "common/numbers.h"

#include <stdlib.h>
#include <string.h>

/* A shard's model is its first member. */
static const Shard *shard_of(const Decoder *d) { return (const Shard *)(const void *)d->model; }

/* ------------------------------------------------------------------ the residual stream */

/* The rank that holds a token's embedding returns it; all other ranks return zeros. */
static void embed(const Shard *shard, int T, int C, float x[T][C], const int ids[T]) {
    for (int t = 0; t < T; t++) {
        int row = ids[t] - shard->tokens.first;
        if (row >= 0 && row < shard->tokens.count)
            tensor_dequantize_row(&shard->model.embed_tokens, (size_t)row * C, (size_t)C, x[t]);
        else memset(x[t], 0, sizeof *x);
    }
}

static void all_reduce(int T, int C, float x[T][C]) { all_reduce_sum((size_t)T * (size_t)C, x[0]); }

static void add(int T, int C, float x[restrict T][C], const float delta[T][C]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] += delta[t][i];
}

void parallel_forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    const Model *model = d->model;
    int L = model->config.L;
    size_t mark = d->arena_used;
    float(*x)[C] = decoder_alloc(d, sizeof(float[T][C])),
    (*delta)[C] = decoder_alloc(d, sizeof(float[T][C]));

    embed(shard_of(d), T, C, x, ids);
    all_reduce(T, C, x);
    call_stage_hook(d, 0, T, C, x);
    for (int l = 0; l < L; l++) {
        attention_block(d, l, T, C, delta, x);
        all_reduce(T, C, delta);
        add(T, C, x, delta);
        call_stage_hook(d, 2 * l + 1, T, C, x);

        feed_forward_block(d, l, T, C, delta, x);
        all_reduce(T, C, delta);
        add(T, C, x, delta);
        call_stage_hook(d, 2 * l + 2, T, C, x);
    }
    d->kernels->rms_norm(T, C, out, x, model->norm, (float)model->config.rms_norm_eps);
    call_stage_hook(d, 2 * L + 1, T, C, out);
    d->arena_used = mark;
}

Decoder parallel_decoder(const Shard *shard, const Kernels *kernels, int capacity) {
    Decoder decoder = decoder_new(&shard->model, kernels, capacity);
    decoder.forward = parallel_forward;
    return decoder;
}

/* ------------------------------------------------------------------ the logits */

/* The logits of this rank's tokens. */
static float *own_logits(const Shard *shard, const Kernels *kernels, int C, const float last[C]) {
    int V = shard->tokens.count;
    float *logits = xmalloc((size_t)V * sizeof *logits);
    kernels->linear_tensor(1, C, V, (float(*)[V])logits, (const float(*)[C])last,
                           &shard->model.lm_head);
    return logits;
}

void parallel_logits(const Shard *shard, const Kernels *kernels, int T, int C, const float x[T][C],
                     float logits[T][shard->whole.config.V]) {
    int count[shard->ranks];
    for (int r = 0; r < shard->ranks; r++)
        count[r] = shard_range(shard->whole.config.V, shard->ranks, r).count;
    for (int t = 0; t < T; t++) {
        float *own = own_logits(shard, kernels, C, x[t]);
        gather_floats(count, own, shard->rank == 0 ? logits[t] : NULL);
        free(own);
    }
}

int parallel_argmax(const Shard *shard, const Kernels *kernels, int C, const float last[C]) {
    struct {
        float largest;
        int place;
    } own, all[shard->ranks];
    float *logits = own_logits(shard, kernels, C, last), largest[shard->ranks];
    int place[shard->ranks];
    int count = shard->tokens.count, v = first_not_finite(count, logits);
    if (v < count)
        fail("the logit of token %d is no number: are the weights damaged?",
             shard->tokens.first + v);
    own.place = argmax(count, logits);
    own.largest = logits[own.place];
    free(logits);
    gather_ranks(sizeof own, &own, all);
    for (int r = 0; shard->rank == 0 && r < shard->ranks; r++) {
        largest[r] = all[r].largest;
        place[r] = all[r].place;
    }
    return shard->rank == 0
               ? vocab_parallel_argmax(shard->ranks, shard->whole.config.V, largest, place)
               : -1;
}
