/* Chapter 1: what RMSNorm does to a vector, by numbers to follow by hand, and then on the course's
 * text. */
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/random.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const float eps = 1e-5f, ones[4] = {1, 1, 1, 1}, zeros[4];

/* The smallest, the mean and the largest RMS of the hidden states at one place in the model. */
static void rms_row(Table *table, const char *place, const Sentence *s,
                    const float states[s->T][s->C]) {
    double smallest = INFINITY, sum = 0;
    int largest = 0;
    for (int t = 0; t < s->T; t++) {
        double size = rms(s->C, states[t]);
        sum += size;
        smallest = fmin(smallest, size);
        if (size > rms(s->C, states[largest])) largest = t;
    }
    table_row(table, "%s|%.2f|%.2f|%.2f|%s", place, smallest, sum / s->T,
              rms(s->C, states[largest]), s->token[largest]);
}

static void rms_after_each_step(const Sentence *s) {
    int T = s->T, C = s->C;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    section("RMS after each step");
    Table table = {0};
    table_row(&table, "RMS of the %d hidden states|smallest|mean|largest|largest token", T);
    rms_row(&table, "after the embedding", s, stream[0]);
    for (int l = 0; l < s->L; l++) {
        char place[64];
        snprintf(place, sizeof place, "after attention of layer %d", l);
        rms_row(&table, place, s, stream[2 * l + 1]);
        snprintf(place, sizeof place, "after feed-forward of layer %d", l);
        rms_row(&table, place, s, stream[2 * l + 2]);
    }
    rms_row(&table, "after the last norm", s, stream[2 * s->L + 1]);
    table_print(&table, stdout);
}

/* Tokens 0 and 1 point the same way, one ten times as far; token 2 has token 0's numbers in another
 * order. */
static const float tokens[3][4] = {{1, -1, 3, 5}, {10, -10, 30, 50}, {1, 5, 3, -1}};

static void worked_example(void) {
    const float weight[4] = {1, 1, 1, 0.5f};
    float out[3][4], weighted[3][4];
    rms_norm(3, 4, out, tokens, ones, eps);
    rms_norm(3, 4, weighted, tokens, weight, eps);
    section("A worked example");
    Table table = {0};
    table_numbers(&table, 4, 4, tokens[0], "x");
    table_numbers(&table, 4, 4, out[0], "RMSNorm(x)");
    table_numbers(&table, 4, 4, out[1], "RMSNorm(10 x)");
    table_numbers(&table, 4, 4, weighted[0], "RMSNorm(x), with the weight 1, 1, 1, 1/2");
    table_print(&table, stdout);
}

/* ---- why a deep stack without norms is hard to train */

enum { WIDTH = 64, DEPTH = 64 };

typedef struct {
    const char *name;
    float gain;              /* of the random weights */
    bool is_added, has_norm; /* to the residual stream; before each layer */
} Stack;

/* One layer with random weights: two matrices, and between them negative numbers become 0. */
static void random_layer(Random *random, float gain, float out[WIDTH], const float x[WIDTH]) {
    float hidden[WIDTH], w[WIDTH];
    for (int h = 0; h < WIDTH; h++) {
        double sum = 0;
        random_fill(random, WIDTH, w);
        for (int i = 0; i < WIDTH; i++) sum += x[i] * w[i];
        hidden[h] = sum > 0 ? (float)(gain * sum / sqrt(WIDTH)) : 0;
    }
    for (int i = 0; i < WIDTH; i++) {
        double sum = 0;
        random_fill(random, WIDTH, w);
        for (int h = 0; h < WIDTH; h++) sum += hidden[h] * w[h];
        out[i] = (float)(gain * sum / sqrt(WIDTH));
    }
}

/* x through the first `layers` layers of a stack, in place. */
static void run_stack(const Stack *stack, int layers, float x[1][WIDTH]) {
    Random random = {7}; /* the same weights in every run */
    float weight[WIDTH], input[1][WIDTH], out[WIDTH];
    for (int i = 0; i < WIDTH; i++) weight[i] = 1;
    for (int l = 0; l < layers; l++) {
        if (stack->has_norm) rms_norm(1, WIDTH, input, (const float(*)[WIDTH])x, weight, eps);
        else memcpy(input, x, sizeof input);
        random_layer(&random, stack->gain, out, input[0]);
        for (int i = 0; i < WIDTH; i++) x[0][i] = out[i] + (stack->is_added ? x[0][i] : 0);
    }
}

/* How many times larger a small change of the input is after these layers: what a gradient
 * measures, found by trying it. */
static double amplified(const Stack *stack, int layers) {
    enum { TRIES = 8 };
    const float step = 1e-3f;
    double squares = 0;
    for (int n = 0; n < TRIES; n++) {
        Random random = {(uint64_t)(100 + n)};
        float x[1][WIDTH], changed[1][WIDTH], change[WIDTH];
        random_fill(&random, WIDTH, x[0]);
        random_fill(&random, WIDTH, change);
        for (int i = 0; i < WIDTH; i++) changed[0][i] = x[0][i] + step * change[i];
        double before = 0, after = 0;
        for (int i = 0; i < WIDTH; i++) before += pow(changed[0][i] - x[0][i], 2);
        run_stack(stack, layers, x);
        run_stack(stack, layers, changed);
        for (int i = 0; i < WIDTH; i++) after += pow(changed[0][i] - x[0][i], 2);
        squares += after / before / TRIES;
    }
    return sqrt(squares);
}

static void a_small_change(void) {
    static const Stack stacks[] = {
        {"each layer replaces x, small weights", 1, false, false},
        {"each layer replaces x, large weights", 2, false, false},
        {"each layer adds to x, no norm", 1, true, false},
        {"each layer adds to x, pre-norm", 1, true, true},
    };
    section("A small change in x, after many layers");
    Table table = {0};
    table_row(&table, "is multiplied by|after 4 layers|after 8|after 16|after %d", DEPTH);
    for (int n = 0; n < 4; n++) {
        const Stack *s = &stacks[n];
        table_row(&table, "%s|%.2g|%.2g|%.2g|%.2g", s->name, amplified(s, 4), amplified(s, 8),
                  amplified(s, 16), amplified(s, DEPTH));
    }
    table_print(&table, stdout);
}

/* The first norm of the text's layer: its input as PyTorch had it, its output as our kernel
 * computes it. */
static void on_the_text(const Sentence *s) {
    int T = s->T, C = s->C;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    const float(*x)[C] = stream[2 * s->layer];
    const float(*expected)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    float *weight = sentence_weight(s, "input_layernorm", 1, C), out[T][C];
    rms_norm(T, C, out, x, weight, s->eps);
    section("RMSNorm on the example text");
    Table table = {0};
    table_row(&table, "token|RMS of x|x[0]|x[1]|x[2]|RMS of out|out[0]|out[1]|out[2]");
    const int shown[] = {0, 1, 4, s->owner, T - 1};
    for (int n = 0; n < 5; n++) {
        int t = shown[n];
        table_row(&table, "%s|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", s->token[t], rms(C, x[t]),
                  x[t][0], x[t][1], x[t][2], rms(C, out[t]), out[t][0], out[t][1], out[t][2]);
    }
    table_print(&table, stdout);
    sentence_compare(5, T * C, (const float *)out, (const float *)expected);
    double mean = 0;
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int i = 0; i < C; i++) sum += x[t][i];
        mean += fabs(sum / C) / rms(C, x[t]) / T;
    }
    printf("  on average, the mean of a hidden state's features is %.0f %% of its RMS\n",
           100 * mean);
    free(weight);
}

/* The RMS that a vector of RMS r has after each of four divisors. A vector of one number is its own
 * root mean square. */
static void where_epsilon_is_added(void) {
    const float r[] = {1, 0.02f, 0.004f, 0.003f, 0};
    section("Where epsilon is added");
    Table table = {0};
    table_row(&table, "RMS of x|sqrt(ms + eps)|sqrt(ms - eps)|sqrt(ms) + eps|sqrt(ms)");
    for (int n = 0; n < 5; n++) {
        const float x[1][1] = {{r[n]}};
        float added[1][1], subtracted[1][1], missing[1][1];
        rms_norm(1, 1, added, x, ones, eps);
        rms_norm(1, 1, subtracted, x, ones, -eps);
        rms_norm(1, 1, missing, x, ones, 0);
        const float after[4] = {added[0][0], subtracted[0][0], r[n] / (r[n] + eps), missing[0][0]};
        table_numbers(&table, 4, 4, after, "%g", r[n]);
    }
    table_print(&table, stdout);
}

static void layer_norm_compared(void) {
    const float root = sqrtf(0.75f), roots[4] = {root, root, root, root};
    const float x[2][4] = {{1, -1, 3, 5}, {101, 99, 103, 105}};
    float rms[2][4], layer[2][4], unbiased[1][4];
    rms_norm(2, 4, rms, x, ones, eps);
    layer_norm(2, 4, layer, x, ones, zeros, eps);
    /* Dividing by dim - 1 instead of dim has the effect of a smaller weight. */
    layer_norm(1, 4, unbiased, x, roots, zeros, eps);
    section("LayerNorm compared with RMSNorm");
    Table table = {0};
    table_numbers(&table, 4, 4, x[0], "x");
    table_numbers(&table, 4, 4, rms[0], "RMSNorm(x)");
    table_numbers(&table, 4, 4, layer[0], "LayerNorm(x)");
    table_numbers(&table, 4, 4, unbiased[0], "  with the unbiased variance, 20/3");
    table_numbers(&table, 4, 4, rms[1], "RMSNorm(x + 100)");
    table_numbers(&table, 4, 4, layer[1], "LayerNorm(x + 100)");
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
    for (int t = 0; t < 3; t++) table_numbers(&table, 4, 4, tokens[t], "x, token %d", t);
    for (int t = 0; t < 3; t++) table_numbers(&table, 4, 4, layer[t], "LayerNorm, token %d", t);
    for (int t = 0; t < 3; t++) table_numbers(&table, 4, 4, batch[t], "BatchNorm, token %d", t);
    table_numbers(&table, 4, 4, alone[0], "BatchNorm, token 0 alone");
    table_print(&table, stdout);
}

static bf16 *copy_bf16(const Tensor *tensor) {
    return memcpy(xmalloc(tensor_bytes(tensor)), tensor->data, tensor_bytes(tensor));
}

static void bf16_row(Table *table, const char *name, int dim, const bf16 out[dim],
                     const bf16 expected[dim]) {
    int different = 0, largest = 0;
    for (int i = 0; i < dim; i++) {
        int ulps = abs(out[i] - expected[i]); /* neighbouring numbers have neighbouring bits */
        different += ulps > 0;
        largest = ulps > largest ? ulps : largest;
    }
    table_row(table, "%s|%d of %d|%d ulp", name, different, dim, largest);
}

static void where_bf16_rounds(void) {
    Golden golden = golden_open("rms_norm_bf16");
    const GoldenCase *c = golden_case(&golden, "residual_stream");
    int dim = (int)tensor_count(&c->expected);
    bf16 *x = copy_bf16(golden_input(c, "x"));
    bf16 *weight = copy_bf16(golden_input(c, "weight"));
    bf16 *expected = copy_bf16(&c->expected), out[2][1][dim];
    float golden_eps = (float)tensor_get(golden_input(c, "eps"), 0);
    rms_norm_bf16(1, dim, out[0], (const bf16(*)[dim])x, weight, golden_eps);
    rms_norm_bf16_round_once(1, dim, out[1], (const bf16(*)[dim])x, weight, golden_eps);
    section("Two places to round in bf16");
    Table table = {0};
    table_row(&table, "|differ from LlamaRMSNorm|largest difference");
    bf16_row(&table, "rms_norm_bf16", dim, out[0][0], expected);
    bf16_row(&table, "rms_norm_bf16_round_once", dim, out[1][0], expected);
    table_print(&table, stdout);
    free(x);
    free(weight);
    free(expected);
    golden_close(&golden);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 1: RMSNorm, and the norms beside it.");
    Sentence s = sentence_open();
    rms_after_each_step(&s);
    worked_example();
    a_small_change();
    on_the_text(&s);
    where_epsilon_is_added();
    layer_norm_compared();
    which_axis();
    where_bf16_rounds();
    sentence_close(&s);
}
