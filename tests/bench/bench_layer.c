/* What a decoder layer does beside its products, beside what this machine can do. Attention:
 * prefill is limited by multiply-adds. Decode is limited by reading where few heads share a key;
 * where many do, each number that is read is worth so many multiply-adds that these may take
 * longer: the row says which limit is the nearer one. Norms, RoPE and SiLU · up, position by
 * position, as the decoder calls them for a chunk of a prompt: their limit is a loop that moves as
 * many numbers and does nothing else. (The sum of a block and its input is such a loop.) What norms
 * and RoPE are given was just made, and is in a cache still. Since a gate was made all weights of
 * up_proj have come, and it is read from memory: what computes between its writes may then move
 * more than the loop. Every byte of inputs and output counts once.
 *
 * A share is that of common/measure's median_share(). */
#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/random.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURNS = 24,  /* that are told */
    PROMPTS = 3, /* the same of a long prompt */
};

static float *some_numbers(size_t count) {
    float *numbers = xmalloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)(i * 7919 % 1009) / 500 - 1;
    return numbers;
}

/* ------------------------------------------------------------------ attention */

/* Of each layer keys and values, one after the other: so many layers that none is in the cache when
 * its turn comes. */
typedef struct {
    int threads, T, S, H, KV, D, layers;
    float *q, *keys_values, *out;
} Heads;

static size_t layer_numbers(const Heads *h) { return 2 * (size_t)h->S * h->KV * h->D; }

static const float *layer(const Heads *h, int turn) {
    return h->keys_values + turn % h->layers * layer_numbers(h);
}

static void attend(const Heads *h, int turn) {
    const float *k = layer(h, turn), *v = k + layer_numbers(h) / 2;
    fast_flash_attention(h->T, h->S, h->H, h->KV, h->D, (void *)h->out, (void *)h->q,
                         (const void *)k, (const void *)v);
}

static double decode(const void *context, int turn, int) {
    attend(context, turn);
    return (double)layer_numbers(context) * sizeof(float);
}

static double prefill(const void *context, int turn, int) {
    const Heads *h = context;
    attend(h, turn);
    return 2.0 * h->H * h->D * h->T * (h->T + 1);
}

static double read_far(const void *context, int turn, int way) {
    const Heads *h = context;
    return read_memory(h->threads, way, layer_numbers(h) * sizeof(float),
                       layer(h, turn + h->layers / 2));
}

static double multiply(const void *context, int, int) {
    return multiply_adds(((const Heads *)context)->threads);
}

static Heads heads_new(int T, int S, int KV, int D, int threads) {
    Heads h = {threads, T, S, .H = 32, KV, D, .layers = 1};
    size_t queries = (size_t)T * h.H * D;
    if (T == 1) h.layers = (int)(MUCH_MEMORY / (layer_numbers(&h) * sizeof(float)));
    h.keys_values = some_numbers(h.layers * layer_numbers(&h));
    h.q = some_numbers(queries);
    h.out = some_numbers(queries);
    return h;
}

static void heads_free(Heads *h) {
    free(h->q);
    free(h->keys_values);
    free(h->out);
}

/* Each query meets each number of its keys and values in a multiply-add, which counts twice. */
static void attention_row(Table *table, int KV, int D, int threads) {
    Heads one = heads_new(1, 32768, KV, D, threads), many = heads_new(4096, 4096, KV, D, threads);
    double bytes = (double)layer_numbers(&one) * sizeof(float),
           operations = 4.0 * one.H * D * one.S;
    double reading = median_share(decode, read_far, READING_WAYS, &one, TURNS, threads);
    double multiplying =
        median_share(decode, multiply, 1, &one, TURNS, threads) * operations / bytes;
    table_row(table, "D %d, KV %d|%.0f %%|%.0f %% of %s|%.0f %%", D, KV, 100 * reading,
              100 * fmax(reading, multiplying), reading > multiplying ? "reading" : "multiply-adds",
              100 * median_share(prefill, multiply, 1, &many, PROMPTS, threads));
    heads_free(&one);
    heads_free(&many);
}

static void attention(int threads) {
    Table table = {0};
    table_row(&table,
              "attention of 32 heads, %d thread%s|decode after 32768, of read bandwidth|of the "
              "nearer limit|prefill of 4096, of FMA peak",
              threads, threads == 1 ? "" : "s");
    for (int D = 64; D <= 128; D *= 2)
        for (int KV = 4; KV <= 8; KV *= 2) attention_row(&table, KV, D, threads);
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ position by position */

enum { T = 512, C = 2048, H = 32, D = 64, F = 5632, PIECE = 64 };
enum {
    CHUNKS = MUCH_MEMORY / (3 * T * F * sizeof(float))
}; /* so many that none is in the cache when its turn comes */
enum { PLAINLY, READ_BEFORE, PIECE_BY_PIECE, MOVING_WAYS };

typedef struct {
    float *a, *b, *to; /* [CHUNKS][T][F] */
    float *cosine, *sine;
} Rows;

static double norms(const void *context, int, int) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        fast_rms_norm(1, C, (void *)&r->to[t * C], (void *)&r->a[t * C], r->b, 1e-5F);
    return 2.0 * T * C;
}

static double turns(const void *context, int, int) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        rope_half_split(1, H, D, (void *)&r->to[t * C], (void *)&r->a[t * C],
                        (void *)&r->cosine[t * D / 2], (void *)&r->sine[t * D / 2]);
    return 2.0 * T * C;
}

static size_t chunk(int turn) { return (size_t)turn % CHUNKS * T * F; }

static double gates(const void *context, int turn, int) {
    const Rows *r = context;
    float *to = &r->to[chunk(turn)], *gate = &r->a[chunk(turn)], *up = &r->b[chunk(turn)];
#pragma omp parallel for
    for (int t = 0; t < T; t++) fast_swiglu(F, &to[t * F], &gate[t * F], &up[t * F]);
    return 3.0 * T * F;
}

/* Some processors move a row faster that has been read before, and some a piece that is whole
 * before it is written: a read waits for a write whose address looks alike. */
static void read_row(int n, const float row[n]) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += row[i];
    do_not_optimize(&sum);
}

static void move_one(int n, float to[n], const float a[n], const float *) {
    for (int i = 0; i < n; i++) to[i] = a[i];
}

static void move_sum(int n, float to[n], const float a[n], const float b[n]) {
    for (int i = 0; i < n; i++) to[i] = a[i] + b[i];
}

typedef void Move(int n, float to[n], const float a[n], const float *b);

static inline void move_rows(Move *move, int n, float to[T][n], const float a[T][n],
                             const float b[T][n], int way) {
#pragma omp parallel for
    for (int t = 0; t < T; t++) {
        float piece[PIECE];
        if (way == READ_BEFORE) read_row(n, a[t]);
        if (way == READ_BEFORE && b != a) read_row(n, b[t]);
        if (way != PIECE_BY_PIECE) move(n, to[t], a[t], b[t]);
        else
            for (int i = 0; i < n; i += PIECE) {
                move(PIECE, piece, &a[t][i], &b[t][i]);
                memcpy(&to[t][i], piece, sizeof piece);
            }
    }
}

static double one_to_one(const void *context, int, int way) {
    const Rows *r = context;
    move_rows(move_one, C, (void *)r->to, (void *)r->a, (void *)r->a, way);
    return 2.0 * T * C;
}

static double two_to_one(const void *context, int turn, int way) {
    const Rows *r = context;
    size_t far = chunk(turn + CHUNKS / 2);
    move_rows(move_sum, F, (void *)&r->to[far], (void *)&r->a[far], (void *)&r->b[far], way);
    return 3.0 * T * F;
}

static void rows(int threads) {
    size_t most = (size_t)CHUNKS * T * F;
    Rows r = {some_numbers(most), some_numbers(most), some_numbers(most), some_numbers(T * D / 2),
              some_numbers(T * D / 2)};
    Table table = {0};
    table_row(&table, "%d positions, %d thread%s|of moving the numbers", T, threads,
              threads == 1 ? "" : "s");
    table_row(&table, "RMSNorm|%.0f %%",
              100 * median_share(norms, one_to_one, MOVING_WAYS, &r, TURNS, threads));
    table_row(&table, "RoPE|%.0f %%",
              100 * median_share(turns, one_to_one, MOVING_WAYS, &r, TURNS, threads));
    table_row(&table, "SwiGLU|%.0f %%",
              100 * median_share(gates, two_to_one, MOVING_WAYS, &r, TURNS, threads));
    table_print(&table, stdout);
    free(r.a);
    free(r.b);
    free(r.to);
    free(r.cosine);
    free(r.sine);
}

int main(int argc, char **argv) {
    no_options(argc, argv,
               "What a decoder layer does beside its products, on one thread and on all, beside "
               "this machine's limits.");
    int most = thread_count();
    for (int threads = 1; threads <= most; threads += most > 1 ? most - 1 : 1) {
        use_threads(threads);
        attention(threads);
        rows(threads);
    }
}
