/* Chapter 7, your turn: keep the keys and values.
 *
 *     make exercise-07
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. */
#include "07_kv_cache/kv_cache.h"
#include "06_grouped_query/grouped_query.h"

/* Task 1. Copy the T new rows of k and v to where the filled rows end, and return the new length.
 * What if they do not fit? fail() in common/error.h takes a message like printf, and ends the
 * program; call it before you write a thing. */
int kv_cache_append(int capacity, int KV, int D, float cache_k[capacity][KV][D],
                    float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
                    const float v[T][KV][D]) {
    (void)capacity, (void)KV, (void)D, (void)cache_k, (void)cache_v, (void)length, (void)T, (void)k,
        (void)v;
    return length;
}

/* The challenge, without a hint: one layer's step. gqa_attention_with_past() of chapter 6 is there.
 * The rows after the filled ones are garbage. */
void cached_attention(int capacity, int length, int T, int H, int KV, int D,
                      float out[restrict T][H][D], float cache_k[capacity][KV][D],
                      float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]) {
    (void)capacity, (void)length, (void)T, (void)H, (void)KV, (void)D, (void)out, (void)cache_k,
        (void)cache_v;
    (void)q, (void)k, (void)v;
}
