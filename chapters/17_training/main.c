/* Chapter 17: what training does with a gradient, in numbers that one can follow, and a small Llama
 * from nothing. */
#include "16_backward/backward.h"
#include "16_backward/reader.h"
#include "17_training/optimizer.h"
#include "17_training/small.h"
#include "common/console.h"
#include "common/options.h"

#include <math.h>
#include <string.h>

/* ---- one rate for all? */

static double size(const float *numbers, size_t n) {
    return gradient_norm(n, numbers) / sqrt((double)n);
}

/* A plain step of the rate that chapter 16 tried. */
static void one_rate_for_all(void) {
    const char *const shown[] = {"model.embed_tokens.weight",
                                 "model.layers.0.input_layernorm.weight",
                                 "model.layers.0.self_attn.q_proj.weight",
                                 "model.layers.0.self_attn.v_proj.weight",
                                 "model.layers.3.mlp.down_proj.weight",
                                 "model.norm.weight"};
    Fixture r = fixture_open();
    fixture_gradients(&r);
    Table table = {0};
    table_row(&table, "|size of its numbers|of their gradients|a plain step of 0.01 moves them by");
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < r.weights.tensor_count; t++) {
            const Tensor *w = &r.weights.tensors[t], *g = &r.gradients.tensors[t];
            size_t n = tensor_count(w);
            if (strcmp(w->name, shown[i])) continue;
            double weights = size(w->data, n), gradients = size(g->data, n);
            table_row(&table, "%.*s|%.3f|%.4f|%.3f %%", (int)(strlen(w->name) - strlen(".weight")),
                      w->name, weights, gradients, gradients / weights);
        }
    table_print(&table, stdout);
    fixture_close(&r);
}

/* ---- AdamW, step by step */

/* One weight, beta1 and beta2 1/2, a rate of 0.1, no decay. */
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

/* ---- decay */

/* A weight of 1 whose gradient is large or small, and points now up, now down. Only the decay moves
 * it for good. */
static float after_decay(float size, bool into_gradient) {
    enum { STEPS = 40 };
    float weight = 1, m = 0, v = 0;
    for (int step = 1; step <= STEPS; step++) {
        float g = (step % 2 ? size : -size) + (into_gradient ? 0.1f * weight : 0);
        adamw(1, &weight, &m, &v, &g, step, 0.01f, 0.9f, 0.95f, 1e-8f, into_gradient ? 0 : 0.1f);
    }
    return weight;
}

static void where_the_decay_goes(void) {
    Table table = {0};
    table_row(&table,
              "a weight of 1 after 40 steps, its gradient now up, now down|by 10|by 1|by 0.1");
    const char *const way[] = {"decay off the weight: AdamW",
                               "decay into the gradient: Adam with L2"};
    for (int l2 = 0; l2 < 2; l2++)
        table_row(&table, "%s|%.2f|%.2f|%.2f", way[l2], after_decay(10, l2), after_decay(1, l2),
                  after_decay(0.1f, l2));
    table_print(&table, stdout);
}

/* ---- Muon */

static double tidy(double x) { return fabs(x) < 0.005 ? 0 : x; } /* no -0.00 */

/* (1, 1) M (1, 1) / 2, and the same of (1, -1): how long M is in these two directions. */
static void both_directions(Table *table, const char *name, const float m[2][2]) {
    double both = (m[0][0] + m[0][1] + m[1][0] + m[1][1]) / 2,
           other = (m[0][0] - m[0][1] - m[1][0] + m[1][1]) / 2;
    table_row(table, "%s|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", name, m[0][0], m[0][1], m[1][0], m[1][1],
              both, tidy(other));
}

static void as_long_in_every_direction(void) {
    const float gradient[2][2] = {{5.15f, 4.85f}, {4.85f, 5.15f}};
    float by_adamw[2][2] = {0}, by_muon[2][2] = {0}, m[2][2] = {0}, m_of_muon[2][2] = {0},
          v[2][2] = {0};
    Table table = {0};
    adamw(4, (void *)by_adamw, (void *)m, (void *)v, (void *)gradient, 1, -1, 0.9f, 0.95f, 1e-8f,
          0);
    muon(2, 2, by_muon, m_of_muon, gradient, -1, 0.95f, 0);
    table_row(&table, "|its numbers||||along (1, 1)|along (1, -1)");
    both_directions(&table, "gradient", gradient);
    both_directions(&table, "a step of AdamW", by_adamw);
    both_directions(&table, "a step of Muon", by_muon);
    table_print(&table, stdout);
}

/* ---- clipping */

static void clipped_to(Table *table, float max_norm) {
    float one[] = {3, 4}, other[] = {12};
    double norm = clip_gradient(2, (size_t[]){2, 1}, (float *[]){one, other}, max_norm);
    table_row(table, "max_norm %g|%.0f|%.2f|%.2f|%.2f", max_norm, norm, one[0], one[1], other[0]);
}

static void all_by_one_factor(void) {
    Table table = {0};
    table_row(&table, "|norm before|one array||another");
    clipped_to(&table, 20);
    clipped_to(&table, 6.5f);
    clipped_to(&table, 1);
    table_print(&table, stdout);
}

/* ---- the rate of each step */

static void rate_of_each_step(void) {
    Table table = {0};
    table_row(&table, "step|rate");
    for (int step = 1; step <= 13; step++)
        table_row(&table, "%d|%.3f", step, learning_rate(step, 4, 12, 1, 0.1f));
    table_print(&table, stdout);
}

/* ---- a batch in parts */

/* Two texts of four words; of the first only the last word is to be learned. */
static void a_batch_in_parts(void) {
    const int targets[] = {-1, -1, -1, 2, 1, 0, 1, 2}, *part[] = {targets, targets + 4};
    const float logits[8][3] = {{0},       {0},       {0},       {5, 0, 0},
                                {0, 5, 0}, {5, 0, 0}, {0, 5, 0}, {0, 0, 5}};
    float shares[2];
    double losses[2];
    microbatch_weights(2, 4, shares, (const void *)targets);
    Table table = {0};
    table_row(&table, "|targets|mean loss|share");
    for (int b = 0; b < 2; b++) {
        losses[b] = cross_entropy(4, 3, logits + 4 * b, part[b]);
        table_row(&table, "part %d|%zu|%.3f|%.1f", b + 1, count_targets(4, part[b]), losses[b],
                  shares[b]);
    }
    table_print(&table, stdout);
    printf("  all at once: %.3f; by their shares: %.3f; the mean of the two means: %.3f\n",
           cross_entropy(8, 3, logits, targets), shares[0] * losses[0] + shares[1] * losses[1],
           (losses[0] + losses[1]) / 2);
}

/* ---- a Llama from nothing */

static double names_of(const float p[WORDS]) {
    double sum = 0;
    for (int id = word_id("Mia"); id <= word_id("Max"); id++) sum += p[id];
    return sum;
}

static void what_it_expects(Table *table, const TinyTrainer *l) {
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

static void a_llama_from_nothing(void) {
    enum { STEPS = 60 };
    TinyTrainer l = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(STEPS);
    Table table = {0};
    table_row(&table, "steps|loss of unseen texts|\"Mia has\": the|\"Who has the hat ?\": a name");
    what_it_expects(&table, &l);
    while (l.step < STEPS) {
        tiny_trainer_step(&l, &s);
        if (l.step == 5 || l.step == 10 || l.step == 20 || l.step == STEPS)
            what_it_expects(&table, &l);
    }
    table_print(&table, stdout);
    printf("  %zu numbers; in each step it reads %d texts\n", l.weights.count, BATCH);
    tiny_trainer_free(&l);
}

int main(int argc, char **argv) {
    no_options(argc, argv,
               "Chapter 17: training, from AdamW to a Llama that began as random numbers.");
    section("One rate for all?");
    one_rate_for_all();
    section("AdamW, step by step");
    step_by_step("step", 1);
    section("The same, and a hundred times smaller");
    step_by_step("step", 0.01f);
    section("Where the decay goes");
    where_the_decay_goes();
    section("As long in every direction");
    as_long_in_every_direction();
    section("All by one factor");
    all_by_one_factor();
    section("The rate of each step");
    rate_of_each_step();
    section("A batch in parts");
    a_batch_in_parts();
    section("A Llama from nothing");
    a_llama_from_nothing();
}
