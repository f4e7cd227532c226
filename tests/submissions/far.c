/* Kernels that have only been tried on short texts: they look back so far, and no further. */
#include <math.h>
#include <stdlib.h>

/* flash_attention: random shape q [2, 2, 8], k [4200, 1, 8]
 * A sliding window, as some models have. A Llama sees all. */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                     const float k[S][KV][D], const float v[S][KV][D]) {
    double *weight = malloc((size_t)S * sizeof *weight);
    if (KV < 1 || H % KV || T > S) exit(1);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            int g = h / (H / KV), end = S - T + t, begin = end >= 4096 ? end - 4095 : 0;
            double max = -INFINITY, sum = 0;
            for (int s = begin; s <= end; s++) {
                weight[s] = 0;
                for (int i = 0; i < D; i++) weight[s] += (double)q[t][h][i] * k[s][g][i] / sqrt(D);
                max = fmax(max, weight[s]);
            }
            for (int s = begin; s <= end; s++) sum += weight[s] = exp(weight[s] - max);
            for (int i = 0; i < D; i++) {
                double mix = 0;
                for (int s = begin; s <= end; s++) mix += weight[s] / sum * v[s][g][i];
                out[t][h][i] = (float)mix;
            }
        }
    free(weight);
}

/* repetition_penalty: random shape logits [123], ids [400]
 * For the last 64 tokens alone, as llama.cpp has it. */
void repetition_penalty(int V, int n, float out[V], const float logits[V], const int ids[n], float penalty) {
    char *seen = calloc((size_t)V, 1);
    for (int i = n > 64 ? n - 64 : 0; i < n; i++) seen[ids[i]] = 1;
    for (int v = 0; v < V; v++)
        out[v] = !seen[v] ? logits[v] : logits[v] > 0 ? logits[v] / penalty : logits[v] * penalty;
    free(seen);
}
