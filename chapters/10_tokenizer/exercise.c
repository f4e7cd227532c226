/* Chapter 10, your turn: learn a vocabulary, and encode a text with one.
 *
 *     make exercise-10
 *
 * compares each function with the libraries' answers, names the mistake if it is known, and says
 * how far you are. The (void) lines only prevent warnings about an empty body; delete them when you
 * begin.
 *
 * Byte-level training with Llama 3's pattern, and Llama 3's own ids, are exercises 4 and 5 of
 * README.md: they have no judge, but numbers to reach. */
#include "10_tokenizer/bpe.h"
#include "10_tokenizer/bpe_train.h"

/* Task 1. Which two ids are neighbours, and how often? "aaa" contains the pair "aa" twice. */
void pair_counts(int n, int V, int counts[restrict V][V], const int ids[n]) {
    (void)n, (void)V, (void)counts, (void)ids;
}

/* Task 2. Replace each pair by the merged id, from left to right. What is "aaa" when "aa" is
 * merged? Return how many ids are left. If you put these two functions into bpe_train.c in place of
 * ours, `make 10` learns the same tokens from the stories as before. */
int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    (void)out, (void)ids, (void)left, (void)right, (void)merged;
    return n;
}

/* The challenge: merge a text, without a heap. As long as there is a pair that can be merged, find
 * the one with the lowest rank (of equal ranks, the leftmost) and merge it. vocabulary_merge()
 * gives the id and the rank of what two neighbours merge into, if it gets the text from the left
 * one on; the id is -1 if they do not merge. `previous` and `next` are yours to use, or not. In the
 * end the symbols that are left must be at the front of `symbols`; return how many they are. The
 * judge shows your result as two rows, ids and starts, which are filled up with -1. */
int bpe_merge(const Vocabulary *vocabulary, const char *text, int count, Symbol symbols[count]) {
    (void)vocabulary, (void)text, (void)symbols;
    return count;
}
