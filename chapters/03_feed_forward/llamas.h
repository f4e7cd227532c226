/* The sizes of ten Llamas, as Meta's params.json files have them. */
#ifndef LLAMA_WIDTHS_H
#define LLAMA_WIDTHS_H

#include "03_feed_forward/feed_forward.h"

typedef struct {
    const char *name;
    long C;
    double multiplier;
    long multiple_of, layers, key_value_width, vocabulary;
    long embeddings; /* 1 where the output head is the embedding table again, else 2 */
} Llama;

static const Llama llamas[] = {{"Llama 1, 2 7B", 4096, 1, 256, 32, 4096, 32000, 2},
                               {"Llama 1, 2 13B", 5120, 1, 256, 40, 5120, 32000, 2},
                               {"Llama 1 33B", 6656, 1, 256, 60, 6656, 32000, 2},
                               {"Llama 1 65B", 8192, 1, 256, 80, 8192, 32000, 2},
                               {"Llama 2 70B", 8192, 1.3, 4096, 80, 1024, 32000, 2},
                               {"Llama 3 8B", 4096, 1.3, 1024, 32, 1024, 128256, 2},
                               {"Llama 3 70B", 8192, 1.3, 4096, 80, 1024, 128256, 2},
                               {"Llama 3.1 405B", 16384, 1.2, 4096, 126, 1024, 128256, 2},
                               {"Llama 3.2 1B", 2048, 1.5, 256, 16, 512, 128256, 1},
                               {"Llama 3.2 3B", 3072, 1, 256, 28, 1024, 128256, 1}};
static const Llama *const llamas_end = llamas + sizeof llamas / sizeof *llamas;

static inline long width(const Llama *m) { return llama_hidden_width(m->C, m->multiplier, m->multiple_of); }

static inline long long feed_forwards(const Llama *m) { return 3LL * m->C * width(m) * m->layers; }

/* The query and output projections are C x C; those of key and value, C x key_value_width. */
static inline long long attentions(const Llama *m) {
    return 2LL * m->C * (m->C + m->key_value_width) * m->layers;
}

static inline long long embeddings_and_norms(const Llama *m) {
    return 1LL * m->C * (m->vocabulary * m->embeddings + 2 * m->layers + 1);
}

#endif
