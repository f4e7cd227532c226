/* Chapter 9: a model's weights out of the tensors of its files: each by its name, in the right
 * shape. None may be missing, and none left over. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "09_decoder/model.h"

/* A command for a shell that converts weights: as this dtype, from a folder to a folder, each a
 * shell_word(). */
#define CONVERT                                                                                    \
    "python3 -c \"from sys import argv; from transformers import AutoModelForCausalLM as M; "      \
    "M.from_pretrained(argv[1], dtype='%s').save_pretrained(argv[2])\" %s %s"

/* The names of a model's tensors in one format; %d stands for the layer's number, and ".weight"
 * or ".bias" follows. */
typedef struct {
    const char *embed_tokens, *lm_head, *norm;
    const char *input_layernorm, *q_proj, *k_proj, *v_proj, *o_proj;
    const char *post_attention_layernorm, *gate_proj, *up_proj, *down_proj;
} TensorNames;

/* Collects names of tensors for an error message: the first few, and how many more. */
typedef struct {
    int count;
    char names[400];
} NameList;

void name_list_add(NameList *list, const char *name);

/* "3 tensors are missing: a, b, c" */
void name_list_fail_if_any(const NameList *list, const char *path, const char *what);

/* The tensors of a model's files, while a model is made of them. */
typedef struct {
    const char *path;   /* the folder or the file, for messages */
    const char *config; /* what says how large they must be: "config.json" */
    const TensorNames *names;
    size_t count;
    Tensor *tensors; /* by their names */
    bool *used;
    NameList missing;
} Weights;

/* The tensors may come in any order; the array becomes the weights'. */
Weights weights_new(const char *path, const char *config, const TensorNames *names, size_t count,
                    Tensor *tensors);

const Tensor *weights_find(const Weights *weights, const char *name); /* NULL if there is none */

/* The tensor of that name, [rows][columns], or [columns] where rows is 0. A missing one is noted,
 * and empty. */
Tensor weights_load_tensor(Weights *weights, int rows, int columns, const char *name);

/* Fills in all of the model but its config, which says what there must be, and its files. Or
 * fail(): a tensor is missing, of another shape, or none of a Llama's. */
void weights_load_model(Weights *weights, Model *model);

#endif
