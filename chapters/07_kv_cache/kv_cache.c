#include "07_kv_cache/kv_cache.h"
#include "06_grouped_query/grouped_query.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

KVCache kv_cache_new(int capacity, int KV, int D) {
    size_t bytes = (size_t)capacity * KV * D * sizeof(float);
    return (KVCache){.capacity = capacity, .k = xmalloc(bytes), .v = xmalloc(bytes)};
}

void kv_cache_free(KVCache *cache) {
    free(cache->k);
    free(cache->v);
    *cache = (KVCache){0};
}

int kv_cache_append(int capacity, int KV, int D, float cache_k[capacity][KV][D],
                    float cache_v[capacity][KV][D], int length, int T, const float k[T][KV][D],
                    const float v[T][KV][D]) {
    if (length < 0 || T < 1) fail("KV cache: %d tokens cannot be appended to %d", T, length);
    if (T > capacity - length)
        fail("KV cache: %d of its %d rows are filled, %d more do not fit: make the cache longer",
             length, capacity, T);
    memcpy(cache_k[length], k, (size_t)T * sizeof *k);
    memcpy(cache_v[length], v, (size_t)T * sizeof *v);
    return length + T;
}

void cached_attention(int capacity, int length, int T, int H, int KV, int D,
                      float out[restrict T][H][D], float cache_k[capacity][KV][D],
                      float cache_v[capacity][KV][D], const float q[T][H][D],
                      const float k[T][KV][D], const float v[T][KV][D]) {
    int filled = kv_cache_append(capacity, KV, D, cache_k, cache_v, length, T, k, v);
    gqa_attention_with_past(T, filled, H, KV, D, out, q, cache_k, cache_v);
}
