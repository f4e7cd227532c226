/* How fast is the decoder, beside what this machine can do? A random Llama of 1.1 billion weights
 * (the shape of TinyLlama) is written to a scratch folder in F32, BF16, F16 and three formats of
 * blocks, one after the other, and removed again.
 *
 *     decode    tokens one by one, 64 and more before them. Bytes: every matrix and norm once, one
 * row of the embedding, the keys and values so far. Beside the memory's read bandwidth. prefill   a
 * prompt at once. Operations: two for each weight and token but those of the embedding and the
 * logits, four for each pair of a query and a key it sees and each number of a head. Beside the FMA
 * peak.
 *
 * Where BF16 dot products pay, BF16 is tried once more with what meets the weights rounded to it
 * (llama --bf16-activations), and prefill stands beside the peak of these. So does that of blocks
 * beside dot products of bytes, where there are such.
 *
 * Limit and decoder are measured in turns, layer by layer, for the machine may be shared, and what
 * it gives then changes from one moment to the next: after each layer there is a go at the limit.
 * Each token's work and time stand beside those of its own goes, and what is told is the median of
 * the tokens, or of the prompts: who disturbs one of them changes little. The limit of reading is
 * the best of several ways, tried on the weights of layers far away; which that is, the first
 * tokens tell, which are not counted: the best of several noisy means would be too good. A process
 * of its own tells how soon the first token comes, and how much memory a text takes. */
#include "06_grouped_query/grouped_query.h"
#include "09_decoder/decoder.h"
#include "11_generation/sampling.h"
#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "12_speed/pairs.h"
#include "13_quantization/quantization.h"
#include "14_engine/formats/model_open_any.h"
#include "common/console.h"
#include "common/error.h"
#include "common/gguf.h"
#include "common/options.h"
#include "common/random.h"
#include "common/safetensors.h"
#include "common/timer.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    PATH = 4096,
    PERIOD = 65521, /* random numbers, before they begin again: no multiple of a row's length */
    PROMPTS = 3,    /* that are read, one after the other */
    GOES = 4,       /* at the peak, after each layer */
    CONTEXT = 64,   /* tokens before the first that is decoded */
    TRIED = 6,      /* tokens in which the best way of reading is found */
    DECODED = 24,   /* tokens whose speed is told */
    PROMPT = 8,     /* tokens before the first that comes */
    STARTS = 3,     /* of a process, of which the fastest counts */
    TEXT = 640,     /* tokens in the text whose memory is counted */
    LINE = 64,      /* the limit of reading begins at a multiple of it */
};

static const Config shape = {.C = 2048, .F = 5632, .L = 22, .H = 32, .KV = 4, .D = 64, .V = 32000};

/* ------------------------------------------------------------------ the model */

/* As random as a benchmark needs: between 0.01 and 0.04, with either sign; no F16 of it is
 * subnormal. */
static char *random_weights(DType dtype, size_t count) {
    size_t size = dtype_size(dtype);
    char *weights = xmalloc(count * size);
    Random random = {.state = 1};
    for (size_t i = 0; i < PERIOD; i++) {
        float number =
            (float)(0.01 + 0.03 * random_uniform(&random)) * (random_bits(&random) & 1 ? 1 : -1);
        uint16_t half = dtype == BF16 ? bf16_from_float(number) : f16_from_float(number);
        memcpy(weights + i * size, dtype == F32 ? (void *)&number : (void *)&half, size);
    }
    for (size_t i = PERIOD; i < count; i++)
        memcpy(weights + i * size, weights + (i - PERIOD) * size, size);
    return weights;
}

typedef struct {
    DType dtype;
    const char *weights; /* as many as the largest matrix has: all begin with the same */
    size_t count;
    Tensor tensors[256];
    char names[256][64];
} Checkpoint;

/* [rows][columns], or a norm [columns] where rows is 0. */
__attribute__((format(printf, 4, 5))) static void add(Checkpoint *to, int rows, int columns,
                                                      const char *format, ...) {
    char *name = to->names[to->count];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof *to->names, format, arguments);
    va_end(arguments);
    Tensor tensor = {.name = name, .dtype = to->dtype, .rank = rows ? 2 : 1, .data = to->weights};
    tensor.shape[0] = (size_t)(rows ? rows : columns);
    tensor.shape[1] = (size_t)(rows ? columns : 0);
    to->tensors[to->count++] = tensor;
}

static void write_weights(const char *path, DType dtype) {
    static Checkpoint file;
    int C = shape.C, F = shape.F, queries = shape.H * shape.D, keys = shape.KV * shape.D;
    char *weights = random_weights(dtype, (size_t)shape.V * C);
    file = (Checkpoint){.dtype = dtype, .weights = weights};
    add(&file, shape.V, C, "model.embed_tokens.weight");
    for (int l = 0; l < shape.L; l++) {
        add(&file, 0, C, "model.layers.%d.input_layernorm.weight", l);
        add(&file, queries, C, "model.layers.%d.self_attn.q_proj.weight", l);
        add(&file, keys, C, "model.layers.%d.self_attn.k_proj.weight", l);
        add(&file, keys, C, "model.layers.%d.self_attn.v_proj.weight", l);
        add(&file, C, queries, "model.layers.%d.self_attn.o_proj.weight", l);
        add(&file, 0, C, "model.layers.%d.post_attention_layernorm.weight", l);
        add(&file, F, C, "model.layers.%d.mlp.gate_proj.weight", l);
        add(&file, F, C, "model.layers.%d.mlp.up_proj.weight", l);
        add(&file, C, F, "model.layers.%d.mlp.down_proj.weight", l);
    }
    add(&file, 0, C, "model.norm.weight");
    add(&file, shape.V, C, "lm_head.weight");
    safetensors_save(path, file.count, file.tensors, 0, NULL);
    free(weights);
}

static void write_config(const char *path) {
    Output output = output_open(path);
    fprintf(output.file,
            "{\"model_type\": \"llama\", \"hidden_size\": %d, \"intermediate_size\": %d, "
            "\"num_hidden_layers\": %d, \"num_attention_heads\": %d, \"num_key_value_heads\": %d, "
            "\"vocab_size\": %d}\n",
            shape.C, shape.F, shape.L, shape.H, shape.KV, shape.V);
    output_close(&output);
}

static const char *path_in(char path[static PATH], const char *folder, const char *name) {
    if (snprintf(path, PATH, "%s/%s", folder, name) >= PATH)
        fail("%.80s…: too long a path", folder);
    return path;
}

/* -------------------------------------------------------------- the same in blocks, a GGUF file */

typedef struct {
    GgufTensor tensors[256];
    char names[256][64];
    size_t count;
} Blocked;

__attribute__((format(printf, 5, 6))) static void
add_blocked(Blocked *to, GgufType type, int rows, int columns, const char *format, ...) {
    GgufTensor *tensor = &to->tensors[to->count];
    char *name = to->names[to->count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof *to->names, format, arguments);
    va_end(arguments);
    *tensor = (GgufTensor){.name = name, .type = rows ? type : GGUF_TYPE_F32, .rank = rows ? 2 : 1};
    tensor->shape[0] = (size_t)(rows ? rows : columns);
    tensor->shape[1] = (size_t)(rows ? columns : 0);
    tensor->bytes = (size_t)(rows ? rows : 1) * (size_t)columns / gguf_block_numbers(tensor->type) *
                    gguf_block_bytes(tensor->type);
}

/* Random levels with scales that make weights about as large as the others; a norm is all ones. */
static void fill_blocks(void *context, size_t index, void *bytes) {
    const GgufTensor *tensor = &((const Blocked *)context)->tensors[index];
    const float one = 1;
    const f16 scale = f16_from_float(tensor->type == GGUF_TYPE_Q8_0   ? 0.0003f
                                     : tensor->type == GGUF_TYPE_Q4_0 ? 0.005f
                                                                      : 0.0002f);
    const f16 scales[] = {scale,
                          f16_from_float(0.0015f)}; /* and of the minima, where there are some */
    size_t block = gguf_block_bytes(tensor->type);
    Random random = {.state = index + 1};
    char *to = bytes;
    for (size_t i = 0; i < tensor->bytes; i++)
        to[i] = i < PERIOD ? (char)random_bits(&random) : to[i - PERIOD];
    for (size_t i = 0; i < tensor->bytes; i += block)
        memcpy(to + i, tensor->rank == 1 ? (void *)&one : (void *)scales,
               tensor->rank == 1 || tensor->type == GGUF_TYPE_Q4_K ? 4 : 2);
}

static void write_blocks(const char *path, GgufType type) {
    static Blocked file;
    GgufPairs pairs = {0};
    int C = shape.C, F = shape.F, queries = shape.H * shape.D, keys = shape.KV * shape.D;
    gguf_add_text(&pairs, "general.architecture", "llama");
    gguf_add_u32(&pairs, "llama.block_count", (uint32_t)shape.L);
    gguf_add_u32(&pairs, "llama.context_length", 2048);
    gguf_add_u32(&pairs, "llama.embedding_length", (uint32_t)C);
    gguf_add_u32(&pairs, "llama.feed_forward_length", (uint32_t)F);
    gguf_add_u32(&pairs, "llama.attention.head_count", (uint32_t)shape.H);
    gguf_add_u32(&pairs, "llama.attention.head_count_kv", (uint32_t)shape.KV);
    gguf_add_f32(&pairs, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    file.count = 0;
    add_blocked(&file, type, shape.V, C, "token_embd.weight");
    for (int l = 0; l < shape.L; l++) {
        add_blocked(&file, type, 0, C, "blk.%d.attn_norm.weight", l);
        add_blocked(&file, type, queries, C, "blk.%d.attn_q.weight", l);
        add_blocked(&file, type, keys, C, "blk.%d.attn_k.weight", l);
        add_blocked(&file, type, keys, C, "blk.%d.attn_v.weight", l);
        add_blocked(&file, type, C, queries, "blk.%d.attn_output.weight", l);
        add_blocked(&file, type, 0, C, "blk.%d.ffn_norm.weight", l);
        add_blocked(&file, type, F, C, "blk.%d.ffn_gate.weight", l);
        add_blocked(&file, type, F, C, "blk.%d.ffn_up.weight", l);
        add_blocked(&file, type, C, F, "blk.%d.ffn_down.weight", l);
    }
    add_blocked(&file, type, 0, C, "output_norm.weight");
    add_blocked(&file, type, shape.V, C, "output.weight");
    gguf_save(path, pairs.count, pairs.pairs, file.count, file.tensors, fill_blocks, &file);
    gguf_pairs_free(&pairs);
}

/* ------------------------------------------------------------------ where it is written */

static void write_model(const char *folder, DType dtype) {
    char path[PATH];
    write_config(path_in(path, folder, "config.json"));
    write_weights(path_in(path, folder, "model.safetensors"), dtype);
}

/* What Linux says in such a file, in bytes; 0 where there is none. */
static double said_in(const char *path, const char *key) {
    double kilobytes = 0;
    char line[256];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0) sscanf(line + strlen(key), "%lf", &kilobytes);
    if (file) fclose(file);
    return 1024 * kilobytes;
}

/* The first of the folders in which so many bytes find room, and 1 GB more. Weights that do not fit
 * into memory would be read from the disk, and the numbers would be the disk's. */
static const char *folder_with_room(double bytes, int count, char **folders) {
    double memory = said_in("/proc/meminfo", "MemAvailable:");
    for (int i = 0; i < count && (memory == 0 || memory > bytes + 1e9); i++) {
        struct statvfs disk;
        if (statvfs(folders[i], &disk) != 0) fail("%s: %s", folders[i], strerror(errno));
        if ((double)disk.f_bavail * (double)disk.f_frsize > bytes + 1e9) return folders[i];
    }
    return NULL;
}

/* -------------------------------------------------- what the decoder does, and how much that is */

/* Of a number of the weights. */
static double number_bytes(const Model *model) {
    const Tensor *first = &model->embed_tokens;
    return first->quant_type ? (double)first->quant_type->bytes / first->quant_type->numbers
                             : (double)dtype_size(first->dtype);
}

static double decode_bytes(const Model *model, int length) {
    double numbers = (double)config_parameters(&shape) -
                     (shape.V - 1.0) * shape.C; /* of the embedding one row */
    return numbers * number_bytes(model) +
           (double)length * (double)kv_bytes_per_token(shape.L, shape.KV, shape.D, sizeof(float));
}

/* Of all layers: what is neither embedding nor logits. */
static double layer_weights(void) {
    return (double)config_parameters(&shape) - 2.0 * shape.V * shape.C;
}

static double prefill_operations(int T) {
    double pairs = T * (T + 1.0) / 2;
    return 2 * layer_weights() * T + 4 * pairs * shape.L * shape.H * shape.D;
}

static int choose(const Decoder *decoder) {
    float logits[shape.V];
    decoder_logits(decoder, logits);
    return argmax(shape.V, logits);
}

static void read_prompt(Decoder *decoder, int T) {
    int ids[T];
    for (int t = 0; t < T; t++) ids[t] = (t * 7919 + 1) % shape.V;
    decoder_eval(decoder, T, ids);
}

/* ------------------------------------------------------------------ beside the limits */

/* Bytes or operations, and how long they took. */
typedef struct {
    double work, time;
} Tally;

enum { EACH = -1 };

typedef struct {
    const Model *model;
    int threads;
    double (*peak)(int threads); /* NULL: the limit is reading */
    int way;                     /* of reading; or EACH in turn */
    Tally ways[READING_WAYS];
    Tally limit; /* all goes during this token or prompt */
} Turns;

/* After each layer. */
static void measure_limit(void *context, int stage, int, int T, int C, const float[T][C]) {
    Turns *t = context;
    int layer = stage / 2, way = t->way == EACH ? layer % READING_WAYS : t->way;
    if (stage % 2) return; /* between attention and feed-forward */
    double work = 0, start = work_seconds(t->threads);
    if (t->peak)
        for (int n = 0; n < GOES; n++) work += t->peak(t->threads);
    else {
        Tensor first = t->model->layers[(layer + shape.L / 2) % shape.L].q_proj;
        double bytes = layer_weights() / shape.L * number_bytes(t->model);
        const char *memory = (const char *)first.data + LINE - (size_t)first.data % LINE;
        work = read_memory(t->threads, way, (size_t)bytes - LINE, memory);
    }
    double time = work_seconds(t->threads) - start;
    t->limit.work += work;
    t->limit.time += time;
    t->ways[way].work += work;
    t->ways[way].time += time;
}

static int best_way(const Turns *t) {
    int best = 0;
    for (int way = 1; way < READING_WAYS; way++)
        if (t->ways[way].work / t->ways[way].time > t->ways[best].work / t->ways[best].time)
            best = way;
    return best;
}

/* Seconds of the decoder, without those of the limit's goes: one more token, or a prompt of T. */
static double time_of_piece(Turns *t, Decoder *decoder, int T) {
    decoder->hook = measure_limit;
    decoder->context = t;
    t->limit = (Tally){0};
    double start = work_seconds(t->threads);
    if (T == 1) {
        int id = choose(decoder);
        decoder_eval(decoder, 1, &id);
    } else read_prompt(decoder, T);
    return work_seconds(t->threads) - start - t->limit.time;
}

/* Tokens a second, and the share of the bandwidth. */
static double decode_speed(const Model *model, const Kernels *kernels, int threads, double *share) {
    Turns turns = {.model = model, .threads = threads, .way = EACH};
    double shares[DECODED], all = 0;
    Decoder decoder = decoder_new(model, kernels, CONTEXT + TRIED + DECODED);
    read_prompt(&decoder, CONTEXT);
    for (int n = 0; n < TRIED; n++) time_of_piece(&turns, &decoder, 1);
    turns.way = best_way(&turns);
    for (int n = 0; n < DECODED; n++) {
        double time = time_of_piece(&turns, &decoder, 1);
        shares[n] =
            decode_bytes(model, decoder.length) / time / (turns.limit.work / turns.limit.time);
        all += time;
    }
    decoder_free(&decoder);
    *share = median(DECODED, shares);
    return DECODED / all;
}

/* The same of prompts of T tokens, and the share of the peak. */
static double prefill_speed(const Model *model, const Kernels *kernels, double peak(int),
                            int threads, int T, double *share) {
    Turns turns = {.model = model, .threads = threads, .peak = peak};
    double shares[PROMPTS], all = 0;
    for (int n = 0; n < PROMPTS; n++) {
        Decoder decoder = decoder_new(model, kernels, T);
        double time = time_of_piece(&turns, &decoder, T);
        shares[n] = prefill_operations(T) / time / (turns.limit.work / turns.limit.time);
        all += time;
        decoder_free(&decoder);
    }
    *share = median(PROMPTS, shares);
    return PROMPTS * T / all;
}

typedef struct {
    const char *name;
    double (*go)(int threads);
} Peak;

static Peak peak_of(const Model *model, const Kernels *kernels) {
    if (kernels == &bf16_kernels) return (Peak){"BF16 dot products", multiply_bf16_pairs};
    if (model->embed_tokens.quant_type && multiply_bytes(1) > 0)
        return (Peak){"byte dot products", multiply_bytes};
    return (Peak){"FMA", multiply_adds};
}

static void bench_row(Table *table, const Model *model, const Kernels *kernels, const char *name,
                      int threads) {
    double decode, short_prompt, long_prompt;
    Peak peak = peak_of(model, kernels);
    fprintf(stderr, "\r\033[K%s on %d thread%s…", name, threads, threads == 1 ? "" : "s");
    use_threads(threads);
    double written = decode_speed(model, kernels, threads, &decode);
    prefill_speed(model, kernels, peak.go, threads, 128, &short_prompt);
    double read = prefill_speed(model, kernels, peak.go, threads, 512, &long_prompt);
    table_row(table, "%s%s|%d|%.1f|%.0f %%|%.0f %%|%.0f %%|%s|%.0f", name,
              kernels == &bf16_kernels ? ", rounded" : "", threads, written, 100 * decode,
              100 * short_prompt, 100 * long_prompt, peak.name, read);
}

/* ------------------------------------------------------------------ a process of its own */

/* Reads a text of T tokens; prints when the token after the first PROMPT was known, and at the end
 * the most pages that ever lay in memory for this process, those of mapped files among them
 * (VmHWM), in bytes. */
static void read_text(const char *folder, int T) {
    Model model = model_open(folder);
    Decoder decoder = decoder_new(&model, &fast_kernels, T);
    read_prompt(&decoder, PROMPT);
    int id = choose(&decoder);
    double first = seconds();
    if (T > PROMPT) read_prompt(&decoder, T - PROMPT);
    printf("%.6f %.0f %d\n", first, said_in("/proc/self/status", "VmHWM:"), id);
}

static double run_text(const char *program, const char *folder, int T, double *peak) {
    char command[3 * PATH];
    double first, start = seconds();
    snprintf(command, sizeof command, "exec '%s' --text %d '%s'", program, T, folder);
    FILE *process = popen(command, "r");
    if (!process || fscanf(process, "%lf %lf", &first, peak) != 2 || pclose(process) != 0)
        fail("cannot run %s", command);
    return first - start;
}

static void bench_process(const char *folder, DType dtype) {
    char program[PATH] = "";
    double peak, best = INFINITY;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return; /* no Linux */
    fprintf(stderr, "\r\033[K%s from its start…", dtype_name(dtype));
    for (int start = 0; start < STARTS; start++)
        best = fmin(best, run_text(program, folder, PROMPT, &peak));
    run_text(program, folder, TEXT, &peak);
    double weights = (double)config_parameters(&shape) * (double)dtype_size(dtype);
    double cache =
        (double)TEXT * (double)kv_bytes_per_token(shape.L, shape.KV, shape.D, sizeof(float));
    fprintf(stderr, "\r\033[K");
    printf("%s, from the start of the process to the first token after %d, weights in the page "
           "cache: %.2f s (best of %d)\n",
           dtype_name(dtype), PROMPT, best, STARTS);
    printf("%s, peak memory with a text of %d tokens, mapped weights included (VmHWM): %.0f MiB = "
           "weights %.0f + KV cache %.0f + %.0f\n",
           dtype_name(dtype), TEXT, peak / 0x1p20, weights / 0x1p20, cache / 0x1p20,
           (peak - weights - cache) / 0x1p20);
}

/* ------------------------------------------------------------------ all of it */

static void print_limits(int threads) {
    double pairs = bf16_peak(threads);
    printf("Limits of %d thread%s: memory is read at %.1f GB/s, FMA peak %.0f GFLOP/s, ", threads,
           threads == 1 ? "" : "s", read_bandwidth(threads, MUCH_MEMORY) / 1e9,
           fma_peak(threads) / 1e9);
    if (pairs > 0) printf("BF16 dot products %.0f GFLOP/s", pairs / 1e9);
    else printf("no BF16 dot products");
    double bytes = byte_peak(threads);
    if (bytes > 0) printf(", byte dot products %.0f Gop/s\n", bytes / 1e9);
    else printf(", no byte dot products\n");
}

static void bench_dtype(Table *table, int count, char **folders, DType dtype) {
    double bytes = (double)config_parameters(&shape) * (double)dtype_size(dtype);
    const char *folder = folder_with_room(bytes, count, folders);
    if (!folder) {
        printf("%s is left out: there is no room for %.1f GB, in memory or in the folder.\n",
               dtype_name(dtype), bytes / 1e9);
        return;
    }
    fprintf(stderr, "\r\033[K%s is written to %s…", dtype_name(dtype), folder);
    write_model(folder, dtype);
    if (dtype == BF16) bench_process(folder, dtype);
    Model model = model_open(folder);
    char path[PATH]; /* as long as they are mapped, they are there */
    unlink(path_in(path, folder, "config.json"));
    unlink(path_in(path, folder, "model.safetensors"));
    const int threads[] = {1, thread_count()};
    for (int rounds = 0; rounds <= (dtype == BF16 && bf16_dots_pay()); rounds++)
        for (int i = 0; i < 1 + (threads[1] > 1); i++)
            bench_row(table, &model, rounds ? &bf16_kernels : &fast_kernels, dtype_name(dtype),
                      threads[i]);
    model_close(&model);
    fprintf(stderr, "\r\033[K");
}

static void bench_blocks(Table *table, int count, char **folders, GgufType type) {
    const QuantType *blocks = format_of_type((int)type);
    double bytes = (double)config_parameters(&shape) * blocks->bytes / blocks->numbers;
    const char *folder = folder_with_room(bytes, count, folders);
    if (!folder) {
        printf("%s is left out: there is no room for %.1f GB, in memory or in the folder.\n",
               blocks->name, bytes / 1e9);
        return;
    }
    char path[PATH];
    fprintf(stderr, "\r\033[K%s is written to %s…", blocks->name, folder);
    write_blocks(path_in(path, folder, "model.gguf"), type);
    Model model = model_open_any(path);
    unlink(path);
    const int threads[] = {1, thread_count()};
    for (int i = 0; i < 1 + (threads[1] > 1); i++)
        bench_row(table, &model, &fast_kernels, blocks->name, threads[i]);
    model_close(&model);
    fprintf(stderr, "\r\033[K");
}

int main(int argc, char **argv) {
    const char *text = NULL, *write_only = NULL;
    const Option options[] = {
        {"text", "N", "only read a text of N tokens with the model in FOLDER", &text},
        {"write", NULL, "only write the model to FOLDER, in BF16", &write_only}};
    int rest =
        parse_options(argc, argv, "FOLDER…",
                      "The decoder's speed and memory, with a random Llama of 1.1 billion weights "
                      "that is written for a while to the first FOLDER that has room.",
                      2, options);
    if (rest == argc) fail("name a folder for the weights: see %s --help", argv[0]);
    if (write_only) return write_model(argv[rest], BF16), 0;
    if (text) return read_text(argv[rest], atoi(text)), 0;

    const GgufType formats[] = {GGUF_TYPE_Q8_0, GGUF_TYPE_Q4_0, GGUF_TYPE_Q4_K};
    print_limits(1);
    if (thread_count() > 1) print_limits(thread_count());
    Table table = {0};
    table_row(&table, "1.1B|threads|decode, tokens/s|of read bandwidth|prefill 128|prefill 512|of "
                      "the peak of|prefill 512, tokens/s");
    for (DType dtype = F32; dtype <= F16; dtype++)
        bench_dtype(&table, argc - rest, argv + rest, dtype);
    for (int f = 0; f < 3; f++) bench_blocks(&table, argc - rest, argv + rest, formats[f]);
    table_print(&table, stdout);
    return 0;
}
