/* What a decoder layer does beside its products, beside what this machine can do: attention, where decode is limited by reading
 * and prefill by multiply-adds; and norms, RoPE, SiLU · up and the sum, position by position, as the decoder calls them for a
 * chunk of a prompt. Every byte of inputs and output counts once. Kernel and limit are measured in turns. */
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

enum { TURNS = 2 * READING_WAYS };

typedef struct {
    int T, S, H, KV, D;
    float *q, *k, *v, *out;
} Heads;

static float *some_numbers(size_t count) {
    float *numbers = allocate(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)(i * 7919 % 1009) / 500 - 1;
    return numbers;
}

static void attend(void *context) {
    Heads *h = context;
    flash_attention(h->T, h->S, h->H, h->KV, h->D, (void *)h->out, (void *)h->q, (void *)h->k, (void *)h->v);
}

/* The work that run() does beside the limit: reading so many bytes of memory, or, where there are none, multiply-adds. */
static double share(void run(void *context), void *context, double work, size_t bytes, const void *memory, int threads) {
    double time = INFINITY, limit = 0;
    run(context);
    for (int turn = 0; turn < TURNS; turn++) {
        double start = work_seconds(threads);
        run(context);
        time = fmin(time, work_seconds(threads) - start), start = work_seconds(threads);
        double done = bytes ? read_memory(threads, turn % READING_WAYS, bytes, memory) : multiply_adds(threads);
        limit = fmax(limit, done / (work_seconds(threads) - start));
    }
    return 100 * work / time / limit;
}

static double attention_share(int T, int S, int KV, int D, int threads) {
    enum { H = 32 };
    size_t keys = (size_t)S * KV * D, queries = (size_t)T * H * D;
    float *both = some_numbers(2 * keys);
    Heads h = {T, S, H, KV, D, some_numbers(queries), both, both + keys, some_numbers(queries)};
    double bytes = 2.0 * (double)keys * sizeof *both, operations = 2.0 * H * D * T * (T + 1);
    double result = share(attend, &h, T > 1 ? operations : bytes, T > 1 ? 0 : (size_t)bytes, both, threads);
    free(h.q), free(both), free(h.out);
    return result;
}

static void attention(int threads) {
    Table table = {0};
    table_row(&table, "attention of 32 heads, %d thread%s|decode after 32768, of read bandwidth|prefill of 4096, of FMA peak",
              threads, threads == 1 ? "" : "s");
    for (int D = 64; D <= 128; D *= 2)
        for (int KV = 4; KV <= 8; KV *= 2)
            table_row(&table, "D %d, KV %d|%.0f %%|%.0f %%", D, KV, attention_share(1, 32768, KV, D, threads),
                      attention_share(4096, 4096, KV, D, threads));
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ position by position */

enum { T = 512, C = 2048, H = 32, D = 64, F = 5632 };

typedef struct {
    float *a, *b, *to; /* [T][F] at most */
    float *cosine, *sine;
} Rows;

static void norms(void *context) {
    Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) rms_norm(1, C, (void *)&r->to[t * C], (void *)&r->a[t * C], r->b, NULL, 1e-5F);
}

static void turns(void *context) {
    Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        rope_half_split(1, H, D, (void *)&r->to[t * C], (void *)&r->a[t * C], (void *)&r->cosine[t * D / 2],
                        (void *)&r->sine[t * D / 2]);
}

static void gates(void *context) {
    Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++) swiglu(F, &r->to[t * F], &r->a[t * F], &r->b[t * F]);
}

static void sums(void *context) {
    Rows *r = context;
#pragma omp parallel for
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) r->to[t * C + i] += r->a[t * C + i];
}

static void rows(int threads) {
    static const struct {
        const char *name;
        void (*run)(void *);
        double numbers; /* that are read and written for a position */
    } kernels[] = {{"RMSNorm", norms, 2 * C}, {"RoPE", turns, 2 * C + D}, {"SwiGLU", gates, 3 * F}, {"sum", sums, 3 * C}};
    Rows r = {some_numbers(T * F), some_numbers(T * F), some_numbers(T * F), some_numbers(T * D / 2), some_numbers(T * D / 2)};
    void *memory = some_numbers(SOME_MEMORY / sizeof(float));
    Table table = {0};
    table_row(&table, "%d positions, %d thread%s|of read bandwidth", T, threads, threads == 1 ? "" : "s");
    for (int i = 0; i < 4; i++)
        table_row(&table, "%s|%.0f %%", kernels[i].name,
                  share(kernels[i].run, &r, kernels[i].numbers * T * sizeof(float), SOME_MEMORY, memory, threads));
    table_print(&table, stdout);
    free(r.a), free(r.b), free(r.to), free(r.cosine), free(r.sine), free(memory);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "What a decoder layer does beside its products, on one thread and on all, beside this machine's limits.");
    int most = thread_count();
    for (int threads = 1; threads <= most; threads += most > 1 ? most - 1 : 1) {
        use_threads(threads);
        attention(threads), rows(threads);
    }
}
