/* Chapter 9: a model's weights, used where they lie: the files are mapped, never copied.
 *
 * A model is a folder as downloaded from Hugging Face: config.json and model.safetensors, or the
 * shards that model.safetensors.index.json names; queries and keys in the half-split layout of
 * chapter 5. Every tensor's name, dtype and shape is checked. What is missing and what does not
 * belong there is named.
 *
 * Other formats fill in the same struct: 14_engine/formats. */
#ifndef MODEL_H
#define MODEL_H

#include "09_decoder/config.h"

typedef struct {
    Tensor q_proj, k_proj, v_proj, o_proj; /* [H D][C], [KV D][C], [KV D][C], [C][H D] */
    Tensor gate_proj, up_proj, down_proj;  /* [F][C], [F][C], [C][F] */
    float *input_layernorm, *post_attention_layernorm; /* [C], in float32 */
    /* Biases are NULL in all of Meta's Llamas. */
    float *q_bias, *k_bias, *v_bias, *o_bias; /* [H D], [KV D], [KV D], [C] */
    float *gate_bias, *up_bias, *down_bias;   /* [F], [F], [C] */
} Layer;

typedef struct {
    Config config;
    bool interleaved; /* q_proj and k_proj want rope_interleaved: in other formats than this one */
    Tensor embed_tokens, lm_head; /* [V][C]; the same where they are tied */
    Layer *layers;                /* [L] */
    float *norm;                  /* [C], in float32 */
    void *files;                  /* the mapped files that the weights lie in */
    void (*close_files)(void *files);
} Model;

/* Opens a model's folder, which may also be named by its model.safetensors or by the index of its
 * shards; or fail(). */
Model model_open(const char *path);
void model_close(Model *model);

enum { MODEL_PATH = 4096 };

/* The folder that `path` is or, where `path` is its model.safetensors or the index of its shards,
 * lies in. Returns false for any other file. */
bool model_folder_of(char folder[static MODEL_PATH], const char *path);

/* folder/name; a path that is too long is refused. */
const char *model_file(char path[static MODEL_PATH], const char *folder, const char *name);
bool model_has_file(const char *folder, const char *name);

#endif
