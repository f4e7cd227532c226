/* Writes the data of this chapter's figures, and prints it as tables. */
#include "01_normalization/normalization.h"
#include "05_rope/rope.h"
#include "common/console.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
enum { D = 128, PAIRS = D / 2 }; /* a head of every Llama but 3.2 1B */
static const RopeParameters llama2 = {.rope_theta = 1e4}, llama3 = {.rope_theta = 5e5};

typedef void Rope(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                  const float cosine[T][D / 2], const float sine[T][D / 2]);

static double wavelength(float inv_freq) {
    return 2 * pi / (double)inv_freq;
} /* positions in one whole rotation */

/* H heads of any width for T tokens, rotated for the positions from `first` on. */
static void rotate_from(Rope *rope, int T, int H, int D, float out[restrict T][H][D],
                        const float x[T][H][D], int first) {
    float inv_freq[D / 2], table[2][T][D / 2];
    int positions[T];
    for (int t = 0; t < T; t++) positions[t] = first + t;
    rope_frequencies(D, inv_freq, &llama2, T);
    rope_table(T, D, table, positions, inv_freq);
    rope(T, H, D, out, x, table[COSINES], table[SINES]);
}

static double dot(int D, const float a[D], const float b[D]) {
    double sum = 0;
    for (int i = 0; i < D; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* ---- why a position is rotated in, not added */

/* The score of the last token's query with the owner's key, when the text begins at position 0, 1,
 * …: with the position added to each number, and with both rotated. */
static void added_or_rotated(const char *data, const Sentence *s) {
    if (!data) return;
    int T = s->T, H = s->H, KV = s->KV, D = s->D;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k", 3, T, KV, D);
    const float *query = q[T - 1][s->head], *key = k[s->owner][s->head / (H / KV)];
    Output output =
        data_open(data, "05_place", "the text begins at; the score: position added, rotated");
    for (int begin = 0; begin <= 400; begin++) {
        int m = begin + T - 1, n = begin + s->owner;
        double added = 0;
        for (int i = 0; i < D; i++) added += ((double)query[i] + m) * ((double)key[i] + n);
        float rotated_q[1][1][D], rotated_k[1][1][D];
        rotate_from(rope_half_split, 1, 1, D, rotated_q, (const float(*)[1][D])query, m);
        rotate_from(rope_half_split, 1, 1, D, rotated_k, (const float(*)[1][D])key, n);
        fprintf(output.file, "%d %.6g %.4f\n", begin, added,
                dot(D, rotated_q[0][0], rotated_k[0][0]));
    }
    output_close(&output);
}

/* ---- what the model does with it */

static float *weight_of(const Sentence *s, int layer, const char *name) {
    char whole[128];
    snprintf(whole, sizeof whole, "model.layers.%d.%s.weight", layer, name);
    return tensor_to_float(safetensors_find(&s->model, whole));
}

/* The queries or keys of any layer: a norm's copy of the stream times a matrix. */
static void project(const Sentence *s, int layer, const char *name, int width,
                    float out[s->T][width]) {
    int T = s->T, C = s->C;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    float normed[T][C], *norm = weight_of(s, layer, "input_layernorm"),
                        *matrix = weight_of(s, layer, name);
    rms_norm(T, C, normed, stream[2 * layer], norm, s->eps);
    linear(T, C, width, out, normed, (const float(*)[C])matrix, NULL);
    free(norm);
    free(matrix);
}

/* A layer's queries and keys, before and after rotation. */
typedef struct {
    float *q, *k, *rotated_q, *rotated_k; /* [T][H][D], [T][KV][D] */
} Layer;

static Layer layer_of(const Sentence *s, int layer) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D;
    size_t queries = sizeof(float[T][H][D]), keys = sizeof(float[T][KV][D]);
    Layer l = {xmalloc(queries), xmalloc(keys), xmalloc(queries), xmalloc(keys)};
    project(s, layer, "self_attn.q_proj", H * D, (float(*)[H * D]) l.q);
    project(s, layer, "self_attn.k_proj", KV * D, (float(*)[KV * D]) l.k);
    rotate_from(rope_half_split, T, H, D, (float(*)[H][D])l.rotated_q, (const float(*)[H][D])l.q,
                0);
    rotate_from(rope_half_split, T, KV, D, (float(*)[KV][D])l.rotated_k, (const float(*)[KV][D])l.k,
                0);
    return l;
}

static void free_layer(Layer l) {
    free(l.q);
    free(l.k);
    free(l.rotated_q);
    free(l.rotated_k);
}

/* Counts the tokens whose highest score, among all tokens up to themselves, is with the previous
 * token. */
static int attends_one_back(const Sentence *s, const float *queries, const float *keys, int head) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D, count = 0;
    const float(*q)[H][D] = (const float(*)[H][D])queries,
          (*k)[KV][D] = (const float(*)[KV][D])keys;
    for (int t = 1; t < T; t++) {
        int best = 0;
        for (int n = 1; n <= t; n++) {
            const float *query = q[t][head];
            if (dot(D, query, k[n][head / (H / KV)]) > dot(D, query, k[best][head / (H / KV)]))
                best = n;
        }
        if (best == t - 1) count++;
    }
    return count;
}

/* A pair's share in a head's scores: the mean length of the queries' pair times that of the keys'.
 * They add up to 1. */
static void shares(const Sentence *s, Layer l, int head, double share[s->D / 2]) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D;
    const float(*q)[H][D] = (const float(*)[H][D])l.q, (*k)[KV][D] = (const float(*)[KV][D])l.k;
    double all = 0;
    for (int i = 0; i < D / 2; i++) {
        double of_q = 0, of_k = 0;
        for (int t = 0; t < T; t++) {
            const float *query = q[t][head], *key = k[t][head / (H / KV)];
            of_q += hypot(query[i], query[i + D / 2]);
            of_k += hypot(key[i], key[i + D / 2]);
        }
        share[i] = of_q * of_k;
        all += share[i];
    }
    for (int i = 0; i < D / 2; i++) share[i] /= all;
}

static void head_row(Table *table, const Sentence *s, int layer, int head, double share[s->D / 2]) {
    Layer l = layer_of(s, layer);
    shares(s, l, head, share);
    double fast = 0;
    for (int i = 0; i < s->D / 8; i++) fast += share[i];
    int rotated = attends_one_back(s, l.rotated_q, l.rotated_k, head),
        plain = attends_one_back(s, l.q, l.k, head);
    table_row(table, "layer %d, head %d|%d of %d|%d of %d|%.0f %%", layer, head, rotated, s->T - 1,
              plain, s->T - 1, 100 * fast);
    free_layer(l);
}

/* The head that most often attends to the previous token, beside the one that finds the owner of
 * the ball.
 */
static void two_heads(const char *data, const Sentence *s) {
    int most = -1, layer = 0, head = 0;
    for (int at = 0; at < s->L; at++) {
        Layer l = layer_of(s, at);
        for (int h = 0; h < s->H; h++) {
            int count = attends_one_back(s, l.rotated_q, l.rotated_k, h);
            if (count > most) {
                most = count;
                layer = at;
                head = h;
            }
        }
        free_layer(l);
    }
    double back[s->D / 2], owner[s->D / 2];
    section("Two heads");
    Table table = {0};
    table_row(&table,
              "highest score with the previous token|rotated|not rotated|share of pairs 0 to %d",
              s->D / 8 - 1);
    head_row(&table, s, layer, head, back);
    head_row(&table, s, s->layer, s->head, owner);
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(
        data, "05_heads", "pair; its share in per cent: previous-token head, name-finding head");
    for (int i = 0; i < s->D / 2; i++)
        fprintf(output.file, "%d %.2f %.2f\n", i, 100 * back[i], 100 * owner[i]);
    output_close(&output);
}

/* ---- the two layouts */

/* The correlation of the two pairings' scores, over all queries and keys. If their elements are
 * independent, with mean 0 and one variance, it is the mean inner product of what the two rotations
 * make of each basis vector. The D basis vectors go through the kernels as D heads. */
static double correlation(int distance) {
    static float basis[1][D][D], right[1][D][D], wrong[1][D][D];
    for (int j = 0; j < D; j++) basis[0][j][j] = 1;
    rotate_from(rope_interleaved, 1, D, D, right, basis, distance);
    rotate_from(rope_half_split, 1, D, D, wrong, basis, distance);
    double sum = 0;
    for (int j = 0; j < D; j++) sum += dot(D, right[0][j], wrong[0][j]);
    return sum / D;
}

static void wrong_pairing(const char *data) {
    const int shown[] = {0, 1, 2, 5, 10, 20, 50, 100, 1000};
    section("The wrong pairing");
    Table table = {0};
    table_row(&table, "distance|its score's correlation with the right one");
    for (int n = 0; n < 9; n++) table_row(&table, "%d|%.2f", shown[n], correlation(shown[n]));
    table_print(&table, stdout);

    if (!data) return;
    Output output =
        data_open(data, "05_mixed", "distance, correlation of the two pairings' scores");
    for (int d = 0; d <= 120; d++) fprintf(output.file, "%d %.4f\n", d, correlation(d));
    output_close(&output);
}

/* Finds the elements that a kernel pairs: a rotation by 90 degrees sends element j to its
 * partner. */
static void write_partners(FILE *file, Rope *rope) {
    enum { SMALL = 8 };
    const float cosine[1][SMALL / 2] = {0}, sine[1][SMALL / 2] = {{1, 1, 1, 1}};
    for (int j = 0; j < SMALL; j++) {
        float basis[1][1][SMALL] = {0}, out[1][1][SMALL];
        basis[0][0][j] = 1;
        rope(1, 1, SMALL, out, basis, cosine, sine);
        for (int partner = j + 1; partner < SMALL; partner++)
            if (out[0][0][partner] > 0) fprintf(file, "%d %d\n", j, partner);
    }
    fputs("\n\n", file);
}

static void pairs(const char *data) {
    if (!data) return;
    float rows[8][1], permuted[8][1];
    for (int j = 0; j < 8; j++) rows[j][0] = (float)j;
    rows_to_half_split(1, 8, 1, permuted, rows);
    Output output = data_open(data, "05_pairs",
                              "element, partner: interleaved; half-split. Place, who comes there");
    write_partners(output.file, rope_interleaved);
    write_partners(output.file, rope_half_split);
    for (int j = 0; j < 8; j++) fprintf(output.file, "%d %g\n", j, permuted[j][0]);
    output_close(&output);
}

/* ---- the angles */

/* Three pairs of the course's own model, and all pairs of a Llama 2: between which distances does
 * each tell two tokens apart? */
static void clocks(const char *data, const Sentence *s) {
    if (!data) return;
    float own[s->D / 2], inv_freq[PAIRS];
    rope_frequencies(s->D, own, &llama2, 1);
    rope_frequencies(D, inv_freq, &llama2, 1);
    const int shown[] = {0, 3, 8};
    Output output = data_open(data, "05_circle", "position; cosine and sine of pairs 0, 3 and 8");
    for (int t = 0; t < 16; t++) {
        fprintf(output.file, "%d", t);
        for (int n = 0; n < 3; n++)
            fprintf(output.file, " %.4f %.4f", cos(t * (double)own[shown[n]]),
                    sin(t * (double)own[shown[n]]));
        fputc('\n', output.file);
    }
    output_close(&output);
    output =
        data_open(data, "05_table", "pair, positions in an eighth of a rotation, in a whole one");
    for (int i = 0; i < PAIRS; i++)
        fprintf(output.file, "%d %.4g %.4g\n", i, wavelength(inv_freq[i]) / 8,
                wavelength(inv_freq[i]));
    output_close(&output);
}

static void whole_width(void) {
    enum { C = 4096 };
    const int shown[] = {0, 1, 15, 31};
    float head[PAIRS], all[C / 2];
    rope_frequencies(D, head, &llama2, 1);
    rope_frequencies(C, all, &llama2, 1);
    section("A table for the whole width");
    Table table = {0};
    table_row(&table, "head|its wavelengths|from a table of width %d", C);
    for (int n = 0; n < 4; n++)
        table_row(&table, "%d|%.1f to %.1f|%.1f to %.1f", shown[n], wavelength(head[0]),
                  wavelength(head[PAIRS - 1]), wavelength(all[shown[n] * PAIRS]),
                  wavelength(all[shown[n] * PAIRS + PAIRS - 1]));
    table_print(&table, stdout);
}

static double exact_angle(int position, double theta, int i) {
    return position * pow(theta, -2.0 * i / D);
}

/* The largest errors over the pairs, at the positions measured so far; in radians, all but the
 * length's. */
typedef struct {
    double table, large_theta, bf16, steps, length;
} Errors;

static float to_bf16(float value) { return bf16_to_float(bf16_from_float(value)); }

/* The angle between two directions: at most 180 degrees. */
static double apart(double a, double b) { return fabs(remainder(a - b, 2 * pi)); }

/* Tables hold position * inv_freq[i]; steps[i] is (1, 0) rotated `position` times by the same small
 * angle. */
static void measure(Errors *worst, int position, const float complex steps[PAIRS]) {
    float inv_freq[PAIRS], large_theta[PAIRS], p = (float)position;
    rope_frequencies(D, inv_freq, &llama2, 1);
    rope_frequencies(D, large_theta, &llama3, 1);
    for (int i = 0; i < PAIRS; i++) {
        double angle = exact_angle(position, 1e4, i), slower = exact_angle(position, 5e5, i);
        worst->table = fmax(worst->table, apart(p * inv_freq[i], angle));
        worst->large_theta = fmax(worst->large_theta, apart(p * large_theta[i], slower));
        worst->bf16 = fmax(worst->bf16, apart(to_bf16(to_bf16(p) * to_bf16(inv_freq[i])), angle));
        worst->steps = fmax(worst->steps, apart(carg(steps[i]), angle));
        worst->length = fmax(worst->length, fabs(cabs(steps[i]) - 1));
    }
}

static void how_exact(const char *data) {
    section("How exact the angles are");
    Table table = {0};
    table_row(&table, "up to position|table|theta 500000|table in bf16|step by step|its length");
    Output output = {0};
    if (data)
        output =
            data_open(data, "05_error", "position; largest error, degrees: table, bf16, steps");
    float complex step[PAIRS], steps[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        step[i] = (float complex)cexp(I * exact_angle(1, 1e4, i));
        steps[i] = 1;
    }
    Errors worst = {0};
    for (int position = 1, next = 1; position <= 131071; position++) {
        /* A product of two float32 numbers is exact in a double: each step rounds to float32 once.
         */
        for (int i = 0; i < PAIRS; i++)
            steps[i] = (float complex)((double complex)steps[i] * step[i]);
        bool listed =
            position == 100 || position == 1000 || position == 10000 || position == 131071;
        if (position < next && !listed) continue;
        next = position + 1 + position / 64;
        measure(&worst, position, steps);
        if (listed)
            table_row(&table, "%d|%.5f|%.5f|%.1f|%.5f|%.5f", position, worst.table,
                      worst.large_theta, worst.bf16, worst.steps, worst.length);
        if (data)
            fprintf(output.file, "%d %.3g %.3g %.3g\n", position, worst.table * 180 / pi,
                    worst.bf16 * 180 / pi, worst.steps * 180 / pi);
    }
    if (data) output_close(&output);
    table_print(&table, stdout);
}

/* ---- longer contexts */

enum { LLAMA_31 = 3, LLAMA_32 = 4, RECIPES = 5 };
static const struct {
    const char *name;
    RopeParameters parameters;
} recipes[RECIPES] = {
    {"linear", {.rope_type = ROPE_LINEAR, .rope_theta = 5e5, .factor = 8}},
    {"dynamic",
     {.rope_type = ROPE_DYNAMIC, .rope_theta = 5e5, .factor = 1, .max_position_embeddings = 8192}},
    {"yarn",
     {.rope_type = ROPE_YARN,
      .rope_theta = 5e5,
      .factor = 8,
      .original_max_position_embeddings = 8192}},
    {"llama3, 8",
     {.rope_type = ROPE_LLAMA3,
      .rope_theta = 5e5,
      .factor = 8,
      .original_max_position_embeddings = 8192,
      .low_freq_factor = 1,
      .high_freq_factor = 4}},
    {"llama3, 32",
     {.rope_type = ROPE_LLAMA3,
      .rope_theta = 5e5,
      .factor = 32,
      .original_max_position_embeddings = 8192,
      .low_freq_factor = 1,
      .high_freq_factor = 4}}};

/* Llama 3.1 8B: what its recipe does to some of its pairs. */
static void slow_pairs(void) {
    const int shown[] = {0, 16, 29, 30, 32, 34, 35};
    float before[PAIRS], after[PAIRS];
    rope_frequencies(D, before, &llama3, 1);
    rope_frequencies(D, after, &recipes[LLAMA_31].parameters, 1);
    section("Frequency scaling in Llama 3.1");
    Table table = {0};
    table_row(&table, "pair|rotations within 8192|slowed by|wavelength before|wavelength after");
    for (int n = 0; n < 7; n++) {
        double was = wavelength(before[shown[n]]), is = wavelength(after[shown[n]]);
        table_row(&table, "%d|%.2f|%.2f|%.0f|%.0f", shown[n], 8192 / was, is / was, was, is);
    }
    table_print(&table, stdout);
}

static void scaling(const char *data) {
    const int shown[] = {0, 8, 16, 24, 28, 30, 32, 34, 36, 40, 48, 63};
    float plain[PAIRS], scaled[RECIPES][PAIRS], factor[RECIPES];
    double stretch[PAIRS][RECIPES];
    rope_frequencies(D, plain, &llama3, 1);
    for (int r = 0; r < RECIPES; r++) {
        factor[r] = rope_frequencies(D, scaled[r], &recipes[r].parameters, 8 * 8192);
        for (int i = 0; i < PAIRS; i++) stretch[i][r] = plain[i] / scaled[r][i];
    }
    section("How much each recipe slows a pair");
    Table table = {0};
    table_row(&table, "pair|wavelength|linear|dynamic|yarn|llama3, 8|llama3, 32");
    for (int n = 0; n < 12; n++) {
        const double *by = stretch[shown[n]];
        table_row(&table, "%d|%.0f|%.2f|%.2f|%.2f|%.2f|%.2f", shown[n], wavelength(plain[shown[n]]),
                  by[0], by[1], by[2], by[3], by[4]);
    }
    table_print(&table, stdout);
    section("Which pairs each recipe changes");
    table_row(&table, "recipe|unchanged|in between|slowed in full|cosine and sine times");
    for (int r = 0; r < RECIPES; r++) {
        int unchanged = 0, full = 0;
        for (int i = 0; i < PAIRS; i++) {
            unchanged += stretch[i][r] < 1.0001;
            full += stretch[i][r] > 0.9999 * stretch[PAIRS - 1][r];
        }
        table_row(&table, "%s|%d|%d|%d|%.4f", recipes[r].name, unchanged, PAIRS - unchanged - full,
                  full, factor[r]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "05_scaling",
                              "pair; stretched by: linear, dynamic, yarn, llama3 8, llama3 32");
    for (int i = 0; i < PAIRS; i++) {
        fprintf(output.file, "%d", i);
        for (int r = 0; r < RECIPES; r++) fprintf(output.file, " %.5g", stretch[i][r]);
        fputc('\n', output.file);
    }
    output_close(&output);
}

static void incomplete_rotations(const char *data) {
    const RopeParameters *llama31 = &recipes[LLAMA_31].parameters,
                         *llama32 = &recipes[LLAMA_32].parameters;
    const struct {
        const char *name;
        const RopeParameters *parameters;
        int D, context;
    } models[] = {{"Llama 1", &llama2, 128, 2048},        {"Llama 2", &llama2, 128, 4096},
                  {"Llama 3", &llama3, 128, 8192},        {"Llama 3.1", llama31, 128, 131072},
                  {"Llama 3.2 3B", llama32, 128, 131072}, {"Llama 3.2 1B", llama32, 64, 131072}};
    section("Pairs that never complete a rotation");
    Table table = {0};
    table_row(&table,
              "model|theta|context|pairs|incomplete|longest wavelength, millions|rotates by");
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        int count = models[m].D / 2, context = models[m].context, incomplete = 0;
        float inv_freq[count];
        rope_frequencies(models[m].D, inv_freq, models[m].parameters, 1);
        for (int i = 0; i < count; i++)
            if (wavelength(inv_freq[i]) > context) incomplete++;
        double slowest = wavelength(inv_freq[count - 1]);
        table_row(&table, "%s|%.0f|%d|%d|%d|%.2f|%.1f°", models[m].name,
                  models[m].parameters->rope_theta, context, count, incomplete, slowest / 1e6,
                  360 * context / slowest);
    }
    table_print(&table, stdout);

    if (!data) return;
    float small[PAIRS], large[PAIRS], scaled[PAIRS];
    rope_frequencies(D, small, &llama2, 1);
    rope_frequencies(D, large, &llama3, 1);
    rope_frequencies(D, scaled, llama31, 1);
    Output output =
        data_open(data, "05_wavelengths", "pair; wavelength: theta 10000, theta 500000, Llama 3.1");
    for (int i = 0; i < PAIRS; i++)
        fprintf(output.file, "%d %.6g %.6g %.6g\n", i, wavelength(small[i]), wavelength(large[i]),
                wavelength(scaled[i]));
    output_close(&output);
}

/* The score of a query with a key of its own direction, equal in every pair, `distance` apart: the
 * mean cosine. */
static double match(double distance, const float inv_freq[PAIRS]) {
    double sum = 0;
    for (int i = 0; i < PAIRS; i++) sum += cos(distance * (double)inv_freq[i]);
    return sum / PAIRS;
}

enum { INSIDE = 4096, ALL = 32768, BUCKET = 256 };

static void match_row(Table *table, const char *name, int from, int to, const double matches[ALL],
                      double bound) {
    double least = 1;
    int below = 0;
    for (int d = from; d < to; d++) {
        least = fmin(least, matches[d]);
        if (matches[d] < bound) below++;
    }
    table_row(table, "%s|%.3f|%d of %d", name, least, below, to - from);
}

static void write_range(FILE *file, const double matches[BUCKET]) {
    double least = 1, most = -1;
    for (int d = 0; d < BUCKET; d++) {
        least = fmin(least, matches[d]);
        most = fmax(most, matches[d]);
    }
    fprintf(file, " %.4f %.4f", least, most);
}

static void extrapolation(const char *data) {
    static double plain[ALL], scaled[ALL];
    const int shown[] = {0, 1, 10, 100, 1000, 2000, 4000};
    float inv_freq[PAIRS];
    rope_frequencies(D, inv_freq, &llama2, 1);
    for (int d = 0; d < ALL; d++) {
        plain[d] = match(d, inv_freq);
        scaled[d] = match(d / 8.0, inv_freq);
    }
    section("Near and far");
    Table table = {0};
    table_row(&table,
              "distance|q and k alike|k made for a distance of 1000|alike, linear scaling by 8");
    for (int n = 0; n < 7; n++)
        table_row(&table, "%d|%.3f|%.3f|%.3f", shown[n], plain[shown[n]],
                  match(shown[n] - 1000, inv_freq), scaled[shown[n]]);
    table_print(&table, stdout);

    section("Inside and outside a context of %d", INSIDE);
    double bound = 1; /* 0.001 below the least: beside what lies between whole positions */
    for (int d = 0; d < INSIDE; d++) bound = fmin(bound, plain[d] - 0.001);
    table_row(&table, "alike, at distances|least score|lower than any inside");
    match_row(&table, "0 to 4095", 0, INSIDE, plain, bound);
    match_row(&table, "4096 to 32767", INSIDE, ALL, plain, bound);
    match_row(&table, "4096 to 32767, scaled by 8", INSIDE, ALL, scaled, bound);
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "05_decay",
                              "distance; least and greatest score near it: plain; scaled by 8");
    for (int d = 0; d < ALL; d += BUCKET) {
        fprintf(output.file, "%d", d + BUCKET / 2);
        write_range(output.file, plain + d);
        write_range(output.file, scaled + d);
        fputc('\n', output.file);
    }
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 5 draw.");
    Sentence s = sentence_open();
    added_or_rotated(data, &s);
    clocks(data, &s);
    two_heads(data, &s);
    wrong_pairing(data);
    pairs(data);
    slow_pairs();
    incomplete_rotations(data);
    scaling(data);
    extrapolation(data);
    how_exact(data);
    whole_width();
    sentence_close(&s);
}
