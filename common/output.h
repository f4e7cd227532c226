/* An output file that appears only when it is complete: it is written beside its target under a
 * temporary name and renamed at the end, so that a full disk, a signal or an error never leaves a
 * partial file. A link stays a link, and the permissions of the file that was there stay. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdio.h>

typedef struct {
    FILE *file; /* write here */
    char *path, *temporary;
} Output;

Output output_open(const char *path);

/* Flushes, checks every write, renames. On an error the temporary file is removed and fail() says
 * why. A program that ends before output_close leaves neither file behind. */
void output_close(Output *output);

/* Removes the temporary files of all open outputs: for handlers of a signal that ends the
 * program. */
void output_abandon(void);

/* Installs a signal handler, unless the program ignores the signal, as in the background, or has a
 * handler already. */
void catch_signal(int signal, void handler(int), int flags);

#endif
