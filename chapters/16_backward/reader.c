#include "16_backward/reader.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most probable token to follow the question. */
static int answer_of(const Sentence *s) {
    const float *logits = sentence_tensor(s, "logits", 1, s->V);
    int best = 0;
    for (int v = 1; v < s->V; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

Fixture fixture_open(void) {
    Fixture r = {.sentence = sentence_open(), .model = model_open(ROOT "/common/stories/model")};
    int T = r.sentence.T;
    r.weights = parameters_of(&r.model);
    r.gradients = parameters_new(&r.model.config);
    r.activations = activations_new(&r.model.config, &reference_training_kernels, 1, T);
    r.targets = xmalloc((size_t)T * sizeof *r.targets);
    for (int t = 0; t < T - 1; t++) r.targets[t] = r.sentence.ids[t + 1];
    r.targets[T - 1] = answer_of(&r.sentence);
    return r;
}

void fixture_close(Fixture *r) {
    free(r->targets);
    activations_free(&r->activations);
    parameters_free(&r->gradients);
    parameters_free(&r->weights);
    model_close(&r->model);
    sentence_close(&r->sentence);
}

double fixture_loss(Fixture *r) {
    return decoder_loss(&r->weights, &r->activations, r->sentence.ids, r->targets);
}

double fixture_gradients(Fixture *r) {
    memset(r->gradients.numbers, 0, r->gradients.count * sizeof(float));
    return decoder_backward(&r->weights, &r->gradients, &r->activations, r->sentence.ids,
                            r->targets, 1);
}

int fixture_largest_gradient(const Fixture *r) {
    int most = 0;
    for (int i = 1; i < r->sentence.C; i++)
        if (fabsf(r->gradients.norm[i]) > fabsf(r->gradients.norm[most])) most = i;
    return most;
}

void fixture_ask_for(Fixture *r, int answer) {
    for (int t = 0; t < r->sentence.T - 1; t++) r->targets[t] = -1;
    r->targets[r->sentence.T - 1] = answer;
}
