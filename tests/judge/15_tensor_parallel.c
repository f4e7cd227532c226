/* Calls of the sharding kernels. One process plays all ranks, one after the other. */
#include "15_tensor_parallel/shard.h"
#include "common/check.h"
#include "tests/judge/kernels.h"

static void unpack_shard_columns(Function kernel, const Call *c) {
    AS(shard_columns, kernel)(whole_number(c, "ranks"), whole_number(c, "rank"), dimension(c, "weight", 0),
                  dimension(c, "weight", 1), output(c), argument(c, "weight"));
}

static void unpack_shard_rows(Function kernel, const Call *c) {
    AS(shard_rows, kernel)(whole_number(c, "ranks"), whole_number(c, "rank"), dimension(c, "weight", 0),
               dimension(c, "weight", 1), output(c), argument(c, "weight"));
}

static void unpack_shard_heads(Function kernel, const Call *c) {
    AS(shard_heads, kernel)(whole_number(c, "ranks"), whole_number(c, "rank"), whole_number(c, "H"),
                whole_number(c, "KV"), whole_number(c, "kept"), dimension(c, "qkv", 1),
                dimension(c, "qkv", 2), output(c), argument(c, "qkv"));
}

static void unpack_vocabulary(Function kernel, const Call *c) {
    AS(vocabulary_embedding, kernel)(whole_number(c, "ranks"), whole_number(c, "rank"), dimension(c, "ids", 0),
                         whole_number(c, "V"), dimension(c, "part", 1), output(c),
                         argument(c, "ids"), argument(c, "part"));
}

/* The token is handed over as a float: it fits in one. */
static void unpack_largest(Function kernel, const Call *c) {
    float *token = output(c);
    *token = (float)AS(vocab_parallel_argmax,
                       kernel)(dimension(c, "largest", 0), whole_number(c, "V"),
                                          argument(c, "largest"), argument(c, "place"));
}

static void unpack_parallel(Function kernel, const Call *c) {
    AS(parallel_feed_forward, kernel)(whole_number(c, "ranks"), dimension(c, "x", 0), dimension(c, "x", 1),
                          dimension(c, "gate", 0), output(c), argument(c, "x"),
                          argument(c, "normed"), argument(c, "gate"), argument(c, "up"),
                          argument(c, "down"));
}

/* The number of ranks, and the rank that is played. */
static size_t random_ranks(Call *call, Random *random) {
    int ranks = (int[]){1, 2, 3, 4, 8}[random_between(random, 0, 4)];
    index_input(call, "ranks", ranks);
    index_input(call, "rank", random_between(random, 0, ranks - 1));
    return (size_t)ranks;
}

static void random_shard_columns(Call *call, Random *random, Size size) {
    size_t ranks = random_ranks(call, random), own = extent_squared(random, size, 1, 9, 40, 512),
           C = extent(random, size, 1, 30, 131, 2048);
    random_input(call, random, "weight", 2, SHAPE(ranks * own, C));
    call_output(call, F32, 2, SHAPE(own, C));
}

static void random_shard_rows(Call *call, Random *random, Size size) {
    size_t ranks = random_ranks(call, random), own = extent_squared(random, size, 1, 9, 40, 512),
           C = extent(random, size, 1, 30, 131, 2048);
    random_input(call, random, "weight", 2, SHAPE(C, ranks * own));
    call_output(call, F32, 2, SHAPE(C, own));
}

/* As many key/value heads as ranks, twice as many, or half. */
static void random_shard_heads(Call *call, Random *random, Size size) {
    size_t ranks = random_ranks(call, random), choice = (size_t)random_between(random, 0, 2);
    size_t KV = choice == 0 ? ranks : choice == 1 ? 2 * ranks : ranks % 2 ? 1 : ranks / 2;
    size_t H = 2 * ranks * (size_t)random_between(random, 1, 3), kept = KV > ranks ? KV / ranks : 1;
    size_t D = extent_squared(random, size, 1, 6, 16, 64),
           C = extent_squared(random, size, 1, 20, 70, 512);
    index_input(call, "H", (int64_t)H);
    index_input(call, "KV", (int64_t)KV);
    index_input(call, "kept", (int64_t)kept);
    random_input(call, random, "qkv", 3, SHAPE(H + 2 * KV, D, C));
    call_output(call, F32, 3, SHAPE(H / ranks + 2 * kept, D, C));
}

static void random_vocabulary(Call *call, Random *random, Size size) {
    size_t ranks = random_ranks(call, random), own = extent_squared(random, size, 1, 9, 40, 4000);
    size_t T = extent(random, size, 1, 20, 100, 512), C = extent(random, size, 1, 30, 131, 2048);
    index_input(call, "V", (int64_t)(ranks * own));
    int *ids = call_input(call, "ids", I32, 1, SHAPE(T));
    for (size_t t = 0; t < T; t++) ids[t] = random_between(random, 0, (int)(ranks * own) - 1);
    random_input(call, random, "part", 2, SHAPE(own, C));
    call_output(call, F32, 2, SHAPE(T, C));
}

static void random_largest(Call *call, Random *random, Size size) {
    size_t ranks = extent_squared(random, size, 1, 9, 16, 64);
    int V = (int)ranks * 100 + random_between(random, 0, 99);
    index_input(call, "V", V);
    random_input(call, random, "largest", 1, SHAPE(ranks));
    int *place = call_input(call, "place", I32, 1, SHAPE(ranks));
    for (size_t rank = 0; rank < ranks; rank++) place[rank] = random_between(random, 0, 99);
    call_output(call, F32, 1, SHAPE(1));
}

static void random_parallel(Call *call, Random *random, Size size) {
    size_t ranks = (size_t)(int[]){1, 2, 3, 4, 8}[random_between(random, 0, 4)];
    size_t T = extent_squared(random, size, 1, 9, 20, 1),
           C = extent_squared(random, size, 1, 30, 131, 1024),
           F = ranks * extent_squared(random, size, 1, 9, 20, 256);
    index_input(call, "ranks", (int64_t)ranks);
    random_input(call, random, "x", 2, SHAPE(T, C));
    random_input(call, random, "normed", 2, SHAPE(T, C));
    random_input(call, random, "gate", 2, SHAPE(F, C));
    random_input(call, random, "up", 2, SHAPE(F, C));
    random_input(call, random, "down", 2, SHAPE(C, F));
    call_output(call, F32, 2, SHAPE(T, C));
}

const Kernel parallel_kernels[] = {
    {KERNEL(shard_columns, "15_tensor_parallel", shard_columns), .pointwise = true},
    {KERNEL(shard_rows, "15_tensor_parallel", shard_rows), .pointwise = true},
    {KERNEL(shard_heads, "15_tensor_parallel", shard_heads), .pointwise = true},
    {KERNEL(vocabulary_embedding, "15_tensor_parallel", vocabulary), .pointwise = true},
    {KERNEL(vocab_parallel_argmax, "15_tensor_parallel", largest), .pointwise = true},
    {KERNEL(parallel_feed_forward, "15_tensor_parallel", parallel)},
    {0},
};
