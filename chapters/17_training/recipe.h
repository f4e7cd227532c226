/* Chapter 17: what `train` is asked for. */
#ifndef RECIPE_H
#define RECIPE_H

#include "common/options.h"
#include "common/safetensors.h"

typedef struct {
    const char *config, *model, *tokenizer, *out, *eval_data,
        *loss_after;    /* NULL where nothing was said */
    const char *prompt; /* "" */
    const char *data[OPTION_TIMES];
    int data_count;
    bool resume, split_documents, document_mask, no_shuffle, plot, bf16, matmul_bf16;
    int steps, warmup;       /* -1: not said, which depends on the data */
    int batch_size, seq_len; /* sequences, and their tokens; 0: not said */
    int threads;             /* 0: not said, which depends on the model */
    int save_every, eval_every, sample_every;
    float lr, muon_lr, min_lr, weight_decay, beta1, beta2, eps, max_grad_norm, loss_weight_else;
    unsigned long seed;
} TrainConfig;

/* The command line, or usage_error(). */
TrainConfig train_config_read(int argc, char **argv);

/* Counts its files that are standard input (-), with or without a weight. */
int train_config_reads_standard_input(const TrainConfig *recipe);

/* The hyperparameters that two runs must share to end with the same numbers, each under its
 * option's name. */
enum { INGREDIENTS = 17, NUMBER = 48 }; /* of a number's letters; compilers reckon with 40 */
typedef struct {
    Metadata each[INGREDIENTS];
    char text[INGREDIENTS][NUMBER];
} RunHyperparameters;
void train_config_hyperparameters(const TrainConfig *recipe, RunHyperparameters *ingredients);

#endif
