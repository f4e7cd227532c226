/* Chapter 9: the tree of a Llama's modules. */
#ifndef PRINT_TREE_H
#define PRINT_TREE_H

#include "09_decoder/config.h"

#include <stdio.h>

/* What print(model) prints in PyTorch, where model is transformers' LlamaForCausalLM. */
void config_print_tree(FILE *file, const Config *config);

#endif
