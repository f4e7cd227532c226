/* Writes the data of this chapter's figures, and prints what FlashAttention needs and what it
 * saves. */
#include "08_flash_attention/flash_attention.h"
#include "common/console.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <string.h>

enum { D = 128, MiB = 1 << 20, FLOAT = 4, HALF = 2 }; /* a head of every Llama but the smallest */

/* Memory of one head beside its inputs and output: for a block its queries, m, l and O, and a
 * tile of K and V. */
static double block_bytes(int rows, int keys) {
    return FLOAT * (2.0 * rows * D + 2 * rows + 2 * keys * D);
}

static void memory(const char *data) {
    enum { ROWS = 128, TILE = 16 };
    Output output = {0};
    if (data)
        output = data_open(data, "08_memory",
                           "T, bytes for one head: T x T scores, 128 x T, FlashAttention");
    section("Working memory of one head of dimension %d", D);
    Table table = {0};
    table_row(&table, "T = S|T x T scores, MiB|%d x T scores, MiB|FlashAttention, MiB", ROWS);
    for (long T = 512; T <= 131072; T *= 2) {
        double all = (double)FLOAT * T * T, rows = (double)FLOAT * ROWS * T,
               flash = block_bytes(ROWS, TILE);
        if (T == 512 || T == 8192 || T == 131072)
            table_row(&table, "%ld|%g|%g|%.2f", T, all / MiB, rows / MiB, flash / MiB);
        if (data) fprintf(output.file, "%ld %g %g %g\n", T, all, rows, flash);
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

/* All queries of a text read the keys and values before them, so many queries at a time. */
static void traffic(void) {
    static const int blocks[] = {1, 16, 128, 1024};
    enum { T = 8192 };
    section("Memory traffic of one head for %d tokens", T);
    Table table = {0};
    table_row(&table, "queries per block|size of block, KiB|K and V read, MiB");
    for (int i = 0; i < 4; i++) {
        double bytes = 0;
        for (int t = 0; t < T; t += blocks[i]) bytes += (double)(t + blocks[i]) * 2 * D * HALF;
        table_row(&table, "%d|%.0f|%.0f", blocks[i], block_bytes(blocks[i], 16) / 1024,
                  bytes / MiB);
    }
    table_print(&table, stdout);
}

/* Cuts the T x T scores into tiles of 16 x 16, and counts what causality leaves of them. */
static void tiles(const char *data) {
    enum { SIDE = 16, PICTURE = 128 };
    Output output = {0};
    if (data)
        output =
            data_open(data, "08_tiles", "first query, first key; 0 skipped, 1 in part, 2 whole");
    section("Which tiles are computed");
    Table table = {0};
    table_row(&table, "T = S|tiles|skipped|in part|whole");
    for (long T = PICTURE; T <= 8192; T *= 8) {
        long count[3] = {0};
        for (long t = 0; t < T; t += SIDE)
            for (long s = 0; s < T; s += SIDE) {
                int kind = s > t ? 0 : s == t ? 1 : 2;
                count[kind]++;
                if (data && T == PICTURE) fprintf(output.file, "%ld %ld %d\n", t, s, kind);
            }
        table_row(&table, "%ld|%ld|%ld|%ld|%ld", T, T / SIDE * (T / SIDE), count[0], count[1],
                  count[2]);
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

/* The text's last query, in tiles of four tokens: its scores, and its running state after each
 * tile. */
static void online_softmax(const char *data) {
    enum { FOUR = 4 };
    if (!data) return;
    Sentence s = sentence_open();
    const float(*q)[s.D] = sentence_tensor(&s, "head/q", 2, s.T, s.D);
    const float(*k)[s.D] = sentence_tensor(&s, "head/k", 2, s.T, s.D);
    const float(*v)[s.D] = sentence_tensor(&s, "head/v", 2, s.T, s.D);
    const float(*scores)[s.T] = sentence_tensor(&s, "head/scores", 2, s.T, s.T);
    Output output =
        data_open(data, "08_online",
                  "key, score, token; first key of a tile, keys, m, l: before rescaled after");
    for (int t = 0; t < s.T; t++)
        fprintf(output.file, "%d %.4f %s\n", t, scores[s.T - 1][t],
                strcmp(s.token[t], "\\n") == 0 ? "↵" : s.token[t]);
    fprintf(output.file, "\n\n");
    double m = -INFINITY, l = 0, O[s.D];
    for (int i = 0; i < s.D; i++) O[i] = 0;
    for (int s0 = 0; s0 < s.T; s0 += FOUR) {
        int n = s.T - s0 < FOUR ? s.T - s0 : FOUR;
        double m_before = m, l_before = l;
        online_softmax_tile(n, s.D, &m, &l, O, q[s.T - 1], k + s0, v + s0);
        fprintf(output.file, "%d %d %.4f %.4f %.4f %.4f\n", s0, n, m, l_before,
                l_before * exp(m_before - m), l);
    }
    output_close(&output);
    sentence_close(&s);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 8 draw.");
    memory(data);
    traffic();
    tiles(data);
    online_softmax(data);
}
