#include "09_decoder/weights.h"
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARDS = 1000 };

/* The weight files of a model's folder. */
typedef struct {
    int count;
    SafeTensors *shards;
    char **names; /* as the index spells them */
} Shards;

const char *model_file(char path[static MODEL_PATH], const char *folder, const char *name) {
    if (snprintf(path, MODEL_PATH, "%s/%s", folder, name) >= MODEL_PATH)
        fail("%.200s…: the path is too long", folder);
    return path;
}

bool model_has_file(const char *folder, const char *name) {
    char path[MODEL_PATH];
    return file_is_there(model_file(path, folder, name));
}

/* ------------------------------------------------------------------ the weight files */

static int add_shard(Shards *s, const char *folder, const char *name) {
    char path[MODEL_PATH];
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) return i;
    if (s->count == MOST_SHARDS) fail("%s: its index names over %d shards", folder, MOST_SHARDS);
    s->shards = xrealloc(s->shards, (size_t)(s->count + 1) * sizeof *s->shards);
    s->names = xrealloc(s->names, (size_t)(s->count + 1) * sizeof *s->names);
    s->shards[s->count] = safetensors_open(model_file(path, folder, name));
    s->names[s->count] = xstrndup(name, strlen(name));
    return s->count++;
}

/* A shard lies in the folder of its index, and nowhere else. */
static void check_shard_name(const char *index, const char *tensor, const json_t *name) {
    const char *text = json_string_value(name);
    if (!text) fail("%s: weight_map says of \"%.80s\" no file's name", index, tensor);
    if (strchr(text, '/') || strchr(text, '\\') || strcmp(text, "..") == 0 ||
        strcmp(text, ".") == 0 || !*text)
        fail("%s: \"%.80s\" is said to be in \"%.80s\", outside of this folder", index, tensor,
             text);
}

/* The index and the shards must agree: every tensor is in the shard that the index names for it. */
static void open_shards(Shards *s, const char *folder, const char *index) {
    json_t *json = json_open(index), *name;
    const json_t *map = json_object_get(json, "weight_map");
    if (!json_is_object(map)) fail("%s: it has no weight_map", index);

    const char *tensor;
    NameList missing = {0}, unexpected = {0};
    json_object_foreach((json_t *)map, tensor, name) {
        check_shard_name(index, tensor, name);
        int shard = add_shard(s, folder, json_string_value(name));
        if (!safetensors_find(&s->shards[shard], tensor)) name_list_add(&missing, tensor);
    }
    name_list_fail_if_any(&missing, folder, "not in the shard that the index names");
    for (int i = 0; i < s->count; i++)
        for (size_t t = 0; t < s->shards[i].count; t++) {
            const char *said =
                json_string_value(json_object_get(map, s->shards[i].tensors[t].name));
            if (!said || strcmp(said, s->names[i]) != 0)
                name_list_add(&unexpected, s->shards[i].tensors[t].name);
        }
    name_list_fail_if_any(&unexpected, folder, "in a shard, though the index does not say so");
    json_decref(json);
}

/* A file of PyTorch's own format is a pickled program, which a reader of the weights would have to
 * run. */
static _Noreturn void refuse_pickled_weights(const char *folder) {
    static const char *const names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (int i = 0; i < 2; i++)
        if (model_has_file(folder, names[i]))
            fail("%s: it holds %s and no model.safetensors. transformers writes one beside "
                 "it: " CONVERT,
                 folder, names[i], "auto", shell_word(folder), shell_word(folder));
    fail("%s: it holds neither model.safetensors nor model.safetensors.index.json", folder);
}

static void open_weight_files(Shards *s, const char *folder) {
    char path[MODEL_PATH];
    if (model_has_file(folder, "model.safetensors")) add_shard(s, folder, "model.safetensors");
    else if (model_has_file(folder, "model.safetensors.index.json"))
        open_shards(s, folder, model_file(path, folder, "model.safetensors.index.json"));
    else refuse_pickled_weights(folder);
}

static void close_weight_files(void *files) {
    Shards *s = files;
    for (int i = 0; i < s->count; i++) {
        safetensors_close(&s->shards[i]);
        free(s->names[i]);
    }
    free(s->shards);
    free(s->names);
    free(s);
}

/* ------------------------------------------------------------------ a model */

static const TensorNames names = {"model.embed_tokens",
                                  "lm_head",
                                  "model.norm",
                                  "model.layers.%d.input_layernorm",
                                  "model.layers.%d.self_attn.q_proj",
                                  "model.layers.%d.self_attn.k_proj",
                                  "model.layers.%d.self_attn.v_proj",
                                  "model.layers.%d.self_attn.o_proj",
                                  "model.layers.%d.post_attention_layernorm",
                                  "model.layers.%d.mlp.gate_proj",
                                  "model.layers.%d.mlp.up_proj",
                                  "model.layers.%d.mlp.down_proj"};

/* The tensors of all shards. */
static Weights all_tensors(const Shards *s, const char *folder) {
    size_t count = 0;
    for (int i = 0; i < s->count; i++) count += s->shards[i].count;
    Tensor *all = xmalloc(count * sizeof *all), *next = all;
    for (int i = 0; i < s->count; i++)
        for (size_t t = 0; t < s->shards[i].count; t++) *next++ = s->shards[i].tensors[t];
    return weights_new(folder, "config.json", &names, count, all);
}

bool model_folder_of(char folder[static MODEL_PATH], const char *path) {
    if (file_is_folder(path)) {
        snprintf(folder, MODEL_PATH, "%s", path); /* a path that opens is no longer than this */
        return true;
    }
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, "model.safetensors") != 0 && strcmp(name, "model.safetensors.index.json") != 0)
        return false;
    snprintf(folder, MODEL_PATH, "%.*s", slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
    return true;
}

Model model_open(const char *path) {
    char folder[MODEL_PATH], config[MODEL_PATH];
    if (!file_is_there(path)) fail("%s: %s: name a model's folder", path, strerror(errno));
    if (!model_folder_of(folder, path))
        fail("%s: it is no folder: name the one that holds config.json and model.safetensors",
             path);
    Shards *shards = xmalloc(sizeof *shards);
    *shards = (Shards){0};
    Model model = {.files = shards, .close_files = close_weight_files};
    model.config = config_read(model_file(config, folder, "config.json"));
    open_weight_files(shards, folder);
    Weights weights = all_tensors(shards, folder);
    weights_load_model(&weights, &model);
    return model;
}

static void free_layer(const Layer *layer) {
    free(layer->input_layernorm);
    free(layer->post_attention_layernorm);
    free(layer->q_bias);
    free(layer->k_bias);
    free(layer->v_bias);
    free(layer->o_bias);
    free(layer->gate_bias);
    free(layer->up_bias);
    free(layer->down_bias);
}

void model_close(Model *model) {
    for (int l = 0; l < model->config.L; l++) free_layer(&model->layers[l]);
    free(model->layers);
    free(model->norm);
    config_free(&model->config);
    model->close_files(model->files);
    *model = (Model){0};
}
