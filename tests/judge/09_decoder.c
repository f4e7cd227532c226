/* Calls of the decoder's parts. A model's weights are among the inputs, or it is the course's own.
 * A text is read in two pieces where `split` says so, and another layer is asked in between. */
#include "09_decoder/decoder.h"
#include "common/check.h"
#include "common/error.h"
#include "tests/judge/kernels.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the model of a call */

/* Of layer l, where those of all layers lie one behind the other. */
static Tensor weight_of(const Call *c, const char *name, int rank, int l) {
    const Tensor *all = input_named(c, name);
    if (!all) return (Tensor){0};
    Tensor one = *all;
    if (all->rank == rank) return one;
    one.rank = rank;
    memmove(one.shape, one.shape + 1, (size_t)rank * sizeof *one.shape);
    one.data = (const char *)all->data + (size_t)l * tensor_bytes(&one);
    return one;
}

static Layer layer_of(const Call *c, int l) {
    return (Layer){.q_proj = weight_of(c, "q_proj", 2, l),
                   .k_proj = weight_of(c, "k_proj", 2, l),
                   .v_proj = weight_of(c, "v_proj", 2, l),
                   .o_proj = weight_of(c, "o_proj", 2, l),
                   .gate_proj = weight_of(c, "gate_proj", 2, l),
                   .up_proj = weight_of(c, "up_proj", 2, l),
                   .down_proj = weight_of(c, "down_proj", 2, l),
                   .q_bias = (float *)weight_of(c, "q_bias", 1, l).data,
                   .k_bias = (float *)weight_of(c, "k_bias", 1, l).data,
                   .v_bias = (float *)weight_of(c, "v_bias", 1, l).data,
                   .o_bias = (float *)weight_of(c, "o_bias", 1, l).data,
                   .gate_bias = (float *)weight_of(c, "gate_bias", 1, l).data,
                   .up_bias = (float *)weight_of(c, "up_bias", 1, l).data,
                   .down_bias = (float *)weight_of(c, "down_bias", 1, l).data,
                   .input_layernorm = (float *)weight_of(c, "input_layernorm", 1, l).data,
                   .post_attention_layernorm =
                       (float *)weight_of(c, "post_attention_layernorm", 1, l).data};
}

/* An input that the call lacks is one that its kernel does not need. */
static Model given_model(const Call *c, int L, int C, int V) {
    Model model = {.config = {.C = C, .F = 2, .L = L, .H = 1, .KV = 1, .D = 2, .V = V},
                   .layers = xmalloc((size_t)L * sizeof(Layer)),
                   .interleaved = input_named(c, "interleaved")};
    Config *config = &model.config;
    for (int l = 0; l < L; l++) model.layers[l] = layer_of(c, l);
    if (input_named(c, "eps")) config->rms_norm_eps = scalar(c, "eps");
    if (input_named(c, "cosine")) {
        config->D = 2 * dimension(c, "cosine", 1);
        config->H = (int)model.layers->q_proj.shape[0] / config->D;
        config->KV = (int)model.layers->k_proj.shape[0] / config->D;
    }
    if (input_named(c, "gate_proj")) config->F = (int)model.layers->gate_proj.shape[0];
    model.embed_tokens = weight_of(c, "embed_tokens", 2, 0);
    model.lm_head = weight_of(c, "lm_head", 2, 0);
    model.norm = (float *)weight_of(c, "norm", 1, 0).data;
    return model;
}

static Model trained_model(void) { return model_open(ROOT "/common/stories/model"); }

static void release(Model *model) {
    if (model->files) model_close(model);
    else free(model->layers);
}

/* ------------------------------------------------------------------ pieces of a text */

typedef struct {
    int first, T;
} Piece;

static int pieces_of(const Call *c, int T, Piece piece[2]) {
    int split = input_named(c, "split") ? whole_number(c, "split") : 0;
    piece[0] = (Piece){0, split ? split : T};
    piece[1] = (Piece){split, T - split};
    return split ? 2 : 1;
}

/* Memory that nothing was written to is marked, as an output is. */
static Decoder marked_decoder(const Model *model, int capacity) {
    const Config *c = &model->config;
    Decoder decoder = decoder_new(model, &reference_kernels, capacity);
    size_t cached = (size_t)c->L * (size_t)capacity * (size_t)c->KV * (size_t)c->D;
    const uint32_t mark = (uint32_t)POISON << 16 | POISON;
    for (size_t i = 0; i < cached; i++) {
        memcpy(decoder.keys + i, &mark, sizeof mark);
        memcpy(decoder.values + i, &mark, sizeof mark);
    }
    for (size_t i = 0; i < decoder.arena_size / sizeof mark; i++)
        memcpy(decoder.arena + i * sizeof mark, &mark, sizeof mark);
    return decoder;
}

/* As decoder_eval() leaves it before each piece. */
static void begin_piece(Decoder *d, const Call *c, Piece piece) {
    int D = d->model->config.D;
    float(*angles)[piece.T][D / 2] = (void *)d->cos_sin;
    const float(*cosine)[D / 2] = argument(c, "cosine"), (*sine)[D / 2] = argument(c, "sine");
    memcpy(angles[COSINES], cosine[piece.first], sizeof *angles);
    memcpy(angles[SINES], sine[piece.first], sizeof *angles);
    d->length = piece.first;
}

static void look_at_decoder(const Decoder *d, int length) {
    if (d->arena_used)
        complain("the output is right, but %zu bytes of the decoder's room are not given back: "
                 "d->taken = mark",
                 d->arena_used);
    if (d->length != length)
        complain("the output is right, but it has changed d->length: that is for decoder_eval()");
}

/* ------------------------------------------------------------------ the blocks */

static void unpack_attention_block(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), l = whole_number(c, "layer");
    Model model = input_named(c, "q_proj") ? given_model(c, 2, C, 1) : trained_model();
    Decoder decoder = marked_decoder(&model, T + 1);
    const float(*x)[C] = argument(c, "x"), (*other)[C] = argument(c, "other");
    float(*delta)[C] = output(c);
    Piece piece[2];
    int count = pieces_of(c, T, piece);
    for (int p = 0; p < count; p++) {
        int first = piece[p].first;
        begin_piece(&decoder, c, piece[p]);
        AS(attention_block, kernel)(&decoder, l, piece[p].T, C, delta + first, x + first);
        look_at_decoder(&decoder, first);
        decoder.arena_used = 0;
        decoder.length = first;
        float *ignored = work_room("delta of another layer", (size_t)piece[p].T * (size_t)C);
        if (other)
            AS(attention_block, kernel)(&decoder, (l + 1) % model.config.L, piece[p].T, C, (float(*)[C])ignored,
                            other + first);
        decoder.arena_used = 0;
    }
    decoder_free(&decoder);
    release(&model);
}

static void unpack_feed_forward_block(Function kernel, const Call *c) {
    int T = dimension(c, "x", 0), C = dimension(c, "x", 1), l = whole_number(c, "layer");
    Model model = input_named(c, "gate_proj") ? given_model(c, 2, C, 1) : trained_model();
    Decoder decoder = marked_decoder(&model, T + 1);
    AS(feed_forward_block, kernel)(&decoder, l, T, C, output(c), argument(c, "x"));
    look_at_decoder(&decoder, 0);
    decoder_free(&decoder);
    release(&model);
}

/* ------------------------------------------------------------------ the loop, and the logits */

/* The stream at all its stages, as far as it is shown. The last one is what decoder_forward()
 * gives. */
typedef struct {
    int stages, T;
    float *stream; /* [stages][T][C] */
} Shown;

static void keep_stage(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    const Shown *shown = context;
    float(*stream)[shown->T][C] = (void *)shown->stream;
    if (stage >= 0 && stage < shown->stages - 1 && first >= 0 && first + T <= shown->T)
        memcpy(stream[stage][first], x, (size_t)T * sizeof *x);
}

static void unpack_decoder_forward(Function kernel, const Call *c) {
    int T = dimension(c, "ids", 0);
    const Tensor *table = input_named(c, "embed_tokens");
    Model model = table ? given_model(c, dimension(c, "q_proj", 0), (int)table->shape[1],
                                      (int)table->shape[0])
                        : trained_model();
    int C = model.config.C, last = 2 * model.config.L + 1;
    float(*stream)[T][C] = output(c);
    Shown shown = {last + 1, T, output(c)};
    Decoder decoder = marked_decoder(&model, T + 1);
    decoder.hook = keep_stage;
    decoder.context = &shown;
    Piece piece[2];
    int count = pieces_of(c, T, piece);
    for (int p = 0; p < count; p++) {
        int first = piece[p].first;
        begin_piece(&decoder, c, piece[p]);
        AS(decoder_forward, kernel)(&decoder, piece[p].T, C, stream[last] + first,
                        (const int *)argument(c, "ids") + first);
        look_at_decoder(&decoder, first);
        decoder.arena_used = 0;
    }
    decoder_free(&decoder);
    release(&model);
}

static void unpack_decoder_logits(Function kernel, const Call *c) {
    int C = dimension(c, "last", 1);
    const Tensor *weight = input_named(c, "lm_head");
    Model model = weight ? given_model(c, 1, C, (int)weight->shape[0]) : trained_model();
    Decoder decoder = decoder_new(&model, &reference_kernels, 1);
    memcpy(decoder.last_hidden, argument(c, "last"), (size_t)C * sizeof *decoder.last_hidden);
    AS(decoder_logits, kernel)(&decoder, output(c));
    decoder_free(&decoder);
    release(&model);
}

/* ------------------------------------------------------------------ random calls */

/* Weights of L layers; of one where L is 0. Numbers of a matrix as large as keep the stream's size.
 */
static void random_matrix(Call *call, Random *random, const char *name, size_t L, size_t out,
                          size_t in) {
    float *numbers = call_input(call, name, F32, L ? 3 : 2, L ? SHAPE(L, out, in) : SHAPE(out, in));
    size_t count = (L ? L : 1) * out * in;
    random_fill(random, count, numbers);
    for (size_t i = 0; i < count; i++) numbers[i] /= 0.5f * (float)in;
}

static void random_norm(Call *call, Random *random, const char *name, size_t L, size_t C) {
    random_input(call, random, name, L ? 2 : 1, L ? SHAPE(L, C) : SHAPE(C));
}

typedef struct {
    size_t T, C, H, KV, D, F;
} Sizes;

static Sizes random_sizes(Random *random, Size size) {
    size_t KV = extent_squared(random, size, 1, 3, 3, 8),
           D = 2 * extent_squared(random, size, 1, 6, 16, 32);
    /* A decoder has room for a piece of a text, so that T is never long. */
    return (Sizes){.T = size == LONG ? 2 : extent_squared(random, size, 1, 9, 35, 1),
                   .C = extent_squared(random, size, 1, 30, 131, 1024),
                   .KV = KV,
                   .H = KV * extent_squared(random, size, 1, 3, 2, 2),
                   .D = D,
                   .F = extent_squared(random, size, 1, 40, 301, 2816)};
}

static void random_attention_weights(Call *call, Random *random, size_t L, Sizes s) {
    random_matrix(call, random, "q_proj", L, s.H * s.D, s.C);
    random_matrix(call, random, "k_proj", L, s.KV * s.D, s.C);
    random_matrix(call, random, "v_proj", L, s.KV * s.D, s.C);
    random_matrix(call, random, "o_proj", L, s.C, s.H * s.D);
    random_norm(call, random, "input_layernorm", L, s.C);
    float(*tables[2])[s.D / 2] = {call_input(call, "cosine", F32, 2, SHAPE(s.T, s.D / 2)),
                                  call_input(call, "sine", F32, 2, SHAPE(s.T, s.D / 2))};
    /* Any turn will do. */
    random_fill(random, s.T * s.D / 2, *tables[0]);
    random_fill(random, s.T * s.D / 2, *tables[1]);
}

static void random_feed_forward_weights(Call *call, Random *random, size_t L, Sizes s) {
    random_matrix(call, random, "gate_proj", L, s.F, s.C);
    random_matrix(call, random, "up_proj", L, s.F, s.C);
    random_matrix(call, random, "down_proj", L, s.C, s.F);
    random_norm(call, random, "post_attention_layernorm", L, s.C);
}

static void random_attention_block(Call *call, Random *random, Size size) {
    Sizes s = random_sizes(random, size);
    if (random_between(random, 0, 1)) {
        random_input(call, random, "q_bias", 1, SHAPE(s.H * s.D));
        random_input(call, random, "k_bias", 1, SHAPE(s.KV * s.D));
        random_input(call, random, "v_bias", 1, SHAPE(s.KV * s.D));
        random_input(call, random, "o_bias", 1, SHAPE(s.C));
    }
    random_input(call, random, "x", 2, SHAPE(s.T, s.C));
    random_input(call, random, "other", 2, SHAPE(s.T, s.C));
    random_attention_weights(call, random, 0, s);
    random_eps(call, random, size);
    index_input(call, "layer", random_between(random, 0, 1));
    index_input(call, "split", random_between(random, 0, (int)s.T - 1));
    call_output(call, F32, 2, SHAPE(s.T, s.C));
}

static void random_feed_forward_block(Call *call, Random *random, Size size) {
    Sizes s = random_sizes(random, size);
    if (random_between(random, 0, 1)) {
        random_input(call, random, "gate_bias", 1, SHAPE(s.F));
        random_input(call, random, "up_bias", 1, SHAPE(s.F));
        random_input(call, random, "down_bias", 1, SHAPE(s.C));
    }
    random_input(call, random, "x", 2, SHAPE(s.T, s.C));
    random_feed_forward_weights(call, random, 0, s);
    random_eps(call, random, size);
    index_input(call, "layer", random_between(random, 0, 1));
    call_output(call, F32, 2, SHAPE(s.T, s.C));
}

static void random_decoder_forward(Call *call, Random *random, Size size) {
    Sizes s = random_sizes(random, size);
    size_t L = (size_t)(size == MEDIUM ? 2
                        : size >= LONG ? 1
                                       : random_between(random, 1, 3)),
           V = extent_squared(random, size, 1, 40, 100, 1000);
    int *ids = call_input(call, "ids", I32, 1, SHAPE(s.T));
    for (size_t t = 0; t < s.T; t++) ids[t] = random_between(random, 0, (int)V - 1);
    random_input(call, random, "embed_tokens", 2, SHAPE(V, s.C));
    random_norm(call, random, "norm", 0, s.C);
    random_attention_weights(call, random, L, s);
    random_feed_forward_weights(call, random, L, s);
    random_eps(call, random, size);
    index_input(call, "split", random_between(random, 0, (int)s.T - 1));
    call_output(call, F32, 3, SHAPE(2 * L + 2, s.T, s.C));
}

static void random_decoder_logits(Call *call, Random *random, Size size) {
    size_t C = extent(random, size, 1, 70, 301, 2048),
           V = extent(random, size, 1, 200, 1031, 32000);
    random_input(call, random, "last", 2, SHAPE(1, C));
    random_matrix(call, random, "lm_head", 0, V, C);
    call_output(call, F32, 2, SHAPE(1, V));
}

const Kernel decoder_kernels[] = {
    {KERNEL(attention_block, "09_decoder", attention_block)},
    {KERNEL(feed_forward_block, "09_decoder", feed_forward_block)},
    {KERNEL(decoder_forward, "09_decoder", decoder_forward)},
    {KERNEL(decoder_logits, "09_decoder", decoder_logits)},
    {0},
};
