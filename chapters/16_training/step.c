#include "16_training/step.h"
#include "15_backward/backward.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Workers workers_new(const Config *config, int T, int threads) {
    if (threads < 1) fail("%d threads: give at least one", threads);
    size_t n = (size_t)threads;
    Workers w = {T, threads, allocate(n * sizeof *w.activations), allocate(n * sizeof *w.gradients)};
    for (int i = 0; i < threads; i++) w.activations[i] = activations_new(config, 1, T);
    for (int i = 1; i < threads; i++) w.gradients[i] = parameters_new(config);
    return w;
}

void workers_free(Workers *w) {
    for (int i = 0; i < w->threads; i++) activations_free(&w->activations[i]);
    for (int i = 1; i < w->threads; i++) parameters_free(&w->gradients[i]);
    free(w->activations), free(w->gradients);
    *w = (Workers){0};
}

/* A batch's loss, or with gradients both, while the threads compute it. */
typedef struct {
    const Workers *workers;
    const Parameters *weights;
    Batch batch;
    double all;   /* what the targets count together */
    double dloss;
    double *loss; /* [B]: the share that each sequence has in the mean */
} Work;

/* Its share in the mean is that of its targets. Without gradients, NULL, it is the loss alone. */
static double sequence(const Work *work, int b, Activations *a, Parameters *gradients) {
    size_t T = (size_t)work->workers->T, first = (size_t)b * T;
    const int *ids = work->batch.ids + first, *targets = work->batch.targets + first;
    const float *counts = work->batch.counts ? work->batch.counts + first : NULL;
    double share = weigh_targets(T, targets, counts) / work->all;
    if (!(share > 0)) return 0;
    return share * decoder_weighted(work->weights, gradients, a, ids, targets, counts, (float)(share * work->dloss));
}

static void some_sequences(const Work *work, int thread, Parameters *gradients) {
    const Workers *w = work->workers;
    Parameters *own = gradients && thread ? &w->gradients[thread] : gradients;
    if (own != gradients) memset(own->numbers, 0, own->count * sizeof *own->numbers);
    for (int b = thread; b < work->batch.B; b += w->threads)
        work->loss[b] = sequence(work, b, &w->activations[thread], own);
}

/* Each number is the sum of all threads' in the order of the threads, whoever adds it up. */
static void add_up(const Workers *w, Parameters *gradients) {
#pragma omp parallel for
    for (size_t i = 0; i < gradients->count; i++)
        for (int thread = 1; thread < w->threads; thread++) gradients->numbers[i] += w->gradients[thread].numbers[i];
}

double batch_backward(const Workers *w, const Parameters *weights, Parameters *gradients, Batch batch, double dloss) {
    double all = weigh_targets((size_t)batch.B * (size_t)w->T, batch.targets, batch.counts);
    Work work = {w, weights, batch, all, dloss, NULL};
    if (!(all > 0)) return NAN;
    work.loss = allocate((size_t)batch.B * sizeof *work.loss);
#pragma omp parallel for num_threads(w->threads) schedule(static, 1)
    for (int thread = 0; thread < w->threads; thread++) some_sequences(&work, thread, gradients);
    if (gradients) add_up(w, gradients);
    double mean = 0;
    for (int b = 0; b < batch.B; b++) mean += work.loss[b];
    free(work.loss);
    return mean;
}

double batch_loss(const Workers *w, const Parameters *weights, Batch batch) {
    return batch_backward(w, weights, NULL, batch, 0);
}
