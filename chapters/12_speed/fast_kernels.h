/* Chapter 12: the kernels of earlier chapters as fast as this course can make them. Their contracts are those of the
 * reference kernels. */
#ifndef FAST_KERNELS_H
#define FAST_KERNELS_H

#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"

__typeof__(rms_norm) fast_rms_norm;
__typeof__(swiglu) fast_swiglu;

#endif
