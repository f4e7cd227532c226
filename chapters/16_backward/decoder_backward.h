/* Chapter 16: the whole decoder, forward with a memory and then backward.
 *
 *     forward                                    backward, from the last line to the first
 *     x = embedding of the tokens                embedding_backward
 *     L times   x += attention(rms_norm(x))      dx += what comes back through attention and norm
 *               x += feed_forward(rms_norm(x))   dx += what comes back through feed-forward and
 * norm loss = cross_entropy(rms_norm(x) lm_head^T)
 *
 * B texts of T tokens each go through it together; to all but attention and RoPE they are B T rows.
 */
#ifndef DECODER_BACKWARD_H
#define DECODER_BACKWARD_H

#include "16_backward/parameters.h"
#include "16_backward/training_kernels.h"

/* The activations of a layer that the backward pass needs, for R = B T rows. Everything else is
 * recomputed, or not needed at all. */
typedef struct {
    float *x;         /* [R][C]: the stream that attention was given */
    float *q, *k, *v; /* [R][H][D], [R][KV][D], [R][KV][D]: queries and keys after RoPE */
    float *attn_out;  /* [R][H][D] */
    float *lse;       /* [R][H] */
    float *between;   /* [R][C]: the stream that feed-forward was given */
    float *gate, *up; /* [R][F] */
} SavedActivations;

/* Sees the gradient of the residual stream on its way back, at chapter 9's stages: 2 L at the end
 * of the last layer, 2 l + 1 and 2 l between and before the halves of layer l. */
typedef void GradientHook(void *context, int stage, int rows, int C, const float dx[rows][C]);

/* The activations of one batch, all in one piece of memory, and the kernels that compute them. */
typedef struct {
    const TrainingKernels *kernels;
    int B, T, bos; /* a token that begins a text of its own, which sees nothing before it; -1: none
                      does */
    SavedActivations *layers; /* [L] */
    float *last;              /* [R][C]: the stream after the last layer */
    float *cos_sin;           /* [2][T][D / 2]: cosine and sine, chapter 5's */
    char *arena;
    size_t arena_size, arena_used; /* bytes */
    GradientHook *hook;            /* NULL if nobody watches */
    void *context;
} Activations;

Activations activations_new(const Config *config, const TrainingKernels *kernels, int B, int T);
void activations_free(Activations *activations);

/* The mean loss over all targets that are not negative: how surprised the model is by the token
 * that follows, which is the target. NaN if there is none. An id or a target that is not in the
 * vocabulary is refused. */
double decoder_loss(const Parameters *weights, Activations *activations, const int *ids,
                    const int *targets);

/* The same loss, and dloss times its gradient with respect to every weight, added to `gradients`.
 * ids and targets: [B][T]. dloss is 1, or this batch's share in a larger mean. */
double decoder_backward(const Parameters *weights, Parameters *gradients, Activations *activations,
                        const int *ids, const int *targets, float dloss);

/* The same where not all targets count alike: target t counts counts[t] times, and the mean is over
 * the sum of what they count. NULL: all alike. Without gradients, NULL, it is the loss alone. */
double decoder_weighted(const Parameters *weights, Parameters *gradients, Activations *activations,
                        const int *ids, const int *targets, const float *counts, float dloss);

#endif
