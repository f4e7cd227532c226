/* Writes the data of this chapter's figures: the versions of matmul, and one decoder layer
 * beside the machine's limits. */
#include "09_decoder/decoder.h"
#include "09_decoder/presets.h"
#include "12_speed/climb.h"
#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/timer.h"

#include <stdlib.h>
#include <string.h>

/* ---- the ladder */

static void ladder(const char *data) {
    int count;
    const Step *steps = matmul_benchmarks(&count);
    Output file =
        data_open(data, "12_ladder",
                  "rung, rows, operations per byte of weights, then predicted and measured: "
                  "of the FMA peak, of the read bandwidth");
    Task tasks[] = {task_new(1), task_new(MANY)};
    for (int n = 0; n < count; n++)
        for (Task *task = tasks; task < tasks + 2; task++) {
            Speed s = speed_of(&steps[n], task);
            double reading = s.operations * s.bandwidth;
            fprintf(file.file, "%d %d %g %.4f %.4f %.4f %.4f\n", n, task->rows, s.operations,
                    s.predicted / s.fma, s.measured / s.fma, s.predicted / reading,
                    s.measured / reading);
        }
    task_free(&tasks[0]);
    task_free(&tasks[1]);
    output_close(&file);
}

/* ---- one layer of a Llama 3.2 1B, with weights from nowhere */

#ifdef UNTIMED /* an emulator gets a narrow one */
enum { NARROWER = 8, TURNS = 1 };
#else
enum { NARROWER = 1, TURNS = 9 };
#endif

static double layer_weights(const Config *c) {
    return (double)c->C * (2.0 * c->H * c->D + 2.0 * c->KV * c->D + 3.0 * c->F);
}

/* For the layer's matrices, and an embedding of one row. */
static size_t weight_bytes(const Config *c, DType dtype) {
    return (size_t)(layer_weights(c) + c->C) * dtype_size(dtype);
}

/* The next of the matrices, which lie one after the other. */
static Tensor random_matrix(DType dtype, char **next, int rows, int columns) {
    Tensor t = {.name = "random",
                .dtype = dtype,
                .rank = 2,
                .shape = {(size_t)rows, (size_t)columns},
                .data = *next};
    size_t count = (size_t)rows * columns, size = dtype_size(dtype);
    for (size_t i = 0; i < count; i++, *next += size) {
        float number = (float)((i * 7919) % 1009) / 1009 - 0.5F;
        bf16 half = bf16_from_float(number);
        memcpy(*next, size == 4 ? (void *)&number : (void *)&half, size);
    }
    return t;
}

static Model one_layer(DType dtype) {
    Model model = {.config = config_preset("llama-3.2-1b"), .layers = xmalloc(sizeof(Layer))};
    Config *c = &model.config;
    c->L = 1;
    c->V = 1;
    c->C /= NARROWER;
    c->F /= NARROWER;
    c->H /= NARROWER;
    c->KV /= NARROWER;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    size_t bytes = weight_bytes(c, dtype);
    char *next = xmalloc(
        2 *
        bytes); /* as much again, for a limit to read, which then finds nothing of it in a cache */
    memset(next + bytes, 0, bytes);
    float *ones = model.norm = xmalloc((size_t)C * sizeof *ones);
    for (int i = 0; i < C; i++) ones[i] = 1;
    Layer *l = model.layers;
    *l = (Layer){.input_layernorm = ones, .post_attention_layernorm = ones};
    l->q_proj = random_matrix(dtype, &next, queries, C);
    l->k_proj = random_matrix(dtype, &next, keys, C);
    l->v_proj = random_matrix(dtype, &next, keys, C);
    l->o_proj = random_matrix(dtype, &next, C, queries);
    l->gate_proj = random_matrix(dtype, &next, F, C);
    l->up_proj = random_matrix(dtype, &next, F, C);
    l->down_proj = random_matrix(dtype, &next, C, F);
    model.embed_tokens = model.lm_head = random_matrix(dtype, &next, 1, C);
    return model;
}

static void one_layer_free(Model *model) {
    free((void *)model->layers->q_proj.data);
    free(model->norm);
    free(model->layers);
}

/* T tokens after `length` others, which nobody read: what the cache holds does not change how fast
 * it is. */
typedef struct {
    Decoder *decoder;
    size_t bytes; /* of the weights */
    int threads, T, length;
} Reading;

/* One token: the bytes of the weights, and of all keys and values. A prompt: the operations. */
static double read_tokens(const void *context, int, int) {
    const Reading *r = context;
    const Config *c = &r->decoder->model->config;
    int T = r->T, ids[T];
    memset(ids, 0, sizeof ids);
    r->decoder->length = r->length;
    decoder_eval(r->decoder, T, ids);
    if (T == 1) return (double)r->bytes + 2.0 * (r->length + 1) * c->KV * c->D * sizeof(float);
    return 2 * layer_weights(c) * T + 2.0 * c->H * c->D * T * (T + 1);
}

static double read_as_much(const void *context, int, int way) {
    const Reading *r = context;
    return read_memory(r->threads, way, r->bytes,
                       (const char *)r->decoder->model->layers->q_proj.data + r->bytes);
}

static double multiply(const void *context, int, int) {
    return multiply_adds(((const Reading *)context)->threads);
}

/* The layer's speed as a share of the limit's: reading for one token, multiply-adds for a prompt.
 */
static double share(const Model *model, int threads, int T, int length) {
    Decoder decoder = decoder_new(model, &fast_kernels, length + T);
    size_t cached = (size_t)(length + T) * model->config.KV * model->config.D * sizeof(float);
    memset(decoder.keys, 0, cached);
    memset(decoder.values, 0, cached);
    Reading reading = {&decoder, weight_bytes(&model->config, model->lm_head.dtype), threads, T,
                       length};
    use_threads(threads);
    double share =
        T == 1 ? median_share(read_tokens, read_as_much, READING_WAYS, &reading, TURNS, threads)
               : median_share(read_tokens, multiply, 1, &reading, TURNS, threads);
    decoder_free(&decoder);
    return share;
}

static void measure_layer(const Model *model, int threads, Table *table) {
    static const int lengths[] = {64, 1024, 4096}, prompts[] = {16, 32, 64, 128};
    const DType dtype = model->lm_head.dtype;
    double shares[7];
    for (int k = 0; k < 7; k++) {
        bool decode = k < 3;
        int tokens = decode ? lengths[k] : prompts[k - 3];
        shares[k] = decode ? share(model, threads, 1, tokens) : share(model, threads, tokens, 0);
    }
    table_row(table, "%s|%d|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%",
              dtype_name(dtype), threads, 100 * shares[0], 100 * shares[1], 100 * shares[2],
              100 * shares[3], 100 * shares[4], 100 * shares[5], 100 * shares[6]);
}

static void layer(void) {
    int most = thread_count();
    section("One layer of a Llama 3.2 1B");
    Table table = {0};
    table_row(&table,
              "weights|threads|decode after 64|after 1024|after 4096|prefill of 16|32|64|128");
    for (DType dtype = F32; dtype <= BF16; dtype++) {
        Model model = one_layer(dtype);
        for (int threads = 1; threads <= most; threads += most > 1 ? most - 1 : 1)
            measure_layer(&model, threads, &table);
        one_layer_free(&model);
    }
    table_print(&table, stdout);
    printf("Decode as a percentage of the read bandwidth, prefill of the FMA peak.\n");
}

int main(int argc, char **argv) {
    const char *data = chapter_options(
        argc, argv,
        "The data of chapter 12's figures, and the speed of a layer beside this machine's limits.");
    if (data) ladder(data);
    layer();
}
