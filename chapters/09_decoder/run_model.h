/* Chapter 9: any checkpoint on any tokens: what comes next; all that was seen on the way in a file; and the same beside
 * what another program computed, to find where the two part. */
#ifndef RUN_MODEL_H
#define RUN_MODEL_H

#include "common/safetensors.h"

/* The tokens that a dump says it is of. The caller frees. */
int *dumped_ids(const SafeTensors *dump, int *count);

/* `ids` is "1,2,3"; with NULL they are those of the dump. NULL, too, where nothing is to be saved or compared.
 * Returns the exit status: 1 if a stage differs. */
int run_model(const char *path, const char *ids, const char *save_to, const char *dump);

#endif
