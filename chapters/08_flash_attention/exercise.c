/* Chapter 8, exercises: softmax with one pass fewer, attention without stored scores, and then
 * FlashAttention.
 *
 *     make exercise-08
 *
 * judges each function against PyTorch, names your mistake if it knows it, and says what is left.
 * Fill them in from top to bottom. The (void) lines only keep the compiler from warning about an
 * empty body, so delete them when you begin. The headers say what each function must do. */
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "08_flash_attention/flash_attention.h"

#include <math.h>

/* Task 1. The softmax of chapter 4 reads each row three times: for the maximum, for the sum, and
 * for the division. Read it twice, in one loop that updates the maximum and the sum together, and
 * one loop that writes. What must happen to the sum when an element is larger than the maximum so
 * far? Be careful with a row that begins with -infinity. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    (void)rows, (void)n, (void)out, (void)x;
}

/* Task 2. The attention of chapter 6, without stored scores. For each query of each head, go
 * through the keys that it may attend to, s <= S - T + t, and update its state: the maximum, the
 * sum and the D outputs. One key at a time is enough, which is a tile of one key. */
void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}

/* The challenge: the same in tiles of keys, and many queries share each tile. Write it without
 * looking at the lesson. If it is right, is it fast? To compare it with the kernel of chapter 12:
 *
 *     make build/bench_kernels
 *     build/bench_kernels flash_attention --library build/exercise-08/exercise.c.so --bench */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}
