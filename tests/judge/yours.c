#include "tests/judge/yours.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "11_generation/generation.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/measure.h"
#include "tests/judge/kernels.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ whose kernel is it? */

/* Who does the work of others comes before them. */
const Part parts[] = {
    {"decoder_forward", "the whole way of the stream", ELSEWHERE, {0}, IN_ATTENTION | IN_FEED_FORWARD | AT_THE_END},
    {"attention_block", "what attention adds", IN_ATTENTION, {0}, IN_ATTENTION},
    {"feed_forward_block", "what the feed-forward adds", IN_FEED_FORWARD, {0}, IN_FEED_FORWARD},
    {"decoder_logits", "the logits", FOR_LOGITS, {0}, FOR_LOGITS},
    {"rms_norm", "before each block, and before the logits", IN_ATTENTION | IN_FEED_FORWARD | AT_THE_END, {0}, 0},
    {"linear", "every projection, and the logits", IN_ATTENTION | IN_FEED_FORWARD | FOR_LOGITS, {0}, 0},
    {"rope_frequencies", "how fast each pair turns", ELSEWHERE, {0}, 0},
    {"rope_table", "the angles of each position", ELSEWHERE, {0}, 0},
    {"rope_half_split", "turns queries and keys", IN_ATTENTION, {0}, 0},
    {"flash_attention", "attends", IN_ATTENTION, {0}, 0},
    {"cached_attention", "keeps keys and values, and attends", IN_ATTENTION, {"flash_attention"}, 0},
    {"kv_cache_append", "keeps keys and values", IN_ATTENTION, {"cached_attention"}, 0},
    {"attend_last", "attends", IN_ATTENTION, {"flash_attention", "cached_attention"}, 0},
    {"grouped_query_attention", "attends where a text begins", IN_ATTENTION,
     {"flash_attention", "cached_attention", "attend_last"}, 0},
    {"attention", "attends, head by head", IN_ATTENTION, {"flash_attention", "cached_attention", "attend_last"}, 0},
    {"attention_scores", "queries meet keys", IN_ATTENTION,
     {"flash_attention", "cached_attention", "attend_last", "attention"}, 0},
    {"softmax", "scores become weights", IN_ATTENTION,
     {"flash_attention", "cached_attention", "attend_last", "attention"}, 0},
    {"weighted_sum", "weights meet values", IN_ATTENTION,
     {"flash_attention", "cached_attention", "attend_last", "attention"}, 0},
    {"gated_feed_forward", "the feed-forward layer", IN_FEED_FORWARD, {0}, 0},
    {"swiglu", "the gate opens or shuts", IN_FEED_FORWARD, {0}, 0},
    {"silu", "bends the gate", IN_FEED_FORWARD, {"swiglu"}, 0},
    {"bpe_merge", "letters become tokens", ELSEWHERE, {0}, 0},
    {"repetition_penalty", "draws the story", ELSEWHERE, {0}, 0},
    {"temperature", "draws the story", ELSEWHERE, {0}, 0},
    {"top_k", "draws the story", ELSEWHERE, {0}, 0},
    {"top_p", "draws the story", ELSEWHERE, {0}, 0},
    {"min_p", "draws the story", ELSEWHERE, {0}, 0},
};

int part_named(const char *name) {
    for (int p = 0; p < PARTS; p++)
        if (strcmp(parts[p].name, name) == 0) return p;
    return -1;
}

/* Who does everything that is done at the places where the part is used: of several, the first. NULL: nobody does. */
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

void settle(bool has[PARTS], const char *instead[PARTS]) {
    for (int p = 0; p < PARTS; p++) {
        const char *const *other = parts[p].unless;
        while (*other && !has[part_named(*other)]) other++;
        const char *who = *other ? *other : coverer(has, p);
        instead[p] = has[p] ? who : NULL;
        if (who) has[p] = false;
    }
}

static bool is_yours(const YourLlama *llama, const char *kernel) { return llama->yours[part_named(kernel)]; }

/* The kernel, about to be called. A reader's is not waited for longer than verify would. */
static Function ready(const YourLlama *llama, const char *name, Function ours) {
    Underway *now = llama->underway;
    now->kernel = name, now->is_yours = is_yours(llama, name), now->asked = NULL;
    now->too_slow = now->deadline && processor_seconds() > now->deadline;
    if (now->too_slow) _exit(1);
    if (now->is_yours) give_up_in_time(1);
    else forget_the_limit();
    return now->is_yours ? llama->yours[part_named(name)] : ours;
}

#define CALL(kernel) AS(kernel, ready(llama, #kernel, (Function)kernel))

/* ------------------------------------------------------------------ what it works with */

static void read_tokens(Examinee *examinee, int T, const int ids[T], int asked, int V, float logits[asked][V]);

/* For T = CAPACITY tokens that are read together, and S = LETTERS positions in all: without merges a text is as
 * long. */
struct YourRoom {
    void *x, *normed, *delta, *out; /* [T][C] */
    void *q, *turned_q, *attended; /* [T][H][D] */
    void *k, *turned_k, *v;        /* [T][KV][D] */
    void *gate, *up;               /* [T][F] */
    void *scores;                  /* [T][S], and what else one head needs, */
    void *one_q, *one_out;         /* [T][D], */
    void *one_k, *one_v;           /* [S][D] */
    float *all;                    /* everything, one behind the other */
};

static void *part_of(float **rest, int rows, int width) {
    float *array = *rest;
    *rest += (size_t)rows * (size_t)width;
    return array;
}

/* All zeros: who leaves a number unwritten does the same harm each time. */
static struct YourRoom *room_for(const Config *c) {
    struct YourRoom *room = allocate(sizeof *room);
    int C = c->C, F = c->F, D = c->D, queries = c->H * D, keys = c->KV * D;
    size_t together = CAPACITY * (size_t)(4 * C + 3 * queries + 3 * keys + 2 * F + 2 * D + LETTERS);
    size_t bytes = (together + LETTERS * (size_t)(2 * D)) * sizeof(float);
    float *rest = memset(allocate(bytes), 0, bytes);
    room->all = rest;
    room->x = part_of(&rest, CAPACITY, C), room->normed = part_of(&rest, CAPACITY, C);
    room->delta = part_of(&rest, CAPACITY, C), room->out = part_of(&rest, CAPACITY, C);
    room->q = part_of(&rest, CAPACITY, queries), room->turned_q = part_of(&rest, CAPACITY, queries);
    room->attended = part_of(&rest, CAPACITY, queries);
    room->k = part_of(&rest, CAPACITY, keys), room->turned_k = part_of(&rest, CAPACITY, keys);
    room->v = part_of(&rest, CAPACITY, keys);
    room->gate = part_of(&rest, CAPACITY, F), room->up = part_of(&rest, CAPACITY, F);
    room->scores = part_of(&rest, CAPACITY, LETTERS);
    room->one_q = part_of(&rest, CAPACITY, D), room->one_out = part_of(&rest, CAPACITY, D);
    room->one_k = part_of(&rest, LETTERS, D), room->one_v = part_of(&rest, LETTERS, D);
    return room;
}

enum { MATRICES = 7 };

static Tensor *matrix(Layer *layer, int m) {
    return (Tensor *[MATRICES]){&layer->q_proj, &layer->k_proj, &layer->v_proj, &layer->o_proj,
                                &layer->gate_proj, &layer->up_proj, &layer->down_proj}[m];
}

/* The kernels take float32. */
static Tensor widened(const Tensor *tensor) {
    Tensor wide = *tensor;
    wide.dtype = F32, wide.data = tensor_to_float(tensor);
    return wide;
}

/* Its blocks tell how far they are. */
static void note_stage(void *context, int stage, int, int T, int C, const float[T][C]) {
    Underway *now = context;
    now->layer = stage / 2; /* from 2 L on it is the end */
}

/* All zeros, as the rest. */
static Decoder empty_decoder(const Model *model, Underway *underway) {
    const Config *c = &model->config;
    Decoder decoder = decoder_new(model, LETTERS);
    size_t cached = (size_t)c->L * LETTERS * (size_t)(c->KV * c->D) * sizeof(float);
    memset(decoder.keys, 0, cached), memset(decoder.values, 0, cached);
    memset(decoder.angles, 0, CAPACITY * (size_t)c->D * sizeof(float));
    memset(decoder.room, 0, decoder.room_size);
    decoder.watch = note_stage, decoder.context = underway;
    return decoder;
}

YourLlama your_llama(const Model *model, const Tokenizer *tokenizer, const Function yours[PARTS], Underway *underway) {
    Examinee examinee = {.model = model, .tokenizer = tokenizer, .capacity = LETTERS, .read = read_tokens};
    YourLlama llama = {.examinee = examinee, .yours = yours,
                       .underway = underway, .decoder = empty_decoder(model, underway),
                       .room = room_for(&model->config)};
    int L = model->config.L;
    llama.embed_tokens = widened(&model->embed_tokens), llama.lm_head = widened(&model->lm_head);
    llama.layers = allocate((size_t)L * sizeof *llama.layers);
    memcpy(llama.layers, model->layers, (size_t)L * sizeof *llama.layers);
    for (int l = 0; l < L; l++)
        for (int m = 0; m < MATRICES; m++) *matrix(&llama.layers[l], m) = widened(matrix(&llama.layers[l], m));
    return llama;
}

void your_llama_free(YourLlama *llama) {
    for (int l = 0; l < llama->examinee.model->config.L; l++)
        for (int m = 0; m < MATRICES; m++) free((void *)matrix(&llama->layers[l], m)->data);
    free((void *)llama->embed_tokens.data), free((void *)llama->lm_head.data), free(llama->layers);
    free(llama->room->all), free(llama->room), decoder_free(&llama->decoder);
    *llama = (YourLlama){0};
}

/* ------------------------------------------------------------------ attention */

/* Chapter 4's, for each head by itself: copied out, attended, copied back. */
static void attend_by_heads(YourLlama *llama, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                            const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    struct YourRoom *room = llama->room;
    float(*one_q)[D] = room->one_q, (*one_k)[D] = room->one_k, (*one_v)[D] = room->one_v, (*one_out)[D] = room->one_out;
    float(*scores)[S] = room->scores;
    for (int h = 0; h < H; h++) {
        int g = h / (H / KV);
        for (int t = 0; t < T; t++) memcpy(one_q[t], q[t][h], sizeof *one_q);
        for (int s = 0; s < S; s++) memcpy(one_k[s], k[s][g], sizeof *one_k), memcpy(one_v[s], v[s][g], sizeof *one_v);
        if (is_yours(llama, "attention")) CALL(attention)(T, S, D, one_out, one_q, one_k, one_v, scores);
        else {
            CALL(attention_scores)(T, S, D, scores, one_q, one_k);
            causal_mask(T, S, scores);
            CALL(softmax)(T, S, scores, scores);
            CALL(weighted_sum)(T, S, D, one_out, scores, one_v);
        }
        for (int t = 0; t < T; t++) memcpy(out[t][h], one_out[t], sizeof *one_out);
    }
}

/* The last T of S positions, by what the reader has of chapters 4 and 6 to 8; with nothing of it, by chapter 8's. */
static void attend(YourLlama *llama, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                   const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    bool by_heads = is_yours(llama, "attention") || is_yours(llama, "attention_scores") || is_yours(llama, "softmax") ||
                    is_yours(llama, "weighted_sum");
    if (is_yours(llama, "attend_last")) CALL(attend_last)(T, S, H, KV, D, out, q, k, v);
    else if (is_yours(llama, "grouped_query_attention") && T == S)
        CALL(grouped_query_attention)(T, H, KV, D, out, q, k, v);
    else if (by_heads) attend_by_heads(llama, T, S, H, KV, D, out, q, k, v);
    else CALL(flash_attention)(T, S, H, KV, D, out, q, k, v);
}

/* delta = attention(rms_norm(x)) */
static void our_attention(YourLlama *llama, int l, int T, int C, float delta[restrict T][C], const float x[T][C]) {
    const Config *c = &llama->examinee.model->config;
    const Layer *layer = &llama->layers[l];
    struct YourRoom *room = llama->room;
    int H = c->H, KV = c->KV, D = c->D, length = llama->examinee.length;
    float(*normed)[C] = room->normed;
    float(*cosine)[D / 2] = (void *)llama->decoder.angles, (*sine)[D / 2] = cosine + T;
    float(*keys)[LETTERS][KV][D] = (void *)llama->decoder.keys;
    float(*values)[LETTERS][KV][D] = (void *)llama->decoder.values;

    CALL(rms_norm)(T, C, normed, x, layer->input_layernorm, NULL, (float)c->rms_norm_eps);
    CALL(linear)(T, C, H * D, room->q, normed, layer->q_proj.data, NULL);
    CALL(linear)(T, C, KV * D, room->k, normed, layer->k_proj.data, NULL);
    CALL(linear)(T, C, KV * D, room->v, normed, layer->v_proj.data, NULL);

    CALL(rope_half_split)(T, H, D, room->turned_q, room->q, cosine, sine);
    CALL(rope_half_split)(T, KV, D, room->turned_k, room->k, cosine, sine);
    if (is_yours(llama, "cached_attention")) {
        CALL(cached_attention)(LETTERS, length, T, H, KV, D, room->attended, keys[l], values[l],
                               room->turned_q, room->turned_k, room->v);
    } else {
        CALL(kv_cache_append)(LETTERS, KV, D, keys[l], values[l], length, T, room->turned_k, room->v);
        attend(llama, T, length + T, H, KV, D, room->attended, room->turned_q, keys[l], values[l]);
    }

    CALL(linear)(T, H * D, C, delta, room->attended, layer->o_proj.data, NULL);
}

/* ------------------------------------------------------------------ the feed-forward layer */

static void unit(YourLlama *llama, int n, float gate[n], const float up[n]) {
    if (is_yours(llama, "silu")) CALL(silu)(n, gate, gate), bilinear(n, gate, gate, up);
    else CALL(swiglu)(n, gate, gate, up);
}

/* delta = swiglu(rms_norm(x)) */
static void our_feed_forward(YourLlama *llama, int l, int T, int C, float delta[restrict T][C], const float x[T][C]) {
    const Config *c = &llama->examinee.model->config;
    const Layer *layer = &llama->layers[l];
    struct YourRoom *room = llama->room;
    int F = c->F;
    float(*normed)[C] = room->normed;
    float(*gate)[F] = room->gate, (*up)[F] = room->up;
    const void *w_gate = layer->gate_proj.data, *w_up = layer->up_proj.data, *w_down = layer->down_proj.data;

    CALL(rms_norm)(T, C, normed, x, layer->post_attention_layernorm, NULL, (float)c->rms_norm_eps);
    if (is_yours(llama, "gated_feed_forward")) {
        Gate *swish_gated = is_yours(llama, "swiglu") ? CALL(swiglu) : swiglu;
        CALL(gated_feed_forward)(T, C, F, delta, normed, w_gate, NULL, w_up, NULL, w_down, swish_gated, gate, up);
    } else {
        CALL(linear)(T, C, F, gate, normed, w_gate, NULL);
        CALL(linear)(T, C, F, up, normed, w_up, NULL);
        unit(llama, T * F, *gate, *up);
        CALL(linear)(T, F, C, delta, gate, w_down, NULL);
    }
}

/* ------------------------------------------------------------------ the decoder */

static void turn_angles(YourLlama *llama, int T) {
    const Config *c = &llama->examinee.model->config;
    int D = c->D, positions[T];
    float inv_freq[D / 2];
    memset(inv_freq, 0, sizeof inv_freq);
    float factor = CALL(rope_frequencies)(D, inv_freq, &c->rope, CAPACITY);
    for (int t = 0; t < T; t++) positions[t] = llama->examinee.length + t;
    CALL(rope_table)(T, D, (void *)llama->decoder.angles, positions, inv_freq, factor);
}

/* The reader's function for the decoder, ready: it finds the decoder as decoder_read() would leave it. */
#define BLOCK(kernel) (llama->decoder.length = llama->examinee.length, llama->decoder.taken = 0, CALL(kernel))

static void add(int T, int C, float x[restrict T][C], const float delta[T][C]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) x[t][i] += delta[t][i];
}

/* The stream from the embedding through the last norm, by our loop. */
static void our_forward(YourLlama *llama, int T, int C, float out[restrict T][C], const int ids[T]) {
    const Config *c = &llama->examinee.model->config;
    float(*x)[C] = llama->room->x, (*delta)[C] = llama->room->delta;
    const float(*table)[C] = llama->embed_tokens.data;
    for (int t = 0; t < T; t++) memcpy(x[t], table[ids[t]], sizeof *x);
    for (int l = 0; l < c->L; l++) {
        llama->underway->layer = l;
        if (is_yours(llama, "attention_block")) BLOCK(attention_block)(&llama->decoder, l, T, C, delta, x);
        else our_attention(llama, l, T, C, delta, x);
        add(T, C, x, delta);
        if (is_yours(llama, "feed_forward_block")) BLOCK(feed_forward_block)(&llama->decoder, l, T, C, delta, x);
        else our_feed_forward(llama, l, T, C, delta, x);
        add(T, C, x, delta);
    }
    llama->underway->layer = c->L;
    CALL(rms_norm)(T, C, out, x, llama->examinee.model->norm, NULL, (float)c->rms_norm_eps);
}

static void make_logits(YourLlama *llama, int rows, int C, int V, float logits[rows][V], const float x[rows][C]) {
    memset(logits, 0, (size_t)rows * sizeof *logits);
    if (!is_yours(llama, "decoder_logits")) {
        CALL(linear)(rows, C, V, logits, x, llama->lm_head.data, NULL);
        return;
    }
    for (int r = 0; r < rows; r++) {
        memcpy(llama->decoder.last, x[r], sizeof *x);
        BLOCK(decoder_logits)(&llama->decoder, logits[r]);
    }
}

/* The last of them are in the room when it is done. */
static void read_piece(YourLlama *llama, int T, const int ids[T]) {
    Underway *now = llama->underway;
    int C = llama->examinee.model->config.C;

    now->first = llama->examinee.length, now->last = now->first + T - 1, now->layer = -1;
    turn_angles(llama, T);
    if (is_yours(llama, "decoder_forward")) BLOCK(decoder_forward)(&llama->decoder, T, C, llama->room->out, ids);
    else our_forward(llama, T, C, llama->room->out, ids);
    llama->examinee.length += T;
}

/* As many together as there is room for; the `asked` ones are among the last. */
static void read_tokens(Examinee *examinee, int T, const int ids[T], int asked, int V, float logits[asked][V]) {
    YourLlama *llama = (YourLlama *)examinee;
    int C = examinee->model->config.C, together = 0;
    float(*out)[C] = llama->room->out;
    for (int t = 0; t < T; t += together) {
        together = T - t < CAPACITY ? T - t : CAPACITY;
        read_piece(llama, together, ids + t);
    }
    llama->underway->layer = examinee->model->config.L;
    make_logits(llama, asked, C, V, logits, out + together - asked);
}

/* ------------------------------------------------------------------ tokens */

static const YourLlama *merging;

/* Of what comes back only that is taken which lies in the text, and is a token or none. */
static int merge_yours(const Vocabulary *vocabulary, const char *text, int count, Symbol symbols[count]) {
    const YourLlama *llama = merging;
    int end = count ? symbols[count - 1].start + symbols[count - 1].length : 0, good = 0;
    llama->underway->layer = CUTTING;
    int kept = CALL(bpe_merge)(vocabulary, text, count, symbols);
    for (int i = 0; i < kept && i < count; i++) {
        Symbol s = symbols[i];
        bool in_text = s.start >= 0 && s.start <= end && s.length >= 0 && s.length <= end - s.start;
        if (in_text && s.id >= -1 && s.id < vocabulary->size) symbols[good++] = s;
    }
    return good;
}

void let_it_merge(const YourLlama *llama, Tokenizer *tokenizer) {
    merging = llama;
    tokenizer->merge = is_yours(llama, "bpe_merge") ? merge_yours : bpe_merge;
}

int drawn(Examinee *examinee, int T, const int ids[T], int V, float logits[V]) {
    YourLlama *llama = (YourLlama *)examinee;
    static Random random = {.state = 2};
    CALL(repetition_penalty)(V, T, logits, logits, ids, 1.05f);
    CALL(temperature)(V, logits, logits, 0.8f);
    CALL(top_k)(V, logits, logits, 40);
    CALL(top_p)(V, logits, logits, 0.95f);
    CALL(min_p)(V, logits, logits, 0.02f);
    int id = draw(V, logits, random_uniform(&random));
    return ends_text(examinee->model, examinee->tokenizer, id) ? -1 : id;
}
