/* How a vocabulary is made: count which two tokens stand side by side most often, make a new token of them, and begin
 * again. Source: Sennrich, Haddow and Birch (2016), algorithm 1. */
#ifndef TRAIN_H
#define TRAIN_H

/* counts[a][b]: how often b stands right behind a. Ids are 0 .. V - 1. */
void pair_counts(int n, int V, int counts[restrict V][V], const int ids[n]);

/* Copies the ids, with `merged` for each `left` that has `right` behind it, from the left. Returns how many there are
 * then, and leaves the rest of out as it is. */
int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged);

#endif
