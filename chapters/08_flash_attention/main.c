/* Chapter 8: the online softmax by hand, its mistakes, and FlashAttention on the course's text. */
#include "08_flash_attention/flash_attention.h"
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/random.h"
#include "common/sentence.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- by hand: one query of width 1, so that a score is a key and a value is one number */

typedef struct {
    double m, l, O[1]; /* of the scores so far; of e^(score - m); of e^(score - m) v */
} State;

enum { KEYS = 4, TILE = 2 };
static const float query[1] = {1},
                   keys[KEYS][1] = {
                       {0}, {0.69314718f}, {1.38629436f}, {0}}; /* e^score is 1, 2, 4, 1 */
static const float values[KEYS][1] = {{10}, {20}, {30}, {40}};

/* The running state of a query after the keys first … first + count - 1, all of which have
 * `more` added to their scores. */
static State read_tiles(int first, int count, int tile, float more) {
    State c = {.m = -INFINITY};
    for (int s = first; s < first + count; s += tile) {
        int n = first + count - s < tile ? first + count - s : tile;
        float moved[n][1];
        for (int j = 0; j < n; j++) moved[j][0] = keys[s + j][0] + more;
        online_softmax_tile(n, 1, &c.m, &c.l, c.O, query, moved, values + s);
    }
    return c;
}

static void two_tiles(void) {
    section("Four scores in two tiles");
    Table table = {0};
    table_row(&table, "after|scores|m|rescale|l|O|O / l");
    double before = -INFINITY;
    for (int s = 0; s < KEYS; s += TILE) {
        State c = read_tiles(0, s + TILE, TILE, 0);
        table_row(&table, "tile %d|%.4f, %.4f|%.4f|%.4f|%.4f|%.4f|%.4f", s / TILE, keys[s][0],
                  keys[s + 1][0], c.m, exp(before - c.m), c.l, c.O[0], c.O[0] / c.l);
        before = c.m;
    }
    State all = read_tiles(0, KEYS, KEYS, 0);
    table_row(&table, "softmax of all four||%.4f||%.4f|%.4f|%.4f", all.m, all.l, all.O[0],
              all.O[0] / all.l);
    table_print(&table, stdout);
}

static void six_mistakes(void) {
    State a = read_tiles(0, TILE, TILE, 0), b = read_tiles(TILE, TILE, TILE, 0);
    double rescale = exp(a.m - b.m), old = a.O[0],
           new = b.O[0]; /* tile 1 has the largest score of all: b is not rescaled */
    section("Six mistakes in the online softmax");
    Table table = {0};
    table_row(&table, "computation|<O / l|result");
    const struct {
        const char *name, *formula;
        double is;
    } rows[] = {
        {"right", "(0.5 * 25 + 40) / (0.5 * 1.5 + 1.25)",
         (rescale * old + new) / (rescale * a.l + b.l)},
        {"O not rescaled", "(25 + 40) / (0.5 * 1.5 + 1.25)", (old + new) / (rescale * a.l + b.l)},
        {"l not rescaled", "(0.5 * 25 + 40) / (1.5 + 1.25)", (rescale * old + new) / (a.l + b.l)},
        {"nothing rescaled", "(25 + 40) / (1.5 + 1.25)", (old + new) / (a.l + b.l)},
        {"rescaled upwards", "(2 * 25 + 40) / (2 * 1.5 + 1.25)",
         (old / rescale + new) / (a.l / rescale + b.l)},
        {"tiles averaged", "(25 / 1.5 + 40 / 1.25) / 2", (old / a.l + new / b.l) / 2},
        {"not divided by l", "0.5 * 25 + 40", rescale * old + new}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        table_row(&table, "%s|%s|%.4f", rows[i].name, rows[i].formula, rows[i].is);
    table_print(&table, stdout);
}

/* Merges the states of two passes over different keys. */
static State merge(State a, State b) {
    double m = fmax(a.m, b.m), of_a = exp(a.m - m), of_b = exp(b.m - m);
    return (State){m, of_a * a.l + of_b * b.l, {of_a * a.O[0] + of_b * b.O[0]}};
}

static double without_maximum(float more) {
    float l = 0, O = 0;
    for (int s = 0; s < KEYS; s++) {
        float weight = expf(keys[s][0] + more);
        l += weight;
        O += weight * values[s][0];
    }
    return fabsf(O / l); /* NaN has a sign, and machines disagree about it */
}

static void tiles_orders_scores(void) {
    section("Results for different tile sizes, orders and scores");
    Table table = {0};
    table_row(&table, "order and tiles|O / l|without the maximum");
    for (int tile = 1; tile <= KEYS; tile++) {
        State c = read_tiles(0, KEYS, tile, 0);
        table_row(&table, "tiles of %d|%.2f|", tile, c.O[0] / c.l);
    }
    State a = read_tiles(0, TILE, TILE, 0), b = read_tiles(TILE, TILE, TILE, 0), ab = merge(a, b),
          ba = merge(b, a);
    table_row(&table, "two halves, merged|%.2f|", ab.O[0] / ab.l);
    table_row(&table, "two halves, merged in reverse order|%.2f|", ba.O[0] / ba.l);
    for (float more = -10000; more <= 10000; more += 10000) {
        State c = read_tiles(0, KEYS, TILE, more);
        table_row(&table, "tiles of %d, scores %+.0f|%.2f|%.2f", TILE, more, c.O[0] / c.l,
                  without_maximum(more));
    }
    table_print(&table, stdout);
}

/* ---- the example text */

/* The last query of the head that the course follows, in tiles of four tokens. */
static void last_query(const Sentence *s) {
    enum { FOUR = 4 };
    int T = s->T, D = s->D;
    const float(*q)[D] = sentence_tensor(s, "head/q", 2, T, D),
          (*k)[D] = sentence_tensor(s, "head/k", 2, T, D);
    const float(*v)[D] = sentence_tensor(s, "head/v", 2, T, D);
    const float(*expected)[D] = sentence_tensor(s, "head/out", 2, T, D);
    const float(*scores)[T] = sentence_tensor(s, "head/scores", 2, T, T);
    double m = -INFINITY, l = 0, O[D];
    for (int i = 0; i < D; i++) O[i] = 0;
    section("The last query, tile by tile");
    Table table = {0};
    table_row(&table, "tile|<tokens|largest score|m|rescale|l|weight of %s", s->token[s->owner]);
    for (int s0 = 0; s0 < T; s0 += FOUR) {
        int n = T - s0 < FOUR ? T - s0 : FOUR;
        char tokens[64] = "";
        double before = m, largest = -INFINITY;
        for (int j = 0; j < n; j++) {
            snprintf(tokens + strlen(tokens), sizeof tokens - strlen(tokens), " %s",
                     s->token[s0 + j]);
            largest = fmax(largest, scores[T - 1][s0 + j]);
        }
        online_softmax_tile(n, D, &m, &l, O, q[T - 1], k + s0, v + s0);
        double weight = s0 + n > s->owner ? exp(scores[T - 1][s->owner] - m) / l : 0;
        table_row(&table, "%d|%s|%.2f|%.2f|%.4f|%.2f|%.2f", s0 / FOUR, tokens + 1, largest, m,
                  exp(before - m), l, weight);
    }
    table_print(&table, stdout);
    float out[D];
    for (int i = 0; i < D; i++) out[i] = (float)(O[i] / l);
    sentence_compare(5, D, out, expected[T - 1]);
}

/* All heads of the layer, by the kernel, with the text in pieces of `piece` tokens. */
static void row_of_pieces(Table *table, const char *name, const Sentence *s, int piece) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D, calls = 0;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q_rope", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k_rope", 3, T, KV, D);
    const float(*v)[KV][D] = sentence_tensor(s, "attention/v", 3, T, KV, D);
    const float(*expected)[H][D] = sentence_tensor(s, "attention/attended", 3, T, H, D);
    float out[T][H][D];
    for (int t = 0; t < T; t += piece) {
        int n = T - t < piece ? T - t : piece;
        flash_attention(n, t + n, H, KV, D, out + t, q + t, k, v);
        calls++;
    }
    int count = T * H * D,
        far = sentence_count_mismatches(5, count, (const float *)out, (const float *)expected);
    table_row(table, "%s|%d|%d|%d", name, calls, count, far);
}

static void all_heads(const Sentence *s) {
    section("All heads of the layer");
    Table table = {0};
    table_row(&table, "the text|calls|numbers|differ from PyTorch's by more than 0.00001");
    row_of_pieces(&table, "prefill: at once", s, s->T);
    row_of_pieces(&table, "in chunks of 5", s, 5);
    row_of_pieces(&table, "decode: token by token", s, 1);
    table_print(&table, stdout);
}

/* ---- memory and time, beside chapter 6's attention */

typedef void Attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                       const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]);

/* The prompt's tokens per second in one layer of 8 heads: random queries, keys and values. */
static double tokens_per_second(int T, Attention *attention) {
    enum { H = 8, KV = 2, D = 64 };
    float(*q)[H][D] = xmalloc((size_t)T * sizeof *q),
    (*out)[H][D] = xmalloc((size_t)T * sizeof *out);
    float(*k)[KV][D] = xmalloc((size_t)T * sizeof *k), (*v)[KV][D] = xmalloc((size_t)T * sizeof *v);
    Random random = {8};
    random_fill(&random, (size_t)T * H * D, **q);
    random_fill(&random, (size_t)T * KV * D, **k);
    random_fill(&random, (size_t)T * KV * D, **v);
    double start = seconds();
    attention(T, T, H, KV, D, out, (void *)q, (void *)k, (void *)v);
    double elapsed = seconds() - start;
    free(q);
    free(k);
    free(v);
    free(out);
    return T / elapsed;
}

static void speed(void) {
    section("Prefill on this machine, tokens per second");
    Table table = {0};
    table_row(&table, "one layer of attention|one query at a time|FlashAttention");
    for (int T = 256; T <= 1024; T *= 2)
        table_row(&table, "%d tokens|%.0f|%.0f", T, tokens_per_second(T, gqa_attention_with_past),
                  tokens_per_second(T, flash_attention));
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 8, FlashAttention: attention tile by tile.");
    two_tiles();
    six_mistakes();
    tiles_orders_scores();
    Sentence s = sentence_open();
    last_query(&s);
    all_heads(&s);
    speed();
    sentence_close(&s);
}
