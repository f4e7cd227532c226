/* Calls of the attention kernels: one head, many heads, with a KV cache, and tiled
 * (FlashAttention). */
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "common/check.h"
#include "12_speed/fast_kernels.h"
#include "tests/judge/kernels.h"

#include <math.h>
#include <string.h>

/* Further back than any sliding window looks: Mistral's is 4096. */
enum { FAR_AWAY = 4200 };

/* ------------------------------------------------------------------ chapter 4 */

static void unpack_softmax(Function kernel, const Call *c) {
    AS(softmax, kernel)(dimension(c, "x", 0), dimension(c, "x", 1), output(c), argument(c, "x"));
}

static void random_softmax(Call *call, Random *random, Size size) {
    size_t rows = extent(random, size, 1, 9, 67, 2048),
           n = extent(random, size, 1, 300, 4099, 4096);
    random_input(call, random, "x", 2, SHAPE(rows, n));
    call_output(call, F32, 2, SHAPE(rows, n));
}

static void unpack_attention_scores(Function kernel, const Call *c) {
    AS(attention_scores, kernel)(dimension(c, "q", 0), dimension(c, "k", 0), dimension(c, "q", 1), output(c),
                     argument(c, "q"), argument(c, "k"));
}

static void random_attention_scores(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 131, 512),
           S = extent(random, size, 1, 40, 300, 4096);
    size_t D = extent_squared(random, size, 1, 40, 130, 128);
    random_input(call, random, "q", 2, SHAPE(T, D));
    random_input(call, random, "k", 2, SHAPE(S, D));
    call_output(call, F32, 2, SHAPE(T, S));
}

/* The mask is laid over the scores, where they are: its output is a copy of them. */
static void unpack_causal_mask(Function kernel, const Call *c) {
    int T = dimension(c, "scores", 0), S = dimension(c, "scores", 1);
    void *out = memcpy(output(c), argument(c, "scores"), (size_t)T * (size_t)S * sizeof(float));
    AS(causal_mask, kernel)(T, S, out);
}

static void random_causal_mask(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 131, 512),
           S = T + extent(random, size, 0, 20, 170, 3584);
    random_input(call, random, "scores", 2, SHAPE(T, S));
    call_output(call, F32, 2, SHAPE(T, S));
}

static void unpack_weighted_sum(Function kernel, const Call *c) {
    AS(weighted_sum, kernel)(dimension(c, "weights", 0), dimension(c, "weights", 1), dimension(c, "v", 1),
                 output(c), argument(c, "weights"), argument(c, "v"));
}

static void random_weighted_sum(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 131, 512),
           S = extent(random, size, 1, 40, 300, 4096);
    size_t D = extent_squared(random, size, 1, 40, 130, 128);
    random_input(call, random, "weights", 2, SHAPE(T, S));
    random_input(call, random, "v", 2, SHAPE(S, D));
    call_output(call, F32, 2, SHAPE(T, D));
}

/* Afterwards `scores` holds the weights: each row adds up to 1, and nobody sees what comes later.
 * Where a row is NaN, as one of infinities is, there is nothing to add up. */
static void look_at_weights(int T, int S, const float weights[T][S]) {
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int s = 0; s < S; s++) sum += weights[t][s];
        if (is_poison(weights[t][0]) || fabs(sum - 1) > 1e-4)
            complain("scores does not hold the weights afterwards, as the contract says: row %d "
                     "adds up to %.3g, not to 1",
                     t, isnan(sum) ? NAN : sum);
        for (int s = S - T + t + 1; s < S; s++)
            if (weights[t][s] != 0 && !isnan(sum))
                complain("scores does not hold the weights afterwards: weight [%d, %d] is of a "
                         "later key, and not 0",
                         t, s);
    }
}

static void unpack_attention(Function kernel, const Call *c) {
    int T = dimension(c, "q", 0), S = dimension(c, "k", 0);
    void *scores = work_room("scores", (size_t)T * (size_t)S);
    AS(attention, kernel)(T, S, dimension(c, "q", 1), output(c), argument(c, "q"), argument(c, "k"),
              argument(c, "v"), scores);
    look_at_weights(T, S, scores);
}

static void random_attention(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 131, 512),
           S = T + extent(random, size, 0, 20, 170, 0);
    size_t D = extent_squared(random, size, 1, 40, 130, 128);
    if (size == FAR) {
        T = 2;
        S = FAR_AWAY;
        D = 8;
    }
    random_input(call, random, "q", 2, SHAPE(T, D));
    random_input(call, random, "k", 2, SHAPE(S, D));
    random_input(call, random, "v", 2, SHAPE(S, D));
    call_output(call, F32, 2, SHAPE(T, D));
}

/* Two multiplications and two additions for each query, each key that it sees and each number of a
 * head. */
static double causal_operations(double T, double S, double H, double D) {
    return 4 * H * D * T * (S - (T - 1) / 2);
}

static double attention_operations(const Call *c) {
    return causal_operations(dimension(c, "q", 0), dimension(c, "k", 0), 1, dimension(c, "q", 1));
}

/* ----------------------------------------------- chapters 6, 8: q [T][H][D], k and v [S][KV][D] */

static void random_heads(Call *call, Random *random, size_t T, size_t S, size_t H, size_t KV,
                         size_t D) {
    random_input(call, random, "q", 3, SHAPE(T, H, D));
    random_input(call, random, "k", 3, SHAPE(S, KV, D));
    random_input(call, random, "v", 3, SHAPE(S, KV, D));
    call_output(call, F32, 3, SHAPE(T, H, D));
}

static void unpack_grouped_query(Function kernel, const Call *c) {
    AS(grouped_query_attention, kernel)(dimension(c, "q", 0), dimension(c, "q", 1), dimension(c, "k", 1),
                            dimension(c, "q", 2), output(c), argument(c, "q"), argument(c, "k"),
                            argument(c, "v"));
}

static void random_grouped_query(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 70, 256),
           KV = extent_squared(random, size, 1, 3, 5, 2);
    if (size == FAR) random_heads(call, random, 1100, 1100, 2, 1, 4);
    else
        random_heads(call, random, T, T, KV * extent_squared(random, size, 1, 4, 3, 4), KV,
                     extent_squared(random, size, 1, 40, 130, 128));
}

static void unpack_flash_attention(Function kernel, const Call *c) {
    AS(flash_attention, kernel)(dimension(c, "q", 0), dimension(c, "k", 0), dimension(c, "q", 1),
                    dimension(c, "k", 1), dimension(c, "q", 2), output(c), argument(c, "q"),
                    argument(c, "k"), argument(c, "v"));
}

/* The same arguments. */
static void unpack_gqa_attention_with_past(Function kernel, const Call *c) {
    unpack_flash_attention(kernel, c);
}

static void random_gqa_attention_with_past(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 20, 33, 1),
           S = T + extent(random, size, 0, 20, 100, 4095);
    size_t KV = extent_squared(random, size, 1, 3, 5, 8),
           D = extent_squared(random, size, 1, 40, 130, 128);
    if (size == FAR) random_heads(call, random, 2, FAR_AWAY, 2, 1, 8);
    else random_heads(call, random, T, S, KV * extent_squared(random, size, 1, 4, 3, 4), KV, D);
}

/* Large: a token after 32768 others, and a text of 4096, with the heads of Llama 3 8B. */
static void random_flash_attention(Call *call, Random *random, Size size) {
    size_t KV = extent_squared(random, size, 1, 3, 5, 0),
           T = extent_squared(random, size, 1, 70, 131, 0);
    if (size == LARGE) random_heads(call, random, 1, 32768, 32, 8, 128);
    else if (size == LARGE_PREFILL) random_heads(call, random, 4096, 4096, 32, 8, 128);
    else if (size == FAR) random_heads(call, random, 2, FAR_AWAY, 2, 1, 8);
    else
        random_heads(call, random, T, T + extent(random, size, 0, 70, 170, 0),
                     KV * extent_squared(random, size, 1, 4, 3, 0), KV,
                     extent_squared(random, size, 1, 140, 130, 0));
}

static double heads_operations(const Call *c) {
    return causal_operations(dimension(c, "q", 0), dimension(c, "k", 0), dimension(c, "q", 1),
                             dimension(c, "q", 2));
}

/* -------------------------------------------------------- chapter 7: a cache, part of it filled */

/* The kernel writes to its cache, and a golden case's inputs are read-only: it gets copies. */
static struct Copy {
    const float *of;
    float *copy;
    size_t count;
} copies[2]; /* keys, values */

static float *copy_of(const Call *c, int which, const char *name) {
    size_t count = (size_t)dimension(c, name, 0) * (size_t)dimension(c, name, 1) *
                   (size_t)dimension(c, name, 2);
    float *copy = memcpy(work_room(name, count), argument(c, name), count * sizeof(float));
    copies[which] = (struct Copy){argument(c, name), copy, count};
    return copy;
}

static void nothing_was_written(void) {
    for (int i = 0; i < 2; i++)
        if (memcmp(copies[i].of, copies[i].copy, copies[i].count * sizeof(float)) != 0)
            complain("the cache of %s was written before the call was refused",
                     i ? "values" : "keys");
}

/* The first row of a cache that is not what it was before, or what was to be appended there. */
static void look_at_cache(const char *what, int row_bytes, const struct Copy *cache, int length,
                          int T, const void *appended) {
    int capacity = (int)(cache->count * sizeof(float) / (size_t)row_bytes);
    for (int row = 0; row < capacity; row++) {
        bool is_new = row >= length && row < length + T;
        const char *now = (const char *)cache->copy + (size_t)row * (size_t)row_bytes;
        const char *right =
            is_new ? (const char *)appended + (size_t)(row - length) * (size_t)row_bytes
                   : (const char *)cache->of + (size_t)row * (size_t)row_bytes;
        if (memcmp(now, right, (size_t)row_bytes) == 0) continue;
        complain(is_new ? "the output is right, but row %d of %s does not hold what was to be "
                          "appended: the next call will miss it"
                        : "the output is right, but row %d of %s has changed, where nothing was to "
                          "be appended",
                 row, what);
        return;
    }
}

static void unpack_cached_attention(Function kernel, const Call *c) {
    int length = whole_number(c, "length"), T = dimension(c, "q", 0), KV = dimension(c, "k", 1),
        D = dimension(c, "q", 2);
    float *cache_k = copy_of(c, 0, "cache_k"), *cache_v = copy_of(c, 1, "cache_v");
    when_refused = nothing_was_written;
    AS(cached_attention, kernel)(dimension(c, "cache_k", 0), length, T, dimension(c, "q", 1), KV, D, output(c),
                     (void *)cache_k, (void *)cache_v, argument(c, "q"), argument(c, "k"),
                     argument(c, "v"));
    look_at_cache("cache_k", KV * D * (int)sizeof(float), &copies[0], length, T, argument(c, "k"));
    look_at_cache("cache_v", KV * D * (int)sizeof(float), &copies[1], length, T, argument(c, "v"));
}

/* The output: both caches, whole, and the length that the kernel returns. */
static void unpack_kv_cache_append(Function kernel, const Call *c) {
    int capacity = dimension(c, "cache_k", 0), KV = dimension(c, "k", 1), D = dimension(c, "k", 2);
    float *cache_k = copy_of(c, 0, "cache_k"), *cache_v = copy_of(c, 1, "cache_v"),
          *out = output(c);
    when_refused = nothing_was_written;
    int length = AS(kv_cache_append,
                    kernel)(capacity, KV, D, (void *)cache_k, (void *)cache_v,
                                 whole_number(c, "length"), dimension(c, "k", 0), argument(c, "k"),
                                 argument(c, "v"));
    size_t count = (size_t)capacity * (size_t)KV * (size_t)D;
    memcpy(out, cache_k, count * sizeof *out);
    memcpy(out + count, cache_v, count * sizeof *out);
    out[2 * count] = (float)length;
}

static void random_kv_cache_append(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 9, 33, 512),
           length = extent(random, size, 0, 20, 100, 4096);
    size_t capacity = length + T + extent(random, size, 0, 5, 7, 0);
    size_t KV = extent_squared(random, size, 1, 3, 5, 8),
           D = extent_squared(random, size, 1, 40, 130, 128);
    random_input(call, random, "k", 3, SHAPE(T, KV, D));
    random_input(call, random, "v", 3, SHAPE(T, KV, D));
    random_input(call, random, "cache_k", 3, SHAPE(capacity, KV, D));
    random_input(call, random, "cache_v", 3, SHAPE(capacity, KV, D));
    index_input(call, "length", (int64_t)length);
    call_output(call, F32, 1, SHAPE(2 * capacity * KV * D + 1));
}

static void random_cached_attention(Call *call, Random *random, Size size) {
    size_t T = extent_squared(random, size, 1, 9, 33, 1),
           length = extent(random, size, 0, 20, 100, 4095);
    size_t capacity = length + T + extent(random, size, 0, 5, 7, 0);
    size_t KV = extent_squared(random, size, 1, 3, 5, 8),
           H = KV * extent_squared(random, size, 1, 4, 3, 4);
    size_t D = extent_squared(random, size, 1, 40, 130, 128);
    if (size == FAR) {
        T = 2;
        length = FAR_AWAY;
        capacity = length + T;
        KV = 1;
        H = 2;
        D = 8;
    }
    random_heads(call, random, T, T, H, KV, D);
    random_input(call, random, "cache_k", 3, SHAPE(capacity, KV, D));
    random_input(call, random, "cache_v", 3, SHAPE(capacity, KV, D));
    index_input(call, "length", (int64_t)length);
}

/* ------------------------------------------------------------------ what is refused */

/* A cache of 8 rows, and more tokens than fit; the output is as large as the kernel's. */
static void beyond_the_cache(Call *call, int length, size_t T) {
    Random random = {.state = 2};
    random_input(call, &random, "q", 3, SHAPE(T, 2, 4));
    random_input(call, &random, "k", 3, SHAPE(T, 1, 4));
    random_input(call, &random, "v", 3, SHAPE(T, 1, 4));
    random_input(call, &random, "cache_k", 3, SHAPE(8, 1, 4));
    random_input(call, &random, "cache_v", 3, SHAPE(8, 1, 4));
    index_input(call, "length", length);
    call_output(call, F32, 1, SHAPE(2 * 8 * 4 + 1));
}

static void overfull_cache(Call *call) { beyond_the_cache(call, 7, 2); }
static void full_cache(Call *call) { beyond_the_cache(call, 8, 1); }

static void more_queries_than_keys(Call *call) {
    Random random = {.state = 2};
    random_input(call, &random, "q", 2, SHAPE(5, 4));
    random_input(call, &random, "k", 2, SHAPE(3, 4));
    random_input(call, &random, "v", 2, SHAPE(3, 4));
    call_output(call, F32, 2, SHAPE(5, 4));
}

static void more_queries_than_keys_of_heads(Call *call) {
    random_heads(call, &(Random){.state = 2}, 5, 3, 2, 1, 4);
}
static void heads_that_cannot_share(Call *call) {
    random_heads(call, &(Random){.state = 2}, 3, 3, 3, 2, 4);
}

static const Refusal refused_by_cache[] = {
    {"The capacity is not checked. 7 of 8 rows are filled, and 2 more do not fit", overfull_cache,
     true},
    {"The capacity is not checked. All 8 rows are filled, and 1 more does not fit", full_cache,
     true},
    {0}};
static const Refusal refused_by_attention[] = {
    {"5 queries cannot be the last of 3 positions", more_queries_than_keys, false}, {0}};
static const Refusal refused_by_heads[] = {
    {"3 query heads cannot share 2 key/value heads", heads_that_cannot_share, false}, {0}};
static const Refusal refused_by_last_heads[] = {
    {"3 query heads cannot share 2 key/value heads", heads_that_cannot_share, false},
    {"5 queries cannot be the last of 3 positions", more_queries_than_keys_of_heads, false},
    {0}};

const Kernel attention_kernels[] = {
    {KERNEL(softmax, "04_attention", softmax), .in_place = {"x"}},
    {KERNEL(attention_scores, "04_attention", attention_scores)},
    {KERNEL(causal_mask, "04_attention", causal_mask)},
    {KERNEL(weighted_sum, "04_attention", weighted_sum)},
    {KERNEL(attention, "04_attention", attention), .operations = attention_operations,
     .refusals = refused_by_attention},
    {KERNEL(grouped_query_attention, "06_grouped_query", grouped_query),
     .operations = heads_operations, .refusals = refused_by_heads},
    {KERNEL(gqa_attention_with_past, "06_grouped_query", gqa_attention_with_past),
     .refusals = refused_by_last_heads},
    {KERNEL(kv_cache_append, "07_kv_cache", kv_cache_append), .pointwise = true,
     .refusals = refused_by_cache},
    {KERNEL(cached_attention, "07_kv_cache", cached_attention), .refusals = refused_by_cache},
    {KERNEL(flash_attention, "08_flash_attention", flash_attention),
     .fast = (Function)fast_flash_attention, .operations = heads_operations, .has_prefill = true,
     .refusals = refused_by_last_heads},
    {0},
};
