#include "12_speed/pairs.h"

#ifdef __AVX512BF16__
bool has_bf16_dots(void) { return __builtin_cpu_supports("avx512bf16"); }
bool bf16_dots_pay(void) { return has_bf16_dots() && __builtin_cpu_is("amd"); }

/* In each lane: sum + x[0] w[0] + x[1] w[1], with the same pair of x in all lanes. */
INLINE Vector add_pairs(Vector sum, float x, Vector w) {
    return (Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_ps(x), (__m512bh)w);
}
#else
bool has_bf16_dots(void) { return false; }
bool bf16_dots_pay(void) { return false; }
INLINE Vector add_pairs(Vector sum, float, Vector) { return sum; }
#endif

static void copy_pairs(int rows, int count, int in, float block[rows][LDA],
                       const float x[rows][in]) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < count; i += LANES) {
            float rest[2 * LANES] = {0};
            const float *from = &x[r][2 * i];
            if (i + LANES > count)
                from = memcpy(rest, from, 2 * (size_t)(count - i) * sizeof *from);
            *(Vector *)&block[r][i] =
                round_pairs(*(const Vector *)from, *(const Vector *)&from[LANES]);
        }
}

static void whole_tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(add_pairs, MR, count, more, out, y, x, w, ahead);
}
static void third_tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(add_pairs, MR / 3, count, more, out, y, x, w, ahead);
}
static void single_row(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(add_pairs, 1, count, more, out, y, x, w, ahead);
}

const Method bf16_pairs = {2, copy_pairs, pack_f32, {whole_tile, third_tile, single_row}};
