/* Chapter 11: choosing a token from logits that the samplers have reshaped. In a file of its own: a reader's samplers
 * take the place of sampling.c, and these call them. */
#include "11_generation/sampling.h"

#include <math.h>

int greedy(int V, const float logits[V]) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

int draw(int V, const float logits[V], double u) {
    float most = logits[greedy(V, logits)];
    double total = 0, before = 0;
    int last = 0;
    for (int v = 0; v < V; v++) total += exp((double)logits[v] - most);
    for (int v = 0; v < V && before <= u * total; v++) {
        double width = exp((double)logits[v] - most);
        if (width > 0) last = v;
        before += width;
    }
    return last;
}

int sample(const Sampling *s, int V, float logits[V], int n, const int ids[n], Random *random) {
    if (s->repetition_penalty != 1) repetition_penalty(V, n, logits, logits, ids, s->repetition_penalty);
    if (s->temperature == 0) return greedy(V, logits);
    if (s->temperature != 1) temperature(V, logits, logits, s->temperature);
    if (s->top_k > 0) top_k(V, logits, logits, s->top_k);
    if (s->top_p < 1) top_p(V, logits, logits, s->top_p);
    if (s->min_p > 0) min_p(V, logits, logits, s->min_p);
    return draw(V, logits, random_uniform(random));
}
