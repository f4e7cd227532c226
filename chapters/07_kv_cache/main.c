/* Chapter 7: a cache on paper, a token too many, why it is allowed, one layer run in ten ways, and what it saves. */
#include "07_kv_cache/kv_cache.h"
#include "04_rope/rope.h"
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/linear.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- on paper: four tokens, one head of width 1. Every query is ln 2, so that a key n weighs 2^n. */

enum { PAPER = 4 };
static const float paper_q[PAPER][1][1] = {{{0.69314718F}}, {{0.69314718F}}, {{0.69314718F}}, {{0.69314718F}}};
static const float paper_k[PAPER][1][1] = {{{0}}, {{1}}, {{2}}, {{3}}};
static const float paper_v[PAPER][1][1] = {{{7}}, {{10}}, {{2}}, {{20}}};

static void four_tokens(void) {
    float cache_k[PAPER][1][1], cache_v[PAPER][1][1], out[PAPER][1][1];
    float late_k[PAPER + 1][1][1] = {0}, late_v[PAPER + 1][1][1] = {0}, late[PAPER][1][1];
    section("Four tokens on paper");
    Table table = {0};
    table_row(&table, "call|position|key|value|rows filled|output|one slot late");
    for (int t = 0, T = 2; t < PAPER; t += T, T = 1) {
        cached_attention(PAPER, t, T, 1, 1, 1, out + t, cache_k, cache_v, paper_q + t, paper_k + t, paper_v + t);
        kv_cache_append(PAPER + 1, 1, 1, late_k, late_v, t + 1, T, paper_k + t, paper_v + t);
        attend_last(T, t + T, 1, 1, 1, late + t, paper_q + t, late_k, late_v);
        for (int i = t; i < t + T; i++)
            table_row(&table, "%s|%d|%g|%g|%d|%.4f|%.4f", T == 2 ? "prefill" : "decode", i, paper_k[i][0][0],
                      paper_v[i][0][0], t + T, out[i][0][0], late[i][0][0]);
    }
    table_print(&table, stdout);
}

/* fail() ends the program, so a child is sent ahead. The cache is shared with it: we see what it wrote. */
static void one_too_many(void) {
    enum { SHARED = MAP_SHARED | MAP_ANONYMOUS };
    float(*cache)[PAPER][1][1] = mmap(NULL, 2 * sizeof *cache, PROT_READ | PROT_WRITE, SHARED, -1, 0);
    if (cache == MAP_FAILED) fail("no shared memory for a cache of four tokens");
    int status, length = kv_cache_append(PAPER, 1, 1, cache[0], cache[1], 0, 3, paper_k, paper_v);
    section("Two tokens for one free row");
    fflush(stdout);
    if (fork() == 0) {
        dup2(STDOUT_FILENO, STDERR_FILENO);
        kv_cache_append(PAPER, 1, 1, cache[0], cache[1], length, 2, paper_k, paper_v);
        _exit(0); /* never reached */
    }
    if (wait(&status) < 0) fail("no child process for the token that does not fit");
    printf("exit status %d, values in the cache: %g %g %g %g\n", WEXITSTATUS(status), cache[1][0][0][0],
           cache[1][1][0][0], cache[1][2][0][0], cache[1][3][0][0]);
    munmap(cache, 2 * sizeof *cache);
}

/* ---- two layers with random weights; the second reads what the first one gives */

enum { KV = 2, H = 4, D = 16, C = H * D, TEXT = 128 };
static struct { float q[H * D][C], k[KV * D][C], v[KV * D][C]; } layers[2];
static float text[TEXT][C], angles[2][TEXT][D / 2];
static int projected, turned; /* tokens projected, heads turned so far */

static void random_model(void) {
    Random random = {.state = 7};
    RopeParameters llama3 = {.rope_theta = 5e5};
    float inv_freq[D / 2], factor = rope_frequencies(D, inv_freq, &llama3, TEXT);
    int positions[TEXT];
    for (int t = 0; t < TEXT; t++) positions[t] = t;
    rope_table(TEXT, D, angles, positions, inv_freq, factor);
    random_fill(&random, TEXT * C, (float *)text);
    for (float *weight = (float *)layers; weight < (float *)(layers + 2); weight++)
        *weight = (float)(random_normal(&random) / sqrt(C)); /* what goes in with variance 1 comes out with it */
}

static void project(int layer, int T, float q[T][H][D], float k[T][KV][D], float v[T][KV][D], const float x[T][C]) {
    linear(T, C, H * D, (float(*)[H * D])q, x, layers[layer].q, NULL);
    linear(T, C, KV * D, (float(*)[KV * D])k, x, layers[layer].k, NULL);
    linear(T, C, KV * D, (float(*)[KV * D])v, x, layers[layer].v, NULL);
    projected += T;
}

/* RoPE in place: the rows of x stand at positions first, first + 1, … */
static void turn(int first, int T, int heads, float x[T][heads][D]) {
    float unturned[T][heads][D];
    memcpy(unturned, x, sizeof unturned);
    rope_half_split(T, heads, D, x, unturned, angles[0] + first, angles[1] + first);
    turned += T * heads;
}

static void keys_of_both_layers(int T, bool causal, float k[2][T][KV][D]) {
    float x[T][C], q[T][H][D], v[T][KV][D];
    memcpy(x, text, sizeof x);
    for (int layer = 0; layer < 2; layer++) {
        project(layer, T, q, k[layer], v, x);
        turn(0, T, H, q), turn(0, T, KV, k[layer]);
        for (int t = 0; t < T; t++) /* a query sees the keys up to its own, or all */
            attend_last(1, causal ? t + 1 : T, H, KV, D, (float(*)[H][D])x[t], q + t, k[layer], v);
    }
}

/* What the tolerance policy says of `got`, if `right` is right. */
static Agreement compare(int T, int heads, const float got[T][heads][D], const float right[T][heads][D]) {
    size_t count = (size_t)T * heads * D;
    double *truth = allocate(count * sizeof *truth);
    for (size_t i = 0; i < count; i++) truth[i] = ((const float *)right)[i];
    Agreement agreement = check_within(CHECK_ULPS, count, D, (const float *)got, truth);
    free(truth);
    return agreement;
}

static void why_it_is_allowed(void) {
    enum { OLD = 8 };
    section("By how much a ninth token changes the first eight keys");
    Table table = {0};
    table_row(&table, "attention|layer 1|layer 2");
    for (int causal = 1; causal >= 0; causal--) {
        float before[2][OLD][KV][D], after[2][OLD + 1][KV][D];
        keys_of_both_layers(OLD, causal, before), keys_of_both_layers(OLD + 1, causal, after);
        table_row(&table, "%s|%.4f|%.4f", causal ? "causal, as in a Llama" : "without a mask, as in BERT",
                  compare(OLD, KV, after[0], before[0]).worst, compare(OLD, KV, after[1], before[1]).worst);
    }
    table_print(&table, stdout);
}

/* ---- one layer, ten ways */

enum { ROWS = TEXT + 1, SHORT = 24 };
typedef struct { int length; float k[ROWS][KV][D], v[ROWS][KV][D]; } Cache;
typedef enum { RIGHT, FORGETFUL, TURNED_AT_READING, TURNED_TWICE, FROM_ZERO, SLOT_LATE, MASK_TOP_LEFT } How;

/* The next T tokens of the text. */
static void with_cache(Cache *c, int T, float out[T][H][D]) {
    float q[T][H][D], k[T][KV][D], v[T][KV][D];
    project(0, T, q, k, v, text + c->length);
    turn(c->length, T, H, q), turn(c->length, T, KV, k);
    cached_attention(ROWS, c->length, T, H, KV, D, out, c->k, c->v, q, k, v);
    c->length += T;
}

/* What else people do, right or wrong, each at its place. */
static void otherwise(How how, Cache *c, int T, float out[T][H][D]) {
    int S = c->length + T, first = how == FROM_ZERO ? 0 : c->length;
    float q[T][H][D], k[T][KV][D], v[T][KV][D], keys[S][KV][D];
    project(0, T, q, k, v, text + c->length);
    turn(first, T, H, q);
    if (how != TURNED_AT_READING) turn(first, T, KV, k);
    kv_cache_append(ROWS, KV, D, c->k, c->v, c->length + (how == SLOT_LATE), T, k, v);
    memcpy(keys, c->k, sizeof keys);
    if (how == TURNED_AT_READING || how == TURNED_TWICE) turn(0, S, KV, keys);
    for (int t = 0; t < T; t++)
        attend_last(1, (how == MASK_TOP_LEFT ? 0 : c->length) + t + 1, H, KV, D, out + t, q + t, keys, c->v);
    c->length += T;
}

/* Without a cache, each step does the whole text again. */
static void run(How how, int prompt, int chunk, float out[SHORT][H][D]) {
    static Cache c;
    c = (Cache){0}, projected = turned = 0;
    for (int done = 0, T = prompt; done < SHORT; done += T, T = chunk < SHORT - done ? chunk : SHORT - done) {
        if (how == FORGETFUL) c.length = 0, with_cache(&c, done + T, out);
        else if (how == RIGHT) with_cache(&c, T, out + done);
        else otherwise(how, &c, T, out + done);
    }
}

static void ten_ways(void) {
    static const struct { const char *name; How how; int prompt, chunk; } ways[] = {
        {"the whole text at once", RIGHT, SHORT, 0},
        {"without a cache, token by token", FORGETFUL, 1, 1},
        {"token by token", RIGHT, 1, 1},
        {"in chunks of 5", RIGHT, 5, 5},
        {"prompt of 8, then token by token", RIGHT, 8, 1},
        {"  keys turned when they are read", TURNED_AT_READING, 8, 1},
        {"  turned, and again when they are read", TURNED_TWICE, 8, 1},
        {"  positions from 0 in every call", FROM_ZERO, 8, 1},
        {"  one slot late", SLOT_LATE, 8, 1},
        {"  mask from the top left", MASK_TOP_LEFT, 8, 1}};
    float right[SHORT][H][D], out[SHORT][H][D];
    run(RIGHT, SHORT, 0, right);
    section("One layer, ten ways");
    Table table = {0};
    table_row(&table, "24 tokens|projected|heads turned|largest difference|wrong positions|the first");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run(ways[i].how, ways[i].prompt, ways[i].chunk, out);
        Agreement all = compare(SHORT, H, out, right);
        int wrong = 0;
        for (int t = 0; t < SHORT; t++) wrong += compare(1, H, out + t, right + t).wrong > 0;
        table_row(&table, wrong ? "%s|%d|%d|%.4f|%d|%zu" : "%s|%d|%d|%.4f|%d|", ways[i].name, projected, turned,
                  all.worst, wrong, all.first_wrong / (H * D));
    }
    table_print(&table, stdout);
}

/* ---- what it saves. Operations: two for each weight, and four for each number of each key that a query sees, two in
 * its score and two in the sum of values. */

static int64_t one_token(int64_t weights, int64_t width, int64_t keys) { return 2 * weights + 4 * width * keys; }

static int64_t all_tokens(int64_t weights, int64_t width, int n) {
    int64_t sum = 0;
    for (int keys = 1; keys <= n; keys++) sum += one_token(weights, width, keys);
    return sum;
}

/* A layer of Llama 3 8B: its width, its weights (of chapters 6 and 3), the bytes that a token leaves in its cache. */
enum { WIDTH = 4096, WEIGHTS = 41943040 + 176160768, BYTES = 4096, LAYERS = 32 };

static void costs(void) {
    Table operations = {0}, bytes = {0};
    table_row(&operations, "n|GFLOP with the cache|without, counted|by the formula|ratio");
    table_row(&bytes, "n|MB read: weights|cache|FLOP a byte, with|without|cache of %d layers, GiB", LAYERS);
    for (const int *n = (int[]){1, 128, 1024, 8192, 26624, 131072, 0}; *n; n++) {
        double with = (double)one_token(WEIGHTS, WIDTH, *n), without = (double)all_tokens(WEIGHTS, WIDTH, *n);
        double formula = 2.0 * (double)*n * (WEIGHTS + WIDTH * (double)(*n + 1));
        double weights = 2.0 * WEIGHTS, cache = (double)*n * BYTES;
        table_row(&operations, "%d|%.3f|%.3f|%.3f|%.0f", *n, 1e-9 * with, 1e-9 * without, 1e-9 * formula,
                  without / with);
        table_row(&bytes, "%d|%.1f|%.1f|%.1f|%.0f|%.3f", *n, 1e-6 * weights, 1e-6 * cache, with / (weights + cache),
                  without / weights, LAYERS * cache / 0x1p30);
    }
    section("Token n in one layer of Llama 3 8B");
    table_print(&operations, stdout);
    section("What it reads, and what the cache takes");
    table_print(&bytes, stdout);
}

/* ---- the same measured, in the small layer */

typedef struct { Cache *cache; int from, T; } Part; /* of the text */

static void compute(void *context) {
    static float out[TEXT][H][D];
    const Part *part = context;
    part->cache->length = part->from;
    with_cache(part->cache, part->T, out);
    keep(out);
}

static void measured(void) {
    static Cache cache;
    enum { SMALL = C * (H + 2 * KV) * D };
    double peak = fma_peak(1);
    section("Measured in the small layer");
    printf("One thread computes up to %.0f FLOP in the time in which it reads a byte.\n", peak / read_bandwidth(1, SOME_MEMORY));
    Table table = {0};
    table_row(&table, "n|with: of the FMA peak|without|without / with: time|operations");
    for (int n = 8; n <= TEXT; n *= 4) {
        double without = best_seconds(compute, &(Part){&cache, 0, n}); /* leaves n tokens in the cache */
        double with = best_seconds(compute, &(Part){&cache, n - 1, 1});
        double one = (double)one_token(SMALL, C, n), all = (double)all_tokens(SMALL, C, n);
        table_row(&table, "%d|%.1f %%|%.1f %%|%.0f|%.0f", n, 100 * one / with / peak, 100 * all / without / peak,
                  without / with, all / one);
    }
    table_print(&table, stdout);
}

/* ---- agreement with PyTorch, and what the figures show */

static void agreement(void) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "case|capacity|length|T|our error, ulps|PyTorch's|wrong");
    Golden golden = golden_open("cached_attention");
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        const Tensor *rows = golden_input(c, "cache_k");
        Tensor got = c->expected;
        int capacity = (int)rows->shape[0], length = (int)tensor_get(golden_input(c, "length"), 0);
        int T = (int)got.shape[0], H = (int)got.shape[1], KV = (int)rows->shape[1], D = (int)got.shape[2];
        void *cache_k = tensor_to_float(rows), *cache_v = tensor_to_float(golden_input(c, "cache_v"));
        void *q = tensor_to_float(golden_input(c, "q")), *k = tensor_to_float(golden_input(c, "k"));
        void *v = tensor_to_float(golden_input(c, "v")), *out = allocate(tensor_bytes(&got));
        cached_attention(capacity, length, T, H, KV, D, out, cache_k, cache_v, q, k, v);
        got.data = out;
        Agreement a = golden_check(c, false, &got);
        table_row(&table, "%s|%d|%d|%d|%.1f|%.1f|%zu of %zu", c->name, capacity, length, T, a.ulps, a.reference,
                  a.wrong, a.count);
        free(cache_k), free(cache_v), free(q), free(k), free(v), free(out);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

static void write_data(const char *directory) {
    Output cost = data_open(directory, "07_cost", "token n, GFLOP of a layer of Llama 3 8B with the cache, without");
    for (int n = 1; n <= 131072; n *= 2)
        fprintf(cost.file, "%d %.6g %.6g\n", n, 1e-9 * (double)one_token(WEIGHTS, WIDTH, n),
                1e-9 * (double)all_tokens(WEIGHTS, WIDTH, n));
    output_close(&cost);

    Output steps = data_open(directory, "07_steps", "call, query, key, whether this call computes the score");
    static const int length[] = {0, 4, 7, 8, 9}; /* before each call: a prompt of 4, a chunk of 3, two tokens */
    for (int call = 0; call < 4; call++)
        for (int query = 0; query < length[call + 1]; query++)
            for (int key = 0; key <= query; key++)
                fprintf(steps.file, "%d %d %d %d\n", call, query, key, query >= length[call]);
    output_close(&steps);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 7, the KV cache: prefill and decode.");
    four_tokens();
    one_too_many();
    random_model();
    why_it_is_allowed();
    ten_ways();
    costs();
    measured();
    agreement();
    if (data) write_data(data);
}
