/* Chapter 17: what a run remembers from one step to the next, and how it outlives the program.
 * Killed at any instant, there is the last checkpoint, whole: it is written beside the one before
 * it, brought to the disk, and then takes its name. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "16_backward/parameters.h"
#include "17_training/recipe.h"

#include <stdint.h>

typedef struct {
    int step;                 /* that are done */
    Parameters weights, m, v; /* m and v: AdamW's two memories of each weight; Muon has m alone */
    double seconds;           /* of training, in all runs */
} State;

/* Random weights, as `initializer_range` of the config's file says, and norms of 1; or those of a
 * model's folder. */
State state_new(const Config *config, const char *config_path, unsigned long seed);
State state_of(const Config *config, const char *model);
void state_free(State *state);

/* FOLDER/checkpoint.safetensors: the weights under their names, m and v under m/NAME and v/NAME;
 * and as metadata step, seconds, threads, the recipe, and the fingerprint of the data and of the
 * config.json (setup.h). */
void checkpoint_save(const char *folder, const State *state, const TrainConfig *recipe,
                     uint64_t fingerprint);

/* Returns false if there is none. Or fail(): it is of a model of another shape, of another recipe,
 * or of other data. */
bool checkpoint_restore(const char *folder, State *state, const TrainConfig *recipe,
                        uint64_t fingerprint);

#endif
