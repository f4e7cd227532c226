/* Chapter 5, exercises: rotate pairs in both layouts, then compute the angles.
 *
 *     make exercise-05
 *
 * judges each function against PyTorch, names your mistake if it knows it, and says what is left.
 * Fill them in from top to bottom. The (void) lines only keep the compiler from warning about an
 * empty body, so delete them when you begin. rope.h and scaling.h say what each function must do.
 */
#include "05_rope/rope.h"

#include <math.h>

/* Task 1. The layout that the lesson does not print. Rotate each pair (2i, 2i + 1) of each head by
 * the angle whose cosine and sine are in row t. Read both components of a pair before you write
 * either of them. Here out and x do not overlap, so why is this a good habit? */
void rope_interleaved(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                      const float cosine[T][D / 2], const float sine[T][D / 2]) {
    (void)T, (void)H, (void)D, (void)out, (void)x, (void)cosine, (void)sine;
}

/* Task 2. The same for the pairs (i, i + D/2), but written as transformers writes it, over the
 * whole width of the head: x * cos + rotate_half(x) * sin. rotate_half(x) exchanges the two halves
 * of x and negates one of them. Which one? */
void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]) {
    (void)T, (void)H, (void)D, (void)out, (void)x, (void)cosine, (void)sine;
}

/* Task 3. The table that both read. The lesson prints it, so write it from this description. First
 * all cosines, then all sines; the angle is positions[t] * inv_freq[i]. The product must be rounded
 * to float32, because the models were trained with such angles. */
void rope_table(int T, int D, float table[restrict 2][T][D / 2], const int positions[T],
                const float inv_freq[D / 2]) {
    (void)T, (void)D, (void)table, (void)positions, (void)inv_freq;
}

/* The challenge, in two steps. The judge's cases are named after the types of scaling.
 *
 * First step: ROPE_DEFAULT and ROPE_LLAMA3, which the lesson explains. Return 1. With these two you
 * can run every Llama from 1 to 3.3, and the 11 cases of the first step pass.
 *
 * Second step: ROPE_LINEAR, ROPE_DYNAMIC, ROPE_YARN and ROPE_LONGROPE, which the chapter's
 * REFERENCE.md explains. Return the number by which cosine and sine are multiplied. */
float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *parameters, int length) {
    (void)D, (void)inv_freq, (void)parameters, (void)length;
    return 1;
}
