#include "17_training/setup.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "17_training/fast_training_kernels.h"
#include "17_training/sample.h"
#include "common/error.h"
#include "common/timer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void take_path(char to[static FOLDER_PATH], const char *path) {
    if (snprintf(to, FOLDER_PATH, "%s", path) >= FOLDER_PATH)
        fail("%.200s…: the path is too long", path);
}

/* The folder that a file lies in. */
static void folder_of(char folder[static FOLDER_PATH], const char path[static FOLDER_PATH]) {
    const char *slash = strrchr(path, '/');
    int length = slash && slash > path ? (int)(slash - path) : 1;
    snprintf(folder, FOLDER_PATH, "%.*s", length, slash ? path : ".");
}

static void open_config(Run *run) {
    const TrainConfig *r = &run->recipe;
    if (r->model && !file_is_folder(r->model)) fail("--model %s: it is no folder", r->model);
    if (r->config && file_is_folder(r->config))
        fail("--config %s: it is a folder: name the config.json in it", r->config);
    if (r->model) in_folder(run->config_path, r->model, "config.json");
    else take_path(run->config_path, r->config);
    run->config = config_read(run->config_path);
}

/* A tokenizer of fewer tokens than the model has rows is fine: some rows are never used. */
static void open_tokenizer(Run *run) {
    const TrainConfig *r = &run->recipe;
    if (r->tokenizer) take_path(run->tokenizer_folder, r->tokenizer);
    else folder_of(run->tokenizer_folder, run->config_path);
    if (!r->tokenizer && !has_tokenizer_file(run->tokenizer_folder)) return;
    if (!has_tokenizer_file(run->tokenizer_folder))
        fail("--tokenizer %s: no folder with a tokenizer.model, .json or .bin", r->tokenizer);
    run->tokenizer = tokenizer_open_any(run->tokenizer_folder);
    if (tokenizer_size(run->tokenizer) > run->config.V)
        fail("the tokenizer has %d tokens, and %s a vocab_size of only %d",
             tokenizer_size(run->tokenizer), run->config_path, run->config.V);
}

/* Settings that depend on the data. */
static void complete_train_config(Run *run) {
    TrainConfig *r = &run->recipe;
    size_t whole = mixture_whole(&run->data, r->steps < 0) / (size_t)r->batch_size;
    if (r->steps < 0 && whole == 0)
        fail("the data are fewer sequences than a --batch-size of %d", r->batch_size);
    if (r->steps < 0) r->steps = whole < INT32_MAX / 2 ? (int)whole : INT32_MAX / 2;
    if (r->warmup < 0) r->warmup = r->steps / 20;
    if (r->warmup > r->steps)
        fail("--warmup %d is longer than the %d step%s that the data are enough for", r->warmup,
             r->steps, r->steps == 1 ? "" : "s");
    if (!mixture_seek(&run->data, (size_t)r->steps * (size_t)r->batch_size))
        fail("--steps %d: read as often as it is said, the data are enough for %zu", r->steps,
             run->data.drawn / (size_t)r->batch_size);
}

static bool reads_text(const Mixture *data) {
    for (int i = 0; i < data->count; i++)
        if (data->sources[i].documents.text) return true;
    return false;
}

static void open_data(Run *run) {
    TrainConfig *r = &run->recipe;
    int context = config_context(&run->config), count;
    if (r->seq_len > context) fail("--seq-len %d: the model's context is %d", r->seq_len, context);
    if (!r->seq_len) r->seq_len = context < 512 ? context : 512;
    Reading reading = {run->tokenizer, run->config.V, r->seq_len,         r->split_documents,
                       r->no_shuffle,  r->loss_after, r->loss_weight_else};
    run->data = mixture_open(r->data_count, r->data, &reading, r->seed);
    if (r->loss_after && !reads_text(&run->data))
        fail("--loss-after is for texts, and no --data is one: of a token file, its `learned` says "
             "what counts");
    if (r->eval_data) run->eval_data = mixture_open(1, &r->eval_data, &reading, r->seed);
    if (r->eval_data &&
        (run->eval_data.sources[0].weight > 0 || run->eval_data.sources[0].epochs > 0))
        fail("--eval-data %s: it has neither share nor epochs: all of it is read, each time",
             r->eval_data);
    if (r->document_mask && (!run->tokenizer || !tokenizer_adds_bos(run->tokenizer)))
        fail("--document-mask: there is no tokenizer that begins each document with BOS: nobody "
             "knows where one begins");
    if (r->sample_every && !run->tokenizer)
        fail("--sample-every: there is no tokenizer to write with: --tokenizer DIR");
    if (r->sample_every) free(prompt_ids(&run->config, run->tokenizer, r->prompt, &count));
    complete_train_config(run);
}

uint64_t run_fingerprint(const Run *run) {
    json_t *json = json_open(run->config_path);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t fingerprint = mixture_fingerprint(&run->data);
    for (const char *c = text; *c; c++)
        fingerprint = fingerprint_mix(fingerprint, (unsigned char)*c);
    free(text);
    json_decref(json);
    return fingerprint;
}

/* Several times a step the threads wait for each other, and on a busy machine each wait is some
 * milliseconds: where the step's products take no longer than that, one thread is faster alone. */
static int threads_for(const Run *run) {
    double products = (double)run->gradients.count * run->recipe.batch_size * run->recipe.seq_len;
    return products > 1e8 ? thread_count() : 1;
}

void trainer_open(Run *run) {
    TrainConfig *r = &run->recipe;
    if (r->batch_size < run->ranks.count)
        fail("a --batch-size of %d sequence%s cannot be shared by %d ranks", r->batch_size,
             r->batch_size == 1 ? "" : "s", run->ranks.count);
    if (run->ranks.count > 1 && train_config_reads_standard_input(r))
        fail("-: of several ranks only the first has a standard input: name a file");
    run->dtype = r->bf16 ? BF16 : F32;
    open_config(run);
    open_tokenizer(run);
    open_data(run);
    run->state = r->model ? state_of(&run->config, r->model)
                          : state_new(&run->config, run->config_path, r->seed);
    run->gradients = parameters_new(&run->config);
    if (!r->threads) r->threads = threads_for(run);
    use_threads(r->threads);
    run->part = shard_range(r->batch_size, run->ranks.count, run->ranks.rank);
    run->kernels = r->matmul_bf16 ? &bf16_training_kernels : &fast_training_kernels;
    run->workers = workers_new(&run->config, run->kernels, r->seq_len,
                               r->threads < run->part.count ? r->threads : run->part.count);
    if (r->document_mask) workers_set_document_mask(&run->workers, tokenizer_bos(run->tokenizer));
    size_t numbers = size_mul((size_t)r->batch_size, (size_t)r->seq_len);
    run->ids = xmalloc(size_mul(numbers, sizeof(int)));
    run->targets = xmalloc(size_mul(numbers, sizeof(int)));
    run->loss_weight = xmalloc(size_mul(numbers, sizeof(float)));
}

void trainer_close(Run *run) {
    free(run->ids);
    free(run->targets);
    free(run->loss_weight);
    workers_free(&run->workers);
    parameters_free(&run->gradients);
    state_free(&run->state);
    mixture_free(&run->data);
    mixture_free(&run->eval_data);
    if (run->tokenizer) tokenizer_close(run->tokenizer);
    config_free(&run->config);
}
