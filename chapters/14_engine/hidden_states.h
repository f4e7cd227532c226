/* The hidden states of a run in a file, which is called a dump here: save them, or compare them
 * with those that another program computed, to find the first stage that differs. A dump is a
 * .safetensors with the tensors ids [T]; embed_tokens, layers.0, …, norm [T][C]; logits [T][V]. */
#ifndef HIDDEN_STATES_H
#define HIDDEN_STATES_H

#include "09_decoder/trace.h"
#include "common/safetensors.h"

/* The token ids of a dump, or fail(). The caller frees. */
int *hidden_states_ids(const SafeTensors *dump, int *count);

/* Whether all stages are finite. A nan or an infinity spreads to all that is computed from it, so
 * `words` name the first stage that has one. */
bool hidden_states_are_finite(const HiddenStates *run, char words[static 200]);

/* Writes a dump; the model's path becomes its metadata. */
void hidden_states_save(const HiddenStates *run, const char *path, const char *model);

/* fail()s where the dump has none of the run's stages: with other names nothing would differ. */
void hidden_states_require(const HiddenStates *run, const SafeTensors *dump, const char *path);

/* Prints a table of all stages. Returns whether all that the dump has agree. */
bool hidden_states_compare(const HiddenStates *run, const SafeTensors *dump);

#endif
