/* The kernels of a training step that have a reference body and a faster one, as a table: the
 * caller chooses a table, and the decoder calls what is in it. All bodies of an entry have one
 * contract, which the header of the reference body states.
 *
 * Kernels with one body only (rms_norm_backward, RoPE and its backward pass, embedding_backward)
 * are called by their names. */
#ifndef TRAINING_KERNELS_H
#define TRAINING_KERNELS_H

#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "16_backward/backward.h"
#include "common/linear.h"

typedef struct TrainingKernels {
    __typeof__(linear) *linear;
    __typeof__(linear_backward) *linear_backward;
    __typeof__(rms_norm) *rms_norm;
    __typeof__(swiglu) *swiglu;
    __typeof__(swiglu_backward) *swiglu_backward;
    __typeof__(flash_attention_lse) *flash_attention_lse;
    __typeof__(flash_attention_backward) *flash_attention_backward;
    __typeof__(cross_entropy) *cross_entropy;
    __typeof__(cross_entropy_backward) *cross_entropy_backward;
} TrainingKernels;

extern const TrainingKernels reference_training_kernels; /* the lessons' own, which sum in double */

#endif
