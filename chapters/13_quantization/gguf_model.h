/* Chapter 13: a model from a GGUF file, as llama.cpp and the package gguf write it: the architecture `llama` with its
 * configuration in the file, weights in F32, F16, BF16 or the formats of quantization.h, mixed as they come.
 *
 * Every tensor's name, type and shape is checked. What this decoder does not compute is refused by name. */
#ifndef GGUF_MODEL_H
#define GGUF_MODEL_H

#include "09_decoder/model.h"
#include "common/gguf.h"

/* Fills in the model, all but its files; its weights lie in the file, which must stay open. Or fail(). */
void gguf_model(Model *model, const Gguf *file);

/* The same numbers as a tensor of this course; its name and data are those of the file's. */
Tensor gguf_as_tensor(const GgufTensor *from);

#endif
