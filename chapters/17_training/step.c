#include "17_training/step.h"
#include "16_backward/backward.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINISH_LENGTH = 512 }; /* rows, for a product to be fast */

Workers workers_new(const Config *config, const TrainingKernels *kernels, int T, int threads) {
    if (threads < 1) fail("%d threads: give at least one", threads);
    size_t n = (size_t)threads;
    int together = FINISH_LENGTH / T > 1 ? FINISH_LENGTH / T : 1;
    Workers w = {T, threads, together, xmalloc(n * sizeof *w.activations),
                 xmalloc(n * sizeof *w.gradients)};
    for (int i = 0; i < threads; i++)
        w.activations[i] = activations_new(config, kernels, together, T);
    for (int i = 1; i < threads; i++) w.gradients[i] = parameters_new(config);
    return w;
}

void workers_free(Workers *w) {
    for (int i = 0; i < w->threads; i++) activations_free(&w->activations[i]);
    for (int i = 1; i < w->threads; i++) parameters_free(&w->gradients[i]);
    free(w->activations);
    free(w->gradients);
    *w = (Workers){0};
}

void workers_set_document_mask(Workers *w, int bos) {
    for (int i = 0; i < w->threads; i++) w->activations[i].bos = bos;
}

/* The data that threads share while they compute a batch's loss, or its loss and gradients. */
typedef struct {
    const Workers *workers;
    const Parameters *weights;
    Batch batch;
    int groups, size; /* so many, of so many sequences each; the last may have fewer */
    double all;       /* what the targets count together */
    double dloss;
    double *loss; /* [groups]: the share that each group has in the mean */
} Work;

/* Its share in the mean is that of its targets. Without gradients, NULL, it is the loss alone. */
static double group(const Work *work, int g, Activations *a, Parameters *gradients) {
    int first = g * work->size, B = min_int(work->size, work->batch.B - first);
    size_t T = (size_t)work->workers->T, skipped = (size_t)first * T;
    const int *ids = work->batch.ids + skipped, *targets = work->batch.targets + skipped;
    const float *counts = work->batch.loss_weight ? work->batch.loss_weight + skipped : NULL;
    double share = sum_loss_weights((size_t)B * T, targets, counts) / work->all;
    if (!(share > 0)) return 0;
    a->B = B;
    return share * decoder_weighted(work->weights, gradients, a, ids, targets, counts,
                                    (float)(share * work->dloss));
}

static void some_groups(const Work *work, int thread, Parameters *gradients) {
    const Workers *w = work->workers;
    Parameters *own = gradients && thread ? &w->gradients[thread] : gradients;
    if (own != gradients) memset(own->numbers, 0, own->count * sizeof *own->numbers);
    for (int g = thread; g < work->groups; g += w->threads)
        work->loss[g] = group(work, g, &w->activations[thread], own);
}

/* Each number is the sum of all threads' in the order of the threads, whoever adds it up. */
static void add_up(const Workers *w, Parameters *gradients) {
#pragma omp parallel for
    for (size_t i = 0; i < gradients->count; i++)
        for (int thread = 1; thread < w->threads; thread++)
            gradients->numbers[i] += w->gradients[thread].numbers[i];
}

double batch_backward(const Workers *w, const Parameters *weights, Parameters *gradients,
                      Batch batch, double dloss) {
    double all = sum_loss_weights((size_t)batch.B * (size_t)w->T, batch.targets, batch.loss_weight),
           mean = 0;
    if (!(all > 0)) return NAN;
    int size = min_int(w->together, (batch.B + w->threads - 1) / w->threads),
        groups = (batch.B + size - 1) / size;
    Work work = {w,    weights, batch, groups,
                 size, all,     dloss, xmalloc((size_t)groups * sizeof *work.loss)};
#pragma omp parallel for num_threads(w->threads) schedule(static, 1)
    for (int thread = 0; thread < w->threads; thread++) some_groups(&work, thread, gradients);
    if (gradients) add_up(w, gradients);
    for (int g = 0; g < groups; g++) mean += work.loss[g];
    free(work.loss);
    return mean;
}

double batch_loss(const Workers *w, const Parameters *weights, Batch batch) {
    return batch_backward(w, weights, NULL, batch, 0);
}
