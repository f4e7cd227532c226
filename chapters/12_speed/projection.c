#include "09_decoder/projection.h"
#include "12_speed/rounding.h"
#include "12_speed/vector.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    STREAMS = 4,                 /* rows of the weight that are read side by side */
    FEW = 4,                     /* rows of x that a weight meets on its way from memory */
    ROWS = REGISTERS * 3 / 8,    /* rows of x in a tile: its sums, two vectors a row, are three quarters of the registers */
    AHEAD = 1024, FAR = 4096,    /* bytes that are asked for before they are needed; and first of all, a page before */
    OUTS = 2 * LANES,            /* outputs of a tile */
    DEPTH = 256,                 /* numbers of each sum that are worked on while they are in the cache */
    CHUNK = 512,                 /* rows of x that are there with them */
};

bool project_rounds = false;

/* So many numbers of a row of x, rounded if that is wanted. */
static void copy_row(int count, float to[count], const float from[count]) {
    memcpy(to, from, (size_t)count * sizeof *to);
    if (project_rounds) bf16_round(count, to);
}

/* ------------------------------------------------------------------ from the file's dtype to float32 */

/* LANES weights from any address. */
INLINE Vector widen(DType dtype, const char *weights) {
    return dtype == F32 ? *(const Vector *)weights : dtype == BF16 ? widen_bf16(weights) : widen_f16(weights);
}

/* The last of a row, filled up with zeros. */
INLINE Vector widen_rest(DType dtype, const char *weights, int count) {
    char rest[LANES * sizeof(float)] = {0};
    memcpy(rest, weights, (size_t)count * dtype_size(dtype));
    return widen(dtype, rest);
}

/* x in pairs of BF16, for dot products of them. */
static void copy_pairs(int count, float pairs[DEPTH], const float x[2 * count]) {
    for (int i = 0; i < count; i += LANES) {
        float rest[2 * LANES] = {0};
        const float *from = &x[2 * i];
        if (i + LANES > count) from = memcpy(rest, from, 2 * (size_t)(count - i) * sizeof *x);
        *(Vector *)&pairs[i] = round_pairs(*(const Vector *)from, *(const Vector *)&from[LANES]);
    }
}

/* ------------------------------------------------------------------ few rows: as fast as the weights can be read */

/* y[r][s * apart] = w_s . x_r, for rows of the weight that lie `apart` rows from each other. Each is read from end to end
 * beside the others, so that several lines of memory, and several additions, are under way at any time. A long sum is a
 * sum of parts: in one go each lane would add up thousands of roundings, and the more the fewer lanes there are. */
INLINE void dot_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                         const float x[][width], const char *weight, int apart) {
    size_t size = dtype == F32 ? 4 : 2, stream = (size_t)apart * in * size;
    Vector sum[FEW][STREAMS] = {0};
    for (int first = 0; first < in; first += DEPTH) {
        int end = in - first < DEPTH ? in : first + DEPTH;
        Vector part[FEW][STREAMS] = {0};
        for (int i = first; i < end; i += LANES)
#pragma GCC unroll 4
            for (int s = 0; s < streams; s++) {
                const char *from = weight + s * stream + i * size;
                __builtin_prefetch(from + FAR, 0, 2), __builtin_prefetch(from + AHEAD, 0, 2); /* second-level cache: the first has x */
                Vector w = i + LANES <= in ? widen(dtype, from) : widen_rest(dtype, from, in - i);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) part[r][s] += w * *(const Vector *)&x[r][i];
            }
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int s = 0; s < streams; s++) sum[r][s] += part[r][s];
    }
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < streams; s++) y[r][(size_t)s * apart] = total(sum[r][s]);
}

/* The same for a dtype that is known only now. */
INLINE void dtype_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                           const float x[][width], const char *weight, int apart) {
    if (dtype == F32) dot_products(F32, rows, streams, in, out, y, width, x, weight, apart);
    else if (dtype == BF16) dot_products(BF16, rows, streams, in, out, y, width, x, weight, apart);
    else dot_products(F16, rows, streams, in, out, y, width, x, weight, apart);
}

/* One output of each stream, of all rows of x; or the last few. */
static void some_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                          const float x[][width], const char *weight, int apart) {
    size_t stream = (size_t)apart * in * dtype_size(dtype);
    int r = 0;
    for (; streams == STREAMS && r + FEW <= rows; r += FEW)
        dtype_products(dtype, FEW, STREAMS, in, out, y + r, width, x + r, weight, apart);
    for (; r < rows; r++)
        if (streams == STREAMS) dtype_products(dtype, 1, STREAMS, in, out, y + r, width, x + r, weight, apart);
        else
            for (int s = 0; s < streams; s++)
                dtype_products(dtype, 1, 1, in, out, (void *)&y[r][s * apart], width, x + r, weight + s * stream, apart);
}

/* How many outputs are done in panels; the rest as if rows were few. */
static int in_panels(int rows, const Tensor *weight) { return rows < ROWS ? 0 : (int)weight->shape[0] / OUTS * OUTS; }

/* The outputs that are in no panel. */
static void few_rows(int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    int first = in_panels(rows, weight), apart = (out - first + STREAMS - 1) / STREAMS, width = (in + LANES - 1) / LANES * LANES;
    if (first == out) return;
    float(*padded)[width] = allocate((size_t)rows * sizeof *padded);
    for (int r = 0; r < rows; r++) copy_row(in, padded[r], x[r]), memset(&padded[r][in], 0, (size_t)(width - in) * sizeof(float));
#pragma omp parallel for if ((double)in * (out - first) > 1e5)
    for (int o = first; o < first + apart; o++)
        some_products(weight->dtype, rows, (out - o + apart - 1) / apart, in, out, (void *)&y[0][o], width, padded,
                      (const char *)weight->data + (size_t)o * in * dtype_size(weight->dtype), apart);
    free(padded);
}

/* ------------------------------------------------------------------ many rows: as fast as can be multiplied */

/* panel[i][o] = number i of row o of the weight, in squares: what a step of the sums needs lies together. */
INLINE void pack(DType dtype, int count, float panel[DEPTH][OUTS], const char *weight, size_t pitch) {
    for (int o = 0; o < OUTS; o += LANES)
        for (int i = 0; i < count; i += LANES) {
            const char *from = weight + o * pitch + i * dtype_size(dtype);
            Vector square[LANES];
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++)
                square[l] = i + LANES <= count ? widen(dtype, from + l * pitch) : widen_rest(dtype, from + l * pitch, count - i);
            turn(square);
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++) *(Vector *)&panel[i + l][o] = square[l];
        }
}

/* Rows of the weight that are fetched from memory while others are multiplied. */
typedef struct {
    int rows;
    const char *from;
    size_t pitch, size; /* bytes of a row, of a weight */
} Ahead;

/* What is needed soon is asked for a little at a time, for too much at once would hold up what is needed now: of each row
 * ahead a line of memory, and a row of y. */
INLINE void fetch(int i, int rows, int out, float y[][out], Ahead ahead) {
    for (int o = 0; o < ahead.rows; o++) __builtin_prefetch(ahead.from + o * ahead.pitch + i * ahead.size);
    if (i / LANES < rows) __builtin_prefetch(&y[i / LANES][0], 1), __builtin_prefetch(&y[i / LANES][LANES], 1);
}

INLINE Vector multiply_add(bool pairs, Vector sum, float x, Vector w) {
    return pairs ? add_pairs(sum, x, w) : (Vector)(sum + x * w);
}

/* y[r][o] = sum over i of x[r][i] w[i][o], or so much more: each number of x meets two vectors of weights, and each of
 * these `rows` numbers of x, with all the sums in registers. A number may be a pair of BF16, for the dot products. */
INLINE void tile(bool pairs, int rows, int count, bool more, int out, float y[][out], const float x[][DEPTH], const float w[DEPTH][OUTS],
                 Ahead ahead) {
    Vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Vector){0};
    for (int i = 0; i < count; i++) {
        if (i % LANES == 0) fetch(i, rows, out, y, ahead);
        Vector first = *(const Vector *)w[i], second = *(const Vector *)&w[i][LANES];
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            sum[r][0] = multiply_add(pairs, sum[r][0], x[r][i], first);
            sum[r][1] = multiply_add(pairs, sum[r][1], x[r][i], second);
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        Vector *to = (Vector *)y[r];
        if (more) sum[r][0] += to[0], sum[r][1] += to[1];
        to[0] = sum[r][0], to[1] = sum[r][1];
    }
}

/* In a function of its own, so that no other code takes registers from it. */
__attribute__((noinline)) static void whole_tile(bool pairs, int count, bool more, int out, float y[][out], const float x[][DEPTH],
                                                 const float w[DEPTH][OUTS], Ahead ahead) {
    if (pairs) tile(true, ROWS, count, more, out, y, x, w, ahead);
    else tile(false, ROWS, count, more, out, y, x, w, ahead);
}

/* All rows of x with a panel. Each tile fetches as much of the next panel as is due. */
INLINE void panel_products(bool pairs, int rows, int count, bool more, int out, float y[][out], const float x[][DEPTH],
                           const float w[DEPTH][OUTS], Ahead next) {
    int r = 0, tiles = rows / ROWS;
    for (int n = 0; n < tiles; n++, r += ROWS) {
        int from = next.rows * n / tiles, to = next.rows * (n + 1) / tiles;
        Ahead ahead = {to - from, next.from + from * next.pitch, next.pitch, next.size};
        whole_tile(pairs, count, more, out, y + r, x + r, w, ahead);
    }
    for (; r + ROWS / 3 <= rows; r += ROWS / 3) tile(pairs, ROWS / 3, count, more, out, y + r, x + r, w, (Ahead){0});
    for (; r < rows; r++) tile(pairs, 1, count, more, out, y + r, x + r, w, (Ahead){0});
}

/* The outputs that fill panels. With `pairs`, of BF16, a pair is moved about like one float32: then there are half as many
 * numbers, and only the copy of x and the tile know better. */
static void many_rows(bool pairs, int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    DType dtype = pairs ? F32 : weight->dtype;
    int numbers = pairs ? in / 2 : in, end = in_panels(rows, weight);
    size_t size = dtype_size(dtype), pitch = numbers * size;
#pragma omp parallel
    {
        float(*near)[DEPTH] = allocate(CHUNK * sizeof *near), w[DEPTH][OUTS] __attribute__((aligned(64)));
        for (int first = 0; first < rows; first += CHUNK)
            for (int i = 0; i < numbers; i += DEPTH) {
                int chunk = rows - first < CHUNK ? rows - first : CHUNK, depth = numbers - i < DEPTH ? numbers - i : DEPTH;
                for (int r = 0; r < chunk; r++)
                    if (pairs) copy_pairs(depth, near[r], &x[first + r][2 * i]);
                    else copy_row(depth, near[r], &x[first + r][i]);
#pragma omp for schedule(static) nowait /* a thread meets the same outputs for every i */
                for (int o = 0; o < end; o += OUTS) {
                    const char *from = (const char *)weight->data + o * pitch + i * size;
                    if (dtype == F32) pack(F32, depth, w, from, pitch);
                    else if (dtype == BF16) pack(BF16, depth, w, from, pitch);
                    else pack(F16, depth, w, from, pitch);
                    Ahead next = {o + OUTS < end ? OUTS : 0, from + OUTS * pitch, pitch, size};
                    if (pairs) panel_products(true, chunk, depth, i > 0, out, (void *)&y[first][o], near, w, next);
                    else panel_products(false, chunk, depth, i > 0, out, (void *)&y[first][o], near, w, next);
                }
            }
        free(near);
    }
}

/* Do dot products of BF16 pay, and lose nothing that is not to be rounded away? */
static bool take_pairs(int rows, int in, const float x[rows][in], const Tensor *weight) {
    bool take = in % 2 == 0 && weight->dtype == BF16 && bf16_dots_pay();
    if (project_rounds) return take;
#pragma omp parallel for if (take) reduction(&& : take)
    for (int r = 0; r < rows; r++) take = take && bf16_holds(in, x[r]);
    return take;
}

void project(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight) {
    if (rows >= ROWS) many_rows(take_pairs(rows, in, x, weight), rows, in, out, y, x, weight);
    few_rows(rows, in, out, y, x, weight);
}
