/* Chapter 12: the GEMM that runs, in the terms of BLIS. x is cut into blocks of MC rows and KC
 * columns, the weight into panels of NR rows and KC columns, which are packed. A micro-kernel
 * computes a tile of MR x NR outputs in registers.
 *
 *     x        block  [MC][LDA]   copied; 2 MB, in the L2 and L3
 *     weight   panel  [KC][NR]    packed (transposed); 128 KiB with AVX-512, 64 KiB with AVX2, in
 * L2 y        tile   [MR][NR]    in registers */
#ifndef PANEL_H
#define PANEL_H

#include "12_speed/vector.h"
#include "common/numbers.h"

#include <stddef.h>

enum {
    MR = REGISTERS * 3 / 8, /* rows of x in a tile: with two vectors of sums each they take three
                               quarters of the registers */
    NR = 2 * LANES,         /* outputs in a tile */
    KC = 1024,              /* terms of each sum per pass; then y is loaded and stored again */
    PART = 64,     /* terms that are added up in a row: longer sums would round at larger numbers */
    LDA = KC + 16, /* numbers from row to row of a block: at a power of two the same columns of all
                      rows would map to few sets of a cache */
    MC = 512,      /* rows of x in a block */
};

/* Rows of the weight that are prefetched while the tile is computed. */
typedef struct {
    int rows;
    const char *from;
    size_t pitch, size; /* bytes of a row, of a weight */
} PrefetchPlan;

/* y[r][o] = sum over i < count of x[r][i] w[i][o], or += that sum if `more`, for as many rows as
 * the tile has. count <= KC. */
typedef void Tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                  const float w[][NR], PrefetchPlan ahead);

/* The functions that depend on a weight's dtype. */
typedef struct {
    int numbers; /* of x, and of the weight, in each float of a block or panel: 2, where it is a
                    pair of BF16 */
    void (*copy_block)(int rows, int count, int in, float block[rows][LDA],
                       const float x[rows][in]);
    void (*pack)(int count, float panel[KC][NR], const char *weight, size_t pitch);
    Tile *tiles[3]; /* of MR, MR / 3 and 1 rows */
} Method;

/* The weight is float32, or pairs of BF16, which are transposed as if each were one float32. */
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

/* The micro-kernel: the terms from first to end of all sums of a tile, with the sums in registers.
 * Each step loads two vectors of the panel, and broadcasts one number of each row of x. */
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

/* A tile of y, in parts of PART terms. The sums so far are kept in an array of their own, because
 * the rows of y may map to few sets of the L1. */
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
