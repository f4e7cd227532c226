/* A model in a GGUF file, as llama.cpp and the package gguf write it: the architecture `llama` with
 * its configuration in the file, weights in F32, F16, BF16 or the block formats of 13_quantization,
 * mixed as they come. Queries and keys are in the interleaved layout of Meta's checkpoints.
 *
 * Every tensor's name, type and shape is checked. What this decoder does not compute is refused by
 * name. */
#ifndef GGUF_MODEL_H
#define GGUF_MODEL_H

#include "09_decoder/model.h"
#include "common/gguf.h"

/* Opens the model of a .gguf, or fail(). */
Model gguf_model_open(const char *path);

/* Whether a token of this name ends a text, whatever a GGUF file says of it. */
bool gguf_ends_text(size_t length, const char *name);

/* The same numbers as a tensor of this course; its name and data are those of the file's tensor. */
Tensor gguf_as_tensor(const GgufTensor *from);

#endif
