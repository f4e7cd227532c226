#include "09_decoder/projection.h"
#include "12_speed/vector.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

enum {
    STREAMS = 4,                 /* rows of the weight that are read side by side */
    FEW = 4,                     /* rows of x that a weight meets on its way from memory */
    ROWS = REGISTERS * 3 / 8,    /* rows of x in a tile: its sums, two vectors a row, are three quarters of the registers */
    AHEAD = 2048,                /* bytes that are asked for before they are needed */
    OUTS = 2 * LANES,            /* outputs of a tile */
    DEPTH = 256,                 /* numbers of each sum that are worked on while they are in the cache */
    CHUNK = 512,                 /* rows of x that are there with them */
};

/* ------------------------------------------------------------------ from the file's dtype to float32 */

INLINE Vector widen_bf16(const char *weights) {
    return (Vector)(__builtin_convertvector(*(const Halves *)weights, Words) << 16);
}

/* One instruction where the processor has it. */
INLINE Vector widen_f16(const char *weights) {
#if defined __AVX512F__
    return (Vector)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)weights));
#elif defined __F16C__
    return (Vector)_mm256_cvtph_ps(_mm_loadu_si128((const void *)weights));
#elif defined __aarch64__
    typedef __fp16 Floats __attribute__((vector_size(LANES * 2), aligned(1), may_alias));
    return __builtin_convertvector(*(const Floats *)weights, Vector);
#else
    /* The exponent moves from bias 15 to 127, infinity's and NaN's on to 255; a subnormal, whose exponent is 0, is read
     * as 2^-14 plus itself, and 2^-14 is taken off again. */
    Words half = __builtin_convertvector(*(const Halves *)weights, Words), magnitude = (half & 0x7fff) << 13;
    Words subnormal = (Words)(magnitude < (1u << 23)), infinite = (Words)(magnitude >= (31u << 23));
    magnitude += (112u << 23) + (infinite & (112u << 23)) + (subnormal & (1u << 23));
    Vector value = (Vector)magnitude - (Vector)(subnormal & (113u << 23));
    return (Vector)((Words)value | (half & 0x8000) << 16);
#endif
}

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

/* ------------------------------------------------------------------ few rows: as fast as the weights can be read */

/* y[r][s * apart] = w_s . x_r, for rows of the weight that lie `apart` rows from each other. Each is read from end to end
 * beside the others, so that several lines of memory, and several additions, are under way at any time. */
INLINE void dot_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                         const float x[][width], const char *weight, int apart) {
    size_t size = dtype == F32 ? 4 : 2, stream = (size_t)apart * in * size;
    Vector sum[FEW][STREAMS] = {0};
    for (int i = 0; i < in; i += LANES)
#pragma GCC unroll 4
        for (int s = 0; s < streams; s++) {
            const char *from = weight + s * stream + i * size;
            __builtin_prefetch(from + AHEAD); /* past a page's end, where the processor does not look by itself */
            Vector w = i + LANES <= in ? widen(dtype, from) : widen_rest(dtype, from, in - i);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) sum[r][s] += w * *(const Vector *)&x[r][i];
        }
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < streams; s++) {
            y[r][(size_t)s * apart] = 0;
            for (int l = 0; l < LANES; l++) y[r][(size_t)s * apart] += sum[r][s][l];
        }
}

/* The same for a dtype that is known only now. */
INLINE void dtype_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                           const float x[][width], const char *weight, int apart) {
    if (dtype == F32) dot_products(F32, rows, streams, in, out, y, width, x, weight, apart);
    else if (dtype == BF16) dot_products(BF16, rows, streams, in, out, y, width, x, weight, apart);
    else dot_products(F16, rows, streams, in, out, y, width, x, weight, apart);
}

/* STREAMS outputs of all rows, or the last few. */
static void some_products(DType dtype, int rows, int streams, int in, int out, float y[][out], int width,
                          const float x[][width], const char *weight, int apart) {
    size_t stream = (size_t)apart * in * dtype_size(dtype);
    int r = 0;
    if (streams == STREAMS)
        for (; r + FEW <= rows; r += FEW) dtype_products(dtype, FEW, STREAMS, in, out, y + r, width, x + r, weight, apart);
    for (; r < rows; r++)
        if (streams == STREAMS) dtype_products(dtype, 1, STREAMS, in, out, y + r, width, x + r, weight, apart);
        else
            for (int s = 0; s < streams; s++)
                dtype_products(dtype, 1, 1, in, out, (void *)&y[r][s * apart], width, x + r, weight + s * stream, apart);
}

/* The outputs from `first` on. */
static void few_rows(int first, int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    int width = (in + LANES - 1) / LANES * LANES, apart = (out - first + STREAMS - 1) / STREAMS;
    size_t pitch = in * dtype_size(weight->dtype);
    float(*padded)[width] = allocate((size_t)rows * sizeof *padded);
    memset(padded, 0, (size_t)rows * sizeof *padded);
    for (int r = 0; r < rows; r++) memcpy(padded[r], x[r], sizeof x[r]);
#pragma omp parallel for if ((double)in * apart > 3e4)
    for (int o = first; o < first + apart; o++)
        some_products(weight->dtype, rows, (out - o + apart - 1) / apart, in, out, (void *)&y[0][o], width, padded,
                      (const char *)weight->data + o * pitch, apart);
    free(padded);
}

/* ------------------------------------------------------------------ many rows: as fast as can be multiplied */

/* Turns a square: row l becomes column l. Each round shuffles the first half of the rows into the second, like cards. */
INLINE void turn(Vector square[LANES]) {
    for (int round = 1; round < LANES; round *= 2) {
        Vector shuffled[LANES];
#pragma GCC unroll 8
        for (int l = 0; l < LANES / 2; l++) {
            shuffled[2 * l] = SHUFFLE_FIRST(square[l], square[l + LANES / 2]);
            shuffled[2 * l + 1] = SHUFFLE_SECOND(square[l], square[l + LANES / 2]);
        }
        memcpy(square, shuffled, sizeof shuffled);
    }
}

/* panel[i][o] = number i of row o of the weight, in squares: what a step of the sums needs lies together. */
INLINE void pack(DType dtype, int count, float panel[DEPTH][OUTS], const char *weight, size_t pitch) {
    for (int i = 0; i < count; i += LANES)
        for (int o = 0; o < OUTS; o += LANES) {
            const char *from = weight + o * pitch + i * dtype_size(dtype);
            Vector square[LANES];
            if (i + LANES <= count)
#pragma GCC unroll 16
                for (int l = 0; l < LANES; l++) square[l] = widen(dtype, from + l * pitch);
            else
                for (int l = 0; l < LANES; l++) square[l] = widen_rest(dtype, from + l * pitch, count - i);
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
    for (int o = 0; o < ahead.rows; o++) __builtin_prefetch(ahead.from + o * ahead.pitch + i * ahead.size, 0, 2);
    if (i / LANES < rows) __builtin_prefetch(&y[i / LANES][0], 1), __builtin_prefetch(&y[i / LANES][LANES], 1);
}

/* y[r][o] = sum over i of x[r][i] w[i][o], or so much more: each number of x meets two vectors of weights, and each of
 * these `rows` numbers of x, with all the sums in registers. */
INLINE void tile(int rows, int count, bool more, int out, float y[][out], const float x[][DEPTH], const float w[DEPTH][OUTS],
                 Ahead ahead) {
    Vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Vector){0};
    for (int i = 0; i < count; i++) {
        if (i % LANES == 0) fetch(i, rows, out, y, ahead);
        Vector first = *(const Vector *)w[i], second = *(const Vector *)&w[i][LANES];
#pragma GCC unroll 12
        for (int r = 0; r < rows; r++) {
            sum[r][0] += x[r][i] * first;
            sum[r][1] += x[r][i] * second;
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < rows; r++) {
        Vector *to = (Vector *)y[r];
        if (more) sum[r][0] += to[0], sum[r][1] += to[1];
        to[0] = sum[r][0], to[1] = sum[r][1];
    }
}

/* Alone in its function, so that no other code takes registers from it. */
__attribute__((noinline)) static void whole_tile(int count, bool more, int out, float y[][out], const float x[][DEPTH],
                                                 const float w[DEPTH][OUTS], Ahead ahead) {
    tile(ROWS, count, more, out, y, x, w, ahead);
}

/* All rows of x with a panel. Each tile fetches as much of the next panel as is due. */
static void panel_products(int rows, int count, bool more, int out, float y[][out], const float x[][DEPTH],
                           const float w[DEPTH][OUTS], Ahead next) {
    int r = 0, tiles = rows / ROWS;
    for (int n = 0; n < tiles; n++, r += ROWS) {
        int from = next.rows * n / tiles, to = next.rows * (n + 1) / tiles;
        whole_tile(count, more, out, y + r, x + r, w, (Ahead){to - from, next.from + from * next.pitch, next.pitch, next.size});
    }
    for (; r + ROWS / 3 <= rows; r += ROWS / 3) tile(ROWS / 3, count, more, out, y + r, x + r, w, (Ahead){0});
    for (; r < rows; r++) tile(1, count, more, out, y + r, x + r, w, (Ahead){0});
}

/* The outputs that fill panels; returns how many. */
static int many_rows(int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    DType dtype = weight->dtype;
    size_t size = dtype_size(dtype), pitch = in * size;
    int panels = out / OUTS;
#pragma omp parallel
    {
        float(*near)[DEPTH] = allocate((size_t)rows * sizeof *near), w[DEPTH][OUTS] __attribute__((aligned(64)));
        for (int i = 0; i < in; i += DEPTH) {
            int count = in - i < DEPTH ? in - i : DEPTH;
            for (int r = 0; r < rows; r++) memcpy(near[r], &x[r][i], (size_t)count * sizeof(float));
#pragma omp for schedule(static) nowait /* a thread meets the same outputs for every i */
            for (int n = 0; n < panels; n++) {
                const char *from = (const char *)weight->data + n * OUTS * pitch + i * size;
                if (dtype == F32) pack(F32, count, w, from, pitch);
                else if (dtype == BF16) pack(BF16, count, w, from, pitch);
                else pack(F16, count, w, from, pitch);
                panel_products(rows, count, i > 0, out, (void *)&y[0][n * OUTS], near, w,
                               (Ahead){n + 1 < panels ? OUTS : 0, from + OUTS * pitch, pitch, size});
            }
        }
        free(near);
    }
    return panels * OUTS;
}

void project(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight) {
    for (int r = 0, n; r < rows; r += n) {
        n = rows - r < CHUNK ? rows - r : CHUNK;
        int done = n < ROWS ? 0 : many_rows(n, in, out, y + r, x + r, weight);
        if (done < out) few_rows(done, n, in, out, y + r, x + r, weight);
    }
}
