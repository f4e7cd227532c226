/* Chapter 17: what a run needs, put together from the recipe: the model's shape, the tokenizer, the
 * data, and memory. */
#ifndef SETUP_H
#define SETUP_H

#include "15_tensor_parallel/ranks.h"
#include "15_tensor_parallel/shard.h"
#include "17_training/checkpoint.h"
#include "17_training/folder.h"
#include "17_training/mixture.h"
#include "17_training/step.h"

typedef struct {
    TrainConfig recipe;
    Ranks ranks;
    Config config;
    DType dtype; /* of the model that comes out */
    char config_path[FOLDER_PATH], tokenizer_folder[FOLDER_PATH];
    const TrainingKernels *kernels;
    Tokenizer *tokenizer; /* NULL: there is none */
    Mixture data, eval_data;
    State state;
    Parameters gradients;
    Workers workers;
    int *ids, *targets; /* [batch][length] */
    float *loss_weight; /* the same: how much each target counts */
    ShardRange part;    /* of the batch, the sequences that this process computes */
} Run;

/* A hash of the tokens of the data and of config.json. */
uint64_t run_fingerprint(const Run *run);

/* The recipe is completed by what the data decide. Or fail(). */
void trainer_open(Run *run);
void trainer_close(Run *run);

#endif
