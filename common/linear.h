/* nn.Linear: the one operation that every layer of a Llama is made of.
 *
 *   y[r][o] = sum over i of x[r][i] weight[o][i]  +  bias[o]
 *
 * The weight is stored as PyTorch stores it, one row an output: [out_features][in_features]. The
 * product of two float32 numbers is exact in a double: a sum in double loses nothing that a float32
 * result could show. */
#ifndef COMMON_LINEAR_H
#define COMMON_LINEAR_H

/* bias may be NULL. y must not overlap the inputs. Source: torch.nn.Linear. */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias);

#endif
