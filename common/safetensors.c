#include "common/safetensors.h"
#include "common/error.h"
#include "common/file.h"
#include "common/json.h"
#include "common/output.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREFIX = 8,             /* bytes before the header, which hold its length */
    MAX_HEADER = 100000000, /* the reference implementation's limit */
    ALIGNMENT = 64,         /* of the data, in the files that we write */
    SHOWN_PATH = 200,       /* bytes of a file's name in a message */
};

/* The name of a tensor for a message: hostile names may be of any length. */
#define TENSOR "tensor \"%.80s\": "

struct SafeTensorsStorage {
    Tensor *tensors;
    Metadata *metadata;
    const Tensor **by_name; /* the same tensors, in the order of their names */
    json_t *header;         /* tensor name -> what the file says of it; owns the names */
    json_t *values;         /* metadata key -> value; owns both; NULL if the file has none */
    void *mapping;          /* the file, if we mapped it */
    size_t mapping_size;
};

/* The state of reading one file. */
typedef struct {
    const char *name;          /* of the file, in messages */
    char *error;               /* SAFETENSORS_ERROR bytes */
    const unsigned char *data; /* what follows the header */
    size_t data_size;
} Reader;

/* Fills the error and returns false, for `return refuse(…)`. Whatever a hostile file calls its
 * tensors, the message stays one line. */
__attribute__((format(printf, 2, 3))) static bool refuse(const Reader *reader, const char *format,
                                                         ...) {
    size_t length = strlen(reader->name), left_out = length > SHOWN_PATH ? length - SHOWN_PATH : 0;
    int start = snprintf(reader->error, SAFETENSORS_ERROR, "%s: ", reader->name + left_out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error + start, (size_t)(SAFETENSORS_ERROR - start), format, arguments);
    va_end(arguments);
    blank_control_characters(reader->error);
    return false;
}

/* Tells header and data apart, and parses the header's JSON. */
static bool read_header(Reader *reader, struct SafeTensorsStorage *storage,
                        const unsigned char *bytes, size_t size) {
    if (size < PREFIX)
        return refuse(reader, "%zu bytes do not even hold a header's length: fetch the file again",
                      size);

    uint64_t length;
    memcpy(&length, bytes, PREFIX);
    if (length > MAX_HEADER)
        return refuse(reader,
                      "a header of %" PRIu64
                      " bytes, over the limit of %d: is this a safetensors file?",
                      length, MAX_HEADER);
    if (length > size - PREFIX)
        return refuse(reader,
                      "a header of %" PRIu64 " bytes in a file of %zu: truncated, fetch it again",
                      length, size);

    const char *header = (const char *)bytes + PREFIX;
    if (length == 0 || header[0] != '{')
        return refuse(reader, "the header does not start with '{': is this a safetensors file?");

    json_error_t problem;
    storage->header = json_read(header, length, &problem);
    if (!storage->header)
        return refuse(reader, "byte %d: the header is no valid JSON: %s", PREFIX + problem.position,
                      problem.text);

    reader->data = bytes + PREFIX + length;
    reader->data_size = size - PREFIX - length;
    return true;
}

/* Moves "__metadata__" out of the header, so that only tensors remain there. */
static bool read_metadata(const Reader *reader, SafeTensors *file) {
    struct SafeTensorsStorage *storage = file->storage;
    storage->values = json_incref(json_object_get(storage->header, "__metadata__"));
    if (!storage->values) return true;
    if (!json_is_object(storage->values)) return refuse(reader, "__metadata__ is not an object");
    json_object_del(storage->header, "__metadata__");

    const char *key;
    json_t *value;
    storage->metadata = xmalloc(json_object_size(storage->values) * sizeof(Metadata));
    file->metadata = storage->metadata;
    json_object_foreach(storage->values, key, value) {
        if (!json_is_string(value))
            return refuse(reader, "__metadata__ \"%.80s\": its value is not a string", key);
        storage->metadata[file->metadata_count++] = (Metadata){key, json_string_value(value)};
    }
    return true;
}

/* Sets *bytes to what the tensor needs. Zero-sized dimensions are left out of the overflow check's
 * product, so that it holds for every stride too. */
static bool read_shape(const Reader *reader, Tensor *tensor, const json_t *shape, uint64_t *bytes) {
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape))
        return refuse(reader, TENSOR "its shape is not an array", tensor->name);
    if (rank > TENSOR_MAX_RANK)
        return refuse(reader,
                      TENSOR "it has %zu dimensions, more than the %d that this reader takes",
                      tensor->name, rank, TENSOR_MAX_RANK);

    bool empty = false;
    *bytes = dtype_size(tensor->dtype);
    tensor->rank = (int)rank;
    for (size_t d = 0; d < rank; d++) {
        const json_t *dimension = json_array_get(shape, d);
        json_int_t length = json_integer_value(dimension);
        if (!json_is_integer(dimension) || length < 0)
            return refuse(reader, TENSOR "shape[%zu] is not an integer of 0 or more", tensor->name,
                          d);
        tensor->shape[d] = (size_t)length;
        empty = empty || length == 0;
        if ((json_int_t)tensor->shape[d] != length ||
            (length && __builtin_mul_overflow(*bytes, length, bytes)))
            return refuse(reader, TENSOR "the size of its shape overflows", tensor->name);
    }
    if (empty) *bytes = 0;
    return true;
}

static bool read_tensor(const Reader *reader, Tensor *tensor, const char *name, json_t *entry) {
    const char *dtype;
    json_t *shape;
    json_int_t begin, end;
    json_error_t problem;
    *tensor = (Tensor){.name = name};
    if (json_unpack_ex(entry, &problem, JSON_STRICT, "{s:s, s:o, s:[I, I]}", "dtype", &dtype,
                       "shape", &shape, "data_offsets", &begin, &end) != 0)
        return refuse(reader, TENSOR "%s; it should be like %s", name, problem.text,
                      "{\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}");

    if (!dtype_parse(dtype, &tensor->dtype))
        return refuse(reader, TENSOR "this reader does not know its dtype \"%.20s\"", name, dtype);
    if (begin < 0 || begin > end)
        return refuse(reader, TENSOR "its data_offsets [%lld, %lld] are not a range", name, begin,
                      end);
    if ((unsigned long long)end > reader->data_size)
        return refuse(reader,
                      TENSOR "its data end at %lld of %zu: the file is truncated, fetch it again",
                      name, end, reader->data_size);

    uint64_t bytes = 0;
    if (!read_shape(reader, tensor, shape, &bytes)) return false;
    if (bytes != (uint64_t)(end - begin)) {
        char text[SHAPE_TEXT];
        return refuse(reader,
                      TENSOR "%s %s needs %" PRIu64
                             " bytes, but its data_offsets [%lld, %lld] hold %lld",
                      name, dtype, shape_text(text, tensor->rank, tensor->shape), bytes, begin, end,
                      end - begin);
    }
    tensor->data = reader->data + begin;
    return true;
}

/* Tensors of no bytes come before the one that starts at the same place; among themselves, by name.
 */
static int by_position(const void *left, const void *right) {
    const Tensor *a = left, *b = right;
    const char *a_data = a->data, *b_data = b->data;
    size_t a_bytes = tensor_bytes(a), b_bytes = tensor_bytes(b);
    if (a_data != b_data) return a_data < b_data ? -1 : 1;
    if (a_bytes != b_bytes) return a_bytes < b_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_name(const void *left, const void *right) {
    const Tensor *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

/* Every byte of the data belongs to exactly one tensor. */
static bool check_layout(const Reader *reader, const SafeTensors *file) {
    const unsigned char *expected = reader->data;
    for (size_t i = 0; i < file->count; i++) {
        const Tensor *tensor = &file->tensors[i];
        const unsigned char *data = tensor->data;
        if (data < expected)
            return refuse(reader, TENSOR "its data overlap those of \"%.80s\"", tensor->name,
                          tensor[-1].name);
        if (data > expected)
            return refuse(reader, TENSOR "the %td byte(s) before its data belong to no tensor",
                          tensor->name, data - expected);
        expected = data + tensor_bytes(tensor);
    }
    const unsigned char *end = reader->data + reader->data_size;
    if (expected != end)
        return refuse(reader, "the last %td byte(s) belong to no tensor", end - expected);
    return true;
}

static bool read_tensors(const Reader *reader, SafeTensors *file) {
    struct SafeTensorsStorage *storage = file->storage;
    const char *name;
    json_t *entry;
    storage->tensors = xmalloc(json_object_size(storage->header) * sizeof(Tensor));
    file->tensors = storage->tensors;
    json_object_foreach(storage->header, name, entry) {
        if (!read_tensor(reader, &storage->tensors[file->count++], name, entry)) return false;
    }
    qsort(storage->tensors, file->count, sizeof(Tensor), by_position);
    if (!check_layout(reader, file)) return false;

    storage->by_name = xmalloc(file->count * sizeof *storage->by_name);
    for (size_t i = 0; i < file->count; i++) storage->by_name[i] = &file->tensors[i];
    qsort(storage->by_name, file->count, sizeof *storage->by_name, by_name);
    return true;
}

bool safetensors_parse(SafeTensors *file, const char *name, const void *bytes, size_t size,
                       char error[static SAFETENSORS_ERROR]) {
    Reader reader = {.name = name, .error = error};
    *file = (SafeTensors){.storage = xmalloc(sizeof *file->storage)};
    *file->storage = (struct SafeTensorsStorage){0};
    if (read_header(&reader, file->storage, bytes, size) && read_metadata(&reader, file) &&
        read_tensors(&reader, file))
        return true;
    safetensors_close(file);
    return false;
}

bool safetensors_read(SafeTensors *file, const char *path, char error[static SAFETENSORS_ERROR]) {
    Reader reader = {.name = path, .error = error};
    void *bytes;
    size_t size;
    char why[FILE_WHY];
    *file = (SafeTensors){0};
    if (!file_map(path, &bytes, &size, why)) return refuse(&reader, "%s", why);
    if (!safetensors_parse(file, path, bytes, size, error)) {
        file_unmap(bytes, size);
        return false;
    }
    file->storage->mapping = bytes;
    file->storage->mapping_size = size;
    return true;
}

SafeTensors safetensors_open(const char *path) {
    SafeTensors file;
    char error[SAFETENSORS_ERROR];
    if (!safetensors_read(&file, path, error)) fail("%s", error);
    return file;
}

void safetensors_close(SafeTensors *file) {
    struct SafeTensorsStorage *storage = file->storage;
    file_unmap(storage->mapping, storage->mapping_size);
    json_decref(storage->header);
    json_decref(storage->values);
    free(storage->by_name);
    free(storage->tensors);
    free(storage->metadata);
    free(storage);
    *file = (SafeTensors){0};
}

const Tensor *safetensors_find(const SafeTensors *file, const char *name) {
    const struct SafeTensorsStorage *storage = file->storage;
    const Tensor *wanted = &(Tensor){.name = name};
    const Tensor **found =
        bsearch(&wanted, storage->by_name, file->count, sizeof *storage->by_name, by_name);
    return found ? *found : NULL;
}

const char *safetensors_metadata(const SafeTensors *file, const char *key) {
    return json_string_value(json_object_get(file->storage->values, key));
}

/* Writing */

static void add(const char *path, json_t *object, const char *key, json_t *value) {
    if (json_object_get(object, key))
        fail("cannot write %s: it would hold \"%s\" twice", path, key);
    if (json_object_set_new(object, key, value) != 0)
        fail("cannot write %s: \"%s\" is not UTF-8", path, key);
}

static json_t *tensor_entry(const Tensor *tensor, size_t begin, size_t end) {
    json_t *shape = json_array();
    for (int d = 0; d < tensor->rank; d++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name(tensor->dtype), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)end);
}

/* The header as text, to be released by free(). */
static char *header_text(const char *path, size_t count, const Tensor tensors[],
                         size_t metadata_count, const Metadata metadata[]) {
    json_t *header = json_new(), *values = json_new();
    for (size_t i = 0; i < metadata_count; i++)
        add(path, values, metadata[i].key, json_string(metadata[i].value));
    add(path, header, "__metadata__", values);

    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = begin + tensor_bytes(&tensors[i]);
        add(path, header, tensors[i].name, tensor_entry(&tensors[i], begin, end));
        begin = end;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

void safetensors_save(const char *path, size_t count, const Tensor tensors[], size_t metadata_count,
                      const Metadata metadata[]) {
    char *header = header_text(path, count, tensors, metadata_count, metadata);
    size_t unpadded = PREFIX + strlen(header);
    size_t padded = (unpadded + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t length = padded - PREFIX;

    Output output = output_open(path);
    fwrite(&length, PREFIX, 1, output.file);
    fputs(header, output.file);
    fprintf(output.file, "%*s", (int)(padded - unpadded), "");
    for (size_t i = 0; i < count; i++)
        fwrite(tensors[i].data, 1, tensor_bytes(&tensors[i]), output.file);
    output_close(&output);
    free(header);
}
