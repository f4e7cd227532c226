/* Chapter 9: the decoder. Everything before this chapter, in its place:
 *
 *     x = embedding of the tokens
 *     L times   x += attention(rms_norm(x))         chapters 1, 5, 7, 8
 *               x += feed_forward(rms_norm(x))      chapters 1, 3
 *     logits = rms_norm(x) lm_head^T                chapter 1
 *
 * Source: LlamaForCausalLM in modeling_llama.py of transformers; Transformer in llama/model.py of
 * Meta. */
#ifndef DECODER_H
#define DECODER_H

#include "09_decoder/kernels.h"
#include "09_decoder/model.h"

/* Sees the residual stream at its stages, piece by piece: 0 after the embedding, 2 l + 1 and 2 l +
 * 2 after attention and feed-forward of layer l, 2 L + 1 after the last norm. x is of positions
 * first .. first + T - 1. */
typedef void StageHook(void *context, int stage, int first, int T, int C, const float x[T][C]);

/* The way of the stream: decoder_forward(), or chapter 15's, which adds up what several machines
 * compute. */
typedef struct Decoder Decoder;
typedef void Forward(Decoder *decoder, int T, int C, float out[restrict T][C], const int ids[T]);

/* One text, and what the decoder remembers of it. */
struct Decoder {
    const Model *model;
    const Kernels *kernels; /* everything below computes with them */
    Forward *forward;
    int capacity;         /* positions that the text may have */
    int length;           /* positions read so far: the next token stands at this one */
    float *keys, *values; /* [L][capacity][KV][D]: chapter 7's cache of each layer */
    float *cos_sin;       /* [2][T][D / 2]: cosine and sine for the T positions that are being read,
                             chapter 5's */
    float *last_hidden;   /* [C]: the last position after the last norm */
    char *arena;          /* to work in: see decoder_alloc() */
    size_t arena_size, arena_used;
    StageHook *hook; /* NULL if nobody watches */
    void *context;
};

Decoder decoder_new(const Model *model, const Kernels *kernels, int capacity);
void decoder_free(Decoder *decoder);

/* Reads T more tokens: a prompt, a piece of it, or the one that was just chosen.
 * An id that is not in the vocabulary and a text longer than the capacity are refused. */
void decoder_eval(Decoder *decoder, int T, const int ids[T]);

/* The score of every token to come next. */
void decoder_logits(const Decoder *decoder, float logits[decoder->model->config.V]);

/* ---- what decoder_eval() is made of */

/* delta = attention(rms_norm(x)): what the T tokens that are being read take over from each other
 * and from those before them. Their keys and values go into the cache of layer l, from row `length`
 * on. x stays as it is. Each projection adds the layer's bias where that is not NULL. */
void attention_block(Decoder *decoder, int l, int T, int C, float delta[restrict T][C],
                     const float x[T][C]);

/* delta = feed_forward(rms_norm(x)): what each token makes of itself in layer l. Here, too, each
 * projection adds its bias. */
void feed_forward_block(Decoder *decoder, int l, int T, int C, float delta[restrict T][C],
                        const float x[T][C]);

/* The stream of T tokens from the embedding through all layers and the last norm. Whoever watches
 * is shown each stage. */
void decoder_forward(Decoder *decoder, int T, int C, float out[restrict T][C], const int ids[T]);

/* Hands the stream to whoever watches. */
void call_stage_hook(const Decoder *decoder, int stage, int T, int C, const float x[T][C]);

/* Working memory for an array, from a block that is allocated only once. Everything that was taken
 * since a mark is given back together:
 *
 *     size_t mark = decoder->arena_used;
 *     float(*q)[H][D] = decoder_alloc(decoder, sizeof(float[T][H][D]));
 *     ...
 *     decoder->arena_used = mark; */
void *decoder_alloc(Decoder *decoder, size_t bytes);

#endif
