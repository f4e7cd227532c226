/* Chapter 1: what a norm does to a token, by numbers to follow by hand, and then on the course's
 * sentence. */
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float eps = 1e-5f, ones[4] = {1, 1, 1, 1}, zeros[4];

/* The smallest, the mean and the largest size of the sentence's rows, at one place in the model. */
static void sizes_row(Table *table, const char *place, const Sentence *s,
                      const float rows[s->T][s->C]) {
    double least = INFINITY, sum = 0;
    int most = 0;
    for (int t = 0; t < s->T; t++) {
        double is = rms(s->C, rows[t]);
        sum += is;
        least = fmin(least, is);
        if (is > rms(s->C, rows[most])) most = t;
    }
    table_row(table, "%s|%.2f|%.2f|%.2f|%s", place, least, sum / s->T, rms(s->C, rows[most]),
              s->token[most]);
}

static void how_rows_grow(const Sentence *s) {
    int T = s->T, C = s->C;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    section("How rows grow");
    Table table = {0};
    table_row(&table, "size of the %d rows|smallest|mean|largest|whose", T);
    sizes_row(&table, "after the embedding", s, stream[0]);
    for (int n = 1; n <= 2 * s->L; n++) {
        char place[64];
        snprintf(place, sizeof place, "after %s of layer %d", n % 2 ? "attention" : "feed-forward",
                 (n - 1) / 2);
        sizes_row(&table, place, s, stream[n]);
    }
    sizes_row(&table, "after the last norm", s, stream[2 * s->L + 1]);
    table_print(&table, stdout);
}

typedef struct {
    char text[64];
} Cells;

/* Four numbers as the cells of a table. */
static Cells cells(const float x[4]) {
    Cells cells = {0};
    char *end = cells.text;
    for (int i = 0; i < 4; i++) end += sprintf(end, isnan(x[i]) ? "|NaN" : "|%.4f", x[i]);
    return cells;
}

/* Tokens 0 and 1 point the same way, one ten times as far; token 2 has token 0's numbers in another
 * order. */
static const float tokens[3][4] = {{1, -1, 3, 5}, {10, -10, 30, 50}, {1, 5, 3, -1}};

static void by_hand(void) {
    const float weight[4] = {1, 1, 1, 0.5f};
    float out[3][4], weighted[3][4];
    rms_norm(3, 4, out, tokens, ones, eps);
    rms_norm(3, 4, weighted, tokens, weight, eps);
    section("By hand");
    Table table = {0};
    table_row(&table, "x%s", cells(tokens[0]).text);
    table_row(&table, "RMSNorm(x)%s", cells(out[0]).text);
    table_row(&table, "RMSNorm(10 x)%s", cells(out[1]).text);
    table_row(&table, "RMSNorm(x), with the weight 1, 1, 1, 1/2%s", cells(weighted[0]).text);
    table_print(&table, stdout);
}

/* The first norm of the sentence's layer: its input as PyTorch had it, its output as our kernel
 * gives it. */
static void on_the_sentence(const Sentence *s) {
    int T = s->T, C = s->C;
    double mean = 0;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    const float(*x)[C] = stream[2 * s->layer],
          (*expected)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    float *weight = sentence_weight(s, "input_layernorm", 1, C), out[T][C];
    rms_norm(T, C, out, x, weight, s->eps);
    section("On the sentence");
    Table table = {0};
    table_row(&table, "layer %d reads|size of x|x[0]|x[1]|x[2]|size of out|out[0]|out[1]|out[2]",
              s->layer);
    const int shown[] = {0, 1, 4, s->owner, T - 1};
    for (int n = 0; n < 5; n++) {
        int t = shown[n];
        table_row(&table, "%s|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", s->token[t], rms(C, x[t]),
                  x[t][0], x[t][1], x[t][2], rms(C, out[t]), out[t][0], out[t][1], out[t][2]);
    }
    table_print(&table, stdout);
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int i = 0; i < C; i++) sum += x[t][i];
        mean += fabs(sum / C) / rms(C, x[t]) / T;
    }
    sentence_compare(5, T * C, (const float *)out, (const float *)expected);
    printf("  the mean of a row of x is %.0f %% of its size\n", 100 * mean);
    free(weight);
}

/* The size that a row of size r has after each of four divisors. A row of one number is its own
 * root mean square. */
static void where_epsilon_stands(void) {
    const float r[] = {1, 0.02f, 0.004f, 0.003f, 0};
    section("Where epsilon stands");
    Table table = {0};
    table_row(&table, "size of x|sqrt(ms + eps)|sqrt(ms - eps)|sqrt(ms) + eps|sqrt(ms)");
    for (int n = 0; n < 5; n++) {
        const float x[1][1] = {{r[n]}};
        float added[1][1], subtracted[1][1], missing[1][1];
        rms_norm(1, 1, added, x, ones, eps);
        rms_norm(1, 1, subtracted, x, ones, -eps);
        rms_norm(1, 1, missing, x, ones, 0);
        const float after[4] = {added[0][0], subtracted[0][0], r[n] / (r[n] + eps), missing[0][0]};
        table_row(&table, "%g%s", r[n], cells(after).text);
    }
    table_print(&table, stdout);
}

static void layer_norm_beside_it(void) {
    const float root = sqrtf(0.75f), roots[4] = {root, root, root, root};
    const float x[2][4] = {{1, -1, 3, 5}, {101, 99, 103, 105}};
    float rms[2][4], layer[2][4], unbiased[1][4];
    rms_norm(2, 4, rms, x, ones, eps);
    layer_norm(2, 4, layer, x, ones, zeros, eps);
    layer_norm(1, 4, unbiased, x, roots, zeros,
               eps); /* dividing by dim - 1 acts as a smaller weight */
    section("LayerNorm beside RMSNorm");
    Table table = {0};
    table_row(&table, "x%s", cells(x[0]).text);
    table_row(&table, "RMSNorm(x)%s", cells(rms[0]).text);
    table_row(&table, "LayerNorm(x)%s", cells(layer[0]).text);
    table_row(&table, "  with the unbiased variance, 20/3%s", cells(unbiased[0]).text);
    table_row(&table, "RMSNorm(x + 100)%s", cells(rms[1]).text);
    table_row(&table, "LayerNorm(x + 100)%s", cells(layer[1]).text);
    table_print(&table, stdout);
}

static void which_axis(void) {
    float layer[3][4], batch[3][4], alone[1][4];
    layer_norm(3, 4, layer, tokens, ones, zeros, eps);
    batch_norm(3, 4, batch, tokens, ones, zeros, eps);
    batch_norm(1, 4, alone, tokens, ones, zeros, eps);
    section("Which numbers are averaged together");
    Table table = {0};
    table_row(&table, "|feature 0|feature 1|feature 2|feature 3");
    for (int t = 0; t < 3; t++) table_row(&table, "x, token %d%s", t, cells(tokens[t]).text);
    for (int t = 0; t < 3; t++) table_row(&table, "LayerNorm, token %d%s", t, cells(layer[t]).text);
    for (int t = 0; t < 3; t++) table_row(&table, "BatchNorm, token %d%s", t, cells(batch[t]).text);
    table_row(&table, "BatchNorm, token 0 alone%s", cells(alone[0]).text);
    table_print(&table, stdout);
}

static bf16 *copy_bf16(const Tensor *tensor) {
    return memcpy(xmalloc(tensor_bytes(tensor)), tensor->data, tensor_bytes(tensor));
}

static void where_bf16_rounds(void) {
    Golden golden = golden_open("rms_norm_bf16");
    const GoldenCase *c = golden_case(&golden, "residual_stream");
    int dim = (int)tensor_count(&c->expected);
    bf16 *x = copy_bf16(golden_input(c, "x")), *weight = copy_bf16(golden_input(c, "weight"));
    bf16 *expected = copy_bf16(&c->expected), out[2][1][dim];
    float golden_eps = (float)tensor_get(golden_input(c, "eps"), 0);
    rms_norm_bf16(1, dim, out[0], (const bf16(*)[dim])x, weight, golden_eps);
    rms_norm_bf16_round_once(1, dim, out[1], (const bf16(*)[dim])x, weight, golden_eps);
    const char *names[] = {"rms_norm_bf16", "rms_norm_bf16_round_once"};
    section("Where bf16 rounds");
    Table table = {0};
    table_row(&table, "|unlike LlamaRMSNorm's|by at most");
    for (int k = 0; k < 2; k++) {
        int different = 0, most = 0;
        for (int i = 0; i < dim; i++) {
            int ulps =
                abs(out[k][0][i] - expected[i]); /* neighbouring numbers have neighbouring bits */
            different += ulps > 0;
            if (ulps > most) most = ulps;
        }
        table_row(&table, "%s|%d of %d|%d ulp", names[k], different, dim, most);
    }
    table_print(&table, stdout);
    free(x);
    free(weight);
    free(expected);
    golden_close(&golden);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 1: RMSNorm, and the norms beside it.");
    Sentence s = sentence_open();
    how_rows_grow(&s);
    by_hand();
    on_the_sentence(&s);
    where_epsilon_stands();
    layer_norm_beside_it();
    which_axis();
    where_bf16_rounds();
    sentence_close(&s);
}
