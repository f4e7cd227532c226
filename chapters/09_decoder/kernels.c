#include "09_decoder/kernels.h"

const Kernels reference_kernels = {
    .rms_norm = rms_norm,
    .swiglu = swiglu,
    .rope_half_split = rope_half_split,
    .rope_interleaved = rope_interleaved,
    .kv_cache_append = kv_cache_append,
    .flash_attention = flash_attention,
    .linear_tensor = linear_tensor,
};
