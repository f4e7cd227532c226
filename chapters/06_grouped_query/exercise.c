/* Chapter 6, your turn: one head, then many that share.
 *
 *     make verify SRC=chapters/06_grouped_query/exercise.c
 *
 * judges tasks 1 and 2 against PyTorch, and names the mistake if it knows it. Fill them in from top to bottom.
 * The (void) lines only keep an empty body from warning; they go when you begin. */
#include "06_grouped_query/grouped_query.h"
#include "05_attention/attention.h"

/* Task 1. One head, as in chapter 5; yours from there will do, with what it calls. T queries are the last of S
 * positions: query t sees keys 0 .. S - T + t. `scores` is room for T rows of S numbers. */
void attention(int T, int S, int D, float out[restrict T][D], const float q[T][D], const float k[S][D],
               const float v[S][D], float scores[restrict T][S]) {
    (void)T, (void)S, (void)D, (void)out, (void)q, (void)k, (void)v, (void)scores;
}

/* Task 2. H heads on KV key/value heads. In [T][H][D] the rows of one head are H D numbers apart, and attention()
 * wants them together: copy them out, attend, copy the result back. Begin with the cases where KV is H, then ask
 * which key/value head query head h reads. For the room, allocate() is in "common/error.h".
 * If it passes, do without the copies: three loops over heads, queries and keys, and a row of T scores. */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                             const float k[T][KV][D], const float v[T][KV][D]) {
    (void)T, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}

/* Task 3. What sharing saves: the parameters of q_proj, k_proj, v_proj and o_proj; the bytes of one token's keys and
 * values in all layers. To judge them, put them in place of those in grouped_query.c: make 06 must print the same. */
long attention_parameters(long C, long H, long KV, long D) {
    (void)C, (void)H, (void)KV, (void)D;
    return 0;
}

long kv_bytes_per_token(long L, long KV, long D, long bytes) {
    (void)L, (void)KV, (void)D, (void)bytes;
    return 0;
}
