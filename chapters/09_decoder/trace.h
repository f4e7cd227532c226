/* Chapter 9: one text through the decoder, with everything that is seen on the way. */
#ifndef TRACE_H
#define TRACE_H

#include "09_decoder/decoder.h"

typedef struct {
    int T, stages, C, V; /* stages: the embedding, each layer, the last norm */
    int *ids;            /* [T] */
    float *states;       /* [stages][T][C]: the residual stream at each stage */
    float *logits;       /* [T][V] */
} HiddenStates;

/* Reads the text at once, with these kernels. More tokens than the model's context are refused. */
HiddenStates record_hidden_states(const Model *model, const Kernels *kernels, int T,
                                  const int ids[T]);
void hidden_states_free(HiddenStates *trace);

/* "embed_tokens", "layers.0" …, "norm": in the buffer, or a constant. */
const char *stage_name(char name[static 32], int stage, int stages);

/* The weights of one head of layer l over the text: row t is what token t looks at. Computed once
 * more, with chapter 5's functions: the decoder's own attention never has them all. */
void head_weights(const Model *model, const HiddenStates *trace, int l, int h,
                  float weights[restrict trace->T][trace->T]);

#endif
