/* Chapter 17: the gradient of a batch, on all threads: the part of a training step that takes the
 * time.
 *
 *     forward, backward    here: B sequences of T tokens, each from its first number to its last on
 * one thread clip, adamw          optimizer.h
 *
 * Sequences know nothing of each other, so each thread takes whole ones, in groups: of n threads
 * the first takes groups 0, n, 2 n, … A group is one long sequence, or several short ones that
 * together have enough rows for a fast product. A thread adds up their gradients in an array of its
 * own, for two threads must not add to the same number at once, and at the end the arrays are added
 * up thread by thread. The order of all sums is fixed by the number of threads: the same seed and
 * as many threads give the same bits. Another number of threads adds in another order, and rounds
 * otherwise. */
#ifndef STEP_H
#define STEP_H

#include "16_backward/decoder_backward.h"

/* The memory of each thread: its activations for one group, and for all but the first an array
 * of gradients as large as the model. With little memory, use fewer threads. */
typedef struct {
    int T, threads;
    int together;             /* sequences of a group, at most */
    Activations *activations; /* [threads] */
    Parameters *gradients; /* [threads]; the first has none of its own: it adds to the caller's */
} Workers;

/* For sequences of T tokens. More threads than a batch has sequences would have nothing to do.
 * Where `threads` is 1, groups come one after the other, and all threads of the machine share each
 * operation. */
Workers workers_new(const Config *config, const TrainingKernels *kernels, int T, int threads);
void workers_free(Workers *workers);

/* From now on a text begins at each of these tokens, mostly BOS, and sees nothing before it: as if
 * it had a sequence of its own, but for its positions, of which RoPE makes distances. */
void workers_set_document_mask(Workers *workers, int bos);

/* B sequences. A target is the token to be foreseen, mostly the one that follows; a negative one
 * does not count. Others count as `counts` says, or all alike where that is NULL. */
typedef struct {
    int B;
    const int *ids, *targets; /* [B][T] */
    const float *loss_weight; /* [B][T] */
} Batch;

/* The mean loss over the batch's targets, each as often as it counts: NaN if none does. */
double batch_loss(const Workers *workers, const Parameters *weights, Batch batch);

/* The same loss, and dloss times its gradient with respect to every weight, added to `gradients`.
 * dloss is 1; or, where gradients are accumulated over several batches or machines, the share that
 * this batch's targets have in those of all (sum_loss_weights): every token then weighs as much,
 * however many its batch has. Without gradients, NULL, it is the loss alone. */
double batch_backward(const Workers *workers, const Parameters *weights, Parameters *gradients,
                      Batch batch, double dloss);

#endif
