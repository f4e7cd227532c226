/* Chapter 3: the feed-forward layer on paper and on the course's sentence, and how wide it is in
 * every Llama. */
#include "03_feed_forward/feed_forward.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/llama_parameters.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- a layer small enough for paper: one token of two features, three hidden numbers */

enum { C = 2, F = 3 };
static const float x[1][C] = {{1, 2}};
static const float w1[F][C] = {{1, 1}, {1, -1}, {0, 2}}; /* the gate, in a gated layer */
static const float w_up[F][C] = {{1, 0}, {0, 1}, {2, 1}};
static const float w2[C][F] = {{1, 2, 1}, {0, 1, -1}};

static void outputs(Table *table, const float out[C]) {
    table_row(table, "output|its weights|sum");
    for (int i = 0; i < C; i++)
        table_row(table, "%d|(%g, %g, %g)|%.4f", i, w2[i][0], w2[i][1], w2[i][2], out[i]);
    table_print(table, stdout);
}

static void on_paper(void) {
    float gate[1][F], up[1][F], bent[F], hidden[1][F], room[1][F], out[1][C];
    linear(1, C, F, gate, x, w1, NULL);
    linear(1, C, F, up, x, w_up, NULL);
    feed_forward(1, C, F, out, x, w1, NULL, w2, NULL, relu, hidden);
    section("The layer of 2017, on paper");
    Table table = {0};
    table_row(&table, "hidden number|its weights|sum|ReLU");
    for (int i = 0; i < F; i++)
        table_row(&table, "%d|(%g, %g)|%g|%g", i, w1[i][0], w1[i][1], gate[0][i], hidden[0][i]);
    table_print(&table, stdout);
    putchar('\n');
    outputs(&table, out[0]);

    silu(F, bent, gate[0]);
    gated_feed_forward(1, C, F, out, x, w1, w_up, w2, swiglu, hidden, room);
    section("The layer of a Llama, on paper");
    table_row(&table, "hidden number|gate|silu(gate)|weights of up|up|product");
    for (int i = 0; i < F; i++)
        table_row(&table, "%d|%g|%.4f|(%g, %g)|%g|%.4f", i, gate[0][i], bent[i], w_up[i][0],
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

static void one_pair(void) {
    section("One pair, five units");
    Table table = {0};
    table_row(&table, "unit|opened by 2|unit(2, -1)|swapped: unit(-1, 2)");
    for (int u = 0; u < UNITS; u++)
        table_row(&table, "%s|%.4f|%.4f|%.4f", unit_names[u], apply(units[u], 2, 1),
                  apply(units[u], 2, -1), apply(units[u], -1, 2));
    table_print(&table, stdout);
}

/* ---- the sentence */

static void on_the_sentence(const Sentence *s) {
    int T = s->T, C = s->C, F = s->F;
    const float(*normed)[C] = sentence_tensor(s, "feed_forward/normed", 2, T, C);
    const float(*expected)[C] = sentence_tensor(s, "feed_forward/out", 2, T, C);
    float(*w_gate)[C] = sentence_weight(s, "mlp.gate_proj", 2, F, C);
    float(*w_up)[C] = sentence_weight(s, "mlp.up_proj", 2, F, C);
    float(*w_down)[F] = sentence_weight(s, "mlp.down_proj", 2, C, F);
    float out[T][C], gate[T][F], up[T][F], product[T][F];
    linear(T, C, F, gate, normed, w_gate,
           NULL); /* the layer itself puts the product in its place */
    gated_feed_forward(T, C, F, out, normed, w_gate, w_up, w_down, swiglu, product, up);
    section("On the sentence");
    Table table = {0};
    table_row(&table, "layer %d|largest product|gate|silu(gate)|up|product", s->layer);
    const int shown[] = {1, 4, s->owner, 20, T - 1};
    for (int n = 0; n < 5; n++) {
        int t = shown[n], most = 0;
        for (int i = 0; i < F; i++)
            if (fabsf(product[t][i]) > fabsf(product[t][most])) most = i;
        float open;
        silu(1, &open, &gate[t][most]);
        table_row(&table, "%s|number %d|%.2f|%.2f|%.2f|%.1f", s->token[t], most, gate[t][most],
                  open, up[t][most], product[t][most]);
    }
    table_print(&table, stdout);
    sentence_compare(4, T * C, (const float *)out, (const float *)expected);
    free(w_gate);
    free(w_up);
    free(w_down);
}

/* The probability that the model gives to the token `next` from this hidden state: the final
 * norm, lm_head and softmax. */
static double likely(const Sentence *s, const float row[1][s->C], int next) {
    int C = s->C, V = s->V;
    float *norm = tensor_to_float(safetensors_find(&s->model, "model.norm.weight"));
    float(*head)[C] =
        (void *)tensor_to_float(safetensors_find(&s->model, "model.embed_tokens.weight"));
    float normed[1][C], logits[1][V];
    double sum = 0;
    rms_norm(1, C, normed, row, norm, s->eps);
    linear(1, C, V, logits, normed, head, NULL);
    for (int i = 0; i < V; i++) sum += exp((double)logits[0][i] - logits[0][next]);
    free(norm);
    free(head);
    return 1 / sum;
}

static void what_it_adds(const Sentence *s) {
    int T = s->T, C = s->C, L = s->L;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * L + 2, T, C);
    const int shown[] = {7, 10, 25, 21, 22, T - 1};
    section("What it adds on the sentence");
    Table table = {0};
    table_row(&table, "feed-forward of layer %d|<next token|before|after", L - 1);
    for (int n = 0; n < 6; n++) {
        int t = shown[n], next = s->ids[t + 1 < T ? t + 1 : s->owner];
        table_row(&table, "... %s %s|%s|%.0f %%|%.0f %%", s->token[t - 1], s->token[t],
                  s->token[t + 1 < T ? t + 1 : s->owner],
                  100 * likely(s, &stream[2 * L - 1][t], next),
                  100 * likely(s, &stream[2 * L][t], next));
    }
    table_print(&table, stdout);
}

/* ---- widths and sizes */

static void widths(void) {
    Table table = {0};
    section("The hidden width of every Llama");
    table_row(&table, "model|C|4 C|2/3 of it|multiplier|product|multiple of|width|width / C");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        assert(width(m) == m->F);
        table_row(&table, "%s|%d|%d|%ld|%.1f|%ld|%d|%ld|%.3f", m->name, m->C, 4 * m->C,
                  llama_hidden_width(m->C, 1, 1), m->multiplier,
                  llama_hidden_width(m->C, m->multiplier, 1), m->multiple_of, width(m),
                  (double)width(m) / m->C);
    }
    table_print(&table, stdout);

    section("Other recipes, other widths");
    table_row(&table, "model|Meta's|no cuts|nearest multiple|no multiple|no multiplier");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        long step = m->multiple_of, product = llama_hidden_width(m->C, m->multiplier, 1);
        double exact = m->multiplier * 8 * m->C / 3;
        table_row(&table, "%s|%ld|%.0f|%ld|%ld|%ld", m->name, width(m), ceil(exact / step) * step,
                  (product + step / 2) / step * step, product, llama_hidden_width(m->C, 1, step));
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
    table_row(&table, "layer at C = 4096|matrices|width|parameters|of the first");
    size_row(&table, "ReLU, 4 C", 2, 16384);
    size_row(&table, "SwiGLU, 4 C (PaLM)", 3, 16384);
    size_row(&table, "SwiGLU, 2/3 of 4 C", 3, 10922);
    size_row(&table, "SwiGLU, Llama 2 7B", 3, 11008);
    size_row(&table, "SwiGLU, Llama 3 8B", 3, 14336);
    table_print(&table, stdout);

    section("Where the parameters are");
    table_row(&table, "model|feed-forward|attention|embeddings, norms|all|share|GFLOP a token");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) {
        long long ffn = feed_forwards(m), all = ffn + attentions(m) + embeddings_and_norms(m);
        table_row(&table, "%s|%lld|%lld|%lld|%lld|%.1f %%|%.1f", m->name, ffn, attentions(m),
                  embeddings_and_norms(m), all, 100.0 * ffn / all, 2e-9 * ffn);
    }
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 3: the feed-forward layer, from ReLU to SwiGLU.");
    Sentence s = sentence_open();
    on_paper();
    one_pair();
    on_the_sentence(&s);
    what_it_adds(&s);
    widths();
    sizes();
    sentence_close(&s);
}
