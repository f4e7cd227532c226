/* How to call chapter 10's kernels. They compute whole numbers, which are handed over as floats: each fits in one. */
#include "10_tokenizer/train.h"
#include "common/check.h"
#include "tests/verify/kernels.h"

#include <string.h>

/* What the kernel did not write stays unwritten. */
static void as_floats(size_t count, float out[count], const int numbers[count]) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == (int)(POISON << 16 | POISON)) memcpy(&out[i], &numbers[i], sizeof *out);
        else out[i] = (float)numbers[i];
}

static void unpack_pair_counts(Function kernel, const Call *c) {
    int n = dimension(c, "ids", 0), V = whole_number(c, "V");
    void *counts = work_room("counts", (size_t)V * (size_t)V);
    AS(pair_counts, kernel)(n, V, counts, argument(c, "ids"));
    as_floats((size_t)V * (size_t)V, output(c), counts);
}

/* Behind what is left of the ids, the output is -1. */
static void unpack_merge_pair(Function kernel, const Call *c) {
    int n = dimension(c, "ids", 0), *merged = work_room("out", (size_t)n);
    int count = AS(merge_pair, kernel)(n, merged, argument(c, "ids"), whole_number(c, "left"), whole_number(c, "right"),
                                       whole_number(c, "merged"));
    for (int i = count < 0 ? 0 : count; i < n; i++) merged[i] = -1;
    as_floats((size_t)n, output(c), merged);
}

static int *random_ids(Call *call, Random *random, size_t n, int V) {
    int *ids = call_input(call, "ids", I32, 1, SHAPE(n));
    for (size_t i = 0; i < n; i++) ids[i] = random_between(random, 0, V - 1);
    return ids;
}

static void random_pair_counts(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 60, 1000, 100000), V = extent(random, size, 1, 9, 50, 256);
    random_ids(call, random, n, (int)V);
    index_input(call, "V", (int64_t)V);
    call_output(call, F32, 2, SHAPE(V, V));
}

static void random_merge_pair(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 60, 1000, 100000);
    random_ids(call, random, n, 3);
    index_input(call, "left", random_between(random, 0, 2));
    index_input(call, "right", random_between(random, 0, 2));
    index_input(call, "merged", 3);
    call_output(call, F32, 1, SHAPE(n));
}

const Kernel tokenizer_kernels[] = {
    {KERNEL(pair_counts, "10_tokenizer", pair_counts), .pointwise = true},
    {KERNEL(merge_pair, "10_tokenizer", merge_pair), .pointwise = true},
    {0},
};
