/* The course's model in the layouts of other people: what a tensor is called there, and the files.
 */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "09_decoder/model.h"

/* A tensor under its three names. Of those in layers, the names come after "layers.N." (GGUF:
 * "blk.N."). */
typedef struct {
    const char *hugging_face, *meta, *gguf;
    size_t member; /* its offset in Layer or, outside of the layers, in Model */
    bool in_layers, is_norm, is_rotated;
} Part;

enum { PARTS = 11 };
extern const Part parts[PARTS]; /* in the order of llama2.c's .bin */

/* The tensor of a layer (any number for one that is outside of the layers). */
Tensor part_tensor(const Model *model, const Part *part, int layer);

/* The model with its weights in Meta's order, as in a consolidated.00.pth. It shares everything but
 * the rotated weights with `model`; the caller frees these by meta_model_free(). */
Model meta_model(const Model *model);
void meta_model_free(Model *meta);

/* Writes a model without biases, whose lm_head is tied and whose RoPE is not scaled, in float32. */
void save_as_gguf(const Model *model, const char *path);
void save_as_bin(const Model *model, const char *path); /* of llama2.c */

#endif
