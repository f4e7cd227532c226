/* Byte pair encoding, training: count which two tokens are neighbours most often, turn that pair
 * into a new token, and repeat. Source: Sennrich, Haddow and Birch, "Neural Machine Translation of
 * Rare Words with Subword Units" (2016), algorithm 1. */
#ifndef BPE_TRAIN_H
#define BPE_TRAIN_H

/* counts[a][b] = how often b comes right after a. Ids are 0 .. V - 1. */
void pair_counts(int n, int V, int counts[restrict V][V], const int ids[n]);

/* Copies the ids to out, with `merged` in place of each `left` that is followed by `right`, from
 * left to right. Returns the number of ids in out; the rest of out is not written. */
int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged);

enum {
    CHARACTERS = 128,
    LONGEST = 32
}; /* of ASCII; bytes of a token's text, with the NUL after it */

/* A learned token: the two tokens that it is made of, how often they were neighbours, and its text,
 * with ▁ for a space and \n for the end of a line. */
typedef struct {
    int left, right, times;
    char text[LONGEST];
} LearnedMerge;

/* Learns tokens until there are V. The first CHARACTERS are the characters themselves. On entry
 * ids[n] is the text in characters; on return it is the text in the learned tokens. Returns their
 * number. */
int bpe_train(int V, LearnedMerge token[restrict V], int n, int ids[n]);

/* Applies the same merges in the same order to another text. */
int bpe_apply_merges(int V, const LearnedMerge token[V], int n, int ids[n]);

#endif
