/* What a decoder layer does beside its products, beside what this machine can do. Attention: prefill is limited by
 * multiply-adds. Decode is limited by reading where few heads share a key; where many do, each number that is read is
 * worth so many multiply-adds that these may take longer: the row says which limit is the nearer one. Norms, RoPE and
 * SiLU · up, position by position, as the decoder calls them for a chunk of a prompt: their limit is a loop that moves
 * as many numbers from the same places and does nothing else. (The sum of a block and its input is such a loop.) Every
 * byte of inputs and output counts once. Kernel and limit are measured in turns. */
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "04_rope/rope.h"
#include "08_flash_attention/flash_attention.h"
#include "common/console.h"
#include "common/error.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>

static float *some_numbers(size_t count) {
    float *numbers = allocate(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)(i * 7919 % 1009) / 500 - 1;
    return numbers;
}

/* Does its work, and says how much that was. */
typedef double Work(const void *context, int turn);

/* How much of each work is done in a second, at its best: the kernel's and its limits', measured in turns. */
static void measure(int count, Work *const works[count], double best[count], const void *context, int turns,
                    int threads) {
    for (int i = 0; i < count; i++) best[i] = 0;
    for (int turn = 0; turn < turns; turn++)
        for (int i = 0; i < count; i++) {
            double start = work_seconds(threads), work = works[i](context, turn);
            best[i] = fmax(best[i], work / (work_seconds(threads) - start));
        }
}

/* The kernel's work a second as a share of the limit's. */
static double share(Work *kernel, Work *limit, const void *context, int turns, int threads) {
    double best[2];
    measure(2, (Work *[]){kernel, limit}, best, context, turns, threads);
    return 100 * best[0] / best[1];
}

/* ------------------------------------------------------------------ attention */

/* Of each layer keys and values, one after the other: so many layers that none is in the cache when its turn comes. */
typedef struct {
    int threads, T, S, H, KV, D, layers;
    float *q, *keys_values, *out;
} Heads;

static size_t layer_numbers(const Heads *h) { return 2 * (size_t)h->S * h->KV * h->D; }

static const float *layer(const Heads *h, int turn) { return h->keys_values + turn % h->layers * layer_numbers(h); }

static void attend(const Heads *h, int turn) {
    const float *k = layer(h, turn), *v = k + layer_numbers(h) / 2;
    flash_attention(h->T, h->S, h->H, h->KV, h->D, (void *)h->out, (void *)h->q, (const void *)k, (const void *)v);
}

static double decode(const void *context, int turn) {
    attend(context, turn);
    return (double)layer_numbers(context) * sizeof(float);
}

static double prefill(const void *context, int turn) {
    const Heads *h = context;
    attend(h, turn);
    return 2.0 * h->H * h->D * h->T * (h->T + 1);
}

static double read_far(const void *context, int turn) {
    const Heads *h = context;
    return read_memory(h->threads, turn % READING_WAYS, layer_numbers(h) * sizeof(float),
                       layer(h, turn + h->layers / 2));
}

static double multiply(const void *context, int) { return multiply_adds(((const Heads *)context)->threads); }

static Heads heads_new(int T, int S, int KV, int D, int threads) {
    Heads h = {threads, T, S, .H = 32, KV, D, .layers = 1};
    size_t queries = (size_t)T * h.H * D;
    if (T == 1) h.layers = (int)(MUCH_MEMORY / (layer_numbers(&h) * sizeof(float)));
    h.keys_values = some_numbers(h.layers * layer_numbers(&h));
    h.q = some_numbers(queries), h.out = some_numbers(queries);
    return h;
}

static void heads_free(Heads *h) { free(h->q), free(h->keys_values), free(h->out); }

/* Each query meets each number of its keys and values in a multiply-add, which counts twice. */
static void attention_row(Table *table, int KV, int D, int threads) {
    Heads one = heads_new(1, 32768, KV, D, threads), many = heads_new(4096, 4096, KV, D, threads);
    double best[3], bytes = (double)layer_numbers(&one) * sizeof(float), operations = 4.0 * one.H * D * one.S;
    measure(3, (Work *[]){decode, read_far, multiply}, best, &one, 3 * READING_WAYS, threads);
    double seconds = bytes / best[0], reading = bytes / best[1], multiplying = operations / best[2];
    table_row(table, "D %d, KV %d|%.0f %%|%.0f %% of %s|%.0f %%", D, KV, 100 * reading / seconds,
              100 * fmax(reading, multiplying) / seconds, reading > multiplying ? "reading" : "multiply-adds",
              share(prefill, multiply, &many, 3, threads));
    heads_free(&one), heads_free(&many);
}

static void attention(int threads) {
    Table table = {0};
    table_row(&table,
              "attention of 32 heads, %d thread%s|decode after 32768, of read bandwidth|of the nearer limit|prefill of "
              "4096, of FMA peak",
              threads, threads == 1 ? "" : "s");
    for (int D = 64; D <= 128; D *= 2)
        for (int KV = 4; KV <= 8; KV *= 2) attention_row(&table, KV, D, threads);
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ position by position */

enum { T = 512, C = 2048, H = 32, D = 64, F = 5632 };

typedef struct {
    float *a, *b, *to; /* [T][F] at most */
    float *cosine, *sine;
} Rows;

static double norms(const void *context, int) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) rms_norm(1, C, (void *)&r->to[t * C], (void *)&r->a[t * C], r->b, NULL, 1e-5F);
    return 2.0 * T * C;
}

static double turns(const void *context, int) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        rope_half_split(1, H, D, (void *)&r->to[t * C], (void *)&r->a[t * C], (void *)&r->cosine[t * D / 2],
                        (void *)&r->sine[t * D / 2]);
    return 2.0 * T * C;
}

static double gates(const void *context, int) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) swiglu(F, &r->to[t * F], &r->a[t * F], &r->b[t * F]);
    return 3.0 * T * F;
}

/* Some processors move a row faster that has been read before: every other turn tries that. */
static void read_row(int n, const float row[n]) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += row[i];
    keep(&sum);
}

static double one_to_one(const void *context, int turn) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) {
        if (turn % 2) read_row(C, &r->a[t * C]);
        for (int i = t * C; i < (t + 1) * C; i++) r->to[i] = r->a[i];
    }
    return 2.0 * T * C;
}

static double two_to_one(const void *context, int turn) {
    const Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) {
        if (turn % 2) read_row(F, &r->a[t * F]), read_row(F, &r->b[t * F]);
        for (int i = t * F; i < (t + 1) * F; i++) r->to[i] = r->a[i] + r->b[i];
    }
    return 3.0 * T * F;
}

static void rows(int threads) {
    Rows r = {some_numbers(T * F), some_numbers(T * F), some_numbers(T * F), some_numbers(T * D / 2),
              some_numbers(T * D / 2)};
    Table table = {0};
    table_row(&table, "%d positions, %d thread%s|of moving the numbers", T, threads, threads == 1 ? "" : "s");
    table_row(&table, "RMSNorm|%.0f %%", share(norms, one_to_one, &r, 12, threads));
    table_row(&table, "RoPE|%.0f %%", share(turns, one_to_one, &r, 12, threads));
    table_row(&table, "SwiGLU|%.0f %%", share(gates, two_to_one, &r, 12, threads));
    table_print(&table, stdout);
    free(r.a), free(r.b), free(r.to), free(r.cosine), free(r.sine);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "What a decoder layer does beside its products, on one thread and on all, beside this "
                           "machine's limits.");
    int most = thread_count();
    for (int threads = 1; threads <= most; threads += most > 1 ? most - 1 : 1) {
        use_threads(threads);
        attention(threads), rows(threads);
    }
}
