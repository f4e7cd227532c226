/* Kernels that use memory which is not theirs. Most give right answers all the same: what they touch happens to be
 * there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* softmax: bytes past the end of an array of
 * One element too few from the heap. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    double *e = malloc((size_t)(n - 1) * sizeof *e);
    for (int r = 0; r < rows; r++) {
        double max = -INFINITY, sum = 0;
        for (int i = 0; i < n; i++) max = x[r][i] > max ? x[r][i] : max;
        for (int i = 0; i < n; i++) sum += e[i] = exp(x[r][i] - max);
        for (int i = 0; i < n; i++) out[r][i] = (float)(e[i] / sum);
    }
    free(e);
}

/* silu: went out of bounds: just past the end of x|went out of bounds: past the end of x
 * A vector of eight where the row has fewer left: only read, and never used. */
void silu(int n, float out[n], const float x[n]) {
    for (int i = 0; i < n; i += 8) {
        volatile float eight[8];
        for (int l = 0; l < 8; l++) eight[l] = x[i + l];
        for (int l = 0; l < 8 && i + l < n; l++) out[i + l] = eight[l] / (1 + expf(-eight[l]));
    }
}

/* gelu: of 'float [64]'|of 'float[64]'|past the end of an array on its stack
 * An array for as many as the author has seen. */
void gelu(int n, float out[n], const float x[n]) {
    float kept[64];
    for (int i = 0; i < n; i++) kept[i] = x[i];
    for (int i = 0; i < n; i++) out[i] = (float)(0.5 * kept[i] * erfc(-kept[i] * 0.70710678118654752440));
}

/* bilinear: wrote past the end of an array on its stack|of the stack|crashed|ended the program
 * The same, filled by memcpy. */
void bilinear(int n, float out[n], const float gate[n], const float up[n]) {
    float kept[64];
    memcpy(kept, gate, (size_t)n * sizeof *kept);
    __asm__ volatile("" : : "r"(kept) : "memory"); /* or the compiler would see that nobody needs the array */
    for (int i = 0; i < n; i++) out[i] = (i < 64 ? kept[i] : gate[i]) * up[i];
}

/* sigmoid: it uses an array from the heap after free */
void sigmoid(int n, float out[n], const float x[n]) {
    float *e = malloc((size_t)n * sizeof *e);
    for (int i = 0; i < n; i++) e[i] = expf(-x[i]);
    float *kept = e;
    __asm__ volatile("" : "+r"(kept)); /* or the compiler would see it, and warn */
    free(e);
    for (int i = 0; i < n; i++) out[i] = 1 / (1 + kept[i]);
}

/* relu: went out of bounds: 4 bytes before x|went out of bounds: before x */
void relu(int n, float out[n], const float x[n]) {
    volatile float before = 0;
    for (int i = 0; i < n; i++) before = x[i - 1], out[i] = x[i] < 0 ? 0 : x[i];
    (void)before;
}
