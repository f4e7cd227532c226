/* Chapter 15, your turn: cut a layer among ranks, and put it together again.
 *
 *     make exercise-15
 *
 * judges each function against what PyTorch makes of the same numbers, names the mistake if it
 * knows it, and says how far you are. Fill them in from top to bottom. The (void) lines only keep
 * an empty body from warning; they go when you begin. Of `count` things rank r has those from count
 * r / ranks on. No MPI is needed: one process plays all ranks in turn. */
#include "15_tensor_parallel/shard.h"

/* Task 1. This rank's outputs of a linear layer: which rows of nn.Linear's [out][in] are they? */
void shard_columns(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                   const float weight[F][C]) {
    (void)ranks, (void)rank, (void)F, (void)C, (void)part, (void)weight;
}

/* Task 2. This rank's inputs: a piece of every row. */
void shard_rows(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                const float weight[C][F]) {
    (void)ranks, (void)rank, (void)C, (void)F, (void)part, (void)weight;
}

/* Task 3. Queries, keys and values lie one behind the other in qkv. A rank gets H / ranks heads of
 * queries; which keys do they read? Chapter 6 has the formula. */
void shard_heads(int ranks, int rank, int H, int KV, int kept, int D, int C,
                 float part[restrict H / ranks + 2 * kept][D][C],
                 const float qkv[H + 2 * KV][D][C]) {
    (void)ranks, (void)rank, (void)H, (void)KV, (void)kept, (void)D, (void)C, (void)part, (void)qkv;
}

/* Task 4. The rows of the tokens that are this rank's, and what for the others, if the ranks' rows
 * are to be added up? */
void vocabulary_embedding(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                          const int ids[T], const float part[V / ranks][C]) {
    (void)ranks, (void)rank, (void)T, (void)V, (void)C, (void)out, (void)ids, (void)part;
}

/* The challenge, without a hint: half a layer on all ranks, one after the other. What may be added
 * only once? */
void parallel_feed_forward(int ranks, int T, int C, int F, float out[restrict T][C],
                           const float x[T][C], const float normed[T][C], const float gate[F][C],
                           const float up[F][C], const float down[C][F]) {
    (void)ranks, (void)T, (void)C, (void)F, (void)out, (void)x, (void)normed, (void)gate, (void)up,
        (void)down;
}
