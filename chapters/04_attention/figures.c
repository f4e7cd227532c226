/* Writes the data of this chapter's figures, and prints two of them as tables. */
#include "04_attention/attention.h"
#include "common/console.h"
#include "common/options.h"
#include "common/random.h"
#include "common/sentence.h"

#include <math.h>

/* The lesson's head, small enough to compute by hand. */
enum { P = 3, WIDTH = 2 };
static const float query[P][WIDTH] = {{1, 1}, {2, 0}, {1, 2}};
static const float key[P][WIDTH] = {{1, 0}, {0, 1}, {1, 1}};
static const float value[P][WIDTH] = {{10, 0}, {0, 10}, {10, 10}};

/* Its values, and the outputs, which lie among them. */
static void mean(const char *data) {
    float scores[P][P], out[P][WIDTH];
    if (!data) return;
    attention(P, P, WIDTH, out, query, key, value, scores);
    Output output = data_open(data, "04_mean", "value, output");
    for (int t = 0; t < P; t++)
        fprintf(output.file, "%g %g %g %g\n", value[t][0], value[t][1], out[t][0], out[t][1]);
    output_close(&output);
}

/* A line for each number of a matrix of P rows; a masked score is written as 1 and "-inf". */
static void write_matrix(FILE *file, const char *name, int columns, const float m[P][columns]) {
    for (int t = 0; t < P; t++)
        for (int i = 0; i < columns; i++)
            if (isinf(m[t][i])) fprintf(file, "%s %d %d 1 -inf\n", name, t, i);
            else fprintf(file, "%s %d %d %.4f %g\n", name, t, i, m[t][i],
                         round(100 * m[t][i]) / 100);
}

/* The same head step by step. */
static void steps(const char *data) {
    float m[P][P], out[P][WIDTH];
    if (!data) return;
    Output output = data_open(data, "04_steps", "matrix row column value text");
    write_matrix(output.file, "q", WIDTH, query);
    write_matrix(output.file, "k", WIDTH, key);
    write_matrix(output.file, "v", WIDTH, value);
    attention_scores(P, P, WIDTH, m, query, key);
    write_matrix(output.file, "scores", P, (const float(*)[P])m);
    causal_mask(P, P, m);
    write_matrix(output.file, "masked", P, (const float(*)[P])m);
    softmax(P, P, m, m);
    write_matrix(output.file, "weights", P, (const float(*)[P])m);
    weighted_sum(P, P, WIDTH, out, (const float(*)[P])m, value);
    write_matrix(output.file, "output", WIDTH, (const float(*)[WIDTH])out);
    output_close(&output);
}

/* The sentence's head: all scores, what the mask leaves of them, and the weights. */
static void matrices(const char *data) {
    if (!data) return;
    Sentence s = sentence_open();
    int T = s.T;
    const float(*scores)[T] = sentence_tensor(&s, "head/scores", 2, T, T);
    const float(*weights)[T] = sentence_tensor(&s, "head/weights", 2, T, T);
    Output output = data_open(data, "04_matrices", "query, key, score, weight, the query's token");
    for (int t = 0; t < T; t++)
        for (int k = 0; k < T; k++)
            fprintf(output.file, "%d %d %.3f %.4f %s\n", t, k, scores[t][k], weights[t][k],
                    s.token[t]);
    output_close(&output);
    sentence_close(&s);
}

/* The first weight of softmax(x, x - 1, x - 2), the formula as it stands. */
static float plain_softmax(float x) {
    float weight = expf(x) / (expf(x) + expf(x - 1) + expf(x - 2));
    return isnan(weight)
               ? NAN
               : weight; /* the sign of inf / inf, or of 0 / 0, is the processor's choice */
}

static void the_maximum(const char *data) {
    const float largest[] = {0, 12, 88, 89, 1000, -80, -101, -110};
    section("Without the maximum");
    Table table = {0};
    table_row(&table, "<three scores|e^first|plain weight|less the maximum");
    for (int n = 0; n < 8; n++) {
        float x = largest[n], scores[1][3] = {{x, x - 1, x - 2}}, weights[1][3];
        softmax(1, 3, weights, scores);
        table_row(&table, "%g, %g, %g|%.1e|%.4f|%.4f", x, x - 1, x - 2, expf(x), plain_softmax(x),
                  weights[0][0]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output =
        data_open(data, "04_softmax", "largest of three scores, its weight without the maximum");
    for (float x = -120; x <= 120; x += 0.25F)
        fprintf(output.file, "%g %.4f\n", x, plain_softmax(x));
    output_close(&output);
}

enum { KEYS = 64, ROUNDS = 16, WIDEST = 1024 };
typedef struct {
    double variance, largest, entropy, slope;
} Sharpness;

/* Normal queries against normal keys, their products divided by `divisor`; means over KEYS x ROUNDS
 * queries. */
static Sharpness sharpness(int D, double divisor) {
    static float q[KEYS * WIDEST], k[KEYS * WIDEST], m[KEYS][KEYS];
    Random random = {.state = 5};
    Sharpness sum = {0};
    for (int round = 0; round < ROUNDS; round++) {
        random_fill(&random, (size_t)(KEYS * D), q);
        random_fill(&random, (size_t)(KEYS * D), k);
        attention_scores(KEYS, KEYS, D, m, (const float(*)[D])q, (const float(*)[D])k);
        for (int t = 0; t < KEYS; t++) {
            double largest = 0, squares = 0;
            for (int s = 0; s < KEYS; s++) {
                m[t][s] *= (float)(sqrt(D) / divisor);
                sum.variance += m[t][s] * m[t][s] / KEYS;
            }
            softmax(1, KEYS, m + t, m + t);
            for (int s = 0; s < KEYS; s++) {
                double w = m[t][s];
                largest = fmax(largest, w);
                squares += w * w;
                sum.entropy -= w > 0 ? w * log2(w) : 0;
            }
            sum.largest += largest;
            sum.slope += 1 - squares;
        }
    }
    double n = KEYS * ROUNDS;
    return (Sharpness){sum.variance / n, sum.largest / n, sum.entropy / n, sum.slope / n};
}

static void the_root(const char *data) {
    const char *names[] = {"1", "sqrt(D)", "sqrt(32 D)"};
    Output output = {0};
    if (data)
        output = data_open(data, "04_scale",
                           "D; largest of 64 weights: undivided, by sqrt(D), by sqrt(32 D)");
    section("Why the root of the head's width");
    Table table = {0};
    table_row(&table, "D|<q.k divided by|variance|largest of 64 weights|entropy, bits|slope");
    for (int D = 1; D <= WIDEST; D *= 2) {
        Sharpness s[] = {sharpness(D, 1), sharpness(D, sqrt(D)), sharpness(D, sqrt(32 * D))};
        bool shown = D == 16 || D == 128 || D == WIDEST;
        for (int i = 0; i < 3 && shown; i++)
            table_row(&table, "%d|%s|%.2f|%.2f|%.2f|%.2f", D, names[i], s[i].variance, s[i].largest,
                      s[i].entropy, s[i].slope);
        if (data)
            fprintf(output.file, "%d %.4f %.4f %.4f\n", D, s[0].largest, s[1].largest,
                    s[2].largest);
    }
    table_print(&table, stdout);
    if (data) output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 4 draw.");
    mean(data);
    steps(data);
    matrices(data);
    the_maximum(data);
    the_root(data);
}
