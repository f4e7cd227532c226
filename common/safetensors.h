/* safetensors: the file format of Hugging Face checkpoints and of this course's golden values.
 *
 *   8 bytes   N, the header's length, little endian
 *   N bytes   JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …,
 *                    "__metadata__": {"key": "value", …}}
 *   the rest  the tensors' bytes, row-major, little endian, without holes or overlaps
 *
 * The reader trusts nothing: a file that breaks a rule of the format is refused with one line that
 * names the file, the tensor and the reason. Its time is linear in the number of tensors, but for
 * sorting them. Source: https://huggingface.co/docs/safetensors and safetensors/src/tensor.rs. */
#ifndef COMMON_SAFETENSORS_H
#define COMMON_SAFETENSORS_H

#include "common/tensor.h"

typedef struct {
    const char *key, *value;
} Metadata;

typedef struct {
    size_t count;
    const Tensor *tensors; /* in the order of their data in the file; data points into the mapped
                              file, or a copy */
    size_t metadata_count;
    const Metadata *metadata;
    struct SafeTensorsStorage *storage; /* what the pointers above point into */
} SafeTensors;

enum { SAFETENSORS_ERROR = 512 }; /* bytes of an error message */

/* Maps the file read-only. On an error returns false and fills `error`. */
bool safetensors_read(SafeTensors *file, const char *path, char error[static SAFETENSORS_ERROR]);

/* The same for bytes in memory, which must outlive `file`; `name` stands for the path in messages.
 */
bool safetensors_parse(SafeTensors *file, const char *name, const void *bytes, size_t size,
                       char error[static SAFETENSORS_ERROR]);

SafeTensors safetensors_open(const char *path); /* safetensors_read, or fail() */
void safetensors_close(SafeTensors *file);      /* unmaps: every tensor of the file is gone */

const Tensor *safetensors_find(const SafeTensors *file,
                               const char *name); /* NULL if there is none */
const char *safetensors_metadata(const SafeTensors *file,
                                 const char *key); /* NULL if there is none */

/* Writes through output.h: the file at `path` is replaced whole or not at all. The data starts
 * 64-byte aligned (the header is padded with spaces, as the format allows); the tensors keep the
 * order they are given in. */
void safetensors_save(const char *path, size_t count, const Tensor tensors[], size_t metadata_count,
                      const Metadata metadata[]);

#endif
