#include "09_decoder/trained.h"
#include "09_decoder/trace.h"
#include "common/console.h"
#include "common/error.h"
#include "common/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char stories[] = ROOT "/chapters/09_decoder/stories/model";
static const char unseen[] = ROOT "/chapters/09_decoder/stories/unseen.safetensors";

/* ------------------------------------------------------------------ one story */

/* The tokens of a prompt with their names, which the file has, for there is no tokenizer yet. */
typedef struct {
    char *names, *piece[256];
} Pieces;

static Pieces read_pieces(const SafeTensors *file, int T) {
    const char *names = safetensors_metadata(file, "pieces");
    Pieces pieces = {.names = copy_text(names, strlen(names))};
    char *rest = pieces.names;
    for (int t = 0; t < T; t++) pieces.piece[t] = strsep(&rest, " ");
    return pieces;
}

static double root_mean_square(int C, const float x[C]) {
    double squares = 0;
    for (int i = 0; i < C; i++) squares += (double)x[i] * x[i];
    return sqrt(squares / C);
}

/* The stream grows from stage to stage: at the first token, and at the others on average. */
static void print_growth(const Trace *run, const char *data) {
    Table table = {0};
    char name[32];
    Output file = data ? data_open(data, "09_residual", "stage, position, root mean square") : (Output){0};
    float(*states)[run->T][run->C] = (void *)run->states;
    table_row(&table, "stage|shape|rms of the first token|of the others");
    for (int s = 0; s < run->stages; s++) {
        double others = 0;
        for (int t = 0; t < run->T; t++) {
            double size = root_mean_square(run->C, states[s][t]);
            if (t > 0) others += size / (run->T - 1);
            if (data) fprintf(file.file, "%d %d %.5g\n", s, t, size);
        }
        table_row(&table, "%s|[%d, %d]|%.2f|%.2f", stage_name(name, s, run->stages), run->T, run->C,
                  root_mean_square(run->C, states[s][0]), others);
    }
    table_row(&table, "logits|[%d, %d]", run->T, run->V);
    table_print(&table, stdout);
    if (data) output_close(&file);
}

/* Where each head looks most from the next to last token, which has to say who has the ball. */
static void print_heads(const Model *model, const Trace *run, const Pieces *pieces, const char *data) {
    int T = run->T, last = T - 2, best_l = 0, best_h = 0;
    float(*weights)[T] = allocate((size_t)T * sizeof *weights), best = 0;
    Table table = {0};
    table_row(&table, "layer|head|looks most at|token|weight");
    for (int l = 0; l < model->config.L; l++)
        for (int h = 0; h < model->config.H; h++) {
            head_weights(model, run, l, h, weights);
            int most = 0;
            for (int s = 1; s <= last; s++)
                if (weights[last][s] > weights[last][most]) most = s;
            table_row(&table, "%d|%d|%s|%d|%.2f", l, h, pieces->piece[most], most, weights[last][most]);
            if (run->ids[most] == run->ids[T - 1] && weights[last][most] > best) best = weights[last][most], best_l = l, best_h = h;
        }
    table_print(&table, stdout);
    printf("Head %d of layer %d looks at the answer, with a weight of %.2f.\n", best_h, best_l, best);
    if (data) {
        Output file = data_open(data, "09_head", "token, its weight, the token");
        head_weights(model, run, best_l, best_h, weights);
        for (int s = 0; s <= last; s++) { /* without the ▁ for the space before a word */
            const char *piece = pieces->piece[s];
            fprintf(file.file, "%d %.5f \"%s\"\n", s, weights[last][s], strncmp(piece, "▁", 3) == 0 ? piece + 3 : piece);
        }
        output_close(&file);
    }
    free(weights);
}

static void walk(const Model *model, const SafeTensors *file, const char *data) {
    int T = (int)tensor_count(safetensors_find(file, "walk"));
    Trace run = trace(model, T, safetensors_find(file, "walk")->data);
    Pieces pieces = read_pieces(file, T);
    section("A story, read");
    print_growth(&run, data);
    section("Who has the red ball?");
    print_heads(model, &run, &pieces, data);
    trace_free(&run), free(pieces.names);
}

void trained_model(const char *data) {
    Model model = model_open(stories);
    SafeTensors file = safetensors_open(unseen);
    walk(&model, &file, data);
    safetensors_close(&file), model_close(&model);
}
