#include "17_training/small.h"
#include "04_attention/attention.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the world */

enum {
    BEGIN,
    HAS,
    THE,
    WHO,
    END,
    ASKED,
    NAMES,
    THINGS = NAMES + 6
}; /* six of each; the last is WORDS - 1 */

static const char *const words[WORDS] = {"",     "has", "the",  "Who",  ".",    "?",
                                         "Mia",  "Tom", "Anna", "Ben",  "Zoe",  "Max",
                                         "ball", "hat", "kite", "ring", "book", "coin"};

const char *word(int id) { return words[id]; }

int word_id(const char *word) {
    for (int id = 0; id < WORDS; id++)
        if (strcmp(words[id], word) == 0) return id;
    fail("there is no %s in this world", word);
}

typedef struct {
    int name, thing;
} Owner;

static Owner draw_owner(Random *random) {
    return (Owner){random_between(random, NAMES, THINGS - 1),
                   random_between(random, THINGS, WORDS - 1)};
}

void draw_text(Random *random, int ids[TEXT], int targets[TEXT]) {
    Owner one = draw_owner(random), other = draw_owner(random);
    while (other.name == one.name || other.thing == one.thing) other = draw_owner(random);
    Owner asked = random_between(random, 0, 1) ? one : other;
    const int text[TEXT + 1] = {BEGIN,      one.name, HAS,         THE,         one.thing,  END,
                                other.name, HAS,      THE,         other.thing, END,        WHO,
                                HAS,        THE,      asked.thing, ASKED,       asked.name, END};
    memcpy(ids, text, TEXT * sizeof *ids);
    memcpy(targets, text + 1, TEXT * sizeof *targets);
}

/* ------------------------------------------------------------------ who learns */

Hyperparameters llama_settings(int steps) {
    return (Hyperparameters){.steps = steps,
                             .warmup = steps / 20,
                             .lr = 0.01f,
                             .min_lr = 0.001f,
                             .beta1 = 0.9f,
                             .beta2 = 0.95f,
                             .eps = 1e-5f,
                             .decay = 0.1f,
                             .max_norm = 1};
}

/* Matrices begin as small random numbers, and norms change nothing yet. */
static void draw_weights(Parameters *w, uint64_t seed) {
    Random random = {.state = seed};
    for (int t = 0; t < w->tensor_count; t++) {
        float *numbers = (float *)w->tensors[t].data;
        size_t n = tensor_count(&w->tensors[t]);
        for (size_t i = 0; i < n; i++)
            numbers[i] = uses_weight_decay(&w->tensors[t])
                             ? (float)(random_normal(&random) / sqrt(w->config.C))
                             : 1;
    }
}

const OptimizerKernels reference_optimizer_kernels = {
    .adamw = adamw,
    .clip_gradient = clip_gradient,
    .learning_rate = learning_rate,
};

static float *zeros(size_t n) { return memset(xmalloc(n * sizeof(float)), 0, n * sizeof(float)); }

TinyTrainer tiny_trainer_new(uint64_t seed) {
    const Config config = {.C = 32,
                           .L = 2,
                           .H = 4,
                           .KV = 2,
                           .D = 8,
                           .F = 64,
                           .V = WORDS,
                           .max_position_embeddings = TEXT,
                           .rms_norm_eps = 1e-5,
                           .tie_word_embeddings = true,
                           .rope = {.rope_theta = 10000, .factor = 1}};
    TinyTrainer l = {.weights = parameters_new(&config),
                     .gradients = parameters_new(&config),
                     .activations =
                         activations_new(&config, &reference_training_kernels, BATCH, TEXT),
                     .optimizer = &reference_optimizer_kernels,
                     .random = {.state = seed + 1000}};
    l.m = zeros(l.weights.count);
    l.v = zeros(l.weights.count);
    draw_weights(&l.weights, seed);
    return l;
}

void tiny_trainer_free(TinyTrainer *l) {
    parameters_free(&l->weights);
    parameters_free(&l->gradients);
    activations_free(&l->activations);
    free(l->m);
    free(l->v);
}

static void draw_batch(Random *random, bool rubbish, int ids[BATCH][TEXT],
                       int targets[BATCH][TEXT]) {
    for (int b = 0; b < BATCH; b++) {
        draw_text(random, ids[b], targets[b]);
        for (int t = 1; t < TEXT && rubbish; t++)
            ids[b][t] = targets[b][t - 1] = random_between(random, 1, WORDS - 1);
    }
}

/* AdamW, tensor by tensor: not all of them decay. */
static void take_step(TinyTrainer *l, const Hyperparameters *s, float rate) {
    const Parameters *w = &l->weights;
    for (int t = 0; t < w->tensor_count; t++) {
        const Tensor *tensor = &w->tensors[t];
        size_t n = tensor_count(tensor), first = (size_t)((const float *)tensor->data - w->numbers);
        l->optimizer->adamw(n, w->numbers + first, l->m + first, l->v + first,
                            l->gradients.numbers + first, l->step, rate, s->beta1, s->beta2, s->eps,
                            s->decay_norms || uses_weight_decay(tensor) ? s->decay : 0);
    }
}

double tiny_trainer_step(TinyTrainer *l, const Hyperparameters *s) {
    int ids[BATCH][TEXT], targets[BATCH][TEXT];
    Parameters *g = &l->gradients;
    l->step++;
    draw_batch(&l->random, s->corrupt_every && l->step % s->corrupt_every == 0, ids, targets);
    memset(g->numbers, 0, g->count * sizeof *g->numbers);
    double loss = decoder_backward(&l->weights, g, &l->activations, ids[0], targets[0], 1);
    l->norm = l->optimizer->clip_gradient(1, &g->count, &g->numbers, s->max_norm);
    take_step(l, s, l->optimizer->learning_rate(l->step, s->warmup, s->steps, s->lr, s->min_lr));
    return loss;
}

/* ------------------------------------------------------------------ how well */

double tiny_trainer_loss(const TinyTrainer *l, int texts) {
    Activations one = activations_new(&l->weights.config, l->activations.kernels, 1, TEXT);
    Random random = {.state = 16};
    double sum = 0;
    for (int n = 0; n < texts; n++) {
        int ids[TEXT], targets[TEXT];
        draw_text(&random, ids, targets);
        sum += decoder_loss(&l->weights, &one, ids, targets);
    }
    activations_free(&one);
    return sum / texts;
}

void tiny_trainer_predict(const TinyTrainer *l, int T, const int ids[T], float p[WORDS]) {
    const Parameters *w = &l->weights;
    const TrainingKernels *kernels = l->activations.kernels;
    int C = w->config.C;
    float normed[1][C], logits[1][WORDS];
    Activations one = activations_new(&w->config, kernels, 1, T);
    decoder_loss(w, &one, ids, ids); /* what it should foresee does not matter here */
    const float(*stream)[C] = (void *)one.last;
    kernels->rms_norm(1, C, normed, stream + T - 1, w->norm, (float)w->config.rms_norm_eps);
    kernels->linear(1, C, WORDS, logits, normed, (void *)w->lm_head, NULL);
    softmax(1, WORDS, (void *)p, logits);
    activations_free(&one);
}
