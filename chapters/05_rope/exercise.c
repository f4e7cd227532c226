/* Chapter 5, your turn: rotate pairs, in both layouts; then compute the angles.
 *
 *     make exercise-05
 *
 * judges each function against PyTorch, names the mistake if it knows it, and says how far you are.
 * Fill them in from top to bottom. The (void) lines only keep an empty body from warning, and go
 * when you begin. The contracts are in rope.h and scaling.h. */
#include "05_rope/rope.h"

#include <math.h>

/* Task 1. Rotate each pair (2i, 2i + 1) of each head by the angle whose cosine and sine are in row
 * t. Read both elements of a pair before you write either, though out and x do not overlap: why is
 * it a good habit? */
void rope_interleaved(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                      const float cosine[T][D / 2], const float sine[T][D / 2]) {
    (void)T, (void)H, (void)D, (void)out, (void)x, (void)cosine, (void)sine;
}

/* Task 2. The same for pairs (i, i + D/2). If you think in rotate_half: which half gets the minus?
 */
void rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                     const float cosine[T][D / 2], const float sine[T][D / 2]) {
    (void)T, (void)H, (void)D, (void)out, (void)x, (void)cosine, (void)sine;
}

/* Task 3. The table that both read: the angle is positions[t] * inv_freq[i], a float32 product, as
 * in training. */
void rope_table(int T, int D, float table[restrict 2][T][D / 2], const int positions[T],
                const float inv_freq[D / 2]) {
    (void)T, (void)D, (void)table, (void)positions, (void)inv_freq;
}

/* The challenge, without a hint: the frequencies, by every recipe; the cases are named after them.
 * Begin with ROPE_DEFAULT and ROPE_LLAMA3, which the lesson explains: with these two you can run
 * every Llama there is. Return what cosine and sine are multiplied by. */
float rope_frequencies(int D, float inv_freq[D / 2], const RopeParameters *parameters, int length) {
    (void)D, (void)inv_freq, (void)parameters, (void)length;
    return 1;
}
