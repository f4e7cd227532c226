/* The heads and contexts of the course's own model and of ten Llamas, by their config.json files. */
#ifndef LLAMA_HEADS_H
#define LLAMA_HEADS_H

typedef struct {
    const char *name;
    int L, H, KV, D, contexts[2]; /* two where the name is that of two models */
} Llama;

static const Llama llamas[] = {{"the course's model", 4, 6, 2, 32, {512}},
                               {"Llama 1, 2 7B", 32, 32, 32, 128, {2048, 4096}},
                               {"Llama 1, 2 13B", 40, 40, 40, 128, {2048, 4096}},
                               {"Llama 1 33B", 60, 52, 52, 128, {2048}},
                               {"Llama 1 65B", 80, 64, 64, 128, {2048}},
                               {"Llama 2 70B", 80, 64, 8, 128, {4096}},
                               {"Llama 3, 3.1 8B", 32, 32, 8, 128, {8192, 131072}},
                               {"Llama 3, 3.1 70B", 80, 64, 8, 128, {8192, 131072}},
                               {"Llama 3.1 405B", 126, 128, 8, 128, {131072}},
                               {"Llama 3.2 1B", 16, 32, 8, 64, {131072}},
                               {"Llama 3.2 3B", 28, 24, 8, 128, {131072}}};
static const Llama *const llamas_end = llamas + sizeof llamas / sizeof *llamas;

#endif
