/* The kernels that a decoder is made of. Where an operation can be computed in two ways, each way
 * has a name of its own, and a table of kernels chooses: reference_kernels holds those of the
 * lessons. */
#ifndef KERNELS_H
#define KERNELS_H

#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "05_rope/rope.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "09_decoder/projection.h"

/* Each member has the contract of the function that it is named after. */
typedef struct Kernels {
    __typeof__(rms_norm) *rms_norm;
    __typeof__(swiglu) *swiglu;
    __typeof__(rope_half_split) *rope_half_split, *rope_interleaved;
    __typeof__(kv_cache_append) *kv_cache_append;
    __typeof__(flash_attention) *flash_attention;
    __typeof__(linear_tensor) *linear_tensor;
} Kernels;

extern const Kernels reference_kernels; /* the kernels of the lessons */

#endif
