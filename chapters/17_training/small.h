/* Chapter 17: a small world, and a Llama of 19 thousand numbers that learns to speak of it: what
 * the program, the figures and the study of the settings train.
 *
 *     Mia has the ball . Tom has the hat . Who has the hat ? Tom .
 *
 * Every text is like this one. Who has what is drawn, and what is asked; the answer follows from
 * it. */
#ifndef SMALL_H
#define SMALL_H

#include "16_backward/decoder_backward.h"
#include "17_training/optimizer.h"
#include "common/random.h"

enum {
    TEXT = 17,
    BATCH = 16,
    WORDS = 18
}; /* words of a text to be foreseen; texts in a step; words in this world */

/* The hyperparameters. */
typedef struct {
    int steps, warmup;
    float lr, min_lr, beta1, beta2, eps, decay, max_norm;
    bool decay_norms;  /* the norms' vectors, too */
    int corrupt_every; /* every so many steps the batch is of words in no order; 0: never */
} Hyperparameters;

Hyperparameters llama_settings(int steps); /* Llama 2's, and a rate that suits this size */

/* A table of the kernels that a step calls after the gradients, as TrainingKernels is one of those
 * before. */
typedef struct {
    __typeof__(adamw) *adamw;
    __typeof__(clip_gradient) *clip_gradient;
    __typeof__(learning_rate) *learning_rate;
} OptimizerKernels;

extern const OptimizerKernels reference_optimizer_kernels; /* this chapter's own */

typedef struct {
    Parameters weights, gradients;
    float *m, *v; /* AdamW's, of every weight */
    Activations activations;
    const OptimizerKernels *optimizer;
    Random random; /* of the texts */
    int step;      /* the last that was taken */
    double norm;   /* of its gradients, before clipping */
} TinyTrainer;

TinyTrainer tiny_trainer_new(uint64_t seed); /* weights drawn at random */
void tiny_trainer_free(TinyTrainer *learner);

/* The next step: a batch, its gradients, clipping, AdamW. Gives the loss of the batch before it was
 * learned from. */
double tiny_trainer_step(TinyTrainer *learner, const Hyperparameters *settings);

/* The mean loss over texts that are not learned from. */
double tiny_trainer_loss(const TinyTrainer *learner, int texts);

/* The predicted probabilities after a text's first T words. */
void tiny_trainer_predict(const TinyTrainer *learner, int T, const int ids[T], float p[WORDS]);

/* A text, and the word that follows each of its words. */
void draw_text(Random *random, int ids[TEXT], int targets[TEXT]);

const char *word(int id);
int word_id(const char *word);

#endif
