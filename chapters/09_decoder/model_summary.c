#include "09_decoder/model_summary.h"
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ the module tree */

/* As Python prints a float below 1: the fewest digits that give the same number again. */
static const char *python_float(char text[static 32], double value) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

static void print_linear(FILE *file, int indent, const char *name, int in, int out, bool bias) {
    fprintf(file, "%*s(%s): Linear(in_features=%d, out_features=%d, bias=%s)\n", indent, "", name,
            in, out, bias ? "True" : "False");
}

static void print_norm(FILE *file, int indent, const char *name, const Config *config) {
    char eps[32];
    fprintf(file, "%*s(%s): LlamaRMSNorm((%d,), eps=%s)\n", indent, "", name, config->C,
            python_float(eps, config->rms_norm_eps));
}

void config_print_model(FILE *file, const Config *config) {
    int C = config->C, F = config->F, L = config->L, V = config->V;
    int queries = config->H * config->D, keys = config->KV * config->D;
    fprintf(file, "LlamaForCausalLM(\n  (model): LlamaModel(\n    (embed_tokens): Embedding(%d, %d",
            V, C);
    if (config->pad >= 0) fprintf(file, ", padding_idx=%d", config->pad);
    fprintf(file, ")\n    (layers): ModuleList(\n");
    if (L == 1) fprintf(file, "      (0): LlamaDecoderLayer(\n");
    else fprintf(file, "      (0-%d): %d x LlamaDecoderLayer(\n", L - 1, L);
    fprintf(file, "        (self_attn): LlamaAttention(\n");
    print_linear(file, 10, "q_proj", C, queries, config->attention_bias);
    print_linear(file, 10, "k_proj", C, keys, config->attention_bias);
    print_linear(file, 10, "v_proj", C, keys, config->attention_bias);
    print_linear(file, 10, "o_proj", queries, C, config->attention_bias);
    fprintf(file, "        )\n        (mlp): LlamaMLP(\n");
    print_linear(file, 10, "gate_proj", C, F, config->mlp_bias);
    print_linear(file, 10, "up_proj", C, F, config->mlp_bias);
    print_linear(file, 10, "down_proj", F, C, config->mlp_bias);
    fprintf(file, "          (act_fn): SiLUActivation()\n        )\n");
    print_norm(file, 8, "input_layernorm", config);
    print_norm(file, 8, "post_attention_layernorm", config);
    fprintf(file, "      )\n    )\n");
    print_norm(file, 4, "norm", config);
    fprintf(file, "    (rotary_emb): LlamaRotaryEmbedding()\n  )\n");
    print_linear(file, 2, "lm_head", C, V, false);
    fprintf(file, ")\n");
}

/* ------------------------------------------------------------------ the weight of each module */

/* A matrix, or a vector where rows is 0, that the model has `count` times. */
static void module_row(Table *table, const Config *c, const char *name, int count, int rows,
                       int columns) {
    size_t shape[] = {(size_t)rows, (size_t)columns};
    char text[SHAPE_TEXT];
    int64_t each = (int64_t)(rows ? rows : 1) * columns, all = count * each;
    shape_text(text, rows ? 2 : 1, rows ? shape : shape + 1);
    table_row(table, "%s|%s|%" PRId64 "|%d|%" PRId64 "|%" PRId64, name, text, each, count, all,
              all * (int64_t)dtype_size(c->dtype));
}

void config_print_modules(FILE *file, const Config *c) {
    Table table = {0};
    int C = c->C, F = c->F, L = c->L, queries = c->H * c->D, keys = c->KV * c->D;
    table_row(&table, "module|shape|parameters|times|in all|bytes in %s", dtype_name(c->dtype));
    module_row(&table, c, "embed_tokens", 1, c->V, C);
    module_row(&table, c, "layers.N.input_layernorm", L, 0, C);
    module_row(&table, c, "layers.N.self_attn.q_proj", L, queries, C);
    module_row(&table, c, "layers.N.self_attn.k_proj", L, keys, C);
    module_row(&table, c, "layers.N.self_attn.v_proj", L, keys, C);
    module_row(&table, c, "layers.N.self_attn.o_proj", L, C, queries);
    module_row(&table, c, "layers.N.post_attention_layernorm", L, 0, C);
    module_row(&table, c, "layers.N.mlp.gate_proj", L, F, C);
    module_row(&table, c, "layers.N.mlp.up_proj", L, F, C);
    module_row(&table, c, "layers.N.mlp.down_proj", L, C, F);
    if (c->attention_bias)
        module_row(&table, c, "layers.N.self_attn's biases", L, 0, queries + 2 * keys + C);
    if (c->mlp_bias) module_row(&table, c, "layers.N.mlp's biases", L, 0, 2 * F + C);
    module_row(&table, c, "norm", 1, 0, C);
    module_row(&table, c, c->tie_word_embeddings ? "lm_head (it is embed_tokens)" : "lm_head",
               !c->tie_word_embeddings, c->V, C);
    int64_t all = config_parameters(c);
    table_row(&table, "all||||%" PRId64 "|%" PRId64, all, all * (int64_t)dtype_size(c->dtype));
    table_print(&table, file);
    fprintf(file, "A token leaves %ld bytes in the KV cache in float32, %ld in 16 bits.\n",
            kv_bytes_per_token(c->L, c->KV, c->D, 4), kv_bytes_per_token(c->L, c->KV, c->D, 2));
}
