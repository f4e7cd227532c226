#include "common/gguf.h"
#include "common/error.h"
#include "common/output.h"

#include <stdlib.h>
#include <string.h>

/* The end of a pair's value. */
static const unsigned char *end_of(const GgufPair *pair) {
    const unsigned char *end = pair->bytes + pair->count * gguf_value_bytes(pair->type);
    for (size_t i = 0; pair->type == GGUF_STRING && i < pair->count; i++) gguf_text(&end);
    return end;
}

/* ------------------------------------------------------------------ pairs, collected */

static unsigned char *add(GgufPairs *pairs, const char *key, GgufValue type, bool is_array,
                          size_t count, size_t size) {
    unsigned char *bytes = xmalloc(size);
    pairs->pairs = xrealloc(pairs->pairs, (pairs->count + 1) * sizeof *pairs->pairs);
    pairs->pairs[pairs->count++] =
        (GgufPair){xstrndup(key, strlen(key)), type, is_array, count, bytes};
    return bytes;
}

void gguf_add_u32s(GgufPairs *pairs, const char *key, GgufValue type, size_t count,
                   const uint32_t values[]) {
    size_t size = count * sizeof *values;
    memcpy(add(pairs, key, type, true, count, size), values, size);
}

void gguf_add_u32(GgufPairs *pairs, const char *key, uint32_t value) {
    memcpy(add(pairs, key, GGUF_U32, false, 1, sizeof value), &value, sizeof value);
}

void gguf_add_f32(GgufPairs *pairs, const char *key, float value) {
    memcpy(add(pairs, key, GGUF_F32, false, 1, sizeof value), &value, sizeof value);
}

void gguf_add_bool(GgufPairs *pairs, const char *key, bool value) {
    *add(pairs, key, GGUF_BOOL, false, 1, 1) = value;
}

static void add_texts(GgufPairs *pairs, const char *key, bool is_array, size_t count,
                      const GgufText texts[]) {
    size_t size = 0;
    for (size_t i = 0; i < count; i++) size += sizeof(uint64_t) + texts[i].length;
    unsigned char *to = add(pairs, key, GGUF_STRING, is_array, count, size);
    for (size_t i = 0; i < count; to += sizeof(uint64_t) + texts[i++].length) {
        memcpy(to, &(uint64_t){texts[i].length}, sizeof(uint64_t));
        memcpy(to + sizeof(uint64_t), texts[i].letters, texts[i].length);
    }
}

void gguf_add_texts(GgufPairs *pairs, const char *key, size_t count, const GgufText texts[]) {
    add_texts(pairs, key, true, count, texts);
}

void gguf_add_text(GgufPairs *pairs, const char *key, const char *text) {
    add_texts(pairs, key, false, 1, &(GgufText){strlen(text), text});
}

void gguf_add_copy(GgufPairs *pairs, const GgufPair *pair) {
    size_t size = (size_t)(end_of(pair) - pair->bytes);
    memcpy(add(pairs, pair->key, pair->type, pair->is_array, pair->count, size), pair->bytes, size);
}

void gguf_pairs_free(GgufPairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) {
        free((char *)pairs->pairs[i].key);
        free((unsigned char *)pairs->pairs[i].bytes);
    }
    free(pairs->pairs);
    *pairs = (GgufPairs){0};
}

/* ---------------------------------------------------- the file, from its first byte to its last */

static void put_u32(FILE *file, uint32_t value) { fwrite(&value, sizeof value, 1, file); }

static void put_u64(FILE *file, uint64_t value) { fwrite(&value, sizeof value, 1, file); }

static void put_name(FILE *file, const char *name) {
    put_u64(file, strlen(name));
    fputs(name, file);
}

static void put_pair(FILE *file, const GgufPair *pair) {
    const unsigned char *end = end_of(pair);
    put_name(file, pair->key);
    if (pair->is_array) put_u32(file, GGUF_ARRAY);
    put_u32(file, pair->type);
    if (pair->is_array) put_u64(file, pair->count);
    fwrite(pair->bytes, 1, (size_t)(end - pair->bytes), file);
}

static void put_tensor(FILE *file, const GgufTensor *tensor, size_t offset) {
    put_name(file, tensor->name);
    put_u32(file, (uint32_t)tensor->rank);
    for (int d = tensor->rank - 1; d >= 0; d--) put_u64(file, tensor->shape[d]);
    put_u32(file, tensor->type);
    put_u64(file, offset);
}

static void put_padding(FILE *file, size_t size) {
    for (size_t at = size; at < gguf_padded(size, GGUF_ALIGNMENT); at++) fputc(0, file);
}

static void put_data(FILE *file, const GgufTensor *tensor, size_t index, GgufFill *fill,
                     void *context) {
    void *made = tensor->data ? NULL : xmalloc(tensor->bytes);
    if (made) fill(context, index, made);
    fwrite(made ? made : tensor->data, 1, tensor->bytes, file);
    free(made);
    put_padding(file, tensor->bytes);
}

void gguf_save(const char *path, size_t pair_count, const GgufPair *pairs, size_t tensor_count,
               const GgufTensor *tensors, GgufFill *fill, void *context) {
    Output output = output_open(path);
    size_t offset = 0;
    fputs("GGUF", output.file);
    put_u32(output.file, 3);
    put_u64(output.file, tensor_count);
    put_u64(output.file, pair_count);
    for (size_t i = 0; i < pair_count; i++) put_pair(output.file, &pairs[i]);
    for (size_t i = 0; i < tensor_count; offset += gguf_padded(tensors[i++].bytes, GGUF_ALIGNMENT))
        put_tensor(output.file, &tensors[i], offset);
    long header = ftell(output.file);
    if (header < 0) fail("cannot write %s: it must be a file", path);
    put_padding(output.file, (size_t)header);
    for (size_t i = 0; i < tensor_count; i++) put_data(output.file, &tensors[i], i, fill, context);
    output_close(&output);
}
