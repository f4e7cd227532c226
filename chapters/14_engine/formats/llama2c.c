#include "14_engine/formats/llama2c.h"
#include "common/error.h"
#include "common/file.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 7 * sizeof(int32_t) };

/* The mapped file that the weights lie in. */
typedef struct {
    void *mapping;
    size_t size;
    void *turned; /* the same, where this machine has another byte order */
} Bin;

static void map_bin(Bin *bin, const char *path) {
    char why[FILE_WHY];
    *bin = (Bin){0};
    if (!file_map(path, &bin->mapping, &bin->size, why)) fail("%s: %s", path, why);
    if (bin->size < HEADER)
        fail("%s: %zu bytes do not even hold the header of a .bin: truncated, or no .bin of "
             "llama2.c",
             path, bin->size);
}

static Config bin_config(const char *path, const int32_t header[7]) {
    static const char *const names[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                        "n_kv_heads", "vocab_size", "seq_len"};
    if (header[0] == 0x616b3432)
        fail("%s: a later format of llama2.c: export it as version 0", path);
    for (int i = 0; i < 7; i++) {
        int64_t size = i == 5 && header[i] < 0 ? -(int64_t)header[i] : header[i];
        if (size < 1 || size > (i == 2 ? MOST_LAYERS : MOST_WIDTH))
            fail("%s: its header says %s = %d: this is no .bin of llama2.c: name one, a .gguf or a "
                 "model's folder",
                 path, names[i], header[i]);
    }
    Config config = {.C = header[0],
                     .F = header[1],
                     .L = header[2],
                     .H = header[3],
                     .KV = header[4],
                     .V = abs(header[5]),
                     .max_position_embeddings = header[6],
                     .rms_norm_eps = 1e-5,
                     .tie_word_embeddings = header[5] > 0,
                     .rope = {.rope_theta = 10000},
                     .pad = -1,
                     .eos_count = 1,
                     .eos = {2},
                     .dtype = F32};
    config_complete_heads(path, &config);
    return config;
}

/* The offset in the file. It may pass the end, as long as nothing is read there. */
typedef struct {
    const char *data;
    size_t offset, size; /* in bytes */
} Reader;

/* The next matrix, or none where the file has ended. */
static Tensor next(Reader *reader, int rows, int columns) {
    Tensor tensor = {.dtype = F32, .rank = 2, .shape = {(size_t)rows, (size_t)columns}};
    if (reader->offset < reader->size) tensor.data = reader->data + reader->offset;
    if (__builtin_add_overflow(reader->offset, tensor_bytes(&tensor), &reader->offset))
        reader->offset = SIZE_MAX;
    return tensor;
}

/* The place of every tensor, if the header is right. */
static void lay_out(Model *model, Reader *reader, Tensor norms[][2], Tensor *norm) {
    const Config *c = &model->config;
    int C = c->C, F = c->F, L = c->L, queries = c->H * c->D, keys = c->KV * c->D;
    Layer *layers = model->layers;
    model->embed_tokens = model->lm_head = next(reader, c->V, C);
    for (int l = 0; l < L; l++) norms[l][0] = next(reader, 1, C);
    for (int l = 0; l < L; l++) layers[l].q_proj = next(reader, queries, C);
    for (int l = 0; l < L; l++) layers[l].k_proj = next(reader, keys, C);
    for (int l = 0; l < L; l++) layers[l].v_proj = next(reader, keys, C);
    for (int l = 0; l < L; l++) layers[l].o_proj = next(reader, C, queries);
    for (int l = 0; l < L; l++) norms[l][1] = next(reader, 1, C);
    for (int l = 0; l < L; l++) layers[l].gate_proj = next(reader, F, C);
    for (int l = 0; l < L; l++) layers[l].down_proj = next(reader, C, F);
    for (int l = 0; l < L; l++) layers[l].up_proj = next(reader, F, C);
    *norm = next(reader, 1, C);
    next(reader, c->max_position_embeddings, c->D); /* freq_cis: cosine and sine, D / 2 each */
    if (!c->tie_word_embeddings) model->lm_head = next(reader, c->V, C);
}

static void close_bin(void *files) {
    Bin *bin = files;
    file_unmap(bin->mapping, bin->size);
    free(bin->turned);
    free(bin);
}

Model llama2c_open(const char *path) {
    int32_t header[7];
    Bin *bin = xmalloc(sizeof *bin);
    map_bin(bin, path);
    memcpy(header, bin->mapping, HEADER);
    Model model = {.config = bin_config(path, header),
                   .interleaved = true,
                   .files = bin,
                   .close_files = close_bin};

    size_t L = (size_t)model.config.L;
    Reader reader = {bin->mapping, HEADER, bin->size};
    Tensor(*norms)[2] = xmalloc(L * sizeof *norms), norm;
    model.layers = xmalloc(L * sizeof *model.layers);
    memset(model.layers, 0, L * sizeof *model.layers); /* without biases */
    lay_out(&model, &reader, norms, &norm);
    if (reader.offset != reader.size)
        fail("%s: its header makes it %zu bytes long, but it has %zu: truncated, or no .bin of "
             "llama2.c",
             path, reader.offset, reader.size);
    for (size_t l = 0; l < L; l++) {
        model.layers[l].input_layernorm = tensor_to_float(&norms[l][0]);
        model.layers[l].post_attention_layernorm = tensor_to_float(&norms[l][1]);
    }
    model.norm = tensor_to_float(&norm);
    free(norms);
    return model;
}
