/* Chapter 3: the feed-forward layer by hand and on the course's text, what its hidden units mean,
 * and how wide it is in the published models. */
#include "03_feed_forward/feed_forward.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/llama_parameters.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a layer small enough for paper: one token of two features, three hidden units */

enum { C = 2, F = 3 };
static const float x[1][C] = {{1, 2}};
static const float w1[F][C] = {{1, 1}, {1, -1}, {0, 2}}; /* the gate, in a gated layer */
static const float w_up[F][C] = {{1, 0}, {0, 1}, {2, 1}};
static const float w2[C][F] = {{1, 2, 1}, {0, 1, -1}};

static void outputs(Table *table, const float out[C]) {
    table_row(table, "output|weights|sum");
    for (int i = 0; i < C; i++)
        table_row(table, "%d|(%g, %g, %g)|%.4f", i, w2[i][0], w2[i][1], w2[i][2], out[i]);
    table_print(table, stdout);
}

static void by_hand(void) {
    float gate[1][F], up[1][F], silu_gate[F], hidden[1][F], scratch[1][F], out[1][C];
    linear(1, C, F, gate, x, w1, NULL);
    linear(1, C, F, up, x, w_up, NULL);
    feed_forward(1, C, F, out, x, w1, NULL, w2, NULL, relu, hidden);
    section("The original feed-forward layer, by hand");
    Table table = {0};
    table_row(&table, "hidden unit|weights|sum|ReLU");
    for (int i = 0; i < F; i++)
        table_row(&table, "%d|(%g, %g)|%g|%g", i, w1[i][0], w1[i][1], gate[0][i], hidden[0][i]);
    table_print(&table, stdout);
    putchar('\n');
    outputs(&table, out[0]);

    silu(F, silu_gate, gate[0]);
    gated_feed_forward(1, C, F, out, x, w1, w_up, w2, swiglu, hidden, scratch);
    section("The SwiGLU layer, by hand");
    table_row(&table, "hidden unit|gate|silu(gate)|weights of up|up|product");
    for (int i = 0; i < F; i++)
        table_row(&table, "%d|%g|%.4f|(%g, %g)|%g|%.4f", i, gate[0][i], silu_gate[i], w_up[i][0],
                  w_up[i][1], up[0][i], hidden[0][i]);
    table_print(&table, stdout);
    putchar('\n');
    outputs(&table, out[0]);
}

static GatedUnit *const units[] = {glu, bilinear, reglu, geglu, swiglu};
static const char *const unit_names[] = {"GLU", "Bilinear", "ReGLU", "GEGLU", "SwiGLU"};
enum { UNITS = sizeof units / sizeof *units };

static float apply(GatedUnit *unit, float gate, float up) {
    float out;
    unit(1, &out, &gate, &up);
    return out;
}

static void which_is_the_gate(void) {
    section("Which argument is the gate");
    Table table = {0};
    table_row(&table, "unit|activation(2)|unit(2, -1)|swapped: unit(-1, 2)");
    for (int u = 0; u < UNITS; u++)
        table_row(&table, "%s|%.4f|%.4f|%.4f", unit_names[u], apply(units[u], 2, 1),
                  apply(units[u], 2, -1), apply(units[u], -1, 2));
    table_print(&table, stdout);
}

/* ---- the example text */

/* The hidden unit whose product is the largest, whatever its sign. */
static int largest_unit(int F, const float product[F]) {
    int largest = 0;
    for (int i = 1; i < F; i++)
        if (fabsf(product[i]) > fabsf(product[largest])) largest = i;
    return largest;
}

static void largest_products(const Sentence *s) {
    int T = s->T, C = s->C, F = s->F;
    const float(*normed)[C] = sentence_tensor(s, "feed_forward/normed", 2, T, C);
    const float(*expected)[C] = sentence_tensor(s, "feed_forward/out", 2, T, C);
    float(*w_gate)[C] = sentence_weight(s, "mlp.gate_proj", 2, F, C);
    float(*w_up)[C] = sentence_weight(s, "mlp.up_proj", 2, F, C);
    float(*w_down)[F] = sentence_weight(s, "mlp.down_proj", 2, C, F);
    float out[T][C], gate[T][F], up[T][F], product[T][F];
    linear(T, C, F, gate, normed, w_gate, NULL); /* in the layer, the product replaces it */
    gated_feed_forward(T, C, F, out, normed, w_gate, w_up, w_down, swiglu, product, up);
    section("Largest product per token");
    Table table = {0};
    table_row(&table, "layer %d|hidden unit|gate|silu(gate)|up|product", s->layer);
    const int shown[] = {1, 4, s->owner, 20, T - 1};
    for (int n = 0; n < 5; n++) {
        int t = shown[n], most = largest_unit(F, product[t]);
        float silu_gate;
        silu(1, &silu_gate, &gate[t][most]);
        table_row(&table, "%s|unit %d|%.2f|%.2f|%.2f|%.1f", s->token[t], most, gate[t][most],
                  silu_gate, up[t][most], product[t][most]);
    }
    table_print(&table, stdout);
    sentence_compare(4, T * C, (const float *)out, (const float *)expected);
    free(w_gate);
    free(w_up);
    free(w_down);
}

/* A hidden unit adds to each logit: its column of W_down, times its product, times the last norm's
 * weight, times the embedding. The row shows the tokens that the unit raises most. */
static void unit_row(Table *table, const Sentence *s, int t) {
    enum { TOKENS = 6 };
    int T = s->T, C = s->C, F = s->F, V = s->V;
    const float(*product)[F] = sentence_tensor(s, "feed_forward/product", 2, T, F);
    float(*w_down)[F] = sentence_weight(s, "mlp.down_proj", 2, C, F);
    float *norm = sentence_model_weight(s, "model.norm", 1, C);
    float(*embedding)[C] = sentence_model_weight(s, "model.embed_tokens", 2, V, C);
    int unit = largest_unit(F, product[t]);
    float written[1][C], raised[1][V];
    for (int c = 0; c < C; c++) written[0][c] = product[t][unit] * w_down[c][unit] * norm[c];
    linear(1, C, V, raised, written, embedding, NULL);
    char tokens[256] = "";
    for (int n = 0; n < TOKENS; n++) {
        int best = index_of_largest(V, raised[0]);
        size_t length = strlen(tokens);
        snprintf(tokens + length, sizeof tokens - length, "%s%s", n ? ", " : "",
                 s->vocabulary[best]);
        raised[0][best] = -INFINITY;
    }
    table_row(table, "... %s %s|unit %d|%s", s->token[t - 1], s->token[t], unit, tokens);
    free(w_down);
    free(norm);
    free(embedding);
}

static void what_a_unit_means(const Sentence *s) {
    const int shown[] = {4, 20, 21, s->owner};
    section("What one hidden unit writes");
    Table table = {0};
    table_row(&table, "after|largest product|<it raises most");
    for (int n = 0; n < 4; n++) unit_row(&table, s, shown[n]);
    table_print(&table, stdout);
}

/* The probability that the model gives to the token `next` from this hidden state: the last norm,
 * the logits and softmax. */
static double probability(const Sentence *s, const float state[1][s->C], int next) {
    int C = s->C, V = s->V;
    float *norm = sentence_model_weight(s, "model.norm", 1, C);
    float(*embedding)[C] = sentence_model_weight(s, "model.embed_tokens", 2, V, C);
    float normed[1][C], logits[1][V];
    double sum = 0;
    rms_norm(1, C, normed, state, norm, s->eps);
    linear(1, C, V, logits, normed, embedding, NULL);
    for (int i = 0; i < V; i++) sum += exp((double)logits[0][i] - logits[0][next]);
    free(norm);
    free(embedding);
    return 1 / sum;
}

static void prediction_before_and_after(const Sentence *s) {
    int T = s->T, C = s->C, L = s->L;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * L + 2, T, C);
    const int shown[] = {7, 10, 25, 21, 22, T - 1};
    section("Prediction before and after the feed-forward layer");
    Table table = {0};
    table_row(&table, "feed-forward of layer %d|<next token|before|after", L - 1);
    for (int n = 0; n < 6; n++) {
        int t = shown[n], next = s->ids[t + 1 < T ? t + 1 : s->owner];
        table_row(&table, "... %s %s|%s|%.0f %%|%.0f %%", s->token[t - 1], s->token[t],
                  s->vocabulary[next], 100 * probability(s, &stream[2 * L - 1][t], next),
                  100 * probability(s, &stream[2 * L][t], next));
    }
    table_print(&table, stdout);
}

/* ---- widths and sizes */

static void widths(void) {
    Table table = {0};
    section("The hidden width of the Llama models");
    table_row(&table, "model|C|4 C|2/3 of 4 C|multiplier|product|multiple of|width|width / C");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        assert(hidden_width(m) == m->F);
        table_row(&table, "%s|%d|%d|%ld|%.1f|%ld|%d|%ld|%.3f", m->name, m->C, 4 * m->C,
                  llama_hidden_width(m->C, 1, 1), m->multiplier,
                  llama_hidden_width(m->C, m->multiplier, 1), m->multiple_of, hidden_width(m),
                  (double)hidden_width(m) / m->C);
    }
    table_print(&table, stdout);

    section("Other recipes, other widths");
    table_row(&table, "model|Meta's|no cuts|nearest multiple|no multiple|no multiplier");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        long step = m->multiple_of, product = llama_hidden_width(m->C, m->multiplier, 1);
        double exact = m->multiplier * 8 * m->C / 3;
        table_row(&table, "%s|%ld|%.0f|%ld|%ld|%ld", m->name, hidden_width(m),
                  ceil(exact / step) * step, (product + step / 2) / step * step, product,
                  llama_hidden_width(m->C, 1, step));
    }
    table_print(&table, stdout);
}

static void size_row(Table *table, const char *name, long matrices, long hidden) {
    long parameters = matrices * 4096 * hidden;
    table_row(table, "%s|%ld|%ld|%ld|%.4f", name, matrices, hidden, parameters,
              parameters / (2.0 * 4096 * 16384));
}

static void sizes(void) {
    Table table = {0};
    section("Why two thirds");
    table_row(&table, "layer at C = 4096|matrices|width|parameters|relative to the first");
    size_row(&table, "ReLU, 4 C", 2, 16384);
    size_row(&table, "SwiGLU, 4 C (PaLM)", 3, 16384);
    size_row(&table, "SwiGLU, 2/3 of 4 C", 3, 10922);
    size_row(&table, "SwiGLU, Llama 2 7B", 3, 11008);
    size_row(&table, "SwiGLU, Llama 3 8B", 3, 14336);
    table_print(&table, stdout);

    section("Parameters by component");
    table_row(&table,
              "model|feed-forward|attention|embeddings, norms|total|feed-forward|GFLOP per token");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        long long ffn = feed_forward_parameters(m),
                  all = ffn + projection_parameters(m) + other_parameters(m);
        table_row(&table, "%s|%lld|%lld|%lld|%lld|%.1f %%|%.1f", m->name, ffn,
                  projection_parameters(m), other_parameters(m), all, 100.0 * ffn / all,
                  2e-9 * ffn);
    }
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 3: the feed-forward layer, from ReLU to SwiGLU.");
    Sentence s = sentence_open();
    by_hand();
    which_is_the_gate();
    largest_products(&s);
    what_a_unit_means(&s);
    prediction_before_and_after(&s);
    widths();
    sizes();
    sentence_close(&s);
}
