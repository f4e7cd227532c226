#include "04_attention/attention.h"
#include "common/error.h"

#include <math.h>

void attention_scores(int T, int S, int D, float scores[restrict T][S], const float q[T][D],
                      const float k[S][D]) {
    double scale = 1 / sqrt(D);
    for (int t = 0; t < T; t++)
        for (int s = 0; s < S; s++) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < D; i++) sum += (double)q[t][i] * k[s][i];
            scores[t][s] = (float)(sum * scale);
        }
}

void causal_mask(int T, int S, float scores[T][S]) {
    for (int t = 0; t < T; t++)
        for (int s = S - T + t + 1; s < S; s++) scores[t][s] = -INFINITY;
}

/* A NaN in a row is never its maximum, but makes the sum NaN, and so the whole row, as in PyTorch. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    for (int r = 0; r < rows; r++) {
        float max = -INFINITY;
        for (int i = 0; i < n; i++) max = x[r][i] > max ? x[r][i] : max;
        double sum = 0;
        for (int i = 0; i < n; i++) sum += exp((double)x[r][i] - max);
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp((double)x[r][i] - max) / sum);
    }
}

void weighted_sum(int T, int S, int D, float out[restrict T][D], const float weights[T][S],
                  const float v[S][D]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D; i++) {
            double sum = 0;
            for (int s = 0; s < S; s++) sum += (double)weights[t][s] * v[s][i];
            out[t][i] = (float)sum;
        }
}

void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D],
               const float k[S][D], const float v[S][D], float scores[restrict T][S]) {
    if (T < 1 || T > S) fail("attention: %d queries cannot be the last of %d positions", T, S);
    attention_scores(T, S, D, scores, q, k);
    causal_mask(T, S, scores);
    softmax(T, S, scores, scores);
    weighted_sum(T, S, D, out, scores, v);
}
