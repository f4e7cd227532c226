#include "16_training/product.h"
#include "12_speed/projection.h"
#include "common/error.h"
#include "common/numbers.h"

#include <stdlib.h>
#include <string.h>

static Matrix part(Matrix m, int r, int c) {
    return (Matrix){m.first + (size_t)r * m.row + (size_t)c * m.column, m.row, m.column};
}

/* ------------------------------------------------------------------ copies that lie as a tile reads them */

/* to[r][c] = from(r, c), where the columns of `from` lie together: square by square they are turned into rows. What is
 * left at the ends is copied number by number. */
static void copy_turned(int rows, int columns, size_t pitch, float to[][pitch], Matrix from) {
    int high = rows / LANES * LANES, wide = columns / LANES * LANES;
    for (int c = 0; c < wide; c += LANES)
        for (int r = 0; r < high; r += LANES) turn_square(&to[r][c], pitch, part(from, r, c).first, from.column);
    for (int r = 0; r < rows; r++)
        for (int c = r < high ? wide : 0; c < columns; c++) to[r][c] = *part(from, r, c).first;
}

static void copy(int rows, int columns, size_t pitch, float to[][pitch], Matrix from) {
    if (from.column != 1) copy_turned(rows, columns, pitch, to, from);
    else if (columns == OUTS) /* a length that the compiler knows is no call */
        for (int r = 0; r < rows; r++) memcpy(to[r], from.first + r * from.row, OUTS * sizeof *from.first);
    else
        for (int r = 0; r < rows; r++) memcpy(to[r], from.first + r * from.row, (size_t)columns * sizeof *from.first);
}

/* ------------------------------------------------------------------ the product */

/* All rows of a block with a panel, tile by tile. */
static void multiply_panel(int rows, int count, bool add, int N, float c[][N], const float block[][PITCH],
                           const float panel[][OUTS]) {
    static const int heights[] = {ROWS, ROWS / 3, 1};
    const Method *method = widening(F32);
    for (int r = 0, n = 0; r < rows; r += heights[n]) {
        while (heights[n] > rows - r) n++;
        method->tiles[n](count, add, N, c + r, (const void *)block[r], panel, (Ahead){0});
    }
}

/* The last columns, fewer than a panel has: their sums are made in a copy that has as many. */
static void multiply_edge(int rows, int outs, int count, bool add, int N, float c[][N], const float block[][PITCH],
                          const float panel[][OUTS]) {
    float(*whole)[OUTS] = allocate((size_t)rows * sizeof *whole);
    for (int r = 0; r < rows && add; r++) memcpy(whole[r], c[r], (size_t)outs * sizeof **c);
    multiply_panel(rows, count, add, OUTS, whole, block, panel);
    for (int r = 0; r < rows; r++) memcpy(c[r], whole[r], (size_t)outs * sizeof **c);
    free(whole);
}

/* A block with all panels of b's rows. */
static void multiply_block(int rows, int count, bool add, int N, float c[][N], const float block[][PITCH], Matrix b) {
    float panel[DEPTH][OUTS] __attribute__((aligned(64))) = {0};
#pragma omp for schedule(static) nowait
    for (int n = 0; n < N; n += OUTS) {
        int outs = smaller(N - n, OUTS);
        copy(count, outs, OUTS, panel, part(b, 0, n));
        if (outs == OUTS) multiply_panel(rows, count, add, N, (void *)&c[0][n], block, panel);
        else multiply_edge(rows, outs, count, add, N, (void *)&c[0][n], block, panel);
    }
}

void matrix_product(int M, int N, int K, bool add, float c[restrict M][N], Matrix a, Matrix b) {
#pragma omp parallel if ((double)M * N * K > 1e6)
    {
        float(*block)[PITCH] = allocate(CHUNK * sizeof *block);
        for (int m = 0; m < M; m += CHUNK)
            for (int k = 0; k < K; k += DEPTH) {
                int rows = smaller(M - m, CHUNK), count = smaller(K - k, DEPTH);
                copy(rows, count, PITCH, block, part(a, m, k));
                multiply_block(rows, count, add || k > 0, N, c + m, block, part(b, k, 0));
            }
        free(block);
    }
}
