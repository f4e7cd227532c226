/* Writes the data of this chapter's figures. */
#include "02_activation/activation.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>

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

/* The lesson's four inputs in the plane, and their two hidden units after ReLU. */
static void xor_plane(const char *data) {
    static const float x[4][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}}, w1[2][2] = {{1, -1}, {-1, 1}};
    float hidden[4][2];
    linear(4, 2, 2, hidden, x, w1, NULL);
    Output output = data_open(data, "02_xor", "x; the hidden units relu(x W1); XOR of x");
    for (int t = 0; t < 4; t++) {
        relu(2, hidden[t], hidden[t]);
        fprintf(output.file, "%g %g %g %g %d\n", x[t][0], x[t][1], hidden[t][0], hidden[t][1],
                x[t][0] != x[t][1]);
    }
    output_close(&output);
}

/* A line for each x: four activations and their slopes, then Swish for every beta. */
static void curves(const char *data) {
    static const struct {
        Activation *function, *slope;
    } four[] = {{relu, relu_derivative},
                {sigmoid, sigmoid_derivative},
                {gelu, gelu_derivative},
                {silu, silu_derivative}};
    static const float betas[] = {0, 0.5f, 2, 4, 64};
    Output output = data_open(
        data, "02_activation",
        "x; value and slope of relu, sigmoid, gelu, silu; swish of beta 0, 0.5, 2, 4, 64");
    for (int i = -6 * 32; i <= 6 * 32; i++) {
        float x = (float)i / 32;
        fprintf(output.file, "%.5f", x);
        for (int a = 0; a < 4; a++)
            fprintf(output.file, " %.5f %.5f", at(x, four[a].function), at(x, four[a].slope));
        for (int b = 0; b < 5; b++) fprintf(output.file, " %.5f", swish_at(x, betas[b]));
        fputc('\n', output.file);
    }
    output_close(&output);
}

/* The errors of GELU's approximations: the same at -x, where GELU is small and a float32 has digits
 * left for them. */
static void gelus(const char *data) {
    Output output =
        data_open(data, "02_gelu", "|x|, error of gelu_tanh, of x sigmoid(1.702 x), of silu");
    for (int i = 1; i <= 6 * 32; i++) {
        float x = -(float)i / 32, right = at(x, gelu);
        fprintf(output.file, "%.5f %.3e %.3e %.3e\n", -x, fabsf(at(x, gelu_tanh) - right),
                fabsf(swish_at(x, 1.702f) - right), fabsf(at(x, silu) - right));
    }
    output_close(&output);
}

/* A histogram, in bins of a tenth, of the inputs of a layer's activation and of its outputs. */
static void histogram(const char *data) {
    enum { BINS = 160 };
    Sentence s = sentence_open();
    int before[BINS] = {0}, after[BINS] = {0}, T = s.T, F = s.F;
    const float(*gate)[F] = sentence_tensor(&s, "feed_forward/gate", 2, T, F);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < F; i++) {
            int from = (int)floorf(gate[t][i] * 10) + BINS / 2,
                to = (int)floorf(at(gate[t][i], silu) * 10) + BINS / 2;
            if (from >= 0 && from < BINS) before[from]++;
            if (to >= 0 && to < BINS) after[to]++;
        }
    Output output =
        data_open(data, "02_sentence", "middle of the tenth, numbers before silu, after");
    for (int n = 0; n < BINS; n++)
        fprintf(output.file, "%.2f %d %d\n", (n - BINS / 2 + 0.5) / 10, before[n], after[n]);
    output_close(&output);
    sentence_close(&s);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 2 draw.");
    if (!data) return 0;
    xor_plane(data);
    curves(data);
    gelus(data);
    histogram(data);
}
