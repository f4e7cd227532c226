/* Broken GGUF files: each is refused with one line, or every pair and every tensor of it can be
 * read. */
#include "common/gguf.h"
#include "tests/hardening/fuzz/caught.h"

static const uint8_t *input;
static size_t input_size;
double sum; /* global, or the compiler could do without reading */

static void read_pair(const GgufPair *pair) {
    const unsigned char *place = pair->bytes;
    for (size_t i = 0; i < pair->count; i++) {
        if (pair->type != GGUF_STRING) sum += gguf_number(pair, i);
        else {
            GgufText text = gguf_text(&place);
            for (size_t c = 0; c < text.length; c++) sum += text.letters[c];
        }
    }
}

static void read_tensor(const GgufTensor *tensor) {
    size_t blocks = 1;
    promise(tensor->rank >= 1 && tensor->rank <= GGUF_MAX_RANK, "the rank is in range",
            tensor->name);
    for (int d = 0; d < tensor->rank; d++) blocks *= tensor->shape[d];
    promise(blocks % gguf_block_numbers(tensor->type) == 0, "whole blocks", tensor->name);
    promise(blocks / gguf_block_numbers(tensor->type) * gguf_block_bytes(tensor->type) ==
                tensor->bytes,
            "the bytes of its blocks", tensor->name);
    for (size_t i = 0; i < tensor->bytes; i++) sum += ((const unsigned char *)tensor->data)[i];
}

static void read_it(void) {
    Gguf file = gguf_parse("x.gguf", input, input_size);
    for (size_t i = 0; i < file.pair_count; i++) {
        promise(gguf_pair(&file, file.pairs[i].key) == &file.pairs[i], "a pair is found by its key",
                file.pairs[i].key);
        read_pair(&file.pairs[i]);
    }
    for (size_t i = 0; i < file.tensor_count; i++) {
        promise(gguf_tensor(&file, file.tensors[i].name) == &file.tensors[i],
                "a tensor is found by its name", file.tensors[i].name);
        read_tensor(&file.tensors[i]);
    }
    gguf_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input = bytes;
    input_size = size;
    attempt(read_it);
    return 0;
}
