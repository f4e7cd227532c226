#include "14_engine/formats/gguf_model.h"
#include "09_decoder/weights.h"
#include "13_quantization/quantization.h"
#include "common/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ a Llama, in the file's words
 *
 * Source: LLM_ARCH_LLAMA in llama-arch.cpp and llama-model.cpp of llama.cpp; Keys in constants.py
 * of the package gguf. */

/* Everything that is said of an architecture begins with its name. What is not known here might
 * change the mathematics. */
static const char *const known[] = {
    "vocab_size",
    "context_length",
    "embedding_length",
    "block_count",
    "feed_forward_length",
    "rope.dimension_count",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.original_context_length",
    "rope.scaling.attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.finetuned",
    "rope.scale_linear",
    "expert_count",
    "expert_used_count",
    "tensor_data_layout",
};

static const char prefix[] = "llama.";

static void refuse_the_unknown(const Gguf *file) {
    for (size_t i = 0; i < file->pair_count; i++) {
        const char *key = file->pairs[i].key;
        bool is_known = strncmp(key, prefix, strlen(prefix)) != 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            is_known = is_known || strcmp(key + strlen(prefix), known[k]) == 0;
        if (!is_known)
            fail("%s: it says %.80s: what this changes is not computed here", file->name, key);
    }
}

/* One number, or NULL if the file says nothing of it. */
static const GgufPair *value_of(const Gguf *file, const char *name) {
    char key[80];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    const GgufPair *pair = gguf_pair(file, key);
    if (pair && pair->is_array)
        fail("%s: %s: a number for each layer, where this decoder takes one for all", file->name,
             key);
    if (pair && pair->type == GGUF_STRING) fail("%s: %s: it must be a number", file->name, key);
    return pair;
}

static double number_or(const Gguf *file, const char *name, double otherwise, double least,
                        double most) {
    const GgufPair *pair = value_of(file, name);
    double value = pair ? gguf_number(pair, 0) : otherwise;
    if (!(value >= least && value <= most))
        fail("%s: %s%s is %.10g: it must lie between %.10g and %.10g", file->name, prefix, name,
             value, least, most);
    return value;
}

static int whole_or(const Gguf *file, const char *name, int otherwise, int least, int most) {
    double value = number_or(file, name, otherwise, least, most);
    if (value != floor(value))
        fail("%s: %s%s is %.10g: it must be a whole number", file->name, prefix, name, value);
    return (int)value;
}

static int whole(const Gguf *file, const char *name, int least, int most) {
    if (!value_of(file, name)) fail("%s: it does not say %s%s", file->name, prefix, name);
    return whole_or(file, name, 0, least, most);
}

/* Whether a text of the file is this one. */
static bool says(const Gguf *file, const char *key, const char *text) {
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair || pair->type != GGUF_STRING || pair->is_array) return false;
    const unsigned char *place = pair->bytes;
    GgufText said = gguf_text(&place);
    return said.length == strlen(text) && memcmp(said.letters, text, said.length) == 0;
}

/* RoPE's parameters. A factor for each pair (Llama 3.1 and later) comes as a tensor. */
static RopeParameters read_rope(const Gguf *file, int context) {
    static const char type[] = "llama.rope.scaling.type";
    RopeParameters p = {.rope_theta = number_or(file, "rope.freq_base", 10000, 1.001, 1e12),
                        .max_position_embeddings = context};
    if (value_of(file, "rope.scale_linear")) {
        p.rope_type = ROPE_LINEAR;
        p.factor = number_or(file, "rope.scale_linear", 1, 1e-6, 1e6);
        return p;
    }
    if (!gguf_pair(file, type) || says(file, type, "none")) return p;
    p.factor = number_or(file, "rope.scaling.factor", 1, 1e-6, 1e6);
    if (says(file, type, "linear")) {
        p.rope_type = ROPE_LINEAR;
        return p;
    }
    if (!says(file, type, "yarn")) fail("%s: %s must be none, linear or yarn", file->name, type);
    p.rope_type = ROPE_YARN;
    p.original_max_position_embeddings =
        whole_or(file, "rope.scaling.original_context_length", context, 1, MOST_POSITIONS);
    p.beta_fast = number_or(file, "rope.scaling.yarn_beta_fast", 0, 0, 1e6);
    p.beta_slow = number_or(file, "rope.scaling.yarn_beta_slow", 0, 0, 1e6);
    /* On top of YaRN's own factor. */
    double sharper = number_or(file, "rope.scaling.attn_factor", 1, 1e-6, 1e6);
    if (sharper != 1) p.attention_factor = sharper * (0.1 * log(fmax(p.factor, 1)) + 1);
    return p;
}

/* The end of a text, of a turn, of a message to a tool. */
static void read_ends(const Gguf *file, Config *config) {
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const GgufPair *id = gguf_pair(file, keys[i]);
        if (id && id->type == GGUF_U32 && !id->is_array)
            config->eos[config->eos_count++] = (int)fmin(gguf_number(id, 0), 0x7fffffff);
    }
}

/* llama.cpp cuts the files of large models, and only the first says what model it is. */
static void refuse_a_part(const Gguf *file) {
    const GgufPair *parts = gguf_pair(file, "split.count");
    if (parts && !parts->is_array && parts->type != GGUF_STRING && gguf_number(parts, 0) > 1)
        fail("%s: it is one of a model's %.0f parts: join them by llama.cpp's llama-gguf-split "
             "--merge",
             file->name, gguf_number(parts, 0));
}

static Config read_config(const Gguf *file) {
    refuse_a_part(file);
    if (!says(file, "general.architecture", "llama"))
        fail("%s: general.architecture is not llama: not a Llama", file->name);
    refuse_the_unknown(file);
    if (number_or(file, "expert_count", 0, 0, 1e9) > 0)
        fail("%s: %sexpert_count: a mixture of experts is no Llama", file->name, prefix);

    Config c = {.pad = -1, .dtype = F32};
    c.C = whole(file, "embedding_length", 1, MOST_WIDTH);
    c.F = whole(file, "feed_forward_length", 1, MOST_WIDTH);
    c.L = whole(file, "block_count", 1, MOST_LAYERS);
    c.H = whole(file, "attention.head_count", 1, MOST_WIDTH);
    c.KV = whole_or(file, "attention.head_count_kv", c.H, 1, MOST_WIDTH);
    if (value_of(file, "attention.key_length"))
        c.D = whole(file, "attention.key_length", 1, MOST_HEAD);
    config_complete_heads(file->name, &c);
    if (whole_or(file, "attention.value_length", c.D, 1, MOST_HEAD) != c.D)
        fail("%s: keys and values are not as wide as each other", file->name);
    if (whole_or(file, "rope.dimension_count", c.D, 1, MOST_HEAD) != c.D)
        fail("%s: a part of each head is turned: a Llama turns the whole", file->name);
    c.max_position_embeddings = whole(file, "context_length", 1, MOST_POSITIONS);
    if (!value_of(file, "attention.layer_norm_rms_epsilon"))
        fail("%s: it does not say %sattention.layer_norm_rms_epsilon", file->name, prefix);
    c.rms_norm_eps = number_or(file, "attention.layer_norm_rms_epsilon", 0, 1e-30, 0.999);
    c.rope = read_rope(file, c.max_position_embeddings);
    read_ends(file, &c);
    return c;
}

/* ------------------------------------------------------------------ its weights */

static const TensorNames names = {
    "token_embd",      "output",          "output_norm",   "blk.%d.attn_norm",
    "blk.%d.attn_q",   "blk.%d.attn_k",   "blk.%d.attn_v", "blk.%d.attn_output",
    "blk.%d.ffn_norm", "blk.%d.ffn_gate", "blk.%d.ffn_up", "blk.%d.ffn_down"};

Tensor gguf_as_tensor(const GgufTensor *from) {
    Tensor tensor = {.name = from->name, .rank = from->rank, .data = from->data, .dtype = F32};
    memcpy(tensor.shape, from->shape, sizeof from->shape);
    if (from->type == GGUF_TYPE_BF16) tensor.dtype = BF16;
    else if (from->type == GGUF_TYPE_F16) tensor.dtype = F16;
    else if (from->type != GGUF_TYPE_F32) tensor.quant_type = format_of_type((int)from->type);
    return tensor;
}

static Weights weights_of(const Gguf *file) {
    Tensor *tensors = xmalloc(file->tensor_count * sizeof *tensors);
    for (size_t i = 0; i < file->tensor_count; i++) tensors[i] = gguf_as_tensor(&file->tensors[i]);
    return weights_new(file->name, "the file's header", &names, file->tensor_count, tensors);
}

/* The vocabulary is as large as the embedding says. Without a matrix for the output it is that of
 * the input. */
static void read_vocabulary(const Gguf *file, Config *config) {
    static const char input[] = "token_embd.weight";
    const GgufTensor *embedding = gguf_tensor(file, input);
    size_t V = embedding && embedding->rank == 2 ? embedding->shape[0] : 1;
    if (V > MOST_WIDTH)
        fail("%s: a vocabulary of %zu is larger than this decoder takes", file->name, V);
    if (whole_or(file, "vocab_size", (int)V, 1, MOST_WIDTH) != (int)V)
        fail("%s: %svocab_size is not the number of %s's rows", file->name, prefix, input);
    config->V = (int)V;
    config->tie_word_embeddings = !gguf_tensor(file, "output.weight");
}

/* Llama 3.1's scaling as llama.cpp writes it: what each pair's frequency is divided by. */
static void take_rope_factors(Weights *weights, Config *config) {
    static const char name[] = "rope_freqs.weight";
    RopeParameters *rope = &config->rope;
    if (!weights_find(weights, name)) return;
    if (rope->rope_type != ROPE_DEFAULT)
        fail("%s: %s beside another scaling of RoPE", weights->path, name);
    Tensor factors = weights_load_tensor(weights, 0, config->D / 2, name);
    if (factors.quant_type || factors.dtype != F32) fail("%s: %s must be F32", weights->path, name);
    rope->rope_type = ROPE_FACTORS;
    rope->factors = factors.data;
    for (int i = 0; i < config->D / 2; i++)
        if (!(rope->factors[i] > 0))
            fail("%s: %s: factor %d is %g", weights->path, name, i, rope->factors[i]);
}

static void close_gguf(void *file) {
    gguf_close(file);
    free(file);
}

Model gguf_model_open(const char *path) {
    Gguf *file = xmalloc(sizeof *file);
    *file = gguf_open(path);
    Weights weights = weights_of(file);
    Model model = {.config = read_config(file), .files = file, .close_files = close_gguf};
    model.interleaved = true; /* llama.cpp writes queries and keys in the layout of Meta's files */
    read_vocabulary(file, &model.config);
    model.config.attention_bias = gguf_tensor(file, "blk.0.attn_q.bias");
    model.config.mlp_bias = gguf_tensor(file, "blk.0.ffn_gate.bias");
    take_rope_factors(&weights, &model.config);
    weights_load_model(&weights, &model);
    return model;
}
