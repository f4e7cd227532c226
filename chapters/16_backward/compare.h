/* Chapter 16: a model's gradients beside those of another program. */
#ifndef COMPARE_H
#define COMPARE_H

#include "16_backward/parameters.h"
#include "common/check.h"
#include "common/safetensors.h"

/* A file of gradients: ids and, if it says, targets as [B][T] or [T]; the loss; and gradients by
 * their weights' names. */
typedef struct {
    SafeTensors file;
    int B, T, *ids,
        *targets; /* [B][T]. A file without targets wants each token to be followed by the next */
} GradientFile;

GradientFile gradient_file_open(const char *path); /* or fail() */
void gradient_file_close(GradientFile *file);

/* Compares one tensor, "loss" included, with the file's, as common/check.h does. The metadata
 * ulps/NAME is the error of PyTorch's own float32. Without that it may be 2^10 ulps of the
 * tensor's largest number. False if the file has no such tensor. Or fail(): it is of another
 * size, or its ulps are no number. */
bool gradient_judge(const GradientFile *file, const Tensor *ours, Comparison *comparison);

/* `build/16_backward --model DIR --compare FILE`: a table in the order of the backward pass, and
 * the first gradient that differs. Returns the exit status. */
int compare_gradients(const char *model, const char *path);

#endif
