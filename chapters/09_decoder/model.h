/* Chapter 9: a model's weights, used where they lie: the files are mapped, never copied.
 *
 * A checkpoint is
 *     a folder as downloaded from Hugging Face: config.json and model.safetensors, or the shards that
 *     model.safetensors.index.json names; queries and keys in the half-split layout of chapter 5;
 *     or a file of llama.cpp's format (.gguf), with weights of any number of bits (chapter 13), in the interleaved
 *     layout of Meta's checkpoints; or one of llama2.c's first format (.bin), float32, in the same layout.
 * Every tensor's name, dtype and shape is checked. What is missing and what does not belong there is named. */
#ifndef MODEL_H
#define MODEL_H

#include "09_decoder/config.h"

typedef struct {
    Tensor q_proj, k_proj, v_proj, o_proj;            /* [H D][C], [KV D][C], [KV D][C], [C][H D] */
    Tensor gate_proj, up_proj, down_proj;             /* [F][C], [F][C], [C][F] */
    float *input_layernorm, *post_attention_layernorm; /* [C], in float32 */
    float *q_bias, *k_bias, *v_bias, *o_bias;         /* [H D], [KV D], [KV D], [C]; NULL, as in all of Meta's Llamas */
    float *gate_bias, *up_bias, *down_bias;           /* [F], [F], [C]; the same */
} Layer;

typedef struct {
    Config config;
    bool interleaved;              /* q_proj and k_proj want rope_interleaved */
    Tensor embed_tokens, lm_head;  /* [V][C]; the same where they are tied */
    Layer *layers;                 /* [L] */
    float *norm;                   /* [C], in float32 */
    struct ModelFiles *files;      /* what the weights lie in */
} Model;

Model model_open(const char *path); /* a folder, its model.safetensors, a .gguf or a .bin, or fail() */
void model_close(Model *model);

#endif
