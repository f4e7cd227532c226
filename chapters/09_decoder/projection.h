/* Chapter 9: a linear layer on the weights as they lie in the file, in F32, BF16, F16 or the blocks
 * of chapter 13, at any address.
 *
 * A token costs every weight once, so decoding is as fast as the weights can be read: half the
 * bytes, twice the speed. They are therefore never converted as a whole. What is here is the plain
 * way; 12_speed has fast_linear_tensor(). */
#ifndef PROJECTION_H
#define PROJECTION_H

#include "common/tensor.h"

/* y[r][o] = sum over i of x[r][i] weight[o][i]: nn.Linear without bias. A long sum is one of
 * several parts, each in double; chapter 12's are float32. weight is [out][in], F32, BF16, F16 or
 * blocks. y must not overlap the inputs. Source: torch.nn.Linear. */
void linear_tensor(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const Tensor *weight);

#endif
