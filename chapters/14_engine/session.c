#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "14_engine/formats/model_open_any.h"
#include "14_engine/generation_config.h"
#include "14_engine/session.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/error.h"
#include "common/timer.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char bundled[] = ROOT "/common/stories/model";

/* ------------------------------------------------------------------ opening */

static const Kernels *kernels_for(const Args *args) {
    if (args->bf16) return args->exact ? &bf16_exact_kernels : &bf16_kernels;
    return args->exact ? &exact_kernels : &fast_kernels;
}

/* The tokenizer is in the model's folder, in the .gguf, or beside the .bin. Ids go without one. */
static Tokenizer *open_tokenizer(const Args *args, const char *path, const Model *model) {
    if (args->ids && !args->tokenizer && !model_has_tokenizer(path)) {
        if (args->stops[0]) fail("--stop: %s has no tokenizer, so its tokens have no text", path);
        return tokenizer_without_tokens();
    }
    Tokenizer *tokenizer = tokenizer_of_model(path, args->tokenizer);
    check_vocabularies(model, tokenizer, !args->quiet);
    return tokenizer;
}

/* An option overrides the model's generation_config.json. */
Llama llama_open(const Args *args) {
    const char *path = or_default(args->model, bundled);
    Llama llama = {.args = args, .settings = args_settings(args)};
    llama.model = model_open_any(path);
    llama.kernels = kernels_for(args);
    llama.path = model_directory(path);
    llama.tokenizer_path = model_directory(or_default(args->tokenizer, path));
    llama.tokenizer = open_tokenizer(args, path, &llama.model);
    generation_config_read(llama.path, &llama.settings.sampling, &llama.model.config);
    add_chatml_end(&llama.model.config, llama.tokenizer);
    llama.settings.sampling = args_sampling(args, llama.settings.sampling);
    const char *weights = tensor_type(&llama.model.lm_head);
    if (args->bf16 && strcmp(weights, "BF16") != 0)
        fail("--bf16-activations: the weights of %s are %s, not BF16: leave it out", path, weights);
    return llama;
}

void llama_close(Llama *llama) {
    tokenizer_close(llama->tokenizer);
    model_close(&llama->model);
    free(llama->path);
    free(llama->tokenizer_path);
}

int llama_context(const Llama *llama, size_t needed) {
    int most = config_context(&llama->model.config);
    const char *said = llama->args->context;
    if (said) return (int)option_number("ctx-size", said, 1, (unsigned long)most);
    return needed < (size_t)most ? (int)needed : most;
}

/* ------------------------------------------------------------------ prefill */

volatile sig_atomic_t interrupted;

Session session_new(const Llama *llama, size_t needed) {
    const Settings *settings = &llama->settings;
    Generation generation =
        generation_new(&llama->model, llama->kernels, llama_context(llama, needed),
                       settings->sampling, settings->seed);
    generation.ignore_eos = llama->args->ignore_eos;
    if (settings->logprobs >= 0)
        generation.before = xmalloc((size_t)llama->model.config.V * sizeof(float));
    return (Session){.llama = llama, .generation = generation};
}

/* How many of these tokens are in the cache already. One at least is left to read, for the logits
 * after it. */
static size_t in_common(const Generation *g, size_t count, const int ids[count]) {
    size_t same = 0, length = (size_t)g->decoder.length;
    while (same < length && same + 1 < count && g->ids[same] == ids[same]) same++;
    return same;
}

void session_read(Session *s, size_t count, const int ids[count]) {
    double start = seconds();
    const Config *config = &s->llama->model.config;
    size_t known = in_common(&s->generation, count, ids);
    int capacity = s->generation.decoder.capacity;
    if (count > (size_t)capacity)
        fail("%zu tokens are more than a context of %d has room for, %s", count, capacity,
             capacity < config_context(config) ? "which --ctx-size widens" : config_limit(config));
    kv_cache_truncate(&s->generation, (int)known);
    prefill(&s->generation, (int)(count - known), ids + known);
    s->read += (int)(count - known);
    s->reading += seconds() - start;
}

/* ------------------------------------------------------------------ generation */

static void print_id(void *context, int id) {
    const Session *s = context;
    printf(s->generation.chosen > 1 ? " %d" : "%d", id);
    fflush(stdout);
}

static void print_probability(const Session *s, int id) {
    const Generation *g = &s->generation;
    size_t length = 0;
    bool has_text = id < tokenizer_size(s->llama->tokenizer);
    const char *bytes = has_text ? tokenizer_bytes(s->llama->tokenizer, id, &length) : "";
    if (length == 0 && has_text) bytes = tokenizer_piece(s->llama->tokenizer, id, &length);
    if (s->llama->args->ids) printf("%d", id);
    else if (!has_text) printf("[%d]", id);
    else print_bytes(length, bytes);
    double p = log_probability(s->llama->model.config.V, g->before, id);
    printf(" %.4f", p > -0.00005 ? 0 : p); /* and not -0.0000 */
}

/* A line for the token: itself, and the most likely ones, each with log p. */
static void print_probabilities(void *context, int id) {
    Session *s = context;
    int V = s->llama->model.config.V, count = s->llama->settings.logprobs;
    float *left = xmalloc((size_t)V * sizeof *left);
    memcpy(left, s->generation.before, (size_t)V * sizeof *left);
    print_probability(s, id);
    for (int i = 0; i < count && i < V; i++) {
        int next = argmax(V, left);
        left[next] = -INFINITY;
        putchar('\t');
        print_probability(s, next);
    }
    putchar('\n');
    fflush(stdout);
    free(left);
}

FinishReason session_write(Session *s, bool skip_space, int most, FILE *also) {
    Stream stream = {.file = stdout,
                     .also = also,
                     .skip_space = skip_space,
                     .stop = &interrupted,
                     .context = s,
                     .ends = s->llama->args->stops[0] ? s->llama->args->stops : NULL};
    if (s->generation.before) stream.each = print_probabilities;
    else if (s->llama->args->ids) stream.each = print_id;
    double start = seconds();
    FinishReason ending = generate(&s->generation, s->llama->tokenizer, &stream, most);
    if (ferror(stdout) && !interrupted)
        exit(1); /* nobody can read it: finish_output() prints why */
    stream_end(&stream);
    if (interrupted) clearerr(stdout); /* text that Ctrl-C cut off is no error */
    s->writing += seconds() - start;
    return ending;
}

/* ------------------------------------------------------------------ speed */

/* The bytes that are read from memory for one more token: every weight once, and the cache. */
static double bytes_per_token(const Model *model, int length) {
    const Config *c = &model->config;
    double bytes = (double)tensor_bytes(&model->lm_head);
    for (int l = 0; l < c->L; l++) {
        const Layer *layer = &model->layers[l];
        const Tensor *const weights[] = {&layer->q_proj,   &layer->k_proj,    &layer->v_proj,
                                         &layer->o_proj,   &layer->gate_proj, &layer->up_proj,
                                         &layer->down_proj};
        for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
            bytes += (double)tensor_bytes(weights[i]);
    }
    return bytes + 2.0 * c->L * length * c->KV * c->D * sizeof(float);
}

static void print_speed(const Session *s) {
    int written = s->generation.chosen;
    char prefill[RATE_TEXT], rate[RATE_TEXT], of_memory[SHARE_TEXT];
    double reads = s->reading > 0 ? s->read / s->reading : 0,
           writes = s->writing > 0 ? written / s->writing : 0;
    double bytes = bytes_per_token(&s->llama->model, s->generation.decoder.length);
    fprintf(stderr, "prompt: %d token%s, %s a second; written: %d token%s", s->read,
            s->read == 1 ? "" : "s", rate_text(prefill, reads), written, written == 1 ? "" : "s");
    if (written > 0)
        fprintf(
            stderr, ", %s a second, %s", rate_text(rate, writes),
            share_text(of_memory, writes * bytes / read_bandwidth(thread_count(), SOME_MEMORY)));
    fprintf(stderr, "; seed %lu\n", s->llama->settings.seed);
}

void session_end(Session *s) {
    fflush(stdout);
    if (!s->llama->args->quiet) print_speed(s);
    generation_free(&s->generation);
}
