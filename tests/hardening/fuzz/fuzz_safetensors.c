/* Broken files for the safetensors reader: it must refuse them, or keep its promises. */
#include "common/safetensors.h"
#include "tests/hardening/fuzz/fuzz.h"

/* Reads every element, so that the sanitizers see one that lies outside. The sum is global, or the
 * compiler could do without. */
double sum;
static void read_elements(const Tensor *tensor) {
    for (size_t i = 0; i < tensor_count(tensor); i++) sum += tensor_get(tensor, i);
}

static void check_accepted(const SafeTensors *file, const uint8_t *bytes, size_t size) {
    uint64_t header = 0;
    for (int i = 0; i < 8; i++) header |= (uint64_t)bytes[i] << 8 * i;
    const uint8_t *expected = bytes + sizeof header + header;

    for (size_t i = 0; i < file->count; i++) {
        const Tensor *tensor = &file->tensors[i];
        promise(tensor->data == expected, "the tensors' bytes follow each other", "");
        promise(tensor->rank >= 0 && tensor->rank <= TENSOR_MAX_RANK, "the rank is in range", "");
        promise(safetensors_find(file, tensor->name) == tensor, "every tensor is found by its name",
                "");
        read_elements(tensor);
        expected += tensor_bytes(tensor);
    }
    promise(expected == bytes + size, "every byte belongs to a tensor", "");
    for (size_t i = 0; i < file->metadata_count; i++)
        promise(safetensors_metadata(file, file->metadata[i].key) == file->metadata[i].value,
                "metadata is found", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    SafeTensors file;
    char error[SAFETENSORS_ERROR];
    if (safetensors_parse(&file, "fuzz", bytes, size, error)) {
        check_accepted(&file, bytes, size);
        safetensors_close(&file);
    } else {
        promise(error[0] && strlen(error) < SAFETENSORS_ERROR, "a refusal says why", "");
        for (const char *c = error; *c; c++)
            promise((unsigned char)*c >= ' ' && *c != 127, "it is one line", "");
    }
    return 0;
}
