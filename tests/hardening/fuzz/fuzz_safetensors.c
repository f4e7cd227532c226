/* Broken files for the safetensors reader: it must refuse them, or keep its promises. Where there is no libFuzzer,
 * main() below chooses the bytes (cc -DMUTATE …; fuzz_safetensors SECONDS). */
#include "common/safetensors.h"
#include "tests/hardening/fuzz/fuzz.h"

/* Reads every element, so that the sanitizers see one that lies outside. The sum is global, or the compiler
 * could do without. */
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
        promise(safetensors_find(file, tensor->name) == tensor, "every tensor is found by its name", "");
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
        for (const char *c = error; *c; c++) promise((unsigned char)*c >= ' ' && *c != 127, "it is one line", "");
    }
    return 0;
}

#ifdef MUTATE

#include <time.h>

enum { MAX_SIZE = 1024 };

typedef struct {
    uint8_t bytes[MAX_SIZE];
    size_t size;
} Input;

/* Well-formed headers, and how many bytes of data each describes. */
static const struct {
    const char *header;
    size_t data;
} seeds[] = {
    {"{}", 0},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}", 24},
    {"{\"__metadata__\":{\"k\":\"v\"},\"s\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8},
    {"{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"BOOL\",\"shape\":[1,1],\"data_offsets\":[4,5]},"
     "\"c\":{\"dtype\":\"I64\",\"shape\":[0,9],\"data_offsets\":[5,5]}}",
     5},
};

/* What a mutation puts in the place of a few bytes. */
static const char *const words[] = {
    "",
    "0",
    "1",
    "-1",
    "9",
    "1.0",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "null",
    "true",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\n",
    "\xff",
    "\"a\"",
    "\"b\"",
    "\"F16\"",
    "\"U8\"",
    "\"F8_E5M2\"",
    "\"shape\"",
    "\"dtype\"",
    " ",
    "\"data_offsets\"",
    "\"__metadata__\"",
};

static size_t below(size_t limit) { return (size_t)rand() % limit; }

static Input pick_seed(void) {
    size_t seed = below(sizeof seeds / sizeof *seeds);
    uint64_t header = strlen(seeds[seed].header);
    Input input = {.size = 8 + header + seeds[seed].data};
    memcpy(input.bytes, &header, 8);
    memcpy(input.bytes + 8, seeds[seed].header, header);
    return input;
}

static void flip_bit(Input *input) { input->bytes[below(input->size)] ^= (uint8_t)(1u << below(8)); }

/* Mostly the stored length follows the change, or hardly any input would get past it. */
static void splice_word(Input *input) {
    const char *word = words[below(sizeof words / sizeof *words)];
    size_t added = strlen(word), removed = below(12), start = 8 + below(input->size - 7);
    if (start + removed > input->size) removed = input->size - start;
    if (input->size + added > MAX_SIZE) return;
    memmove(input->bytes + start + added, input->bytes + start + removed, input->size - start - removed);
    memcpy(input->bytes + start, word, added);
    input->size += added - removed;

    uint64_t header;
    memcpy(&header, input->bytes, 8);
    header += added - removed;
    if (below(4) > 0) memcpy(input->bytes, &header, 8);
}

/* From the heap and of the exact size, so that the sanitizer sees an access behind the end. */
static void run(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

/* The sequence is the same in every run: what broke once breaks again. */
static void mutate_for(long seconds) {
    long count = 0;
    for (time_t end = time(NULL) + seconds; time(NULL) < end; count++) {
        Input input = pick_seed();
        for (size_t mutations = below(5); mutations > 0; mutations--) {
            if (below(8) == 0)
                flip_bit(&input);
            else
                splice_word(&input);
        }
        run(input.bytes, input.size);
    }
    printf("%ld inputs, no broken promise\n", count);
}

int main(int argc, char **argv) { mutate_for(argc > 1 ? atol(argv[1]) : 60); }

#endif
