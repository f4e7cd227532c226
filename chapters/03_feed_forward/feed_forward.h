/* Chapter 3: the feed-forward layer, where most of a Llama's weights are: from ReLU between two
 * linear layers (2017) to the gated unit that every Llama uses.
 *
 * T tokens, model width C, hidden width F. Weights are nn.Linear's: [out_features][in_features]. */
#ifndef FEED_FORWARD_H
#define FEED_FORWARD_H

#include "02_activation/activation.h"

/* A gated linear unit: the gate decides, element by element, how much of up passes. out may be gate
 * or up. Source: Dauphin et al. 2016; Shazeer 2020, eq. 5. */
typedef void GatedUnit(int n, float out[], const float gate[], const float up[]);

void swiglu(int n, float out[n], const float gate[n], const float up[n]);   /* silu(gate) up */
void glu(int n, float out[n], const float gate[n], const float up[n]);      /* sigmoid(gate) up */
void bilinear(int n, float out[n], const float gate[n], const float up[n]); /* gate up */
void reglu(int n, float out[n], const float gate[n], const float up[n]);    /* relu(gate) up */
void geglu(int n, float out[n], const float gate[n], const float up[n]);    /* gelu(gate) up */

/* out = activation(x w1^T + b1) w2^T + b2. b1 and b2 may be NULL: T5 and Llama have no biases.
 * hidden is scratch. The chapter's kernel leaves activation(x w1^T + b1) there, which its program
 * prints; another kernel may leave anything. Source: Vaswani et al. 2017, eq. 2. */
void feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                  const float w1[F][C], const float *b1, const float w2[C][F], const float *b2,
                  Activation *activation, float hidden[restrict T][F]);

/* out = unit(x w_gate^T, x w_up^T) w_down^T. gate and up are scratch. The chapter's kernel leaves
 * the hidden layer, unit(gate, up), in gate; another kernel may leave anything. With swiglu:
 * LlamaMLP of transformers (gate_proj, up_proj, down_proj), Meta's w1, w3, w2. Source: Shazeer
 * 2020, eq. 6. */
void gated_feed_forward(int T, int C, int F, float out[restrict T][C], const float x[T][C],
                        const float w_gate[F][C], const float w_up[F][C], const float w_down[C][F],
                        GatedUnit *unit, float gate[restrict T][F], float up[restrict T][F]);

/* The hidden width that Llama's code derives from the model width C:
 *     4 C, then 2/3 of it (three matrices instead of two), times ffn_dim_multiplier, then up to a
 * multiple. Every step is cut to an integer, as Python's int() does. Source: llama/model.py of
 * Meta, FeedForward. */
long llama_hidden_width(long C, double ffn_dim_multiplier, long multiple_of);

#endif
