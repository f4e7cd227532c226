#include "11_generation/sampling.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void repetition_penalty(int V, int n, float out[V], const float logits[V], const int ids[n],
                        float penalty) {
    bool *seen = xmalloc((size_t)V * sizeof *seen);
    memset(seen, 0, (size_t)V * sizeof *seen);
    for (int i = 0; i < n; i++) seen[ids[i]] = true;
    for (int v = 0; v < V; v++)
        out[v] = !seen[v] ? logits[v] : logits[v] < 0 ? logits[v] * penalty : logits[v] / penalty;
    free(seen);
}

void temperature(int V, float out[V], const float logits[V], float T) {
    for (int v = 0; v < V; v++) out[v] = logits[v] / T;
}

static float largest(int V, const float logits[V]) {
    float most = -INFINITY;
    for (int v = 0; v < V; v++) most = fmaxf(most, logits[v]);
    return most;
}

/* Sum over all tokens of e^(logit - the largest): what makes probabilities of them. */
static double total(int V, const float logits[V], float most) {
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp((double)logits[v] - most);
    return sum;
}

/* Puts x in the place of the least of k numbers. They are a heap: heap[0] is the least, for none is
 * less than the one above it, and below heap[i] lie heap[2 i + 1] and heap[2 i + 2]. */
static void replace_least(int k, float heap[k], float x) {
    int at = 0;
    for (int below; (below = 2 * at + 1) < k; at = below) {
        if (below + 1 < k && heap[below + 1] < heap[below]) below++;
        if (x <= heap[below]) break;
        heap[at] = heap[below];
    }
    heap[at] = x;
}

/* The k largest so far are enough: nothing is sorted. */
void top_k(int V, float out[V], const float logits[V], int k) {
    int count = k < V ? k : V;
    float *heap = xmalloc((size_t)count * sizeof *heap);
    for (int i = 0; i < count; i++) heap[i] = -INFINITY;
    for (int v = 0; v < V; v++)
        if (logits[v] > heap[0]) replace_least(count, heap, logits[v]);
    float least = heap[0];
    for (int v = 0; v < V; v++) out[v] = logits[v] < least ? -INFINITY : logits[v];
    free(heap);
}

typedef struct {
    float logit;
    int token;
} Candidate;

static int more_probable_first(const void *a, const void *b) {
    const Candidate *x = a, *y = b;
    int order = (x->logit < y->logit) - (x->logit > y->logit);
    return order ? order : y->token - x->token;
}

/* Not all V are sorted: those less likely than (1 - p) / V cannot be kept, for together they are
 * less than 1 - p. */
void top_p(int V, float out[V], const float logits[V], float p) {
    float most = largest(V, logits);
    double sum = total(V, logits, most), least = (1 - (double)p) / V, before = 0;
    Candidate *candidates = xmalloc((size_t)V * sizeof *candidates);
    int count = 0;
    for (int v = 0; v < V; v++)
        if (exp((double)logits[v] - most) / sum >= least)
            candidates[count++] = (Candidate){logits[v], v};
    qsort(candidates, (size_t)count, sizeof *candidates, more_probable_first);

    for (int v = 0; v < V; v++) out[v] = -INFINITY;
    for (int i = 0; i < count && (i == 0 || before < p); i++) {
        out[candidates[i].token] = candidates[i].logit;
        before += exp((double)candidates[i].logit - most) / sum;
    }
    free(candidates);
}

void min_p(int V, float out[V], const float logits[V], float p) {
    float most = largest(V, logits);
    for (int v = 0; v < V; v++) out[v] = exp((double)logits[v] - most) < p ? -INFINITY : logits[v];
}

/* ------------------------------------------------------------------ choosing a token */

int argmax(int V, const float logits[V]) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

int multinomial(int V, const float logits[V], double u) {
    float most = logits[argmax(V, logits)];
    double sum = total(V, logits, most), before = 0;
    int last = 0;
    for (int v = 0; v < V && before <= u * sum; v++) {
        double width = exp((double)logits[v] - most);
        if (width > 0) last = v;
        before += width;
    }
    return last;
}

int sample(const SamplingParams *s, int V, float logits[V], int n, const int ids[n],
           Random *random) {
    if (s->repetition_penalty != 1)
        repetition_penalty(V, n, logits, logits, ids, s->repetition_penalty);
    if (s->temperature == 0) return argmax(V, logits);
    if (s->temperature != 1) temperature(V, logits, logits, s->temperature);
    if (s->top_k > 0) top_k(V, logits, logits, s->top_k);
    if (s->top_p < 1) top_p(V, logits, logits, s->top_p);
    if (s->min_p > 0) min_p(V, logits, logits, s->min_p);
    return multinomial(V, logits, random_uniform(random));
}
