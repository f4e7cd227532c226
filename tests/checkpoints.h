/* For the tests of chapter 9: its golden models, and checkpoints made of them with a change. */
#ifndef TESTS_CHECKPOINTS_H
#define TESTS_CHECKPOINTS_H

#include "common/file.h"
#include "common/output.h"
#include "common/safetensors.h"
#include "tests/program.h"

#include <sys/stat.h>

/* A folder, or a file of llama.cpp's format. */
#define GOLDEN(name) AT("%s/tests/golden/%s/%s", ROOT, strchr(name, '.') ? "gguf" : "models", name)

static inline void write_file(const char *path, const void *bytes, size_t size) {
    Output output = output_open(path);
    fwrite(bytes, 1, size, output.file);
    output_close(&output);
}

/* config.json of a golden model, with `from` replaced by `to`, into a folder of ours. */
static inline void write_config(const char *to_folder, const char *model, const char *from,
                                const char *to) {
    size_t size;
    char *config = file_read(AT("%s/config.json", GOLDEN(model)), &size);
    char *found = strstr(config, from);
    if (!found) fail_msg("%s is not in the config.json of %s", from, model);
    char *changed = xmalloc(size + strlen(to) + 1);
    sprintf(changed, "%.*s%s%s", (int)(found - config), config, to, found + strlen(from));
    mkdir(to_folder, 0777);
    write_file(AT("%s/config.json", to_folder), changed, strlen(changed));
    free(config);
    free(changed);
}

typedef struct {
    SafeTensors file;
    size_t count;
    Tensor tensors[64];
} Weights;

static inline Weights open_weights(const char *model) {
    Weights weights = {.file = safetensors_open(AT("%s/model.safetensors", GOLDEN(model)))};
    weights.count = weights.file.count;
    memcpy(weights.tensors, weights.file.tensors, weights.count * sizeof *weights.tensors);
    return weights;
}

static inline Tensor *named(Weights *weights, const char *name) {
    for (size_t i = 0; i < weights->count; i++)
        if (strcmp(weights->tensors[i].name, name) == 0) return &weights->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static inline const char *save_model(const char *name, const char *model, Weights *weights) {
    static char path[PATH];
    write_config(text(path, "%s/%s", folder, name), model, "{", "{");
    safetensors_save(AT("%s/model.safetensors", path), weights->count, weights->tensors, 0, NULL);
    safetensors_close(&weights->file);
    return path;
}

#endif
