/* Chapter 2: the bend between two linear layers, and the functions that have been tried for it. */
#include "02_activation/activation.h"
#include "common/console.h"
#include "common/golden.h"
#include "common/linear.h"
#include "common/measure.h"
#include "common/options.h"

#include <math.h>
#include <stdlib.h>

/* x sigmoid(1.702 x), the simpler of GELU's two approximations: a Swish. */
static void quick_gelu(int n, float out[n], const float x[n]) { swish(n, out, x, 1.702f); }
static void quick_gelu_derivative(int n, float out[n], const float x[n]) { swish_derivative(n, out, x, 1.702f); }

enum { RELU, SIGMOID, GELU, GELU_TANH, QUICK_GELU, SILU, ACTIVATIONS };

static const struct {
    const char *name;
    Activation *function, *derivative;
} activations[ACTIVATIONS] = {
    [RELU] = {"relu", relu, relu_derivative},
    [SIGMOID] = {"sigmoid", sigmoid, sigmoid_derivative},
    [GELU] = {"gelu", gelu, gelu_derivative},
    [GELU_TANH] = {"gelu_tanh", gelu_tanh, gelu_tanh_derivative},
    [QUICK_GELU] = {"quick_gelu", quick_gelu, quick_gelu_derivative},
    [SILU] = {"silu", silu, silu_derivative},
};

static const float betas[] = {0, 0.5f, 1, 2, 4, 16, 64};
enum { BETAS = sizeof betas / sizeof *betas };

static float at(float x, Activation *function) {
    float y;
    function(1, &y, &x);
    return y;
}

static float swish_at(float x, float beta) {
    float y;
    swish(1, &y, &x, beta);
    return y;
}

static void two_linear_layers(void) {
    section("Two linear layers are one");
    static const float x[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    static const float w1[2][2] = {{1, -1}, {-1, 1}}, w2[2][2] = {{1, 1}, {1, -1}};
    static const float product[2][2] = {{0, 0}, {2, -2}}; /* w2 w1 */
    float hidden[4][2], two[4][2], one[4][2], bent[4][2];
    linear(4, 2, 2, hidden, x, w1, NULL);
    linear(4, 2, 2, two, hidden, w2, NULL);
    linear(4, 2, 2, one, x, product, NULL);
    for (int t = 0; t < 4; t++) relu(2, hidden[t], hidden[t]);
    linear(4, 2, 2, bent, hidden, w2, NULL);

    Table table = {0};
    table_row(&table, "x|W2 (W1 x)|(W2 W1) x|W2 relu(W1 x)");
    for (int t = 0; t < 4; t++)
        table_row(&table, "(%g, %g)|(%g, %g)|(%g, %g)|(%g, %g)", x[t][0], x[t][1], two[t][0], two[t][1],
                  one[t][0], one[t][1], bent[t][0], bent[t][1]);
    table_print(&table, stdout);
}

static void by_hand(void) {
    section("By hand");
    static const float x[5] = {-3, -1, 0, 1, 3};
    Table table = {0};
    table_row(&table, "x|-3|-1|0|1|3");
    for (int i = 0; i < ACTIVATIONS; i++) {
        float y[5], slope[5];
        activations[i].function(5, y, x);
        activations[i].derivative(5, slope, x);
        table_row(&table, "%s|%.4f|%.4f|%.4f|%.4f|%.4f", activations[i].name, y[0], y[1], y[2], y[3], y[4]);
        table_row(&table, "  slope|%.4f|%.4f|%.4f|%.4f|%.4f", slope[0], slope[1], slope[2], slope[3], slope[4]);
    }
    table_print(&table, stdout);
}

static void swish_family(void) {
    section("The Swish family");
    Table table = {0};
    table_row(&table, "beta|from x/2|from SiLU|from ReLU|beta times that|at x");
    for (int b = 0; b < BETAS; b++) {
        float half = 0, smooth = 0, bent = 0, where = 0; /* the largest distances */
        for (int i = 0; i <= 8 * 4096; i++) {            /* which are the same at -x */
            float x = (float)i / 4096, y = swish_at(x, betas[b]);
            half = fmaxf(half, fabsf(y - x / 2));
            smooth = fmaxf(smooth, fabsf(y - at(x, silu)));
            if (fabsf(y - at(x, relu)) > bent) bent = fabsf(y - at(x, relu)), where = x;
        }
        table_row(&table, "%g|%.4g|%.4g|%.4g|%.4f|± %.3f", betas[b], half, smooth, bent, betas[b] * bent, where);
    }
    table_print(&table, stdout);
}

/* Where an activation is lowest: its derivative changes sign there. Bisection until no float lies between. */
static float lowest(Activation *derivative) {
    float falling = -2, rising = 0;
    for (;;) {
        float middle = (falling + rising) / 2;
        if (middle == falling || middle == rising) return rising;
        *(at(middle, derivative) < 0 ? &falling : &rising) = middle;
    }
}

static void beside_gelu(void) {
    section("Lowest points, and distances from GELU");
    Table table = {0};
    table_row(&table, "|lowest at|value|distance from GELU|at x");
    for (int i = GELU; i < ACTIVATIONS; i++) {
        float bottom = lowest(activations[i].derivative), distance = 0, where = 0;
        for (int j = 0; j <= 8 * 4096; j++) { /* the distance is the same at -x */
            float x = (float)j / 4096, d = fabsf(at(x, activations[i].function) - at(x, gelu));
            if (d > distance) distance = d, where = x;
        }
        table_row(&table, "%s|%.5f|%.5f|%.5f|± %.2f", activations[i].name, bottom, at(bottom, activations[i].function),
                  distance, where);
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

static void far_out(void) {
    section("SiLU far out");
    Golden golden = golden_open("silu");
    Table table = {0};
    table_row(&table, "x|x (e^x / (1 + e^x))|x / (1 + e^-x)|silu|PyTorch's");
    for (int k = 0; k < 2; k++) {
        const GoldenCase *c = golden_case(&golden, k == 0 ? "extremes" : "not_finite");
        for (size_t i = 0; i < tensor_count(&c->expected); i++) {
            float x = (float)tensor_get(golden_input(c, "x"), i), e = expf(x);
            if (fabsf(x) < 20) continue;
            table_row(&table, "%s|%s|%s|%s|%s", cell(x).text, cell(x * (e / (1 + e))).text,
                      cell(x / (1 + expf(-x))).text, cell(at(x, silu)).text, cell(tensor_get(&c->expected, i)).text);
        }
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

static void at_infinity(void) {
    section("At infinity");
    Table table = {0};
    table_row(&table, "x|-inf|inf|NaN|slope at -inf|inf|NaN");
    for (int i = 0; i < ACTIVATIONS; i++) {
        Activation *f = activations[i].function, *slope = activations[i].derivative;
        table_row(&table, "%s|%s|%s|%s|%s|%s|%s", activations[i].name, cell(at(-INFINITY, f)).text,
                  cell(at(INFINITY, f)).text, cell(at(NAN, f)).text, cell(at(-INFINITY, slope)).text,
                  cell(at(INFINITY, slope)).text, cell(at(NAN, slope)).text);
    }
    table_print(&table, stdout);
}

/* The formulas as a book has them, with every step rounded to float32. */
static float silu_in_floats(float x) { return x / (1 + expf(-x)); }
static float gelu_in_floats(float x) { return x / 2 * (1 + erff(x * 0.70710678f)); }
static float sigmoid_slope_in_floats(float x) { return at(x, sigmoid) * (1 - at(x, sigmoid)); }

static void why_double(void) {
    section("Why double inside");
    Table table = {0};
    table_row(&table, "|float32 all the way|double, rounded once");
    for (float x = -4; x >= -6; x--)
        table_row(&table, "gelu(%g)|%.3g|%.3g", x, gelu_in_floats(x), at(x, gelu));
    for (float x = 14; x <= 18; x += 2)
        table_row(&table, "slope of sigmoid(%g)|%.3g|%.3g", x, sigmoid_slope_in_floats(x), at(x, sigmoid_derivative));
    for (float x = -88; x >= -89; x--)
        table_row(&table, "silu(%g)|%.3g|%.3g", x, silu_in_floats(x), at(x, silu));
    table_print(&table, stdout);
}

/* The largest difference between a derivative and the central difference (f(x + h) - f(x - h)) / 2h. */
static float slope_error(Activation *function, Activation *derivative, float h) {
    float largest = 0;
    for (int i = -6 * 64; i <= 6 * 64; i++) {
        float x = (float)i / 64, slope = (at(x + h, function) - at(x - h, function)) / (2 * h);
        largest = fmaxf(largest, fabsf(slope - at(x, derivative)));
    }
    return largest;
}

static void finite_differences(void) {
    section("Slopes by finite differences");
    Table table = {0};
    table_row(&table, "largest error|h = 1/4|1/16|1/64|1/1024");
    for (int i = 0; i < ACTIVATIONS; i++) {
        Activation *f = activations[i].function, *slope = activations[i].derivative;
        table_row(&table, "%s|%.0e|%.0e|%.0e|%.0e", activations[i].name, slope_error(f, slope, 1.0f / 4),
                  slope_error(f, slope, 1.0f / 16), slope_error(f, slope, 1.0f / 64), slope_error(f, slope, 1.0f / 1024));
    }
    table_print(&table, stdout);
}

typedef void Swish(int n, float out[], const float x[], float beta);

/* One line of the agreement: a kernel over its golden cases. Either it is plain, or it takes a beta. */
static void agree(Table *table, const char *kernel, Activation *plain, Swish *with_beta) {
    Golden golden = golden_open(kernel);
    Agreement worst = {0};
    for (int c = 0; c < golden.count; c++) {
        Tensor got = golden.cases[c].expected;
        float *x = tensor_to_float(golden_input(&golden.cases[c], "x"));
        if (plain) plain((int)tensor_count(&got), x, x);
        else with_beta((int)tensor_count(&got), x, x, (float)tensor_get(golden_input(&golden.cases[c], "beta"), 0));
        got.data = x;
        Agreement one = golden_check(&golden.cases[c], true, &got);
        worst.wrong += one.wrong, worst.count += one.count;
        worst.ulps = fmax(worst.ulps, one.ulps), worst.reference = fmax(worst.reference, one.reference);
        free(x);
    }
    table_row(table, "%s|%zu of %zu|%.2f|%.2f", kernel, worst.wrong, worst.count, worst.ulps, worst.reference);
    golden_close(&golden);
}

static void agreement(void) {
    section("Agreement with PyTorch");
    Table table = {0};
    table_row(&table, "kernel|wrong|our error|PyTorch's (in ulps, against float64)");
    for (int i = 0; i < ACTIVATIONS; i++) {
        char derivative[64];
        if (i == QUICK_GELU) continue; /* a Swish */
        snprintf(derivative, sizeof derivative, "%s_derivative", activations[i].name);
        agree(&table, activations[i].name, activations[i].function, NULL);
        agree(&table, derivative, activations[i].derivative, NULL);
    }
    agree(&table, "swish", NULL, swish);
    agree(&table, "swish_derivative", NULL, swish_derivative);
    table_print(&table, stdout);
}

enum { MANY = 1 << 16 };

typedef struct {
    Activation *function;
    float out[MANY], x[MANY];
} Work;

static void run(void *context) {
    Work *work = context;
    work->function(MANY, work->out, work->x);
    keep(work->out);
}

static void speed(void) {
    section("Speed");
    static Work work;
    for (int i = 0; i < MANY; i++) work.x[i] = (float)i / MANY * 8 - 4;
    double reading = MANY * sizeof(float) / read_bandwidth(1, SOME_MEMORY);
    Table table = {0};
    table_row(&table, "one costs as much as|reading so many floats from memory");
    for (int i = 0; i < ACTIVATIONS; i++) {
        work.function = activations[i].function;
        table_row(&table, "%s|%.1f", activations[i].name, best_seconds(run, &work) / reading);
    }
    table_print(&table, stdout);
}

/* A line for each x: every activation and its slope, then Swish for every beta. */
static void write_curves(const char *data) {
    Output curves = data_open(data, "02_activation", "x; value and slope of relu, sigmoid, gelu, gelu_tanh, quick_gelu, "
                                                     "silu; swish of beta 0, 0.5, 1, 2, 4, 16, 64");
    for (int i = -6 * 64; i <= 6 * 64; i++) {
        float x = (float)i / 64;
        fprintf(curves.file, "%.6f", x);
        for (int a = 0; a < ACTIVATIONS; a++)
            fprintf(curves.file, " %.6f %.6f", at(x, activations[a].function), at(x, activations[a].derivative));
        for (int b = 0; b < BETAS; b++) fprintf(curves.file, " %.6f", swish_at(x, betas[b]));
        fputc('\n', curves.file);
    }
    output_close(&curves);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 2, activation: ReLU, sigmoid, GELU, Swish and SiLU.");
    two_linear_layers();
    by_hand();
    swish_family();
    beside_gelu();
    far_out();
    at_infinity();
    why_double();
    finite_differences();
    speed();
    agreement();
    if (data) write_curves(data);
}
