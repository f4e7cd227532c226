/* Chapter 9: the decoder. Everything before this chapter, in its place:
 *
 *     x = embedding of the tokens
 *     L times   x += attention(rms_norm(x))         chapters 1, 4, 7, 8
 *               x += feed_forward(rms_norm(x))      chapters 1, 3
 *     logits = rms_norm(x) lm_head^T                chapter 1
 *
 * Source: LlamaForCausalLM in modeling_llama.py of transformers; Transformer in llama/model.py of Meta. */
#ifndef DECODER_H
#define DECODER_H

#include "09_decoder/model.h"

/* Sees the residual stream at its stages, piece by piece: 0 after the embedding, 1 to L after each layer, L + 1 after
 * the last norm. x is of positions first .. first + T - 1. */
typedef void Watch(void *context, int stage, int first, int T, int C, const float x[T][C]);

/* One text, and what the decoder remembers of it. The arrays are written [..][..] as the kernels see them. */
typedef struct {
    const Model *model;
    int capacity;         /* positions that the text may have */
    int length;           /* positions read so far */
    void *keys, *values;  /* [L][capacity][KV][D]: chapter 7's caches */
    float *last;          /* [C]: the last position after the last norm */
    Watch *watch;         /* NULL if nobody watches */
    void *context;
    struct Workspace *work;
} Decoder;

Decoder decoder_new(const Model *model, int capacity);
void decoder_free(Decoder *decoder);

/* Reads T more tokens: a prompt, a piece of it, or the one that was just chosen.
 * An id that is not in the vocabulary and a text longer than the capacity are refused. */
void decoder_read(Decoder *decoder, int T, const int ids[T]);

/* The score of every token to come next. */
void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]);

#endif
