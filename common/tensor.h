/* Tensors as the checkpoints store them: a name, an element type, a shape and row-major data.
 * Kernels never see this type: they take C arrays. It is how numbers enter and leave a program. */
#ifndef COMMON_TENSOR_H
#define COMMON_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum { F64, F32, BF16, F16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL, DTYPE_COUNT } DType;

enum { TENSOR_MAX_RANK = 8 };

typedef struct Tensor Tensor;

/* A way for a row of numbers to lie in memory where it is no array of them: in blocks, which share
 * scales. Chapter 13 has them, and says what the functions promise. */
typedef struct {
    const char *name;   /* as GGUF's world spells it: "Q4_0" */
    int type;           /* its number in a GGUF file */
    int numbers, bytes; /* of a block */
    void (*dequantize)(int rows, int n, float out[restrict rows][n], const void *blocks);
    void (*quantize)(int rows, int n, void *blocks,
                     const float x[rows][n]);               /* NULL: it can only be read */
    float (*dot)(int n, const void *weight, const void *x); /* the same */
    /* y = x weight^T, faster than with a weight that is widened to float32; NULL: there is no such
     * way. */
    void (*linear)(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                   const Tensor *weight);
} QuantType;

struct Tensor {
    const char *name;
    DType dtype;
    int rank;                      /* 0 is a scalar */
    size_t shape[TENSOR_MAX_RANK]; /* outermost first; a dimension may be 0 */
    const void *data;              /* not necessarily aligned: read through tensor_get, or copy */
    const QuantType *quant_type;   /* of chapter 13; then dtype means nothing. Mostly NULL */
};

const char *dtype_name(DType dtype); /* as safetensors spells it: "F32", "BF16", … */
size_t dtype_size(DType dtype);      /* bytes an element */
bool dtype_parse(const char *name, DType *dtype);

size_t tensor_count(const Tensor *tensor); /* elements: the product of the shape, 1 for a scalar */
size_t tensor_bytes(const Tensor *tensor);
const char *tensor_type(const Tensor *tensor); /* "BF16", "Q4_0" */
double tensor_get(const Tensor *tensor,
                  size_t index); /* element `index` in row-major order, any type */

/* `count` elements from `first` on as float32; of blocks, whole ones. */
void tensor_dequantize_row(const Tensor *tensor, size_t first, size_t count, float to[]);

/* A new, aligned array of all elements in row-major order. Free it with free(). */
float *tensor_to_float(const Tensor *tensor);
double *tensor_to_double(const Tensor *tensor);

/* "[4, 128]", into a buffer of the caller that is long enough for any shape. */
enum { SHAPE_TEXT = TENSOR_MAX_RANK * (20 + 2) + 2 };
char *shape_text(char text[static SHAPE_TEXT], int rank, const size_t shape[]);

/* Prints what print(tensor) prints in PyTorch with its default print options (precision 4,
 * threshold 1000, edgeitems 3, linewidth 80). Source: torch/_tensor_str.py. */
void tensor_print(FILE *file, const Tensor *tensor);

/* bfloat16 is the upper half of a float32; float16 is IEEE binary16. Both are kept as their bits.
 * Narrowing rounds to nearest, ties to even; overflow gives infinity; a NaN stays a NaN. */
typedef uint16_t bf16;
typedef uint16_t f16;

float bf16_to_float(bf16 bits);
bf16 bf16_from_float(float value);
void bf16_round(int n, float x[n]);       /* each to the nearest that bfloat16 has */
bool bf16_holds(int n, const float x[n]); /* would bf16_round() change none? */
float f16_to_float(f16 bits);
f16 f16_from_float(float value);

#endif
