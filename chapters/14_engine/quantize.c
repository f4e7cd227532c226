/* quantize: any model that this course reads becomes a GGUF file of fewer bits, for llama,
 * llama.cpp and all that reads such. */
#include "09_decoder/model.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "13_quantization/quantization.h"
#include "14_engine/chat/chat.h"
#include "14_engine/formats/gguf_model.h"
#include "14_engine/formats/model_open_any.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/numbers.h"
#include "common/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ what is to be written */

/* The source of a tensor of the file. */
typedef struct {
    Tensor from;
    int heads; /* of rows to bring from the half-split order into the interleaved one; or 0 */
} Source;

typedef struct {
    GgufType wanted;
    size_t count, stay;
    GgufTensor *tensors;
    Source *sources;
    float *factors;   /* of RoPE, or NULL */
    size_t done, all; /* bytes that were written, for the progress bar */
    bool quiet;
} Plan;

static const struct {
    const char *name;
    GgufType type;
    uint32_t number; /* general.file_type */
} kinds[] = {{"f32", GGUF_TYPE_F32, 0},   {"f16", GGUF_TYPE_F16, 1},   {"bf16", GGUF_TYPE_BF16, 32},
             {"q8_0", GGUF_TYPE_Q8_0, 7}, {"q4_0", GGUF_TYPE_Q4_0, 2}, {"q4_1", GGUF_TYPE_Q4_1, 3},
             {"q5_0", GGUF_TYPE_Q5_0, 8}, {"q5_1", GGUF_TYPE_Q5_1, 9}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int kind_named(const char *name) {
    for (int k = 0; k < KINDS; k++)
        if (strcasecmp(kinds[k].name, name) == 0)
            return k; /* Q8_0, as it is written elsewhere, too */
    usage_error("--type %s: it must be q8_0, q5_1, q5_0, q4_1, q4_0, bf16, f16 or f32", name);
}

static size_t bytes_of(GgufType type, int rank, const size_t shape[rank]) {
    size_t numbers = 1;
    for (int d = 0; d < rank; d++) numbers *= shape[d];
    return numbers / gguf_block_numbers(type) * gguf_block_bytes(type);
}

/* Tensors of one dimension stay as they are, because they are small. Rows that cannot be cut
 * into blocks become float16. */
__attribute__((format(printf, 4, 5))) static void add(Plan *plan, Tensor from, int heads,
                                                      const char *format, ...) {
    char name[80];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    GgufTensor to = {
        .name = xstrndup(name, (size_t)length), .type = plan->wanted, .rank = from.rank};
    memcpy(to.shape, from.shape, sizeof to.shape);
    if (!from.name) from.name = to.name; /* what is no tensor of the model by itself */
    if (from.rank == 1) to.type = GGUF_TYPE_F32;
    else if (to.shape[1] % gguf_block_numbers(to.type)) {
        to.type = GGUF_TYPE_F16;
        plan->stay++;
    }
    to.bytes = bytes_of(to.type, to.rank, to.shape);
    plan->tensors = xrealloc(plan->tensors, (plan->count + 1) * sizeof *plan->tensors);
    plan->sources = xrealloc(plan->sources, (plan->count + 1) * sizeof *plan->sources);
    plan->tensors[plan->count] = to;
    plan->sources[plan->count++] = (Source){from, heads};
    plan->all += to.bytes;
}

static Tensor row(const float *numbers, int n) {
    return (Tensor){.dtype = F32, .rank = 1, .shape = {(size_t)n}, .data = numbers};
}

/* A matrix, and its bias if it has one. */
static void add_projection(Plan *plan, Tensor weight, const float *bias, int out, int heads,
                           const char *name, int layer) {
    add(plan, weight, heads, "blk.%d.%s.weight", layer, name);
    if (bias) add(plan, row(bias, out), heads, "blk.%d.%s.bias", layer, name);
}

/* The divisor of each pair's frequency, where the pairs differ. */
static float *rope_factors(const Config *c) {
    const RopeParameters plain = {.rope_theta = c->rope.rope_theta};
    float *factors = xmalloc((size_t)c->D / 2 * sizeof *factors), scaled[c->D / 2];
    rope_frequencies(c->D, factors, &plain, 1);
    rope_frequencies(c->D, scaled, &c->rope, 1);
    for (int i = 0; i < c->D / 2; i++) factors[i] /= scaled[i];
    return factors;
}

static void add_all(Plan *plan, const Model *model) {
    const Config *c = &model->config;
    const bool turn = !model->interleaved;
    add(plan, model->embed_tokens, 0, "token_embd.weight");
    if (c->rope.rope_type == ROPE_LLAMA3 || c->rope.rope_type == ROPE_FACTORS) {
        plan->factors = rope_factors(c);
        add(plan, row(plan->factors, c->D / 2), 0, "rope_freqs.weight");
    }
    if (c->rope.rope_type == ROPE_LONGROPE) {
        add(plan, row(c->rope.short_factor, c->D / 2), 0, "rope_factors_short.weight");
        add(plan, row(c->rope.long_factor, c->D / 2), 0, "rope_factors_long.weight");
    }
    for (int l = 0; l < c->L; l++) {
        const Layer *layer = &model->layers[l];
        int C = c->C, queries = c->H * c->D, keys = c->KV * c->D;
        add(plan, row(layer->input_layernorm, C), 0, "blk.%d.attn_norm.weight", l);
        add_projection(plan, layer->q_proj, layer->q_bias, queries, turn ? c->H : 0, "attn_q", l);
        add_projection(plan, layer->k_proj, layer->k_bias, keys, turn ? c->KV : 0, "attn_k", l);
        add_projection(plan, layer->v_proj, layer->v_bias, keys, 0, "attn_v", l);
        add_projection(plan, layer->o_proj, layer->o_bias, C, 0, "attn_output", l);
        add(plan, row(layer->post_attention_layernorm, C), 0, "blk.%d.ffn_norm.weight", l);
        add_projection(plan, layer->gate_proj, layer->gate_bias, c->F, 0, "ffn_gate", l);
        add_projection(plan, layer->up_proj, layer->up_bias, c->F, 0, "ffn_up", l);
        add_projection(plan, layer->down_proj, layer->down_bias, C, 0, "ffn_down", l);
    }
    add(plan, row(model->norm, c->C), 0, "output_norm.weight");
    if (!c->tie_word_embeddings) add(plan, model->lm_head, 0, "output.weight");
}

/* What attention is sharpened by: for longrope all of it, for YaRN what comes on top of its own. */
static float attention_factor(const Config *c) {
    const RopeParameters own = {.rope_type = ROPE_YARN,
                                .rope_theta = c->rope.rope_theta,
                                .factor = c->rope.factor,
                                .original_max_position_embeddings = 1};
    float unused[c->D / 2], all = rope_frequencies(c->D, unused, &c->rope, 1);
    return c->rope.rope_type == ROPE_LONGROPE ? all : all / rope_frequencies(c->D, unused, &own, 1);
}

/* How RoPE is scaled, where no factor for each pair says it. */
static void add_scaling(GgufPairs *pairs, const Config *c) {
    static const char *const scalings[] = {
        [ROPE_LINEAR] = "linear", [ROPE_YARN] = "yarn", [ROPE_LONGROPE] = "longrope"};
    const RopeParameters *rope = &c->rope;
    const RopeType type = rope->rope_type;
    if (type != ROPE_LINEAR && type != ROPE_YARN && type != ROPE_LONGROPE) return;
    gguf_add_text(pairs, "llama.rope.scaling.type", scalings[type]);
    gguf_add_f32(pairs, "llama.rope.scaling.factor", (float)rope->factor);
    if (type == ROPE_LINEAR) return;
    gguf_add_u32(pairs, "llama.rope.scaling.original_context_length",
                 (uint32_t)rope->original_max_position_embeddings);
    float sharper = attention_factor(c);
    if (type == ROPE_LONGROPE || sharper != 1)
        gguf_add_f32(pairs, "llama.rope.scaling.attn_factor", sharper);
    if (rope->beta_fast)
        gguf_add_f32(pairs, "llama.rope.scaling.yarn_beta_fast", (float)rope->beta_fast);
    if (rope->beta_slow)
        gguf_add_f32(pairs, "llama.rope.scaling.yarn_beta_slow", (float)rope->beta_slow);
}

static void add_config(GgufPairs *pairs, const Config *c, uint32_t file_type) {
    const RopeParameters *rope = &c->rope;
    if (rope->rope_type == ROPE_DYNAMIC) fail("dynamic scaling of RoPE: GGUF has no words for it");
    if (rope->rope_type == ROPE_YARN && rope->keep_fractions)
        fail("YaRN with fractions of pairs: GGUF has no words for it");
    gguf_add_text(pairs, "general.architecture", "llama");
    gguf_add_u32(pairs, "general.quantization_version", 2);
    gguf_add_u32(pairs, "general.file_type", file_type);
    gguf_add_u32(pairs, "llama.block_count", (uint32_t)c->L);
    gguf_add_u32(pairs, "llama.context_length", (uint32_t)c->max_position_embeddings);
    gguf_add_u32(pairs, "llama.embedding_length", (uint32_t)c->C);
    gguf_add_u32(pairs, "llama.feed_forward_length", (uint32_t)c->F);
    gguf_add_u32(pairs, "llama.attention.head_count", (uint32_t)c->H);
    gguf_add_u32(pairs, "llama.attention.head_count_kv", (uint32_t)c->KV);
    gguf_add_u32(pairs, "llama.attention.key_length", (uint32_t)c->D);
    gguf_add_u32(pairs, "llama.attention.value_length", (uint32_t)c->D);
    gguf_add_f32(pairs, "llama.attention.layer_norm_rms_epsilon", (float)c->rms_norm_eps);
    gguf_add_u32(pairs, "llama.vocab_size", (uint32_t)c->V);
    gguf_add_u32(pairs, "llama.rope.dimension_count", (uint32_t)c->D);
    gguf_add_f32(pairs, "llama.rope.freq_base", (float)rope->rope_theta);
    add_scaling(pairs, c);
}

/* Adds the chat template. */
static void add_chat_template(GgufPairs *pairs, const char *path) {
    char *home = model_directory(path), *template = chat_own_template(home);
    if (template) gguf_add_text(pairs, "tokenizer.chat_template", template);
    free(template);
    free(home);
}

/* ------------------------------------------------------------------ one tensor after the other */

/* Row `out` of a head in the interleaved order is which one in the half-split order? */
static size_t row_before(size_t out, size_t D) {
    return out / D * D + out % D / 2 + (out % 2 ? D / 2 : 0);
}

static void narrow(GgufType type, int n, void *to, const float from[n]) {
    if (type == GGUF_TYPE_F32) memcpy(to, from, (size_t)n * sizeof *from);
    else if (type == GGUF_TYPE_F16)
        for (int i = 0; i < n; i++) ((f16 *)to)[i] = f16_from_float(from[i]);
    else if (type == GGUF_TYPE_BF16)
        for (int i = 0; i < n; i++) ((bf16 *)to)[i] = bf16_from_float(from[i]);
    else format_of_type((int)type)->quantize(1, n, to, (const void *)from);
}

/* A float16 ends at 65504, and a block's scale and minimum are float16: where a number is larger,
 * is all still finite that is read back? */
static bool is_lost(GgufType type, int n, const void *written, float numbers[n]) {
    float largest = 0;
    for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(numbers[i]));
    if (largest <= 65504) return false;
    Tensor row = gguf_as_tensor(
        &(GgufTensor){.type = type, .rank = 1, .shape = {(size_t)n}, .data = written});
    tensor_dequantize_row(&row, 0, (size_t)n, numbers);
    return first_not_finite(n, numbers) < n;
}

/* In blocks, a NaN would pass for one of the levels, and a damaged model for a sound one: it is
 * looked for before. */
static void fill(void *context, size_t index, void *bytes) {
    Plan *plan = context;
    const GgufTensor *tensor = &plan->tensors[index];
    const Source *source = &plan->sources[index];
    int rows = (int)tensor->shape[0], n = tensor->rank == 1 ? 1 : (int)tensor->shape[1];
    size_t step = tensor->bytes / (size_t)rows,
           D = source->heads ? (size_t)rows / (size_t)source->heads : 1;
    size_t end = (size_t)rows * (size_t)n, wrong = end;
    bool lost = false;
#pragma omp parallel reduction(min : wrong) reduction(|| : lost)
    {
        float *numbers = xmalloc((size_t)n * sizeof *numbers);
#pragma omp for
        for (int r = 0; r < rows; r++) {
            char *to = (char *)bytes + (size_t)r * step;
            size_t before = source->heads ? row_before((size_t)r, D) : (size_t)r;
            tensor_dequantize_row(&source->from, before * (size_t)n, (size_t)n, numbers);
            int at = first_not_finite(n, numbers);
            if (at < n && before * (size_t)n + (size_t)at < wrong)
                wrong = before * (size_t)n + (size_t)at;
            narrow(tensor->type, n, to, numbers);
            lost = lost || is_lost(tensor->type, n, to, numbers);
        }
        free(numbers);
    }
    if (wrong < end)
        fail("%s: its number %zu is NaN or infinite: the model is damaged, fetch it again",
             source->from.name, wrong);
    if (lost)
        fail("%s: it has a number too large for %s: --type f32 keeps it", source->from.name,
             gguf_type_name(tensor->type));
    plan->done += tensor->bytes;
    if (!plan->quiet) progress_bar(plan->done, plan->all, "%-32.32s", tensor->name);
}

/* ------------------------------------------------------------------ the program */

static void say_what_was_written(const Plan *plan, const char *path, const char *type) {
    double numbers = 0;
    for (size_t i = 0; i < plan->count; i++)
        numbers += (double)tensor_count(&plan->sources[i].from);
    printf("%s: %zu tensors, %.1f MB, %.2f bits a number\n", path, plan->count,
           (double)plan->all / 1e6, 8 * (double)plan->all / numbers);
    if (strcmp(type, "f32") != 0)
        printf("The norms%s stay F32: they are few numbers, and each counts for a whole row.\n",
               plan->factors ? " and RoPE's factors" : "");
    if (plan->stay)
        printf("%zu matrices are F16: their rows are no multiple of %s's block of 32.\n",
               plan->stay, type);
}

int main(int argc, char **argv) {
    const char *type = "q8_0", *tokenizer_path = NULL, *quiet = NULL;
    const Option options[] = {
        {"type", "TYPE", "q8_0, q5_1, q5_0, q4_1, q4_0, bf16, f16 or f32 (q8_0)", &type},
        {"tokenizer", "PATH",
         "the tokenizer that goes into the file (the model's, or what lies beside it)",
         &tokenizer_path},
        {"quiet", NULL, "no progress bar", &quiet},
    };
    int rest = parse_options(argc, argv, "MODEL OUT.gguf [--type TYPE]",
                             "Writes a model, a Hugging Face folder, a .gguf or llama2.c's .bin, "
                             "as a GGUF file of so many bits.",
                             sizeof options / sizeof *options, options);
    if (argc - rest != 2 || !*argv[rest] || !*argv[rest + 1])
        usage_error("give a model and the file to write");
    const char *from = argv[rest], *to = argv[rest + 1];
    int kind = kind_named(type);

    Model model = model_open_any(from);
    if (file_is_mapped(to))
        fail("%s: it cannot be read and written at once: give the new file another name", to);
    if (file_would_be_lost(to, 0, "GGUF"))
        fail("%s: this file is no GGUF, and would be lost: name another one", to);
    Tokenizer *tokenizer = tokenizer_of_model(from, tokenizer_path);
    if (tokenizer_size(tokenizer) > model.config.V)
        fail("%s: its tokenizer has more tokens than the model", from);
    GgufPairs pairs = {0};
    add_config(&pairs, &model.config, kinds[kind].number);
    gguf_tokenizer_pairs(tokenizer, &pairs);
    add_chat_template(&pairs, tokenizer_path ? tokenizer_path : from);
    Plan plan = {.wanted = kinds[kind].type, .quiet = quiet != NULL};
    add_all(&plan, &model);
    gguf_save(to, pairs.count, pairs.pairs, plan.count, plan.tensors, fill, &plan);
    say_what_was_written(&plan, to, type);

    for (size_t i = 0; i < plan.count; i++) free((char *)plan.tensors[i].name);
    free(plan.tensors);
    free(plan.sources);
    free(plan.factors);
    gguf_pairs_free(&pairs);
    tokenizer_close(tokenizer);
    model_close(&model);
}
