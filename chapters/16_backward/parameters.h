/* Chapter 16: a model's weights in one array of float32, to be changed; and its gradients in
 * another of the same layout.
 *
 * The gradient of a weight has the weight's name and place. So what is done to all of them alike is
 * one loop over `numbers`: a norm, a step downhill, a moment that an optimizer keeps. */
#ifndef PARAMETERS_H
#define PARAMETERS_H

#include "09_decoder/model.h"

typedef struct {
    float *input_layernorm, *post_attention_layernorm; /* [C] */
    float *q_proj, *k_proj, *v_proj, *o_proj; /* [H D][C], [KV D][C], [KV D][C], [C][H D] */
    float *gate_proj, *up_proj, *down_proj;   /* [F][C], [F][C], [C][F] */
    float *q_bias, *k_bias, *v_bias,
        *o_bias; /* [H D], [KV D], [KV D], [C]; NULL without attention_bias */
    float *gate_bias, *up_bias, *down_bias; /* [F], [F], [C]; NULL without mlp_bias */
} LayerParameters;

typedef struct {
    Config config;
    bool interleaved; /* q_proj and k_proj want rope_interleaved */
    size_t count;     /* numbers in all */
    float *numbers;   /* [count]: what all pointers here point into */
    float *embed_tokens, *norm,
        *lm_head;            /* [V][C], [C], [V][C]; lm_head is embed_tokens where they are tied */
    LayerParameters *layers; /* [L] */
    int tensor_count;
    Tensor *tensors; /* the same by their names in a Hugging Face file, in the order of the forward
                        pass */
} Parameters;

Parameters parameters_new(const Config *config); /* zeros, in the half-split layout */
Parameters parameters_of(const Model *model);    /* whatever its file has, in float32 */
void parameters_free(Parameters *weights);

#endif
