#include "08_flash_attention/flash_attention.h"
#include "common/error.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FlashAttention with its queries side by side. Chapter 8's reference explains it, from the lanes to the threads.
 *
 * LANES queries are worked on side by side, one in each lane of a vector register. A query here is one (position,
 * head) pair: the heads of a group and neighbouring positions lie in one set, so that one pass over K and V serves
 * them all. */
#ifdef __AVX512F__
enum { LANES = 16 };
#else
enum { LANES = 8 };
#endif
enum { TEAM = 128 / LANES }; /* sets of queries that share a tile while it is in the cache */
enum { KEYS = 16 };          /* keys a tile; with 64, decode runs at less than half the speed */

typedef float Vector __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* The problem, and the width that rows of values are padded to. */
typedef struct {
    int T, S, H, KV, D, width;
    const float *q, *k, *v;
} Problem;

/* What a set of queries of one key/value head carries from tile to tile: chapter 8's m, l and O for each. */
typedef struct {
    int g, first;                 /* their head; the first is query first % group of position first / group */
    int lanes;                    /* how many are in use */
    int last[LANES];              /* the last key that each may see */
    float max[LANES], sum[LANES]; /* of the scores so far, and of e^(score - max) */
    float *q;                     /* [D][LANES]: query l is column l, already divided by sqrt(D) */
    float *out;                   /* [LANES][width]: the sum of e^(score - max) v */
} Queries;

/* e^x for x <= 0, to 1.5 ulp, and 0 below e^-87: e^x = 2^n e^r with n whole and |r| <= ln(2)/2, where eight terms
 * of the series are enough. Plain arithmetic, so that the compiler can do LANES at once, which expf does not allow. */
static inline float exp_negative(float x) {
    const float large = 0x1.8p23f + 127; /* so large that a sum with it is rounded to a whole number */
    union {
        float value;
        uint32_t bits;
    } power = {(x < -87 ? -87 : x) * 1.44269504f + large}; /* the last bits are n + 127 */
    float n = power.value - large;
    float r = (x - n * 0x1.62e4p-1f) - n * 1.42860682e-6f; /* x - n ln 2, with ln 2 in two parts */
    float series = 1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)));
    series = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * series)));
    power.bits <<= 23; /* n + 127 in the place of the exponent is 2^n */
    return x < -87 ? 0 : series * power.value;
}

/* scores[s][l] = q_l . k_s for 8 keys: each number of a key meets one vector of queries. */
static void eight_scores(int D, float scores[8][LANES], const float q[D][LANES], const float *key[8]) {
    Vector sum[8] = {0};
    for (int i = 0; i < D; i++) {
        Vector query = *(const Vector *)q[i];
#pragma GCC unroll 8
        for (int s = 0; s < 8; s++) sum[s] += query * key[s][i];
    }
#pragma GCC unroll 8
    for (int s = 0; s < 8; s++) *(Vector *)scores[s] = sum[s];
}

/* The online softmax: turns a tile of scores into weights e^(score - max) under the new maximum, and says by which
 * factor everything summed under the old one must shrink. */
static void online_softmax(int count, float scores[count][LANES], float max[LANES], float sum[LANES],
                           float shrink[LANES]) {
    float tile[LANES] = {0}; /* summed apart: the running sum of a long text is too large to add single weights to */
    for (int l = 0; l < LANES; l++) shrink[l] = max[l];
    for (int s = 0; s < count; s++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) max[l] = scores[s][l] > max[l] ? scores[s][l] : max[l];
    for (int s = 0; s < count; s++)
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            scores[s][l] = exp_negative(scores[s][l] - max[l]);
            tile[l] += scores[s][l];
        }
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        shrink[l] = exp_negative(shrink[l] - max[l]);
        sum[l] = sum[l] * shrink[l] + tile[l];
    }
}

/* out[l] = shrink[l] out[l] + sum over s of weight[s][l] v_s, four lanes and two vectors of values at a time. */
static void add_values(int lanes, int count, int width, float out[LANES][width], const float weight[count][LANES],
                       const float *value[count], const float shrink[LANES]) {
    for (int l = 0; l < lanes; l += 4)
        for (int i = 0; i < width; i += 2 * LANES) {
            Vector sum[4][2] = {0};
            for (int s = 0; s < count; s++) {
                Vector v0 = *(const Vector *)&value[s][i], v1 = *(const Vector *)&value[s][i + LANES];
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++) {
                    sum[r][0] += weight[s][l + r] * v0;
                    sum[r][1] += weight[s][l + r] * v1;
                }
            }
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) {
                Vector *to = (Vector *)&out[l + r][i];
                to[0] = to[0] * shrink[l + r] + sum[r][0];
                to[1] = to[1] * shrink[l + r] + sum[r][1];
            }
        }
}

/* Where a head's keys and values of a tile lie. Past the last key stands the last again, for eight_scores; values
 * whose width is no multiple of two vectors are copied and padded, for add_values. */
static void find_tile(int g, int s0, int count, const Problem *p, const float *key[KEYS], const float *value[KEYS],
                      float padded[KEYS][p->width]) {
    int D = p->D, KV = p->KV;
    const float(*k)[KV][D] = (const void *)p->k, (*v)[KV][D] = (const void *)p->v;
    for (int s = 0; s < KEYS; s++) {
        int row = s0 + (s < count ? s : count - 1);
        key[s] = k[row][g];
        value[s] = p->width == D ? v[row][g] : memcpy(padded[s], v[row][g], sizeof v[row][g]);
    }
}

/* Shows a tile of keys and values, the first of them number s0, to a set of queries. */
static void absorb(Queries *queries, int s0, int count, const Problem *p, const float *key[KEYS],
                   const float *value[KEYS]) {
    float scores[KEYS][LANES], shrink[LANES];
    for (int s = 0; s < count; s += 8) eight_scores(p->D, scores + s, (const void *)queries->q, key + s);
    if (s0 + count - 1 > queries->last[0]) /* the diagonal crosses this tile */
        for (int s = 0; s < count; s++)
            for (int l = 0; l < LANES; l++)
                if (s0 + s > queries->last[l]) scores[s][l] = -INFINITY;
    online_softmax(count, scores, queries->max, queries->sum, shrink);
    add_values(queries->lanes, count, p->width, (void *)queries->out, (const void *)scores, value, shrink);
}

/* Leads a team through the keys begin .. end - 1, tile by tile. */
static void read_keys(int count, Queries team[count], int begin, int end, const Problem *p) {
    const float *key[KEYS], *value[KEYS];
    float padded[KEYS][p->width];
    memset(padded, 0, sizeof padded);
    for (int s0 = begin; s0 < end; s0 += KEYS) {
        int keys = end - s0 < KEYS ? end - s0 : KEYS;
        for (int n = 0; n < count; n++) {
            if (n == 0 || team[n].g != team[n - 1].g) find_tile(team[n].g, s0, keys, p, key, value, padded);
            if (s0 <= team[n].last[team[n].lanes - 1]) absorb(&team[n], s0, keys, p, key, value);
        }
    }
}

/* ------------------------------------------------------------------ in and out of the lanes */

static size_t set_floats(const Problem *p) { return (size_t)LANES * (p->D + p->width); }

static Queries gather(int g, int first, const Problem *p, float *room) {
    int H = p->H, D = p->D, group = H / p->KV;
    const float(*q)[H][D] = (const void *)p->q;
    int left = p->T * group - first;
    Queries set = {.g = g, .first = first, .lanes = left < LANES ? left : LANES};
    set.q = room, set.out = room + (size_t)LANES * D;
    float scale = (float)(1 / sqrt(D));
    memset(room, 0, set_floats(p) * sizeof *room);
    for (int l = 0; l < LANES; l++) {
        int t = (first + l) / group, h = g * group + (first + l) % group;
        set.max[l] = -FLT_MAX; /* no score is less; not -infinity, whose difference to itself is NaN */
        set.last[l] = p->S - p->T + t;
        for (int i = 0; i < D && l < set.lanes; i++) set.q[i * LANES + l] = q[t][h][i] * scale;
    }
    return set;
}

static void scatter(const Queries *set, const Problem *p, float *out_) {
    int H = p->H, D = p->D, group = H / p->KV;
    float(*out)[H][D] = (void *)out_;
    for (int l = 0; l < set->lanes; l++) {
        int t = (set->first + l) / group, h = set->g * group + (set->first + l) % group;
        for (int i = 0; i < D; i++) out[t][h][i] = set->out[l * p->width + i] / set->sum[l];
    }
}

/* Joins what two sets of the same queries saw of different keys. */
static void join(Queries *into, const Queries *from, int width) {
    for (int l = 0; l < LANES; l++) {
        float max = fmaxf(into->max[l], from->max[l]);
        float a = exp_negative(into->max[l] - max), b = exp_negative(from->max[l] - max);
        into->max[l] = max;
        into->sum[l] = a * into->sum[l] + b * from->sum[l];
        for (int i = l * width; i < (l + 1) * width; i++) into->out[i] = a * into->out[i] + b * from->out[i];
    }
}

/* ------------------------------------------------------------------ who does what */

/* Many queries: each head's are cut into teams, and each team reads the keys up to its last position. */
static void prefill(const Problem *p, float *out) {
    int queries = p->T * (p->H / p->KV), teams = (queries + TEAM * LANES - 1) / (TEAM * LANES);
#pragma omp parallel
    {
        float *room = allocate(TEAM * set_floats(p) * sizeof *room);
#pragma omp for collapse(2) schedule(dynamic)
        for (int n = teams - 1; n >= 0; n--) /* the last teams have the most keys to read: they go first */
            for (int g = 0; g < p->KV; g++) {
                Queries team[TEAM];
                int count = 0;
                for (int first = n * TEAM * LANES; first < queries && count < TEAM; first += LANES, count++)
                    team[count] = gather(g, first, p, room + (size_t)count * set_floats(p));
                const Queries *end = &team[count - 1];
                read_keys(count, team, 0, end->last[end->lanes - 1] + 1, p);
                for (int i = 0; i < count; i++) scatter(&team[i], p, out);
            }
        free(room);
    }
}

/* Few queries: one set a head holds them all, and the keys are split among the threads, which read them from end to end, as
 * they lie in memory. How many parts there are depends on the text alone: so does the order of the sums, and the answer
 * is the same whatever the number of threads. The room grows with the text to S = 1920, and then stays. */
static void decode(const Problem *p, float *out) {
    enum { MOST_PARTS = 16, PART = 8 * KEYS };
    int most = (p->S + KEYS - 1) / KEYS, parts = p->S / PART + 1;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    size_t sets = (size_t)parts * p->KV;
    float *room = allocate(sets * set_floats(p) * sizeof *room);
    Queries *set = allocate(sets * sizeof *set);
#pragma omp parallel for
    for (int part = 0; part < parts; part++) {
        Queries *team = set + (size_t)part * p->KV;
        for (int g = 0; g < p->KV; g++) team[g] = gather(g, 0, p, room + ((size_t)part * p->KV + g) * set_floats(p));
        read_keys(p->KV, team, (int)((long)most * part / parts) * KEYS,
                  part + 1 < parts ? (int)((long)most * (part + 1) / parts) * KEYS : p->S, p);
    }
    for (int g = 0; g < p->KV; g++) {
        for (int part = 1; part < parts; part++) join(&set[g], &set[part * p->KV + g], p->width);
        scatter(&set[g], p, out);
    }
    free(set);
    free(room);
}

void flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D], const float q[T][H][D],
                     const float k[S][KV][D], const float v[S][KV][D]) {
    if (T < 1 || T > S) fail("flash attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV) fail("flash attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    int step = 2 * LANES;
    Problem p = {T, S, H, KV, D, (D + step - 1) / step * step, &q[0][0][0], &k[0][0][0], &v[0][0][0]};
    if (T * (H / KV) <= LANES) decode(&p, &out[0][0][0]);
    else prefill(&p, &out[0][0][0]);
}
