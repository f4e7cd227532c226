/* A model in any format that people publish, told apart by what the file or folder contains:
 *     a folder as downloaded from Hugging Face (09_decoder/model.h), or its model.safetensors;
 *     a GGUF file (gguf_model.h);
 *     a .bin of llama2.c (llama2c.h), which has nothing that marks it and so is tried last. */
#ifndef MODEL_OPEN_ANY_H
#define MODEL_OPEN_ANY_H

#include "09_decoder/model.h"

/* Opens it, or fail(): for what is often taken for a model, the message says what to name or
 * convert instead. */
Model model_open_any(const char *path);

#endif
