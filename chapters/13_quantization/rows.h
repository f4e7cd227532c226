/* Chapter 13: a few rows of x times the weight (GEMV), for products.c: as fast as the weights can
 * be read. */
#ifndef ROWS_H
#define ROWS_H

#include "13_quantization/unpack.h"

enum {
    STREAMS =
        4, /* rows of the weight that are read together: a number of x is loaded for all of them */
    LATER = BLOCKS / 2,  /* a block is read with the one so many later */
    SIXTEEN = BLOCK / 2, /* levels that lie together in every format */
    LINE = 64,           /* bytes that come from memory together */
    FAR = 8192,
    NEAR =
        1024, /* bytes of a row that are asked for before they are needed: first, and once more */
    MANY = 16 * PAGE, /* bytes whose pages are looked up together */
};

/* A part of a row of x. Sums of its products with levels begin with what the zero of these levels
 * makes too much: sum (q - zero) x = sum q x - zero sum x. */
typedef struct {
    _Alignas(LINE) int8_t level[PART]; /* where place() says */
    float scale[MOST_SCALES];          /* as many as the weight has */
    float sum[BLOCKS];                 /* of the numbers, as often as minima are added */
    int32_t start[MOST_SCALES];        /* of the sum for each scale */
    _Alignas(LINE) int32_t
        lanes[BLOCKS][8]; /* of sums in lanes: of a block, 16 numbers in four; or of two blocks */
} Part;

/* The place of sixteen quantized values, from i on, in a part of x: in the order in which they
 * are used. In formats of half bytes, blocks b and b + LATER are used together; of two such
 * pairs, first all the first sixteen, then all the last. */
INLINE int place(UnpackKind kind, int i) {
    int b = i / BLOCK, half = i % BLOCK / SIXTEEN;
    return kind.halves ? (b % LATER / 2 * 4 + half * 2 + b % 2) * BLOCK + b / LATER * SIXTEEN : i;
}

/* A part of some rows of the weight, that lie `stride` bytes from each other. */
typedef struct {
    const char *at;
    size_t stride;
} Piece;

/* The headers of Q4_K and Q5_K blocks, read before their scales are unpacked. */
typedef struct {
    Sixes six[STREAMS];
    float d[STREAMS][4];
} Heads;

INLINE void take_heads(int type, int streams, Heads *to, Piece piece) {
    for (int s = 0; s < streams && has_sixes(type); s++) {
        const char *part = piece.at + s * piece.stride;
        widen_first(to->d[s], (const void *)part);
        if (s % 2 == 0) unpack_sixes(&to->six[s], part, streams > 1 ? part + piece.stride : part);
    }
}

/* The scales of the products; and what minima make is added. */
INLINE void scales_of_products(int type, int streams, Eight lanes[], float scale[][MOST_SCALES],
                               const Part *x, Piece piece, const Heads *heads) {
    const UnpackKind kind = kind_of(type);
    UNROLLED
    for (int s = 0; s < streams; s++) {
        float minimum[BLOCKS];
        if (has_sixes(type)) scales_of_k(scale[s], minimum, &heads->six[s], heads->d[s]);
        else scales_of(type, scale[s], minimum, piece.at + s * piece.stride);
        for (int k = 0; k < PART / kind.share; k += 8)
            *(Eight *)&scale[s][k] *= *(const Eight *)&x->scale[k];
        if (kind.minima)
            lanes[s] += *(Eight *)minimum * *(const Eight *)x->sum; /* here a block has a lane */
    }
}

/* Block by block: a scale comes from memory to all lanes at once. In a register it would have to be
 * shuffled there. */
INLINE void add_blocks(int type, int streams, Eight lanes[], const float scale[][MOST_SCALES],
                       const Part *x, Piece piece) {
    const UnpackKind kind = kind_of(type);
    UNROLLED
    for (int b = 0; b < BLOCKS; b++) {
        uint8_t numbers[1][BLOCK];
        load_in_register(numbers[0], &x->level[b * BLOCK]);
        UNROLLED
        for (int s = 0; s < streams; s++) {
            uint8_t levels[1][BLOCK];
            int32_t products[8] = {0};
            const float *k = &scale[s][b * BLOCK / kind.share], *l = k + (kind.share < BLOCK);
            levels_of(type, b, levels[0], piece.at + s * piece.stride);
            if (kind.zero) *(EightWholes *)products = *(const EightWholes *)x->lanes[b];
            add_products(type == GGUF_TYPE_Q8_0, 1, products, levels, numbers);
            lanes[s] += (Eight){*k, *k, *k, *k, *l, *l, *l, *l} *
                        __builtin_convertvector(*(EightWholes *)products, Eight);
        }
    }
}

/* A block and the one four later together, as their levels lie in halves of bytes: so one sum has
 * both, and their scales are in neighbouring halves of a vector, where it costs little to shuffle
 * them. Each step is done for all rows before the next: a processor looks only so far ahead for
 * something that need not wait. */
INLINE void add_twos(int type, int streams, Eight lanes[], const float scale[][MOST_SCALES],
                     const Part *x, Piece piece) {
    const UnpackKind kind = kind_of(type);
    const size_t bytes = (size_t)kind.bytes / BLOCKS;
    UNROLLED
    for (int b = 0; b < LATER; b++) {
        uint8_t numbers[2][BLOCK];
        for (int half = 0; half < 2; half++)
            load_in_register(numbers[half], &x->level[place(kind, b * BLOCK + half * SIXTEEN)]);
        uint8_t levels[STREAMS][2][BLOCK];
        EightWholes products[STREAMS];
        Eight scales[STREAMS];
        UNROLLED
        for (int s = 0; s < streams; s++) {
            const char *block = piece.at + s * piece.stride + b * bytes;
            levels_of_two(type, levels[s], block, block + LATER * bytes);
        }
        UNROLLED
        for (int s = 0; s < streams; s++) {
            products[s] = kind.zero ? *(const EightWholes *)x->lanes[b] : (EightWholes){0};
            add_products(false, 2, (int32_t *)&products[s], levels[s], numbers);
        }
        UNROLLED
        for (int s = 0; s < streams; s++) scales[s] = four_and_four(b, *(const Eight *)scale[s]);
        UNROLLED
        for (int s = 0; s < streams; s++)
            lanes[s] += scales[s] * __builtin_convertvector(products[s], Eight);
    }
}

#if defined VNNI &&                                                                                \
    defined __AVX512VBMI__ /* which takes bytes from two vectors of 64 in any order */
INLINE bool in_fours(int type) { return type == GGUF_TYPE_Q4_0; }

typedef uint8_t ManyBytes __attribute__((vector_size(64), aligned(1), may_alias));
typedef uint16_t ManyTwos __attribute__((vector_size(64), aligned(1), may_alias));

/* From one and the other: 16 bytes that begin at i, and 16 that begin at j; then four times two
 * bytes, of which every ninth is meant (what follows them is nobody's). */
#define EIGHT_AT(i) i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7
#define SIXTEEN_AT(i) EIGHT_AT(i), EIGHT_AT(i + 8)
#define TAKE_LEVELS(i, j, one, other)                                                              \
    __builtin_shufflevector(one, other, SIXTEEN_AT(i), SIXTEEN_AT(64 + i), SIXTEEN_AT(j),          \
                            SIXTEEN_AT(64 + j))
#define TAKE_NINTHS(one, other)                                                                    \
    __builtin_shufflevector((ManyTwos)one, (ManyTwos)other, 0, 9, 18, 27, 32, 41, 50, 59,          \
                            SIXTEEN_AT(0), EIGHT_AT(0))

/* Scales of the blocks k, k + 4, k + 1 and k + 5, each in four lanes. */
#define FOUR_OF(k) k, k, k, k
#define SPREAD(k, scale)                                                                           \
    __builtin_shufflevector(scale, scale, FOUR_OF(k), FOUR_OF(k + 4), FOUR_OF(k + 1),              \
                            FOUR_OF(k + 5))

/* Two of the twos together: of Q4_0, whose blocks are so small that 64 bytes have three of them,
 * and the scale of a fourth. It takes one instruction to bring four blocks' levels together, and
 * one for all scales. */
INLINE void add_fours(int streams, Vector lanes[], const Part *x, Piece piece) {
    ManyBytes numbers[4], levels[STREAMS][2];
    Eight scale[STREAMS];
    UNROLLED
    for (int n = 0; n < 4; n++) {
        numbers[n] = *(const ManyBytes *)&x->level[n * 64];
        IN_REGISTER(numbers[n]);
    }
    UNROLLED
    for (int s = 0; s < streams; s++) {
        const BlockQ4_0 *block = (const void *)(piece.at + s * piece.stride);
        ManyBytes one = *(const ManyBytes *)&block[0], other = *(const ManyBytes *)&block[LATER];
        __m256i last;
        IN_REGISTER(one);
        IN_REGISTER(other);
        side_by_side((uint8_t *)&last, block[3].q, block[7].q);
        levels[s][0] = TAKE_LEVELS(2, 20, one, other);
        levels[s][1] =
            (ManyBytes)_mm512_inserti64x4((__m512i)TAKE_LEVELS(38, 38, one, other), last, 1);
        ManyTwos halves = TAKE_NINTHS(one, other);
        scale[s] = (Eight)_mm256_cvtph_ps(_mm512_castsi512_si128((__m512i)halves)) *
                   *(const Eight *)x->scale;
    }
    UNROLLED
    for (int b = 0; b < LATER; b += 2) UNROLLED
    for (int s = 0; s < streams; s++) {
        ManyBytes four = levels[s][b / 2], low = four & 15,
                  high = (ManyBytes)((ManyTwos)four >> 4) & 15;
        Lanes products = add_step(*(const Lanes *)x->lanes[b], (Lanes)low, (Lanes)numbers[b]);
        products = add_step(products, (Lanes)high, (Lanes)numbers[b + 1]);
        lanes[s] += (b ? SPREAD(2, scale[s]) : SPREAD(0, scale[s])) *
                    __builtin_convertvector(products, Vector);
    }
}
#else
INLINE bool in_fours(int) { return false; }
INLINE void add_fours(int, Vector[], const Part *, Piece) {}
#endif

INLINE float total_of(float lanes[8]) {
    for (int n = 4; n > 0; n /= 2)
        for (int l = 0; l < n; l++) lanes[l] += lanes[l + n];
    return lanes[0];
}

/* Copies the last part of a row, padded with zeros: nothing beyond the row is read. */
INLINE const char *whole_part(char rest[MOST_BYTES], int bytes, int left, const char *weight) {
    if (left >= bytes) return weight;
    memset(rest, 0, MOST_BYTES);
    return memcpy(rest, weight, (size_t)left);
}

/* Bytes are asked for early, into the second-level cache, and again shortly before they are needed:
 * memory does not always come when it is asked for once. */
INLINE void prefetch(int rows, size_t bytes, size_t pitch, const char *far, const char *near) {
    UNROLLED
    for (int r = 0; r < rows; r++) UNROLLED
    for (size_t b = 0; b < bytes; b += LINE) __builtin_prefetch(far + r * pitch + b, 0, 2);
    UNROLLED
    for (int r = 0; r < rows; r++) UNROLLED
    for (size_t b = 0; b < bytes; b += LINE) __builtin_prefetch(near + r * pitch + b, 0, 3);
}

/* The prefetch distance: whole rows of each stream, and bytes of one more. */
typedef struct {
    size_t rows, bytes;
} PrefetchPlan;

/* The address that the first stream will read then. After the end of its row, this lies past the
 * rows of all streams. */
INLINE const char *place_ahead(PrefetchPlan ahead, size_t at, int streams, size_t pitch,
                               const char *weight) {
    at += ahead.bytes;
    return weight + ahead.rows * (size_t)streams * pitch + at +
           (at < pitch ? 0 : (size_t)(streams - 1) * pitch);
}

/* A TLB miss takes longer than the computation that could hide it, but several misses can
 * overlap: whenever these bytes reach a multiple of MANY, the pages of the next MANY bytes are
 * touched. */
INLINE void tlb_prefetch_next(const char *weight, size_t bytes) {
    const uintptr_t from = (uintptr_t)weight, border = (from + bytes) / MANY * MANY;
    if (border > from) tlb_prefetch(MANY, weight + (border - from) + STREAMS * FAR + PAGE);
}

/* y[s] = w_s . x. While a part is multiplied, the next one's scales are made, and the heads of the
 * one after it are taken apart: each takes long, but nobody waits. */
INLINE void dot_products(int type, int streams, float y[streams], int rows, const Part x[][rows],
                         size_t pitch, const char *weight) {
    const size_t bytes = (size_t)kind_of(type).bytes, whole = pitch / bytes,
                 parts = (pitch + bytes - 1) / bytes;
    char rest[STREAMS][MOST_BYTES];
    const Piece last = {rest[0], sizeof rest[0]};
    Piece piece = {weight, pitch}, next = piece;
    Heads heads[2];
    float scale[2][STREAMS][MOST_SCALES];
    Eight lanes[STREAMS] = {0};
    Vector many[STREAMS] = {0};
    const PrefetchPlan far = {FAR / pitch, FAR % pitch}, near = {NEAR / pitch, NEAR % pitch};
    tlb_prefetch_next(weight, streams * pitch);
    for (int s = 0; s < streams && whole < parts; s++)
        whole_part(rest[s], (int)bytes, (int)(pitch - whole * bytes),
                   weight + s * pitch + whole * bytes);
    take_heads(type, streams, &heads[0], whole ? next : last);
    for (size_t p = 0; p <= parts; p++, piece = next, next.at += bytes) {
        if (p == whole) next = last;
        if (type == GGUF_TYPE_Q8_0) /* which waits for memory; the others take longer, and are asked
                                       for as they lie */
            prefetch(streams, bytes, pitch, place_ahead(far, p * bytes, streams, pitch, weight),
                     place_ahead(near, p * bytes, streams, pitch, weight));
        else
            prefetch(1, streams * bytes, 0, weight + streams * (p * bytes + FAR),
                     weight + streams * (p * bytes + NEAR));
        if (p < parts && !in_fours(type))
            scales_of_products(type, streams, lanes, scale[p % 2], x[p], next, &heads[p % 2]);
        if (p + 1 < parts)
            take_heads(type, streams, &heads[(p + 1) % 2],
                       p + 1 == whole ? last : (Piece){weight + (p + 1) * bytes, pitch});
        if (p > 0 && in_fours(type)) add_fours(streams, many, x[p - 1], piece);
        else if (p > 0)
            (kind_of(type).halves ? add_twos : add_blocks)(type, streams, lanes, scale[(p - 1) % 2],
                                                           x[p - 1], piece);
    }
    for (int s = 0; s < streams; s++) y[s] = total_of((float *)&lanes[s]) + total(many[s]);
}

#endif
