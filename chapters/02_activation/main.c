/* Chapter 2: why something must stand between two matrices, what a Llama puts there, and what that
 * does to a text. */
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
static void two_linear_layers(void) {
    static const float x[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    static const float w1[2][2] = {{1, -1}, {-1, 1}}, w2[2][2] = {{1, 1}, {1, -1}},
                       product[2][2] = {{0, 0}, {2, -2}};
    float hidden[4][2], two[4][2], one[4][2], bent[4][2];
    linear(4, 2, 2, hidden, x, w1, NULL);
    linear(4, 2, 2, two, hidden, w2, NULL);
    linear(4, 2, 2, one, x, product, NULL);
    for (int t = 0; t < 4; t++) relu(2, hidden[t], hidden[t]);
    linear(4, 2, 2, bent, hidden, w2, NULL);

    section("Two linear layers are one");
    Table table = {0};
    table_row(&table, "x|(x W1) W2|x (W1 W2)|relu(x W1) W2");
    for (int t = 0; t < 4; t++)
        table_row(&table, "(%g, %g)|(%g, %g)|(%g, %g)|(%g, %g)", x[t][0], x[t][1], two[t][0],
                  two[t][1], one[t][0], one[t][1], bent[t][0], bent[t][1]);
    table_print(&table, stdout);
}

/* Every activation at five places, or every slope. */
static void five_places(const char *title, bool slopes) {
    static const float x[5] = {-3, -1, 0, 1, 3};
    section("%s", title);
    Table table = {0};
    table_row(&table, "x|-3|-1|0|1|3");
    for (int i = 0; i < ACTIVATIONS; i++) {
        Activation *function = slopes ? activations[i].derivative : activations[i].function;
        float y[5];
        function(5, y, x);
        table_row(&table, "%s|%.4f|%.4f|%.4f|%.4f|%.4f", activations[i].name, y[0], y[1], y[2],
                  y[3], y[4]);
    }
    table_print(&table, stdout);
}

/* The inputs of a layer's activation, and our silu's outputs. */
static void on_the_sentence(const Sentence *s) {
    enum { TOKEN = 4, SHOWN = 6 };
    int T = s->T, F = s->F, negative = 0, different = 0;
    const float(*gate)[F] = sentence_tensor(s, "feed_forward/gate", 2, T, F);
    const float(*up)[F] = sentence_tensor(s, "feed_forward/up", 2, T, F);
    const float(*product)[F] = sentence_tensor(s, "feed_forward/product", 2, T, F);
    section("On the sentence");
    Table table = {0};
    table_row(&table, "\"%s\"|x|sigmoid(x)|silu(x)|relu(x)", s->token[TOKEN]);
    for (int i = 0; i < SHOWN; i++) {
        float x = gate[TOKEN][i];
        table_row(&table, "hidden number %d|%.2f|%.2f|%.2f|%.2f", i, x, at(x, sigmoid), at(x, silu),
                  at(x, relu));
    }
    table_print(&table, stdout);

    double squares = 0, apart = 0, whole = 0, below = 0;
    for (int t = 0; t < T; t++)
        for (int i = 0; i < F; i++) {
            double y = at(gate[t][i], silu), bent = at(gate[t][i], relu),
                   size = fabs(product[t][i]);
            squares += y * y;
            apart += (y - bent) * (y - bent);
            whole += size;
            if (gate[t][i] < 0) {
                negative++;
                below += size;
            }
            different += !(fabs(y * up[t][i] - product[t][i]) <= 1e-5 * size);
        }
    printf("  of the %d numbers of all tokens, %.0f %% are negative\n", T * F,
           100.0 * negative / (T * F));
    printf("  size of silu(x): %.2f, of silu(x) - relu(x): %.2f\n", sqrt(squares / T / F),
           sqrt(apart / T / F));
    printf("  of the products with up, %.0f %% comes from negative x\n", 100 * below / whole);
    printf("  of these, %d differ from PyTorch's by more than a hundred-thousandth\n", different);
}

static void swish_family(void) {
    static const float betas[] = {0, 0.5f, 1, 2, 4, 16, 64};
    section("The Swish family");
    Table table = {0};
    table_row(&table, "beta|from x/2|from SiLU|from ReLU|beta times that|at x");
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
static void far_out(void) {
    static const float x[] = {-110, -88, -20, 20, 88, 110};
    section("SiLU far out");
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
    five_places("By hand", false);
    on_the_sentence(&s);
    beside_gelu();
    swish_family();
    five_places("Slopes by hand", true);
    far_out();
    at_infinity();
    sentence_close(&s);
}
