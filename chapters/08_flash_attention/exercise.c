/* Chapter 8, your turn: softmax with one pass fewer, attention without the scores, then
 * FlashAttention.
 *
 *     make exercise-08
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. */
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "08_flash_attention/flash_attention.h"

/* Task 1. Chapter 4's softmax reads each row three times: for the maximum, for the sum, for the
 * division. Read it twice: one loop that carries maximum and sum together, and one that writes.
 * What must happen to the sum when an element is larger than the maximum so far? Careful with a row
 * that begins with -infinity. */
void softmax(int rows, int n, float out[rows][n], const float x[rows][n]) {
    (void)rows, (void)n, (void)out, (void)x;
}

/* Task 2. Chapter 6's attention, without an array of scores: for each query of each head walk along
 * the keys that it attends to, s <= S - T + t, and carry maximum, sum and D outputs. One key at a
 * time will do: a tile of 1. */
void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}

/* The challenge, without a hint: the same in tiles of keys, each of which many queries share. If it
 * is right, is it fast? Beside chapter 12's:
 *
 *     make build/bench_kernels
 *     build/bench_kernels flash_attention --library build/exercise-08/exercise.c.so --bench */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}
