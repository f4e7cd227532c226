#include "13_quantization/products.h"
#include "13_quantization/quantization.h"
#include "13_quantization/rows.h"
#include "common/error.h"
#include "common/numbers.h"

#include <stdlib.h>

enum {
    TALL = REGISTERS * 3 /
           16,        /* rows of x in a tile: it has sums of whole numbers and as many of float32 */
    OUTS = 2 * LANES, /* outputs of a tile */
    CHUNK = 512,      /* rows of x that stay in the cache */
};

static int parts_of(int in) { return (in + PART - 1) / PART; }

/* ------------------------------------------------------------------ x in Q8_0 */

/* The sum of the first 16 of 32 quantized values, and of the other 16. A dot product with ones
 * leaves either in four lanes. */
static void sums_of(const int8_t level[BLOCK], int *first, int *second) {
    const uint8_t ones[1][BLOCK] = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
    EightWholes sums = {0};
    add_products(false, 1, (int32_t *)&sums, ones, (const void *)level);
    sums += __builtin_shufflevector(sums, sums, 1, 0, 3, 2, 5, 4, 7, 6);
    sums += __builtin_shufflevector(sums, sums, 2, 3, 0, 1, 6, 7, 4, 5);
    *first = sums[0];
    *second = sums[4];
}

static void quantize_part(UnpackKind kind, int n, Part *part, const float x[n]) {
    const int scales = BLOCK / kind.share; /* of a block */
    *part = (Part){0};
    for (int b = 0; b < n / BLOCK; b++) {
        int8_t level[BLOCK];
        int first, second;
        float d = q8_levels(level, &x[b * BLOCK]);
        sums_of(level, &first, &second);
        part->sum[b] = d * (float)(kind.minima * (first + second));
        memcpy(&part->level[place(kind, b * BLOCK)], level, SIXTEEN);
        memcpy(&part->level[place(kind, b * BLOCK + SIXTEEN)], level + SIXTEEN, SIXTEEN);
        for (int k = 0; k < scales; k++) {
            part->scale[b * scales + k] = d;
            part->start[b * scales + k] = -kind.zero * (scales == 1 ? first + second
                                                        : k == 0    ? first
                                                                    : second);
        }
        if (kind.halves) part->lanes[b % LATER][b / LATER * 4] = -kind.zero * (first + second);
        else {
            part->lanes[b][0] = -kind.zero * first;
            part->lanes[b][4] = -kind.zero * second;
        }
    }
}

/* All of x, [parts of a row][rows]: what meets a part of the weight lies together. A vector that
 * lay across two lines of the cache would be loaded twice, for every row of the weight. */
static Part *quantize(UnpackKind kind, int rows, int in, const float x[rows][in]) {
    int parts = parts_of(in);
    Part(*all)[rows] = xmalloc((size_t)parts * sizeof *all); /* which begins at a line, too */
#pragma omp parallel for if ((double)rows * in > 1e5)
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < parts; p++)
            quantize_part(kind, min_int(in - p * PART, PART), &all[p][r], &x[r][p * PART]);
    return *all;
}

/* ------------------------------------------------------ many rows: as fast as can be multiplied */

typedef struct {
    Lane level[PART / STEP][OUTS];
    float scale[MOST_SCALES][OUTS], minimum[BLOCKS][OUTS];
} Panel;

/* A part of a row of the weight, as output o of a panel whose levels are still in rows. */
INLINE void unpack(int type, int o, Level level[PART], Panel *panel, const char *weight) {
    const UnpackKind kind = kind_of(type);
    float scale[MOST_SCALES], minimum[BLOCKS];
    scales_of(type, scale, minimum, weight);
    for (int k = 0; k < PART / kind.share; k++) panel->scale[k][o] = scale[k];
    for (int b = 0; b < BLOCKS && kind.minima; b++) panel->minimum[b][o] = minimum[b];
    for (int b = 0; b < BLOCKS; b++) {
        int8_t levels[BLOCK];
        levels_of(type, b, (uint8_t *)levels, weight);
        for (int i = 0; i < BLOCK; i++) level[b * BLOCK + i] = levels[i];
    }
}

typedef void Unpack(int o, Level level[PART], Panel *panel, const char *weight);

/* Squares of steps are turned as chapter 12 turns squares of float32. */
static void pack(Unpack *unpack_row, int bytes, int left, Panel *panel, const char *weight,
                 size_t pitch) {
    Level rows[OUTS][PART];
    char rest[MOST_BYTES];
    for (int o = 0; o < OUTS; o++)
        unpack_row(o, rows[o], panel, whole_part(rest, bytes, left, weight + o * pitch));
    for (int o = 0; o < OUTS; o += LANES)
        for (int i = 0; i < PART; i += STEP * LANES) {
            Vector square[LANES];
            UNROLLED
            for (int l = 0; l < LANES; l++) square[l] = *(const Vector *)&rows[o + l][i];
            transpose_square(square);
            UNROLLED
            for (int l = 0; l < LANES; l++) *(Vector *)&panel->level[i / STEP + l][o] = square[l];
        }
}

/* sum[r] = `share` levels of x_r with those of the panel, from number i on. */
INLINE void add_levels(int share, int rows, int i, Lanes sum[][2], const Part x[],
                       const Level block[][PART], const Panel *panel) {
    UNROLLED
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Lanes){0} + (Lane)x[r].start[i / share];
    for (int j = i; j < i + share; j += STEP) {
        const Lanes *w = (const Lanes *)panel->level[j / STEP];
        UNROLLED
        for (int r = 0; r < rows; r++) {
            Lane step;
            memcpy(&step, &block[r][j], sizeof step);
            sum[r][0] = add_step(sum[r][0], w[0], (Lanes){0} + step);
            sum[r][1] = add_step(sum[r][1], w[1], (Lanes){0} + step);
        }
    }
}

/* y[r] (+)= the numbers of the panel with those of x_r, for as many rows as the tile has. */
INLINE void tile(int share, bool has_minimum, int rows, bool more, int out, float y[][out],
                 const Part x[], const Level block[][PART], const Panel *panel) {
    Vector total[TALL][2];
    UNROLLED
    for (int r = 0; r < rows; r++) total[r][0] = total[r][1] = (Vector){0};
    for (int i = 0; i < PART; i += share) {
        Lanes sum[TALL][2];
        const Vector *scale = (const Vector *)panel->scale[i / share],
                     *minimum = (const Vector *)panel->minimum[i / BLOCK];
        add_levels(share, rows, i, sum, x, block, panel);
        UNROLLED
        for (int r = 0; r < rows; r++) UNROLLED
        for (int v = 0; v < 2; v++) {
            total[r][v] +=
                scale[v] * x[r].scale[i / share] * __builtin_convertvector(sum[r][v], Vector);
            if (has_minimum) total[r][v] += minimum[v] * x[r].sum[i / BLOCK];
        }
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        Vector *to = (Vector *)y[r];
        if (more) {
            total[r][0] += to[0];
            total[r][1] += to[1];
        }
        to[0] = total[r][0];
        to[1] = total[r][1];
    }
}

typedef void Tile(bool more, int out, float y[][out], const Part x[], const Level block[][PART],
                  const Panel *panel);

/* ------------------------------------------------------------------ what a format decides */

typedef void DotProducts(float y[], int rows, const Part x[][rows], size_t pitch,
                         const char *weight);

typedef struct {
    DotProducts *four, *one;
    Unpack *unpack;
    Tile *tall, *single;
} Method;

/* Each in a function of its own, where what the format decides is a constant. */
#define TILES(name, share, has_minimum)                                                            \
    static void tall_##name(bool more, int out, float y[][out], const Part x[],                    \
                            const Level block[][PART], const Panel *panel) {                       \
        tile(share, has_minimum, TALL, more, out, y, x, block, panel);                             \
    }                                                                                              \
    static void single_##name(bool more, int out, float y[][out], const Part x[],                  \
                              const Level block[][PART], const Panel *panel) {                     \
        tile(share, has_minimum, 1, more, out, y, x, block, panel);                                \
    }
#define PARTS(type)                                                                                \
    static void four_##type(float y[], int rows, const Part x[][rows], size_t pitch,               \
                            const char *weight) {                                                  \
        dot_products(GGUF_TYPE_##type, STREAMS, y, rows, x, pitch, weight);                        \
    }                                                                                              \
    static void one_##type(float y[], int rows, const Part x[][rows], size_t pitch,                \
                           const char *weight) {                                                   \
        dot_products(GGUF_TYPE_##type, 1, y, rows, x, pitch, weight);                              \
    }                                                                                              \
    static void unpack_##type(int o, Level level[PART], Panel *panel, const char *weight) {        \
        unpack(GGUF_TYPE_##type, o, level, panel, weight);                                         \
    }

TILES(blocks, 32, false)
TILES(least, 32, true)
TILES(half_blocks, 16, false)
PARTS(Q8_0)
PARTS(Q4_0)
PARTS(Q4_1)
PARTS(Q5_0)
PARTS(Q5_1)
PARTS(Q4_K)
PARTS(Q5_K)
PARTS(Q6_K)

static const Method methods[] = {
    [GGUF_TYPE_Q8_0] = {four_Q8_0, one_Q8_0, unpack_Q8_0, tall_blocks, single_blocks},
    [GGUF_TYPE_Q4_0] = {four_Q4_0, one_Q4_0, unpack_Q4_0, tall_blocks, single_blocks},
    [GGUF_TYPE_Q5_0] = {four_Q5_0, one_Q5_0, unpack_Q5_0, tall_blocks, single_blocks},
    [GGUF_TYPE_Q4_1] = {four_Q4_1, one_Q4_1, unpack_Q4_1, tall_least, single_least},
    [GGUF_TYPE_Q5_1] = {four_Q5_1, one_Q5_1, unpack_Q5_1, tall_least, single_least},
    [GGUF_TYPE_Q4_K] = {four_Q4_K, one_Q4_K, unpack_Q4_K, tall_least, single_least},
    [GGUF_TYPE_Q5_K] = {four_Q5_K, one_Q5_K, unpack_Q5_K, tall_least, single_least},
    [GGUF_TYPE_Q6_K] = {four_Q6_K, one_Q6_K, unpack_Q6_K, tall_half_blocks, single_half_blocks},
};

/* ------------------------------------------------------------------ all rows, all outputs */

static size_t pitch_of(int in, const Tensor *weight) {
    return (size_t)(in / weight->quant_type->numbers) * (size_t)weight->quant_type->bytes;
}

/* The outputs from `first` on: four rows of the weight at a time meet all rows of x. Threads take
 * less and less at once, as in chapter 12, but no smaller pieces than eight fours: what is asked
 * for ahead shall be one's own. */
static void quantized_gemv(int first, int rows, int in, int out, float y[rows][out],
                           const Part x[][rows], const Tensor *weight) {
    const Method *method = &methods[weight->quant_type->type];
    size_t pitch = pitch_of(in, weight);
    const int rest = first + (out - first) / STREAMS * STREAMS;
#pragma omp parallel for schedule(guided, 8) if ((double)rows * in * (out - first) > 1e6)
    for (int o = first; o < rest; o += STREAMS)
        for (int r = 0; r < rows; r++)
            method->four(&y[r][o], rows, (const void *)&x[0][r], pitch,
                         (const char *)weight->data + o * pitch);
    for (int o = rest; o < out; o++)
        for (int r = 0; r < rows; r++)
            method->one(&y[r][o], rows, (const void *)&x[0][r], pitch,
                        (const char *)weight->data + o * pitch);
}

/* A panel with some rows of x, which fetch the rows of the next on the way. */
static void multiply_panel(const Method *method, int rows, bool more, int out, float y[][out],
                           const Part x[], const Level block[][PART], const Panel *panel, int ahead,
                           const char *next, size_t pitch, int bytes) {
    for (int r = 0; r < rows;) {
        int height = r + TALL <= rows ? TALL : 1;
        for (int o = ahead * r / rows; o < ahead * (r + height) / rows; o++)
            for (int b = 0; b < bytes + LINE; b += LINE) __builtin_prefetch(next + o * pitch + b);
        (height == TALL ? method->tall : method->single)(more, out, y + r, x + r, block + r, panel);
        r += height;
    }
}

/* All outputs that fill panels. The threads share them, and each meets the same for every part of
 * the rows. */
static int quantized_gemm(int rows, int in, int out, float y[rows][out], const Part x[][rows],
                          const Tensor *weight) {
    const Method *method = &methods[weight->quant_type->type];
    const UnpackKind kind = kind_of(weight->quant_type->type);
    int outs = out / OUTS * OUTS, bytes = kind.bytes;
    size_t pitch = pitch_of(in, weight);
#pragma omp parallel if ((double)rows * in * out > 1e6)
    {
        Level(*block)[PART] = xmalloc(CHUNK * sizeof *block);
        Panel panel;
        for (int r = 0; r < rows; r += CHUNK)
            for (int p = 0; p < parts_of(in); p++) {
                int height = min_int(rows - r, CHUNK);
                for (int h = 0; h < height; h++)
                    for (int i = 0; i < PART; i += SIXTEEN) {
                        const int8_t *level = &x[p][r + h].level[place(kind, i)];
                        for (int j = 0; j < SIXTEEN; j++) block[h][i + j] = level[j];
                    }
#pragma omp for schedule(static) nowait
                for (int o = 0; o < outs; o += OUTS) {
                    const char *from = (const char *)weight->data + o * pitch + (size_t)p * bytes;
                    pack(method->unpack, bytes, (int)pitch - p * bytes, &panel, from, pitch);
                    multiply_panel(method, height, p > 0, out, (void *)&y[r][o], &x[p][r], block,
                                   &panel, o + OUTS < outs ? OUTS : 0, from + OUTS * pitch, pitch,
                                   bytes);
                }
            }
        free(block);
    }
    return outs;
}

void project_blocks(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                    const Tensor *weight) {
    const UnpackKind kind = kind_of(weight->quant_type->type);
    int done = 0;
    Part(*parts)[rows] = (void *)quantize(kind, rows, in, x);
    if (rows >= TALL) done = quantized_gemm(rows, in, out, y, parts, weight);
    quantized_gemv(done, rows, in, out, y, parts, weight);
    free(parts);
}
