#include "12_speed/fast_kernels.h"
#include "12_speed/projection.h"

#define FAST(product)                                                                              \
    {                                                                                              \
        .rms_norm = fast_rms_norm,                                                                 \
        .swiglu = fast_swiglu,                                                                     \
        .rope_half_split = rope_half_split,                                                        \
        .rope_interleaved = rope_interleaved,                                                      \
        .kv_cache_append = kv_cache_append,                                                        \
        .flash_attention = fast_flash_attention,                                                   \
        .linear_tensor = product,                                                                  \
    }

const Kernels fast_kernels = FAST(fast_linear_tensor);
const Kernels bf16_kernels = FAST(linear_tensor_bf16);
const Kernels exact_kernels = FAST(linear_tensor_exact);
const Kernels bf16_exact_kernels = FAST(linear_tensor_bf16_exact);
