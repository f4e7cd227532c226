#include "09_decoder/projection.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>
#ifdef __F16C__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
enum { LANES = 16, OUTS = 12 };
#else
enum { LANES = 8, OUTS = 6 };
#endif
enum {
    GROUP = 2 * LANES,   /* weights that are widened at a time, into two vectors */
    STREAMS = 4,         /* rows of the weight that are read side by side */
    ROWS = 4,            /* rows of x that a weight meets once it is widened, if there are few */
    CHUNK = 64,          /* rows of x that stay in the cache together */
    PIECE = 16 * GROUP,  /* weights of each of OUTS rows that stay there, widened */
};

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
typedef uint32_t Words __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(1), may_alias));

#define INLINE static inline __attribute__((always_inline)) /* so that a constant argument is one inside, too */

/* ------------------------------------------------------------------ from the file's dtype to float32
 *
 * Two BF16 weights share a word: the even ones are its lower halves, the odd ones its upper. Taking them apart so costs
 * one instruction a vector, but gives the evens of a group and then its odds. The numbers that meet them are put into
 * that order, too. */
INLINE int place(DType dtype, int i) {
    int j = i % GROUP;
    return dtype == BF16 ? i - j + j / 2 + j % 2 * LANES : i;
}

/* A vector of F16: one instruction where the processor has it. */
INLINE void widen_f16(Vector *to, const char *weights) {
#if defined __AVX512F__
    *to = (Vector)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)weights));
#elif defined __F16C__
    *to = (Vector)_mm256_cvtph_ps(_mm_loadu_si128((const void *)weights));
#elif defined __aarch64__
    typedef __fp16 Halves __attribute__((vector_size(LANES * 2), aligned(1), may_alias));
    *to = __builtin_convertvector(*(const Halves *)weights, Vector);
#else
    /* The exponent moves from bias 15 to 127, infinity's and NaN's on to 255; a subnormal, whose exponent is 0, is read
     * as 2^-14 plus itself, and 2^-14 is taken off again. */
    typedef uint16_t Halves __attribute__((vector_size(LANES * 2), aligned(1), may_alias));
    Words half = __builtin_convertvector(*(const Halves *)weights, Words), magnitude = (half & 0x7fff) << 13;
    Words subnormal = (Words)(magnitude < (1u << 23)), infinite = (Words)(magnitude >= (31u << 23));
    magnitude += (112u << 23) + (infinite & (112u << 23)) + (subnormal & (1u << 23));
    Words base = subnormal & (113u << 23);
    Vector value = (Vector)magnitude - (Vector)base;
    *to = (Vector)((Words)value | (half & 0x8000) << 16);
#endif
}

/* A group of weights from any address. */
INLINE void widen(DType dtype, Vector to[2], const char *weights) {
    const Words *words = (const Words *)weights;
    if (dtype == F32) to[0] = (Vector)words[0], to[1] = (Vector)words[1];
    else if (dtype == BF16) to[0] = (Vector)(*words << 16), to[1] = (Vector)(*words & 0xffff0000);
    else widen_f16(&to[0], weights), widen_f16(&to[1], weights + LANES * sizeof(f16));
}

/* The last of a row, filled up with zeros. */
INLINE void widen_rest(DType dtype, Vector to[2], const char *weights, int count) {
    char group[GROUP * sizeof(float)] = {0};
    memcpy(group, weights, (size_t)count * dtype_size(dtype));
    widen(dtype, to, group);
}

/* ------------------------------------------------------------------ few rows: as fast as the weights can be read */

/* A group of weights meets the same group of each row of x. A single row has two sums, or it would wait for its own
 * additions. */
INLINE void meet(int rows, Vector sum[][STREAMS][2], int o, const Vector w[2], int width, const float x[][width], int i) {
    int second = rows == 1;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        sum[r][o][0] += w[0] * *(const Vector *)&x[r][i];
        sum[r][o][second] += w[1] * *(const Vector *)&x[r][i + LANES];
    }
}

/* y[r][o] = w_o . x_r for neighbouring rows of the weight; the rows of x are in their places. */
INLINE void dot_products(DType dtype, int rows, int outs, int in, int out, float y[][out], int width,
                         const float x[][width], const char *weights) {
    size_t size = dtype == F32 ? 4 : 2, pitch = (size_t)in * size;
    Vector sum[ROWS][STREAMS][2] = {0}, w[2];
    int i = 0;
    for (; i + GROUP <= in; i += GROUP)
#pragma GCC unroll 4
        for (int o = 0; o < outs; o++) {
            widen(dtype, w, weights + o * pitch + i * size);
            meet(rows, sum, o, w, width, x, i);
        }
    for (int o = 0; o < outs && i < in; o++) {
        widen_rest(dtype, w, weights + o * pitch + i * size, in - i);
        meet(rows, sum, o, w, width, x, i);
    }
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < outs; o++) {
            sum[r][o][0] += sum[r][o][1];
            y[r][o] = 0;
            for (int l = 0; l < LANES; l++) y[r][o] += sum[r][o][0][l];
        }
}

/* The same for a dtype that is known only now. */
INLINE void dtype_products(DType dtype, int rows, int outs, int in, int out, float y[][out], int width,
                           const float x[][width], const char *weights) {
    if (dtype == F32) dot_products(F32, rows, outs, in, out, y, width, x, weights);
    else if (dtype == BF16) dot_products(BF16, rows, outs, in, out, y, width, x, weights);
    else dot_products(F16, rows, outs, in, out, y, width, x, weights);
}

/* STREAMS outputs of all rows, or the last few. */
static void some_products(DType dtype, int rows, int outs, int in, int out, float y[][out], int width,
                          const float x[][width], const char *weights) {
    int r = 0;
    if (outs == STREAMS)
        for (; r + ROWS <= rows; r += ROWS) dtype_products(dtype, ROWS, STREAMS, in, out, y + r, width, x + r, weights);
    for (; r < rows; r++)
        if (outs == STREAMS) dtype_products(dtype, 1, STREAMS, in, out, y + r, width, x + r, weights);
        else
            for (int o = 0; o < outs; o++)
                dtype_products(dtype, 1, 1, in, out, (void *)&y[r][o], width, x + r, weights + o * in * dtype_size(dtype));
}

static void few_rows(int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    int width = (in + GROUP - 1) / GROUP * GROUP;
    size_t pitch = (size_t)in * dtype_size(weight->dtype);
    float(*placed)[width] = allocate((size_t)rows * sizeof *placed);
    memset(placed, 0, (size_t)rows * sizeof *placed);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < in; i++) placed[r][place(weight->dtype, i)] = x[r][i];
#pragma omp parallel for if ((double)in * out > 1e5)
    for (int o = 0; o < out; o += STREAMS)
        some_products(weight->dtype, rows, out - o < STREAMS ? out - o : STREAMS, in, out, (void *)&y[0][o], width, placed,
                      (const char *)weight->data + o * pitch);
    free(placed);
}

/* ------------------------------------------------------------------ many rows: as fast as can be multiplied
 *
 * GROUP rows of x stand side by side in two vectors, number i of each in the same place: a weight, once it is read and
 * widened, meets them all. */

/* sum[o] += w[o][i] x[i] for all i; x[i] is number i of GROUP rows. */
static void add_products(int n, Vector sum[OUTS][2], const float w[OUTS][PIECE], const float x[n][GROUP]) {
    Vector total[OUTS][2];
    memcpy(total, sum, sizeof total);
    for (int i = 0; i < n; i++) {
        Vector first = *(const Vector *)x[i], second = *(const Vector *)&x[i][LANES];
#pragma GCC unroll 12
        for (int o = 0; o < OUTS; o++) {
            total[o][0] += w[o][i] * first;
            total[o][1] += w[o][i] * second;
        }
    }
    memcpy(sum, total, sizeof total);
}

/* A piece of one row of the weight, its numbers in their places. */
static void widen_piece(DType dtype, int n, float to[PIECE], const char *weights) {
    int i = 0;
    for (; i + GROUP <= n; i += GROUP) widen(dtype, (Vector *)(to + i), weights + i * dtype_size(dtype));
    if (i < n) widen_rest(dtype, (Vector *)(to + i), weights + i * dtype_size(dtype), n - i);
}

/* OUTS outputs of all rows; past the last output stands the last again. */
static void stripe(int sets, int in, int out, int o0, Vector sum[restrict sets][OUTS][2], int width,
                   const float x[sets][width][GROUP], const Tensor *weight) {
    size_t size = dtype_size(weight->dtype);
    memset(sum, 0, (size_t)sets * sizeof *sum);
    for (int i = 0; i < width; i += PIECE) {
        int n = width - i < PIECE ? width - i : PIECE;
        float w[OUTS][PIECE];
        for (int o = 0; o < OUTS; o++) {
            size_t row = o0 + o < out ? o0 + o : out - 1;
            widen_piece(weight->dtype, in - i < n ? in - i : n, w[o], (const char *)weight->data + (row * in + i) * size);
        }
        for (int s = 0; s < sets; s++) add_products(n, sum[s], w, x[s] + i);
    }
}

static void many_rows(int rows, int in, int out, float y[rows][out], const float x[rows][in], const Tensor *weight) {
    int sets = (rows + GROUP - 1) / GROUP, width = (in + GROUP - 1) / GROUP * GROUP;
    float(*turned)[width][GROUP] = allocate((size_t)sets * sizeof *turned);
    memset(turned, 0, (size_t)sets * sizeof *turned);
#pragma omp parallel for
    for (int i0 = 0; i0 < in; i0 += GROUP) /* square by square, each in the cache while it is turned */
        for (int r = 0; r < rows; r++)
            for (int i = i0; i < i0 + GROUP && i < in; i++)
                turned[r / GROUP][place(weight->dtype, i)][r % GROUP] = x[r][i];
#pragma omp parallel for
    for (int o0 = 0; o0 < out; o0 += OUTS) {
        Vector sum[CHUNK / GROUP][OUTS][2];
        stripe(sets, in, out, o0, sum, width, turned, weight);
        for (int r = 0; r < rows; r++)
            for (int o = 0; o < OUTS && o0 + o < out; o++)
                y[r][o0 + o] = sum[r / GROUP][o][r % GROUP / LANES][r % LANES];
    }
    free(turned);
}

void project(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const Tensor *weight) {
    for (int r = 0, n; r < rows; r += n) {
        n = rows - r < CHUNK ? rows - r : CHUNK;
        if (n < LANES) few_rows(n, in, out, y + r, x + r, weight);
        else many_rows(n, in, out, y + r, x + r, weight);
    }
}

void embed(int T, int C, float out[restrict T][C], const int ids[T], const Tensor *table) {
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++) out[t][i] = (float)tensor_get(table, (size_t)ids[t] * C + i);
}
