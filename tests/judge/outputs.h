/* Outputs that were computed elsewhere: by CUDA, Triton, Rust, NumPy. A safetensors file holds one
 * tensor a case, named as the case is; a NumPy .npy file holds the output of one case. The two are
 * told apart by content. */
#ifndef VERIFY_OUTPUTS_H
#define VERIFY_OUTPUTS_H

#include "common/golden.h"

typedef struct {
    SafeTensors file; /* count 0 for a .npy file */
    Tensor single;    /* the .npy file's array; without a name otherwise */
    void *bytes;
} Outputs;

Outputs outputs_open(const char *path); /* "-" is stdin; or fail() */
void outputs_close(Outputs *outputs);

/* Writes the inputs of every case as case/name, and nothing that gives the answers away. */
void export_inputs(const Golden *golden, const char *path);

#endif
