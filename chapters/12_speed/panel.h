/* Chapter 12: many rows of x meet a weight as fast as can be multiplied. The weight is cut into panels of OUTS rows
 * and DEPTH columns, x into blocks that meet one panel after the other; and a tile of both is summed in registers.
 *
 *     x      block  [CHUNK][PITCH]    1 MB: in the larger caches
 *     weight panel  [DEPTH][OUTS]     turned; 64 KB with AVX-512, 32 KB with AVX2: in the smaller ones
 *     y      tile   [ROWS][OUTS]      in registers */
#ifndef PANEL_H
#define PANEL_H

#include "12_speed/vector.h"

#include <stddef.h>

enum {
    ROWS = REGISTERS * 3 / 8, /* rows of x in a tile: two vectors of sums each take three quarters of the registers */
    OUTS = 2 * LANES,         /* outputs of a tile */
    DEPTH = 512,              /* numbers of each sum that are worked on at a time; then y is read and written anew */
    PART = 64,                /* that are added up one after the other: in longer sums roundings would add up, too */
    PITCH = DEPTH + 16,       /* numbers from row to row of a block: in powers of two they would crowd into few sets */
    CHUNK = 512,              /* rows of x in a block */
};

/* Rows of the weight that are fetched from memory while others are multiplied. */
typedef struct {
    int rows;
    const char *from;
    size_t pitch, size; /* bytes of a row, of a weight */
} Ahead;

/* y[r][o] = sum over i < count of x[r][i] w[i][o], or so much more, for as many rows as the tile has. count <= PART. */
typedef void Tile(int count, bool more, int out, float y[][out], const float x[][PITCH], const float w[][OUTS],
                  Ahead ahead);

/* What a weight's dtype decides. */
typedef struct {
    int numbers; /* of x, and of the weight, in each float of a block or panel: 2, where it is a pair of BF16 */
    void (*copy_block)(int rows, int count, int in, float block[rows][PITCH], const float x[rows][in]);
    void (*pack)(int count, float panel[DEPTH][OUTS], const char *weight, size_t pitch);
    Tile *tiles[3]; /* of ROWS, ROWS / 3 and 1 rows */
} Method;

/* Its weight is float32, or pairs of BF16, which are turned in one piece. */
void pack_f32(int count, float panel[DEPTH][OUTS], const char *weight, size_t pitch);

typedef Vector MultiplyAdd(Vector sum, float x, Vector w);

/* What is needed soon is asked for a little at a time, for too much at once would hold up what is needed now: of each
 * row ahead a line of memory, and some rows of y. */
INLINE void fetch(int i, int rows, int out, float y[][out], Ahead ahead) {
    for (int o = 0; o < ahead.rows; o++) __builtin_prefetch(ahead.from + o * ahead.pitch + i * ahead.size);
    for (int r = i * rows / PART; r < (i + LANES) * rows / PART; r++)
        __builtin_prefetch(&y[r][0], 1), __builtin_prefetch(&y[r][LANES], 1);
}

/* Each number of x meets two vectors of weights, and each of these `rows` numbers of x, with all the sums in
 * registers. */
INLINE void tile(MultiplyAdd *multiply_add, int rows, int count, bool more, int out, float y[][out],
                 const float x[][PITCH], const float w[][OUTS], Ahead ahead) {
    Vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Vector){0};
    for (int i = 0; i < count; i++) {
        if (i % LANES == 0) fetch(i, rows, out, y, ahead);
        Vector first = *(const Vector *)w[i], second = *(const Vector *)&w[i][LANES];
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            sum[r][0] = multiply_add(sum[r][0], x[r][i], first);
            sum[r][1] = multiply_add(sum[r][1], x[r][i], second);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        Vector *to = (Vector *)y[r];
        if (more) sum[r][0] += to[0], sum[r][1] += to[1];
        to[0] = sum[r][0], to[1] = sum[r][1];
    }
}

#endif
