#include "tests/judge/outputs.h"
#include "common/error.h"
#include "common/file.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ .npy, format 1.0 to 3.0 */

/* Source: numpy/lib/format.py. "\x93NUMPY", major, minor, the header's length, then a Python
 * dictionary such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. */
static const char npy_magic[] = "\x93NUMPY";

/* numpy.savez's .npz and torch.save's .pt are zip files. */
static bool is_zip(const char *bytes, size_t size) {
    return size >= 4 && memcmp(bytes, "PK\x03\x04", 4) == 0;
}

static bool is_npy(const char *bytes, size_t size) {
    return size >= 10 && memcmp(bytes, npy_magic, 6) == 0;
}

/* The text after 'key': in the header, or fail(). */
static const char *npy_value(const char *header, const char *key, const char *path) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *found = strstr(header, quoted);
    if (!found) fail("%s: this .npy file's header has no %s", path, key);
    found += strlen(quoted);
    return found + strspn(found, " ");
}

static DType npy_dtype(const char *text, const char *path) {
    static const struct {
        const char *descr;
        DType dtype;
    } known[] = {{"'<f4'", F32}, {"'<f8'", F64}, {"'<f2'", F16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(text, known[i].descr, 5) == 0) return known[i].dtype;
    fail("%s: this .npy file's elements are %.5s: save float32 ('<f4'), or a safetensors file for "
         "bfloat16",
         path, text);
}

static Tensor npy_parse(const char *path, char *bytes, size_t size) {
    const unsigned char *u = (const unsigned char *)bytes;
    bool long_header = u[6] >= 2; /* from version 2 on, the header's length has four bytes */
    size_t start = long_header ? 12 : 10, length = u[8] | u[9] << 8;
    if (long_header && size >= 12) length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (size < start || length > size - start)
        fail("%s: this .npy file ends within its header", path);
    char *header = xstrndup(bytes + start, length);

    Tensor tensor = {.name = "npy", .dtype = npy_dtype(npy_value(header, "descr", path), path)};
    if (strncmp(npy_value(header, "fortran_order", path), "False", 5) != 0)
        fail("%s: this .npy file is in Fortran order: save numpy.ascontiguousarray(x)", path);
    const char *shape = npy_value(header, "shape", path);
    if (*shape++ != '(') fail("%s: this .npy file's shape cannot be read", path);
    size_t count = 1;
    for (char *end; tensor.rank < TENSOR_MAX_RANK; shape = end + strspn(end, ", ")) {
        unsigned long extent = strtoul(shape, &end, 10);
        if (end == shape) break;
        if (extent > size || count * extent > size)
            fail("%s: this .npy file's shape is larger than the file", path);
        count *= tensor.shape[tensor.rank++] = extent;
    }
    if (*shape != ')') fail("%s: this .npy file's shape cannot be read", path);
    free(header);
    tensor.data = bytes + start + length;
    if (size - start - length != tensor_bytes(&tensor))
        fail("%s: this .npy file holds %zu bytes of data, its header says %zu", path,
             size - start - length, tensor_bytes(&tensor));
    return tensor;
}

/* ------------------------------------------------------------------ either */

Outputs outputs_open(const char *path) {
    size_t size;
    char error[SAFETENSORS_ERROR], *bytes = file_read(path, &size);
    Outputs outputs = {.bytes = bytes};
    if (is_zip(bytes, size))
        fail("%s: it is a zip file, such as .npz or .pt: save all cases as safetensors, or one as "
             ".npy",
             path);
    if (is_npy(bytes, size)) outputs.single = npy_parse(path, bytes, size);
    else if (!safetensors_parse(&outputs.file, path, bytes, size, error)) fail("%s", error);
    return outputs;
}

void outputs_close(Outputs *outputs) {
    if (!outputs->single.name) safetensors_close(&outputs->file);
    free(outputs->bytes);
    *outputs = (Outputs){0};
}

void export_inputs(const Golden *golden, const char *path) {
    size_t count = 0;
    for (int c = 0; c < golden->count; c++) count += (size_t)golden->cases[c].input_count;
    Tensor *inputs = xmalloc(count * sizeof *inputs), *next = inputs;
    for (int c = 0; c < golden->count; c++)
        for (int i = 0; i < golden->cases[c].input_count; i++, next++) {
            *next = golden->cases[c].input[i];
            size_t length = strlen(golden->cases[c].name) + 1 + strlen(next->name) + 1;
            char *name = xmalloc(length);
            snprintf(name, length, "%s/%s", golden->cases[c].name, next->name);
            next->name = name;
        }
    Metadata about[] = {
        {"kernel", golden->kernel},
        {"answer", "save one tensor a case, named as the case is, in a safetensors file"}};
    safetensors_save(path, count, inputs, 2, about);
    while (next > inputs) free((char *)(--next)->name);
    free(inputs);
}
