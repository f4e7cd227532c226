/* Chapter 8: the online softmax by hand, FlashAttention beside chapter 6, what it keeps in memory, how fast it is. */
#include "05_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "08_flash_attention/flash_attention.c" /* the kernel with its inner parts: some are measured here */
#include "common/console.h"
#include "common/golden.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/random.h"

/* ---- the online softmax for one query, by hand: a value is one number here, D of them in the kernel */

/* All that a query carries from tile to tile. */
typedef struct {
    float max, sum, out; /* of the scores so far; of e^(score - max); of e^(score - max) value */
} Carried;

static const Carried nothing_seen = {.max = -INFINITY};

/* Shows a query one tile: its scores with the tile's keys, and their values. */
static Carried meet(Carried before, int count, const float score[count], const float value[count]) {
    Carried after = before;
    for (int s = 0; s < count; s++) after.max = fmaxf(after.max, score[s]);
    float shrink = expf(before.max - after.max); /* what was summed under the old maximum counts less under the new */
    after.sum *= shrink;
    after.out *= shrink;
    for (int s = 0; s < count; s++) {
        float weight = expf(score[s] - after.max);
        after.sum += weight;
        after.out += weight * value[s];
    }
    return after;
}

static Carried meet_all(int S, int tile, const float score[S], const float value[S]) {
    Carried carried = nothing_seen;
    for (int s = 0; s < S; s += tile) carried = meet(carried, S - s < tile ? S - s : tile, score + s, value + s);
    return carried;
}

/* What two readers of different keys know together. */
static Carried together(Carried a, Carried b) {
    float max = fmaxf(a.max, b.max), of_a = expf(a.max - max), of_b = expf(b.max - max);
    return (Carried){max, of_a * a.sum + of_b * b.sum, of_a * a.out + of_b * b.out};
}

static float result(Carried c) { return c.out / c.sum; }

enum { KEYS_BY_HAND = 4, TILE = 2 };
static const float score[KEYS_BY_HAND] = {0, 0.69314718F, 1.38629436F, 0}; /* e^score is 1, 2, 4, 1 */
static const float value[KEYS_BY_HAND] = {10, 20, 30, 40};

static void by_hand(void) {
    section("Four scores in two tiles");
    Table table = {0};
    table_row(&table, "after|scores|max|shrink|sum|out|out / sum");
    Carried c = nothing_seen;
    for (int s = 0; s < KEYS_BY_HAND; s += TILE) {
        float old = c.max;
        c = meet(c, TILE, score + s, value + s);
        table_row(&table, "tile %d|%.4f, %.4f|%.4f|%.4f|%.4f|%.4f|%.4f", s / TILE, score[s], score[s + 1], c.max,
                  expf(old - c.max), c.sum, c.out, result(c));
    }
    c = meet_all(KEYS_BY_HAND, KEYS_BY_HAND, score, value);
    table_row(&table, "softmax of all four||%.4f||%.4f|%.4f|%.4f", c.max, c.sum, c.out, result(c));
    table_print(&table, stdout);
}

static void with_one_mistake(void) {
    Carried a = meet(nothing_seen, TILE, score, value), b = meet(nothing_seen, TILE, score + TILE, value + TILE);
    float shrink = expf(a.max - b.max); /* tile 1 has the maximum of all: a must shrink, b need not */
    section("The same, with one mistake");
    Table table = {0};
    table_row(&table, "what is done|<out / sum|is");
    const struct {
        const char *name, *formula;
        float is;
    } rows[] = {
        {"right", "(0.5 * 25 + 40) / (0.5 * 1.5 + 1.25)", (shrink * a.out + b.out) / (shrink * a.sum + b.sum)},
        {"output not rescaled", "(25 + 40) / (0.5 * 1.5 + 1.25)", (a.out + b.out) / (shrink * a.sum + b.sum)},
        {"sum not rescaled", "(0.5 * 25 + 40) / (1.5 + 1.25)", (shrink * a.out + b.out) / (a.sum + b.sum)},
        {"nothing rescaled", "(25 + 40) / (1.5 + 1.25)", (a.out + b.out) / (a.sum + b.sum)},
        {"rescaled upwards", "(2 * 25 + 40) / (2 * 1.5 + 1.25)",
         (a.out / shrink + b.out) / (a.sum / shrink + b.sum)},
        {"tiles averaged", "(25 / 1.5 + 40 / 1.25) / 2", (a.out / a.sum + b.out / b.sum) / 2},
        {"never divided", "0.5 * 25 + 40", shrink * a.out + b.out}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        table_row(&table, "%s|%s|%.4f", rows[i].name, rows[i].formula, rows[i].is);
    table_print(&table, stdout);
}

static float without_maximum(const float score[KEYS_BY_HAND]) {
    float sum = 0, out = 0;
    for (int s = 0; s < KEYS_BY_HAND; s++) sum += expf(score[s]), out += expf(score[s]) * value[s];
    return fabsf(out / sum); /* NaN has a sign, and machines disagree about it */
}

static void any_cut(void) {
    section("Any cut, any order, any size of score");
    Table table = {0};
    table_row(&table, "how the four are read|out / sum|without the maximum");
    for (int tile = 1; tile <= KEYS_BY_HAND; tile++)
        table_row(&table, "tiles of %d|%.2f|", tile, result(meet_all(KEYS_BY_HAND, tile, score, value)));
    Carried a = meet_all(TILE, TILE, score, value), b = meet_all(TILE, TILE, score + TILE, value + TILE);
    table_row(&table, "two halves apart, then joined|%.2f|", result(together(a, b)));
    table_row(&table, "the same, the other way round|%.2f|", result(together(b, a)));
    for (float more = -10000; more <= 10000; more += 10000) {
        float moved[KEYS_BY_HAND];
        for (int s = 0; s < KEYS_BY_HAND; s++) moved[s] = score[s] + more;
        Carried c = meet_all(KEYS_BY_HAND, TILE, moved, value);
        table_row(&table, "tiles of %d, scores %+.0f|%.2f|%.2f", TILE, more, result(c), without_maximum(moved));
    }
    table_print(&table, stdout);
}

/* A longer walk, for the figure: the scores, then after each tile the maximum and the sum. */
static void write_walk(const char *data) {
    enum { S = 256, TILE = 16 };
    float scores[S], values[S] = {0};
    Random random = {.state = 3};
    for (int s = 0; s < S; s++) scores[s] = 2 * (float)random_normal(&random);
    Output output = data_open(data, "08_online", "key, score; keys read, max, sum; the same of a single tile");
    for (int s = 0; s < S; s++) fprintf(output.file, "%d %.4f\n", s, scores[s]);
    fprintf(output.file, "\n\n");
    Carried c = nothing_seen;
    for (int s = 0; s < S; s += TILE) {
        c = meet(c, TILE, scores + s, values + s);
        fprintf(output.file, "%d %.4f %.4f\n", s + TILE, c.max, c.sum);
    }
    c = meet_all(S, S, scores, values);
    fprintf(output.file, "\n\n%d %.4f %.4f\n", S, c.max, c.sum);
    output_close(&output);
}

/* ---- FlashAttention */

typedef struct {
    int T, S, H, KV, D;
    float *q, *k, *v, *out;
} Example;

static Example example(int T, int S, int H, int KV, int D, float size) {
    Random random = {.state = 8};
    size_t q = (size_t)T * H * D, k = (size_t)S * KV * D;
    Example e = {.T = T, .S = S, .H = H, .KV = KV, .D = D};
    e.q = allocate(q * sizeof *e.q), e.k = allocate(k * sizeof *e.k), e.v = allocate(k * sizeof *e.v);
    e.out = allocate(q * sizeof *e.out);
    random_fill(&random, q, e.q), random_fill(&random, k, e.k), random_fill(&random, k, e.v);
    for (size_t i = 0; i < q; i++) e.q[i] *= size;
    return e;
}

static void example_free(Example *e) { free(e->q), free(e->k), free(e->v), free(e->out); }

static void flash(void *example) {
    Example *e = example;
    flash_attention(e->T, e->S, e->H, e->KV, e->D, (void *)e->out, (void *)e->q, (void *)e->k, (void *)e->v);
}

static void plain(void *example) {
    Example *e = example;
    attend_last(e->T, e->S, e->H, e->KV, e->D, (void *)e->out, (void *)e->q, (void *)e->k, (void *)e->v);
}

static void compare(Table *table, const char *name, Example a, float limit) {
    Example b = a;
    b.out = allocate((size_t)a.T * a.H * a.D * sizeof *b.out);
    flash(&a), plain(&b);
    float worst = 0;
    for (int i = 0; i < a.T * a.H * a.D; i++) worst = fmaxf(worst, fabsf(a.out[i] - b.out[i]));
    table_row(table, "%s|%d|%d|%d|%d|%d|%s %.0e", name, a.T, a.S, a.H, a.KV, a.D, worst < limit ? "<" : "NOT <",
              limit);
    example_free(&a), free(b.out);
}

static void beside_chapter_6(void) {
    section("Beside chapter 6");
    Table table = {0};
    table_row(&table, "|T|S|H|KV|D|largest difference");
    compare(&table, "one token", example(1, 1, 1, 1, 1, 1), 2e-6F);
    compare(&table, "decode, 7 queries a head", example(1, 1001, 7, 1, 128, 1), 2e-6F);
    compare(&table, "checking a draft", example(3, 69, 8, 2, 80, 1), 2e-6F);
    compare(&table, "chunked prefill", example(33, 130, 6, 3, 20, 1), 2e-6F);
    compare(&table, "a tile and a key", example(17, 17, 2, 2, 3, 1), 2e-6F);
    compare(&table, "prefill", example(300, 300, 8, 2, 64, 1), 2e-6F);
    compare(&table, "prefill, scores to 10000", example(300, 300, 8, 2, 64, 2000), 2e-3F);
    table_print(&table, stdout);
}

static void memory(const char *data) {
    enum { D = 128 }; /* of every Llama but the smallest */
    Output output = {0};
    if (data) output = data_open(data, "08_memory", "T, bytes for one head: T x T scores, 128 x T, FlashAttention");
    section("Bytes to work in, for a head of %d", D);
    Table table = {0};
    table_row(&table, "T = S|T x T scores, MiB|%d x T scores, MiB|FlashAttention, MiB", TEAM * LANES);
    for (long T = 512; T <= 131072; T *= 2) {
        const Problem p = {.T = T, .S = T, .H = 1, .KV = 1, .D = D, .width = D};
        double all = 4.0 * T * T, rows = 4.0 * TEAM * LANES * T, flash = 4.0 * TEAM * set_floats(&p), MiB = 1 << 20;
        table_row(&table, "%ld|%g|%g|%g", T, all / MiB, rows / MiB, flash / MiB);
        if (data) fprintf(output.file, "%ld %g %g %g\n", T, all, rows, flash);
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

/* Cuts the T x T scores into tiles, as for one head a group and 16 lanes, and counts what causality leaves of them. */
static void tiles(const char *data) {
    enum { SIDE = 16, PICTURE = 128 };
    Output output = {0};
    if (data) output = data_open(data, "08_tiles", "first query, first key; 0 skipped, 1 masked in part, 2 whole");
    section("Which tiles are computed");
    Table table = {0};
    table_row(&table, "T = S|tiles|skipped|masked in part|whole|scores computed / needed");
    for (long T = PICTURE; T <= 8192; T *= 4) {
        long count[3] = {0};
        for (long t = 0; t < T; t += SIDE)
            for (long s = 0; s < T; s += SIDE) {
                int kind = s > t + SIDE - 1 ? 0 : s + SIDE - 1 > t ? 1 : 2;
                count[kind]++;
                if (data && T == PICTURE) fprintf(output.file, "%ld %ld %d\n", t, s, kind);
            }
        table_row(&table, "%ld|%ld|%ld|%ld|%ld|%.3f", T, T / SIDE * (T / SIDE), count[0], count[1], count[2],
                  (double)(count[1] + count[2]) * SIDE * SIDE / (T * (T + 1) / 2.0));
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

static void exponential(void) {
    section("How exact exp_negative is");
    Table table = {0};
    table_row(&table, "x|largest error");
    const float bounds[] = {0, -0.1F, -1, -10, -87};
    for (int b = 1; b < 5; b++) {
        double worst = 0; /* in ulps */
        for (int i = 0; i <= 1000000; i++) {
            float x = bounds[b - 1] + (bounds[b] - bounds[b - 1]) * (float)i * 1e-6F;
            double exact = exp((double)x);
            worst = fmax(worst, fabs(exp_negative(x) - exact) / (nextafterf((float)exact, 2) - (float)exact));
        }
        table_row(&table, "%g to %g|%s 1.5 ulp", bounds[b], bounds[b - 1], worst < 1.5 ? "<" : "NOT <");
    }
    table_print(&table, stdout);
}

static void agreement(void) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "case|T|S|H|KV|D|our error, ulps|PyTorch's|wrong");
    Golden golden = golden_open("flash_attention");
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        const size_t *q = golden_input(c, "q")->shape, *k = golden_input(c, "k")->shape;
        Tensor got = c->expected;
        Example e = {.T = (int)q[0], .S = (int)k[0], .H = (int)q[1], .KV = (int)k[1], .D = (int)q[2]};
        e.q = tensor_to_float(golden_input(c, "q")), e.k = tensor_to_float(golden_input(c, "k"));
        e.v = tensor_to_float(golden_input(c, "v")), e.out = allocate(tensor_bytes(&got));
        flash(&e);
        got.data = e.out;
        Agreement a = golden_check(c, false, &got);
        table_row(&table, "%s|%d|%d|%d|%d|%d|%.1f|%.1f|%zu of %zu", c->name, e.T, e.S, e.H, e.KV, e.D, a.ulps,
                  a.reference, a.wrong, a.count);
        example_free(&e);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

static void speed(void) {
    section("Speed");
    Table table = {0};
    double peak = fma_peak(thread_count());
    table_row(&table, "T = S|of FMA peak|times chapter 6's speed");
    for (int T = 256; T <= 512; T *= 2) {
        Example e = example(T, T, 8, 2, 128, 1);
        double operations = 4.0 * e.H * e.D * T * (T + 1) / 2, time = best_seconds(flash, &e), start = seconds();
        plain(&e);
        table_row(&table, "%d|%.0f %%|%.0f", T, 100 * operations / time / peak, (seconds() - start) / time);
        example_free(&e);
    }
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 8, FlashAttention: attention tile by tile.");
    by_hand();
    with_one_mistake();
    any_cut();
    beside_chapter_6();
    memory(data);
    tiles(data);
    exponential();
    agreement();
    speed();
    if (data) write_walk(data);
}
