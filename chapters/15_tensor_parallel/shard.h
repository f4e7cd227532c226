/* Chapter 15: tensor parallelism. The matrices of a model are cut among `ranks` processes, and
 * `rank`, from 0 on, is one of them. Each computes with its part of every matrix; what they make is
 * added up.
 *
 * In these kernels `ranks` divides what is cut, and 0 <= rank < ranks. */
#ifndef SHARD_H
#define SHARD_H

/* A rank's contiguous range of `count` things. The ranges of two ranks differ in size by one at
 * most. */
typedef struct {
    int first, count;
} ShardRange;
ShardRange shard_range(int count, int ranks, int rank);

/* A rank's outputs of a linear layer: of nn.Linear's [out][in] it has some rows, which in y = x W^T
 * are columns. Nothing is added up after it. Source: ColumnParallelLinear of Megatron-LM; Shoeybi
 * et al. 2019, section 3. */
void shard_columns(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                   const float weight[F][C]);

/* A rank's inputs of a linear layer, those that a shard_columns before it makes. What the ranks
 * make of them is added up. Source: RowParallelLinear of Megatron-LM. */
void shard_rows(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                const float weight[C][F]);

/* A rank's heads of the three matrices of attention, which lie one behind the other: H heads of
 * queries, KV of keys, KV of values, D rows each. Its query heads follow each other; with them come
 * the key/value heads that they read, and these are `kept` of each: KV / ranks, but at least one,
 * which several ranks then have. `ranks` divides H, and KV divides `ranks` or `ranks` divides KV.
 * Source: Shoeybi et al. 2019, section 3; QKVParallelLinear of vLLM. */
void shard_heads(int ranks, int rank, int H, int KV, int kept, int D, int C,
                 float part[restrict H / ranks + 2 * kept][D][C],
                 const float qkv[H + 2 * KV][D][C]);

/* The rows of the tokens that this rank has in its part of the table, and zeros for the others: the
 * sum over the ranks is the embedding. Source: VocabParallelEmbedding of Megatron-LM. */
void vocabulary_embedding(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                          const int ids[T], const float part[V / ranks][C]);

/* The token with the largest logit, where each rank says the largest of its own part of V and at
 * which place in that part it is. Of equal ones it is the first token, as torch.argmax has it. Here
 * V may be any number. */
int vocab_parallel_argmax(int ranks, int V, const float largest[ranks], const int place[ranks]);

/* The second half of a layer as the ranks compute it, one after the other:
 *     out = x + sum over the ranks of swiglu(normed gate^T, normed up^T) down^T, with the rank's
 * parts of the matrices. Up to rounding it is what one rank would compute. Source: ParallelMLP of
 * Megatron-LM. */
void parallel_feed_forward(int ranks, int T, int C, int F, float out[restrict T][C],
                           const float x[T][C], const float normed[T][C], const float gate[F][C],
                           const float up[F][C], const float down[C][F]);

#endif
