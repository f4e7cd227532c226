/* Right kernels as people write them. Each must pass. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

/* rms_norm: PASS: 24 random shapes agree
 * Flat arrays, from the end, in long double, the rows by threads. */
void rms_norm(int rows, int dim, float *out, const float *x, const float *weight, float eps) {
#pragma omp parallel for
    for (int r = 0; r < rows; r++) {
        long double sum = 0;
        for (int i = dim; i-- > 0;) sum += (long double)x[r * dim + i] * x[r * dim + i];
        for (int i = 0; i < dim; i++)
            out[r * dim + i] = (float)(x[r * dim + i] / sqrtl(sum / dim + eps) * weight[i]);
    }
}

/* layer_norm: PASS: 24 random shapes agree
 * Welford: mean and variance in one pass. */
void layer_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const float weight[dim],
                const float bias[dim], float eps) {
    for (int r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < dim; i++) {
            double before = x[r][i] - mean;
            mean += before / (i + 1);
            squares += before * (x[r][i] - mean);
        }
        for (int i = 0; i < dim; i++)
            out[r][i] = (float)((x[r][i] - mean) / sqrt(squares / dim + eps) * weight[i] + bias[i]);
    }
}

static double pairwise(int n, const double *e) {
    return n == 1 ? *e : pairwise(n / 2, e) + pairwise(n - n / 2, e + n / 2);
}

/* softmax: PASS: 24 random shapes agree
 * Pairwise sums, in room from the heap. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    double *e = calloc((size_t)n, sizeof *e);
    for (int r = 0; r < rows; r++) {
        float max = x[r][0];
        for (int i = 0; i < n; i++) max = fmaxf(max, x[r][i]);
        for (int i = 0; i < n; i++) e[i] = exp((double)x[r][i] - max);
        double sum = pairwise(n, e);
        for (int i = 0; i < n; i++) out[r][i] = (float)(e[i] / sum);
    }
    free(e);
}

/* relu: PASS: 24 random shapes agree
 * Intrinsics, where they are. The comparison lets NaN through. */
void relu(int n, float out[n], const float x[n]) {
    int i = 0;
#ifdef __AVX2__
    for (; i + 8 <= n; i += 8) {
        __m256 eight = _mm256_loadu_ps(x + i), negative = _mm256_cmp_ps(eight, _mm256_setzero_ps(), _CMP_LT_OQ);
        _mm256_storeu_ps(out + i, _mm256_andnot_ps(negative, eight));
    }
#endif
    for (; i < n; i++) out[i] = x[i] < 0 ? 0 : x[i];
}

/* linear: PASS: 24 random shapes agree
 * Two loops in one for the threads, and the sum in float32, compensated as Kahan does. */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
#pragma omp parallel for collapse(2) schedule(dynamic)
    for (int o = 0; o < out; o++)
        for (int r = 0; r < rows; r++) {
            /* Volatile, or the compiler might do the sums in another order. */
            volatile float sum = bias ? bias[o] : 0, lost = 0;
            for (int i = 0; i < in; i++) {
                float product = x[r][i] * weight[o][i], rest = fmaf(x[r][i], weight[o][i], -product);
                float next = product - lost, larger = sum + next;
                lost = (larger - sum) - next - rest;
                sum = larger;
            }
            y[r][o] = sum - lost;
        }
}

/* rope_interleaved: PASS: 24 random shapes agree
 * Pairs as complex numbers. */
void rope_interleaved(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                      const float cosine[T][D / 2], const float sine[T][D / 2]) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D / 2; i++) {
            float complex turn = cosine[t][i] + sine[t][i] * I;
            for (int h = 0; h < H; h++) {
                float complex turned = (x[t][h][2 * i] + x[t][h][2 * i + 1] * I) * turn;
                out[t][h][2 * i] = crealf(turned), out[t][h][2 * i + 1] = cimagf(turned);
            }
        }
}

/* kv_cache_append: PASS: 24 random shapes agree
 * Numbers one by one; what does not fit ends the program. */
int kv_cache_append(int capacity, int KV, int D, float *cache_k, float *cache_v, int length, int T, const float *k,
                    const float *v) {
    if (length + T > capacity) abort();
    for (int n = 0; n < T * KV * D; n++) cache_k[length * KV * D + n] = k[n], cache_v[length * KV * D + n] = v[n];
    return length + T;
}

/* grouped_query_attention: PASS: 24 random shapes agree
 * One query after the other, the softmax on the way; H that KV does not divide is nobody's business here. */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                             const float k[T][KV][D], const float v[T][KV][D]) {
#pragma omp parallel for collapse(2)
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double max = -INFINITY, sum = 0, mixed[D];
            memset(mixed, 0, sizeof mixed);
            for (int s = 0; s <= t; s++) {
                double score = 0;
                for (int i = 0; i < D; i++) score += (double)q[t][h][i] * k[s][h * KV / H][i];
                score /= sqrt(D);
                double larger = score > max ? score : max, shrink = exp(max - larger), weight = exp(score - larger);
                for (int i = 0; i < D; i++) mixed[i] = mixed[i] * shrink + weight * v[s][h * KV / H][i];
                sum = sum * shrink + weight, max = larger;
            }
            for (int i = 0; i < D; i++) out[t][h][i] = (float)(mixed[i] / sum);
        }
}

static int descending(const void *left, const void *right) {
    float a = *(const float *)left, b = *(const float *)right;
    return (a < b) - (a > b);
}

/* top_k: PASS: 24 random shapes agree */
void top_k(int V, float out[V], const float logits[V], int k) {
    float *sorted = memcpy(malloc((size_t)V * sizeof *sorted), logits, (size_t)V * sizeof *sorted);
    qsort(sorted, (size_t)V, sizeof *sorted, descending);
    float least = sorted[(k < V ? k : V) - 1];
    for (int v = 0; v < V; v++) out[v] = logits[v] >= least ? logits[v] : -INFINITY;
    free(sorted);
}

/* silu_derivative: PASS: 24 random shapes agree
 * In place, with out as the room for what comes between. */
void silu_derivative(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i++) {
        double z = x[i], e = exp(-fabs(z)), larger = 1 / (1 + e), smaller = e / (1 + e),
            open = z < 0 ? smaller : larger;
        out[i] = (float)(open * (1 + z * (z < 0 ? larger : smaller)));
    }
}
