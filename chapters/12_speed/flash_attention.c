#include "12_speed/flash_attention.h"
#include "12_speed/exponential.h"
#include "12_speed/fast_kernels.h"
#include "common/error.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lanes are filled in two ways. Many queries: lanes are queries, and nothing is added across them.
 * Few queries: lanes are four queries with a piece of each, LANES / 4 numbers, so that a piece of a
 * key, come from memory, meets all four in one multiply-add; only the sums of a piece's numbers are
 * added up across lanes. */
enum {
    FOUR = 4,             /* queries of a set, where they are few: four, */
    EIGHT = 2 * FOUR,     /* or eight where more than four heads share a key */
    PIECE = LANES / FOUR, /* numbers of each that lie side by side */
    WIDE = 2 * LANES,     /* queries of a set where they are many */
    KEYS = 32,            /* keys of a tile */
    STEP = REGISTERS / 4, /* keys that meet four or eight queries at once: STEP x 2 sums take half
                             of the registers */
    ROWS = REGISTERS / 4, /* rows of a product that are summed at once: ROWS x 2 sums, half again */
    TEAM = 256 / WIDE,    /* sets that share a tile while it is in the cache */
    FEW = 16,             /* queries of a head that are few */
    LINE = 16,            /* numbers that come from memory together */
};

/* The problem, and the width that rows are padded to. */
typedef struct {
    int T, S, H, KV, D, width;
    const float *q, *k, *v;
} Problem;

/* The running state of a set of queries: FlashAttention's m, l and O of each. A query here is
 * one (position, head) pair: the heads of a group, and then those of the next position, read the
 * same keys. */
typedef struct {
    int g, first, count;   /* their key/value head; queries first … first + count - 1 of it */
    int last[WIDE];        /* the last key that each may see */
    Vector max[2], sum[2]; /* lane l is query l, and of few, again and again, l % queries */
    float *q;   /* the queries / sqrt(D): few [width / PIECE][queries][PIECE], many [width][WIDE] */
    float *out; /* sums of e^(score - max) v: few [queries][width], many [width][WIDE] */
} Set;

/* Rows of numbers, with those of other heads perhaps between them. */
typedef struct {
    const float *first;
    size_t pitch; /* numbers from row to row */
} Rows;

/* KEYS keys and values, and where as many lie that will be needed soon; or NULL. */
typedef struct {
    Rows k, v;
    const float *next_k, *next_v;
} Tile;

/* Lines of memory are on their way from now on, into the second-level cache. */
INLINE void prefetch(int numbers, const float *from) {
    for (int i = 0; i < numbers; i += LINE) __builtin_prefetch(from + i, 0, 2);
}

/* sum[r] = sum over i of x[i][r] w_i, two vectors of each row w_i: each number of x meets two
 * vectors, and each vector `rows` numbers. Scores and weighted values are both such a product.
 * (Where memory is asked for, it sets the pace: to load less only means that more requests crowd
 * together, and the processor drops some.) */
INLINE void multiply(int rows, int count, Vector sum[rows][2], int pitch,
                     const float x[count][pitch], Rows w, const float *next) {
    int share =
        2 * LANES * rows / pitch; /* of what is asked for: other rows of x ask for the rest */
    UNROLLED
    for (int r = 0; r < rows; r++) sum[r][0] = sum[r][1] = (Vector){0};
    for (int i = 0; i < count; i++) {
        const float *from = &w.first[i * w.pitch];
        Vector first = *(const Vector *)from, second = *(const Vector *)&from[LANES];
        if (!next) {
            IN_REGISTER(first);
            IN_REGISTER(second);
        } else if (i * share % LINE == 0) prefetch(share, next + i * share);
        UNROLLED
        for (int r = 0; r < rows; r++) {
            sum[r][0] += x[i][r] * first;
            sum[r][1] += x[i][r] * second;
        }
    }
}

/* Turns scores into weights e^(score - max) under the new maximum, and says by which factor
 * everything summed under the old one must shrink. */
INLINE void online_softmax(int queries, int rows, float score[rows][WIDE], Set *set,
                           Vector shrink[2]) {
    Vector most[2] = {set->max[0], set->max[1]};
    Vector tile[2] = {
        0}; /* summed apart: the running sum of a long text is too large to add single weights to */
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 2; c++)
            most[c] = vector_max(*(const Vector *)&score[i][c * LANES], most[c]);
    largest_of_each(queries, most);
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < 2; c++) {
            Vector *at = (Vector *)&score[i][c * LANES];
            tile[c] += *at = exp_negative(*at - most[c]);
        }
    for (int c = 0; c < 2; c++) {
        shrink[c] = exp_negative(set->max[c] - most[c]);
        set->max[c] = most[c];
        set->sum[c] = set->sum[c] * shrink[c] + tile[c];
    }
}

/* -infinity, where a query may not see a key, or there is none. */
static void mask(int queries, float score[KEYS][queries], int s0, const int last[queries]) {
    for (int s = 0; s < KEYS; s++)
        for (int r = 0; r < queries; r++) score[s][r] = s0 + s > last[r] ? -INFINITY : score[s][r];
}

/* ------------------------------------------------------------------ many queries and a tile */

/* Chapter 8's online_softmax_tile for a set: the tile begins with key s0. */
static void many_meet(Set *set, int s0, int width, const Tile *tile) {
    float score[KEYS][WIDE], (*out)[WIDE] = (void *)set->out;
    const float(*keys)[KEYS] = (const void *)tile->k.first,
          (*values)[width] = (const void *)tile->v.first;
    Vector sum[ROWS][2], shrink[2];
    for (int s = 0; s < KEYS; s += ROWS) {
        multiply(ROWS, width, sum, KEYS, (const void *)&keys[0][s], (Rows){set->q, WIDE}, NULL);
        memcpy(score[s], sum, sizeof sum);
    }
    if (s0 + KEYS - 1 > set->last[0]) mask(WIDE, score, s0, set->last);
    online_softmax(WIDE, KEYS, score, set, shrink);
    for (int i = 0; i < width; i += ROWS) {
        multiply(ROWS, KEYS, sum, width, (const void *)&values[0][i], (Rows){score[0], WIDE}, NULL);
        UNROLLED
        for (int r = 0; r < ROWS; r++) {
            Vector *to = (Vector *)out[i + r];
            to[0] = to[0] * shrink[0] + sum[r][0];
            to[1] = to[1] * shrink[1] + sum[r][1];
        }
    }
}

/* ------------------------------------------------------------------ few queries and a tile */

/* A piece of a key, once for each query. */
INLINE Vector four_times(const float *piece) {
#if defined __AVX512F__
    return (Vector)_mm512_broadcast_f32x4(_mm_loadu_ps(piece));
#elif defined __AVX__
    double two;
    memcpy(&two, piece, sizeof two);
    return (Vector)_mm256_set1_pd(two);
#else
    return (Vector){0} + piece[0];
#endif
}

/* The sums of PIECE keys, each in lanes [query][number], added up: lanes [query][key]. */
INLINE Vector piece_totals(Vector sum[PIECE]) {
    UNROLLED
    for (int s = 0; s < 2 && PIECE > 2; s++)
        sum[s] = FIRSTS(2, sum[s], sum[s + 2]) + SECONDS(2, sum[s], sum[s + 2]);
    if (PIECE > 1) sum[0] = FIRSTS(1, sum[0], sum[1]) + SECONDS(1, sum[0], sum[1]);
    return sum[0];
}

/* The same as scores, [key][query]: of four queries, or of four and four others. */
#define TRANSPOSED(from, l) ((l) % FOUR * PIECE + (l) / FOUR)
#define JOINED(from, l)                                                                            \
    (((from) + (l)) / FOUR % 2 * LANES + (l) % FOUR * PIECE + ((from) + (l)) / EIGHT)
INLINE void scores_of_four(float score[PIECE][FOUR], Vector sum[PIECE]) {
    Vector four = piece_totals(sum);
    *(Vector *)score = (Vector)__builtin_shufflevector(four, four, EACH_LANE(TRANSPOSED, 0));
}

INLINE void scores_of_eight(float score[PIECE][EIGHT], Vector sum[PIECE], Vector others[PIECE]) {
    Vector four = piece_totals(sum), next = piece_totals(others), *to = (Vector *)score;
    to[0] = (Vector)__builtin_shufflevector(four, next, EACH_LANE(JOINED, 0));
    to[1] = (Vector)__builtin_shufflevector(four, next, EACH_LANE(JOINED, LANES));
}

/* score[s][r] = q_r . k_s for STEP keys as they lie in memory. */
INLINE void dot_keys(int queries, int width, float score[STEP][queries], const float *q, Rows k,
                     const float *next) {
    int fours = queries / FOUR;
    Vector sum[2][STEP];
    UNROLLED
    for (int n = 0; n < fours * STEP; n++) sum[n / STEP][n % STEP] = (Vector){0};
    for (int i = 0; i < width; i += PIECE) {
        Vector query[2];
        if (next && i * STEP % LINE == 0) prefetch(STEP * PIECE, next + i * STEP);
        for (int n = 0; n < fours; n++) query[n] = *(const Vector *)&q[i * queries + n * LANES];
        UNROLLED
        for (int s = 0; s < STEP; s++) {
            Vector key = four_times(&k.first[s * k.pitch + i]);
            UNROLLED
            for (int n = 0; n < fours; n++) sum[n][s] += query[n] * key;
        }
    }
    UNROLLED
    for (int s = 0; s < STEP; s += PIECE)
        if (queries == FOUR) scores_of_four((void *)score[s], &sum[0][s]);
        else scores_of_eight((void *)score[s], &sum[0][s], &sum[1][s]);
}

/* The address so many numbers further, or NULL. */
static const float *further(const float *from, int numbers) { return from ? from + numbers : NULL; }

/* Two vectors of each query's sums shrink, and get what a tile adds to them. */
INLINE void add_values(int queries, int width, float out[queries][width],
                       const float shrink[queries], const float weight[KEYS][queries], Rows v,
                       const float *next) {
    int rows = queries < ROWS ? queries : ROWS;
    Vector sum[ROWS][2];
    for (int first = 0; first < queries; first += rows) {
        multiply(rows, KEYS, sum, queries, (const void *)&weight[0][first], v,
                 further(next, KEYS * 2 * LANES * first / queries));
        UNROLLED
        for (int r = 0; r < rows; r++) {
            Vector *to = (Vector *)out[first + r];
            to[0] = to[0] * shrink[first + r] + sum[r][0];
            to[1] = to[1] * shrink[first + r] + sum[r][1];
        }
    }
}

/* Chapter 8's online_softmax_tile for a set: STEP keys, or two vectors of each value, meet all of
 * its queries before others are read. */
INLINE void few_meet(int queries, Set *set, int s0, int width, const Tile *tile) {
    float score[KEYS][queries], shrink[WIDE];
    for (int s = 0; s < KEYS; s += STEP)
        dot_keys(queries, width, &score[s], set->q,
                 (Rows){&tile->k.first[s * tile->k.pitch], tile->k.pitch},
                 further(tile->next_k, s * width));
    if (s0 + KEYS - 1 > set->last[0]) mask(queries, score, s0, set->last);
    online_softmax(queries, KEYS * queries / WIDE, (void *)score, set, (void *)shrink);
    for (int c = 0; c < width; c += 2 * LANES)
        add_values(queries, width, (void *)&set->out[c], shrink, score,
                   (Rows){&tile->v.first[c], tile->v.pitch}, further(tile->next_v, c * KEYS));
}

/* ------------------------------------------------------------------ the tiles of a text */

/* Room for a tile of its own. */
typedef struct {
    float *k, *v;      /* [KEYS][width] */
    float *transposed; /* [width][KEYS] */
} Copy;

static Copy copy_new(const Problem *p) {
    size_t numbers = (size_t)KEYS * p->width;
    float *room = xmalloc(3 * numbers * sizeof *room);
    return (Copy){room, room + numbers, room + 2 * numbers};
}

/* The rows side by side: in their places, a power of two apart, they would drive each other out of
 * the cache. Where the text or the width ends there are zeros. */
static Tile copied_tile(int g, int s0, int end, const Problem *p, Copy copy) {
    int D = p->D, KV = p->KV, width = p->width;
    const float(*k)[KV][D] = (const void *)p->k, (*v)[KV][D] = (const void *)p->v;
    float(*to_k)[width] = (void *)copy.k, (*to_v)[width] = (void *)copy.v;
    memset(to_k, 0, KEYS * sizeof *to_k);
    memset(to_v, 0, KEYS * sizeof *to_v);
    for (int s = 0; s < KEYS && s0 + s < end; s++) {
        memcpy(to_k[s], k[s0 + s][g], sizeof k[s0 + s][g]);
        memcpy(to_v[s], v[s0 + s][g], sizeof v[s0 + s][g]);
    }
    return (Tile){.k = {copy.k, (size_t)width}, .v = {copy.v, (size_t)width}};
}

static Tile transposed_tile(int g, int s0, int end, const Problem *p, Copy copy) {
    Tile tile = copied_tile(g, s0, end, p, copy);
    transpose(KEYS, p->width, (void *)copy.transposed, (const void *)copy.k);
    return (Tile){.k = {copy.transposed, KEYS}, .v = tile.v};
}

/* For few queries a copy does not pay: they read a whole tile where it lies, and meanwhile ask for
 * the next, from its beginning to its end: each head for its share. (Of the last there may be less;
 * to ask for more does no harm.) The pages of the one after it are looked up. */
static Tile tile_in_place(int g, int s0, int end, const Problem *p, Copy copy) {
    size_t D = (size_t)p->D, pitch = p->KV * D, at = s0 * pitch + g * D;
    size_t next = (s0 + KEYS) * pitch + g * KEYS * D, later = next + KEYS * pitch,
           bytes = KEYS * D * sizeof *p->k;
    if (s0 + KEYS > end || p->width != p->D) return copied_tile(g, s0, end, p, copy);
    Tile tile = {.k = {p->k + at, pitch}, .v = {p->v + at, pitch}};
    if (s0 + KEYS < end) {
        tile.next_k = p->k + next;
        tile.next_v = p->v + next;
    }
    if (s0 + 3 * KEYS <= end) {
        tlb_prefetch(bytes, p->k + later);
        tlb_prefetch(bytes, p->v + later);
    }
    return tile;
}

/* ------------------------------------------------------------------ in and out of the sets */

static size_t set_numbers(int queries, const Problem *p) { return (size_t)2 * queries * p->width; }

/* Queries first, first + 1, … of head g, in room for set_numbers(). What is left of the set is
 * zeros. */
static Set gather(int queries, int g, int first, const Problem *p, float *room) {
    int H = p->H, D = p->D, width = p->width, group = H / p->KV, left = p->T * group - first;
    const float(*q)[H][D] = (const void *)p->q;
    float(*to)[width] = (void *)room, scale = (float)(1 / sqrt(D));
    Set set = {g, first, left < queries ? left : queries, .q = room,
               .out = room + (size_t)queries * width};
    memset(room, 0, set_numbers(queries, p) * sizeof *room);
    set.max[0] = set.max[1] =
        (Vector){0} - FLT_MAX; /* no score is less; not -infinity: -infinity + infinity is NaN */
    for (int r = 0; r < queries; r++) {
        int t = (first + r) / group, h = g * group + (first + r) % group;
        set.last[r] = r < set.count ? p->S - p->T + t : set.last[r - 1];
        for (int i = 0; i < D && r < set.count; i++) to[r][i] = q[t][h][i] * scale;
    }
    return set;
}

/* Few queries: a piece of each, and then the next. */
static Set gather_pieces(int queries, int g, int first, const Problem *p, float *room) {
    Set set = gather(queries, g, first, p, room);
    float(*to)[queries][PIECE] = (void *)set.out;
    const float(*from)[p->width] = (const void *)set.q;
    for (int r = 0; r < queries; r++)
        for (int i = 0; i < p->width; i++) to[i / PIECE][r][i % PIECE] = from[r][i];
    set.q = set.out;
    set.out = memset(room, 0, (size_t)queries * p->width * sizeof *room);
    return set;
}

/* Many queries: row i has number i of each. */
static Set gather_transposed(int g, int first, const Problem *p, float *room) {
    Set set = gather(WIDE, g, first, p, room);
    transpose(WIDE, p->width, (void *)set.out, (const void *)set.q);
    set.q = set.out;
    set.out = memset(room, 0, (size_t)WIDE * p->width * sizeof *room);
    return set;
}

/* rows[r] is what query r has summed. */
static void scatter(int queries, const Set *set, const float *rows_, const Problem *p, float *out_,
                    float *lse_) {
    int H = p->H, D = p->D, width = p->width, group = H / p->KV;
    const float(*rows)[width] = (const void *)rows_;
    float(*out)[H][D] = (void *)out_, (*lse)[H] = (void *)lse_, sums[WIDE], most[WIDE];
    memcpy(sums, set->sum, sizeof sums);
    memcpy(most, set->max, sizeof most);
    for (int l = queries; l < WIDE; l++) sums[l % queries] += sums[l];
    for (int r = 0; r < set->count; r++) {
        int t = (set->first + r) / group, h = set->g * group + (set->first + r) % group;
        for (int i = 0; i < D; i++) out[t][h][i] = rows[r][i] / sums[r];
        if (lse) lse[t][h] = (float)(most[r] + log(sums[r]));
    }
}

/* Chapter 8's merge: what two sets of the same queries saw of different keys. */
static void merge_sets(int queries, Set *into, const Set *from, int width) {
    float(*to)[width] = (void *)into->out;
    const float(*more)[width] = (const void *)from->out;
    Vector old[2], new[2];
    for (int c = 0; c < 2; c++) {
        Vector max = vector_max(into->max[c], from->max[c]);
        old[c] = exp_negative(into->max[c] - max);
        new[c] = exp_negative(from->max[c] - max);
        into->max[c] = max;
        into->sum[c] = old[c] * into->sum[c] + new[c] * from->sum[c];
    }
    for (int r = 0; r < queries; r++) {
        float shrink = old[r / LANES][r % LANES], grow = new[r / LANES][r % LANES];
        for (int i = 0; i < width; i++) to[r][i] = shrink * to[r][i] + grow * more[r][i];
    }
}

static Problem problem(int T, int S, int H, int KV, int D, const float *q, const float *k,
                       const float *v) {
    if (T < 1 || T > S)
        fail("flash attention: %d queries cannot be the last of %d positions", T, S);
    if (KV < 1 || H % KV)
        fail("flash attention: %d query heads cannot share %d key/value heads evenly", H, KV);
    int two = 2 * LANES;
    return (Problem){T, S, H, KV, D, (D + two - 1) / two * two, q, k, v};
}

/* ------------------------------------------------------------------ many queries: teams */

/* Shows a team of one head all keys that its last query may see. */
static void prefill_block(int count, Set team[count], const Problem *p, Copy copy) {
    int end = team[count - 1].last[WIDE - 1] + 1;
    for (int s0 = 0; s0 < end; s0 += KEYS) {
        Tile tile = transposed_tile(team->g, s0, end, p, copy);
        for (Set *set = team; set < team + count; set++)
            if (s0 <= set->last[WIDE - 1]) many_meet(set, s0, p->width, &tile);
    }
}

void flash_prefill(int sets, int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                   float *lse, const float q[T][H][D], const float k[S][KV][D],
                   const float v[S][KV][D]) {
    const Problem p = problem(T, S, H, KV, D, (const void *)q, (const void *)k, (const void *)v);
    int queries = T * (H / KV), teams = (queries + sets * WIDE - 1) / (sets * WIDE);
#pragma omp parallel if ((double)T * S * H * D > 1e6)
    {
        float *room = xmalloc(sets * set_numbers(WIDE, &p) * sizeof *room);
        Set *team = xmalloc((size_t)sets * sizeof *team);
        Copy copy = copy_new(&p);
#pragma omp for collapse(2) schedule(dynamic)
        for (int n = teams - 1; n >= 0;
             n--) /* the last teams have the most keys to read: they go first */
            for (int g = 0; g < KV; g++) {
                int count = 0;
                for (int first = n * sets * WIDE; first < queries && count < sets;
                     first += WIDE, count++)
                    team[count] =
                        gather_transposed(g, first, &p, room + count * set_numbers(WIDE, &p));
                prefill_block(count, team, &p, copy);
                for (Set *set = team; set < team + count; set++) {
                    transpose(p.width, WIDE, (void *)set->q, (const void *)set->out);
                    scatter(WIDE, set, set->q, &p, &out[0][0][0], lse);
                }
            }
        free(room);
        free(team);
        free(copy.k);
    }
}

/* -------------------------------------------------------------- few queries: the keys are split */

/* Shows sets of all heads the keys begin … end - 1, which they read as they lie in memory. A head's
 * first set asks for what comes next. */
static void decode_part(int queries, int each, Set sets[][each], int begin, int end,
                        const Problem *p) {
    Copy copy = copy_new(p);
    for (int s0 = begin; s0 < end; s0 += KEYS)
        for (int g = 0; g < p->KV; g++) {
            Tile tile = tile_in_place(g, s0, end, p, copy);
            for (int n = 0; n < each; n++) {
                if (queries == FOUR) few_meet(FOUR, &sets[g][n], s0, p->width, &tile);
                else few_meet(EIGHT, &sets[g][n], s0, p->width, &tile);
                tile.next_k = tile.next_v = NULL;
            }
        }
    free(copy.k);
}

void flash_decode_split_kv(int parts, int T, int S, int H, int KV, int D,
                           float out[restrict T][H][D], const float q[T][H][D],
                           const float k[S][KV][D], const float v[S][KV][D]) {
    const Problem p = problem(T, S, H, KV, D, (const void *)q, (const void *)k, (const void *)v);
    int group = H / KV, queries = group > FOUR ? EIGHT : FOUR, tiles = (S + KEYS - 1) / KEYS;
    int each = (T * group + queries - 1) / queries, count = each * KV;
    float *room = xmalloc((size_t)parts * count * set_numbers(queries, &p) * sizeof *room);
    Set(*sets)[count] = xmalloc((size_t)parts * sizeof *sets);
#pragma omp parallel for if ((double)T * S * H * D > 1e6)
    for (int part = 0; part < parts; part++) {
        long first = (long)tiles * part / parts * KEYS,
             end = (long)tiles * (part + 1) / parts * KEYS;
        for (int n = 0; n < count; n++) {
            float *own = room + ((size_t)part * count + n) * set_numbers(queries, &p);
            sets[part][n] = gather_pieces(queries, n / each, n % each * queries, &p, own);
        }
        decode_part(queries, each, (void *)sets[part], (int)first, (int)(end < S ? end : S), &p);
    }
    for (int n = 0; n < count; n++) {
        for (int part = 1; part < parts; part++)
            merge_sets(queries, &sets[0][n], &sets[part][n], p.width);
        scatter(queries, &sets[0][n], sets[0][n].out, &p, &out[0][0][0], NULL);
    }
    free(sets);
    free(room);
}

/* The number of parts depends only on the text's length, so the order of the sums, and the
 * result, is the same with any number of threads. The scratch memory grows with the text up to S
 * = 1920. */
void fast_flash_attention(int T, int S, int H, int KV, int D, float out[restrict T][H][D],
                          const float q[T][H][D], const float k[S][KV][D],
                          const float v[S][KV][D]) {
    int parts = S / 128 + 1;
    bool few = KV > 0 && T * (H / KV) <= FEW;
    if (few) flash_decode_split_kv(parts < 16 ? parts : 16, T, S, H, KV, D, out, q, k, v);
    else flash_prefill(TEAM, T, S, H, KV, D, out, NULL, q, k, v);
}
