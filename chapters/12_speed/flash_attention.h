/* Chapter 12: the two halves of fast_flash_attention(). The first argument
 * says how the work is cut: sets of queries that share a tile of keys, or parts of the keys.
 * fast_flash_attention() calls one or the other with the number that was fastest. */
#ifndef SPEED_FLASH_ATTENTION_H
#define SPEED_FLASH_ATTENTION_H

/* Many queries: so many sets of them read the keys together, tile by tile, while a tile is in the
 * cache. sets >= 1. log_sum [T][H], for who trains, is chapter 16's; or NULL. */
void flash_prefill(int sets, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                   float *lse, const float q[T][H][D], const float k[S][KV][D],
                   const float v[S][KV][D]);

/* Few queries: the keys are cut into so many parts, and the threads share these. parts >= 1. */
void flash_decode_split_kv(int parts, int T, int S, int H, int KV, int D,
                           float out[restrict T][H][D], const float q[T][H][D],
                           const float k[S][KV][D], const float v[S][KV][D]);

#endif
