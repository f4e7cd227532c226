#include "12_speed/flash_attention.h"
#include "08_flash_attention/flash_attention.h"
#include "12_speed/vector.h"
#include "common/error.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SET = 4,              /* queries of one key/value head that are worked on side by side */
    STEP = REGISTERS / 8, /* keys that meet them at once: STEP x SET sums take half of the registers */
    KEYS = 2 * LANES,     /* keys of a tile */
    TEAM = 32,            /* sets that share a tile while it is in the cache */
    FEW = 16,             /* queries of a head that are few */
};

/* The problem, and the width that rows are padded to. */
typedef struct {
    int T, S, H, KV, D, width;
    const float *q, *k, *v;
} Problem;

/* What a set carries from tile to tile: chapter 8's m, l and O of each query. A query here is one (position, head) pair: the
 * heads of a group, and then those of the next position, read the same keys. */
typedef struct {
    int g, first, count;          /* their key/value head; queries first … first + count - 1 of it */
    int last[SET];                /* the last key that each may see */
    float max[SET];
    Vector sum[SET]; /* to be added up across the lanes */
    float *q, *out;  /* [SET][width]: the queries divided by sqrt(D); the sums of e^(score - max) v */
} Set;

/* Rows of keys or values, with the numbers of other heads perhaps between them. */
typedef struct {
    const float *first;
    size_t pitch, ahead; /* numbers from row to row, and to the tile that will be read next */
} Rows;

/* KEYS keys and values. */
typedef struct {
    bool turned; /* row i of k has number i of each key */
    Rows k, v;
} Tile;

/* ------------------------------------------------------------------ four queries and a tile, in vectors */

/* e^x in each lane, for x <= 0, to 1.5 ulp, and 0 below e^-87: e^x = 2^n e^r with n whole and |r| <= ln(2)/2, where eight
 * terms of the series are enough. */
INLINE Vector exp_negative(Vector x) {
    const float large = 0x1.8p23f + 127; /* so large that a sum with it is rounded to a whole number */
    Words tiny = (Words)(x < -87);
    Vector shifted = blend(tiny, (Vector){0} - 87, x) * 1.44269504f + large; /* the last bits are n + 127 */
    Vector n = shifted - large;
    Vector r = (x - n * 0x1.62e4p-1f) - n * 1.42860682e-6f; /* x - n ln 2, with ln 2 in two parts */
    Vector series = 1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)));
    series = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * series)));
    Vector power = (Vector)((Words)shifted << 23); /* n + 127 in the place of the exponent is 2^n */
    return (Vector)(~tiny & (Words)(series * power));
}

/* out[r] = shrink[r] out[r] + sum over i of x[r][i] w_i, or the sum alone, two vectors of each row w_i at a time. Chapter 12's tile:
 * eight sums in registers, each number of x meets two vectors and each vector four rows of x. */
INLINE void multiply(bool more, int count, int pitch, float out[SET][pitch], const float shrink[SET], const float x[SET][count],
                     Rows w, int columns) {
    for (int c = 0; c < columns; c += 2 * LANES) {
        Vector sum[SET][2];
#pragma GCC unroll 4
        for (int r = 0; r < SET; r++) sum[r][0] = sum[r][1] = (Vector){0};
        for (int i = 0; i < count; i++) {
            const float *from = &w.first[i * w.pitch + c];
            Vector first = *(const Vector *)from, second = *(const Vector *)&from[LANES];
            __builtin_prefetch(from + w.ahead, 0, 2);
#pragma GCC unroll 4
            for (int r = 0; r < SET; r++) sum[r][0] += x[r][i] * first, sum[r][1] += x[r][i] * second;
        }
#pragma GCC unroll 4
        for (int r = 0; r < SET; r++) {
            Vector *to = (Vector *)&out[r][c];
            if (more) sum[r][0] += to[0] * shrink[r], sum[r][1] += to[1] * shrink[r];
            to[0] = sum[r][0], to[1] = sum[r][1];
        }
    }
}

/* score[r][s] = q_r . k_s for STEP keys as they lie in memory: lanes run along the width, and are added up at the end. */
INLINE void dot_keys(int width, float score[][KEYS], const float q[SET][width], Rows k) {
    Vector sum[SET * STEP];
#pragma GCC unroll 16
    for (int n = 0; n < SET * STEP; n++) sum[n] = (Vector){0};
    for (int i = 0; i < width; i += LANES)
#pragma GCC unroll 4
        for (int s = 0; s < STEP; s++) {
            const float *from = &k.first[s * k.pitch + i];
            Vector key = *(const Vector *)from;
            __builtin_prefetch(from + k.ahead, 0, 2);
#pragma GCC unroll 4
            for (int r = 0; r < SET; r++) sum[r * STEP + s] += *(const Vector *)&q[r][i] * key;
        }
    float sums[SET][STEP];
#pragma GCC unroll 4
    for (int n = 0; n < SET * STEP; n += LANES) *(Vector *)&sums[n / STEP][0] = totals(&sum[n]);
#pragma GCC unroll 4
    for (int r = 0; r < SET; r++) memcpy(score[r], sums[r], sizeof sums[r]);
}

/* -infinity, where a query may not see a key, or there is none. */
static void mask(float score[SET][KEYS], int s0, const int last[SET]) {
    for (int r = 0; r < SET; r++)
        for (int s = 0; s < KEYS; s++)
            if (s0 + s > last[r]) score[r][s] = -INFINITY;
}

/* The online softmax: turns scores into weights e^(score - max) under the new maximum, and says by which factor everything
 * summed under the old one must shrink. */
static void online_softmax(float score[SET][KEYS], float max[SET], Vector sum[SET], float shrink[SET]) {
    Vector fallen = {0};
#pragma GCC unroll 4
    for (int r = 0; r < SET; r++) {
        Vector most = (Vector){0} + max[r];
        for (int s = 0; s < KEYS; s += LANES) {
            Vector some = *(const Vector *)&score[r][s];
            most = blend((Words)(some > most), some, most);
        }
        float now = largest(most);
        fallen[r] = max[r] - now, max[r] = now;
    }
    *(Vector *)shrink = exp_negative(fallen);
#pragma GCC unroll 4
    for (int r = 0; r < SET; r++) {
        Vector tile = {0}; /* summed apart: the running sum of a long text is too large to add single weights to */
        for (int s = 0; s < KEYS; s += LANES) {
            Vector weight = exp_negative(*(const Vector *)&score[r][s] - max[r]);
            *(Vector *)&score[r][s] = weight, tile += weight;
        }
        sum[r] = sum[r] * shrink[r] + tile;
    }
}

/* Chapter 8's attend_tile for a set: the tile begins with key s0. */
static void attend_tile_of_set(Set *set, int s0, int width, const Tile *tile) {
    float score[SET][KEYS], shrink[LANES];
    if (tile->turned) multiply(false, width, KEYS, score, NULL, (const void *)set->q, tile->k, KEYS);
    else
        for (int s = 0; s < KEYS; s += STEP) {
            Rows k = {&tile->k.first[s * tile->k.pitch], tile->k.pitch, tile->k.ahead};
            dot_keys(width, (void *)&score[0][s], (const void *)set->q, k);
        }
    if (s0 + KEYS - 1 > set->last[0]) mask(score, s0, set->last);
    online_softmax(score, set->max, set->sum, shrink);
    multiply(true, KEYS, width, (void *)set->out, shrink, score, tile->v, width);
}

/* ------------------------------------------------------------------ the tiles of a text */

/* Room for a tile of its own. */
typedef struct {
    float *k, *v;  /* [KEYS][width] */
    float *turned; /* [width][KEYS] */
} Copy;

static Copy copy_new(const Problem *p) {
    size_t numbers = (size_t)KEYS * p->width;
    float *room = allocate(3 * numbers * sizeof *room);
    return (Copy){room, room + numbers, room + 2 * numbers};
}

/* The rows side by side: in their places, a power of two apart, they would drive each other out of the cache. Where the text
 * or the width ends there are zeros. */
static Tile copied_tile(int g, int s0, int end, const Problem *p, Copy copy) {
    int D = p->D, KV = p->KV, width = p->width;
    const float(*k)[KV][D] = (const void *)p->k, (*v)[KV][D] = (const void *)p->v;
    float(*to_k)[width] = (void *)copy.k, (*to_v)[width] = (void *)copy.v;
    memset(to_k, 0, KEYS * sizeof *to_k), memset(to_v, 0, KEYS * sizeof *to_v);
    for (int s = 0; s < KEYS && s0 + s < end; s++) {
        memcpy(to_k[s], k[s0 + s][g], sizeof k[s0 + s][g]);
        memcpy(to_v[s], v[s0 + s][g], sizeof v[s0 + s][g]);
    }
    return (Tile){false, {copy.k, (size_t)width, 0}, {copy.v, (size_t)width, 0}};
}

/* For many queries the keys are turned as well: then no sum runs across lanes. */
static Tile turned_tile(int g, int s0, int end, const Problem *p, Copy copy) {
    Tile tile = copied_tile(g, s0, end, p, copy);
    float(*turned)[KEYS] = (void *)copy.turned;
    for (int s = 0; s < KEYS; s += LANES)
        for (int i = 0; i < p->width; i += LANES) {
            Vector square[LANES];
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++) square[l] = *(const Vector *)&copy.k[(s + l) * p->width + i];
            turn(square);
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++) *(Vector *)&turned[i + l][s] = square[l];
        }
    return (Tile){true, {copy.turned, KEYS, 0}, tile.v};
}

/* For few queries a copy does not pay: they read a whole tile where it lies, and meanwhile ask for the next head's. */
static Tile tile_in_place(int g, int s0, int end, const Problem *p, Copy copy) {
    size_t D = (size_t)p->D, pitch = p->KV * D, at = s0 * pitch + g * D;
    if (s0 + KEYS > end || p->width != p->D) return copied_tile(g, s0, end, p, copy);
    size_t ahead = g + 1 < p->KV ? D : KEYS * pitch - g * D;
    return (Tile){false, {p->k + at, pitch, ahead}, {p->v + at, pitch, ahead}};
}

/* ------------------------------------------------------------------ in and out of the sets */

static size_t set_numbers(const Problem *p) { return (size_t)2 * SET * p->width; }

/* Queries first, first + 1, … of head g, in room for set_numbers(). What is left of the set is zeros, which see no key. */
static Set gather(int g, int first, const Problem *p, float *room) {
    int H = p->H, D = p->D, width = p->width, group = H / p->KV, left = p->T * group - first;
    const float(*q)[H][D] = (const void *)p->q;
    float(*to)[width] = (void *)room, scale = (float)(1 / sqrt(D));
    Set set = {.g = g, .first = first, .count = left < SET ? left : SET, .q = room, .out = room + (size_t)SET * width};
    memset(room, 0, set_numbers(p) * sizeof *room);
    for (int r = 0; r < SET; r++) set.max[r] = -FLT_MAX; /* no score is less; not -infinity, whose difference to itself is NaN */
    for (int r = 0; r < SET; r++) {
        int t = (first + r) / group, h = g * group + (first + r) % group;
        set.last[r] = r < set.count ? p->S - p->T + t : set.last[r - 1];
        for (int i = 0; i < D && r < set.count; i++) to[r][i] = q[t][h][i] * scale;
    }
    return set;
}

static void scatter(const Set *set, const Problem *p, float *out_) {
    int H = p->H, D = p->D, width = p->width, group = H / p->KV;
    float(*out)[H][D] = (void *)out_;
    const float(*from)[width] = (const void *)set->out;
    for (int r = 0; r < set->count; r++) {
        int t = (set->first + r) / group, h = set->g * group + (set->first + r) % group;
        float sum = total(set->sum[r]);
        for (int i = 0; i < D; i++) out[t][h][i] = from[r][i] / sum;
    }
}

/* Chapter 8's merge: what two sets of the same queries saw of different keys. */
static void merge_sets(Set *into, const Set *from, int width) {
    float(*to)[width] = (void *)into->out;
    const float(*more)[width] = (const void *)from->out;
    for (int r = 0; r < SET; r++) {
        float max = fmaxf(into->max[r], from->max[r]);
        Vector fallen = {into->max[r] - max, from->max[r] - max}, factor = exp_negative(fallen);
        into->max[r] = max, into->sum[r] = factor[0] * into->sum[r] + factor[1] * from->sum[r];
        for (int i = 0; i < width; i++) to[r][i] = factor[0] * to[r][i] + factor[1] * more[r][i];
    }
}

static Problem problem(int T, int S, int H, int KV, int D, const float *q, const float *k, const float *v) {
    if (T < 1 || T > S) fail("flash attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV) fail("flash attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    int two = 2 * LANES;
    return (Problem){T, S, H, KV, D, (D + two - 1) / two * two, q, k, v};
}

/* ------------------------------------------------------------------ many queries: teams */

/* Shows a team of one head all keys that its last query may see. */
static void attend_team(int count, Set team[count], const Problem *p, Copy copy) {
    int end = team[count - 1].last[SET - 1] + 1;
    for (int s0 = 0; s0 < end; s0 += KEYS) {
        Tile tile = turned_tile(team->g, s0, end, p, copy);
        for (Set *set = team; set < team + count; set++)
            if (s0 <= set->last[SET - 1]) attend_tile_of_set(set, s0, p->width, &tile);
    }
}

void team_attention(int sets, int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                    const float k[S][KV][D], const float v[S][KV][D]) {
    const Problem p = problem(T, S, H, KV, D, &q[0][0][0], &k[0][0][0], &v[0][0][0]);
    int queries = T * (H / KV), teams = (queries + sets * SET - 1) / (sets * SET);
#pragma omp parallel
    {
        float *room = allocate(sets * set_numbers(&p) * sizeof *room);
        Set *team = allocate((size_t)sets * sizeof *team);
        Copy copy = copy_new(&p);
#pragma omp for collapse(2) schedule(dynamic)
        for (int n = teams - 1; n >= 0; n--) /* the last teams have the most keys to read: they go first */
            for (int g = 0; g < KV; g++) {
                int count = 0;
                for (int first = n * sets * SET; first < queries && count < sets; first += SET, count++)
                    team[count] = gather(g, first, &p, room + (size_t)count * set_numbers(&p));
                attend_team(count, team, &p, copy);
                for (int i = 0; i < count; i++) scatter(&team[i], &p, &out[0][0][0]);
            }
        free(room), free(team), free(copy.k);
    }
}

/* ------------------------------------------------------------------ few queries: the keys are split */

/* Shows sets of all heads the keys begin … end - 1, which they read as they lie in memory. */
static void attend_part(int each, Set sets[][each], int begin, int end, const Problem *p) {
    Copy copy = copy_new(p);
    for (int s0 = begin; s0 < end; s0 += KEYS)
        for (int g = 0; g < p->KV; g++) {
            Tile tile = tile_in_place(g, s0, end, p, copy);
            for (int n = 0; n < each; n++) {
                attend_tile_of_set(&sets[g][n], s0, p->width, &tile);
                tile.k.ahead = tile.v.ahead = 0; /* the first set has asked */
            }
        }
    free(copy.k);
}

void split_attention(int parts, int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                     const float k[S][KV][D], const float v[S][KV][D]) {
    const Problem p = problem(T, S, H, KV, D, &q[0][0][0], &k[0][0][0], &v[0][0][0]);
    int tiles = (S + KEYS - 1) / KEYS, each = (T * (H / KV) + SET - 1) / SET, count = each * KV;
    float *room = allocate((size_t)parts * count * set_numbers(&p) * sizeof *room);
    Set(*sets)[count] = allocate((size_t)parts * sizeof *sets);
#pragma omp parallel for
    for (int part = 0; part < parts; part++) {
        long first = (long)tiles * part / parts * KEYS, end = (long)tiles * (part + 1) / parts * KEYS;
        for (int n = 0; n < count; n++)
            sets[part][n] = gather(n / each, n % each * SET, &p, room + ((size_t)part * count + n) * set_numbers(&p));
        attend_part(each, (void *)sets[part], (int)first, (int)(end < S ? end : S), &p);
    }
    for (int n = 0; n < count; n++) {
        for (int part = 1; part < parts; part++) merge_sets(&sets[0][n], &sets[part][n], p.width);
        scatter(&sets[0][n], &p, &out[0][0][0]);
    }
    free(sets), free(room);
}

/* How many parts there are depends on the text alone: so does the order of the sums, and the answer is the same whatever the
 * number of threads. The room grows with the text to S = 1920, and then stays. */
void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                     const float k[S][KV][D], const float v[S][KV][D]) {
    int parts = S / 128 + 1;
    bool few = KV > 0 && T * (H / KV) <= FEW;
    if (few) split_attention(parts < 16 ? parts : 16, T, S, H, KV, D, out, q, k, v);
    else team_attention(TEAM, T, S, H, KV, D, out, q, k, v);
}
