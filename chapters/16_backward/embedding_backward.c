#include "16_backward/backward.h"
#include "common/error.h"

static void check_id(int id, int V) {
    if (id < 0 || id >= V) fail("token %d is not in the vocabulary of %d", id, V);
}

void embedding_backward(int T, int V, int C, float dtable[restrict V][C], const float dx[T][C], const int ids[T]) {
    for (int t = 0; t < T; t++) {
        check_id(ids[t], V);
        for (int i = 0; i < C; i++) dtable[ids[t]][i] += dx[t][i];
    }
}
