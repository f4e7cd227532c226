/* An output file that appears only when it is complete: it is written beside its target under a temporary
 * name and renamed at the end, so that a full disk, a signal or an error never leaves a partial file. A link stays a
 * link to it, and who may read what was there before may read it. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdio.h>

typedef struct {
    FILE *file; /* write here */
    char *path, *temporary;
} Output;

Output output_open(const char *path);

/* Flushes, checks every write, renames. On an error the temporary file is removed and fail() says why.
 * A program that ends before output_close leaves neither file behind. */
void output_close(Output *output);

/* Removes the temporary files of all outputs that are open: for who handles a signal and ends the program. */
void output_abandon(void);

/* From now on `handler` has to do with the signal, unless the program ignores it, as in the background, or has
 * something to do with it already. */
void catch_signal(int signal, void handler(int), int flags);

#endif
