/* Chapter 9: any checkpoint on any tokens: what comes next; all that was seen on the way in a file; and the same beside what
 * another program computed, to find where the two part. */
#ifndef RUN_MODEL_H
#define RUN_MODEL_H

/* `ids` is "1,2,3"; with NULL they are those of the dump. NULL, too, where nothing is to be saved or compared.
 * Returns the exit status: 1 if a stage differs. */
int run_model(const char *path, const char *ids, const char *save_to, const char *dump);

#endif
