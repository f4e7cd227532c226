/* The kernels of a training step as fast as this course can make them, as tables for whoever
 * trains. The contracts are those of the reference kernels. */
#ifndef FAST_TRAINING_KERNELS_H
#define FAST_TRAINING_KERNELS_H

#include "16_backward/training_kernels.h"

extern const TrainingKernels fast_training_kernels;

/* Mixed precision: the same, but the factors of every matrix product are rounded to BF16. */
extern const TrainingKernels bf16_training_kernels;

__typeof__(linear) fast_linear, bf16_linear;
__typeof__(linear_backward) fast_linear_backward, bf16_linear_backward;
__typeof__(swiglu_backward) fast_swiglu_backward;
__typeof__(cross_entropy) fast_cross_entropy;
__typeof__(cross_entropy_backward) fast_cross_entropy_backward;
__typeof__(flash_attention_lse) fast_flash_attention_lse; /* fast_attention.c */
__typeof__(flash_attention_backward) fast_flash_attention_backward;

#endif
