#include "10_tokenizer/bpe_train.h"
#include "common/error.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

/* A token is a word or a part of one, with or without the space before it. Signs, digits and line
 * ends stay alone. */
static bool in_one_word(const char *left, const char *right) {
    bool begins = isalpha((unsigned char)*left) || strncmp(left, "▁", strlen("▁")) == 0;
    return begins && isalpha((unsigned char)*right) && strlen(left) + strlen(right) < LONGEST;
}

/* Of the pairs that stay within a word, the most frequent one; of equally frequent ones, the
 * first. */
static LearnedMerge most_frequent(int V, const int counts[V][V], const LearnedMerge token[V]) {
    LearnedMerge best = {0};
    for (int a = 0; a < V; a++)
        for (int b = 0; b < V; b++)
            if (counts[a][b] > best.times && in_one_word(token[a].text, token[b].text))
                best = (LearnedMerge){.left = a, .right = b, .times = counts[a][b]};
    strcat(strcpy(best.text, token[best.left].text), token[best.right].text);
    return best;
}

int bpe_train(int V, LearnedMerge token[restrict V], int n, int ids[n]) {
    int *room = xmalloc(size_mul(V, size_mul(V, sizeof *room)));
    int *out = xmalloc(size_mul(n, sizeof *out));
    for (int c = 0; c < CHARACTERS; c++) token[c] = (LearnedMerge){.text = {(char)c}};
    strcpy(token[' '].text, "▁");
    strcpy(token['\n'].text, "\\n");

    for (int v = CHARACTERS; v < V; v++) {
        int(*counts)[v] = (void *)room;
        pair_counts(n, v, counts, ids);
        token[v] = most_frequent(v, counts, token);
        n = merge_pair(n, out, ids, token[v].left, token[v].right, v);
        memcpy(ids, out, (size_t)n * sizeof *ids);
    }
    free(room);
    free(out);
    return n;
}

int bpe_apply_merges(int V, const LearnedMerge token[V], int n, int ids[n]) {
    int *out = xmalloc(size_mul(n, sizeof *out));
    for (int v = CHARACTERS; v < V; v++) {
        n = merge_pair(n, out, ids, token[v].left, token[v].right, v);
        memcpy(ids, out, (size_t)n * sizeof *ids);
    }
    free(out);
    return n;
}
