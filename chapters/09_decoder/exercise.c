/* Chapter 9, your turn: a Llama from memory.
 *
 *     make exercise-09
 *
 * Five functions are all that decoder.c needs of the chapters before it. You have met each; write them again, on one
 * page and without looking. Each is judged against PyTorch, and the mistake is named if it is known.
 * The (void) lines only keep an empty body from warning; they go when you begin. */
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "04_rope/rope.h"
#include "07_kv_cache/kv_cache.h"
#include "common/linear.h"

/* Task 1. Before each block: every row to the same size. Where does eps stand? */
void rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const float weight[dim],
              const float *bias, float eps) {
    (void)rows, (void)dim, (void)out, (void)x, (void)weight, (void)bias, (void)eps;
}

/* Task 2. Seven times a layer: each row of x meets each row of the weight. */
void linear(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
            const float weight[out][in], const float *bias) {
    (void)rows, (void)in, (void)out, (void)y, (void)x, (void)weight, (void)bias;
}

/* Task 3. Between the way up and the way down: one half opens or shuts the other. Which? */
void swiglu(int n, float out[n], const float gate[n], const float up[n]) {
    (void)n, (void)out, (void)gate, (void)up;
}

/* Task 4. Queries and keys learn where they stand. Which two numbers make a pair in a Hugging Face checkpoint? */
void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]) {
    (void)T, (void)H, (void)D, (void)out, (void)x, (void)cosine, (void)sine;
}

/* The challenge, without a hint: the new keys and values go into the cache, and each query sees what it may. */
void cached_attention(int capacity, int length, int T, int H, int KV, int D, float out[restrict T][H][D],
                      float cache_k[capacity][KV][D], float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]) {
    (void)capacity, (void)length, (void)T, (void)H, (void)KV, (void)D, (void)out, (void)cache_k, (void)cache_v;
    (void)q, (void)k, (void)v;
}
