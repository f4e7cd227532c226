/* Chapter 12: many rows of x meet a weight as fast as can be multiplied. The weight is cut into
 * panels of OUTS rows and DEPTH columns, x into blocks that meet one panel after the other; and a
 * tile of both is summed in registers.
 *
 *     x      block  [CHUNK][PITCH]    2 MB: in the larger caches
 *     weight panel  [DEPTH][OUTS]     turned; 128 KB with AVX-512, 64 KB with AVX2: in the smaller
 * ones y      tile   [ROWS][OUTS]      in registers */
#ifndef PANEL_H
#define PANEL_H

#include "12_speed/vector.h"
#include "common/numbers.h"

#include <stddef.h>

enum {
    MR = REGISTERS * 3 /
         8, /* rows of x in a tile: two vectors of sums each take three quarters of the registers */
    NR = 2 * LANES, /* outputs of a tile */
    KC = 1024, /* numbers of each sum that are worked on at a time; then y is read and written anew
                */
    PART =
        64, /* that are added up one after the other: in longer sums roundings would add up, too */
    LDA = KC + 16, /* numbers from row to row of a block: in powers of two they would crowd into few
                      sets */
    MC = 512,      /* rows of x in a block */
};

/* Rows of the weight that are fetched from memory while others are multiplied. */
typedef struct {
    int rows;
    const char *from;
    size_t pitch, size; /* bytes of a row, of a weight */
} PrefetchPlan;

/* y[r][o] = sum over i < count of x[r][i] w[i][o], or so much more, for as many rows as the tile
 * has. count <= DEPTH. */
typedef void Tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                  const float w[][NR], PrefetchPlan ahead);

/* The functions that depend on a weight's dtype. */
typedef struct {
    int numbers; /* of x, and of the weight, in each float of a block or panel: 2, where it is a
                    pair of BF16 */
    void (*copy_block)(int rows, int count, int in, float block[rows][LDA],
                       const float x[rows][in]);
    void (*pack)(int count, float panel[KC][NR], const char *weight, size_t pitch);
    Tile *tiles[3]; /* of ROWS, ROWS / 3 and 1 rows */
} Method;

/* Its weight is float32, or pairs of BF16, which are turned in one piece. */
void pack_f32(int count, float panel[KC][NR], const char *weight, size_t pitch);

typedef Vector MultiplyAdd(Vector sum, float x, Vector w);

/* Prefetches a little at a time, because too many requests at once would delay the current
 * loads: a cache line of each row ahead, and some rows of the next tile of y. */
INLINE void fetch(int i, int rows, int out, float y[][out], PrefetchPlan ahead) {
    for (int o = 0; o < ahead.rows; o++)
        __builtin_prefetch(ahead.from + o * ahead.pitch + i * ahead.size);
    for (int r = i * rows / KC; r < (i + LANES) * rows / KC; r++) {
        __builtin_prefetch(&y[rows + r][0], 1);
        __builtin_prefetch(&y[rows + r][LANES], 1);
    }
}

/* The sums from first to end. Each number of x meets two vectors of weights, and each of these
 * `rows` numbers of x, with all the sums in registers. */
INLINE void sum_part(MultiplyAdd *multiply_add, int rows, int first, int end, Vector sum[][2],
                     int out, float y[][out], const float x[][LDA], const float w[][NR],
                     PrefetchPlan ahead) {
    UNROLLED
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Vector){0};
    for (int i = first; i < end; i++) {
        if (i % LANES == 0) fetch(i, rows, out, y, ahead);
        Vector near = *(const Vector *)w[i], far = *(const Vector *)&w[i][LANES];
        UNROLLED
        for (int r = 0; r < rows; r++) {
            sum[r][0] = multiply_add(sum[r][0], x[r][i], near);
            sum[r][1] = multiply_add(sum[r][1], x[r][i], far);
        }
    }
}

/* Part by part. What there is so far lies side by side in the smallest cache: the rows of y may
 * crowd into few sets. */
INLINE void tile(MultiplyAdd *multiply_add, int rows, int count, bool more, int out, float y[][out],
                 const float x[][LDA], const float w[][NR], PrefetchPlan ahead) {
    Vector so_far[MR][2], sum[MR][2];
    UNROLLED
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < 2; v++) so_far[r][v] = more ? ((const Vector *)y[r])[v] : (Vector){0};
    for (int i = 0; i < count; i += PART) {
        sum_part(multiply_add, rows, i, min_int(i + PART, count), sum, out, y, x, w, ahead);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            so_far[r][0] += sum[r][0];
            so_far[r][1] += sum[r][1];
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        ((Vector *)y[r])[0] = so_far[r][0];
        ((Vector *)y[r])[1] = so_far[r][1];
    }
}

#endif
