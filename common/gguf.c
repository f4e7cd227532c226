#include "common/gguf.h"
#include "common/error.h"
#include "common/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "GGUF";
enum { MAGIC = sizeof magic - 1 };

enum {
    LEAST_ALIGNMENT = 8,
    MOST_ALIGNMENT = 1 << 16, /* a larger one is a lie */
    MOST_LETTERS = 65535,     /* of a key, as the format has it */
    SMALLEST_PAIR = 8 + 1 + 4 + 1,
    SMALLEST_TENSOR = 8 + 1 + 4 + 8 + 4 + 8,
};

struct GgufStorage {
    GgufPair *pairs;
    GgufTensor *tensors;
    void *mapping; /* the file, if we mapped it */
    size_t mapping_size;
};

/* ------------------------------------------------------------------ types */

static const struct {
    const char *name;
    size_t numbers, bytes; /* of a block; no bytes: this course does not read it */
} types[] = {
    [GGUF_TYPE_F32] = {"F32", 1, 4},
    [GGUF_TYPE_F16] = {"F16", 1, 2},
    [GGUF_TYPE_BF16] = {"BF16", 1, 2},
    [GGUF_TYPE_Q4_0] = {"Q4_0", 32, 18},
    [GGUF_TYPE_Q4_1] = {"Q4_1", 32, 20},
    [GGUF_TYPE_Q5_0] = {"Q5_0", 32, 22},
    [GGUF_TYPE_Q5_1] = {"Q5_1", 32, 24},
    [GGUF_TYPE_Q8_0] = {"Q8_0", 32, 34},
    [GGUF_TYPE_IQ4_NL] = {"IQ4_NL", 32, 18},
    [GGUF_TYPE_Q2_K] = {"Q2_K", 256, 84},
    [GGUF_TYPE_Q3_K] = {"Q3_K", 256, 110},
    [GGUF_TYPE_Q4_K] = {"Q4_K", 256, 144},
    [GGUF_TYPE_Q5_K] = {"Q5_K", 256, 176},
    [GGUF_TYPE_Q6_K] = {"Q6_K", 256, 210},
    [GGUF_TYPE_IQ3_S] = {"IQ3_S", 256, 110},
    [GGUF_TYPE_IQ4_XS] = {"IQ4_XS", 256, 136},
    [GGUF_TYPE_TQ1_0] = {"TQ1_0", 256, 54},
    [GGUF_TYPE_TQ2_0] = {"TQ2_0", 256, 66},
    [9] = {.name = "Q8_1"},
    [15] = {.name = "Q8_K"},
    [16] = {.name = "IQ2_XXS"},
    [17] = {.name = "IQ2_XS"},
    [18] = {.name = "IQ3_XXS"},
    [19] = {.name = "IQ1_S"},
    [22] = {.name = "IQ2_S"},
    [24] = {.name = "I8"},
    [25] = {.name = "I16"},
    [26] = {.name = "I32"},
    [27] = {.name = "I64"},
    [28] = {.name = "F64"},
    [29] = {.name = "IQ1_M"},
    [39] = {.name = "MXFP4"},
};

enum { TYPES = sizeof types / sizeof *types };

const char *gguf_type_name(GgufType type) { return types[type].name; }
size_t gguf_block_numbers(GgufType type) { return types[type].numbers; }
size_t gguf_block_bytes(GgufType type) { return types[type].bytes; }

static const size_t sizes[GGUF_VALUES] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};

size_t gguf_value_bytes(GgufValue type) { return sizes[type]; }

/* ---------------------------------------------------- a header, from its first byte to its last */

typedef struct {
    const char *name; /* of the file */
    const unsigned char *bytes;
    size_t size, at; /* bytes [0, at) are read */
} Reader;

/* The next bytes. Whose they are is said where the file ends before them. */
static const unsigned char *next(Reader *reader, uint64_t size, const char *whose) {
    if (size > reader->size - reader->at)
        fail("%s: byte %zu: the file ends in %.80s: truncated, fetch it again", reader->name,
             reader->at, whose);
    const unsigned char *bytes = reader->bytes + reader->at;
    reader->at += (size_t)size;
    return bytes;
}

static uint32_t next_u32(Reader *reader, const char *whose) {
    uint32_t value;
    memcpy(&value, next(reader, sizeof value, whose), sizeof value);
    return value;
}

static uint64_t next_u64(Reader *reader, const char *whose) {
    uint64_t value;
    memcpy(&value, next(reader, sizeof value, whose), sizeof value);
    return value;
}

/* Reads a count and checks it against the file's size before anything is allocated. */
static size_t next_count(Reader *reader, size_t smallest, const char *of_what) {
    uint64_t count = next_u64(reader, of_what);
    if (count > (reader->size - reader->at) / smallest)
        fail("%s: byte %zu: it counts %" PRIu64
             " %s, more than its %zu bytes can hold: truncated, fetch it again",
             reader->name, reader->at - 8, count, of_what, reader->size);
    return (size_t)count;
}

/* A key or a tensor's name: a copy, with a NUL behind it. */
static const char *next_name(Reader *reader, const char *what) {
    uint64_t length = next_u64(reader, what);
    if (length == 0 || length > MOST_LETTERS)
        fail("%s: byte %zu: %s of %" PRIu64 " letters: it should have 1 to %d", reader->name,
             reader->at - 8, what, length, MOST_LETTERS);
    const unsigned char *letters = next(reader, length, what);
    if (memchr(letters, 0, (size_t)length))
        fail("%s: byte %zu: a NUL in %s", reader->name, reader->at - (size_t)length, what);
    return xstrndup((const char *)letters, (size_t)length);
}

static void check_version(Reader *reader) {
    if (memcmp(next(reader, MAGIC, "its first four letters"), magic, MAGIC) != 0)
        fail("%s: it does not begin with GGUF: is this a GGUF file?", reader->name);
    uint32_t version = next_u32(reader, "its version");
    if (version == 2 || version == 3) return;
    if (version && !(version & 0xffff))
        fail("%s: a big-endian GGUF file: fetch or write the little-endian one", reader->name);
    fail("%s: version %" PRIu32 " of GGUF: this reader takes 2 and 3; convert it again",
         reader->name, version);
}

/* ------------------------------------------------------------------ pairs */

static void check_strings(Reader *reader, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++) next(reader, next_u64(reader, key), key);
}

static void read_pair(Reader *reader, GgufPair *pair) {
    const char *key = next_name(reader, "a key");
    uint32_t type = next_u32(reader, key);
    *pair = (GgufPair){.key = key, .is_array = type == GGUF_ARRAY, .count = 1};
    if (pair->is_array) type = next_u32(reader, key);
    if (pair->is_array && type == GGUF_ARRAY)
        fail("%s: \"%.80s\": an array of arrays, which no Llama needs", reader->name, key);
    if (type >= GGUF_VALUES)
        fail("%s: \"%.80s\": a value of type %" PRIu32 ", which the format does not have",
             reader->name, key, type);
    pair->type = (GgufValue)type;
    if (pair->is_array)
        pair->count = next_count(reader, sizes[type] ? sizes[type] : 8, "elements of an array");
    pair->bytes = reader->bytes + reader->at;
    if (type == GGUF_STRING) check_strings(reader, pair->count, key);
    else next(reader, (uint64_t)pair->count * sizes[type], key);
    for (size_t i = 0; type == GGUF_BOOL && i < pair->count; i++)
        if (pair->bytes[i] > 1)
            fail("%s: \"%.80s\": %d is neither true nor false", reader->name, key, pair->bytes[i]);
}

static int by_key(const void *left, const void *right) {
    return strcmp(((const GgufPair *)left)->key, ((const GgufPair *)right)->key);
}

static void read_pairs(Reader *reader, Gguf *file) {
    GgufPair *pairs = file->storage->pairs;
    for (size_t i = 0; i < file->pair_count; i++) read_pair(reader, &pairs[i]);
    qsort(pairs, file->pair_count, sizeof *pairs, by_key);
    for (size_t i = 1; i < file->pair_count; i++)
        if (by_key(&pairs[i - 1], &pairs[i]) == 0)
            fail("%s: it has the key \"%.80s\" twice", reader->name, pairs[i].key);
}

static size_t alignment(const Gguf *file) {
    const GgufPair *pair = gguf_pair(file, "general.alignment");
    if (!pair) return GGUF_ALIGNMENT;
    double value = pair->type == GGUF_U32 && !pair->is_array ? gguf_number(pair, 0) : 0;
    if (value < LEAST_ALIGNMENT || value > MOST_ALIGNMENT ||
        (uint32_t)value & ((uint32_t)value - 1))
        fail("%s: general.alignment must be a power of two from %d to %d, as a u32", file->name,
             LEAST_ALIGNMENT, MOST_ALIGNMENT);
    return (size_t)value;
}

/* ------------------------------------------------------------------ tensors */

/* The lengths are multiplied in 64 bits, and each product is checked. */
static void read_shape(Reader *reader, GgufTensor *tensor) {
    uint32_t rank = next_u32(reader, tensor->name);
    if (rank < 1 || rank > GGUF_MAX_RANK)
        fail("%s: tensor \"%.80s\": it has %" PRIu32 " dimensions: the format has 1 to %d",
             reader->name, tensor->name, rank, GGUF_MAX_RANK);
    tensor->rank = (int)rank;
    uint64_t count = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        uint64_t length = next_u64(reader, tensor->name);
        if (length == 0) fail("%s: tensor \"%.80s\": a dimension is 0", reader->name, tensor->name);
        if (length > SIZE_MAX || __builtin_mul_overflow(count, length, &count) ||
            count > INT64_MAX / 8)
            fail("%s: tensor \"%.80s\": the size of its shape overflows", reader->name,
                 tensor->name);
        tensor->shape[d] = (size_t)length;
    }
}

static void read_type(Reader *reader, GgufTensor *tensor) {
    uint32_t type = next_u32(reader, tensor->name);
    if (type >= TYPES || !types[type].name)
        fail("%s: tensor \"%.80s\": its type is number %" PRIu32
             ", which this reader does not know",
             reader->name, tensor->name, type);
    if (!types[type].bytes)
        fail("%s: tensor \"%.80s\": %s is not read here: fetch the model as Q4_K_M, Q8_0 or F16",
             reader->name, tensor->name, types[type].name);
    tensor->type = (GgufType)type;
    size_t width = tensor->shape[tensor->rank - 1], block = types[type].numbers;
    if (width % block)
        fail("%s: tensor \"%.80s\": rows of %zu numbers are no multiple of %s's block of %zu",
             reader->name, tensor->name, width, types[type].name, block);
    uint64_t blocks = width / block;
    for (int d = 0; d + 1 < tensor->rank; d++) blocks *= tensor->shape[d];
    if (blocks > SIZE_MAX / types[type].bytes)
        fail("%s: tensor \"%.80s\": it has more bytes than there are addresses", reader->name,
             tensor->name);
    tensor->bytes = (size_t)blocks * types[type].bytes;
}

/* Its offset is kept until it is known where the data begin. */
static void read_tensor(Reader *reader, GgufTensor *tensor, uint64_t *offset) {
    *tensor = (GgufTensor){.name = next_name(reader, "a tensor's name")};
    read_shape(reader, tensor);
    read_type(reader, tensor);
    *offset = next_u64(reader, tensor->name);
}

size_t gguf_padded(size_t size, size_t to) { return (size + to - 1) / to * to; }

/* In the file, where nothing else lies. */
static void place_tensor(const Reader *reader, GgufTensor *tensor, size_t data, uint64_t offset,
                         size_t step) {
    if (offset % step)
        fail("%s: tensor \"%.80s\": its offset %" PRIu64 " is no multiple of the alignment, %zu",
             reader->name, tensor->name, offset, step);
    if (data > reader->size || offset > reader->size - data ||
        tensor->bytes > reader->size - data - offset)
        fail("%s: tensor \"%.80s\": its data end at %.0f of %zu: the file is truncated, fetch it "
             "again",
             reader->name, tensor->name, (double)data + (double)offset + (double)tensor->bytes,
             reader->size); /* no sum overflows */
    tensor->data = reader->bytes + data + offset;
}

static int by_place(const void *left, const void *right) {
    const GgufTensor *a = left, *b = right;
    return (a->data > b->data) - (a->data < b->data);
}

static int by_name(const void *left, const void *right) {
    return strcmp(((const GgufTensor *)left)->name, ((const GgufTensor *)right)->name);
}

/* Each begins where the one before it ends, padded: what nobody reads in between would be a length
 * or a type that was changed. */
static void check_layout(const Reader *reader, size_t count, GgufTensor *tensors, size_t data,
                         size_t step) {
    qsort(tensors, count, sizeof *tensors, by_place);
    for (size_t i = 0; i < count; i++) {
        size_t place = (size_t)((const unsigned char *)tensors[i].data - reader->bytes);
        if (place < data)
            fail("%s: tensor \"%.80s\": its data overlap those of \"%.80s\"", reader->name,
                 tensors[i].name, tensors[i - 1].name);
        if (place > data)
            fail("%s: tensor \"%.80s\": the %zu bytes before its data belong to no tensor",
                 reader->name, tensors[i].name, place - data);
        data = gguf_padded(place + tensors[i].bytes, step);
    }
    if (data < reader->size)
        fail("%s: the last %zu bytes belong to no tensor", reader->name, reader->size - data);
}

static void read_tensors(Reader *reader, Gguf *file) {
    GgufTensor *tensors = file->storage->tensors;
    size_t count = file->tensor_count;
    uint64_t *offsets = xmalloc(size_mul(count, sizeof *offsets));
    for (size_t i = 0; i < count; i++) read_tensor(reader, &tensors[i], &offsets[i]);
    size_t step = alignment(file), data = gguf_padded(reader->at, step);
    for (size_t i = 0; i < count; i++) place_tensor(reader, &tensors[i], data, offsets[i], step);
    free(offsets);
    check_layout(reader, count, tensors, data, step);
    qsort(tensors, count, sizeof *tensors, by_name);
    for (size_t i = 1; i < count; i++)
        if (by_name(&tensors[i - 1], &tensors[i]) == 0)
            fail("%s: it has the tensor \"%.80s\" twice", reader->name, tensors[i].name);
}

/* ------------------------------------------------------------------ the file */

Gguf gguf_parse(const char *name, const void *bytes, size_t size) {
    Reader reader = {name, bytes, size, 0};
    check_version(&reader);
    Gguf file = {.name = name, .storage = xmalloc(sizeof *file.storage)};
    file.tensor_count = next_count(&reader, SMALLEST_TENSOR, "tensors");
    file.pair_count = next_count(&reader, SMALLEST_PAIR, "pairs");
    *file.storage =
        (struct GgufStorage){.pairs = xmalloc(size_mul(file.pair_count, sizeof *file.pairs)),
                             .tensors = xmalloc(size_mul(file.tensor_count, sizeof *file.tensors))};
    file.pairs = file.storage->pairs;
    file.tensors = file.storage->tensors;
    read_pairs(&reader, &file);
    read_tensors(&reader, &file);
    return file;
}

bool gguf_is(const char *path) { return file_has(path, 0, magic); }

Gguf gguf_open(const char *path) {
    void *bytes;
    size_t size;
    char why[FILE_WHY];
    if (!file_map(path, &bytes, &size, why)) fail("%s: %s", path, why);
    Gguf file = gguf_parse(path, bytes, size);
    file.storage->mapping = bytes;
    file.storage->mapping_size = size;
    return file;
}

void gguf_close(Gguf *file) {
    struct GgufStorage *storage = file->storage;
    file_unmap(storage->mapping, storage->mapping_size);
    for (size_t i = 0; i < file->pair_count; i++) free((char *)storage->pairs[i].key);
    for (size_t i = 0; i < file->tensor_count; i++) free((char *)storage->tensors[i].name);
    free(storage->pairs);
    free(storage->tensors);
    free(storage);
    *file = (Gguf){0};
}

const GgufPair *gguf_pair(const Gguf *file, const char *key) {
    const GgufPair wanted = {.key = key};
    return bsearch(&wanted, file->pairs, file->pair_count, sizeof wanted, by_key);
}

const GgufTensor *gguf_tensor(const Gguf *file, const char *name) {
    const GgufTensor wanted = {.name = name};
    return bsearch(&wanted, file->tensors, file->tensor_count, sizeof wanted, by_name);
}

double gguf_number(const GgufPair *pair, size_t index) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        float f32;
        uint64_t u64;
        int64_t i64;
        double f64;
    } value;
    size_t size = sizes[pair->type];
    memcpy(&value, pair->bytes + index * size, size);
    switch (pair->type) {
    case GGUF_U8:
    case GGUF_BOOL: return value.u8;
    case GGUF_I8: return value.i8;
    case GGUF_U16: return value.u16;
    case GGUF_I16: return value.i16;
    case GGUF_U32: return value.u32;
    case GGUF_I32: return value.i32;
    case GGUF_F32: return value.f32;
    case GGUF_U64: return (double)value.u64;
    case GGUF_I64: return (double)value.i64;
    default: return value.f64;
    }
}

GgufText gguf_text(const unsigned char **place) {
    uint64_t length;
    memcpy(&length, *place, sizeof length);
    GgufText text = {(size_t)length, (const char *)*place + sizeof length};
    *place += sizeof length + length;
    return text;
}
