/* Chapter 15, your turn: cut a layer for several ranks, and add up their partial sums.
 *
 *     make exercise-15
 *
 * compares each function with PyTorch, names the mistake if it is a known one, and counts the
 * functions that are correct. Work from top to bottom. The (void) lines only prevent warnings about
 * an empty body; remove them when you begin. If `count` things are divided, the range of rank r
 * begins at count r / ranks. No MPI is needed: one process plays all ranks in turn. */
#include "15_tensor_parallel/shard.h"

/* Task 1. This rank's outputs of a linear layer. Which rows of nn.Linear's [out][in] are they? The
 * lesson has the answer. */
void shard_columns(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                   const float weight[F][C]) {
    (void)ranks, (void)rank, (void)F, (void)C, (void)part, (void)weight;
}

/* Task 2. This rank's inputs: a piece of every row. */
void shard_rows(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                const float weight[C][F]) {
    (void)ranks, (void)rank, (void)C, (void)F, (void)part, (void)weight;
}

/* Task 3. qkv contains the query heads, then the key heads, then the value heads. A rank gets
 * H / ranks query heads; which key-value heads do they read? Chapter 6 has the formula. */
void shard_heads(int ranks, int rank, int H, int KV, int kept, int D, int C,
                 float part[restrict H / ranks + 2 * kept][D][C],
                 const float qkv[H + 2 * KV][D][C]) {
    (void)ranks, (void)rank, (void)H, (void)KV, (void)kept, (void)D, (void)C, (void)part, (void)qkv;
}

/* Task 4. For a token that this rank holds, its row of the table. What for the other tokens, if the
 * results of all ranks are added? */
void vocabulary_embedding(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                          const int ids[T], const float part[V / ranks][C]) {
    (void)ranks, (void)rank, (void)T, (void)V, (void)C, (void)out, (void)ids, (void)part;
}

/* The challenge, without a hint: the feed-forward half of a layer on all ranks, one after another.
 * Which term may be added only once? */
void parallel_feed_forward(int ranks, int T, int C, int F, float out[restrict T][C],
                           const float x[T][C], const float normed[T][C], const float gate[F][C],
                           const float up[F][C], const float down[C][F]) {
    (void)ranks, (void)T, (void)C, (void)F, (void)out, (void)x, (void)normed, (void)gate, (void)up,
        (void)down;
}
