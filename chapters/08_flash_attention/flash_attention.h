/* Chapter 8: FlashAttention. The same attention as chapter 6, without ever holding the T x S scores: the keys are read
 * tile by tile, and each query carries what it needs to go on - the largest score so far, the sum of its weights and
 * the weighted sum of the values. Memory grows with neither T nor S. This is the attention that the decoder runs. */
#ifndef FLASH_ATTENTION_H
#define FLASH_ATTENTION_H

/* softmax(q k^T / sqrt(D)) v, causal: the T queries are the last T of S positions, query t stands at S - T + t and
 * sees keys 0 .. S - T + t. T = S is prefill, T = 1 decode; between them lie chunked prefill and the checking of
 * drafted tokens. Query head h reads key/value head h / (H / KV).
 * 1 <= T <= S, and H is a multiple of KV, or fail() says so. out must not overlap the inputs.
 * Source: Milakov, Gimelshein 2018 (the online softmax); Dao et al. 2022, algorithm 1, with the division left to the end
 * as in Dao 2023 (FlashAttention-2). */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                     const float k[S][KV][D], const float v[S][KV][D]);

#endif
