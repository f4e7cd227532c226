#include "09_decoder/llama2c.h"
#include "13_quantization/gguf_model.h" /* the one look ahead: a file of any format is a model */
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, MOST_SHARDS = 1000 };

struct ModelFiles {
    int shard_count;
    SafeTensors *shards;
    char **names;   /* of the shards, as the index spells them */
    Llama2c bin;
    Gguf gguf;
};

/* What is wrong with the tensors, collected: the first few names, and how many more. */
typedef struct {
    int count;
    char names[400];
} List;

static void list(List *list, const char *name) {
    size_t length = strlen(list->names);
    if (++list->count <= 4)
        snprintf(list->names + length, sizeof list->names - length, "%s%.80s", length ? ", " : "", name);
}

/* "3 tensors are missing: a, b, c" */
static void fail_if_any(const List *list, const char *folder, const char *what) {
    if (list->count == 0) return;
    fail("%s: %d tensor%s %s: %s%s", folder, list->count, list->count == 1 ? "" : "s", what, list->names,
         list->count > 4 ? ", …" : "");
}

static const char *join(char path[static PATH], const char *folder, const char *name) {
    if (snprintf(path, PATH, "%s/%s", folder, name) >= PATH) fail("%.200s…: the path is too long", folder);
    return path;
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

/* A command for a shell: from a folder, as this dtype, to a folder. */
#define CONVERT "python3 -c \"from transformers import AutoModelForCausalLM as M; " \
                "M.from_pretrained('%s', dtype='%s').save_pretrained('%s')\""

/* PyTorch's own files are programs, which a reader of weights would have to run. */
static _Noreturn void refuse_folder(const char *folder) {
    static const char *const names[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};
    char path[PATH];
    for (int i = 0; i < 2; i++)
        if (access(join(path, folder, names[i]), F_OK) == 0)
            fail("%s: it holds %s and no model.safetensors. transformers writes one beside it: " CONVERT, folder, names[i],
                 folder, "auto", folder);
    fail("%s: it holds neither model.safetensors nor model.safetensors.index.json", folder);
}

static void open_folder(struct ModelFiles *files, const char *folder) {
    char path[PATH];
    if (access(join(path, folder, "model.safetensors"), F_OK) == 0) add_shard(files, folder, "model.safetensors");
    else if (access(join(path, folder, "model.safetensors.index.json"), F_OK) == 0) open_shards(files, folder, path);
    else refuse_folder(folder);
}

/* ------------------------------------------------------------------ every tensor by its name */

/* The tensors of one folder, while a model is made of them. */
typedef struct {
    const char *folder;
    const struct ModelFiles *files;
    size_t taken_count;
    const Tensor **taken;
    List missing;
} Tensors;

static const Tensor *find(const Tensors *tensors, const char *name) {
    const Tensor *found = NULL;
    for (int i = 0; i < tensors->files->shard_count && !found; i++)
        found = safetensors_find(&tensors->files->shards[i], name);
    return found;
}

/* The tensor of that name, [rows][columns], or [columns] where rows is 0. A missing one is noted, and empty. */
__attribute__((format(printf, 4, 5))) static Tensor take(Tensors *tensors, int rows, int columns, const char *format, ...) {
    char name[128], got[SHAPE_TEXT], right[SHAPE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);

    const Tensor *tensor = find(tensors, name);
    if (!tensor) {
        list(&tensors->missing, name);
        return (Tensor){0};
    }
    int rank = rows ? 2 : 1;
    const size_t shape[2] = {(size_t)(rows ? rows : columns), (size_t)columns};
    if (tensor->rank != rank || memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) != 0)
        fail("%s: %s is %s, but config.json makes it %s", tensors->folder, name,
             shape_text(got, tensor->rank, tensor->shape), shape_text(right, rank, shape));
    if (tensor->dtype == F64)
        fail("%s: %s is F64: this decoder takes F32, BF16 and F16. transformers converts it: " CONVERT, tensors->folder, name,
             tensors->folder, "float32", "NEW_FOLDER");
    if (tensor->dtype != F32 && tensor->dtype != BF16 && tensor->dtype != F16)
        fail("%s: %s is %s: this decoder takes F32, BF16 and F16", tensors->folder, name, dtype_name(tensor->dtype));
    tensors->taken[tensors->taken_count++] = tensor;
    return *tensor;
}

/* Small enough to be copied: a norm's weight, in float32. */
static float *take_norm(Tensors *tensors, int C, const char *format, int layer) {
    char name[128];
    snprintf(name, sizeof name, format, layer);
    Tensor weight = take(tensors, 0, C, "%s", name);
    return weight.data ? tensor_to_float(&weight) : NULL;
}

static void take_layer(Tensors *tensors, const Config *c, int l, Layer *layer) {
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    layer->input_layernorm = take_norm(tensors, C, "model.layers.%d.input_layernorm.weight", l);
    layer->q_proj = take(tensors, queries, C, "model.layers.%d.self_attn.q_proj.weight", l);
    layer->k_proj = take(tensors, keys, C, "model.layers.%d.self_attn.k_proj.weight", l);
    layer->v_proj = take(tensors, keys, C, "model.layers.%d.self_attn.v_proj.weight", l);
    layer->o_proj = take(tensors, C, queries, "model.layers.%d.self_attn.o_proj.weight", l);
    layer->post_attention_layernorm = take_norm(tensors, C, "model.layers.%d.post_attention_layernorm.weight", l);
    layer->gate_proj = take(tensors, F, C, "model.layers.%d.mlp.gate_proj.weight", l);
    layer->up_proj = take(tensors, F, C, "model.layers.%d.mlp.up_proj.weight", l);
    layer->down_proj = take(tensors, C, F, "model.layers.%d.mlp.down_proj.weight", l);
}

/* Tied weights are one matrix with two names, and a file may have it under either, or under both. */
static void take_embedding(Tensors *tensors, Model *model) {
    static const char input[] = "model.embed_tokens.weight", output[] = "lm_head.weight";
    int V = model->config.V, C = model->config.C;
    bool tied = model->config.tie_word_embeddings;
    model->embed_tokens = take(tensors, V, C, "%s", tied && !find(tensors, input) ? output : input);
    model->lm_head = tied && !find(tensors, output) ? model->embed_tokens : take(tensors, V, C, "%s", output);
}

/* Early checkpoints hold RoPE's frequencies, which follow from the configuration. */
static bool is_stray(const char *name) {
    static const char end[] = ".rotary_emb.inv_freq";
    size_t length = strlen(name);
    return length >= sizeof end - 1 && strcmp(name + length - (sizeof end - 1), end) == 0;
}

static int by_address(const void *left, const void *right) {
    const Tensor *const *a = left, *const *b = right;
    return (*a > *b) - (*a < *b);
}

static bool was_taken(const Tensors *tensors, const Tensor *tensor) {
    return bsearch(&tensor, tensors->taken, tensors->taken_count, sizeof *tensors->taken, by_address);
}

/* A file may hold a million more: what was taken is sorted, to be looked up in. */
static void refuse_the_rest(const Tensors *tensors) {
    List unexpected = {0};
    qsort(tensors->taken, tensors->taken_count, sizeof *tensors->taken, by_address);
    for (int i = 0; i < tensors->files->shard_count; i++)
        for (size_t t = 0; t < tensors->files->shards[i].count; t++) {
            const Tensor *tensor = &tensors->files->shards[i].tensors[t];
            if (!is_stray(tensor->name) && !was_taken(tensors, tensor)) list(&unexpected, tensor->name);
        }
    fail_if_any(&unexpected, tensors->folder, "of no Llama");
}

/* Meta's own checkpoints have a params.json for a config.json, and other names for everything. */
static void refuse_metas(const char *folder) {
    char path[PATH];
    if (access(join(path, folder, "consolidated.00.pth"), F_OK) != 0 || access(join(path, folder, "config.json"), F_OK) == 0)
        return;
    fail("%s: it is Meta's checkpoint, consolidated.00.pth. The script convert_llama_weights_to_hf.py (src/transformers/models/llama "
         "of github.com/huggingface/transformers, version 4) converts it: python3 convert_llama_weights_to_hf.py --input_dir '%s' "
         "--model_size 8B --llama_version 3 --output_dir NEW_FOLDER", folder, folder);
}

static void read_folder(Model *model, const char *folder) {
    char path[PATH];
    refuse_metas(folder);
    model->config = config_read(join(path, folder, "config.json"));
    open_folder(model->files, folder);
    int L = model->config.L;
    Tensors tensors = {.folder = folder, .files = model->files, .taken = allocate((9 * (size_t)L + 3) * sizeof(Tensor *))};
    model->layers = allocate((size_t)L * sizeof *model->layers);
    take_embedding(&tensors, model);
    for (int l = 0; l < L; l++) take_layer(&tensors, &model->config, l, &model->layers[l]);
    model->norm = take_norm(&tensors, model->config.C, "model.norm.weight", 0);
    fail_if_any(&tensors.missing, folder, tensors.missing.count == 1 ? "is missing" : "are missing");
    refuse_the_rest(&tensors);
    free(tensors.taken);
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
    struct stat status;
    if (stat(path, &status) != 0) fail("%s: %s: name a model's folder, a .gguf or a .bin", path, strerror(errno));
    Model model = {.files = allocate(sizeof *model.files)};
    *model.files = (struct ModelFiles){0};
    char folder[PATH];
    if (S_ISDIR(status.st_mode)) read_folder(&model, path);
    else if (in_folder(folder, path)) read_folder(&model, folder);
    else if (gguf_is(path)) open_gguf(&model, path);
    else model.files->bin = llama2c_open(&model, path);
    return model;
}

void model_close(Model *model) {
    struct ModelFiles *files = model->files;
    for (int l = 0; l < model->config.L; l++)
        free(model->layers[l].input_layernorm), free(model->layers[l].post_attention_layernorm);
    for (int i = 0; i < files->shard_count; i++) safetensors_close(&files->shards[i]), free(files->names[i]);
    llama2c_close(&files->bin);
    if (files->gguf.storage) gguf_close(&files->gguf);
    free(files->shards), free(files->names), free(files);
    free(model->layers), free(model->norm);
    *model = (Model){0};
}
