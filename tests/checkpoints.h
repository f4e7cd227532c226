/* For the tests of chapter 9: its golden models, and checkpoints made of them with a change. */
#ifndef TESTS_CHECKPOINTS_H
#define TESTS_CHECKPOINTS_H

#include "common/safetensors.h"
#include "tests/program.h"

#include <sys/stat.h>

/* A folder, or a file of llama.cpp's format. */
#define GOLDEN(name) AT("%s/tests/golden/%s/%s", ROOT, strchr(name, '.') ? "gguf" : "models", name)

/* config.json of a golden model, with `from` replaced by `to`, into a folder of ours. */
static inline void write_config(const char *name, const char *model, const char *from,
                                const char *to) {
    mkdir(AT("%s/%s", folder, name), 0777);
    write_replaced(AT("%s/config.json", name), AT("%s/config.json", GOLDEN(model)), from, to);
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
    write_config(name, model, "", "");
    text(path, "%s/%s", folder, name);
    safetensors_save(AT("%s/model.safetensors", path), weights->count, weights->tensors, 0, NULL);
    safetensors_close(&weights->file);
    return path;
}

#endif
