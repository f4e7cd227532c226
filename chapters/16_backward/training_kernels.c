#include "16_backward/training_kernels.h"

const TrainingKernels reference_training_kernels = {
    .linear = linear,
    .linear_backward = linear_backward,
    .rms_norm = rms_norm,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .flash_attention_lse = flash_attention_lse,
    .flash_attention_backward = flash_attention_backward,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
};
