#include "tests/judge/yours.h"
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "11_generation/generation.h"
#include "13_quantization/quantization.h"
#include "17_training/small.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/timer.h"
#include "tests/judge/kernels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ whose kernel is it? */

/* Who does the work of others comes before them. */
#define FLASH "flash_attention"
#define CACHED "cached_attention"
#define PROJECTIONS (IN_ATTENTION | IN_FEED_FORWARD | FOR_LOGITS)
const Part parts[] = {
    {"decoder_forward", "the whole forward pass", ELSEWHERE,
     .covers = IN_ATTENTION | IN_FEED_FORWARD | AT_THE_END},
    {"attention_block", "the attention block", IN_ATTENTION, .covers = IN_ATTENTION},
    {"feed_forward_block", "the feed-forward block", IN_FEED_FORWARD, .covers = IN_FEED_FORWARD},
    {"decoder_logits", "the logits", FOR_LOGITS, .covers = FOR_LOGITS},
    {"rms_norm", "normalizes before each block and before the logits",
     IN_ATTENTION | IN_FEED_FORWARD | AT_THE_END, .member = "rms_norm"},
    {"dot_q4_0", "every projection, with weights in Q4_0", PROJECTIONS, .member = "linear_tensor"},
    {"dequantize_q5_0", "dequantizes the weights of every projection", PROJECTIONS,
     .member = "linear_tensor", .unless = {"dot_q4_0"}},
    {"dequantize_q8_0", "dequantizes the weights of every projection", PROJECTIONS,
     .member = "linear_tensor", .unless = {"dot_q4_0", "dequantize_q5_0"}},
    {"quantize_q8_0", "quantizes weights, or activations for dot_q4_0", PROJECTIONS,
     .member = "linear_tensor", .unless = {"dequantize_q5_0"}},
    {"linear", "every projection and the logits", PROJECTIONS, .member = "linear_tensor",
     .unless = {"dot_q4_0"}},
    {"rope_frequencies", "the frequency of each pair", ELSEWHERE, .member = NULL},
    {"rope_table", "the angles of each position", ELSEWHERE, .member = NULL},
    {"rope_half_split", "rotates queries and keys", IN_ATTENTION, .member = "rope_half_split"},
    {FLASH, "attends", IN_ATTENTION, .member = FLASH},
    {CACHED, "appends to the cache and attends", IN_ATTENTION, .member = FLASH, .unless = {FLASH}},
    {"kv_cache_append", "appends keys and values to the cache", IN_ATTENTION,
     .member = "kv_cache_append", .unless = {CACHED}},
    {"gqa_attention_with_past", "attends", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED}},
    {"grouped_query_attention", "attends in the first call", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED, "gqa_attention_with_past"}},
    {"attention", "attends, head by head", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED, "gqa_attention_with_past"}},
    {"attention_scores", "computes the attention scores", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED, "gqa_attention_with_past", "attention"}},
    {"softmax", "turns scores into attention weights", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED, "gqa_attention_with_past", "attention"}},
    {"weighted_sum", "sums the values by their weights", IN_ATTENTION, .member = FLASH,
     .unless = {FLASH, CACHED, "gqa_attention_with_past", "attention"}},
    {"gated_feed_forward", "the feed-forward layer", IN_FEED_FORWARD, .member = NULL},
    {"swiglu", "computes SwiGLU", IN_FEED_FORWARD, .member = "swiglu"},
    {"silu", "activates the gate", IN_FEED_FORWARD, .member = "swiglu", .unless = {"swiglu"}},
    {"bpe_merge", "merges letters into tokens", ELSEWHERE, .member = NULL},
    {"repetition_penalty", "samples the story", ELSEWHERE, .member = NULL},
    {"temperature", "samples the story", ELSEWHERE, .member = NULL},
    {"top_k", "samples the story", ELSEWHERE, .member = NULL},
    {"top_p", "samples the story", ELSEWHERE, .member = NULL},
    {"min_p", "samples the story", ELSEWHERE, .member = NULL},
    {"linear_backward", "trains a small model", IN_TRAINING, .member = NULL},
    {"swiglu_backward", "trains a small model", IN_TRAINING, .member = NULL},
    {"learning_rate", "trains a small model", IN_TRAINING, .member = NULL},
    {"adamw", "trains a small model", IN_TRAINING, .member = NULL},
    {"clip_gradient", "trains a small model", IN_TRAINING, .member = NULL},
};

int part_named(const char *name) {
    for (int p = 0; p < PARTS; p++)
        if (strcmp(parts[p].name, name) == 0) return p;
    return -1;
}

/* Who does everything that is done at the places where the part is used: of several, the first.
 * NULL: nobody does. */
static const char *coverer(const bool has[PARTS], int part) {
    int left = parts[part].places;
    const char *who = NULL;
    for (int p = 0; p < part && left; p++) {
        bool helps = has[p] && (parts[p].covers & left);
        if (helps && !who) who = parts[p].name;
        if (helps) left &= ~parts[p].covers;
    }
    return left ? NULL : who;
}

void resolve_overrides(bool has[PARTS], const char *instead[PARTS]) {
    for (int p = 0; p < PARTS; p++) {
        const char *const *other = parts[p].unless;
        while (*other && !has[part_named(*other)]) other++;
        const char *who = *other ? *other : coverer(has, p);
        instead[p] = has[p] ? who : NULL;
        if (who) has[p] = false;
    }
}

/* ------------------------------------------------------------------ a kernel is called */

static const Function *yours; /* [PARTS]: NULL where ours is used */
static Requests *now;

static bool is_yours(const char *kernel) {
    int part = part_named(kernel);
    return part >= 0 && yours[part];
}

/* The kernel, about to be called. A reader's is not waited for longer than verify would. While a
 * block of the reader's runs, the time and the blame are its own. */
static Function ready(const char *name, Function ours) {
    bool mine = is_yours(name);
    now->too_slow = now->deadline && processor_seconds() > now->deadline;
    if (now->too_slow) _exit(1);
    if (now->is_block && mine) now->asked = name;
    if (!now->is_block) {
        now->kernel = name;
        now->is_yours = mine;
        now->asked = NULL;
        if (mine) give_up_in_time(1);
        else forget_the_limit();
    }
    return mine ? yours[part_named(name)] : ours;
}

#define CALL(kernel) AS(kernel, ready(#kernel, (Function)kernel))

/* The same for a block of the decoder, which calls kernels of the table. */
#define BLOCK(kernel, ...)                                                                         \
    do {                                                                                           \
        __typeof__(kernel) *block = CALL(kernel);                                                  \
        now->is_block = is_yours(#kernel);                                                         \
        block(__VA_ARGS__);                                                                        \
        now->is_block = false;                                                                     \
    } while (0)

/* ------------------------------------------------------------------ the table of kernels */

static void norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                 const float weight[dim], float eps) {
    CALL(rms_norm)(rows, dim, out, x, weight, eps);
}

static void gate_with_up(int n, float out[n], const float gate[n], const float up[n]) {
    if (is_yours("silu") && !is_yours("swiglu")) {
        CALL(silu)(n, out, gate);
        bilinear(n, out, out, up);
    } else CALL(swiglu)(n, out, gate, up);
}

static void apply_rope(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                       const float cosine[T][D / 2], const float sine[T][D / 2]) {
    CALL(rope_half_split)(T, H, D, out, x, cosine, sine);
}

Storage storage_for(const bool has[PARTS]) {
    if (has[part_named("dot_q4_0")]) return IN_Q4_0;
    if (has[part_named("dequantize_q5_0")]) return IN_Q5_0;
    return has[part_named("dequantize_q8_0")] || has[part_named("quantize_q8_0")] ? IN_Q8_0
                                                                                  : AS_THEY_ARE;
}

static Storage storage;
void store_projections(Storage wanted) { storage = wanted; }

/* The blocks of each weight, which is quantized when it is first needed. */
enum { MOST_WEIGHTS = 1024 };
static struct {
    const Tensor *weight;
    Storage storage;
    void *blocks;
} stored[MOST_WEIGHTS];

static void *blocks_of(int out, int in, const Tensor *weight, const float wide[out][in]) {
    int s = 0;
    while (stored[s].blocks && (stored[s].weight != weight || stored[s].storage != storage)) s++;
    assert(s < MOST_WEIGHTS - 1);
    if (stored[s].blocks) return stored[s].blocks;
    size_t bytes = (size_t)out * (size_t)in / 32 * sizeof(BlockQ8_0); /* no format has more */
    void *blocks = memset(xmalloc(bytes), 0, bytes);
    stored[s] = (__typeof__(*stored)){weight, storage, blocks};
    if (storage == IN_Q4_0) quantize_q4_0(out, in, blocks, wide);
    else if (storage == IN_Q5_0) quantize_q5_0(out, in, blocks, wide);
    else CALL(quantize_q8_0)(out, in, blocks, wide);
    return blocks;
}

/* x in Q8_0, then a dot product for each number of y. */
static void product_of_blocks(int rows, int in, int out, float y[restrict rows][out],
                              const float x[rows][in], const BlockQ4_0 weight[out][in / 32]) {
    BlockQ8_0(*blocks)[in / 32] = xmalloc(sizeof(BlockQ8_0[rows][in / 32]));
    memset(blocks, 0, sizeof(BlockQ8_0[rows][in / 32]));
    CALL(quantize_q8_0)(rows, in, blocks, x);
    __typeof__(dot_q4_0) *dot = CALL(dot_q4_0);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) y[r][o] = dot(in, weight[o], blocks[r]);
    free(blocks);
}

/* The reader's linear() takes float32. */
static void product_of(int rows, int in, int out, float y[restrict rows][out],
                       const float x[rows][in], const Tensor *weight) {
    if (!is_yours("linear") && storage == AS_THEY_ARE) {
        CALL(linear_tensor)(rows, in, out, y, x, weight);
        return;
    }
    float(*wide)[in] = (void *)tensor_to_float(weight);
    void *blocks = storage == AS_THEY_ARE ? NULL : blocks_of(out, in, weight, wide);
    if (storage == IN_Q8_0) CALL(dequantize_q8_0)(out, in, wide, blocks);
    if (storage == IN_Q5_0) CALL(dequantize_q5_0)(out, in, wide, blocks);
    if (storage == IN_Q4_0) product_of_blocks(rows, in, out, y, x, blocks);
    else CALL(linear)(rows, in, out, y, x, wide, NULL);
    free(wide);
}

/* The reader's cached_attention() does two kernels' work: the first leaves it what it needs. */
static struct {
    bool is_left; /* and is not done yet */
    int capacity, length;
    void *cache_k, *cache_v;
    const void *k, *v;
} left;

static int append(int capacity, int KV, int D, float cache_k[capacity][KV][D],
                  float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
                  const float v[T][KV][D]) {
    if (!is_yours("cached_attention"))
        return CALL(kv_cache_append)(capacity, KV, D, cache_k, cache_v, length, T, k, v);
    left = (__typeof__(left)){true, capacity, length, cache_k, cache_v, k, v};
    if (now->is_block)
        kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k,
                        v); /* it may read them itself */
    return length + T;
}

/* Each head by itself: copied out, attended, copied back. */
static void attend_by_heads(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                            const float q[T][H][D], const float k[S][KV][D],
                            const float v[S][KV][D]) {
    float(*one_q)[D] = xmalloc(sizeof(float[T][D])), (*one_out)[D] = xmalloc(sizeof(float[T][D]));
    float(*one_k)[D] = xmalloc(sizeof(float[S][D])), (*one_v)[D] = xmalloc(sizeof(float[S][D]));
    float(*scores)[S] = memset(xmalloc(sizeof(float[T][S])), 0, sizeof(float[T][S]));
    memset(one_out, 0,
           sizeof(float[T][D])); /* who leaves a number unwritten does the same harm each time */
    for (int h = 0; h < H; h++) {
        int g = h / (H / KV);
        for (int t = 0; t < T; t++) memcpy(one_q[t], q[t][h], sizeof *one_q);
        for (int s = 0; s < S; s++) {
            memcpy(one_k[s], k[s][g], sizeof *one_k);
            memcpy(one_v[s], v[s][g], sizeof *one_v);
        }
        if (is_yours("attention")) CALL(attention)(T, S, D, one_out, one_q, one_k, one_v, scores);
        else {
            CALL(attention_scores)(T, S, D, scores, one_q, one_k);
            causal_mask(T, S, scores);
            CALL(softmax)(T, S, scores, scores);
            CALL(weighted_sum)(T, S, D, one_out, scores, one_v);
        }
        for (int t = 0; t < T; t++) memcpy(out[t][h], one_out[t], sizeof *one_out);
    }
    free(one_q);
    free(one_out);
    free(one_k);
    free(one_v);
    free(scores);
}

/* By what the reader has of attention; with nothing of it, by flash_attention(). */
static void attend(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                   const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    bool by_heads = is_yours("attention") || is_yours("attention_scores") || is_yours("softmax") ||
                    is_yours("weighted_sum");
    if (left.is_left) {
        left.is_left = false;
        CALL(cached_attention)
        (left.capacity, left.length, T, H, KV, D, out, left.cache_k, left.cache_v, q, left.k,
         left.v);
    } else if (is_yours("flash_attention")) CALL(flash_attention)(T, S, H, KV, D, out, q, k, v);
    else if (is_yours("gqa_attention_with_past"))
        CALL(gqa_attention_with_past)(T, S, H, KV, D, out, q, k, v);
    else if (is_yours("grouped_query_attention") && T == S)
        CALL(grouped_query_attention)(T, H, KV, D, out, q, k, v);
    else if (by_heads) attend_by_heads(T, S, H, KV, D, out, q, k, v);
    else CALL(flash_attention)(T, S, H, KV, D, out, q, k, v);
}

static const Kernels table = {
    .rms_norm = norm,
    .swiglu = gate_with_up,
    .rope_half_split = apply_rope,
    .rope_interleaved = rope_interleaved,
    .kv_cache_append = append,
    .flash_attention = attend,
    .linear_tensor = product_of,
};

/* ------------------------------------------------------------------ the decoder's blocks */

/* The reader's gated_feed_forward() is the block without its norm. */
static void gated_block(Decoder *d, int l, int T, int C, float delta[restrict T][C],
                        const float x[T][C]) {
    const Layer *layer = &d->model->layers[l];
    int F = d->model->config.F;
    size_t mark = d->arena_used;
    float(*normed)[C] = decoder_alloc(d, sizeof(float[T][C]));
    float(*gate)[F] = decoder_alloc(d, sizeof(float[T][F])),
    (*up)[F] = decoder_alloc(d, sizeof(float[T][F]));
    float *w_gate = tensor_to_float(&layer->gate_proj), *w_up = tensor_to_float(&layer->up_proj),
          *w_down = tensor_to_float(&layer->down_proj);
    norm(T, C, normed, x, layer->post_attention_layernorm, (float)d->model->config.rms_norm_eps);
    GatedUnit *unit = is_yours("swiglu") ? CALL(swiglu) : swiglu;
    CALL(gated_feed_forward)
    (T, C, F, delta, normed, (const float(*)[C])w_gate, (const float(*)[C])w_up,
     (const float(*)[F])w_down, unit, gate, up);
    free(w_gate);
    free(w_up);
    free(w_down);
    d->arena_used = mark;
}

/* decoder_forward(), where a block of it is the reader's. */
static void forward_by_blocks(Decoder *d, int T, int C, float out[restrict T][C],
                              const int ids[T]) {
    const Model *model = d->model;
    size_t mark = d->arena_used;
    float(*x)[C] = decoder_alloc(d, sizeof(float[T][C])),
    (*delta)[C] = decoder_alloc(d, sizeof(float[T][C]));
    for (int t = 0; t < T; t++)
        tensor_dequantize_row(&model->embed_tokens, (size_t)ids[t] * (size_t)C, (size_t)C, x[t]);
    call_stage_hook(d, 0, T, C, x);
    for (int stage = 1; stage <= 2 * model->config.L; stage++) {
        int l = (stage - 1) / 2;
        if (stage % 2 && is_yours("attention_block")) BLOCK(attention_block, d, l, T, C, delta, x);
        else if (stage % 2) attention_block(d, l, T, C, delta, x);
        else if (is_yours("feed_forward_block")) BLOCK(feed_forward_block, d, l, T, C, delta, x);
        else if (is_yours("gated_feed_forward")) gated_block(d, l, T, C, delta, x);
        else feed_forward_block(d, l, T, C, delta, x);
        for (int t = 0; t < T; t++)
            for (int i = 0; i < C; i++) x[t][i] += delta[t][i];
        call_stage_hook(d, stage, T, C, x);
    }
    norm(T, C, out, x, model->norm, (float)model->config.rms_norm_eps);
    d->arena_used = mark;
}

/* The cosines and sines of T positions. */
static void rope_cos_sin(Decoder *d, int T) {
    int D = d->model->config.D, positions[T];
    float inv_freq[D / 2];
    memset(inv_freq, 0, sizeof inv_freq);
    float factor = CALL(rope_frequencies)(D, inv_freq, &d->model->config.rope, CAPACITY);
    for (int t = 0; t < T; t++) positions[t] = d->length + t;
    CALL(rope_table)(T, D, (void *)d->cos_sin, positions, inv_freq);
    scale_rope_table(T, D, (void *)d->cos_sin, factor);
}

static void forward(Decoder *d, int T, int C, float out[restrict T][C], const int ids[T]) {
    now->first = d->length;
    now->last = d->length + T - 1;
    now->layer = -1;
    rope_cos_sin(d, T);
    if (is_yours("decoder_forward")) BLOCK(decoder_forward, d, T, C, out, ids);
    else if (is_yours("attention_block") || is_yours("feed_forward_block") ||
             is_yours("gated_feed_forward"))
        forward_by_blocks(d, T, C, out, ids);
    else decoder_forward(d, T, C, out, ids);
    now->layer = d->model->config.L;
}

/* Its stages tell how far the stream is. */
static void note_stage(void *, int stage, int, int T, int C, const float[T][C]) {
    now->layer = stage / 2; /* from 2 L on it is the end */
}

/* All zeros: who leaves a number unwritten does the same harm each time. */
static Decoder empty_decoder(const Model *model) {
    const Config *c = &model->config;
    Decoder decoder = decoder_new(model, &table, LETTERS);
    size_t cached = (size_t)c->L * LETTERS * (size_t)(c->KV * c->D) * sizeof(float);
    memset(decoder.keys, 0, cached);
    memset(decoder.values, 0, cached);
    memset(decoder.cos_sin, 0, CAPACITY * (size_t)c->D * sizeof(float));
    memset(decoder.arena, 0, decoder.arena_size);
    decoder.forward = forward;
    decoder.hook = note_stage;
    return decoder;
}

/* ------------------------------------------------------------------ what it is asked */

static void read_tokens(Examinee *examinee, int T, const int ids[T], int asked, int V,
                        float logits[asked][V]) {
    Decoder *decoder = &((YourLlama *)examinee)->decoder;
    if (asked != 1) fail("the logits of the last token alone are known");
    decoder->length = examinee->length;
    decoder_eval(decoder, T, ids);
    examinee->length = decoder->length;
    memset(logits, 0, sizeof *logits);
    BLOCK(decoder_logits, decoder, logits[0]);
}

YourLlama your_llama(const Model *model, const Tokenizer *tokenizer, const Function kernels[PARTS],
                     Requests *underway) {
    yours = kernels;
    now = underway;
    left.is_left = false;
    bool has[PARTS];
    for (int p = 0; p < PARTS; p++) has[p] = kernels[p];
    storage = storage_for(has);
    for (int s = 0; stored[s].blocks; s++) {
        free(stored[s].blocks);
        stored[s].blocks = NULL;
    }
    return (YourLlama){.examinee = {.model = model,
                                    .tokenizer = tokenizer,
                                    .capacity = LETTERS,
                                    .read = read_tokens},
                       .decoder = empty_decoder(model)};
}

void your_llama_free(YourLlama *llama) { decoder_free(&llama->decoder); }

/* Of what comes back only that is taken which lies in the text, and is a token or none. */
static int merge_yours(const Vocabulary *vocabulary, const char *text, int count,
                       Symbol symbols[count]) {
    int end = count ? symbols[count - 1].start + symbols[count - 1].length : 0, good = 0;
    now->layer = CUTTING;
    int kept = CALL(bpe_merge)(vocabulary, text, count, symbols);
    for (int i = 0; i < kept && i < count; i++) {
        Symbol s = symbols[i];
        bool in_text = s.start >= 0 && s.start <= end && s.length >= 0 && s.length <= end - s.start;
        if (in_text && s.id >= -1 && s.id < vocabulary->size) symbols[good++] = s;
    }
    return good;
}

void let_it_merge(Tokenizer *tokenizer) {
    tokenizer->merge = is_yours("bpe_merge") ? merge_yours : bpe_merge;
}

int drawn(Examinee *examinee, int T, const int ids[T], int V, float logits[V]) {
    static Random random = {.state = 2};
    CALL(repetition_penalty)(V, T, logits, logits, ids, 1.05f);
    CALL(temperature)(V, logits, logits, 0.8f);
    CALL(top_k)(V, logits, logits, 40);
    CALL(top_p)(V, logits, logits, 0.95f);
    CALL(min_p)(V, logits, logits, 0.02f);
    int id = multinomial(V, logits, random_uniform(&random));
    return is_end_of_generation(examinee->model, examinee->tokenizer, id) ? -1 : id;
}

/* ------------------------------------------------------------------ training */

static void backward_of_linear(int rows, int in, int out, float dx[restrict rows][in],
                               float dweight[restrict out][in], float *dbias,
                               const float dy[rows][out], const float x[rows][in],
                               const float weight[out][in]) {
    CALL(linear_backward)(rows, in, out, dx, dweight, dbias, dy, x, weight);
}

static void backward_of_swiglu(int n, float dgate[restrict n], float dup[restrict n],
                               const float dout[n], const float gate[n], const float up[n]) {
    CALL(swiglu_backward)(n, dgate, dup, dout, gate, up);
}

static double clip_by_yours(int arrays, const size_t n[arrays], float *const gradient[arrays],
                            float max_norm) {
    return CALL(clip_gradient)(arrays, n, gradient, max_norm);
}

static float rate_by_yours(int step, int warmup, int steps, float peak, float lowest) {
    return CALL(learning_rate)(step, warmup, steps, peak, lowest);
}

static void step_by_yours(size_t n, float weight[restrict n], float m[restrict n],
                          float v[restrict n], const float gradient[n], int step, float rate,
                          float beta1, float beta2, float eps, float decay) {
    CALL(adamw)(n, weight, m, v, gradient, step, rate, beta1, beta2, eps, decay);
}

double train_yours(int steps, const Function kernels[PARTS], Requests *underway) {
    enum { UNSEEN = 100 };
    TrainingKernels with_yours = reference_training_kernels;
    with_yours.linear_backward = backward_of_linear;
    with_yours.swiglu_backward = backward_of_swiglu;
    yours = kernels;
    now = underway;
    now->layer = TRAINING;
    Hyperparameters settings = llama_settings(steps);
    TinyTrainer trainer = tiny_trainer_new(1);
    trainer.activations.kernels = &with_yours;
    trainer.optimizer = &(const OptimizerKernels){step_by_yours, clip_by_yours, rate_by_yours};
    while (trainer.step < steps) {
        now->first = now->last = trainer.step + 1;
        tiny_trainer_step(&trainer, &settings);
    }
    forget_the_limit();
    double loss = tiny_trainer_loss(&trainer, UNSEEN);
    tiny_trainer_free(&trainer);
    return loss;
}
