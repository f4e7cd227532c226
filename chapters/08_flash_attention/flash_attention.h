/* Chapter 8: FlashAttention. The same attention as chapter 6, without ever holding the T x S
 * scores: keys and values are read tile by tile, and each query carries a running state from tile
 * to tile, under the paper's names:
 *
 *     m    the largest score so far
 *     l    the sum of e^(score - m) so far
 *     O    the sum of e^(score - m) v so far
 *
 * This is the plain version; 12_speed has fast_flash_attention(). */
#ifndef FLASH_ATTENTION_H
#define FLASH_ATTENTION_H

/* softmax(q k^T / sqrt(D)) v, causal: the T queries are the last T of S positions, query t is at
 * S - T + t and attends to keys 0 .. S - T + t. T = S is prefill, T = 1 decode; between them are
 * chunked prefill and speculative decoding. Query head h reads key/value head h / (H /
 * KV). 1 <= T <= S, and H is a multiple of KV, or fail() says so. out must not overlap the inputs.
 * The scratch memory is bounded, however long the text. Source: Dao 2023 (FlashAttention-2),
 * algorithm 1: queries outside, keys inside, and one division at the end. */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                     const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D]);

/* One query attends to one more tile of keys and values. Before the first, m is -INFINITY, and l
 * and O are 0; after the last, O / l is the attention over all of them. keys >= 1; q and K are
 * finite, as they are in a Llama (a first tile of nothing but scores of -infinity would make
 * -infinity + infinity, which is NaN). Source: Milakov, Gimelshein 2018 (the online softmax),
 * algorithm 3. */
void online_softmax_tile(int keys, int D, double *m, double *l, double O[restrict D],
                         const float q[D], const float K[keys][D], const float V[keys][D]);

#endif
