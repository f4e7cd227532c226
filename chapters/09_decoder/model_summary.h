/* Chapter 9: a summary of a Llama: the tree of its modules, and the size of each. */
#ifndef MODEL_SUMMARY_H
#define MODEL_SUMMARY_H

#include "09_decoder/config.h"

#include <stdio.h>

/* Prints what print(model) prints in PyTorch, where model is transformers' LlamaForCausalLM. */
void config_print_model(FILE *file, const Config *config);

/* Prints a table of all modules: shape, parameters, bytes; and the bytes of a token in the KV
 * cache. */
void config_print_modules(FILE *file, const Config *config);

#endif
