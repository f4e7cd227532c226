/* Chapter 6, exercises: query heads that share keys and values.
 *
 *     make exercise-06
 *
 * judges each function against PyTorch, names your mistake if it knows it, and says what is left.
 * Fill them in from top to bottom. The (void) lines only keep the compiler from warning about an
 * empty body, so delete them when you begin. grouped_query.h says what each function must do. */
#include "06_grouped_query/grouped_query.h"
#include "04_attention/attention.h"

#include <math.h>

/* Task 1. H query heads share KV key/value heads. The lesson's kernel reads keys and values where
 * they are; do it by copying instead. For each query head, copy its queries q[t][h] and the keys
 * and values that it reads into arrays of their own, and let attention() of chapter 4 do the rest.
 * Begin with the cases in which KV is H, and then ask which key/value head query head h reads. To
 * allocate memory, use xmalloc() of "common/error.h". */
void grouped_query_attention(int T, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[T][KV][D],
                             const float v[T][KV][D]) {
    (void)T, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}

/* The challenge: the T queries are the last of S positions, nothing is copied, and you may store no
 * more than one row of scores. Write it without looking at the lesson. */
void gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                             const float q[T][H][D], const float k[S][KV][D],
                             const float v[S][KV][D]) {
    (void)T, (void)S, (void)H, (void)KV, (void)D, (void)out, (void)q, (void)k, (void)v;
}
