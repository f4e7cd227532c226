/* Calls of the tokenizer's kernels. They compute integers, which are passed as floats: each fits in
 * one. */
#include "10_tokenizer/bpe.h"
#include "10_tokenizer/bpe_train.h"
#include "common/check.h"
#include "tests/judge/kernels.h"

#include <string.h>

static bool is_written(int number) { return number != (int)(POISON << 16 | POISON); }

/* Elements that the kernel did not write stay unwritten. */
static void as_floats(size_t count, float out[count], const int numbers[count]) {
    for (size_t i = 0; i < count; i++)
        if (!is_written(numbers[i])) memcpy(&out[i], &numbers[i], sizeof *out);
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
    int count = AS(merge_pair, kernel)(n, merged, argument(c, "ids"), whole_number(c, "left"),
                           whole_number(c, "right"), whole_number(c, "merged"));
    for (int i = count < 0 ? 0 : count; i < n; i++) {
        if (is_written(merged[i]))
            complain("place %d of out has changed, which lies behind the %d ids that are left: the "
                     "contract leaves it as it is",
                     i, count);
        merged[i] = -1;
    }
    as_floats((size_t)n, output(c), merged);
}

/* A case has the bytes of all pieces, one behind the other, the length of each, and its rank. */
static Vocabulary vocabulary_of(const Call *c, char *bytes) {
    const int *piece = argument(c, "pieces"), *lengths = argument(c, "lengths");
    const float *ranks = argument(c, "ranks");
    Vocabulary vocabulary = {0};
    for (int p = 0; p < dimension(c, "lengths", 0); p++) {
        for (int i = 0; i < lengths[p]; i++) bytes[i] = (char)*piece++;
        vocabulary_add(&vocabulary,
                       (Token){bytes, bytes, lengths[p], lengths[p], NORMAL, ranks[p]});
        bytes += lengths[p];
    }
    return vocabulary;
}

/* Each letter begins as the token that it is. The output: the ids of the symbols that are left and
 * where each starts, and behind them -1. */
static void unpack_bpe_merge(Function kernel, const Call *c) {
    int n = dimension(c, "text", 0);
    const int *letters = argument(c, "text");
    char text[n], bytes[dimension(c, "pieces", 0)];
    Vocabulary vocabulary = vocabulary_of(c, bytes);
    Symbol *symbols = work_room("symbols", (size_t)n * sizeof *symbols / sizeof(float));
    for (int i = 0; i < n; i++) {
        text[i] = (char)letters[i];
        symbols[i].start = i;
        symbols[i].length = 1;
        symbols[i].id = map_find(&vocabulary.pieces, 1, &text[i]);
    }
    int count = AS(bpe_merge, kernel)(&vocabulary, text, n, symbols);
    float(*out)[n] = output(c);
    for (int i = 0; i < n; i++) {
        out[0][i] = i < count ? (float)symbols[i].id : -1;
        out[1][i] = i < count ? (float)symbols[i].start : -1;
    }
    vocabulary_free(&vocabulary);
}

static int *random_ids(Call *call, Random *random, size_t n, int V) {
    int *ids = call_input(call, "ids", I32, 1, SHAPE(n));
    for (size_t i = 0; i < n; i++) ids[i] = random_between(random, 0, V - 1);
    return ids;
}

static void random_pair_counts(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 60, 1000, 100000),
           V = extent_squared(random, size, 1, 9, 50, 256);
    if (size == LONG && n > V) V = 1; /* one pair, more often than 16 bits count */
    random_ids(call, random, n, (int)V);
    index_input(call, "V", (int64_t)V);
    call_output(call, F32, 2, SHAPE(V, V));
}

static void random_merge_pair(Call *call, Random *random, Size size) {
    size_t n = extent(random, size, 1, 60, 1000, 100000);
    random_ids(call, random, n, 3);
    index_input(call, "left", random_between(random, 0, 2));
    index_input(call, "right", random_between(random, 0, 2));
    index_input(call, "merged", random_between(random, 0, 3)); /* 3 is new, as in training */
    call_output(call, F32, 1, SHAPE(n));
}

/* Four letters, and pieces of two earlier pieces each, in any order of ranks; some ranks are equal.
 * A fifth letter, which the text may have, is no piece by itself, and may be one with another. */
static void random_bpe_merge(Call *call, Random *random, Size size) {
    enum { LETTERS = 4, LONGEST = 8 };
    int V = random_between(random, LETTERS, 40), total = 0;
    size_t n = extent_squared(random, size, 1, 60, 1000, 100000);
    int *lengths = call_input(call, "lengths", I32, 1, SHAPE((size_t)V)), *text, *pieces;
    float *ranks = call_input(call, "ranks", F32, 1, SHAPE((size_t)V));
    char piece[40][LONGEST] = {{'a'}, {'b'}, {'c'}, {'d'}};
    for (int p = 0; p < V; p++) {
        int left = random_between(random, 0, p ? p - 1 : 0),
            right = random_between(random, 0, p ? p - 1 : 0);
        bool fits = p >= LETTERS && lengths[left] + lengths[right] <= LONGEST;
        lengths[p] = fits ? lengths[left] + lengths[right] : 1;
        if (fits) {
            memcpy(piece[p], piece[left], (size_t)lengths[left]);
            memcpy(piece[p] + lengths[left], piece[right], (size_t)lengths[right]);
        } else if (p >= LETTERS && random_between(random, 0, 1)) {
            lengths[p] = 2;
            piece[p][0] = (char)('a' + random_between(random, 0, LETTERS));
            piece[p][1] = 'a' + LETTERS;
        } else piece[p][0] = (char)('a' + p % LETTERS);
        ranks[p] = (float)random_between(random, 0, V);
        total += lengths[p];
    }
    pieces = call_input(call, "pieces", I32, 1, SHAPE((size_t)total));
    for (int p = 0; p < V; p++)
        for (int i = 0; i < lengths[p]; i++) *pieces++ = piece[p][i];
    text = call_input(call, "text", I32, 1, SHAPE(n));
    for (size_t i = 0; i < n; i++) text[i] = 'a' + random_between(random, 0, LETTERS);
    call_output(call, F32, 2, SHAPE(2, n));
}

const Kernel tokenizer_kernels[] = {
    {KERNEL(pair_counts, "10_tokenizer", pair_counts), .pointwise = true},
    {KERNEL(merge_pair, "10_tokenizer", merge_pair), .pointwise = true},
    {KERNEL(bpe_merge, "10_tokenizer", bpe_merge), .pointwise = true},
    {0},
};
