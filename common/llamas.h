/* The sizes of the Llamas that Meta published, by their params.json and config.json files. Two
 * generations may have a model of the same sizes: both are one line here. */
#ifndef COMMON_LLAMAS_H
#define COMMON_LLAMAS_H

#include <stddef.h>

/* The lines of the table. */
enum {
    LLAMA_7B,
    LLAMA_13B,
    LLAMA1_33B,
    LLAMA1_65B,
    LLAMA2_70B,
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA31_405B,
    LLAMA32_1B,
    LLAMA32_3B,
    LLAMA_COUNT
};

typedef struct {
    const char *name;
    const char *all_names; /* with Llama 3.1's, where it has a model of the same sizes; else NULL */
    int C, F, L;           /* width, hidden width, layers */
    int H, KV, V;          /* query heads, key/value heads, vocabulary; a head is C / H wide */
    double multiplier;     /* F is llama_hidden_width(C, multiplier, multiple_of): chapter 3 */
    int multiple_of;
    int tied;        /* 1 where the output head is the embedding table again */
    int contexts[2]; /* two where two generations differ in it; else the second is 0 */
} LlamaSizes;

static const LlamaSizes llamas[LLAMA_COUNT] = {
    /* name, all names, C, F, L, H, KV, V, multiplier, multiple_of, tied, contexts */
    {"Llama 1, 2 7B", NULL, 4096, 11008, 32, 32, 32, 32000, 1, 256, 0, {2048, 4096}},
    {"Llama 1, 2 13B", NULL, 5120, 13824, 40, 40, 40, 32000, 1, 256, 0, {2048, 4096}},
    {"Llama 1 33B", NULL, 6656, 17920, 60, 52, 52, 32000, 1, 256, 0, {2048}},
    {"Llama 1 65B", NULL, 8192, 22016, 80, 64, 64, 32000, 1, 256, 0, {2048}},
    {"Llama 2 70B", NULL, 8192, 28672, 80, 64, 8, 32000, 1.3, 4096, 0, {4096}},
    {"Llama 3 8B", "Llama 3, 3.1 8B", 4096, 14336, 32, 32, 8, 128256, 1.3, 1024, 0, {8192, 131072}},
    {"Llama 3 70B",
     "Llama 3, 3.1 70B",
     8192,
     28672,
     80,
     64,
     8,
     128256,
     1.3,
     4096,
     0,
     {8192, 131072}},
    {"Llama 3.1 405B", NULL, 16384, 53248, 126, 128, 8, 128256, 1.2, 4096, 0, {131072}},
    {"Llama 3.2 1B", NULL, 2048, 8192, 16, 32, 8, 128256, 1.5, 256, 1, {131072}},
    {"Llama 3.2 3B", NULL, 3072, 8192, 28, 24, 8, 128256, 1, 256, 1, {131072}},
};
static const LlamaSizes *const llamas_end = llamas + LLAMA_COUNT;

/* The names of all models of these sizes. */
static inline const char *llama_names(const LlamaSizes *m) {
    return m->all_names ? m->all_names : m->name;
}

static inline int llama_head_width(const LlamaSizes *m) { return m->C / m->H; }

#endif
