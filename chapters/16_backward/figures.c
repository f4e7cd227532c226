/* Writes the data of this chapter's figures: the loss over one weight, the accuracy of finite
 * differences, the tokens whose hidden states would have to change for another answer, and the
 * loss along the negative gradient. */
#include "16_backward/backward.h"
#include "16_backward/reader.h"
#include "common/console.h"
#include "common/numbers.h"
#include "common/options.h"

#include <math.h>

static void draw_slope(const char *data, Fixture *r) {
    double loss = fixture_gradients(r);
    int most = fixture_largest_gradient(r);
    float *number = &r->weights.norm[most], was = *number, slope = r->gradients.norm[most];
    Output file = data_open(data, "16_slope", "weight, loss, tangent");
    for (int n = -60; n <= 60; n++) {
        *number = was + 0.05f * (float)n;
        fprintf(file.file, "%.4f %.6f %.6f\n", *number, fixture_loss(r),
                loss + slope * (*number - was));
    }
    *number = was;
    output_close(&file);
}

/* The relative error of (f(x + h) - f(x)) / h and (f(x + h) - f(x - h)) / 2h. */
static void draw_error(const char *data, Fixture *r) {
    double loss = fixture_gradients(r);
    int most = fixture_largest_gradient(r);
    float *number = &r->weights.norm[most], was = *number;
    double slope = r->gradients.norm[most];
    Output file =
        data_open(data, "16_error", "step h, error of one-sided differences, of two-sided ones");
    for (int n = 0; n <= 48; n++) {
        float h = (float)pow(10, 0.5 - n / 8.0);
        *number = was + h;
        double up = fixture_loss(r),
               h_up = *number - was; /* what was + h really is, after rounding */
        *number = was - h;
        double down = fixture_loss(r), h_down = was - *number;
        double one = (up - loss) / h_up, two = (up - down) / (h_up + h_down);
        fprintf(file.file, "%.6g %.6g %.6g\n", h, fabs(one / slope - 1) + 1e-9,
                fabs(two / slope - 1) + 1e-9);
    }
    *number = was;
    output_close(&file);
}

typedef struct {
    const Fixture *reader;
    FILE *file;
} Watcher;

/* The largest change of the loss when a hidden state changes by a hundredth of its norm. */
static void stage(void *context, int stage, int rows, int C, const float dx[rows][C]) {
    Watcher *w = context;
    const Activations *a = &w->reader->activations;
    int l = stage / 2, L = w->reader->sentence.L;
    const float(*x)[C] = (void *)(stage % 2 ? a->layers[l].between
                                   : l < L   ? a->layers[l].x
                                             : a->last);
    for (int t = 0; t < rows; t++)
        fprintf(w->file, "%d %d %.5g %s\n", stage, t, 0.01 * C * rms(C, dx[t]) * rms(C, x[t]),
                w->reader->sentence.token[t]);
    fprintf(w->file, "\n");
}

static void draw_rows(const char *data) {
    Fixture r = fixture_open();
    Output file = data_open(data, "16_rows", "stage, token, change of the loss, its text");
    Watcher watcher = {&r, file.file};
    r.activations.hook = stage;
    r.activations.context = &watcher;
    fixture_ask_for(&r, r.sentence.ids[1]);
    fixture_gradients(&r);
    output_close(&file);
    fixture_close(&r);
}

static void draw_step(const char *data, Fixture *r) {
    Parameters *w = &r->weights, *g = &r->gradients;
    double loss = fixture_gradients(r), norm = gradient_norm(g->count, g->numbers), taken = 0;
    Output file = data_open(data, "16_step", "learning rate, loss, predicted loss");
    for (int n = 0; n <= 60; n++) {
        double rate = 0.0005 * n;
        for (size_t i = 0; i < w->count; i++)
            w->numbers[i] -= (float)((rate - taken) * g->numbers[i]);
        taken = rate;
        fprintf(file.file, "%.5f %.6f %.6f\n", rate, fixture_loss(r), loss - rate * norm * norm);
    }
    output_close(&file);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "The data of chapter 16's figures.");
    if (!data) return 0;
    Fixture reader = fixture_open();
    draw_slope(data, &reader);
    draw_error(data, &reader);
    draw_rows(data);
    draw_step(data, &reader);
    fixture_close(&reader);
}
