/* Chapter 6: multi-head attention, and how heads share keys and values. H query heads attend to the
 * text in H ways; they read KV key/value heads. One kernel serves all three names:
 *
 *     KV = H     multi-head attention (MHA)       Llama 1, Llama 2 7B and 13B
 *     KV = 1     multi-query attention (MQA)      no Llama
 *     between    grouped-query attention (GQA)    Llama 2 70B, all of Llama 3
 *
 * Query head h reads key/value head h / (H / KV): neighbours share. H is a multiple of KV, or
 * fail() says so. */
#ifndef GROUPED_QUERY_H
#define GROUPED_QUERY_H

/* Causal attention of a whole text: softmax(q k^T / sqrt(D)) v, position t attends to keys 0 .. t.
 * Source: Ainslie et al. 2023; scaled_dot_product_attention(is_causal=True, enable_gqa=True) of
 * PyTorch; repeat_kv of transformers and of Meta's llama/model.py. */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[T][KV][D],
                             const float v[T][KV][D]);

/* The same where the T queries are the last of S positions, as with chapter 7's cache: query t
 * is at position S - T + t. 1 <= T <= S. In both, out must not overlap the inputs. */
void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]);

/* The savings of shared heads: parameters of one layer's four projections (C is the model
 * width), and bytes that one token takes in the cache of all L layers (keys and values of
 * `bytes` bytes each). */
long attention_parameters(long C, long H, long KV, long D);
long kv_bytes_per_token(long L, long KV, long D, long bytes);

#endif
