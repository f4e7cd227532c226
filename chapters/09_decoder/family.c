#include "09_decoder/family.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

enum { LLAMA1, LLAMA2, LLAMA3, LLAMA31, LLAMA32 };

static const struct {
    const char *name;
    int generation, C, F, L, H, KV;
    double eps;
} family[] = {
    {"llama-1-7b", LLAMA1, 4096, 11008, 32, 32, 32, 1e-6},
    {"llama-1-13b", LLAMA1, 5120, 13824, 40, 40, 40, 1e-6},
    {"llama-1-33b", LLAMA1, 6656, 17920, 60, 52, 52, 1e-6},
    {"llama-1-65b", LLAMA1, 8192, 22016, 80, 64, 64, 1e-5},
    {"llama-2-7b", LLAMA2, 4096, 11008, 32, 32, 32, 1e-5},
    {"llama-2-13b", LLAMA2, 5120, 13824, 40, 40, 40, 1e-5},
    {"llama-2-70b", LLAMA2, 8192, 28672, 80, 64, 8, 1e-5},
    {"llama-3-8b", LLAMA3, 4096, 14336, 32, 32, 8, 1e-5},
    {"llama-3-70b", LLAMA3, 8192, 28672, 80, 64, 8, 1e-5},
    {"llama-3.1-8b", LLAMA31, 4096, 14336, 32, 32, 8, 1e-5},
    {"llama-3.1-70b", LLAMA31, 8192, 28672, 80, 64, 8, 1e-5},
    {"llama-3.1-405b", LLAMA31, 16384, 53248, 126, 128, 8, 1e-5},
    {"llama-3.2-1b", LLAMA32, 2048, 8192, 16, 32, 8, 1e-5},
    {"llama-3.2-3b", LLAMA32, 3072, 8192, 28, 24, 8, 1e-5},
};

/* What all members of a generation share. */
static const struct {
    int V, max_position_embeddings;
    double theta, factor; /* of llama3 scaling; 0 is none */
    bool tied;
    DType dtype;
    int eos_count, eos[3];
} generations[] = {
    [LLAMA1] = {32000, 2048, 1e4, 0, false, F16, 1, {2}},
    [LLAMA2] = {32000, 4096, 1e4, 0, false, F16, 1, {2}},
    [LLAMA3] = {128256, 8192, 5e5, 0, false, BF16, 1, {128001}},
    [LLAMA31] = {128256, 131072, 5e5, 8, false, BF16, 1, {128001}},
    [LLAMA32] = {128256, 131072, 5e5, 32, true, BF16, 1, {128001}},
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
        length += snprintf(names + length, sizeof names - (size_t)length, "%s%s", i ? ", " : "", family[i].name);
    fail("%s is neither a model's folder or file nor one of %s", wrong, names);
}

Config config_preset(const char *name) {
    int i = 0;
    while (i < MEMBERS && strcmp(name, family[i].name) != 0) i++;
    if (i == MEMBERS) name_the_family(name);
    int g = family[i].generation;
    Config config = {.C = family[i].C, .F = family[i].F, .L = family[i].L, .H = family[i].H, .KV = family[i].KV,
                     .D = family[i].C / family[i].H, .V = generations[g].V,
                     .max_position_embeddings = generations[g].max_position_embeddings,
                     .rms_norm_eps = family[i].eps, .tie_word_embeddings = generations[g].tied, .pad = -1,
                     .eos_count = generations[g].eos_count, .dtype = generations[g].dtype};
    memcpy(config.eos, generations[g].eos, sizeof generations[g].eos);
    config.rope = (RopeParameters){.rope_type = generations[g].factor ? ROPE_LLAMA3 : ROPE_DEFAULT,
                                   .rope_theta = generations[g].theta,
                                   .max_position_embeddings = config.max_position_embeddings,
                                   .factor = generations[g].factor, .low_freq_factor = 1, .high_freq_factor = 4,
                                   .original_max_position_embeddings = 8192};
    return config;
}
