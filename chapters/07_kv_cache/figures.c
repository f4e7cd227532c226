/* Writes the data of this chapter's figures, and prints what a cache saves and costs. */
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/llamas.h"
#include "common/options.h"

#include <stdint.h>

/* A layer of Llama 3 8B: its width, its weights (chapters 6 and 3), and the bytes that a token
 * leaves in its cache. */
enum { WIDTH = 4096, WEIGHTS = 41943040 + 176160768, ROW = 4096 };

/* Operations: two for each weight, and for each number of each key that a query sees two in its
 * score and two in the sum of values. */
static int64_t one_token(int64_t keys) { return 2 * (int64_t)WEIGHTS + 4 * (int64_t)WIDTH * keys; }

static int64_t all_tokens(int n) {
    int64_t sum = 0;
    for (int keys = 1; keys <= n; keys++) sum += one_token(keys);
    return sum;
}

static void cost(const char *data) {
    static const int lengths[] = {1, 128, 1024, 8192, 26624, 131072};
    Table operations = {0}, bytes = {0};
    table_row(&operations, "n|GFLOP with the cache|without|ratio");
    table_row(&bytes, "n|MB read: weights|cache|FLOP per byte: decode|prefill of n");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        double with = (double)one_token(n), without = (double)all_tokens(n),
               weights = 2.0 * WEIGHTS;
        double cache = (double)n * ROW;
        table_row(&operations, "%d|%.3f|%.1f|%.0f", n, 1e-9 * with, 1e-9 * without, without / with);
        table_row(&bytes, "%d|%.1f|%.1f|%.1f|%.0f", n, 1e-6 * weights, 1e-6 * cache,
                  with / (weights + cache), without / weights);
    }
    section("Cost of token n in one layer of Llama 3 8B");
    table_print(&operations, stdout);
    section("Memory traffic of one layer of Llama 3 8B");
    table_print(&bytes, stdout);

    if (!data) return;
    Output output = data_open(data, "07_cost",
                              "token n, GFLOP of a layer of Llama 3 8B with the cache, without");
    for (int n = 1; n <= 131072; n *= 2)
        fprintf(output.file, "%d %.6g %.6g\n", n, 1e-9 * (double)one_token(n),
                1e-9 * (double)all_tokens(n));
    output_close(&output);
}

/* ---- the published models */

enum { BYTES = 2 }; /* of a BF16 */

/* For the model, if it had that many key/value heads. */
static long bytes_of(const LlamaSizes *m, int KV) {
    return kv_bytes_per_token(m->L, KV, llama_head_width(m), BYTES);
}

static void cache(const char *data) {
    section("KV cache size of Llama models");
    Table table = {0};
    table_row(&table,
              "model|KiB per token|with KV = H|with KV = 1|context length|GiB|GiB with KV = H");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++)
        for (int n = 0; n < 2 && m->contexts[n] > 0; n++)
            table_row(&table, "%s|%ld|%ld|%ld|%d|%.2f|%.2f", llama_names(m),
                      bytes_of(m, m->KV) / 1024, bytes_of(m, m->H) / 1024, bytes_of(m, 1) / 1024,
                      m->contexts[n], (double)bytes_of(m, m->KV) * m->contexts[n] / 0x1p30,
                      (double)bytes_of(m, m->H) * m->contexts[n] / 0x1p30);
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "07_cache", "KiB per token, query heads that share one, name");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++)
        fprintf(output.file, "%ld %d \"%s\"\n", bytes_of(m, m->KV) / 1024, m->H / m->KV,
                llama_names(m));
    output_close(&output);
}

/* The scores, keys and values that each of four calls computes: a prompt of 4, a chunk of 3, two
 * single tokens. */
static void steps(const char *data) {
    static const int length[] = {0, 4, 7, 8, 9}; /* before each call */
    if (!data) return;
    Output output =
        data_open(data, "07_steps", "call, query, key, whether this call computes the score");
    for (int call = 0; call < 4; call++)
        for (int query = 0; query < length[call + 1]; query++)
            for (int key = 0; key <= query; key++)
                fprintf(output.file, "%d %d %d %d\n", call, query, key, query >= length[call]);
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 7 draw.");
    cost(data);
    cache(data);
    steps(data);
}
