/* fast_flash_attention_lse() and fast_flash_attention_backward(): in float32, and in tiles.
 *
 * KEYS keys meet WIDE queries of one head. All that comes of it are small products, with two
 * vectors of queries or of a row's numbers in each register:
 *
 *     score[s][t] = k_s . q_t                  p = e^(score - log_sum[t])
 *     dp[s][t] = v_s . dout_t                  dscore = p (dp - common[t])
 *     dv_s += sum over t of p[s][t] dout_t     dk_s += sum over t of dscore[s][t] q_t
 *     dq_t += sum over s of dscore[s][t] k_s
 *
 * q is divided by sqrt(D) once, when it is copied; so dk is right as it is, and dq is divided at
 * the end. */
#include "12_speed/exponential.h"
#include "12_speed/flash_attention.h"
#include "17_training/fast_training_kernels.h"
#include "common/error.h"
#include "common/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDE = 2 * LANES,     /* queries of a tile, and numbers of a row that are summed at once */
    KEYS = 32,            /* keys of a tile */
    ROWS = REGISTERS / 4, /* rows of a product: ROWS x 2 sums take half of the registers */
    SETS = 256 / WIDE,    /* of queries that share a tile of keys on the way forward */
};

void fast_flash_attention_lse(int T, int H, int KV, int D, float out[restrict T][H][D],
                              float lse[restrict T][H], const float q[T][H][D],
                              const float k[T][KV][D], const float v[T][KV][D]) {
    flash_prefill(SETS, T, T, H, KV, D, out, &lse[0][0], q, k, v);
}

/* ------------------------------------------------------------------ small products */

/* Numbers that are read one by one: number i of row r is first[r * row + i * step]. */
typedef struct {
    const float *first;
    size_t row, step;
} Singles;

/* to[r] (+)= sum over i < count of x(r, i) w[i], of two vectors in each row of w. The rows of w lie
 * `pitch` numbers from each other, those of `to` lie `apart`. */
INLINE void multiply(int rows, int count, bool add, float *to, size_t apart, Singles x,
                     const float *w, size_t pitch) {
    for (int r = 0; r < rows; r += ROWS) {
        Vector sum[ROWS][2];
        UNROLLED
        for (int n = 0; n < ROWS; n++) sum[n][0] = sum[n][1] = (Vector){0};
        for (int i = 0; i < count; i++) {
            const float *number = x.first + r * x.row + i * x.step;
            Vector first = *(const Vector *)(w + i * pitch),
                   second = *(const Vector *)(w + i * pitch + LANES);
            UNROLLED
            for (int n = 0; n < ROWS; n++) {
                sum[n][0] += number[n * x.row] * first;
                sum[n][1] += number[n * x.row] * second;
            }
        }
        UNROLLED
        for (int n = 0; n < ROWS; n++) {
            Vector *at = (Vector *)(to + (r + n) * apart);
            if (add) {
                sum[n][0] += at[0];
                sum[n][1] += at[1];
            }
            at[0] = sum[n][0];
            at[1] = sum[n][1];
        }
    }
}

/* ------------------------------------------------------------------ one head's queries */

/* The queries of one head, WIDE at a time, filled up with zeros: those have no gradient to pass on.
 * Rows are padded to `width` numbers, and what is turned has a row for each of these. */
typedef struct {
    int T, D, width, sets;
    float *q, *dout;                           /* [sets][WIDE][width]; q / sqrt(D) */
    float *q_turned, *dout_turned, *dq_turned; /* [sets][width][WIDE] */
    float *lse, *common; /* [sets][WIDE]; the sum of p dp over all keys is out . dout */
} Head;

static Head head_new(int T, int D) {
    int width = (D + WIDE - 1) / WIDE * WIDE, sets = (T + WIDE - 1) / WIDE;
    size_t rows = (size_t)sets * WIDE, numbers = rows * (size_t)width;
    float *room = xmalloc((5 * numbers + 2 * rows) * sizeof *room);
    return (Head){T,
                  D,
                  width,
                  sets,
                  room,
                  room + numbers,
                  room + 2 * numbers,
                  room + 3 * numbers,
                  room + 4 * numbers,
                  room + 5 * numbers,
                  room + 5 * numbers + rows};
}

/* out . dout of WIDE queries, added up as multiply() adds up dp: where all values that a query sees
 * are alike, out is that value, and dp - common is 0 and not what two ways to round leave. Adam
 * would make whole steps of that. */
static void find_common(int T, int H, int h, int first, int width, int D, float common[WIDE],
                        const float out[T][H][D], const float dout_turned[width][WIDE]) {
    float rows[WIDE][width] __attribute__((aligned(64))),
        turned[width][WIDE] __attribute__((aligned(64)));
    memset(rows, 0, sizeof rows);
    for (int t = 0; t < min_int(WIDE, T - first); t++)
        memcpy(rows[t], out[first + t][h], sizeof **out);
    transpose(WIDE, width, turned, (const void *)rows);
    Vector sum[2] = {0};
    for (int i = 0; i < width; i++)
        for (int n = 0; n < 2; n++)
            sum[n] += *(const Vector *)&turned[i][n * LANES] *
                      *(const Vector *)&dout_turned[i][n * LANES];
    memcpy(common, sum, sizeof sum);
}

static void head_fill(Head *head, int H, int h, const float q[head->T][H][head->D],
                      const float dout[head->T][H][head->D], const float out[head->T][H][head->D],
                      const float lse[head->T][H]) {
    int D = head->D, width = head->width, rows = head->sets * WIDE;
    float (*to_q)[width] = (void *)head->q, (*to_dout)[width] = (void *)head->dout,
          scale = (float)(1 / sqrt(D));
    float (*q_turned)[width][WIDE] = (void *)head->q_turned,
          (*dout_turned)[width][WIDE] = (void *)head->dout_turned;
    memset(to_q, 0, (size_t)rows * sizeof *to_q);
    memset(to_dout, 0, (size_t)rows * sizeof *to_dout);
    memset(head->dq_turned, 0, (size_t)rows * sizeof *to_q);
    for (int t = 0; t < rows; t++) {
        bool there = t < head->T;
        for (int i = 0; i < D && there; i++) to_q[t][i] = q[t][h][i] * scale;
        if (there) memcpy(to_dout[t], dout[t][h], sizeof dout[t][h]);
        head->lse[t] = there ? lse[t][h] : 0;
    }
    for (int n = 0; n < head->sets; n++) {
        transpose(WIDE, width, q_turned[n], (const void *)to_q[n * WIDE]);
        transpose(WIDE, width, dout_turned[n], (const void *)to_dout[n * WIDE]);
        find_common(head->T, H, h, n * WIDE, width, D, head->common + n * WIDE, out,
                    (const void *)dout_turned[n]);
    }
}

/* Adds what has come together for the queries to dq. Their own copies have had their use, and make
 * room. */
static void head_empty(Head *head, int H, int h, float dq[restrict head->T][H][head->D]) {
    int width = head->width;
    float (*rows)[width] = (void *)head->q, (*turned)[width][WIDE] = (void *)head->dq_turned;
    float scale = (float)(1 / sqrt(head->D));
    for (int n = 0; n < head->sets; n++)
        transpose(width, WIDE, (void *)rows[n * WIDE], (const void *)turned[n]);
    for (int t = 0; t < head->T; t++)
        for (int i = 0; i < head->D; i++) dq[t][h][i] += rows[t][i] * scale;
}

/* ------------------------------------------------------------------ a tile of keys */

/* KEYS keys and values from position `first` on, filled up with zeros, and what is summed up for
 * them. */
typedef struct {
    int first;
    float *k, *v, *dk, *dv; /* [KEYS][width] */
} Tile;

static Tile tile_new(int width) {
    size_t numbers = (size_t)KEYS * (size_t)width;
    float *room = xmalloc(4 * numbers * sizeof *room);
    return (Tile){0, room, room + numbers, room + 2 * numbers, room + 3 * numbers};
}

static void tile_fill(Tile *tile, int first, int T, int KV, int D, int g, int width,
                      const float k[T][KV][D], const float v[T][KV][D]) {
    float (*to_k)[width] = (void *)tile->k, (*to_v)[width] = (void *)tile->v;
    memset(tile->k, 0, 4 * KEYS * sizeof *to_k);
    tile->first = first;
    for (int s = 0; s < min_int(KEYS, T - first); s++) {
        memcpy(to_k[s], k[first + s][g], sizeof k[first + s][g]);
        memcpy(to_v[s], v[first + s][g], sizeof v[first + s][g]);
    }
}

static void tile_empty(const Tile *tile, int T, int KV, int D, int g, int width,
                       float dk[restrict T][KV][D], float dv[restrict T][KV][D]) {
    const float (*from_k)[width] = (void *)tile->dk, (*from_v)[width] = (void *)tile->dv;
    for (int s = 0; s < min_int(KEYS, T - tile->first); s++)
        for (int i = 0; i < D; i++) {
            dk[tile->first + s][g][i] += from_k[s][i];
            dv[tile->first + s][g][i] += from_v[s][i];
        }
}

/* Turns scores into weights p, and dp into dscore. A query does not attend to the keys after it. */
static void weights_backward(int s0, int t0, float p[KEYS][WIDE], float dp[KEYS][WIDE],
                             const float lse[WIDE], const float common[WIDE]) {
    for (int s = 0; s < KEYS; s++) {
        for (int t = 0; t < WIDE && s0 + s > t0 + t; t++) p[s][t] = -INFINITY;
        for (int t = 0; t < WIDE; t += LANES) {
            Vector *weight = (Vector *)&p[s][t], *slope = (Vector *)&dp[s][t];
            *weight = exp_negative(*weight - *(const Vector *)&lse[t]);
            *slope = *weight * (*slope - *(const Vector *)&common[t]);
        }
    }
}

/* Set n of the head's queries with the tile. */
static void meet(const Head *head, int n, const Tile *tile) {
    int D = head->width;
    size_t width = (size_t)D, first = (size_t)n * WIDE, set = first * width;
    float p[KEYS][WIDE] __attribute__((aligned(64))),
        dscore[KEYS][WIDE] __attribute__((aligned(64)));
    multiply(KEYS, D, false, p[0], WIDE, (Singles){tile->k, width, 1}, head->q_turned + set, WIDE);
    multiply(KEYS, D, false, dscore[0], WIDE, (Singles){tile->v, width, 1}, head->dout_turned + set,
             WIDE);
    weights_backward(tile->first, n * WIDE, p, dscore, head->lse + first, head->common + first);
    for (size_t i = 0; i < width; i += WIDE) {
        multiply(KEYS, WIDE, true, tile->dv + i, width, (Singles){p[0], WIDE, 1},
                 head->dout + set + i, width);
        multiply(KEYS, WIDE, true, tile->dk + i, width, (Singles){dscore[0], WIDE, 1},
                 head->q + set + i, width);
    }
    multiply(D, KEYS, true, head->dq_turned + set, WIDE, (Singles){tile->k, 1, width}, dscore[0],
             WIDE);
}

/* ------------------------------------------------------------------ all heads */

/* The query heads that read key/value head g, one after the other. */
static void group_backward(int T, int H, int KV, int D, int g, Head *head, Tile *tile,
                           float dq[restrict T][H][D], float dk[restrict T][KV][D],
                           float dv[restrict T][KV][D], const float dout[T][H][D],
                           const float q[T][H][D], const float k[T][KV][D], const float v[T][KV][D],
                           const float out[T][H][D], const float lse[T][H]) {
    for (int h = g * (H / KV); h < (g + 1) * (H / KV); h++) {
        head_fill(head, H, h, q, dout, out, lse);
        for (int s = 0; s < T; s += KEYS) {
            tile_fill(tile, s, T, KV, D, g, head->width, k, v);
            for (int n = s / WIDE; n < head->sets; n++) meet(head, n, tile);
            tile_empty(tile, T, KV, D, g, head->width, dk, dv);
        }
        head_empty(head, H, h, dq);
    }
}

void fast_flash_attention_backward(int T, int H, int KV, int D, float dq[restrict T][H][D],
                                   float dk[restrict T][KV][D], float dv[restrict T][KV][D],
                                   const float dout[T][H][D], const float q[T][H][D],
                                   const float k[T][KV][D], const float v[T][KV][D],
                                   const float out[T][H][D], const float lse[T][H]) {
    if (T < 1) fail("attention: %d positions: give at least one", T);
    if (KV < 1 || H % KV)
        fail("attention: %d query heads cannot share %d key/value heads evenly", H, KV);
#pragma omp parallel
    {
        Head head = head_new(T, D);
        Tile tile = tile_new(head.width);
#pragma omp for
        for (int g = 0; g < KV; g++)
            group_backward(T, H, KV, D, g, &head, &tile, dq, dk, dv, dout, q, k, v, out, lse);
        free(head.q);
        free(tile.k);
    }
}
