/* Writes the data of this chapter's figures. */
#include "03_feed_forward/feed_forward.h"
#include "03_feed_forward/llama_parameters.h"
#include "common/console.h"
#include "common/options.h"
#include "common/sentence.h"

/* SwiGLU is linear in up: its value at up = 1 tells all. */
static void gates(const char *data) {
    Output output = data_open(data, "03_gates", "gate, swiglu(gate, 1)");
    for (int i = -60; i <= 40; i++) {
        float gate = (float)i / 10, up = 1, out;
        swiglu(1, &out, &gate, &up);
        fprintf(output.file, "%g %.5f\n", gate, out);
    }
    output_close(&output);
}

/* One token's hidden layer, as PyTorch had it: "red", the word that the question takes up again. */
static void one_token(const char *data) {
    enum { TOKEN = 4 };
    Sentence s = sentence_open();
    int T = s.T, F = s.F;
    const float(*gate)[F] = sentence_tensor(&s, "feed_forward/gate", 2, T, F);
    const float(*up)[F] = sentence_tensor(&s, "feed_forward/up", 2, T, F);
    const float(*product)[F] = sentence_tensor(&s, "feed_forward/product", 2, T, F);
    Output output = data_open(data, "03_sentence", "hidden unit, gate, up, product");
    for (int i = 0; i < F; i++)
        fprintf(output.file, "%d %.3f %.3f %.3f\n", i, gate[TOKEN][i], up[TOKEN][i],
                product[TOKEN][i]);
    output_close(&output);
    sentence_close(&s);
}

static void models(const char *data) {
    Output output =
        data_open(data, "03_llamas", "width/C layer/C^2 feed-forward attention rest name");
    for (const LlamaSizes *m = llamas; m < llamas_end; m++)
        fprintf(output.file, "%g %g %lld %lld %lld \"%s\"\n", (double)hidden_width(m) / m->C,
                3.0 * hidden_width(m) / m->C, feed_forward_parameters(m), projection_parameters(m),
                other_parameters(m), m->name);
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 3 draw.");
    if (!data) return 0;
    gates(data);
    one_token(data);
    models(data);
}
