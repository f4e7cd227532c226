/* Chapter 2: why a nonlinear function is needed between two matrices, which one a Llama has, and
 * what it does to the course's text. */
#include "02_activation/activation.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>

/* x sigmoid(1.702 x), the simpler of GELU's two approximations: a Swish. */
static void quick_gelu(int n, float out[n], const float x[n]) { swish(n, out, x, 1.702f); }
static void quick_gelu_derivative(int n, float out[n], const float x[n]) {
    swish_derivative(n, out, x, 1.702f);
}

enum { RELU, SIGMOID, SILU, GELU, GELU_TANH, QUICK_GELU, ACTIVATIONS };

static const struct {
    const char *name;
    Activation *function, *derivative;
} activations[ACTIVATIONS] = {
    [RELU] = {"relu", relu, relu_derivative},
    [SIGMOID] = {"sigmoid", sigmoid, sigmoid_derivative},
    [SILU] = {"silu", silu, silu_derivative},
    [GELU] = {"gelu", gelu, gelu_derivative},
    [GELU_TANH] = {"gelu_tanh", gelu_tanh, gelu_tanh_derivative},
    [QUICK_GELU] = {"quick_gelu", quick_gelu, quick_gelu_derivative},
};

static float at(float x, Activation *function) {
    float y;
    function(1, &y, &x);
    return y;
}

/* linear() has a weight's outputs as its rows; the first two of these matrices are the same either
 * way. */
static const float corner[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
static const float w1[2][2] = {{1, -1}, {-1, 1}}, w2[2][2] = {{1, 1}, {1, -1}};

/* relu(x W1) W2; the hidden units before and after ReLU stay in the two arrays. */
static void two_layers(int rows, float out[rows][2], const float x[rows][2], float before[rows][2],
                       float after[rows][2]) {
    linear(rows, 2, 2, before, x, w1, NULL);
    for (int t = 0; t < rows; t++) relu(2, after[t], before[t]);
    linear(rows, 2, 2, out, (const float(*)[2])after, w2, NULL);
}

static void two_linear_layers(void) {
    static const float product[2][2] = {{0, 0}, {2, -2}};
    float hidden[4][2], two[4][2], one[4][2], with_relu[4][2], after[4][2];
    linear(4, 2, 2, hidden, corner, w1, NULL);
    linear(4, 2, 2, two, hidden, w2, NULL);
    linear(4, 2, 2, one, corner, product, NULL);
    two_layers(4, with_relu, corner, hidden, after);

    section("Two linear layers are one");
    Table table = {0};
    table_row(&table, "x|(x W1) W2|x (W1 W2)|relu(x W1) W2");
    for (int t = 0; t < 4; t++)
        table_row(&table, "(%g, %g)|(%g, %g)|(%g, %g)|(%g, %g)", corner[t][0], corner[t][1],
                  two[t][0], two[t][1], one[t][0], one[t][1], with_relu[t][0], with_relu[t][1]);
    table_print(&table, stdout);
}

/* The first output of the same layer is XOR: 1 where the two inputs differ. */
static void xor_in_the_plane(void) {
    float before[4][2], after[4][2], out[4][2];
    two_layers(4, out, corner, before, after);
    section("XOR, which no single matrix computes");
    Table table = {0};
    table_row(&table, "x|x W1|hidden units: relu(x W1)|their sum");
    for (int t = 0; t < 4; t++)
        table_row(&table, "(%g, %g)|(%g, %g)|(%g, %g)|%g", corner[t][0], corner[t][1], before[t][0],
                  before[t][1], after[t][0], after[t][1], out[t][0]);
    table_print(&table, stdout);
}

/* Without biases relu(x W1) W2 is homogeneous: a times the input gives a times the output. */
static void no_bias(void) {
    static const float longer[4][2] = {{1, 0}, {2, 0}, {10, 0}, {0.5f, 0}};
    float before[4][2], after[4][2], out[4][2];
    two_layers(4, out, longer, before, after);
    section("Without a bias, a multiple of x gives the same multiple of the output");
    Table table = {0};
    table_row(&table, "x|relu(x W1) W2");
    for (int t = 0; t < 4; t++)
        table_row(&table, "(%g, %g)|(%g, %g)", longer[t][0], longer[t][1], out[t][0], out[t][1]);
    table_print(&table, stdout);
}

/* relu bends at 0. A bias of -1 moves the bend to x = 1, and so does a weight of -1 for a second
 * feature that is always 1. */
static void a_constant_feature(void) {
    static const float with_one[5][2] = {{-1, 1}, {0, 1}, {1, 1}, {2, 1}, {3, 1}};
    static const float weight[1][2] = {{1, -1}};
    const float bias = -1;
    float alone[5], biased[5], constant[5][1];
    linear(5, 2, 1, constant, with_one, weight, NULL);
    for (int t = 0; t < 5; t++) {
        float sum = with_one[t][0] + bias;
        relu(1, &alone[t], &with_one[t][0]);
        relu(1, &biased[t], &sum);
        relu(1, constant[t], constant[t]);
    }
    section("A constant feature is a bias");
    Table table = {0};
    table_row(&table, "x|-1|0|1|2|3");
    table_numbers(&table, 0, 5, alone, "relu(x)");
    table_numbers(&table, 0, 5, biased, "relu(x - 1): with a bias");
    table_numbers(&table, 0, 5, (const float *)constant, "relu((x, 1) . (1, -1)): without a bias");
    table_print(&table, stdout);
}

/* Every activation at five places, or every slope. */
static void five_places(const char *title, bool slopes) {
    static const float places[5] = {-3, -1, 0, 1, 3};
    section("%s", title);
    Table table = {0};
    table_row(&table, "x|-3|-1|0|1|3");
    for (int i = 0; i < ACTIVATIONS; i++) {
        Activation *function = slopes ? activations[i].derivative : activations[i].function;
        float y[5];
        function(5, y, places);
        table_numbers(&table, 4, 5, y, "%s", activations[i].name);
    }
    table_print(&table, stdout);
}

/* The inputs of a layer's activation, and the outputs of our silu. */
static void on_the_text(const Sentence *s) {
    enum { TOKEN = 4, SHOWN = 6 };
    int T = s->T, F = s->F;
    const float(*gate)[F] = sentence_tensor(s, "feed_forward/gate", 2, T, F);
    section("SiLU on the example text");
    Table table = {0};
    table_row(&table, "\"%s\"|x|sigmoid(x)|silu(x)|relu(x)", s->token[TOKEN]);
    for (int i = 0; i < SHOWN; i++) {
        float x = gate[TOKEN][i];
        table_row(&table, "hidden unit %d|%.2f|%.2f|%.2f|%.2f", i, x, at(x, sigmoid), at(x, silu),
                  at(x, relu));
    }
    table_print(&table, stdout);
}

/* How much comes from hidden units with a negative x, which ReLU would make 0; and whether silu(x)
 * times up is what PyTorch has. */
static void negative_units(const Sentence *s) {
    int T = s->T, F = s->F, count = T * F, negative = 0, different = 0;
    const float *gate = sentence_tensor(s, "feed_forward/gate", 2, T, F);
    const float *up = sentence_tensor(s, "feed_forward/up", 2, T, F);
    const float *product = sentence_tensor(s, "feed_forward/product", 2, T, F);
    double of_silu = 0, of_difference = 0, all = 0, from_negative = 0;
    for (int i = 0; i < count; i++) {
        double y = at(gate[i], silu), apart = y - at(gate[i], relu), size = fabs(product[i]);
        of_silu += y * y;
        of_difference += apart * apart;
        all += size;
        if (gate[i] < 0) {
            negative++;
            from_negative += size;
        }
        if (!(fabs(y * up[i] - product[i]) <= 1e-5 * size)) different++; /* a NaN differs, too */
    }
    printf("  %.0f %% of the x of all tokens, %d numbers, are negative\n", 100.0 * negative / count,
           count);
    printf("  RMS of silu(x): %.2f; RMS of silu(x) - relu(x): %.2f\n", sqrt(of_silu / count),
           sqrt(of_difference / count));
    printf("  units with a negative x contribute %.0f %% of the sum of |silu(x) up|\n",
           100 * from_negative / all);
    printf("  %d of these products differ from PyTorch's by more than a hundred-thousandth\n",
           different);
}

static void swish_family(void) {
    static const float betas[] = {0, 0.5f, 1, 2, 4, 16, 64};
    section("The Swish family");
    Table table = {0};
    table_row(&table, "beta|from x/2|from SiLU|from ReLU|times beta|largest at x");
    for (int b = 0; b < 7; b++) {
        float half = 0, smooth = 0, bent = 0, where = 0; /* the largest distances */
        for (int i = 0; i <= 8 * 4096; i++) {            /* which are the same at -x */
            float x = (float)i / 4096, y;
            swish(1, &y, &x, betas[b]);
            half = fmaxf(half, fabsf(y - x / 2));
            smooth = fmaxf(smooth, fabsf(y - at(x, silu)));
            if (fabsf(y - at(x, relu)) > bent) {
                bent = fabsf(y - at(x, relu));
                where = x;
            }
        }
        table_row(&table, "%g|%.4g|%.4g|%.4g|%.4f|± %.3f", betas[b], half, smooth, bent,
                  betas[b] * bent, where);
    }
    table_print(&table, stdout);
}

/* The minimum of an activation, where its slope changes sign: bisection down to neighbouring
 * floats. */
static float lowest(Activation *derivative) {
    float falling = -2, rising = 0;
    for (;;) {
        float middle = (falling + rising) / 2;
        if (middle == falling || middle == rising) return rising;
        if (at(middle, derivative) < 0) falling = middle;
        else rising = middle;
    }
}

static void beside_gelu(void) {
    section("Lowest points, and distances from GELU");
    Table table = {0};
    table_row(&table, "|lowest at|value|distance from GELU");
    for (int i = SILU; i < ACTIVATIONS; i++) {
        float bottom = lowest(activations[i].derivative), distance = 0;
        for (int j = 0; j <= 8 * 4096; j++) { /* the distance is the same at -x */
            float x = (float)j / 4096;
            distance = fmaxf(distance, fabsf(at(x, activations[i].function) - at(x, gelu)));
        }
        table_row(&table, "%s|%.5f|%.5f|%.5f", activations[i].name, bottom,
                  at(bottom, activations[i].function), distance);
    }
    table_print(&table, stdout);
}

typedef struct {
    char text[16];
} Cell;

/* A number for a table: the sign of a NaN means nothing, and machines print it differently. */
static Cell cell(double x) {
    Cell cell = {"NaN"};
    if (!isnan(x)) snprintf(cell.text, sizeof cell.text, "%.3g", x);
    return cell;
}

/* Two ways to write it in float32, and the kernel. */
static void for_large_x(void) {
    static const float x[] = {-110, -88, -20, 20, 88, 110};
    section("SiLU for large |x|");
    Table table = {0};
    table_row(&table, "x|x (e^x / (1 + e^x))|x / (1 + e^-x)|silu(x)");
    for (int i = 0; i < 6; i++) {
        float e = expf(x[i]), reciprocal = expf(-x[i]);
        table_row(&table, "%g|%s|%s|%s", x[i], cell(x[i] * (e / (1 + e))).text,
                  cell(x[i] / (1 + reciprocal)).text, cell(at(x[i], silu)).text);
    }
    table_print(&table, stdout);
}

static void at_infinity(void) {
    section("At infinity");
    Table table = {0};
    table_row(&table, "x|-inf|inf|NaN");
    for (int i = 0; i < ACTIVATIONS; i++) {
        Activation *f = activations[i].function;
        table_row(&table, "%s|%s|%s|%s", activations[i].name, cell(at(-INFINITY, f)).text,
                  cell(at(INFINITY, f)).text, cell(at(NAN, f)).text);
    }
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 2: ReLU, SiLU, GELU and their slopes.");
    Sentence s = sentence_open();
    two_linear_layers();
    xor_in_the_plane();
    no_bias();
    a_constant_feature();
    five_places("A worked example", false);
    on_the_text(&s);
    negative_units(&s);
    beside_gelu();
    swish_family();
    five_places("Derivatives: a worked example", true);
    for_large_x();
    at_infinity();
    sentence_close(&s);
}
