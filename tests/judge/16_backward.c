/* Calls of the backward kernels. Each has several outputs, its gradients, and a case asks for one
 * of them: the one that stands among its inputs as it was before. The kernel adds to a copy of it,
 * which is the output; the others are rooms to work in, or NULL in a case with `alone`. */
#include "16_backward/backward.h"
#include "tests/judge/kernels.h"

#include <math.h>
#include <string.h>

static bool has(const Call *c, const char *name) { return argument(c, name) != NULL; }

/* The gradient of this name: its values before are in the output, if it is asked for. */
static void *gradient(const Call *c, const char *name, size_t count) {
    if (has(c, name)) return memcpy(output(c), argument(c, name), count * sizeof(float));
    return has(c, "alone") ? NULL : memset(work_room(name, count), 0, count * sizeof(float));
}

/* A random call's gradient, and the output that is as large. */
static void random_gradient(Call *call, Random *random, const char *name, int rank,
                            const size_t shape[]) {
    random_input(call, random, name, rank, shape);
    call_output(call, F32, rank, shape);
}

/* ----------------------------------------------------------------- linear layers and embeddings */

static void unpack_linear_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), in = dimension(c, "x", 1), out = dimension(c, "weight", 0);
    AS(linear_backward, kernel)(rows, in, out, gradient(c, "dx", (size_t)rows * (size_t)in),
                    gradient(c, "dweight", (size_t)out * (size_t)in),
                    gradient(c, "dbias", (size_t)out), argument(c, "dy"), argument(c, "x"),
                    argument(c, "weight"));
}

static void random_linear_backward(Call *call, Random *random, Size size) {
    size_t rows = extent(random, size, 1, 9, 35, 512), in = extent(random, size, 1, 70, 1031, 1024);
    size_t out = extent(random, size, 1, 70, 517, 1024);
    random_input(call, random, "dy", 2, SHAPE(rows, out));
    random_input(call, random, "x", 2, SHAPE(rows, in));
    random_input(call, random, "weight", 2, SHAPE(out, in));
    switch (one_of(random, size, 3)) {
    case 0: random_gradient(call, random, "dx", 2, SHAPE(rows, in)); break;
    case 1: random_gradient(call, random, "dweight", 2, SHAPE(out, in)); break;
    case 2: random_gradient(call, random, "dbias", 1, SHAPE(out));
    }
}

static double linear_backward_operations(const Call *c) {
    return 4.0 * dimension(c, "x", 0) * dimension(c, "x", 1) * dimension(c, "weight", 0);
}

static void unpack_embedding_backward(Function kernel, const Call *c) {
    int T = dimension(c, "dx", 0), V = dimension(c, "dtable", 0), C = dimension(c, "dtable", 1);
    AS(embedding_backward, kernel)(T, V, C, gradient(c, "dtable", (size_t)V * (size_t)C), argument(c, "dx"),
                       argument(c, "ids"));
}

static void embedding_call(Call *call, Random *random, size_t T, size_t V, size_t C, int highest) {
    random_gradient(call, random, "dtable", 2, SHAPE(V, C));
    random_input(call, random, "dx", 2, SHAPE(T, C));
    int *ids = call_input(call, "ids", I32, 1, SHAPE(T));
    for (size_t t = 0; t < T; t++) ids[t] = random_between(random, 0, highest);
}

static void random_embedding_backward(Call *call, Random *random, Size size) {
    size_t T = extent(random, size, 1, 20, 131, 4096), V = extent(random, size, 1, 30, 300, 32000);
    size_t C = extent(random, size, 1, 40, 130, 512);
    if (size == FAR) {
        T = 4200;
        V = 3;
        C = 512;
    } /* two threads that share a row meet there */
    embedding_call(call, random, T, V, C, (int)V - 1);
}

static void a_token_beyond(Call *call) {
    embedding_call(call, &(Random){.state = 2}, 3, 4, 2, 3);
    ((int *)argument(call, "ids"))[2] = 4;
}

static void a_negative_token(Call *call) {
    a_token_beyond(call);
    ((int *)argument(call, "ids"))[2] = -1;
}

/* ------------------------------------------------------------------ norms */

static void unpack_rms_norm_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), dim = dimension(c, "x", 1);
    AS(rms_norm_backward, kernel)(rows, dim, gradient(c, "dx", (size_t)rows * (size_t)dim),
                      gradient(c, "dweight", (size_t)dim), argument(c, "dy"), argument(c, "x"),
                      argument(c, "weight"), scalar(c, "eps"));
}

static void unpack_layer_norm_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), dim = dimension(c, "x", 1);
    AS(layer_norm_backward, kernel)(rows, dim, gradient(c, "dx", (size_t)rows * (size_t)dim),
                        gradient(c, "dweight", (size_t)dim), gradient(c, "dbias", (size_t)dim),
                        argument(c, "dy"), argument(c, "x"), argument(c, "weight"),
                        scalar(c, "eps"));
}

static void unpack_dyt_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "x", 0), dim = dimension(c, "x", 1);
    AS(dyt_backward, kernel)(rows, dim, gradient(c, "dx", (size_t)rows * (size_t)dim),
                 gradient(c, "dweight", (size_t)dim), gradient(c, "dbias", (size_t)dim),
                 gradient(c, "dalpha", 1), argument(c, "dy"), argument(c, "x"),
                 argument(c, "weight"), scalar(c, "alpha"));
}

/* choices: dx, dweight, dbias, dalpha. */
static void random_rows_backward(Call *call, Random *random, Size size, int choices) {
    size_t rows = extent(random, size, 2, 9, 67, 2048),
           dim = extent(random, size, 1, 300, 1031, 4096);
    random_input(call, random, "dy", 2, SHAPE(rows, dim));
    random_input(call, random, "x", 2, SHAPE(rows, dim));
    random_input(call, random, "weight", 1, SHAPE(dim));
    switch (one_of(random, size, choices)) {
    case 0: random_gradient(call, random, "dx", 2, SHAPE(rows, dim)); break;
    case 1: random_gradient(call, random, "dweight", 1, SHAPE(dim)); break;
    case 2: random_gradient(call, random, "dbias", 1, SHAPE(dim)); break;
    case 3: random_gradient(call, random, "dalpha", 1, SHAPE(1));
    }
}

static void random_rms_norm_backward(Call *call, Random *random, Size size) {
    random_rows_backward(call, random, size, 2);
    random_eps(call, random, size);
}

static void random_layer_norm_backward(Call *call, Random *random, Size size) {
    random_rows_backward(call, random, size, 3);
    random_eps(call, random, size);
}

static void random_dyt_backward(Call *call, Random *random, Size size) {
    random_rows_backward(call, random, size, 4);
    random_alpha(call, random, size);
}

/* ------------------------------------------------------------------ activations and gates */

/* As 16_backward.py numbers them. */
static Activation *const derivatives[] = {relu_derivative, gelu_derivative, silu_derivative};

static void unpack_activation_backward(Function kernel, const Call *c) {
    int n = dimension(c, "x", 0);
    AS(activation_backward, kernel)(n, gradient(c, "dx", (size_t)n), argument(c, "dy"), argument(c, "x"),
                        derivatives[whole_number(c, "derivative")]);
}

static void random_activation_backward(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 2000, 20011, (size_t)8 << 20);
    random_input(call, random, "dy", 1, SHAPE(n));
    random_input(call, random, "x", 1, SHAPE(n));
    index_input(call, "derivative", random_between(random, 0, 2));
    random_gradient(call, random, "dx", 1, SHAPE(n));
}

static void unpack_gate_backward(Function kernel, const Call *c) {
    int n = dimension(c, "gate", 0);
    AS(swiglu_backward, kernel)(n, gradient(c, "dgate", (size_t)n), gradient(c, "dup", (size_t)n),
                    argument(c, "dout"), argument(c, "gate"), argument(c, "up"));
}

static void random_gate_backward(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 2000, 20011, (size_t)8 << 20);
    random_input(call, random, "dout", 1, SHAPE(n));
    random_input(call, random, "gate", 1, SHAPE(n));
    random_input(call, random, "up", 1, SHAPE(n));
    random_gradient(call, random, one_of(random, size, 2) ? "dup" : "dgate", 1, SHAPE(n));
}

/* ------------------------------------------------------------------ RoPE */

static void unpack_rope_backward(Function kernel, const Call *c) {
    int T = dimension(c, "dout", 0), H = dimension(c, "dout", 1), D = dimension(c, "dout", 2);
    AS(rope_half_split_backward, kernel)(T, H, D, gradient(c, "dx", (size_t)T * (size_t)H * (size_t)D),
                             argument(c, "dout"), argument(c, "cosine"), argument(c, "sine"));
}

static void random_rope_backward(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 70, 512),
           H = extent_squared(random, size, 1, 4, 5, 32),
           pairs = extent_squared(random, size, 1, 20, 64, 64);
    random_input(call, random, "dout", 3, SHAPE(T, H, 2 * pairs));
    random_input(call, random, "cosine", 2, SHAPE(T, pairs));
    random_input(call, random, "sine", 2, SHAPE(T, pairs));
    random_gradient(call, random, "dx", 3, SHAPE(T, H, 2 * pairs));
}

/* ------------------------------------------------------------------ attention */

static void unpack_softmax_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "p", 0), n = dimension(c, "p", 1);
    AS(softmax_backward, kernel)(rows, n, gradient(c, "dx", (size_t)rows * (size_t)n), argument(c, "dp"),
                     argument(c, "p"));
}

static void random_softmax_backward(Call *call, Random *random, Size size) {
    size_t rows = extent(random, size, 1, 9, 67, 2048),
           n = extent(random, size, 1, 300, 1031, 4096);
    random_input(call, random, "dp", 2, SHAPE(rows, n));
    float(*p)[n] = call_input(call, "p", F32, 2, SHAPE(rows, n));
    double m = (double)n / 8; /* of many weights some eight are large */
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++)
            p[r][i] = (float)((m + 1) / (double)n * pow(random_uniform(random), m));
    random_gradient(call, random, "dx", 2, SHAPE(rows, n));
}

typedef struct {
    int T, H, KV, D;
    float *dq, *dk, *dv;
} Heads;

static Heads heads_of(const Call *c) {
    Heads heads = {dimension(c, "q", 0),
                   dimension(c, "q", 1),
                   dimension(c, "k", 1),
                   dimension(c, "q", 2),
                   NULL,
                   NULL,
                   NULL};
    size_t row = (size_t)heads.T * (size_t)heads.D, queries = row * (size_t)heads.H,
           keys = row * (size_t)heads.KV;
    heads.dq = gradient(c, "dq", queries);
    heads.dk = gradient(c, "dk", keys);
    heads.dv = gradient(c, "dv", keys);
    return heads;
}

static void unpack_grouped_query_backward(Function kernel, const Call *c) {
    Heads h = heads_of(c);
    AS(grouped_query_attention_backward, kernel)(h.T, h.H, h.KV, h.D, (void *)h.dq, (void *)h.dk, (void *)h.dv,
                                     argument(c, "dout"), argument(c, "q"), argument(c, "k"),
                                     argument(c, "v"));
}

static void unpack_flash_backward(Function kernel, const Call *c) {
    Heads h = heads_of(c);
    AS(flash_attention_backward, kernel)(h.T, h.H, h.KV, h.D, (void *)h.dq, (void *)h.dk, (void *)h.dv,
                             argument(c, "dout"), argument(c, "q"), argument(c, "k"),
                             argument(c, "v"), argument(c, "out"), argument(c, "lse"));
}

static void heads_call(Call *call, Random *random, int wanted, size_t T, size_t H, size_t KV,
                       size_t D) {
    random_input(call, random, "dout", 3, SHAPE(T, H, D));
    random_input(call, random, "q", 3, SHAPE(T, H, D));
    random_input(call, random, "k", 3, SHAPE(T, KV, D));
    random_input(call, random, "v", 3, SHAPE(T, KV, D));
    if (wanted == 0) random_gradient(call, random, "dq", 3, SHAPE(T, H, D));
    else random_gradient(call, random, wanted == 1 ? "dk" : "dv", 3, SHAPE(T, KV, D));
}

static void random_heads_backward(Call *call, Random *random, Size size, size_t *T, size_t *H) {
    size_t KV = extent_squared(random, size, 1, 3, 3, 2);
    *T = extent_squared(random, size, 1, 40, 70, 256);
    *H = KV * extent_squared(random, size, 1, 4, 2, 4);
    heads_call(call, random, one_of(random, size, 3), *T, *H, KV,
               extent_squared(random, size, 1, 40, 66, 64));
}

static void random_grouped_query_backward(Call *call, Random *random, Size size) {
    size_t T, H;
    random_heads_backward(call, random, size, &T, &H);
}

/* The activations that the forward pass would have saved. */
static void random_flash_backward(Call *call, Random *random, Size size) {
    size_t T, H;
    random_heads_backward(call, random, size, &T, &H);
    int KV = dimension(call, "k", 1), D = dimension(call, "q", 2);
    void *out = call_input(call, "out", F32, 3, SHAPE(T, H, (size_t)D)),
         *lse = call_input(call, "lse", F32, 2, SHAPE(T, H));
    flash_attention_lse((int)T, (int)H, KV, D, out, lse, argument(call, "q"), argument(call, "k"),
                        argument(call, "v"));
}

/* Its output is log_sum or, in a case with `of_out`, out: [T][H D]. */
static void unpack_flash_log_sum(Function kernel, const Call *c) {
    int T = dimension(c, "q", 0), H = dimension(c, "q", 1), KV = dimension(c, "k", 1),
        D = dimension(c, "q", 2);
    bool of_out = whole_number(c, "of_out");
    void *out = of_out ? output(c) : work_room("out", (size_t)T * (size_t)H * (size_t)D);
    void *lse = of_out ? work_room("lse", (size_t)T * (size_t)H) : output(c);
    AS(flash_attention_lse, kernel)(T, H, KV, D, out, lse, argument(c, "q"), argument(c, "k"),
                        argument(c, "v"));
}

static void log_sum_call(Call *call, Random *random, bool of_out, size_t T, size_t H, size_t KV,
                         size_t D) {
    random_input(call, random, "q", 3, SHAPE(T, H, D));
    random_input(call, random, "k", 3, SHAPE(T, KV, D));
    random_input(call, random, "v", 3, SHAPE(T, KV, D));
    index_input(call, "of_out", of_out);
    call_output(call, F32, 2, SHAPE(T, of_out ? H * D : H));
}

static void random_flash_log_sum(Call *call, Random *random, Size size) {
    size_t KV = extent_squared(random, size, 1, 3, 3, 2),
           T = extent_squared(random, size, 1, 40, 70, 256),
           H = KV * extent_squared(random, size, 1, 4, 2, 4);
    log_sum_call(call, random, one_of(random, size, 2), T, H, KV,
                 extent_squared(random, size, 1, 40, 66, 64));
}

static void log_sum_heads_that_cannot_share(Call *call) {
    log_sum_call(call, &(Random){.state = 2}, false, 3, 3, 2, 4);
}

static void heads_that_cannot_share(Call *call) {
    heads_call(call, &(Random){.state = 2}, 0, 3, 3, 2, 4);
}

static void flash_heads_that_cannot_share(Call *call) {
    Random random = {.state = 2};
    heads_call(call, &random, 0, 3, 3, 2, 4);
    random_input(call, &random, "out", 3, SHAPE(3, 3, 4));
    random_input(call, &random, "lse", 2, SHAPE(3, 3));
}

/* ------------------------------------------------------------------ the loss */

static void unpack_cross_entropy(Function kernel, const Call *c) {
    float *loss = output(c);
    *loss = (float)AS(cross_entropy, kernel)(dimension(c, "logits", 0), dimension(c, "logits", 1),
                                 argument(c, "logits"), argument(c, "targets"));
}

static void unpack_cross_entropy_backward(Function kernel, const Call *c) {
    int rows = dimension(c, "logits", 0), V = dimension(c, "logits", 1);
    AS(cross_entropy_backward, kernel)(rows, V, gradient(c, "dlogits", (size_t)rows * (size_t)V),
                           argument(c, "logits"), argument(c, "targets"), scalar(c, "dloss"));
}

/* The first row counts, and of the others some are ignored; now and then all of them, the first as
 * well. */
static void random_targets(Call *call, Random *random, Size size, size_t *rows, size_t *V) {
    *rows = extent(random, size, 1, 9, 35, 64);
    *V = extent(random, size, 1, 300, 1031, 128256);
    random_input(call, random, "logits", 2, SHAPE(*rows, *V));
    int *targets = call_input(call, "targets", I32, 1, SHAPE(*rows));
    bool all = size == SMALL && random_between(random, 0, 5) == 0;
    for (size_t r = 0; r < *rows; r++)
        targets[r] = all || (r && random_between(random, 0, 3) == 0)
                         ? -100
                         : random_between(random, 0, (int)*V - 1);
}

static void random_cross_entropy(Call *call, Random *random, Size size) {
    size_t rows, V;
    random_targets(call, random, size, &rows, &V);
    call_output(call, F32, 1, SHAPE(1));
}

static void random_cross_entropy_backward(Call *call, Random *random, Size size) {
    size_t rows, V;
    random_targets(call, random, size, &rows, &V);
    scalar_or_special(call, random, size, "dloss", random_uniform(random), SPECIAL(0, 1, -2));
    random_gradient(call, random, "dlogits", 2, SHAPE(rows, V));
}

/* The last of three targets is not a token. */
static void three_targets(Call *call, Random *random) {
    random_input(call, random, "logits", 2, SHAPE(3, 5));
    memcpy(call_input(call, "targets", I32, 1, SHAPE(3)), (int[]){1, 2, 5}, sizeof(int[3]));
}

static void a_target_beyond(Call *call) {
    three_targets(call, &(Random){.state = 2});
    call_output(call, F32, 1, SHAPE(1));
}

static void a_target_beyond_backward(Call *call) {
    Random random = {.state = 2};
    three_targets(call, &random);
    scalar_input(call, "dloss", 1);
    random_gradient(call, &random, "dlogits", 2, SHAPE(3, 5));
}

static void unpack_gradient_norm(Function kernel, const Call *c) {
    float *norm = output(c);
    *norm = (float)AS(gradient_norm,
                      kernel)((size_t)dimension(c, "gradient", 0), argument(c, "gradient"));
}

static void random_gradient_norm(Call *call, Random *random, Size size) {
    /* So many that one float32 cannot sum them: next to 2^24, 1 is lost. */
    size_t n = extent(random, size, 1, 3000, 20011, (size_t)16 << 20);
    random_input(call, random, "gradient", 1, SHAPE(size == LONG ? n << 7 : n));
    call_output(call, F32, 1, SHAPE(1));
}

/* ------------------------------------------------------------------ all of them */

static const Refusal refused_by_embedding[] = {
    {"token 4 is not in the vocabulary of 4", a_token_beyond, true},
    {"token -1 is not in the vocabulary", a_negative_token, true},
    {0}};
static const Refusal refused_by_heads[] = {
    {"3 query heads cannot share 2 key/value heads", heads_that_cannot_share, false}, {0}};
static const Refusal refused_by_flash[] = {
    {"3 query heads cannot share 2 key/value heads", flash_heads_that_cannot_share, false}, {0}};
static const Refusal refused_by_log_sum[] = {
    {"3 query heads cannot share 2 key/value heads", log_sum_heads_that_cannot_share, false}, {0}};
static const Refusal refused_by_loss[] = {
    {"a target is not in the vocabulary", a_target_beyond, true}, {0}};
static const Refusal refused_by_loss_backward[] = {
    {"a target is not in the vocabulary", a_target_beyond_backward, true}, {0}};

#define GATE(name) {KERNEL(name##_backward, "16_backward", gate_backward), .pointwise = true}

const Kernel backward_kernels[] = {
    {KERNEL(linear_backward, "16_backward", linear_backward),
     .operations = linear_backward_operations},
    {KERNEL(embedding_backward, "16_backward", embedding_backward),
     .refusals = refused_by_embedding},
    {KERNEL(rms_norm_backward, "16_backward", rms_norm_backward)},
    {KERNEL(layer_norm_backward, "16_backward", layer_norm_backward)},
    {KERNEL(dyt_backward, "16_backward", dyt_backward)},
    {KERNEL(activation_backward, "16_backward", activation_backward), .pointwise = true},
    GATE(glu),
    GATE(bilinear),
    GATE(reglu),
    GATE(geglu),
    GATE(swiglu),
    {KERNEL(rope_interleaved_backward, "16_backward", rope_backward)},
    {KERNEL(rope_half_split_backward, "16_backward", rope_backward)},
    {KERNEL(softmax_backward, "16_backward", softmax_backward)},
    {KERNEL(grouped_query_attention_backward, "16_backward", grouped_query_backward),
     .refusals = refused_by_heads},
    {KERNEL(flash_attention_lse, "16_backward", flash_log_sum), .refusals = refused_by_log_sum},
    {KERNEL(flash_attention_backward, "16_backward", flash_backward), .refusals = refused_by_flash},
    {KERNEL(cross_entropy, "16_backward", cross_entropy), .refusals = refused_by_loss},
    {KERNEL(cross_entropy_backward, "16_backward", cross_entropy_backward),
     .refusals = refused_by_loss_backward},
    {KERNEL(gradient_norm, "16_backward", gradient_norm)},
    {0},
};
