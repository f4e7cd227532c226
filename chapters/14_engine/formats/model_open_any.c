#include "14_engine/formats/model_open_any.h"
#include "14_engine/formats/gguf_model.h"
#include "14_engine/formats/llama2c.h"
#include "common/error.h"
#include "common/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

/* ------------------------------------------------------------------ folders that are no model */

/* Meta's own checkpoint has a params.json in place of config.json, and other names for every
 * tensor. */
static void refuse_meta_checkpoint(const char *folder) {
    if (model_has_file(folder, "consolidated.00.pth"))
        fail("%s: it is Meta's checkpoint, consolidated.00.pth. This writes config.json and "
             "model.safetensors beside it: python3 %s %s",
             folder, shell_word(ROOT "/chapters/14_engine/formats/convert_meta.py"),
             shell_word(folder));
}

/* A folder of GGUF files alone: each of them is a model. */
static void refuse_folder_of_ggufs(const char *folder) {
    char path[MODEL_PATH];
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (gguf_is(model_file(path, folder, entry->d_name)))
            fail("%s: it holds no config.json. Is this the model? %s", folder, path);
    if (directory) closedir(directory);
}

/* A repository as huggingface_hub caches it, and an adapter that peft has trained. */
static void refuse_cache_or_adapter(const char *folder) {
    static const char *const others[][2] = {
        {"snapshots", "the model is the folder in its snapshots: name that"},
        {"adapter_config.json",
         "it holds an adapter, not a model: peft's merge_and_unload() adds it to its model"}};
    for (int i = 0; i < 2; i++)
        if (model_has_file(folder, others[i][0])) fail("%s: %s", folder, others[i][1]);
}

static void check_folder(const char *folder) {
    if (model_has_file(folder, "config.json")) return;
    refuse_meta_checkpoint(folder);
    refuse_folder_of_ggufs(folder);
    refuse_cache_or_adapter(folder);
    fail("%s: it holds no config.json, as a model's folder does, beside model.safetensors and the "
         "tokenizer",
         folder);
}

/* ------------------------------------------------------------------ any of them */

Model model_open_any(const char *path) {
    char folder[MODEL_PATH];
    if (!file_is_there(path))
        fail("%s: %s: name a model's folder, a .gguf or a .bin", path, strerror(errno));
    if (model_folder_of(folder, path)) {
        check_folder(folder);
        return model_open(path);
    }
    if (name_ends_in(path, ".safetensors"))
        fail("%s: it has weights alone: name the folder that holds it and the model's config.json",
             path);
    if (gguf_is(path) || name_ends_in(path, ".gguf")) return gguf_model_open(path);
    return llama2c_open(path);
}
