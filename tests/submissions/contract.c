/* Kernels whose output is right, and which do not do all else that their contract says. */
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "10_tokenizer/bpe_train.h"
#include "16_backward/backward.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* attention: scores does not hold the weights afterwards */
void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D], const float k[S][D],
               const float v[S][D], float scores[restrict T][S]) {
    float(*weights)[S] = malloc((size_t)T * sizeof *weights);
    attention_scores(T, S, D, scores, q, k);
    causal_mask(T, S, scores);
    softmax(T, S, weights, scores);
    weighted_sum(T, S, D, out, weights, v);
    free(weights);
}

/* kv_cache_append: The capacity is not checked. 7 of 8 rows are filled, and 2 more do not fit: the contract says that fail() refuses it */
int kv_cache_append(int capacity, int KV, int D, float cache_k[capacity][KV][D], float cache_v[capacity][KV][D],
                    int length, int T, const float k[T][KV][D], const float v[T][KV][D]) {
    memcpy((float *)cache_k + (size_t)length * (size_t)KV * (size_t)D, k, (size_t)T * sizeof *k);
    memcpy((float *)cache_v + (size_t)length * (size_t)KV * (size_t)D, v, (size_t)T * sizeof *v);
    return length + T;
}

/* cached_attention: row 1 of cache_k does not hold what was to be appended|of cache_k does not hold
 * It joins old and new in arrays of its own. */
void cached_attention(int capacity, int length, int T, int H, int KV, int D, float out[restrict T][H][D],
                      float cache_k[capacity][KV][D], float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]) {
    if (length + T > capacity) exit(1);
    float(*keys)[KV][D] = malloc((size_t)(length + T) * sizeof *keys),
        (*values)[KV][D] = malloc((size_t)(length + T) * sizeof *values);
    memcpy(keys, cache_k, (size_t)length * sizeof *keys), memcpy(keys + length, k, (size_t)T * sizeof *k);
    memcpy(values, cache_v, (size_t)length * sizeof *values), memcpy(values + length, v, (size_t)T * sizeof *v);
    gqa_attention_with_past(T, length + T, H, KV, D, out, q, keys, values);
    free(keys), free(values);
}

/* silu: right, but not in place (out may be x) */
void silu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) out[i] = 1 / (1 + expf(-x[i]));
    for (int i = 0; i < n; i++) out[i] *= x[i];
}

/* bilinear: right, but not in place (out may be up)
 * It may lie over the gate. */
void bilinear(int n, float out[n], const float gate[n], const float up[n]) {
    if (out != gate) memcpy(out, gate, (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) out[i] *= up[i];
}

/* min_p: right, but not in place (out may be logits)
 * The largest is looked for again and again. */
void min_p(int V, float out[V], const float logits[V], float p) {
    for (int v = 0; v < V; v++) {
        float most = -INFINITY;
        for (int w = V - 1; w >= 0; w--) most = logits[w] > most ? logits[w] : most;
        out[v] = exp((double)logits[v] - most) < p ? -INFINITY : logits[v];
        if (v == 0 && out == logits) out[v] = -INFINITY;
    }
}

/* microbatch_weights: got NaN, expected 0
 * Where nothing counts, nothing is divided by nothing. */
void microbatch_weights(int batches, int rows, float shares[batches], const int targets[batches][rows]) {
    double all = 0;
    for (int b = 0; b < batches; b++) {
        shares[b] = 0;
        for (int r = 0; r < rows; r++) shares[b] += targets[b][r] >= 0;
        all += shares[b];
    }
    for (int b = 0; b < batches; b++) shares[b] = (float)(shares[b] / all);
}

/* cross_entropy: got 0, expected NaN
 * There is no mean of nothing. */
double cross_entropy(int rows, int V, const float logits[rows][V], const int targets[rows]) {
    double sum = 0;
    size_t count = count_targets((size_t)rows, targets);
    check_targets((size_t)rows, V, targets);
    for (int r = 0; r < rows; r++) {
        double most = -INFINITY, all = 0;
        if (targets[r] < 0) continue;
        for (int v = 0; v < V; v++) most = fmax(most, logits[r][v]);
        for (int v = 0; v < V; v++) all += exp(logits[r][v] - most);
        sum += log(all) - (logits[r][targets[r]] - most);
    }
    return count ? sum / (double)count : 0;
}

/* embedding_backward: token -1 is not in the vocabulary: the contract says that fail() refuses it
 * It takes negative ids for ignored ones. */
void embedding_backward(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C], const int ids[T]) {
    for (int t = 0; t < T; t++)
        if (ids[t] >= V) exit(1);
    for (int t = 0; t < T; t++)
        for (int i = 0; ids[t] >= 0 && i < C; i++) dtable[ids[t]][i] += dx[t][i];
}

/* merge_pair: which lies behind the 3 ids that are left
 * It copies everything first. */
int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    int count = 0;
    memcpy(out, ids, (size_t)n * sizeof *out);
    for (int i = 0; i < n; i++) {
        bool is_pair = i + 1 < n && ids[i] == left && ids[i + 1] == right;
        out[count++] = is_pair ? merged : ids[i];
        i += is_pair;
    }
    return count;
}
