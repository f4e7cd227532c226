#include "10_tokenizer/train.h"

#include <stdbool.h>

void pair_counts(int n, int V, int counts[restrict V][V], const int ids[n]) {
    for (int a = 0; a < V; a++)
        for (int b = 0; b < V; b++) counts[a][b] = 0;
    for (int i = 0; i + 1 < n; i++) counts[ids[i]][ids[i + 1]]++;
}

int merge_pair(int n, int out[restrict n], const int ids[n], int left, int right, int merged) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool together = i + 1 < n && ids[i] == left && ids[i + 1] == right;
        out[count++] = together ? merged : ids[i];
        i += together;
    }
    return count;
}
