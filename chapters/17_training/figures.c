/* Writes the data of this chapter's figures: two optimizers in a narrow valley, the learning rate
 * schedule, the training of a tiny Llama model, and its overfitting. */
#include "17_training/optimizer.h"
#include "17_training/small.h"
#include "common/console.h"
#include "common/options.h"

#include <math.h>

/* A valley that is steep across and flat along: the loss is (STEEP x^2 + y^2) / 2. */
enum { STEEP = 50, VALLEY_STEPS = 80 };

static void draw_valley(const char *data) {
    const char *const names[] = {"17_plain", "17_adamw"};
    for (int way = 0; way < 2; way++) {
        float at[] = {1, 10}, m[2] = {0}, v[2] = {0};
        Output file = data_open(data, names[way], "across, along, loss");
        for (int step = 0; step <= VALLEY_STEPS; step++) {
            float gradient[] = {STEEP * at[0], at[1]};
            fprintf(file.file, "%.5f %.5f %.6f\n", at[0], at[1],
                    (STEEP * at[0] * at[0] + at[1] * at[1]) / 2);
            if (way) adamw(2, at, m, v, gradient, step + 1, 0.3f, 0.9f, 0.95f, 1e-8f, 0);
            else {
                at[0] -= 0.038f * gradient[0];
                at[1] -= 0.038f * gradient[1];
            }
        }
        output_close(&file);
    }
}

static void draw_schedule(const char *data) {
    enum { STEPS = 1000, WARMUP = 50 };
    Output file = data_open(data, "17_schedule", "step, learning rate as a fraction of the peak");
    for (int step = 1; step <= STEPS + 100; step++)
        fprintf(file.file, "%d %.6f\n", step, learning_rate(step, WARMUP, STEPS, 1, 0.1f));
    output_close(&file);
}

static void draw_learning(const char *data) {
    enum { STEPS = 300 };
    TinyTrainer l = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(STEPS);
    Output file = data_open(data, "17_learning", "step, loss of its batch");
    for (int step = 1; step <= STEPS; step++) {
        double loss = tiny_trainer_step(&l, &s);
        fprintf(file.file, "%d %.5f\n", step, loss);
    }
    output_close(&file);
    tiny_trainer_free(&l);
}

/* The loss of new texts, and that of a few texts which come again and again. */
static void overfit(const char *data) {
    enum { STEPS = 300, BATCHES = 4 };
    TinyTrainer few = tiny_trainer_new(1), all = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(STEPS);
    Random beginning = few.random;
    double training = 0;
    Output file = {0};
    if (data)
        file = data_open(data, "17_overfitting",
                         "step, training and validation loss on 64 texts, validation loss on all");
    section("Overfitting");
    Table table = {0};
    table_row(&table, "step|training loss, 64 texts|validation loss|validation loss, new texts in "
                      "every step");
    for (int step = 1; step <= STEPS; step++) {
        if ((step - 1) % BATCHES == 0) {
            few.random = beginning;
            training = 0;
        }
        training += tiny_trainer_step(&few, &s) / BATCHES;
        tiny_trainer_step(&all, &s);
        if (step % 20) continue;
        double of_few = tiny_trainer_loss(&few, 50), of_all = tiny_trainer_loss(&all, 50);
        if (data) fprintf(file.file, "%d %.5f %.5f %.5f\n", step, training, of_few, of_all);
        if (step == 20 || step == 60 || step % 100 == 0)
            table_row(&table, "%d|%.2f|%.2f|%.2f", step, training, of_few, of_all);
    }
    table_print(&table, stdout);
    if (data) output_close(&file);
    tiny_trainer_free(&few);
    tiny_trainer_free(&all);
}

int main(int argc, char **argv) {
    const char *data =
        chapter_options(argc, argv, "The data of chapter 17's figures, and the run that overfits.");
    overfit(data);
    if (!data) return 0;
    draw_valley(data);
    draw_schedule(data);
    draw_learning(data);
}
