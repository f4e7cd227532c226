#include "17_training/product.h"
#include "12_speed/pairs.h"
#include "12_speed/projection.h"
#include "common/error.h"
#include "common/numbers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static Matrix part(Matrix m, int r, int c) {
    return (Matrix){m.first + (size_t)r * m.row + (size_t)c * m.column, m.row, m.column};
}

/* --------------------------------------------------------- copies that lie as a tile reads them */

/* to[r][c] = from(r, c), where the columns of `from` lie together: square by square they are turned
 * into rows. What is left at the ends is copied number by number. */
static void copy_transposed(int rows, int columns, size_t pitch, float to[][pitch], Matrix from) {
    int high = rows / LANES * LANES, wide = columns / LANES * LANES;
    for (int c = 0; c < wide; c += LANES)
        for (int r = 0; r < high; r += LANES)
            transpose_square_to(&to[r][c], pitch, part(from, r, c).first, from.column);
    for (int r = 0; r < rows; r++)
        for (int c = r < high ? wide : 0; c < columns; c++) to[r][c] = *part(from, r, c).first;
}

static void copy(bool round, int rows, int columns, size_t pitch, float to[][pitch], Matrix from) {
    if (from.column != 1) copy_transposed(rows, columns, pitch, to, from);
    else if (columns == NR) /* the compiler knows this length: no call */
        for (int r = 0; r < rows; r++)
            memcpy(to[r], from.first + r * from.row, NR * sizeof *from.first);
    else
        for (int r = 0; r < rows; r++)
            memcpy(to[r], from.first + r * from.row, (size_t)columns * sizeof *from.first);
    for (int r = 0; r < rows && round; r++) bf16_round(columns, to[r]);
}

/* ------------------------------------------------------------------ the same in pairs of BF16 */

/* Two neighbours in a sum, rounded to BF16: together they take the room of one float. A sum of odd
 * length ends with a zero. */
static float pair(Matrix m, int r, int c, int columns) {
    bf16 both[2] = {bf16_from_float(*part(m, r, c).first)};
    if (c + 1 < columns) both[1] = bf16_from_float(*part(m, r, c + 1).first);
    float word;
    memcpy(&word, both, sizeof word);
    return word;
}

/* LANES rows of LANES pairs each; or, where the columns of m lie together, LANES pairs of columns.
 */
INLINE void load_pairs(Vector square[LANES], Matrix m) {
    UNROLLED
    for (int l = 0; l < LANES; l++)
        if (m.column == 1) {
            const Vector *row = (const void *)part(m, l, 0).first;
            square[l] = round_pairs(row[0], row[1]);
        } else {
            const float *upper = part(m, 0, 2 * l).first, *lower = upper + m.column;
            square[l] = round_columns(*(const Vector *)upper, *(const Vector *)lower);
        }
}

/* to[r * row + c * column] = the pair (r, 2 c), (r, 2 c + 1). One of the two steps is 1. */
static void copy_pairs(int rows, int columns, float *to, size_t row, size_t column, Matrix from) {
    int high = rows / LANES * LANES, wide = columns / (2 * LANES) * LANES,
        pairs = (columns + 1) / 2;
    for (int c = 0; c < wide; c += LANES)
        for (int r = 0; r < high; r += LANES) {
            Vector square[LANES];
            load_pairs(square, part(from, r, 2 * c));
            if ((from.column == 1) != (column == 1)) transpose_square(square);
            UNROLLED
            for (int l = 0; l < LANES; l++)
                *(Vector *)(to + r * row + c * column + l * (column == 1 ? row : column)) =
                    square[l];
        }
    for (int r = 0; r < rows; r++)
        for (int c = r < high ? wide : 0; c < pairs; c++)
            to[r * row + c * column] = pair(from, r, 2 * c, columns);
}

/* ------------------------------------------------------------------ the product */

/* How the factors are copied and multiplied: as they are, rounded to BF16, or in pairs of BF16. */
typedef struct {
    const Method *method;
    bool round;
} Factors;

static void copy_block(Factors f, int rows, int count, float block[][LDA], Matrix a) {
    if (f.method->numbers == 2) copy_pairs(rows, count, block[0], LDA, 1, a);
    else copy(f.round, rows, count, LDA, block, a);
}

/* A pair of b is one number above the other, for the sum goes down its columns: so b is read
 * turned. */
static void copy_panel(Factors f, int count, int outs, float panel[][NR], Matrix b) {
    if (f.method->numbers == 2)
        copy_pairs(outs, count, panel[0], 1, NR, (Matrix){b.first, b.column, b.row});
    else copy(f.round, count, outs, NR, panel, b);
}

/* Multiplies all rows of a block with a panel, tile by tile: high tiles, and lower ones for the
 * rows that are left. */
static void multiply_panel(const Method *method, int rows, int count, bool add, int N, float c[][N],
                           const float block[][LDA], const float panel[][NR]) {
    static const int heights[] = {MR, MR / 3, 1};
    const int words = (count + method->numbers - 1) / method->numbers;
    for (int r = 0, n = 0; r < rows; r += heights[n]) {
        while (heights[n] > rows - r) n++;
        method->tiles[n](words, add, N, c + r, (const void *)block[r], panel, (PrefetchPlan){0});
    }
}

/* The last columns, fewer than a panel has: their sums are made in a copy that has as many. */
static void multiply_edge(const Method *method, int rows, int outs, int count, bool add, int N,
                          float c[][N], const float block[][LDA], const float panel[][NR]) {
    float(*whole)[NR] = xmalloc((size_t)rows * sizeof *whole);
    for (int r = 0; r < rows && add; r++) memcpy(whole[r], c[r], (size_t)outs * sizeof **c);
    multiply_panel(method, rows, count, add, NR, whole, block, panel);
    for (int r = 0; r < rows; r++) memcpy(c[r], whole[r], (size_t)outs * sizeof **c);
    free(whole);
}

/* Multiplies a block with `count` rows of b, panel by panel; each thread has some of the panels. */
static void multiply_block(Factors f, int rows, int count, bool add, int N, float c[][N],
                           const float block[][LDA], Matrix b) {
    float panel[KC][NR] __attribute__((aligned(64))) = {0};
#pragma omp for schedule(static) nowait
    for (int n = 0; n < N; n += NR) {
        int outs = min_int(N - n, NR);
        copy_panel(f, count, outs, panel, part(b, 0, n));
        if (outs == NR)
            multiply_panel(f.method, rows, count, add, N, (void *)&c[0][n], block, panel);
        else multiply_edge(f.method, rows, outs, count, add, N, (void *)&c[0][n], block, panel);
    }
}

void matmul(DType factors, int M, int N, int K, bool add, float c[restrict M][N], Matrix a,
            Matrix b) {
    assert(factors == F32 || factors == BF16);
    const bool round = factors == BF16;
    const Factors f = {round && bf16_dots_pay() ? &bf16_pairs : gemm_method_for(F32), round};
    const int depth = KC * f.method->numbers;
#pragma omp parallel if ((double)M * N * K > 1e6)
    {
        float(*block)[LDA] = xmalloc(MC * sizeof *block);
        for (int m = 0; m < M; m += MC)
            for (int k = 0; k < K; k += depth) {
                int rows = min_int(M - m, MC), count = min_int(K - k, depth);
                copy_block(f, rows, count, block, part(a, m, k));
                multiply_block(f, rows, count, add || k > 0, N, c + m, block, part(b, k, 0));
            }
        free(block);
    }
}
