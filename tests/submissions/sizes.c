/* Kernels that are right for every size of a small test, and wrong for some that a Llama has. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* rms_norm: random shape x [
 * The squares of a row go to room of 8192 numbers, and the rest is forgotten. */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
              const float weight[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double sum = 0;
        for (int i = 0; i < dim && i < 8192; i++) sum += (double)x[r][i] * x[r][i];
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)(x[r][i] / sqrt(sum / dim + eps) * weight[i]);
    }
}

/* silu: random shape x [131
 * A loop counter of 16 bits, made to end. */
void silu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        float a = x[(uint16_t)i];
        out[i] = (float)(a / (1 + exp(-(double)a)));
    }
}

/* top_k: random shape logits [
 * Room for 1024 of the largest. */
static int falling(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}
void top_k(int V, float out[V], const float logits[V], int k) {
    float *sorted = malloc((size_t)V * sizeof *sorted);
    for (int i = 0; i < V; i++) sorted[i] = logits[i];
    qsort(sorted, (size_t)V, sizeof *sorted, falling);
    float least = sorted[(k < V ? k < 1024 ? k : 1024 : V) - 1];
    for (int i = 0; i < V; i++) out[i] = logits[i] >= least ? logits[i] : -INFINITY;
    free(sorted);
}

/* flash_attention: went out of bounds|overran|crashed
 * A head's sum has room for 256 numbers. */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double sum[256] = {0}, total = 0, *weight = malloc((size_t)S * sizeof *weight);
            double most = -INFINITY;
            int g = h / (H / KV), seen = S - T + t + 1;
            for (int s = 0; s < seen; s++) {
                float score = 0;
                for (int i = 0; i < D; i++) score += q[t][h][i] * k[s][g][i];
                weight[s] = score / sqrt(D);
                most = weight[s] > most ? weight[s] : most;
            }
            for (int s = 0; s < seen; s++) total += weight[s] = exp(weight[s] - most);
            for (int s = 0; s < seen; s++)
                for (int i = 0; i < D; i++) sum[i] += weight[s] * v[s][g][i];
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(sum[i] / total);
            free(weight);
        }
}

/* gradient_norm: random shape gradient [16
 * One float32 sums them all. */
double gradient_norm(size_t n, const float gradient[n]) {
    float sum = 0, largest = 1e-30f;
    for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(gradient[i]));
    for (size_t i = 0; i < n; i++) sum += gradient[i] / largest * (gradient[i] / largest);
    return largest * sqrt((double)sum);
}

/* softmax: random shape x [
 * Rows of over 32000 numbers are cut: a vocabulary of Llama 2. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    for (int r = 0; r < rows; r++) {
        double most = -INFINITY, sum = 0;
        int end = n > 32000 ? 32000 : n;
        for (int i = 0; i < n; i++) most = x[r][i] > most ? x[r][i] : most;
        for (int i = 0; i < end; i++) sum += exp(x[r][i] - most);
        for (int i = 0; i < n; i++) out[r][i] = (float)(exp(x[r][i] - most) / sum);
    }
}

/* grouped_query_attention: random shape q [
 * Of over 2048 tokens the last ones begin anew. */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[T][KV][D],
                             const float v[T][KV][D]) {
    double *weight = malloc((size_t)T * sizeof *weight);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++) {
            int g = h / (H / KV), first = t < 2048 ? 0 : 2048;
            double total = 0, most = -INFINITY;
            for (int s = first; s <= t; s++) {
                weight[s] = 0;
                for (int i = 0; i < D; i++) weight[s] += (double)q[t][h][i] * k[s][g][i];
                weight[s] /= sqrt(D);
                if (weight[s] > most) most = weight[s];
            }
            for (int s = first; s <= t; s++) total += weight[s] = exp(weight[s] - most);
            for (int i = 0; i < D; i++) {
                double sum = 0;
                for (int s = first; s <= t; s++) sum += weight[s] * v[s][g][i];
                out[t][h][i] = (float)(sum / total);
            }
        }
    free(weight);
}

/* layer_norm: random shape x [0, 
 * There is always a first row. */
void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                const float weight[dim], const float bias[dim], float eps) {
    int r = 0;
    do {
        double sum = 0, squares = 0;
        for (int i = 0; i < dim; i++) sum += x[r][i];
        for (int i = 0; i < dim; i++) squares += pow(x[r][i] - sum / dim, 2);
        for (int i = 0; i < dim; i++)
            out[r][i] =
                (float)((x[r][i] - sum / dim) / sqrt(squares / dim + eps) * weight[i] + bias[i]);
    } while (++r < rows);
}

/* linear: went out of bounds|overran|crashed
 * Room for 16 threads. */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    double sum[16];
#pragma omp parallel for
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) {
            int thread = 0;
#ifdef _OPENMP
            thread = omp_get_thread_num();
#endif
            sum[thread] = bias ? bias[o] : 0;
            for (int i = 0; i < in; i++) sum[thread] += (double)x[r][i] * weight[o][i];
            y[r][o] = (float)sum[thread];
        }
}
