/* How fast is training, beside what this machine can do? A step is what chapter 17 does in one: the
 * gradients of a batch, clipping, AdamW. The model is random, and so are its texts.
 *
 *     bench_training CONFIG.json B T
 *
 * For each line that comes on its input it trains for some seconds, and answers with a line: tokens
 * a second, operations a second, the FMA peak. tests/bench/bench_training.py asks, in turns with
 * PyTorch. (Its first line, 0, are the bytes of memory that it has without a model: few.)
 *
 * Operations: two for each weight and token forward, twice as many backward; attention's four for
 * each pair of a query and a key it sees and each number of a head, and again twice as many. What
 * is computed again on the way back does not count. The peak is measured after each step, for the
 * machine may be shared. */
#include "12_speed/machine_limits.h"
#include "17_training/fast_training_kernels.h"
#include "17_training/optimizer.h"
#include "17_training/step.h"
#include "common/error.h"
#include "common/random.h"
#include "common/timer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16, WARM = 1 };
static const double turn_seconds = 3;

typedef struct {
    int B, T, step;
    Parameters weights, gradients, m, v;
    Workers workers;
    int *ids, *targets; /* [B][T] */
} Training;

static Training training_new(const Config *config, int B, int T) {
    int threads = thread_count() < B ? thread_count() : B;
    size_t tokens = (size_t)B * (size_t)T;
    Training t = {.B = B,
                  .T = T,
                  .weights = parameters_new(config),
                  .gradients = parameters_new(config),
                  .m = parameters_new(config),
                  .v = parameters_new(config),
                  .workers = workers_new(config, &fast_training_kernels, T, threads),
                  .ids = xmalloc(tokens * sizeof(int)),
                  .targets = xmalloc(tokens * sizeof(int))};
    Random random = {.state = 1};
    for (int i = 0; i < t.weights.tensor_count; i++) {
        Tensor *tensor = &t.weights.tensors[i];
        size_t count = tensor_count(tensor);
        float *numbers = (float *)tensor->data;
        random_fill(&random, count, numbers);
        for (size_t k = 0; k < count; k++) numbers[k] = tensor->rank == 1 ? 1 : 0.02f * numbers[k];
    }
    for (size_t i = 0; i < tokens; i++) {
        t.ids[i] = (int)(random_bits(&random) % (unsigned)config->V);
        t.targets[i] = (int)(random_bits(&random) % (unsigned)config->V);
    }
    return t;
}

static void adamw_pieces(Training *t, float rate, float decay) {
    size_t count = t->weights.count;
#pragma omp parallel for
    for (size_t first = 0; first < count; first += PIECE)
        adamw(count - first < PIECE ? count - first : PIECE, t->weights.numbers + first,
              t->m.numbers + first, t->v.numbers + first, t->gradients.numbers + first, t->step,
              rate, 0.9f, 0.95f, 1e-8f, decay);
}

static void train_step(Training *t) {
    t->step++;
    memset(t->gradients.numbers, 0, t->gradients.count * sizeof(float));
    double loss = batch_backward(&t->workers, &t->weights, &t->gradients,
                                 (Batch){t->B, t->ids, t->targets, NULL}, 1);
    clip_gradient(1, &t->gradients.count, &t->gradients.numbers, 1);
    adamw_pieces(t, 3e-4f, 0.1f);
    if (!isfinite(loss)) fail("step %d: the loss is %g", t->step, loss);
}

static double operations(const Config *c, int B, int T) {
    double pairs = T * (T + 1.0) / 2, looked_up = c->tie_word_embeddings ? 0 : (double)c->V * c->C;
    return B *
           (6 * ((double)config_parameters(c) - looked_up) * T + 12 * pairs * c->L * c->H * c->D);
}

/* Some seconds of steps, each followed by a go at the peak. */
static void turn(Training *t, const Config *config) {
    int threads = thread_count(), steps = 0;
    double time = 0, peak = 0, peak_time = 0;
    while (time < turn_seconds) {
        double start = work_seconds(threads);
        train_step(t);
        steps++;
        double end = work_seconds(threads);
        for (time += end - start; work_seconds(threads) - end < (end - start) / 8;)
            peak += multiply_adds(threads);
        peak_time += work_seconds(threads) - end;
    }
    printf("%g %g %g\n", steps * t->B * t->T / time, steps * operations(config, t->B, t->T) / time,
           peak / peak_time);
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: bench_training CONFIG.json B T");
    Config config = config_read(arguments[1]);
    printf("0\n");
    fflush(stdout);
    Training t = training_new(&config, atoi(arguments[2]), atoi(arguments[3]));
    for (int i = 0; i < WARM; i++) train_step(&t);
    for (char line[16]; fgets(line, sizeof line, stdin);) turn(&t, &config);
}
