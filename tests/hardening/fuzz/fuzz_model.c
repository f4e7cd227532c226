/* Broken models: each is refused with one line, or a text can be read with it.
 *
 * An input that begins with '{' is a folder, in pieces that a byte 0x1e parts: config.json;
 * model.safetensors.index.json, or nothing; the headers of model.safetensors or of the shards
 * shard1, shard2, shard3. Their lengths and data (zeros) are made here, or hardly any input would
 * get past them: as many bytes as the header's largest number says. Any other input is llama2.c's
 * .bin: the header, and the file's length. */
#include "09_decoder/decoder.h"
#include "14_engine/formats/model_open_any.h"
#include "tests/hardening/fuzz/caught.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER = 200, PATH = 256, MOST_DATA = 1 << 17, BIN_HEADER = 28 };

static char folder[FOLDER], path[PATH];

static void make_folder(void) {
    const char *memory = "/dev/shm", *scratch = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fuzz-model-XXXXXX",
             scratch                     ? scratch
             : access(memory, W_OK) == 0 ? memory
                                         : "/tmp");
    promise(mkdtemp(folder), "a folder is made", folder);
}

static void remove_folder(void) {
    char command[PATH + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    promise(system(command) == 0, "the folder is removed", folder);
}

/* prefix, bytes, and zeros up to the length. */
static void write_file(const char *name, size_t prefix_size, const void *prefix, size_t size,
                       const uint8_t *bytes, size_t length) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bool written = file >= 0 && write(file, prefix, prefix_size) == (ssize_t)prefix_size &&
                   write(file, bytes, size) == (ssize_t)size && ftruncate(file, (off_t)length) == 0;
    promise(written && close(file) == 0, "a file is written", path);
}

static void remove_file(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* The end of the last tensor, where the header is in order. */
static size_t largest_number(size_t size, const uint8_t bytes[size]) {
    size_t largest = 0, number = 0;
    for (size_t i = 0; i < size; i++) {
        number = bytes[i] < '0' || bytes[i] > '9' ? 0 : 10 * number + bytes[i] - '0';
        if (number > MOST_DATA) number = 0;
        if (number > largest) largest = number;
    }
    return largest;
}

static void write_shard(const char *name, size_t size, const uint8_t bytes[size]) {
    uint8_t prefix[8]; /* little endian */
    for (int i = 0; i < 8; i++) prefix[i] = (uint8_t)((uint64_t)size >> 8 * i);
    write_file(name, sizeof prefix, prefix, size, bytes,
               sizeof prefix + size + largest_number(size, bytes));
}

static void write_folder(size_t size, const uint8_t bytes[size]) {
    static const char *const names[] = {"config.json", "model.safetensors.index.json", "shard1",
                                        "shard2", "shard3"};
    enum { PIECES = sizeof names / sizeof *names };
    bool sharded = false;
    remove_file("model.safetensors");
    for (int i = 0; i < PIECES; i++) {
        const uint8_t *end = size ? memchr(bytes, 0x1e, size) : NULL;
        size_t piece = end ? (size_t)(end - bytes) : size;
        if (i == 1) sharded = piece > 0;
        if (piece == 0) remove_file(names[i]);
        else if (i < 2) write_file(names[i], 0, "", piece, bytes, piece);
        else write_shard(i == 2 && !sharded ? "model.safetensors" : names[i], piece, bytes);
        bytes += piece + (end != NULL);
        size -= piece + (end != NULL);
    }
}

static void write_bin(size_t size, const uint8_t bytes[size]) {
    uint32_t length;
    memcpy(&length, bytes + BIN_HEADER, sizeof length);
    write_file("model.bin", 0, "", BIN_HEADER, bytes, length % MOST_DATA);
}

static void read_text(void) {
    enum { T = 3 };
    Model model = model_open_any(path);
    Decoder decoder = decoder_new(&model, &reference_kernels, T);
    const int last = model.config.V - 1, ids[T] = {0, last, last / 2};
    float *logits = malloc((size_t)model.config.V * sizeof *logits);
    decoder_eval(&decoder, T - 1, ids);
    decoder_eval(&decoder, 1, ids + T - 1);
    decoder_logits(&decoder, logits);
    decoder_free(&decoder);
    model_close(&model);
    free(logits);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    if (!*folder) {
        make_folder();
        atexit(remove_folder);
    }
    bool is_folder = size > 0 && bytes[0] == '{';
    if (!is_folder && size < BIN_HEADER + sizeof(uint32_t)) return 0;
    if (is_folder) {
        write_folder(size, bytes);
        strcpy(path, folder);
    } else write_bin(size, bytes);
    attempt(read_text);
    return 0;
}
