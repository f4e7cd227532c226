/* Chapter 7: the KV cache. A position's key and value never change once they are made, for it sees
 * no later one. So they are kept, and a new token costs one query against what is there instead of
 * the whole text again.
 *
 * A cache of one layer is two arrays, keys and values, [capacity][KV][D], of which the first
 * `length` rows are filled. Keys are stored after RoPE has turned them: each stands at its own
 * position for good. */
#ifndef KV_CACHE_H
#define KV_CACHE_H

/* Writes T new keys and values into rows length .. length + T - 1 and returns the new length.
 * If they do not fit, fail() says so and nothing is written. */
int kv_cache_append(int capacity, int KV, int D, float cache_k[capacity][KV][D],
                    float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
                    const float v[T][KV][D]);

/* One layer's step: appends T new keys and values, then lets the T queries see all that is filled,
 * each up to its own position. T is the whole prompt in prefill, a piece of it in chunked prefill,
 * 1 in decode. The T outputs are those that attention over the whole text would give for its last T
 * positions. If T rows do not fit, fail() says so and nothing is written. H is a multiple of KV, as
 * in chapter 6; out must not overlap anything else. Source: Attention.forward in llama/model.py of
 * Meta (cache_k, cache_v); DynamicCache of transformers. */
void cached_attention(int capacity, int length, int T, int H, int KV, int D,
                      float out[restrict T][H][D], float cache_k[capacity][KV][D],
                      float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]);

#endif
