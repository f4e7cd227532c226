/* Where the parameters of the published Llamas are. */
#ifndef LLAMA_PARAMETERS_H
#define LLAMA_PARAMETERS_H

#include "03_feed_forward/feed_forward.h"
#include "common/llamas.h"

/* The hidden width by Meta's rule, which is the model's F. */
static inline long hidden_width(const LlamaSizes *m) {
    return llama_hidden_width(m->C, m->multiplier, m->multiple_of);
}

static inline long long feed_forward_parameters(const LlamaSizes *m) {
    return 3LL * m->C * hidden_width(m) * m->L;
}

/* The query and output projections are C x C; those of key and value, C x KV D. */
static inline long long projection_parameters(const LlamaSizes *m) {
    return 2LL * m->C * (m->C + m->KV * llama_head_width(m)) * m->L;
}

/* Embeddings and norms: one table where the output head is tied to the embedding, else two; two
 * norms per layer, and the last. */
static inline long long other_parameters(const LlamaSizes *m) {
    long long tables = m->tied ? 1 : 2;
    return m->C * (m->V * tables + 2 * m->L + 1);
}

#endif
