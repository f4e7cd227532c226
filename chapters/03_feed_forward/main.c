/* Chapter 3: a feed-forward layer on paper, five gated units, PyTorch's answers, the width of every Llama. */
#include "03_feed_forward/feed_forward.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/linear.h"
#include "common/options.h"

#include <math.h>
#include <stdlib.h>

/* ---- a layer small enough for paper: one token of two numbers, three hidden units */

enum { C = 2, F = 3 };
static const float x[1][C] = {{1, 2}};
static const float w1[F][C] = {{1, 1}, {1, -1}, {0, 2}}, b1[F] = {0, 0, 1}; /* the gate, in a gated layer */
static const float w_up[F][C] = {{1, 0}, {0, 1}, {2, 1}}, b_up[F] = {1, -1, 0};
static const float w2[C][F] = {{1, 2, 1}, {0, 1, -1}}, b2[C] = {10, 20};

static void layer_on_paper(void) {
    float product[1][F], sum[1][F], hidden[1][F], down[1][C], out[1][C];
    linear(1, C, F, product, x, w1, NULL);
    linear(1, C, F, sum, x, w1, b1);
    feed_forward(1, C, F, out, x, w1, b1, w2, b2, relu, hidden);
    linear(1, F, C, down, hidden, w2, NULL);

    section("One layer on paper");
    Table table = {0};
    table_row(&table, "hidden unit|its weights|x w1^T|+ b1|ReLU");
    for (int i = 0; i < F; i++)
        table_row(&table, "%d|(%g, %g)|%g|%g|%g", i, w1[i][0], w1[i][1], product[0][i], sum[0][i],
                  hidden[0][i]);
    table_print(&table, stdout);
    putchar('\n');
    table_row(&table, "output|its weights|hidden w2^T|+ b2");
    for (int i = 0; i < C; i++)
        table_row(&table, "%d|(%g, %g, %g)|%g|%g", i, w2[i][0], w2[i][1], w2[i][2], down[0][i],
                  out[0][i]);
    table_print(&table, stdout);
}

static void layer_row(Table *table, const char *name, const float h[F], const float out[C]) {
    table_row(table, "%s|%.4f|%.4f|%.4f|%.4f|%.4f", name, h[0], h[1], h[2], out[0], out[1]);
}

static void plain_row(Table *table, const char *name, Activation *bend, const float *b1, const float *b2) {
    float hidden[1][F], out[1][C];
    feed_forward(1, C, F, out, x, w1, b1, w2, b2, bend, hidden);
    layer_row(table, name, hidden[0], out[0]);
}

static void gated_row(Table *table, const char *name, Gate *unit, const float *b_gate, const float *b_up) {
    float gate[1][F], up[1][F], out[1][C];
    gated_feed_forward(1, C, F, out, x, w1, b_gate, w_up, b_up, w2, unit, gate, up);
    layer_row(table, name, gate[0], out[0]);
}

/* In the order in which the golden cases number them. */
static Activation *const activations[] = {relu, gelu, silu};
static Gate *const units[] = {glu, bilinear, reglu, geglu, swiglu};
static const char *const unit_names[] = {"GLU", "Bilinear", "ReGLU", "GEGLU", "SwiGLU"};
enum { UNITS = sizeof units / sizeof *units };

static const char layer_header[] = "layer|hidden 0|hidden 1|hidden 2|out 0|out 1";

static void other_bends(void) {
    section("The same layer with other bends");
    Table table = {0};
    table_row(&table, "%s", layer_header);
    plain_row(&table, "ReLU and biases (2017)", relu, b1, b2);
    plain_row(&table, "ReLU (T5)", relu, NULL, NULL);
    plain_row(&table, "GELU", gelu, NULL, NULL);
    plain_row(&table, "Swish, beta = 1", silu, NULL, NULL);
    table_print(&table, stdout);
}

static void gated_layers(void) {
    section("The same layer, gated");
    Table table = {0};
    table_row(&table, "%s", layer_header);
    gated_row(&table, "GLU and biases", glu, b1, b_up);
    gated_row(&table, "SwiGLU and biases", swiglu, b1, b_up);
    for (int u = 0; u < UNITS; u++) gated_row(&table, unit_names[u], units[u], NULL, NULL);
    table_print(&table, stdout);
}

static float apply(Gate *unit, float gate, float up) {
    float out;
    unit(1, &out, &gate, &up);
    return out;
}

static void one_pair(void) {
    section("One pair, five units");
    Table table = {0};
    table_row(&table, "unit|opened by 2|unit(2, -1)|swapped: unit(-1, 2)");
    for (int u = 0; u < UNITS; u++)
        table_row(&table, "%s|%.4f|%.4f|%.4f", unit_names[u], apply(units[u], 2, 1), apply(units[u], 2, -1),
                  apply(units[u], -1, 2));
    table_print(&table, stdout);
}

/* ---- agreement with PyTorch */

/* An input as an array; NULL where PyTorch had none. */
static void *input(const GoldenCase *c, const char *name) {
    const Tensor *tensor = golden_input(c, name);
    return tensor ? tensor_to_float(tensor) : NULL;
}

static int number(const GoldenCase *c, const char *name) { return (int)tensor_get(golden_input(c, name), 0); }

static void *run_plain(const GoldenCase *c, int T, int C, int F) {
    void *x = input(c, "x"), *w1 = input(c, "w1"), *b1 = input(c, "b1");
    void *w2 = input(c, "w2"), *b2 = input(c, "b2");
    float(*out)[C] = allocate(T * sizeof *out), (*hidden)[F] = allocate(T * sizeof *hidden);
    feed_forward(T, C, F, out, x, w1, b1, w2, b2, activations[number(c, "activation")], hidden);
    free(x), free(w1), free(b1), free(w2), free(b2), free(hidden);
    return out;
}

static void *run_gated(const GoldenCase *c, int T, int C, int F) {
    void *x = input(c, "x"), *w_gate = input(c, "w_gate"), *b_gate = input(c, "b_gate");
    void *w_up = input(c, "w_up"), *b_up = input(c, "b_up"), *w_down = input(c, "w_down");
    float(*out)[C] = allocate(T * sizeof *out);
    float(*gate)[F] = allocate(T * sizeof *gate), (*up)[F] = allocate(T * sizeof *up);
    Gate *unit = units[number(c, "unit")];
    gated_feed_forward(T, C, F, out, x, w_gate, b_gate, w_up, b_up, w_down, unit, gate, up);
    free(x), free(w_gate), free(b_gate), free(w_up), free(b_up), free(w_down), free(gate), free(up);
    return out;
}

static void agreement(const char *kernel, const char *w_first, void *run(const GoldenCase *, int, int, int)) {
    section("Against PyTorch: %s", kernel);
    Table table = {0};
    table_row(&table, "case|T|C|F|our error, ulps|PyTorch's|wrong");
    Golden golden = golden_open(kernel);
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        const size_t *up = golden_input(c, w_first)->shape;
        Tensor got = c->expected;
        int T = (int)got.shape[0], F = (int)up[0], C = (int)up[1];
        void *out = run(c, T, C, F);
        got.data = out;
        Agreement a = golden_check(c, false, &got);
        table_row(&table, "%s|%d|%d|%d|%.1f|%.1f|%zu of %zu", c->name, T, C, F, a.ulps, a.reference, a.wrong,
                  a.count);
        free(out);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

/* ---- widths and sizes */

/* From the params.json of Meta's releases. embeddings is 1 where the output head is the embedding table. */
typedef struct {
    const char *name;
    long C;
    double multiplier;
    long multiple_of, layers, key_value_width, vocabulary, embeddings;
} Llama;

static const Llama llamas[] = {{"Llama 1, 2 7B", 4096, 1, 256, 32, 4096, 32000, 2},
                               {"Llama 1, 2 13B", 5120, 1, 256, 40, 5120, 32000, 2},
                               {"Llama 1 33B", 6656, 1, 256, 60, 6656, 32000, 2},
                               {"Llama 1 65B", 8192, 1, 256, 80, 8192, 32000, 2},
                               {"Llama 2 70B", 8192, 1.3, 4096, 80, 1024, 32000, 2},
                               {"Llama 3 8B", 4096, 1.3, 1024, 32, 1024, 128256, 2},
                               {"Llama 3 70B", 8192, 1.3, 4096, 80, 1024, 128256, 2},
                               {"Llama 3.1 405B", 16384, 1.2, 4096, 126, 1024, 128256, 2},
                               {"Llama 3.2 1B", 2048, 1.5, 256, 16, 512, 128256, 1},
                               {"Llama 3.2 3B", 3072, 1, 256, 28, 1024, 128256, 1}};
static const Llama *const end = llamas + sizeof llamas / sizeof *llamas;

static long width(const Llama *m) { return llama_hidden_width(m->C, m->multiplier, m->multiple_of); }

static void widths(void) {
    Table table = {0};
    section("The hidden width of every Llama");
    table_row(&table, "model|C|4 C|2/3 of it|multiplier|product|multiple of|width|width / C");
    for (const Llama *m = llamas; m < end; m++)
        table_row(&table, "%s|%ld|%ld|%ld|%.1f|%ld|%ld|%ld|%.3f", m->name, m->C, 4 * m->C,
                  llama_hidden_width(m->C, 1, 1), m->multiplier, llama_hidden_width(m->C, m->multiplier, 1),
                  m->multiple_of, width(m), (double)width(m) / m->C);
    table_print(&table, stdout);

    section("Other recipes, other widths");
    table_row(&table, "model|Meta's|no cuts|nearest multiple|no multiple|no multiplier");
    for (const Llama *m = llamas; m < end; m++) {
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

static long long feed_forwards(const Llama *m) { return 3LL * m->C * width(m) * m->layers; }

/* The query and output projections are C x C; those of key and value, C x key_value_width. */
static long long attentions(const Llama *m) { return 2LL * m->C * (m->C + m->key_value_width) * m->layers; }

static long long embeddings_and_norms(const Llama *m) {
    return 1LL * m->C * (m->vocabulary * m->embeddings + 2 * m->layers + 1);
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
    for (const Llama *m = llamas; m < end; m++) {
        long long ffn = feed_forwards(m), all = ffn + attentions(m) + embeddings_and_norms(m);
        table_row(&table, "%s|%lld|%lld|%lld|%lld|%.1f %%|%.1f", m->name, ffn, attentions(m),
                  embeddings_and_norms(m), all, 100.0 * ffn / all, 2e-9 * ffn);
    }
    table_print(&table, stdout);
}

static void write_data(const char *directory) {
    /* Every unit is linear in up: its value at up = 1 tells all. */
    Output gates = data_open(directory, "03_gates", "gate, unit(gate, 1): GLU bilinear ReGLU GEGLU SwiGLU");
    for (int i = -20; i <= 20; i++, fputc('\n', gates.file)) {
        fprintf(gates.file, "%g", 0.15 * i);
        for (int u = 0; u < UNITS; u++) fprintf(gates.file, " %g", apply(units[u], 0.15F * i, 1));
    }
    output_close(&gates);

    Output models = data_open(directory, "03_llamas", "width/C layer/C^2 feed-forward attention rest name");
    for (const Llama *m = llamas; m < end; m++)
        fprintf(models.file, "%g %g %lld %lld %lld \"%s\"\n", (double)width(m) / m->C, 3.0 * width(m) / m->C,
                feed_forwards(m), attentions(m), embeddings_and_norms(m), m->name);
    output_close(&models);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "The feed-forward layer, from ReLU to SwiGLU.");
    layer_on_paper();
    other_bends();
    one_pair();
    gated_layers();
    agreement("feed_forward", "w1", run_plain);
    agreement("gated_feed_forward", "w_gate", run_gated);
    widths();
    sizes();
    if (data) write_data(data);
}
