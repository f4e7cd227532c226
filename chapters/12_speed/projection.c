#include "12_speed/projection.h"
#include "12_speed/pairs.h"
#include "common/error.h"
#include "common/numbers.h"

#include <stdlib.h>

enum {
    FEW = 4,
    STREAMS = 4, /* rows of x that meet a weight on its way from memory, and rows of the weight side
                    by side */
    STREAMS_8 = 8,   /* or one after the other, where x is a single row, and the weights are F32, */
    STREAMS_12 = 12, /* or x is so long that the first-level cache cannot keep it, */
    BURST = 128,     /* and of each so many numbers in one go */
    LONG = 2048,     /* it keeps so many numbers of x while weights of 16 bits pass */
    SPAN = 256,      /* numbers of a row whose products are added up by themselves */
    AHEAD = 768,     /* bytes that are asked for before they are needed */
    LINE = 64,       /* bytes that come from memory together */
};

/* How x and the weights are multiplied. */
typedef struct {
    bool rounds; /* x is rounded to bfloat16 first */
    bool widens; /* weights in blocks are widened to float32, and x is not quantized */
} Way;

/* `count` numbers of a row of x, rounded to bfloat16 if the way asks for it. */
static void copy_row(bool rounds, int count, float to[count], const float from[count]) {
    memcpy(to, from, (size_t)count * sizeof *to);
    if (rounds) bf16_round(count, to);
}

/* ------------------------------------------------- few rows: as fast as the weights can be read */

/* 2 LANES weights as float32, from any address. BF16 comes as the even ones and the odd ones: a
 * shift and a mask are less than the instructions that widen. */
INLINE void widen(DType dtype, Vector to[2], const char *from) {
    if (dtype == F32) {
        to[0] = ((const Vector *)from)[0];
        to[1] = ((const Vector *)from)[1];
    } else if (dtype == F16) {
        to[0] = widen_f16(from);
        to[1] = widen_f16(from + LANES * sizeof(f16));
    } else {
        VecU32 pairs = *(const VecU32 *)from;
        IN_REGISTER(pairs);
        to[0] = even_bf16(pairs);
        to[1] = odd_bf16(pairs);
    }
}

/* A row of x in the order of its weights, in steps of 2 LANES; the last is filled up with zeros. */
#define EVERY_OTHER(from, l) ((from) + 2 * (l))
static void copy_in_order(bool rounds, DType dtype, int in, float to[], const float from[in]) {
    int whole = in / (2 * LANES) * 2 * LANES,
        width = (in + 2 * LANES - 1) / (2 * LANES) * 2 * LANES;
    memset(to + whole, 0, (size_t)(width - whole) * sizeof *to);
    copy_row(rounds, in, to, from);
    for (int i = 0; i < width && dtype == BF16; i += 2 * LANES) {
        Vector *at = (Vector *)&to[i], first = at[0], second = at[1];
        at[0] = __builtin_shufflevector(first, second, EACH_LANE(EVERY_OTHER, 0));
        at[1] = __builtin_shufflevector(first, second, EACH_LANE(EVERY_OTHER, 1));
    }
}

/* Prefetch into L2: L1 is full of x. */
INLINE void prefetch(size_t bytes, const char *from) {
    for (size_t b = 0; b < bytes; b += LINE) __builtin_prefetch(from + b + AHEAD, 0, 2);
}

/* 2 LANES weights of each stream meet all rows of x, which is loaded but once for all streams. */
INLINE void add_step(DType dtype, int rows, int streams, Vector sum[], int width,
                     const float x[][width], const char *from, size_t stream) {
    Vector near[FEW][2], w[2];
    UNROLLED
    for (int r = 0; r < rows; r++) {
        near[r][0] = *(const Vector *)x[r];
        near[r][1] = *(const Vector *)&x[r][LANES];
        IN_REGISTER(near[r][0]);
        IN_REGISTER(near[r][1]);
    }
    UNROLLED
    for (int s = 0; s < streams; s++, from += stream) {
        widen(dtype, w, from);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            sum[r * streams + s] += w[0] * near[r][0];
            sum[r * streams + s] += w[1] * near[r][1];
        }
    }
}

/* A whole part of few streams. They meet x side by side, for each sum waits for its own last
 * addition; but what comes later is asked for stream by stream: memory is faster where one line
 * follows another. */
INLINE void add_side_by_side(DType dtype, int rows, int streams, Vector sum[], int width,
                             const float x[][width], const char *from, size_t stream) {
    const size_t size = dtype == F32 ? 4 : 2, part = SPAN * size;
    UNROLLED
    for (int i = 0; i < SPAN; i += 2 * LANES) {
        size_t asked = i * size * streams;
        if (asked % LINE == 0)
            prefetch(2 * LANES * size * streams, from + asked / part * stream + asked % part);
        add_step(dtype, rows, streams, sum, width, (const void *)&x[0][i], from + i * size, stream);
    }
}

/* A burst of many streams, and one row of x: one stream after the other, as a processor likes to
 * fetch from memory by itself. Where x comes from the second-level cache, too, asking would only be
 * in its way. */
INLINE void add_in_turn(DType dtype, int streams, Vector sum[], const float x[], const char *from,
                        size_t stream) {
    const size_t size = dtype == F32 ? 4 : 2;
    UNROLLED
    for (int s = 0; s < streams; s++, from += stream) UNROLLED
    for (int i = 0; i < BURST; i += 2 * LANES) {
        if (dtype == F32 && i * size % LINE == 0) prefetch(2 * LANES * size, from + i * size);
        add_step(dtype, 1, 1, &sum[s], 2 * LANES, (const void *)&x[i], from + i * size, 0);
    }
}

/* sum[r][s] += so many products of a row of x and one of the weight: a part of their sums, added up
 * by itself. In one go each lane would add up thousands of roundings, the more the fewer lanes
 * there are. */
INLINE void add_part(DType dtype, int rows, int streams, int count, Vector sum[], int width,
                     const float x[][width], const char *weight, size_t stream) {
    const size_t size = dtype == F32 ? 4 : 2;
    Vector part[FEW * STREAMS];
    int i = 0;
    UNROLLED
    for (int n = 0; n < rows * streams; n++) part[n] = (Vector){0};
    for (; streams > STREAMS && i + BURST <= count; i += BURST)
        add_in_turn(dtype, streams, part, &x[0][i], weight + i * size, stream);
    for (; streams <= STREAMS && i + SPAN <= count; i += SPAN)
        add_side_by_side(dtype, rows, streams, part, width, (const void *)&x[0][i],
                         weight + i * size, stream);
    for (; i + 2 * LANES <= count; i += 2 * LANES)
        add_step(dtype, rows, streams, part, width, (const void *)&x[0][i], weight + i * size,
                 stream);
    if (i < count) { /* beyond the end of a row nothing is read */
        char rest[STREAMS_12][2 * LANES * sizeof(float)] = {0};
        for (int s = 0; s < streams; s++)
            memcpy(rest[s], weight + s * stream + i * size, (size_t)(count - i) * size);
        add_step(dtype, rows, streams, part, width, (const void *)&x[0][i], rest[0],
                 sizeof rest[0]);
    }
    UNROLLED
    for (int n = 0; n < rows * streams; n++) sum[n] += part[n];
}

/* products[r][s] = w_s . x_r, for rows of the weight that lie `stream` bytes from each other. Each
 * is read from end to end beside the others, so that several lines of memory, and several
 * additions, are under way at any time. What is not a whole part comes last, so that in the loop
 * all sums stay in registers. */
INLINE void dot_products(DType dtype, int rows, int streams, int in, float products[], int width,
                         const float x[][width], const char *weight, size_t stream) {
    const size_t size = dtype == F32 ? 4 : 2;
    Vector sum[FEW * STREAMS];
    int i = 0;
    UNROLLED
    for (int n = 0; n < rows * streams; n++) sum[n] = (Vector){0};
    for (; i + SPAN <= in; i += SPAN)
        add_part(dtype, rows, streams, SPAN, sum, width, (const void *)&x[0][i], weight + i * size,
                 stream);
    if (i < in)
        add_part(dtype, rows, streams, in - i, sum, width, (const void *)&x[0][i],
                 weight + i * size, stream);
    UNROLLED
    for (int n = 0; n < rows * streams; n++) products[n] = total(sum[n]);
}

/* The same for a dtype that is known only now. */
INLINE void any_products(DType dtype, int rows, int streams, int in, float products[], int width,
                         const float x[][width], const char *weight, size_t stream) {
    if (dtype == F32) dot_products(F32, rows, streams, in, products, width, x, weight, stream);
    else if (dtype == BF16)
        dot_products(BF16, rows, streams, in, products, width, x, weight, stream);
    else dot_products(F16, rows, streams, in, products, width, x, weight, stream);
}

/* One output of each stream, of all rows of x. */
static void some_products(DType dtype, int rows, int streams, int in, float products[rows][streams],
                          int width, const float x[][width], const char *weight, size_t stream) {
    int r = 0;
    for (; streams == STREAMS && r + FEW <= rows; r += FEW)
        any_products(dtype, FEW, STREAMS, in, products[r], width, x + r, weight, stream);
    for (; r < rows; r++)
        if (streams == 1) any_products(dtype, 1, 1, in, products[r], width, x + r, weight, stream);
        else if (streams == STREAMS)
            any_products(dtype, 1, STREAMS, in, products[r], width, x + r, weight, stream);
        else if (streams == STREAMS_8)
            any_products(dtype, 1, STREAMS_8, in, products[r], width, x + r, weight, stream);
        else if (dtype == BF16)
            dot_products(BF16, 1, STREAMS_12, in, products[r], width, x + r, weight, stream);
        else dot_products(F16, 1, STREAMS_12, in, products[r], width, x + r, weight, stream);
}

/* Outputs first, first + 1, … of `apart` rows of the weight for each stream. They are put where
 * they belong in the end: to write here and there between what is read takes a fifth of the speed.
 * Threads do not get the same share of the memory at any time: they take less and less at once
 * (guided), so that at the end none waits long for another. */
static void outputs(int first, int streams, int apart, int rows, int in, int out,
                    float y[rows][out], int width, const float x[rows][width],
                    const Tensor *weight) {
    size_t row = (size_t)in * dtype_size(weight->dtype);
    float(*products)[rows][streams] = xmalloc((size_t)apart * sizeof *products);
#pragma omp parallel for schedule(guided) if ((double)rows * in * apart * streams > 1e6)
    for (int o = 0; o < apart; o++)
        some_products(weight->dtype, rows, streams, in, products[o], width, x,
                      (const char *)weight->data + (size_t)(first + o) * row, (size_t)apart * row);
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < streams; s++)
            for (int o = 0; o < apart; o++) y[r][first + s * apart + o] = products[o][r][s];
    free(products);
}

/* The fastest number of streams. Vectors of four lanes need all their additions side by side. In
 * rows that are whole pages, the same columns map to one set of the first-level cache, which has
 * some eight ways. */
static int streams_for(DType dtype, int rows, int in) {
    if (rows > 1) return STREAMS;
    if (dtype == F32) return STREAMS_8;
    if (in <= LONG || LANES == 4) return STREAMS;
    return (size_t)in * dtype_size(dtype) % PAGE == 0 ? STREAMS_8 : STREAMS_12;
}

static void few_rows_of(bool rounds, int first, int rows, int in, int out, float y[rows][out],
                        const float x[rows][in], const Tensor *weight) {
    DType dtype = weight->dtype;
    int streams = streams_for(dtype, rows, in);
    int width = (in + 2 * LANES - 1) / (2 * LANES) * 2 * LANES;
    float(*ordered)[width] = xmalloc((size_t)rows * sizeof *ordered);
    for (int r = 0; r < rows; r++) copy_in_order(rounds, dtype, in, ordered[r], x[r]);
    while (first < out) {
        if (out - first < streams) streams = out - first < STREAMS ? 1 : STREAMS;
        int apart = (out - first) / streams;
        if (streams > STREAMS)
            apart -= apart % 2 == 0; /* at powers of two they crowd into few sets of a cache */
        outputs(first, streams, apart, rows, in, out, y, width, ordered, weight);
        first += streams * apart;
    }
    free(ordered);
}

void gemv(int first, int rows, int in, int out, float y[rows][out], const float x[rows][in],
          const Tensor *weight) {
    few_rows_of(false, first, rows, in, out, y, x, weight);
}

/* ------------------------------------------------------ many rows: as fast as can be multiplied */

static void copy_block(int rows, int count, int in, float block[rows][LDA],
                       const float x[rows][in]) {
    for (int r = 0; r < rows; r++) copy_row(false, count, block[r], x[r]);
}
static void copy_rounded(int rows, int count, int in, float block[rows][LDA],
                         const float x[rows][in]) {
    for (int r = 0; r < rows; r++) copy_row(true, count, block[r], x[r]);
}

/* A vector from each of LANES rows that have `left` bytes more. Where a row ends there are zeros.
 */
INLINE void load_square(int left, Vector square[LANES], const char *from, size_t pitch) {
    UNROLLED
    for (int l = 0; l < LANES; l++) {
        char rest[sizeof(Vector)] = {0};
        const char *row = from + l * pitch;
        square[l] =
            *(const Vector *)(left >= (int)sizeof rest ? row : memcpy(rest, row, (size_t)left));
    }
}

INLINE void store_square(float panel[][NR], const Vector square[LANES]) {
    UNROLLED
    for (int l = 0; l < LANES; l++) *(Vector *)panel[l] = square[l];
}

/* panel[i][o] = number i of row o of the weight, in squares of LANES x LANES that are transposed in
 * registers. */
void pack_f32(int count, float panel[KC][NR], const char *weight, size_t pitch) {
    for (int o = 0; o < NR; o += LANES)
        for (int i = 0; i < count; i += LANES) {
            Vector square[LANES];
            load_square((count - i) * 4, square, weight + o * pitch + i * 4, pitch);
            transpose_square(square);
            store_square((void *)&panel[i][o], square);
        }
}

/* Pairs are transposed as one float32 each, and then split. */
static void pack_bf16(int count, float panel[KC][NR], const char *weight, size_t pitch) {
    for (int o = 0; o < NR; o += LANES)
        for (int i = 0; i < count; i += 2 * LANES) {
            Vector square[LANES];
            load_square((count - i) * 2, square, weight + o * pitch + i * 2, pitch);
            transpose_square(square);
            UNROLLED
            for (int l = 0; l < LANES; l++) {
                *(Vector *)&panel[i + 2 * l][o] = even_bf16((VecU32)square[l]);
                *(Vector *)&panel[i + 2 * l + 1][o] = odd_bf16((VecU32)square[l]);
            }
        }
}

static void pack_f16(int count, float panel[KC][NR], const char *weight, size_t pitch) {
    for (int o = 0; o < NR; o += LANES)
        for (int i = 0; i < count; i += LANES) {
            Vector square[LANES];
            UNROLLED
            for (int l = 0; l < LANES; l++) {
                char rest[LANES * 2] = {0};
                const char *row = weight + (o + l) * pitch + i * 2;
                square[l] = widen_f16(
                    count - i >= LANES ? row : memcpy(rest, row, (size_t)(count - i) * 2));
            }
            transpose_square(square);
            store_square((void *)&panel[i][o], square);
        }
}

INLINE Vector multiply_add(Vector sum, float x, Vector w) { return sum + x * w; }

/* Each in a function of its own, so that no other code takes registers from it. */
static void whole_tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(multiply_add, MR, count, more, out, y, x, w, ahead);
}
static void third_tile(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(multiply_add, MR / 3, count, more, out, y, x, w, ahead);
}
static void single_row(int count, bool more, int out, float y[][out], const float x[][LDA],
                       const float w[][NR], PrefetchPlan ahead) {
    tile(multiply_add, 1, count, more, out, y, x, w, ahead);
}

#define WIDENING(copy)                                                                             \
    {                                                                                              \
        [F32] = {1, copy, pack_f32, {whole_tile, third_tile, single_row}},                         \
        [BF16] = {1, copy, pack_bf16, {whole_tile, third_tile, single_row}},                       \
        [F16] = {1, copy, pack_f16, {whole_tile, third_tile, single_row}},                         \
    }
const Method *gemm_method_for(DType dtype) {
    static const Method methods[] = WIDENING(copy_block);
    return &methods[dtype];
}
static const Method *rounding(DType dtype) {
    static const Method methods[] = WIDENING(copy_rounded);
    return &methods[dtype];
}

/* Multiplies all rows of a block by a panel, tile by tile. Each tile prefetches its part of the
 * next panel. */
static void multiply_panel(const Method *method, int rows, int count, bool more, int out,
                           float y[][out], const float block[][LDA], const float panel[][NR],
                           PrefetchPlan next) {
    static const int heights[] = {MR, MR / 3, 1};
    for (int r = 0, n = 0; r < rows; r += heights[n]) {
        while (heights[n] > rows - r) n++;
        int from = next.rows * r / rows, to = next.rows * (r + heights[n]) / rows;
        PrefetchPlan ahead = {to - from, next.from + from * next.pitch, next.pitch, next.size};
        method->tiles[n](count, more, out, y + r, (const void *)block[r], panel, ahead);
    }
}

/* Multiplies a block by all panels of a weight, which the threads share. A thread has the same
 * outputs in every block. */
static void multiply_block(const Method *method, int rows, int count, bool more, int outs, int out,
                           float y[][out], const float block[][LDA], const char *weight,
                           size_t pitch, size_t size) {
    float panel[KC][NR] __attribute__((aligned(LINE)));
#pragma omp for schedule(static) nowait
    for (int o = 0; o < outs; o += NR) {
        const char *from = weight + o * pitch;
        PrefetchPlan next = {o + NR < outs ? NR : 0, from + NR * pitch, pitch, size};
        method->pack(count, panel, from, pitch);
        multiply_panel(method, rows, count, more, out, (void *)&y[0][o], block, panel, next);
    }
}

int gemm(const Method *method, int rows, int in, int out, float y[rows][out],
         const float x[rows][in], const Tensor *weight) {
    int numbers = in / method->numbers, outs = out / NR * NR;
    size_t size = dtype_size(weight->dtype) * method->numbers, pitch = numbers * size;
#pragma omp parallel if ((double)rows * in * out > 1e6)
    {
        float(*block)[LDA] = xmalloc(MC * sizeof *block);
        for (int r = 0; r < rows; r += MC)
            for (int i = 0; i < numbers; i += KC) {
                int height = min_int(rows - r, MC), depth = min_int(numbers - i, KC);
                method->copy_block(height, depth, in, block,
                                   (const void *)&x[r][i * method->numbers]);
                multiply_block(method, height, depth, i > 0, outs, out, y + r, block,
                               (const char *)weight->data + i * size, pitch, size);
            }
        free(block);
    }
    return outs;
}

/* ------------------------------------------------------------------ blocks, widened to float32 */

enum {
    SIDE = 4, /* rows of the weight that are widened together: a number of x is loaded for all of
                 them */
    PIECE = 1024, /* numbers of a row that are: whole blocks, in the L1 cache while they meet every
                     row of x */
};

/* sum[s] += x . w[s] */
static void dots(int n, float sum[SIDE], const float x[n], const float w[SIDE][PIECE]) {
    float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
    for (int i = 0; i < n; i++) {
        a += x[i] * w[0][i];
        b += x[i] * w[1][i];
        c += x[i] * w[2][i];
        d += x[i] * w[3][i];
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
}

static void project_widened(int rows, int in, int out, float y[rows][out], const float x[rows][in],
                            const Tensor *weight) {
#pragma omp parallel for if ((double)in * out > 1e5)
    for (int o = 0; o < out; o += SIDE) {
        float w[SIDE][PIECE] = {0};
        int side = min_int(out - o, SIDE);
        for (int i = 0; i < in; i += PIECE) {
            int n = min_int(in - i, PIECE);
            for (int s = 0; s < side; s++)
                tensor_dequantize_row(weight, (size_t)(o + s) * in + i, n, w[s]);
            for (int r = 0; r < rows; r++) {
                float sum[SIDE] = {0};
                dots(n, sum, &x[r][i], w);
                for (int s = 0; s < side; s++) y[r][o + s] = (i ? y[r][o + s] : 0) + sum[s];
            }
        }
    }
}

/* ------------------------------------------------------------------ which of them */

/* Do dot products of BF16 pay, and lose nothing that is not to be rounded away? */
static bool take_pairs(bool rounds, int rows, int in, const float x[rows][in],
                       const Tensor *weight) {
    bool take = in % 2 == 0 && weight->dtype == BF16 && bf16_dots_pay();
    if (rounds) return take;
#pragma omp parallel for if (take && (double)rows * in > 1e5) reduction(&& : take)
    for (int r = 0; r < rows; r++) take = take && bf16_holds(in, x[r]);
    return take;
}

static void project_as(Way way, int rows, int in, int out, float y[restrict rows][out],
                       const float x[rows][in], const Tensor *weight) {
    const QuantType *blocks = weight->quant_type;
    int done = 0;
    if (blocks && blocks->linear && !way.widens) {
        blocks->linear(rows, in, out, y, x, weight);
        return;
    }
    if (blocks) {
        project_widened(rows, in, out, y, x, weight);
        return;
    }
    if (rows >= MR) {
        const Method *method =
            way.rounds ? rounding(weight->dtype) : gemm_method_for(weight->dtype);
        if (take_pairs(way.rounds, rows, in, x, weight)) method = &bf16_pairs;
        done = gemm(method, rows, in, out, y, x, weight);
    }
    few_rows_of(way.rounds, done, rows, in, out, y, x, weight);
}

void fast_linear_tensor(int rows, int in, int out, float y[restrict rows][out],
                        const float x[rows][in], const Tensor *weight) {
    project_as((Way){0}, rows, in, out, y, x, weight);
}

void linear_tensor_bf16(int rows, int in, int out, float y[restrict rows][out],
                        const float x[rows][in], const Tensor *weight) {
    project_as((Way){.rounds = true}, rows, in, out, y, x, weight);
}

void linear_tensor_exact(int rows, int in, int out, float y[restrict rows][out],
                         const float x[rows][in], const Tensor *weight) {
    project_as((Way){.widens = true}, rows, in, out, y, x, weight);
}

void linear_tensor_bf16_exact(int rows, int in, int out, float y[restrict rows][out],
                              const float x[rows][in], const Tensor *weight) {
    project_as((Way){.rounds = true, .widens = true}, rows, in, out, y, x, weight);
}
