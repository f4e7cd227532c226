/* What the settings of the Llama papers do: small Llamas are trained from nothing, each with one
 * setting changed.
 *
 *     make ablations          computes tests/studies/hyperparameters.txt anew
 *
 * Each is trained with several seeds, which draw other weights and other texts: a difference that
 * is not larger than that between seeds says nothing. */
#include "16_backward/backward.h"
#include "17_training/small.h"
#include "common/console.h"

#include <math.h>

enum { STEPS = 600, SEEDS = 4, EVERY = 20, POINTS = STEPS / EVERY, UNSEEN = 500, EARLY = 60 };
enum { RUBBISH = 50, NEAR = 3, ARMS = 16 };

typedef struct {
    const char *name;
    Hyperparameters settings;
} Arm;

typedef struct {
    double early, end;    /* the loss over unseen texts, after EARLY steps and at the end */
    double curve[POINTS]; /* the mean loss of EVERY steps */
    double spike; /* how much more it is in the NEAR steps after rubbish than in those before */
    double matrices, norms; /* how large their numbers are at the end: roots of mean squares */
} Run;

/* The mean of the losses from one step to another; steps count from 1. */
static double mean(const double losses[STEPS + 1], int from, int to) {
    double sum = 0;
    for (int step = from; step <= to; step++) sum += losses[step];
    return sum / (to - from + 1);
}

static double loss_spike(const double losses[STEPS + 1], int every) {
    double sum = 0;
    int count = 0;
    for (int step = every; every && step + NEAR <= STEPS; step += every, count++)
        sum += mean(losses, step + 1, step + NEAR) - mean(losses, step - NEAR, step - 1);
    return count ? sum / count : 0;
}

static double size(size_t n, const float numbers[n]) {
    return gradient_norm(n, numbers) / sqrt((double)n);
}

static Run train(const Hyperparameters *settings, int seed) {
    Run run = {0};
    double losses[STEPS + 1];
    TinyTrainer learner = tiny_trainer_new((uint64_t)seed);
    for (int step = 1; step <= STEPS; step++) {
        losses[step] = tiny_trainer_step(&learner, settings);
        if (step == EARLY) run.early = tiny_trainer_loss(&learner, UNSEEN);
    }
    for (int p = 0; p < POINTS; p++) run.curve[p] = mean(losses, p * EVERY + 1, (p + 1) * EVERY);
    const Parameters *w = &learner.weights;
    const LayerParameters *first = &w->layers[0];
    run.spike = loss_spike(losses, settings->corrupt_every);
    run.end = tiny_trainer_loss(&learner, UNSEEN);
    run.matrices = size((size_t)w->config.F * (size_t)w->config.C, first->gate_proj);
    run.norms = size((size_t)w->config.C, first->post_attention_layernorm);
    tiny_trainer_free(&learner);
    return run;
}

/* ------------------------------------------------------------------ one setting changed */

#define CHANGED(...)                                                                               \
    ({                                                                                             \
        Hyperparameters s = llama_settings(STEPS);                                                 \
        __VA_ARGS__;                                                                               \
        s;                                                                                         \
    })

static void arms_new(Arm arms[ARMS]) {
    const Arm all[ARMS] = {
        {"as in the papers", llama_settings(STEPS)},
        {"rate / 10", CHANGED(s.lr /= 10, s.min_lr /= 10)},
        {"rate x 3", CHANGED(s.lr *= 3, s.min_lr *= 3)},
        {"rate x 10", CHANGED(s.lr *= 10, s.min_lr *= 10)},
        {"no warm-up", CHANGED(s.warmup = 0)},
        {"rate x 3, no warm-up", CHANGED(s.lr *= 3, s.min_lr *= 3, s.warmup = 0)},
        {"rate stays at the peak", CHANGED(s.min_lr = s.lr)},
        {"no clipping", CHANGED(s.max_norm = 1e9f)},
        {"no decay", CHANGED(s.decay = 0)},
        {"decay x 10", CHANGED(s.decay *= 10)},
        {"norms decay, too, x 10", CHANGED(s.decay *= 10, s.decay_norms = true)},
        {"beta2 0.999", CHANGED(s.beta2 = 0.999f)},
        {"rubbish", CHANGED(s.corrupt_every = RUBBISH)},
        {"rubbish, no clipping", CHANGED(s.corrupt_every = RUBBISH, s.max_norm = 1e9f)},
        {"rubbish, beta2 0.999", CHANGED(s.corrupt_every = RUBBISH, s.beta2 = 0.999f)},
        {"rubbish, both of these",
         CHANGED(s.corrupt_every = RUBBISH, s.max_norm = 1e9f, s.beta2 = 0.999f)},
    };
    for (int a = 0; a < ARMS; a++) arms[a] = all[a];
}

/* ------------------------------------------------------------------ what is printed */

static Run mean_run(const Run runs[SEEDS]) {
    Run all = {0};
    for (int s = 0; s < SEEDS; s++) {
        all.early += runs[s].early / SEEDS;
        all.end += runs[s].end / SEEDS;
        all.spike += runs[s].spike / SEEDS;
        all.matrices += runs[s].matrices / SEEDS;
        all.norms += runs[s].norms / SEEDS;
        for (int p = 0; p < POINTS; p++) all.curve[p] += runs[s].curve[p] / SEEDS;
    }
    return all;
}

static void print_ends(const Arm arms[ARMS], const Run runs[ARMS][SEEDS]) {
    Table table = {0};
    section("How it ends");
    table_row(&table, "|after %d steps|at the end|best seed|worst|loss spike|matrices|norms",
              EARLY);
    for (int a = 0; a < ARMS; a++) {
        Run all = mean_run(runs[a]);
        double best = INFINITY, worst = 0;
        for (int s = 0; s < SEEDS; s++) {
            best = fmin(best, runs[a][s].end);
            worst = fmax(worst, runs[a][s].end);
        }
        table_row(&table, "%s|%.3f|%.3f|%.3f|%.3f|%.3f|%.3f|%.3f", arms[a].name, all.early, all.end,
                  best, worst, all.spike, all.matrices, all.norms);
    }
    table_print(&table, stdout);
}

static void print_curves(const Run runs[ARMS][SEEDS]) {
    section("On the way");
    printf("# steps, and the mean loss of the last %d: a column for each, in the order above\n",
           EVERY);
    for (int p = 0; p < POINTS; p++) {
        printf("%d", (p + 1) * EVERY);
        for (int a = 0; a < ARMS; a++) printf(" %.4f", mean_run(runs[a]).curve[p]);
        printf("\n");
    }
}

int main(void) {
    static Arm arms[ARMS];
    static Run runs[ARMS][SEEDS];
    arms_new(arms);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < ARMS * SEEDS; i++)
        runs[i / SEEDS][i % SEEDS] = train(&arms[i / SEEDS].settings, i % SEEDS + 1);
    printf("What the settings of training do: a Llama of 19168 numbers learns texts such as\n"
           "\"Mia has the ball . Tom has the hat . Who has the hat ? Tom .\" in %d steps of %d "
           "texts, with one\n"
           "setting changed. `make ablations` computes this page anew.\n\n"
           "after %d steps, at the end   the mean loss of %d unseen texts, over %d seeds; the "
           "least possible is 0.441\n"
           "loss spike                   how much larger the loss is in the %d steps after "
           "rubbish, words in no\n"
           "                             order, than before; it comes every %d steps\n"
           "matrices, norms              the size of the numbers in a gate_proj and in a norm, at "
           "the end\n",
           STEPS, BATCH, EARLY, UNSEEN, SEEDS, NEAR, RUBBISH);
    print_ends(arms, runs);
    print_curves(runs);
    return 0;
}
