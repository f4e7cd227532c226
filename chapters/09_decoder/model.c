#include "09_decoder/llama2c.h"
#include "09_decoder/weights.h"
#include "13_quantization/gguf_model.h" /* the one look ahead: a file of any format is a model */
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096, MOST_SHARDS = 1000 };

struct ModelFiles {
    int shard_count;
    SafeTensors *shards;
    char **names;   /* of the shards, as the index spells them */
    Llama2c bin;
    Gguf gguf;
};

static const char *join(char path[static PATH], const char *folder, const char *name) {
    if (snprintf(path, PATH, "%s/%s", folder, name) >= PATH) fail("%.200s…: the path is too long", folder);
    return path;
}

static bool lies_in(char path[static PATH], const char *folder, const char *name) {
    return file_is_there(join(path, folder, name));
}

/* ------------------------------------------------------------------ one file, or shards and their index */

static int add_shard(struct ModelFiles *files, const char *folder, const char *name) {
    char path[PATH];
    for (int i = 0; i < files->shard_count; i++)
        if (strcmp(files->names[i], name) == 0) return i;
    if (files->shard_count == MOST_SHARDS) fail("%s: its index names over %d shards", folder, MOST_SHARDS);
    files->shards = reallocate(files->shards, (size_t)(files->shard_count + 1) * sizeof *files->shards);
    files->names = reallocate(files->names, (size_t)(files->shard_count + 1) * sizeof *files->names);
    files->shards[files->shard_count] = safetensors_open(join(path, folder, name));
    files->names[files->shard_count] = copy_text(name, strlen(name));
    return files->shard_count++;
}

/* A shard lies in the folder of its index, and nowhere else. */
static void check_shard_name(const char *index, const char *tensor, const json_t *name) {
    const char *text = json_string_value(name);
    if (!text) fail("%s: weight_map says of \"%.80s\" no file's name", index, tensor);
    if (strchr(text, '/') || strchr(text, '\\') || strcmp(text, "..") == 0 || strcmp(text, ".") == 0 || !*text)
        fail("%s: \"%.80s\" is said to be in \"%.80s\", outside of this folder", index, tensor, text);
}

/* The index and the shards must tell the same: every tensor in the shard that it is said to be in. */
static void open_shards(struct ModelFiles *files, const char *folder, const char *index) {
    json_t *json = json_open(index), *name;
    const json_t *map = json_object_get(json, "weight_map");
    if (!json_is_object(map)) fail("%s: it has no weight_map", index);

    const char *tensor;
    List missing = {0}, unexpected = {0};
    json_object_foreach((json_t *)map, tensor, name) {
        check_shard_name(index, tensor, name);
        int shard = add_shard(files, folder, json_string_value(name));
        if (!safetensors_find(&files->shards[shard], tensor)) list(&missing, tensor);
    }
    fail_if_any(&missing, folder, "not in the shard that the index names");
    for (int i = 0; i < files->shard_count; i++)
        for (size_t t = 0; t < files->shards[i].count; t++) {
            const char *said = json_string_value(json_object_get(map, files->shards[i].tensors[t].name));
            if (!said || strcmp(said, files->names[i]) != 0) list(&unexpected, files->shards[i].tensors[t].name);
        }
    fail_if_any(&unexpected, folder, "in a shard, though the index does not say so");
    json_decref(json);
}

/* PyTorch's own files are programs, which a reader of weights would have to run. */
static _Noreturn void refuse_folder(const char *folder) {
    static const char *const names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
    char path[PATH];
    for (int i = 0; i < 2; i++)
        if (lies_in(path, folder, names[i]))
            fail("%s: it holds %s and no model.safetensors. transformers writes one beside it: " CONVERT, folder,
                 names[i], "auto", shell_word(folder), shell_word(folder));
    fail("%s: it holds neither model.safetensors nor model.safetensors.index.json", folder);
}

static void open_folder(struct ModelFiles *files, const char *folder) {
    char path[PATH];
    if (lies_in(path, folder, "model.safetensors")) add_shard(files, folder, "model.safetensors");
    else if (lies_in(path, folder, "model.safetensors.index.json")) open_shards(files, folder, path);
    else refuse_folder(folder);
}

/* ------------------------------------------------------------------ a folder */

static const Names names = {
    "model.embed_tokens", "lm_head", "model.norm",
    "model.layers.%d.input_layernorm", "model.layers.%d.self_attn.q_proj", "model.layers.%d.self_attn.k_proj",
    "model.layers.%d.self_attn.v_proj", "model.layers.%d.self_attn.o_proj",
    "model.layers.%d.post_attention_layernorm", "model.layers.%d.mlp.gate_proj", "model.layers.%d.mlp.up_proj",
    "model.layers.%d.mlp.down_proj"};

/* The tensors of all shards. */
static Weights weights_of(const struct ModelFiles *files, const char *folder) {
    size_t count = 0;
    for (int i = 0; i < files->shard_count; i++) count += files->shards[i].count;
    Tensor *all = allocate(count * sizeof *all), *next = all;
    for (int i = 0; i < files->shard_count; i++)
        for (size_t t = 0; t < files->shards[i].count; t++) *next++ = files->shards[i].tensors[t];
    return weights_new(folder, "config.json", &names, count, all);
}

/* Meta's own checkpoints have a params.json for a config.json, and other names for everything. */
static void refuse_metas(const char *folder) {
    char path[PATH];
    if (!lies_in(path, folder, "consolidated.00.pth") || lies_in(path, folder, "config.json")) return;
    fail("%s: it is Meta's checkpoint, consolidated.00.pth. This writes config.json and model.safetensors beside it: "
         "python3 %s %s", folder, shell_word(ROOT "/chapters/09_decoder/meta.py"), shell_word(folder));
}

/* A folder may hold GGUF files alone, each of which is a model. */
static void refuse_ggufs(const char *folder) {
    char path[PATH];
    if (lies_in(path, folder, "config.json")) return;
    DIR *directory = opendir(folder);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (gguf_is(join(path, folder, entry->d_name)))
            fail("%s: it holds no config.json. Is this the model? %s", folder, path);
    if (directory) closedir(directory);
}

/* What else is taken for a model's folder: what huggingface_hub keeps of a repository, and what peft has trained. */
static void refuse_others(const char *folder) {
    static const char *const others[][2] = {
        {"snapshots", "the model is the folder in its snapshots: name that"},
        {"adapter_config.json", "it holds an adapter, not a model: peft's merge_and_unload() adds it to its model"}};
    char path[PATH];
    if (lies_in(path, folder, "config.json")) return;
    for (int i = 0; i < 2; i++)
        if (lies_in(path, folder, others[i][0])) fail("%s: %s", folder, others[i][1]);
    fail("%s: it holds no config.json, as a model's folder does, beside model.safetensors and the tokenizer", folder);
}

static void read_folder(Model *model, const char *folder) {
    char path[PATH];
    refuse_metas(folder), refuse_ggufs(folder), refuse_others(folder);
    model->config = config_read(join(path, folder, "config.json"));
    open_folder(model->files, folder);
    Weights weights = weights_of(model->files, folder);
    weights_take_model(&weights, model);
}

/* ------------------------------------------------------------------ any of them */

/* Whether it is the model.safetensors of a model's folder, or its index; and that folder. */
static bool in_folder(char folder[static PATH], const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, "model.safetensors") != 0 && strcmp(name, "model.safetensors.index.json") != 0) return false;
    snprintf(folder, PATH, "%.*s", slash > path ? (int)(slash - path) : 1, slash ? path : ".");
    return true;
}

static void open_gguf(Model *model, const char *path) {
    model->files->gguf = gguf_open(path);
    gguf_model(model, &model->files->gguf);
}

Model model_open(const char *path) {
    if (!file_is_there(path)) fail("%s: %s: name a model's folder, a .gguf or a .bin", path, strerror(errno));
    Model model = {.files = allocate(sizeof *model.files)};
    *model.files = (struct ModelFiles){0};
    char folder[PATH];
    if (file_is_folder(path)) read_folder(&model, path);
    else if (in_folder(folder, path)) read_folder(&model, folder);
    else if (name_ends_in(path, ".safetensors"))
        fail("%s: it has weights alone: name the folder that holds it and the model's config.json", path);
    else if (gguf_is(path) || name_ends_in(path, ".gguf")) open_gguf(&model, path);
    else model.files->bin = llama2c_open(&model, path);
    return model;
}

static void free_layer(const Layer *layer) {
    free(layer->input_layernorm), free(layer->post_attention_layernorm);
    free(layer->q_bias), free(layer->k_bias), free(layer->v_bias), free(layer->o_bias);
    free(layer->gate_bias), free(layer->up_bias), free(layer->down_bias);
}

void model_close(Model *model) {
    struct ModelFiles *files = model->files;
    for (int l = 0; l < model->config.L; l++) free_layer(&model->layers[l]);
    for (int i = 0; i < files->shard_count; i++) safetensors_close(&files->shards[i]), free(files->names[i]);
    llama2c_close(&files->bin);
    if (files->gguf.storage) gguf_close(&files->gguf);
    free(files->shards), free(files->names), free(files);
    free(model->layers), free(model->norm);
    config_free(&model->config);
    *model = (Model){0};
}
