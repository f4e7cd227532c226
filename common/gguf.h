/* GGUF: the file format of llama.cpp, a whole model in one file: what it is, its tokenizer and its
 * weights.
 *
 *   "GGUF"      version (u32), how many tensors (u64), how many pairs (u64)
 *   pairs       key, type of the value (u32), value; a string is its length (u64) and its letters,
 *               an array the type of its elements (u32), their count (u64) and the elements
 *   tensors     name, rank (u32), that many lengths (u64 each, innermost first), type (u32), offset
 * (u64) padding     up to a multiple of general.alignment, or of 32 data        each tensor at its
 * offset, a multiple of the alignment; everything is little endian
 *
 * Weights are numbers, or blocks of 32 or 256 numbers that share scales. The reader trusts nothing:
 * a file that breaks a rule of the format is refused with one line that names the file, the tensor
 * or key, and the reason. Its time is linear in the file's header, but for sorting keys and tensors
 * by name. It reads versions 2 and 3. Source: docs/gguf.md of ggml, and gguf.cpp there. */
#ifndef COMMON_GGUF_H
#define COMMON_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pair's type, by the file's own numbers. */
typedef enum {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_VALUES
} GgufValue;

typedef struct {
    const char *key;
    GgufValue type; /* of the value, or of each element of the array */
    bool is_array;
    size_t count; /* of elements; 1 if it is no array */
    const unsigned char
        *bytes; /* in the file, not aligned: read them through gguf_number and gguf_text */
} GgufPair;

/* A tensor's type, by the file's own numbers. What has no name here is refused. */
typedef enum {
    GGUF_TYPE_F32 = 0,
    GGUF_TYPE_F16 = 1,
    GGUF_TYPE_Q4_0 = 2,
    GGUF_TYPE_Q4_1 = 3,
    GGUF_TYPE_Q5_0 = 6,
    GGUF_TYPE_Q5_1 = 7,
    GGUF_TYPE_Q8_0 = 8,
    GGUF_TYPE_Q2_K = 10,
    GGUF_TYPE_Q3_K = 11,
    GGUF_TYPE_Q4_K = 12,
    GGUF_TYPE_Q5_K = 13,
    GGUF_TYPE_Q6_K = 14,
    GGUF_TYPE_IQ4_NL = 20,
    GGUF_TYPE_IQ3_S = 21,
    GGUF_TYPE_IQ4_XS = 23,
    GGUF_TYPE_BF16 = 30,
    GGUF_TYPE_TQ1_0 = 34,
    GGUF_TYPE_TQ2_0 = 35
} GgufType;

enum { GGUF_MAX_RANK = 4, GGUF_ALIGNMENT = 32 /* where the file does not say another */ };

typedef struct {
    const char *name;
    GgufType type;
    int rank;                    /* 1 or more */
    size_t shape[GGUF_MAX_RANK]; /* outermost first, as everywhere in this course; the last, a
                                    multiple of the block */
    const void *data;            /* aligned as the file is, at most to a page */
    size_t bytes;
} GgufTensor;

typedef struct {
    const char *name; /* of the file */
    size_t pair_count, tensor_count;
    const GgufPair *pairs;     /* by their keys */
    const GgufTensor *tensors; /* by their names */
    struct GgufStorage *storage;
} Gguf;

const char *gguf_type_name(GgufType type); /* "Q4_0", as llama.cpp spells it */
size_t gguf_block_numbers(GgufType type);  /* numbers in a block: 1, 32 or 256 */
size_t gguf_block_bytes(GgufType type);
size_t gguf_value_bytes(GgufValue type);    /* of a number in a pair; 0 for a string and an array */
size_t gguf_padded(size_t size, size_t to); /* up to a multiple */

bool gguf_is(const char *path); /* does the file begin with GGUF? */

/* Maps the file, or fail(). */
Gguf gguf_open(const char *path);
/* The same for bytes in memory, which must outlive the result; `name` stands for the path in
 * messages. */
Gguf gguf_parse(const char *name, const void *bytes, size_t size);
void gguf_close(Gguf *file); /* every tensor and pair of the file is gone */

const GgufPair *gguf_pair(const Gguf *file, const char *key);      /* NULL if there is none */
const GgufTensor *gguf_tensor(const Gguf *file, const char *name); /* NULL if there is none */

/* Element `index` of a pair of numbers or bools (true is 1). */
double gguf_number(const GgufPair *pair, size_t index);

/* The strings of a pair one after the other: *place is pair->bytes at first, and behind the string
 * then. */
typedef struct {
    size_t length;
    const char *letters; /* no NUL follows them */
} GgufText;

GgufText gguf_text(const unsigned char **place);

/* ---- writing */

/* Pairs that are to be written, collected. They own their bytes. */
typedef struct GgufPairs {
    size_t count;
    GgufPair *pairs;
} GgufPairs;

void gguf_add_u32(GgufPairs *pairs, const char *key, uint32_t value);
void gguf_add_f32(GgufPairs *pairs, const char *key, float value);
void gguf_add_bool(GgufPairs *pairs, const char *key, bool value);
void gguf_add_text(GgufPairs *pairs, const char *key, const char *text);
/* `values` may be the bits of I32 or F32, too. */
void gguf_add_u32s(GgufPairs *pairs, const char *key, GgufValue type, size_t count,
                   const uint32_t values[]);
void gguf_add_texts(GgufPairs *pairs, const char *key, size_t count, const GgufText texts[]);
void gguf_add_copy(GgufPairs *pairs, const GgufPair *pair);
void gguf_pairs_free(GgufPairs *pairs);

/* Makes the data of tensor `index`, bytes[tensor.bytes], numbers in this machine's byte order. */
typedef void GgufFill(void *context, size_t index, void *bytes);

/* Writes version 3 through output.h: the file at `path` is replaced whole or not at all. Pairs and
 * tensors keep the order they are given in; the data are aligned to 32 bytes. Data that a tensor
 * does not have (NULL) fill() makes when they are due, so that a model need not fit into memory. */
void gguf_save(const char *path, size_t pair_count, const GgufPair *pairs, size_t tensor_count,
               const GgufTensor *tensors, GgufFill *fill, void *context);

#endif
