/* Chapter 17: the parts of a training step, each with a small example, and the training of a tiny
 * Llama model from random weights. */
#include "16_backward/backward.h"
#include "16_backward/reader.h"
#include "17_training/optimizer.h"
#include "17_training/small.h"
#include "common/console.h"
#include "common/options.h"

#include <math.h>
#include <string.h>

/* ---- gradient descent */

static double rms_of(const float *numbers, size_t n) {
    return gradient_norm(n, numbers) / sqrt((double)n);
}

/* One step of gradient descent with a learning rate that chapter 16 tried. */
static void one_step_per_tensor(void) {
    const char *const shown[] = {"model.embed_tokens.weight",
                                 "model.layers.0.input_layernorm.weight",
                                 "model.layers.0.self_attn.q_proj.weight",
                                 "model.layers.0.self_attn.v_proj.weight",
                                 "model.layers.3.mlp.down_proj.weight",
                                 "model.norm.weight"};
    Fixture r = fixture_open();
    fixture_gradients(&r);
    Table table = {0};
    table_row(&table,
              "|RMS of the weights|RMS of the gradients|a step with rate 0.01 moves them by");
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < r.weights.tensor_count; t++) {
            const Tensor *w = &r.weights.tensors[t], *g = &r.gradients.tensors[t];
            size_t n = tensor_count(w);
            if (strcmp(w->name, shown[i])) continue;
            double weights = rms_of(w->data, n), gradients = rms_of(g->data, n);
            table_row(&table, "%.*s|%.3f|%.4f|%.3f %%", (int)(strlen(w->name) - strlen(".weight")),
                      w->name, weights, gradients, gradients / weights);
        }
    table_print(&table, stdout);
    fixture_close(&r);
}

/* ---- AdamW step by step */

/* One weight, with beta1 = beta2 = 1/2, a learning rate of 0.1, and no decay. */
static void step_by_step(const char *name, float by) {
    const float gradients[] = {4, 4, 4, -4, -4};
    float weight = 1, m = 0, v = 0;
    Table table = {0};
    table_row(&table, "%s|gradient|m|v|m corrected|v corrected|m / sqrt(v)|weight", name);
    for (int step = 1; step <= 5; step++) {
        float g = by * gradients[step - 1];
        double half = 1 - pow(0.5, step);
        adamw(1, &weight, &m, &v, &g, step, 0.1f, 0.5f, 0.5f, 1e-8f, 0);
        table_row(&table, "%d|%g|%.4g|%.4g|%.4g|%.4g|%.3f|%.4f", step, g, m, v, m / half, v / half,
                  m / half / sqrt(v / half), weight);
    }
    table_print(&table, stdout);
}

/* ---- weight decay */

/* A weight of 1 whose gradients alternate in sign, so that only the decay changes it in the long
 * run. */
static float after_decay(float size, bool into_gradient) {
    enum { STEPS = 40 };
    float weight = 1, m = 0, v = 0;
    for (int step = 1; step <= STEPS; step++) {
        float g = (step % 2 ? size : -size) + (into_gradient ? 0.1f * weight : 0);
        adamw(1, &weight, &m, &v, &g, step, 0.01f, 0.9f, 0.95f, 1e-8f, into_gradient ? 0 : 0.1f);
    }
    return weight;
}

static void decoupled_decay(void) {
    Table table = {0};
    table_row(
        &table,
        "a weight of 1 after 40 steps, with gradients of|10, -10, ...|1, -1, ...|0.1, -0.1, ...");
    const char *const way[] = {"AdamW: decay applied to the weight",
                               "Adam with L2: decay added to the gradient"};
    for (int l2 = 0; l2 < 2; l2++)
        table_row(&table, "%s|%.2f|%.2f|%.2f", way[l2], after_decay(10, l2), after_decay(1, l2),
                  after_decay(0.1f, l2));
    table_print(&table, stdout);
}

/* ---- Muon */

static double tidy(double x) { return fabs(x) < 0.005 ? 0 : x; } /* no -0.00 */

/* (1, 1) M (1, 1) / 2, and the same for (1, -1): the length of M in these two directions. */
static void both_directions(Table *table, const char *name, const float m[2][2]) {
    double both = (m[0][0] + m[0][1] + m[1][0] + m[1][1]) / 2,
           other = (m[0][0] - m[0][1] - m[1][0] + m[1][1]) / 2;
    table_row(table, "%s|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", name, m[0][0], m[0][1], m[1][0], m[1][1],
              both, tidy(other));
}

static void muon_step(void) {
    const float gradient[2][2] = {{5.15f, 4.85f}, {4.85f, 5.15f}};
    float by_adamw[2][2] = {0}, by_muon[2][2] = {0}, m[2][2] = {0}, m_of_muon[2][2] = {0},
          v[2][2] = {0};
    Table table = {0};
    adamw(4, (void *)by_adamw, (void *)m, (void *)v, (void *)gradient, 1, -1, 0.9f, 0.95f, 1e-8f,
          0);
    muon(2, 2, by_muon, m_of_muon, gradient, -1, 0.95f, 0);
    table_row(&table, "|elements||||along (1, 1)|along (1, -1)");
    both_directions(&table, "gradient", gradient);
    both_directions(&table, "a step of AdamW", by_adamw);
    both_directions(&table, "a step of Muon", by_muon);
    table_print(&table, stdout);
}

/* ---- gradient clipping */

static void clipped_to(Table *table, float max_norm) {
    float one[] = {3, 4}, other[] = {12};
    double norm = clip_gradient(2, (size_t[]){2, 1}, (float *[]){one, other}, max_norm);
    table_row(table, "max_norm %g|%.0f|%.2f|%.2f|%.2f", max_norm, norm, one[0], one[1], other[0]);
}

static void clipping(void) {
    Table table = {0};
    table_row(&table, "|norm before|one tensor||another tensor");
    clipped_to(&table, 20);
    clipped_to(&table, 6.5f);
    clipped_to(&table, 1);
    table_print(&table, stdout);
}

/* ---- learning rate schedule */

static void schedule(void) {
    Table table = {0};
    table_row(&table, "step|learning rate");
    for (int step = 1; step <= 13; step++)
        table_row(&table, "%d|%.3f", step, learning_rate(step, 4, 12, 1, 0.1f));
    table_print(&table, stdout);
}

/* ---- gradient accumulation */

/* Two texts of four words; in the first, only the last word is a target. */
static void accumulation(void) {
    const int targets[] = {-1, -1, -1, 2, 1, 0, 1, 2}, *part[] = {targets, targets + 4};
    const float logits[8][3] = {{0},       {0},       {0},       {5, 0, 0},
                                {0, 5, 0}, {5, 0, 0}, {0, 5, 0}, {0, 0, 5}};
    float weights[2];
    double losses[2];
    microbatch_weights(2, 4, weights, (const void *)targets);
    Table table = {0};
    table_row(&table, "|targets|mean loss|weight");
    for (int b = 0; b < 2; b++) {
        losses[b] = cross_entropy(4, 3, logits + 4 * b, part[b]);
        table_row(&table, "part %d|%zu|%.3f|%.1f", b + 1, count_targets(4, part[b]), losses[b],
                  weights[b]);
    }
    table_print(&table, stdout);
    printf("  loss of the whole batch: %.3f\n  weighted mean of the parts: %.3f\n  mean of the "
           "two means: %.3f\n",
           cross_entropy(8, 3, logits, targets), weights[0] * losses[0] + weights[1] * losses[1],
           (losses[0] + losses[1]) / 2);
}

/* ---- a tiny Llama from scratch */

static double names_of(const float p[WORDS]) {
    double sum = 0;
    for (int id = word_id("Mia"); id <= word_id("Max"); id++) sum += p[id];
    return sum;
}

static void prediction_row(Table *table, const TinyTrainer *l) {
    static const char *const text[] = {"",    "Mia", "has", "the", "ball", ".",   "Tom", "has",
                                       "the", "hat", ".",   "Who", "has",  "the", "hat", "?"};
    int ids[16];
    float after_has[WORDS], answer[WORDS];
    for (int t = 0; t < 16; t++) ids[t] = word_id(text[t]);
    tiny_trainer_predict(l, 3, ids, after_has);
    tiny_trainer_predict(l, 16, ids, answer);
    table_row(table, "%d|%.2f|%.0f %%|%.0f %%", l->step, tiny_trainer_loss(l, 50),
              100 * after_has[word_id("the")], 100 * names_of(answer));
}

static void tiny_llama(void) {
    enum { STEPS = 60 };
    TinyTrainer l = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(STEPS);
    Table table = {0};
    table_row(
        &table,
        "step|loss of new texts|\"the\" after \"Mia has\"|a name after \"Who has the hat ?\"");
    prediction_row(&table, &l);
    while (l.step < STEPS) {
        tiny_trainer_step(&l, &s);
        if (l.step == 5 || l.step == 10 || l.step == 20 || l.step == STEPS)
            prediction_row(&table, &l);
    }
    table_print(&table, stdout);
    printf("  %zu weights, %d texts per step\n", l.weights.count, BATCH);
    tiny_trainer_free(&l);
}

/* ---- weight initialization */

/* The tiny model with all its random weights multiplied by one factor. */
static void initialization_row(Table *table, const char *name, float factor) {
    enum { STEPS = 60 };
    TinyTrainer l = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(STEPS);
    double loss[4] = {0};
    for (int t = 0; t < l.weights.tensor_count; t++) {
        float *numbers = (float *)l.weights.tensors[t].data;
        size_t n = tensor_count(&l.weights.tensors[t]);
        for (size_t i = 0; i < n && l.weights.tensors[t].rank == 2; i++) numbers[i] *= factor;
    }
    for (int n = 0; n <= STEPS; n++) {
        if (n == 0 || n == 5 || n == 20 || n == 60)
            loss[n == 0 ? 0 : n == 5 ? 1 : n == 20 ? 2 : 3] = tiny_trainer_loss(&l, 50);
        if (n < STEPS) tiny_trainer_step(&l, &s);
    }
    table_row(table, "%s|%.3f|%.2f|%.2f|%.2f|%.2f", name, factor / sqrt(l.weights.config.C),
              loss[0], loss[1], loss[2], loss[3]);
    tiny_trainer_free(&l);
}

static void initialization(void) {
    Table table = {0};
    table_row(&table, "standard deviation||loss at step 0|step 5|step 20|step 60");
    initialization_row(&table, "1 / sqrt(C)", 1);
    initialization_row(&table, "ten times as large", 10);
    initialization_row(&table, "a hundredth", 0.01f);
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv,
               "Chapter 17: training, from AdamW to a tiny Llama that begins with random weights.");
    section("One step of gradient descent per tensor");
    one_step_per_tensor();
    section("AdamW step by step");
    step_by_step("step", 1);
    section("AdamW with gradients a hundred times smaller");
    step_by_step("step", 0.01f);
    section("Decoupled weight decay and L2");
    decoupled_decay();
    section("A step of Muon");
    muon_step();
    section("Gradient clipping");
    clipping();
    section("Learning rate schedule");
    schedule();
    section("Gradient accumulation");
    accumulation();
    section("Weight initialization");
    initialization();
    section("A tiny Llama from scratch");
    tiny_llama();
}
