#include "09_decoder/presets.h"
#include "common/error.h"
#include "common/llamas.h"

#include <stdio.h>
#include <string.h>

enum { LLAMA1, LLAMA2, LLAMA3, LLAMA31, LLAMA32 };

/* Each model of each generation: its sizes, and which of their contexts is its own. */
static const struct {
    const char *name;
    int generation, sizes, context;
    double eps;
} family[] = {
    {"llama-1-7b", LLAMA1, LLAMA_7B, 0, 1e-6},
    {"llama-1-13b", LLAMA1, LLAMA_13B, 0, 1e-6},
    {"llama-1-33b", LLAMA1, LLAMA1_33B, 0, 1e-6},
    {"llama-1-65b", LLAMA1, LLAMA1_65B, 0, 1e-5},
    {"llama-2-7b", LLAMA2, LLAMA_7B, 1, 1e-5},
    {"llama-2-13b", LLAMA2, LLAMA_13B, 1, 1e-5},
    {"llama-2-70b", LLAMA2, LLAMA2_70B, 0, 1e-5},
    {"llama-3-8b", LLAMA3, LLAMA3_8B, 0, 1e-5},
    {"llama-3-70b", LLAMA3, LLAMA3_70B, 0, 1e-5},
    {"llama-3.1-8b", LLAMA31, LLAMA3_8B, 1, 1e-5},
    {"llama-3.1-70b", LLAMA31, LLAMA3_70B, 1, 1e-5},
    {"llama-3.1-405b", LLAMA31, LLAMA31_405B, 0, 1e-5},
    {"llama-3.2-1b", LLAMA32, LLAMA32_1B, 0, 1e-5},
    {"llama-3.2-3b", LLAMA32, LLAMA32_3B, 0, 1e-5},
};

/* The settings that all models of a generation share. */
static const struct {
    double theta, factor; /* of llama3 scaling; 0 is none */
    DType dtype;
    int eos; /* eos_token_id */
} generations[] = {
    [LLAMA1] = {1e4, 0, F16, 2},         [LLAMA2] = {1e4, 0, F16, 2},
    [LLAMA3] = {5e5, 0, BF16, 128001},   [LLAMA31] = {5e5, 8, BF16, 128001},
    [LLAMA32] = {5e5, 32, BF16, 128001},
};

enum { MEMBERS = sizeof family / sizeof *family };

const char *const *config_names(void) {
    static const char *names[MEMBERS + 1];
    for (int i = 0; i < MEMBERS; i++) names[i] = family[i].name;
    return names;
}

static _Noreturn void name_the_family(const char *wrong) {
    char names[512];
    int length = 0;
    for (int i = 0; i < MEMBERS; i++)
        length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", i ? ", " : "",
                           family[i].name);
    fail("%s is neither a model's folder or file nor one of %s", wrong, names);
}

Config config_preset(const char *name) {
    int i = 0;
    while (i < MEMBERS && strcmp(name, family[i].name) != 0) i++;
    if (i == MEMBERS) name_the_family(name);
    int g = family[i].generation;
    const LlamaSizes *sizes = &llamas[family[i].sizes];
    Config config = {.C = sizes->C,
                     .F = sizes->F,
                     .L = sizes->L,
                     .H = sizes->H,
                     .KV = sizes->KV,
                     .D = llama_head_width(sizes),
                     .V = sizes->V,
                     .max_position_embeddings = sizes->contexts[family[i].context],
                     .rms_norm_eps = family[i].eps,
                     .tie_word_embeddings = sizes->tied,
                     .pad = -1,
                     .eos_count = 1,
                     .eos = {generations[g].eos},
                     .dtype = generations[g].dtype};
    config.rope = (RopeParameters){.rope_type = generations[g].factor ? ROPE_LLAMA3 : ROPE_DEFAULT,
                                   .rope_theta = generations[g].theta,
                                   .max_position_embeddings = config.max_position_embeddings,
                                   .factor = generations[g].factor,
                                   .low_freq_factor = 1,
                                   .high_freq_factor = 4,
                                   .original_max_position_embeddings = 8192};
    return config;
}
