/* Chapter 12: eleven versions of the matrix product, called rungs, each beside the speed that its
 * limits predict; and four versions of attention. */
#include "06_grouped_query/grouped_query.h"
#include "12_speed/climb.h"
#include "12_speed/flash_attention.h"
#include "12_speed/machine_limits.h"
#include "12_speed/pairs.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/options.h"
#include "common/random.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>

static void what_limits(const Step *first, const Step *end) {
    section("What limits each rung");
    Table table = {0};
    table_row(&table, "rung|lanes|accumulators|loads per multiply-add|weights read for %d rows",
              MANY);
    for (const Step *s = first; s < end; s++)
        table_row(&table, "%s|%s|%d|%.2f|%s", s->name, s->many.lanes == 1 ? "one" : "all",
                  s->many.sums, (double)s->many.loads / s->many.uses,
                  s->once ? "once" : "128 times");
    table_print(&table, stdout);
}

/* ---- is it right? */

static size_t wrong_numbers(const Step *step, const GoldenCase *c) {
    const Tensor *x = golden_input(c, "x"), *weight = golden_input(c, "weight"),
                 *bias = golden_input(c, "bias");
    int rows = (int)x->shape[0], in = (int)x->shape[1], out = (int)weight->shape[0];
    Tensor got = c->expected;
    float *y = xmalloc(tensor_bytes(&got));
    step->run(rows, in, out, (void *)y, x->data, weight->data);
    for (int k = 0; bias && k < rows * out; k++) y[k] += ((const float *)bias->data)[k % out];
    got.data = y;
    size_t wrong = golden_check(c, false, &got).wrong;
    free(y);
    return wrong;
}

static void against_pytorch(const Step *first, const Step *end) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "rung|cases|wrong numbers");
    Golden golden = golden_open("linear");
    for (const Step *s = first; s < end; s++) {
        if (s->dtype != F32) continue; /* the cases are float32 */
        size_t wrong = 0;
        for (int c = 0; c < golden.count; c++) wrong += wrong_numbers(s, &golden.cases[c]);
        table_row(&table, "%s|%d|%zu", s->name, golden.count, wrong);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

/* ---- how fast is it? */

static void climb(const Step *first, const Step *end) {
    section("The ladder");
    Task one = task_new(1), many = task_new(MANY);
    Table table = {0};
    double dots = 0;
    table_row(&table,
              "rung|1 row: predicted|of read bandwidth|GB/s|%d rows: predicted|of FMA peak|GFLOP/s",
              MANY);
    for (const Step *s = first; s < end; s++) {
        Speed few = speed_of(s, &one), most = speed_of(s, &many);
        table_row(&table, "%s|%.0f %%|%.0f %%|%.1f|%.1f %%|%.1f %%|%.1f", s->name,
                  100 * share_of_limit(&few, &one, few.predicted),
                  100 * share_of_limit(&few, &one, few.measured),
                  few.measured / few.operations / 1e9,
                  100 * share_of_limit(&most, &many, most.predicted),
                  100 * share_of_limit(&most, &many, most.measured), most.measured / 1e9);
        if (s->pairs) dots = most.pairs / most.fma;
    }
    table_print(&table, stdout);
    printf("Rungs 0 to 7 run on one thread, the others on %d, beside the limits of as many.\n",
           thread_count());
    if (dots > 0)
        printf(
            "BF16 dot products reach %.2f times the FMA peak, so fast_linear_tensor() %s them.\n",
            dots, bf16_dots_pay() ? "uses" : "does not use");
    task_free(&one);
    task_free(&many);
}

/* ---- attention */

enum { H = 16, KV = 4, D = 64, PREFILL = MEASURES ? 512 : 64, DECODE = MEASURES ? 16384 : 512 };

typedef struct {
    const char *name;
    bool shared; /* by all threads */
    int number;  /* prefill: sets of queries that share a tile of keys; decode: parts of the keys;
                    0: chapter 6's loops, which hold all scores of a query */
} Way;

typedef struct {
    int T, S;
    float *q, *k, *v, *out;
} Heads;

static Heads heads_new(int T, int S) {
    Random random = {.state = 8};
    size_t queries = (size_t)T * H * D, keys = (size_t)S * KV * D;
    Heads h = {.T = T,
               .S = S,
               .q = xmalloc(queries * sizeof(float)),
               .k = xmalloc(keys * sizeof(float)),
               .v = xmalloc(keys * sizeof(float)),
               .out = xmalloc(queries * sizeof(float))};
    random_fill(&random, queries, h.q);
    random_fill(&random, keys, h.k);
    random_fill(&random, keys, h.v);
    return h;
}

static void heads_free(Heads *h) {
    free(h->q);
    free(h->k);
    free(h->v);
    free(h->out);
}

static void attend(const Way *way, const Heads *h) {
    int T = h->T, S = h->S;
    void *out = h->out, *q = h->q, *k = h->k, *v = h->v;
    if (way->number == 0) gqa_attention_with_past(T, S, H, KV, D, out, q, k, v);
    else if (T > 1) flash_prefill(way->number, T, S, H, KV, D, out, NULL, q, k, v);
    else flash_decode_split_kv(way->number, T, S, H, KV, D, out, q, k, v);
}

/* The speed as a fraction of its limit, which is measured in alternation with it: multiply-adds for
 * many queries, reading for one. */
static double share(const Way *way, const Heads *h) {
    int threads = way->shared ? thread_count() : 1, most = thread_count();
    double work = h->T > 1 ? 2.0 * H * D * h->T * (h->T + 1) : 2.0 * h->S * KV * D * sizeof(float);
    double time = INFINITY, limit = 0;
    use_threads(threads);
    for (Rounds turns = rounds_new(); rounds_go_on(&turns);) {
        double start = work_seconds(threads);
        attend(way, h);
        time = fmin(time, work_seconds(threads) - start);
        start = work_seconds(threads);
        int way_to_read = turns.count % READING_WAYS;
        double done = h->T > 1 ? multiply_adds(threads)
                               : read_memory(threads, way_to_read, (size_t)work / 2, h->k);
        limit = fmax(limit, done / (work_seconds(threads) - start));
    }
    use_threads(most);
    return work / time / limit;
}

static void climb_attention(void) {
    static const Way prefill[] = {{"chapter 6's loops", false, 0},
                                  {"SIMD over queries", false, 1},
                                  {"blocks of queries", false, 8},
                                  {"threads", true, 8}};
    static const Way decode[] = {{"chapter 6's loops", false, 0},
                                 {"SIMD", false, 1},
                                 {"split keys", false, 16},
                                 {"threads", true, 16}};
    Heads many = heads_new(PREFILL, PREFILL), one = heads_new(1, DECODE);
    section("Attention");
    Table table = {0};
    table_row(&table, "prefill of %d|of FMA peak|decode after %d|of read bandwidth", PREFILL,
              DECODE);
    for (int i = 0; i < 4; i++)
        table_row(&table, "%s|%.1f %%|%s|%.1f %%", prefill[i].name, 100 * share(&prefill[i], &many),
                  decode[i].name, 100 * share(&decode[i], &one));
    table_print(&table, stdout);
    heads_free(&many);
    heads_free(&one);
}

int main(int argc, char **argv) {
    const char *rung = NULL;
    int count;
    const Step *steps = matmul_benchmarks(&count), *first = steps, *end = steps + count;
    const Option options[] = {{"rung", "N", "only rung N, from 0 to 10", &rung}};
    only_options(
        argc, argv, "[--rung N]",
        "Chapter 12, speed: versions of the matrix product and of attention, beside their limits.",
        1, options);
    if (rung) {
        first += option_number("rung", rung, 0, count - 1);
        end = first + 1;
    }
    if (!rung) what_limits(first, end);
    against_pytorch(first, end);
    climb(first, end);
    if (!rung) climb_attention();
}
