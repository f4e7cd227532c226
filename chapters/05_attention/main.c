/* Chapter 5: one head on paper; where the mask goes; what the maximum and the root are for; order; the cost. */
#include "05_attention/attention.h"
#include "04_rope/rope.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a head small enough for paper: three positions, each with a query, a key and a value of two numbers */

enum { P = 3, D = 2 };
static const float q[P][D] = {{1, 1}, {2, 0}, {1, 2}};
static const float k[P][D] = {{1, 0}, {0, 1}, {1, 1}};
static const float v[P][D] = {{10, 0}, {0, 10}, {10, 10}};

/* "|0.5000|0.2500|…": cells of a table's row. */
enum { CELLS = 128 };
static char *cells(char text[static CELLS], int n, const float x[n]) {
    for (int i = 0, at = 0; i < n; i++) at += snprintf(text + at, (size_t)(CELLS - at), "|%.4f", x[i]);
    return text;
}

static void matrix(const char *header, int columns, const float m[P][columns]) {
    char row[CELLS];
    Table table = {0};
    table_row(&table, "%s", header);
    for (int t = 0; t < P; t++) table_row(&table, "query %d%s", t, cells(row, columns, m[t]));
    putchar('\n');
    table_print(&table, stdout);
}

static void on_paper(const char *data) {
    float m[P][P], out[P][D];
    section("One head on paper");
    Table table = {0};
    table_row(&table, "position|<query|<key|<value");
    for (int t = 0; t < P; t++)
        table_row(&table, "%d|(%g, %g)|(%g, %g)|(%g, %g)", t, q[t][0], q[t][1], k[t][0], k[t][1], v[t][0], v[t][1]);
    table_print(&table, stdout);
    linear(P, D, P, m, q, k, NULL);
    matrix("q k^T|key 0|key 1|key 2", P, m);
    attention_scores(P, P, D, m, q, k);
    matrix("/ sqrt(2)|key 0|key 1|key 2", P, m);
    causal_mask(P, P, m);
    matrix("masked|key 0|key 1|key 2", P, m);
    softmax(P, P, m, m);
    matrix("weights|key 0|key 1|key 2", P, m);
    weighted_sum(P, P, D, out, m, v);
    matrix("output|0|1", D, out);

    if (!data) return;
    Output output = data_open(data, "05_mean", "value, output");
    for (int t = 0; t < P; t++) fprintf(output.file, "%g %g %g %g\n", v[t][0], v[t][1], out[t][0], out[t][1]);
    output_close(&output);
}

/* ---- where the mask goes */

typedef enum { BEFORE_SOFTMAX, AFTER_SOFTMAX, NOWHERE } Place;

static void overwrite_future(float m[P][P], float value) {
    for (int t = 0; t < P; t++)
        for (int s = t + 1; s < P; s++) m[t][s] = value;
}

static void masked_head(Place place, float value, float weights[P][P], float out[P][D], const float k[P][D],
                        const float v[P][D]) {
    attention_scores(P, P, D, weights, q, k);
    if (place == BEFORE_SOFTMAX) overwrite_future(weights, value);
    softmax(P, P, weights, weights);
    if (place == AFTER_SOFTMAX) overwrite_future(weights, value);
    weighted_sum(P, P, D, out, weights, v);
}

/* Query 1 must not notice what stands at position 2. How far does its output move if another key, or value, does? */
static void mask_row(Table *table, const char *name, Place place, float value) {
    const float other_k[P][D] = {{1, 0}, {0, 1}, {2, 2}}, other_v[P][D] = {{10, 0}, {0, 10}, {10, 20}};
    float weights[P][P], unused[P][P], out[P][D], key_doubled[P][D], value_doubled[P][D];
    masked_head(place, value, weights, out, k, v);
    masked_head(place, value, unused, key_doubled, other_k, v);
    masked_head(place, value, unused, value_doubled, k, other_v);
    const float *w = weights[1], *o = out[1], *a = key_doubled[1], *b = value_doubled[1];
    table_row(table, "%s|%.4f|%.4f|%.4f|%.4f|%.4f|%.4f", name, w[0], w[1], w[2], w[0] + w[1] + w[2],
              hypot(a[0] - o[0], a[1] - o[1]), hypot(b[0] - o[0], b[1] - o[1]));
}

static void where_the_mask_goes(void) {
    section("Where the mask goes");
    Table table = {0};
    table_row(&table, "query 1|key 0|key 1|key 2|sum|moved by key 2|by value 2");
    mask_row(&table, "-inf before the softmax", BEFORE_SOFTMAX, -INFINITY);
    mask_row(&table, "0 before the softmax", BEFORE_SOFTMAX, 0);
    mask_row(&table, "0 after the softmax", AFTER_SOFTMAX, 0);
    mask_row(&table, "no mask", NOWHERE, 0);
    table_print(&table, stdout);
}

/* The whole text asks, then only its last two positions, then its last. */
static void the_last_queries(void) {
    enum { S = 5 };
    float q[S][D], k[S][D], v[S][D], scores[S][S], out[S][D];
    char weights[CELLS], output[CELLS];
    Random random = {.state = 5};
    for (int s = 0; s < S; s++) {
        random_fill(&random, D, q[s]), random_fill(&random, D, k[s]), random_fill(&random, D, v[s]);
    }
    section("The last T of five positions");
    Table table = {0};
    table_row(&table, "T|query|stands at|key 0|key 1|key 2|key 3|key 4|output 0|output 1");
    for (const int *T = (int[]){S, 2, 1, 0}; *T; T++) {
        attention(*T, S, D, out, q + S - *T, k, v, scores);
        for (int t = 0; t < *T; t++)
            table_row(&table, "%d|%d|%d%s%s", *T, t, S - *T + t, cells(weights, S, scores[t]),
                      cells(output, D, out[t]));
    }
    table_print(&table, stdout);
}

/* ---- the maximum */

/* The first weight of softmax(x, x - 1, x - 2), the formula as it stands. */
static float plain_softmax(float x) {
    float weight = expf(x) / (expf(x) + expf(x - 1) + expf(x - 2));
    return isnan(weight) ? NAN : weight; /* the sign of inf / inf, or of 0 / 0, is the processor's choice */
}

static void the_maximum(const char *data) {
    section("Without the maximum");
    Table table = {0};
    table_row(&table, "<three scores|e^first|plain weight|less the maximum");
    for (const float *x = (float[]){0, 12, 88, 89, 100, 1000, -80, -101, -110, NAN}; !isnan(*x); x++) {
        float weights[1][3];
        softmax(1, 3, weights, (float[1][3]){{*x, *x - 1, *x - 2}});
        table_row(&table, "%g, %g, %g|%.1e|%.4f|%.4f", *x, *x - 1, *x - 2, expf(*x), plain_softmax(*x),
                  weights[0][0]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "05_softmax", "largest of three scores, its weight without the maximum");
    for (float x = -120; x <= 120; x += 0.25F) fprintf(output.file, "%g %.4f\n", x, plain_softmax(x));
    output_close(&output);
}

/* ---- the root of the head's width */

enum { KEYS = 64, ROUNDS = 16, WIDEST = 1024 };
typedef struct { double variance, largest, entropy, slope; } Sharpness;

/* Normal queries against normal keys, their products divided by `divisor`; means over KEYS x ROUNDS queries. */
static Sharpness sharpness(int D, double divisor) {
    static float q[KEYS * WIDEST], k[KEYS * WIDEST], m[KEYS][KEYS];
    Random random = {.state = 5};
    Sharpness sum = {0};
    for (int round = 0; round < ROUNDS; round++) {
        random_fill(&random, (size_t)(KEYS * D), q), random_fill(&random, (size_t)(KEYS * D), k);
        attention_scores(KEYS, KEYS, D, m, (void *)q, (void *)k);
        for (int t = 0; t < KEYS; t++) {
            double largest = 0, squares = 0;
            for (int s = 0; s < KEYS; s++) {
                m[t][s] *= (float)(sqrt(D) / divisor);
                sum.variance += m[t][s] * m[t][s] / KEYS;
            }
            softmax(1, KEYS, m + t, m + t);
            for (int s = 0; s < KEYS; s++) {
                double w = m[t][s];
                largest = fmax(largest, w), squares += w * w;
                sum.entropy -= w > 0 ? w * log2(w) : 0;
            }
            sum.largest += largest, sum.slope += 1 - squares;
        }
    }
    double n = KEYS * ROUNDS;
    return (Sharpness){sum.variance / n, sum.largest / n, sum.entropy / n, sum.slope / n};
}

static void the_root(const char *data) {
    section("Why the root of the head's width");
    Table table = {0};
    table_row(&table, "D|<q.k divided by|variance|largest of 64 weights|entropy, bits|slope");
    Output output = {0};
    if (data) output = data_open(data, "05_scale", "D; largest of 64 weights: undivided, by sqrt(D), by sqrt(32 D)");
    for (int D = 1; D <= WIDEST; D *= 2) {
        const char *names[] = {"1", "sqrt(D)", "sqrt(32 D)"};
        Sharpness s[] = {sharpness(D, 1), sharpness(D, sqrt(D)), sharpness(D, sqrt(32 * D))};
        for (int i = 0; i < 3 && (D == 16 || D == 64 || D == 128 || D == WIDEST); i++)
            table_row(&table, "%d|%s|%.2f|%.2f|%.2f|%.2f", D, names[i], s[i].variance, s[i].largest, s[i].entropy,
                      s[i].slope);
        if (data) fprintf(output.file, "%d %.4f %.4f %.4f\n", D, s[0].largest, s[1].largest, s[2].largest);
    }
    if (data) output_close(&output);
    table_print(&table, stdout);
}

/* ---- order */

static void turn(float out[P][D], const float x[P][D]) { /* chapter 4, at positions 0, 1, 2 */
    float inv_freq[D / 2], table[2][P][D / 2];
    float factor = rope_frequencies(D, inv_freq, &(RopeParameters){.rope_theta = 1e4}, P);
    rope_table(P, D, table, (int[]){0, 1, 2}, inv_freq, factor);
    rope_half_split(P, 1, D, (void *)out, (void *)x, table[0], table[1]);
}

static void no_order(void) {
    static const int orders[][P] = {{0, 1, 2}, {1, 2, 0}, {2, 1, 0}};
    section("Attention does not know the order");
    Table table = {0};
    table_row(&table, "order of keys and values|output 0|output 1|with RoPE 0|with RoPE 1");
    for (int i = 0; i < 3; i++) {
        const int *o = orders[i];
        float moved_k[P][D], moved_v[P][D], turned_q[P][D], turned_k[P][D], scores[1][P], out[1][D];
        char plain[CELLS], turned[CELLS];
        for (int s = 0; s < P; s++) {
            memcpy(moved_k[s], k[o[s]], sizeof *k);
            memcpy(moved_v[s], v[o[s]], sizeof *v);
        }
        attention(1, P, D, out, q + 2, moved_k, moved_v, scores), cells(plain, D, out[0]);
        turn(turned_q, q), turn(turned_k, moved_k);
        attention(1, P, D, out, turned_q + 2, turned_k, moved_v, scores), cells(turned, D, out[0]);
        table_row(&table, "%d, %d, %d%s%s", o[0], o[1], o[2], plain, turned);
    }
    table_print(&table, stdout);
}

/* A text that looks at itself: each word has one random vector, which is its query and its key. */
static void write_matrices(const char *data) {
    enum { T = 12, WIDTH = 16 };
    static const char *const words[] = {"the", "cat", "saw", "dog", "and", "."};
    static const int text[T] = {0, 1, 2, 0, 3, 4, 0, 3, 2, 0, 1, 5};
    float vectors[6][WIDTH], x[T][WIDTH], scores[T][T], masked[T][T], weights[T][T];
    Random random = {.state = 5};
    for (int w = 0; w < 6; w++) random_fill(&random, WIDTH, vectors[w]);
    for (int t = 0; t < T; t++) memcpy(x[t], vectors[text[t]], sizeof *x);
    attention_scores(T, T, WIDTH, scores, x, x);
    memcpy(masked, scores, sizeof scores);
    causal_mask(T, T, masked);
    softmax(T, T, weights, masked);

    Output output = data_open(data, "05_matrices", "query, key, score, masked, weight, the query's word");
    for (int t = 0; t < T; t++)
        for (int s = 0; s < T; s++)
            fprintf(output.file, "%d %d %.3f %.3f %.4f %s\n", t, s, scores[t][s], masked[t][s], weights[t][s],
                    words[text[t]]);
    output_close(&output);
}

/* ---- the cost, for a layer of 32 heads of width 128 */

static void the_cost(void) {
    const double heads = 32, width = 128, C = heads * width, mib = 1048576;
    section("What it costs");
    Table table = {0};
    table_row(&table, "T|scores of a head|MiB|of 32 heads|q, k, v and out|billion products|of the projections");
    for (const int *T = (int[]){512, 2048, 8192, 32768, 131072, 0}; *T; T++) {
        double scores = (double)*T * *T, vectors = 4 * heads * *T * width;
        table_row(&table, "%d|%.0f|%.0f|%.0f|%.0f|%.1f|%.1f", *T, scores, 4 * scores / mib, 4 * heads * scores / mib,
                  4 * vectors / mib, 2 * heads * scores * width / 1e9, 4 * *T * C * C / 1e9);
    }
    table_print(&table, stdout);
}

/* ---- agreement with PyTorch */

static void agreement(void) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "case|T|S|D|our error, ulps|PyTorch's|wrong");
    Golden golden = golden_open("attention");
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        const Tensor *q = golden_input(c, "q"), *k = golden_input(c, "k");
        int T = (int)q->shape[0], S = (int)k->shape[0], D = (int)q->shape[1];
        void *query = tensor_to_float(q), *key = tensor_to_float(k), *value = tensor_to_float(golden_input(c, "v"));
        float(*out)[D] = allocate(T * sizeof *out), (*scores)[S] = allocate(T * sizeof *scores);
        attention(T, S, D, out, query, key, value, scores);
        Tensor got = c->expected;
        got.data = out;
        Agreement a = golden_check(c, false, &got);
        table_row(&table, "%s|%d|%d|%d|%.1f|%.1f|%zu of %zu", c->name, T, S, D, a.ulps, a.reference, a.wrong,
                  a.count);
        free(query), free(key), free(value), free(out), free(scores);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 5, attention: one head.");
    on_paper(data);
    where_the_mask_goes();
    the_last_queries();
    the_maximum(data);
    the_root(data);
    no_order();
    the_cost();
    agreement();
    if (data) write_matrices(data);
}
