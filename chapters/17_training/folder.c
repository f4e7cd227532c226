#include "17_training/folder.h"
#include "common/error.h"
#include "common/file.h"
#include "common/output.h"
#include "common/safetensors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *in_folder(char path[static FOLDER_PATH], const char *folder, const char *name) {
    if (snprintf(path, FOLDER_PATH, "%s/%s", folder, name) >= FOLDER_PATH)
        fail("%.200s…: the path is too long", folder);
    return path;
}

static bool has(const char *folder, const char *name) {
    char path[FOLDER_PATH];
    return file_is_there(in_folder(path, folder, name));
}

/* ------------------------------------------------------------------ whose it is */

/* The lock is on the folder itself, and goes with the program, however that ends. */
static void lock(const char *folder) {
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) fail("--out %s: %s", folder, strerror(errno));
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK)
        fail("--out %s: another run is at work there: let it end, or name another folder", folder);
    fail("--out %s: it cannot be locked: %s", folder, strerror(errno));
}

/* Removes the temporary files of a run that was killed. No other run works in this folder. */
static void remove_unfinished(const char *folder) {
    char path[FOLDER_PATH];
    DIR *directory = opendir(folder);
    if (!directory) fail("--out %s: %s", folder, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (strstr(entry->d_name, ".safetensors.tmp-") || strstr(entry->d_name, ".csv.tmp-") ||
            strstr(entry->d_name, ".json.tmp-"))
            unlink(in_folder(path, folder, entry->d_name));
    closedir(directory);
}

/* The files of the tokenizer, and of its settings. */
static const char *const described[] = {"tokenizer.model",         "tokenizer.json",
                                        "tokenizer.bin",           "tokenizer_config.json",
                                        "special_tokens_map.json", "added_tokens.json",
                                        "generation_config.json",  "chat_template.jinja"};
enum { DESCRIBED = sizeof described / sizeof *described };

static bool has_a_model(const char *folder) {
    return has(folder, "model.safetensors") || has(folder, "model.safetensors.index.json");
}

static bool has_a_description(const char *folder) {
    bool any = has(folder, "config.json");
    for (int i = 0; i < DESCRIBED; i++) any = any || has(folder, described[i]);
    return any;
}

void folder_claim(const char *folder, bool resume) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) fail("--out %s: %s", folder, strerror(errno));
    lock(folder);
    bool begun = has(folder, "checkpoint.safetensors");
    if (begun && !resume)
        fail("--out %s: a run has begun there: --resume goes on with it, another --out begins anew",
             folder);
    /* A run that was killed before its first checkpoint has left log.csv. */
    if (!begun && (has_a_model(folder) || (has_a_description(folder) && !has(folder, "log.csv"))))
        fail("--out %s: a model lies there that no run of this program began: name another folder",
             folder);
    char path[FOLDER_PATH];
    if (!begun && file_would_be_lost(in_folder(path, folder, "log.csv"), 0, "step,tokens,loss,"))
        fail("%s: no run wrote this file, and it would be lost: name another folder for --out",
             path);
    remove_unfinished(folder);
}

/* ------------------------------------------------------------------ what it is */

static void write_file(const char *path, size_t length, const char *bytes) {
    Output output = output_open(path);
    fwrite(bytes, 1, length, output.file);
    output_close(&output);
}

static bool says(const json_t *json, const char *key) {
    const json_t *value = json_object_get(json, key);
    return value && !json_is_null(value);
}

static void say_token(json_t *json, const char *key, int id) {
    if (!says(json, key) && id >= 0) json_object_set_new(json, key, json_integer(id));
}

/* Fields that transformers needs and config_read() can do without. */
static void write_config(const char *folder, const char *config_path, DType dtype,
                         const Tokenizer *tokenizer) {
    char path[FOLDER_PATH];
    json_t *json = json_open(config_path);
    if (!says(json, "model_type")) json_object_set_new(json, "model_type", json_string("llama"));
    if (!says(json, "architectures"))
        json_object_set_new(json, "architectures", json_pack("[s]", "LlamaForCausalLM"));
    json_object_del(json, "torch_dtype");
    json_object_set_new(json, "dtype", json_string(dtype == BF16 ? "bfloat16" : "float32"));
    if (tokenizer) {
        say_token(json, "bos_token_id", tokenizer_bos(tokenizer));
        say_token(json, "eos_token_id", tokenizer_eos(tokenizer));
    }
    char *text = json_dumps(json, JSON_INDENT(2));
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL */
    write_file(in_folder(path, folder, "config.json"), length + 1, text);
    free(text);
    json_decref(json);
}

static void copy_file(const char *from_folder, const char *to_folder, const char *name) {
    char from[FOLDER_PATH], to[FOLDER_PATH];
    size_t length;
    in_folder(from, from_folder, name);
    in_folder(to, to_folder, name);
    if (!has(from_folder, name)) {
        if (!has(to_folder, "checkpoint.safetensors"))
            unlink(to); /* of a run that was killed before it had one */
        return;
    }
    char *bytes = file_read_regular(from, &length);
    write_file(to, length, bytes);
    free(bytes);
}

void folder_describe(const char *folder, const char *config_path, DType dtype,
                     const char *tokenizer_folder, const Tokenizer *tokenizer) {
    write_config(folder, config_path, dtype, tokenizer);
    for (int i = 0; tokenizer && i < DESCRIBED; i++)
        copy_file(tokenizer_folder, folder, described[i]);
}

/* The tensors as they are in the file: those of the model themselves, or copies of their numbers in
 * `rounded`. */
static Tensor *tensors_to_save(const Parameters *weights, bf16 rounded[]) {
    size_t count = (size_t)weights->tensor_count, bytes = count * sizeof(Tensor);
    Tensor *tensors = memcpy(xmalloc(bytes), weights->tensors, bytes);
    for (size_t n = 0; rounded && n < weights->count; n++)
        rounded[n] = bf16_from_float(weights->numbers[n]);
    for (size_t i = 0; rounded && i < count; i++) {
        tensors[i].dtype = BF16;
        tensors[i].data = rounded + ((const float *)tensors[i].data - weights->numbers);
    }
    return tensors;
}

void folder_save_model(const char *folder, const Parameters *weights, DType dtype) {
    char path[FOLDER_PATH];
    bf16 *rounded = dtype == BF16 ? xmalloc(size_mul(weights->count, sizeof *rounded)) : NULL;
    Tensor *tensors = tensors_to_save(weights, rounded);
    safetensors_save(in_folder(path, folder, "model.safetensors"), (size_t)weights->tensor_count,
                     tensors, 1, &(Metadata){"format", "pt"});
    free(tensors);
    free(rounded);
}
