/* Writes the data of this chapter's figures: what each half of a layer adds to the residual
 * stream, what the model would predict if it ended there, and what it predicts when one head is
 * removed. */
#include "01_normalization/normalization.h"
#include "04_attention/attention.h"
#include "09_decoder/projection.h"
#include "09_decoder/trace.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------- the stream, from half layer to half layer */

/* The probability of every token to come after a row of the stream. */
static void foretell(const Model *model, int C, int V, float p[V], const float x[C]) {
    float normed[1][C], logits[1][V];
    rms_norm(1, C, normed, (const float(*)[C])x, model->norm,
             (float)model->config.rms_norm_eps);
    linear_tensor(1, C, V, logits, normed, &model->lm_head);
    softmax(1, V, (float(*)[V])p, logits);
}

static double dot(int n, const float a[n], const float b[n]) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

static const char *step_name(char name[static 32], int stage) {
    snprintf(name, 32, "layer %d, %s", (stage - 1) / 2, stage % 2 ? "attention" : "feed-forward");
    return name;
}

/* For each step: one number of the last row with what is added to it, and how many rows the
 * additions point against. */
static void additions(const char *data, const Sentence *s, int T, int C, const float x[][T][C]) {
    enum { FEATURE = 2 };
    char name[32];
    Table table = {0};
    Output file = {0};
    if (data)
        file = data_open(data, "09_residual",
                         "step, position, size of what is added over the stream's, cosine");
    table_row(&table, "step|x[%d]|is added|size of x|of what is added|points against x", FEATURE);
    for (int stage = 1; stage <= 2 * s->L; stage++) {
        int against = 0;
        double size = 0, of_added = 0;
        for (int t = 0; t < T; t++) {
            const float *before = x[stage - 1][t], *after = x[stage][t];
            float added[C];
            for (int i = 0; i < C; i++) added[i] = after[i] - before[i];
            size = sqrt(dot(C, before, before) / C);
            of_added = sqrt(dot(C, added, added) / C);
            double cosine = dot(C, before, added) / (C * size * of_added);
            against += cosine < 0;
            if (data) fprintf(file.file, "%d %d %.5g %.5g\n", stage, t, of_added / size, cosine);
        }
        float before = x[stage - 1][T - 1][FEATURE], after = x[stage][T - 1][FEATURE];
        table_row(&table, "%s|%.2f|%+.2f|%.2f|%.2f|%d of %d rows", step_name(name, stage), before,
                  after - before, size, of_added, against, T);
    }
    if (data) output_close(&file);
    section("What is added to the last row");
    table_print(&table, stdout);
}

/* The last row, read after each layer as if it were the last. */
static void foretold(const Model *model, const Sentence *s, int T, int C, const float x[][T][C]) {
    float p[s->V];
    Table table = {0};
    table_row(&table, "if the layers ended after|Anna|Mia");
    for (int stage = 0; stage <= 2 * s->L; stage += 2) {
        foretell(model, C, s->V, p, x[stage][T - 1]);
        float anna = p[s->ids[s->owner]], mia = p[s->ids[1]];
        if (stage == 0) table_row(&table, "the embedding|%.3f|%.3f", anna, mia);
        else table_row(&table, "layer %d|%.3f|%.3f", stage / 2 - 1, anna, mia);
    }
    section("What the last row would say");
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ heads */

/* The probability of the owner's name after the sentence. */
static double probability(const Model *model, const Sentence *s) {
    int V = s->V;
    float logits[1][V], p[1][V];
    Decoder decoder = decoder_new(model, &reference_kernels, s->T);
    decoder_eval(&decoder, s->T, s->ids);
    decoder_logits(&decoder, logits[0]);
    decoder_free(&decoder);
    softmax(1, V, p, logits);
    return p[0][s->ids[s->owner]];
}

/* The same probability without `count` heads from `first` on. A head's output is multiplied by D
 * columns of W_o: zeros there remove the head. */
static double without_heads(Model *model, const Sentence *s, int l, int first, int count) {
    Tensor *o_proj = &model->layers[l].o_proj, whole = *o_proj;
    size_t number = dtype_size(whole.dtype), head = (size_t)s->D * number,
           row = (size_t)s->H * head;
    char *silent = xmalloc(tensor_bytes(&whole));
    memcpy(silent, whole.data, tensor_bytes(&whole));
    for (int i = 0; i < s->C; i++)
        memset(silent + (size_t)i * row + (size_t)first * head, 0, (size_t)count * head);
    o_proj->data = silent;
    double p = probability(model, s);
    *o_proj = whole;
    free(silent);
    return p;
}

/* For each head: the token that the last token attends to most, its attention weight on the
 * owner's name, and the probability of the answer without that head, and without all heads of a
 * layer. */
static void heads(const char *data, Model *model, const Sentence *s) {
    int T = s->T;
    float weights[T][T];
    HiddenStates run = record_hidden_states(model, &reference_kernels, T, s->ids);
    Table table = {0};
    Output file = {0};
    if (data)
        file = data_open(
            data, "09_head",
            "layer, head, largest weight, weight of Anna, Anna without the layer, where it looks");
    table_row(&table, "layer|without head 0|head 1|head 2|head 3|head 4|head 5|all six");
    for (int l = 0; l < s->L; l++) {
        double p[s->H], none = without_heads(model, s, l, 0, s->H);
        for (int h = 0; h < s->H; h++) {
            head_weights(model, &run, l, h, weights);
            const float *last = weights[T - 1];
            int most = 0;
            for (int t = 1; t < T; t++)
                if (last[t] > last[most]) most = t;
            p[h] = without_heads(model, s, l, h, 1);
            if (data)
                fprintf(file.file, "%d %d %.5f %.5f %.5f \"%s\"\n", l, h, last[most],
                        last[s->owner], none, s->token[most]);
        }
        table_row(&table, "%d|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", l, p[0], p[1], p[2], p[3], p[4],
                  p[5], none);
    }
    if (data) output_close(&file);
    section("How likely Anna is without one head");
    table_print(&table, stdout);
    printf("With all heads: %.2f.\n", probability(model, s));
    hidden_states_free(&run);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 9 draw.");
    Model model = model_open(ROOT "/common/stories/model");
    Sentence s = sentence_open();
    const float(*stream)[s.T][s.C] = sentence_tensor(&s, "stream", 3, 2 * s.L + 2, s.T, s.C);
    additions(data, &s, s.T, s.C, stream);
    foretold(&model, &s, s.T, s.C, stream);
    heads(data, &model, &s);
    sentence_close(&s);
    model_close(&model);
}
