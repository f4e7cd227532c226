#include "09_decoder/print_tree.h"

#include <stdlib.h>

/* As Python prints a float below 1: the fewest digits that give the same number again. */
static const char *python_float(char text[static 32], double value) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    return text;
}

static void print_linear(FILE *file, int indent, const char *name, int in, int out, bool bias) {
    fprintf(file, "%*s(%s): Linear(in_features=%d, out_features=%d, bias=%s)\n", indent, "", name, in, out,
            bias ? "True" : "False");
}

static void print_norm(FILE *file, int indent, const char *name, const Config *config) {
    char eps[32];
    fprintf(file, "%*s(%s): LlamaRMSNorm((%d,), eps=%s)\n", indent, "", name, config->C,
            python_float(eps, config->rms_norm_eps));
}

void config_print_tree(FILE *file, const Config *config) {
    int C = config->C, F = config->F, L = config->L, V = config->V;
    int queries = config->H * config->D, keys = config->KV * config->D;
    fprintf(file, "LlamaForCausalLM(\n  (model): LlamaModel(\n    (embed_tokens): Embedding(%d, %d", V, C);
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
