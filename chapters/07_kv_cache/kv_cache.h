/* Chapter 7: the KV cache. A position's key and value never change once they are computed, because
 * the position attends to none that comes later. So they are kept, and a new token costs one query
 * against the cache instead of the whole text again.
 *
 * Keys are stored after RoPE has rotated them: a key's position never changes. */
#ifndef KV_CACHE_H
#define KV_CACHE_H

/* The cache of one layer. k and v are [capacity][KV][D]; the first `length` rows are filled. */
typedef struct {
    int capacity, length;
    float *k, *v;
} KVCache;

/* An empty cache for `capacity` positions. Free it with kv_cache_free(). */
KVCache kv_cache_new(int capacity, int KV, int D);
void kv_cache_free(KVCache *cache);

/* The kernels take a cache's arrays one by one, because shapes belong in a kernel's signature. */

/* Writes T new keys and values into rows length .. length + T - 1 and returns the new length.
 * If they do not fit, fail() says so and nothing is written. */
int kv_cache_append(int capacity, int KV, int D, float cache_k[capacity][KV][D],
                    float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
                    const float v[T][KV][D]);

/* One layer's step: appends T new keys and values, then each of the T queries attends to everything
 * up to its own position. T is the whole prompt in prefill, a piece of it in chunked prefill, 1 in
 * decode. The T outputs are those that attention over the whole text would give for its last T
 * positions. If T rows do not fit, fail() says so and nothing is written. H is a multiple of KV, as
 * in chapter 6; out must not overlap anything else. Source: Attention.forward in llama/model.py of
 * Meta (cache_k, cache_v); DynamicCache of transformers. */
void cached_attention(int capacity, int length, int T, int H, int KV, int D,
                      float out[restrict T][H][D], float cache_k[capacity][KV][D],
                      float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]);

#endif
