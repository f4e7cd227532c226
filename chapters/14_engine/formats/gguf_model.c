#include "14_engine/formats/gguf_model.h"
#include "09_decoder/weights.h"
#include "13_quantization/quantization.h"
#include "common/error.h"
#include "common/file.h"

#include <limits.h>
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
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
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

/* YaRN, and what attention is sharpened by: attn_factor comes on top of YaRN's own, and
 * yarn_attn_factor stands for all of it, as attention_factor does in a config.json. */
static void read_yarn(const Gguf *file, RopeParameters *p) {
    p->rope_type = ROPE_YARN;
    p->beta_fast = number_or(file, "rope.scaling.yarn_beta_fast", 0, 0, 1e6);
    p->beta_slow = number_or(file, "rope.scaling.yarn_beta_slow", 0, 0, 1e6);
    if (number_or(file, "rope.scaling.yarn_ext_factor", 1, -1e6, 1e6) != 1)
        fail("%s: %srope.scaling.yarn_ext_factor: YaRN is known here where it is 1", file->name,
             prefix);
    double sharper = number_or(file, "rope.scaling.attn_factor", 1, 1e-6, 1e6);
    if (value_of(file, "rope.scaling.yarn_attn_factor"))
        p->attention_factor = number_or(file, "rope.scaling.yarn_attn_factor", 1, 1e-6, 1e6);
    else if (sharper != 1) p->attention_factor = sharper * (0.1 * log(fmax(p->factor, 1)) + 1);
}

/* RoPE's parameters. Factors for each pair (Llama 3.1 and later; longrope) come as tensors. */
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
    p.original_max_position_embeddings =
        whole_or(file, "rope.scaling.original_context_length", context, 1, MOST_POSITIONS);
    if (says(file, type, "longrope")) {
        p.rope_type = ROPE_LONGROPE;
        p.factor = number_or(file, "rope.scaling.factor",
                             (double)context / p.original_max_position_embeddings, 1e-6, 1e6);
        if (value_of(file, "rope.scaling.attn_factor")) /* or what follows from `factor` */
            p.attention_factor = number_or(file, "rope.scaling.attn_factor", 1, 1e-6, 1e6);
        return p;
    }
    p.factor = number_or(file, "rope.scaling.factor", 1, 1e-6, 1e6);
    if (says(file, type, "linear")) p.rope_type = ROPE_LINEAR;
    else if (says(file, type, "yarn")) read_yarn(file, &p);
    else fail("%s: %s must be none, linear, yarn or longrope", file->name, type);
    return p;
}

/* The end of a text, of a turn, of a message to a tool, by the names that models give it. Some
 * files call it a word like any other, and do not say that it ends a text; llama.cpp knows it by
 * its name, too. */
bool gguf_ends_text(size_t length, const char *name) {
    static const char *const ends[] = {
        "</s>",    "<|eot_id|>",      "<|eom_id|>",           "<|im_end|>",
        "<|end|>", "<|endoftext|>",   "<end_of_turn>",        "<EOT>",
        "[EOS]",   "<|end_of_text|>", "<｜end▁of▁sentence｜>"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (length == strlen(ends[i]) && memcmp(name, ends[i], length) == 0) return true;
    return false;
}

/* The end of a text, of a turn, of a message to a tool: as the file says, and by their names. */
static void read_ends(const Gguf *file, Config *config) {
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const GgufPair *id = gguf_pair(file, keys[i]);
        if (id && id->type == GGUF_U32 && !id->is_array)
            config->eos[config->eos_count++] = (int)fmin(gguf_number(id, 0), 0x7fffffff);
    }
    const GgufPair *tokens = gguf_pair(file, "tokenizer.ggml.tokens");
    if (!tokens || !tokens->is_array || tokens->type != GGUF_STRING) return;
    const unsigned char *place = tokens->bytes;
    for (size_t id = 0; id < tokens->count && config->eos_count < CONFIG_EOS; id++) {
        GgufText name = gguf_text(&place);
        bool known = !gguf_ends_text(name.length, name.letters);
        for (int i = 0; i < config->eos_count; i++) known |= config->eos[i] == (int)id;
        if (!known) config->eos[config->eos_count++] = (int)id;
    }
}

static Config read_config(const Gguf *file) {
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

/* ------------------------------------------------------------------ its parts
 *
 * llama.cpp cuts the files of large models, and only the first says what model it is. */

typedef struct {
    int count;
    Gguf *files;
} GgufParts;

static const char part_suffix[] = "-%05d-of-%05d.gguf";

/* Returns the value of split.no or split.count, or `otherwise`. */
static int split_number(const Gguf *file, const char *key, int otherwise, int most) {
    const GgufPair *pair = gguf_pair(file, key);
    if (!pair || pair->is_array || pair->type == GGUF_STRING) return otherwise;
    double number = gguf_number(pair, 0);
    if (!(number >= 0 && number <= most && number == floor(number)))
        fail("%s: %s is %.10g, which cannot be", file->name, key, number);
    return (int)number;
}

/* The path of another part. */
static void part_path(char path[static 4096], const Gguf *first, int count, int part) {
    char suffix[64];
    size_t length = strlen(first->name), end = (size_t)sprintf(suffix, part_suffix, 1, count);
    if (length < end || strcmp(first->name + length - end, suffix) != 0)
        fail("%s: it is the first of a model's %d parts: its name must end in %s, and those of the "
             "others alike",
             first->name, count, suffix);
    sprintf(suffix, part_suffix, part + 1, count);
    if (snprintf(path, 4096, "%.*s%s", (int)(length - end), first->name, suffix) >= 4096)
        fail("%.200s…: the path is too long", first->name);
    if (!file_is_there(path))
        fail("%s: it is not there: fetch all %d parts of the model", path, count);
}

static GgufParts open_parts(const char *path) {
    enum { MOST_PARTS = 9999 };
    const Gguf first = gguf_open(path);
    GgufParts parts = {split_number(&first, "split.count", 1, MOST_PARTS), NULL};
    const int number = split_number(&first, "split.no", 0, MOST_PARTS);
    if (number > 0)
        fail("%s: it is part %d of a model's %d: name the first, and the others are read with it",
             path, number + 1, parts.count);
    if (parts.count == 0) parts.count = 1;
    parts.files = xmalloc((size_t)parts.count * sizeof *parts.files);
    parts.files[0] = first;
    for (int i = 1; i < parts.count; i++) {
        char other[4096];
        part_path(other, &first, parts.count, i);
        parts.files[i] = gguf_open(other);
        if (split_number(&parts.files[i], "split.no", -1, MOST_PARTS) != i ||
            split_number(&parts.files[i], "split.count", -1, MOST_PARTS) != parts.count)
            fail("%s: it does not say that it is part %d of %d", other, i + 1, parts.count);
        parts.files[i].name = NULL; /* as its path is gone */
    }
    return parts;
}

/* The tensors of all parts. */
static Weights weights_of(const GgufParts *parts) {
    const Gguf *first = &parts->files[0];
    size_t count = 0;
    for (int i = 0; i < parts->count; i++) count += parts->files[i].tensor_count;
    Tensor *tensors = xmalloc(count * sizeof *tensors), *to = tensors;
    for (int i = 0; i < parts->count; i++)
        for (size_t k = 0; k < parts->files[i].tensor_count; k++)
            *to++ = gguf_as_tensor(&parts->files[i].tensors[k]);
    int all = split_number(first, "split.tensors.count", (int)count, INT_MAX);
    if (all != (int)count)
        fail("%s: its parts have %zu tensors, and it says %d: fetch all parts of the same model",
             first->name, count, all);
    Weights weights = weights_new(first->name, "the file's header", &names, count, tensors);
    for (size_t i = 1; i < count; i++)
        if (strcmp(weights.tensors[i - 1].name, weights.tensors[i].name) == 0)
            fail("%s: two of its parts have the tensor \"%.80s\"", first->name,
                 weights.tensors[i].name);
    return weights;
}

/* ------------------------------------------------------------------ the model */

/* The vocabulary is as large as the embedding says. Without a matrix for the output it is that of
 * the input. */
static void read_vocabulary(const Gguf *file, const Weights *weights, Config *config) {
    static const char input[] = "token_embd.weight";
    const Tensor *embedding = weights_find(weights, input);
    size_t V = embedding && embedding->rank == 2 ? embedding->shape[0] : 1;
    if (V > MOST_WIDTH)
        fail("%s: a vocabulary of %zu is larger than this decoder takes", file->name, V);
    if (whole_or(file, "vocab_size", (int)V, 1, MOST_WIDTH) != (int)V)
        fail("%s: %svocab_size is not the number of %s's rows", file->name, prefix, input);
    config->V = (int)V;
    config->tie_word_embeddings = !weights_find(weights, "output.weight");
}

/* A factor for each pair. */
static const float *load_factors(Weights *weights, const Config *config, const char *name) {
    Tensor factors = weights_load_tensor(weights, 0, config->D / 2, name);
    if (!factors.data) fail("%s: %s is missing", weights->path, name);
    if (factors.quant_type || factors.dtype != F32) fail("%s: %s must be F32", weights->path, name);
    const float *numbers = factors.data;
    for (int i = 0; i < config->D / 2; i++)
        if (!(numbers[i] > 0)) fail("%s: %s: factor %d is %g", weights->path, name, i, numbers[i]);
    return numbers;
}

static float *copy_factors(Weights *weights, const Config *config, const char *name) {
    const size_t size = (size_t)config->D / 2 * sizeof(float);
    return memcpy(xmalloc(size), load_factors(weights, config, name), size);
}

/* Llama 3.1's scaling as llama.cpp writes it: what each pair's frequency is divided by. And
 * longrope's, for short texts and for long ones. */
static void take_rope_factors(Weights *weights, Config *config) {
    static const char name[] = "rope_freqs.weight";
    RopeParameters *rope = &config->rope;
    if (rope->rope_type == ROPE_LONGROPE) {
        rope->short_factor = copy_factors(weights, config, "rope_factors_short.weight");
        rope->long_factor = copy_factors(weights, config, "rope_factors_long.weight");
    }
    if (!weights_find(weights, name)) return;
    if (rope->rope_type != ROPE_DEFAULT)
        fail("%s: %s beside another scaling of RoPE", weights->path, name);
    rope->factors = load_factors(weights, config, name);
    rope->rope_type = ROPE_FACTORS;
}

static void close_parts(void *opened) {
    GgufParts *parts = opened;
    for (int i = 0; i < parts->count; i++) gguf_close(&parts->files[i]);
    free(parts->files);
    free(parts);
}

Model gguf_model_open(const char *path) {
    GgufParts *parts = xmalloc(sizeof *parts);
    *parts = open_parts(path);
    const Gguf *file = &parts->files[0]; /* which says what the model is */
    Weights weights = weights_of(parts);
    Model model = {.config = read_config(file), .files = parts, .close_files = close_parts};
    model.interleaved = true; /* llama.cpp writes queries and keys in the layout of Meta's files */
    read_vocabulary(file, &weights, &model.config);
    model.config.attention_bias = weights_find(&weights, "blk.0.attn_q.bias");
    model.config.mlp_bias = weights_find(&weights, "blk.0.ffn_gate.bias");
    take_rope_factors(&weights, &model.config);
    weights_load_model(&weights, &model);
    return model;
}
