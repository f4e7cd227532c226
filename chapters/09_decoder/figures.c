/* What the figures of chapter 9 draw: the sentence's stream as it grows, and what one head looks at. */
#include "09_decoder/trace.h"
#include "common/console.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>

static void stream(const char *data, const Trace *run) {
    int C = run->C;
    const float(*states)[run->T][C] = (void *)run->states;
    Output file = data_open(data, "09_residual", "stage, position, root mean square");
    for (int s = 0; s < run->stages; s++)
        for (int t = 0; t < run->T; t++) {
            double squares = 0;
            for (int i = 0; i < C; i++) squares += (double)states[s][t][i] * states[s][t][i];
            fprintf(file.file, "%d %d %.5g\n", s, t, sqrt(squares / C));
        }
    output_close(&file);
}

/* The head that finds the answer, from the last token. */
static void head(const char *data, const Model *model, const Sentence *s, const Trace *run) {
    int T = s->T;
    float weights[T][T];
    head_weights(model, run, s->layer, s->head, weights);
    Output file = data_open(data, "09_head", "token, its weight, its text");
    for (int t = 0; t < T; t++) fprintf(file.file, "%d %.5f \"%s\"\n", t, weights[T - 1][t], s->token[t]);
    output_close(&file);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 9 draw.");
    if (!data) return 0;
    Model model = model_open(ROOT "/chapters/09_decoder/stories/model");
    Sentence sentence = sentence_open();
    Trace run = trace(&model, sentence.T, sentence.ids);
    stream(data, &run);
    head(data, &model, &sentence, &run);
    trace_free(&run), sentence_close(&sentence), model_close(&model);
}
