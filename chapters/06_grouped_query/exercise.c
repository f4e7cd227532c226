/* Chapter 6, your turn: many heads that share.
 *
 *     make exercise-06
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning; they go
 * when you begin. */
#include "06_grouped_query/grouped_query.h"
#include "04_attention/attention.h"

/* Task 1. H heads on KV key/value heads. You may copy the rows of a head together, q[t][h] for all
 * t, and let attention() of chapter 4 do the rest, or do without. Begin with the cases where KV is
 * H, then ask which key/value head query head h reads. For memory, xmalloc() is in
 * "common/error.h".
 */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[T][KV][D],
                             const float v[T][KV][D]) {
    (void)T, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}

/* The challenge, without a hint: the T queries are the last of S positions, nothing is copied, and
 * there is memory for no more than one row of scores. */
void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}
