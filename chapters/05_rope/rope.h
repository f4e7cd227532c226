/* Chapter 5: rotary position embedding. A token's position is encoded by rotating its query and its
 * key: pair i of a head of dimension D rotates by the angle position * inv_freq[i]. The score of a
 * query at m and a key at n then depends on m - n alone.
 *
 * Which two numbers make a pair is a convention, and the two in use do not mix:
 *     interleaved   (2i, 2i + 1)     Meta's checkpoints, llama2.c, complex numbers
 *     half-split    (i, i + D/2)     Hugging Face's checkpoints, whose W_q and W_k are permuted to
 * suit
 *
 * D is even and T at least 1, or fail() says so. In every kernel out must not overlap the inputs.
 */
#ifndef ROPE_H
#define ROPE_H

#include "05_rope/scaling.h" /* the frequencies */

#include <complex.h>

/* ---------------------------------------------------------------- the angles */

/* The two halves of a table of angles. */
enum { COSINES, SINES };

/* table[COSINES][t][i] = cos(positions[t] inv_freq[i]), table[SINES][t][i] = sin(the same).
 * Source: LlamaRotaryEmbedding of transformers. */
void rope_table(int T, int D, float table[restrict 2][T][D / 2], const int positions[T],
                const float inv_freq[D / 2]);

/* Every cosine and sine times `factor`, which rope_frequencies() returns: 1 in every Llama, and the
 * attention factor where YaRN or LongRoPE stretch the context. */
void scale_rope_table(int T, int D, float table[2][T][D / 2], float factor);

/* A decoder makes its table once, for `capacity` positions: fail() unless first .. first + T - 1
 * are all in it. */
void check_positions(int first, int T, int capacity);

/* ---------------------------------------------------------------- one rotation, four forms
 *
 * T positions, H heads of width D; row t of cosine and sine belongs to x[t]. */

/* As defined: each head, a row, times the D x D matrix that rope_matrix fills, its pairs 2 x 2
 * blocks on the diagonal. Source: Su et al. 2021 (RoFormer), eq. 15, which writes columns: its
 * matrix is this one, transposed. */
void rope_matrix(int D, float matrix[restrict D][D], const float cosine[D / 2],
                 const float sine[D / 2]);
void rope_by_matrix(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                    const float cosine[T][D / 2], const float sine[T][D / 2]);

/* A pair is one complex number, a rotation one multiplication by e^(i angle).
 * Source: precompute_freqs_cis and apply_rotary_emb in llama/model.py of Meta. */
void rope_complex(int T, int H, int D, float complex out[restrict T][H][D / 2],
                  const float complex x[T][H][D / 2], const float complex freqs_cis[T][D / 2]);

/* The same in real numbers: pairs (2i, 2i + 1). */
void rope_interleaved(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                      const float cosine[T][D / 2], const float sine[T][D / 2]);

/* Pairs (i, i + D/2). Source: rotate_half and apply_rotary_pos_emb of transformers. */
void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]);

/* RoPE on a layer's projections, which are one row of H + 2 KV heads per token. Queries
 * and keys are rotated (half-split); values are copied, because a value must not depend on its
 * position. */
void rope_qkv(int T, int H, int KV, int D, float out[restrict T][H + 2 * KV][D],
              const float qkv[T][H + 2 * KV][D], const float cosine[T][D / 2],
              const float sine[T][D / 2]);

/* ---------------------------------------------------------------- from one layout to the other
 *
 * Reorders the rows of W_q (H heads) or W_k (KV heads), [heads * D][C], head by head, so that the
 * other pairing on the reordered weights gives the same scores. Source: permute in
 * convert_llama_weights_to_hf.py of transformers. */
void rows_to_half_split(int heads, int D, int C, float out[restrict heads * D][C],
                        const float weight[heads * D][C]);
void rows_to_interleaved(int heads, int D, int C, float out[restrict heads * D][C],
                         const float weight[heads * D][C]);

#endif
