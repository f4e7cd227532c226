/* Chapter 15: tensor parallelism. The matrices of a model are cut into parts for `ranks` processes,
 * and `rank`, counted from 0, is one of them. Each computes with its part of every matrix, and the
 * partial sums are added.
 *
 * In these kernels `ranks` divides the dimension that is cut, and 0 <= rank < ranks. */
#ifndef SHARD_H
#define SHARD_H

/* A rank's contiguous range of `count` things. The ranges of two ranks differ in size by one at
 * most. */
typedef struct {
    int first, count;
} ShardRange;
ShardRange shard_range(int count, int ranks, int rank);

/* A rank's outputs of a linear layer: of nn.Linear's [out][in] it has some rows, which in y = x W^T
 * are columns. No sum is needed after it. Source: ColumnParallelLinear of Megatron-LM; Shoeybi
 * et al. 2019, section 3. */
void shard_columns(int ranks, int rank, int F, int C, float part[restrict F / ranks][C],
                   const float weight[F][C]);

/* A rank's inputs of a linear layer: the outputs of a shard_columns before it. The results of the
 * ranks are partial sums. Source: RowParallelLinear of Megatron-LM. */
void shard_rows(int ranks, int rank, int C, int F, float part[restrict C][F / ranks],
                const float weight[C][F]);

/* A rank's heads of a fused matrix, which contains H query heads, KV key heads and KV value heads
 * of D rows each, in this order. The rank gets H / ranks consecutive query heads and the key-value
 * heads that they read, `kept` of each: KV / ranks, but at least one, of which several ranks then
 * have a copy. `ranks` divides H, and KV divides `ranks` or `ranks` divides KV.
 * Source: Shoeybi et al. 2019, section 3; QKVParallelLinear of vLLM. */
void shard_heads(int ranks, int rank, int H, int KV, int kept, int D, int C,
                 float part[restrict H / ranks + 2 * kept][D][C],
                 const float qkv[H + 2 * KV][D][C]);

/* The rows of the tokens that this rank has in its part of the table, and zeros for the others: the
 * sum over the ranks is the embedding. Source: VocabParallelEmbedding of Megatron-LM. */
void vocabulary_embedding(int ranks, int rank, int T, int V, int C, float out[restrict T][C],
                          const int ids[T], const float part[V / ranks][C]);

/* The token with the largest logit. Each rank reports the largest logit of its own part of V, and
 * its index within that part. Of equal logits the first token wins, as in torch.argmax. V may be
 * any number. */
int vocab_parallel_argmax(int ranks, int V, const float largest[ranks], const int place[ranks]);

/* The feed-forward half of a layer, computed rank by rank:
 *     out = x + sum over the ranks of swiglu(normed gate^T, normed up^T) down^T, with the parts
 * of each rank. Up to rounding, this is the result of one rank. Source: ParallelMLP of
 * Megatron-LM. */
void parallel_feed_forward(int ranks, int T, int C, int F, float out[restrict T][C],
                           const float x[T][C], const float normed[T][C], const float gate[F][C],
                           const float up[F][C], const float down[C][F]);

#endif
