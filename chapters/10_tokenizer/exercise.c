/* Chapter 10, your turn: make a vocabulary.
 *
 *     make verify SRC=chapters/10_tokenizer/exercise.c
 *
 * The two steps that a byte pair encoding is trained by, again and again. verify judges each against PyTorch, and names
 * the mistake if it knows it. The (void) lines only keep an empty body from warning; they go when you begin. */
#include "10_tokenizer/train.h"

/* Task 1. Which two stand side by side, and how often? "aaa" has two pairs. */
void pair_counts(int n, int V, int counts[restrict V][V], const int ids[n]) {
    (void)n, (void)V, (void)counts, (void)ids;
}

/* Task 2. Two become one, from the left: what is "aaa" when "aa" is merged? Return how many ids are left. */
int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    (void)out, (void)ids, (void)left, (void)right, (void)merged;
    return n;
}

/* Task 3, without a judge. bpe.c takes the best pair from a heap, O(n log n). Write bpe_merge with a plain search for the
 * best pair, O(n^2), and let `time build/10_tokenizer --model … --encode-file` compare them on this chapter's README.md,
 * then on ten copies of it. */
