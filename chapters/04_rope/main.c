/* Chapter 4: a rotation, one function in many forms, two layouts that do not mix, and how far the angles reach. */
#include "04_rope/rope.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
enum { D = 128, PAIRS = D / 2 }; /* a head of every Llama but 3.2 1B */
static const RopeParameters llama2 = {.rope_theta = 1e4}, llama3 = {.rope_theta = 5e5};

/* ---- a rotation in the plane */

typedef struct { float x, y; } Point;

static Point rotate(float angle, Point p) { /* R(angle) p: a head of width 2 is one pair, its matrix one block */
    float m[2][2];
    rope_matrix(2, m, &(float){cosf(angle)}, &(float){sinf(angle)});
    return (Point){m[0][0] * p.x + m[0][1] * p.y, m[1][0] * p.x + m[1][1] * p.y};
}

static Point rotate_transposed(float angle, Point p) { /* R(angle)^T p */
    float m[2][2];
    rope_matrix(2, m, &(float){cosf(angle)}, &(float){sinf(angle)});
    return (Point){m[0][0] * p.x + m[1][0] * p.y, m[0][1] * p.x + m[1][1] * p.y};
}

static Point rotate_row(float angle, Point p) { /* p S with S = [[cos, sin], [-sin, cos]], for those who write rows */
    float s[2][2] = {{cosf(angle), sinf(angle)}, {-sinf(angle), cosf(angle)}};
    return (Point){p.x * s[0][0] + p.y * s[1][0], p.x * s[0][1] + p.y * s[1][1]};
}

static void in_the_plane(void) {
    const Point x = {3, 4}, once = rotate(1, x);
    const struct {
        const char *name;
        Point p;
    } rows[] = {{"x", x}, {"R(1) x", once}, {"x S(1), as a row", rotate_row(1, x)}, {"R(2) R(1) x", rotate(2, once)},
                {"R(3) x", rotate(3, x)}, {"R(1)^T x", rotate_transposed(1, x)}, {"R(-1) x", rotate(-1, x)},
                {"R(-1) R(1) x", rotate(-1, once)}};
    section("A rotation in the plane");
    Table table = {0};
    table_row(&table, "|x|y|length|distance from x");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Point p = rows[i].p;
        table_row(&table, "%s|%.4f|%.4f|%.4f|%.4f", rows[i].name, p.x, p.y, hypot(p.x, p.y),
                  hypot(p.x - x.x, p.y - x.y));
    }
    table_print(&table, stdout);
}

/* ---- one position */

typedef void Rope(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                  const float cosine[T][D / 2], const float sine[T][D / 2]);

static void turn(Rope *rope, int H, int D, float out[restrict 1][H][D], const float x[1][H][D], int position) {
    float inv_freq[D / 2], table[2][1][D / 2];
    float factor = rope_frequencies(D, inv_freq, &llama2, 1);
    rope_table(1, D, table, &position, inv_freq, factor);
    rope(1, H, D, out, x, table[0], table[1]);
}

static double dot(int D, const float a[D], const float b[D]) {
    double sum = 0;
    for (int i = 0; i < D; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* <R(m) q, R(n) k> */
static double score(Rope *rope, int D, const float q[1][1][D], int m, const float k[1][1][D], int n) {
    float turned_q[1][1][D], turned_k[1][1][D];
    turn(rope, 1, D, turned_q, q, m);
    turn(rope, 1, D, turned_k, k, n);
    return dot(D, turned_q[0][0], turned_k[0][0]);
}

static void only_the_distance(void) {
    const float q[1][1][4] = {{{1, 0, 1, 0}}}, k[1][1][4] = {{{0, 1, 0, 1}}};
    static const int places[][2] = {{3, 1}, {10, 8}, {102, 100}, {5, 5}, {1, 3}};
    section("The score sees only the distance");
    Table table = {0};
    table_row(&table, "query at m|key at n|m - n|both turned|q^T R(n - m) k|q^T R(m - n) k");
    for (int i = 0; i < 5; i++) {
        int m = places[i][0], n = places[i][1];
        table_row(&table, "%d|%d|%d|%.4f|%.4f|%.4f", m, n, m - n, score(rope_interleaved, 4, q, m, k, n),
                  score(rope_interleaved, 4, q, 0, k, n - m), score(rope_interleaved, 4, q, 0, k, m - n));
    }
    table_print(&table, stdout);
}

/* ---- one function, many forms */

/* C stores a complex number as its real part, then its imaginary part: interleaved pairs by another name. */
static void by_complex(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                       const float cosine[T][D / 2], const float sine[T][D / 2]) {
    float complex(*freqs_cis)[D / 2] = allocate((size_t)T * sizeof *freqs_cis);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D / 2; i++) freqs_cis[t][i] = cosine[t][i] + sine[t][i] * I;
    rope_complex(T, H, D, (float complex(*)[H][D / 2])out, (const float complex(*)[H][D / 2])x, freqs_cis);
    free(freqs_cis);
}

/* As transformers writes half-split: x cos + rotate_half(x) sin, over the whole width. */
static void by_rotate_half(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                           const float cosine[T][D / 2], const float sine[T][D / 2]) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int j = 0; j < D; j++) {
                float rotated_half = j < D / 2 ? -x[t][h][j + D / 2] : x[t][h][j - D / 2];
                out[t][h][j] = x[t][h][j] * cosine[t][j % (D / 2)] + rotated_half * sine[t][j % (D / 2)];
            }
}

static void form_row(Table *table, const char *name, Rope *rope, const float x[1][1][4]) {
    float out[1][1][4], *o = out[0][0];
    turn(rope, 1, 4, out, x, 1);
    table_row(table, "%s|%.4f|%.4f|%.4f|%.4f", name, o[0], o[1], o[2], o[3]);
}

static void forms(void) {
    const float x[1][1][4] = {{{1, 2, 3, 4}}}, reordered[1][1][4] = {{{1, 3, 2, 4}}};
    section("One function, many forms");
    Table table = {0};
    table_row(&table, "at position 1|out 0|out 1|out 2|out 3");
    form_row(&table, "(1, 2, 3, 4), matrix", rope_by_matrix, x);
    form_row(&table, "(1, 2, 3, 4), complex", by_complex, x);
    form_row(&table, "(1, 2, 3, 4), interleaved", rope_interleaved, x);
    form_row(&table, "(1, 3, 2, 4), half-split", rope_half_split, reordered);
    form_row(&table, "(1, 3, 2, 4), rotate_half", by_rotate_half, reordered);
    form_row(&table, "(1, 2, 3, 4), half-split", rope_half_split, x);
    table_print(&table, stdout);
}

/* ---- the two layouts */

static void permuted_weights(void) {
    enum { C = 32 };
    static float w_q[D][C], w_k[D][C], moved_q[D][C], moved_k[D][C];
    float x_q[1][C], x_k[1][C], q[1][1][D], k[1][1][D], new_q[1][1][D], new_k[1][1][D];
    Random random = {.state = 4};
    for (int row = 0; row < D; row++) random_fill(&random, C, w_q[row]), random_fill(&random, C, w_k[row]);
    random_fill(&random, C, x_q[0]), random_fill(&random, C, x_k[0]);
    rows_to_half_split(1, D, C, moved_q, w_q), rows_to_half_split(1, D, C, moved_k, w_k);
    linear(1, C, D, q[0], x_q, w_q, NULL), linear(1, C, D, new_q[0], x_q, moved_q, NULL);
    linear(1, C, D, k[0], x_k, w_k, NULL), linear(1, C, D, new_k[0], x_k, moved_k, NULL);

    section("The same scores from permuted weights");
    Table table = {0};
    table_row(&table, "distance|interleaved|permuted, half-split|not permuted, half-split");
    for (const int *d = (int[]){0, 1, 5, 20, 100, -1}; *d >= 0; d++)
        table_row(&table, "%d|%.2f|%.2f|%.2f", *d, score(rope_interleaved, D, q, *d, k, 0),
                  score(rope_half_split, D, new_q, *d, new_k, 0), score(rope_half_split, D, q, *d, k, 0));
    table_print(&table, stdout);
}

/* The correlation of the two pairings' scores, <R q, k> and <S q, k>, over all queries and keys. If their elements
 * are independent with mean 0 and one variance it is trace(R^T S) / D: the mean inner product of what R and S make of
 * each basis vector. The D basis vectors go through the kernels as D heads. */
static double correlation(int distance) {
    static float basis[1][D][D], right[1][D][D], wrong[1][D][D];
    for (int j = 0; j < D; j++) basis[0][j][j] = 1;
    turn(rope_interleaved, D, D, right, basis, distance);
    turn(rope_half_split, D, D, wrong, basis, distance);
    double trace = 0;
    for (int j = 0; j < D; j++) trace += dot(D, right[0][j], wrong[0][j]);
    return trace / D;
}

static void wrong_pairing(const char *data) {
    section("The wrong pairing");
    Table table = {0};
    table_row(&table, "distance|its score's correlation with the right one");
    for (const int *d = (int[]){0, 1, 2, 5, 10, 20, 50, 100, 1000, -1}; *d >= 0; d++)
        table_row(&table, "%d|%.2f", *d, correlation(*d));
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "04_mixed", "distance, correlation of the two pairings' scores");
    for (int d = 0; d <= 120; d++) fprintf(output.file, "%d %.4f\n", d, correlation(d));
    output_close(&output);
}

/* Which elements a kernel pairs: a quarter turn of every pair sends element j to its partner. */
static void write_pairs(const char *data) {
    enum { SMALL = 8 };
    const float cosine[1][SMALL / 2] = {0}, sine[1][SMALL / 2] = {{1, 1, 1, 1}};
    Rope *const layouts[] = {rope_interleaved, rope_half_split};
    Output output = data_open(data, "04_pairs", "layout, element, its partner");
    for (int layout = 0; layout < 2; layout++)
        for (int j = 0; j < SMALL; j++) {
            float basis[1][1][SMALL] = {0}, out[1][1][SMALL];
            basis[0][0][j] = 1;
            layouts[layout](1, 1, SMALL, out, basis, cosine, sine);
            for (int partner = j + 1; partner < SMALL; partner++)
                if (out[0][0][partner] > 0) fprintf(output.file, "%d %d %d\n", layout, j, partner);
        }
    output_close(&output);
}

/* ---- the angles */

static double wavelength(float inv_freq) { return 2 * pi / (double)inv_freq; } /* positions in one whole turn */

static void whole_width(void) {
    enum { C = 4096, H = 32 };
    float head[PAIRS], all[C / 2];
    rope_frequencies(D, head, &llama2, 1), rope_frequencies(C, all, &llama2, 1);
    section("A table for the whole width");
    Table table = {0};
    table_row(&table, "head|its wavelengths|from a table of width %d", C);
    for (const int *h = (int[]){0, 1, 15, 31, -1}; *h >= 0; h++)
        table_row(&table, "%d|%.1f to %.1f|%.1f to %.1f", *h, wavelength(head[0]), wavelength(head[PAIRS - 1]),
                  wavelength(all[*h * PAIRS]), wavelength(all[*h * PAIRS + PAIRS - 1]));
    table_print(&table, stdout);
}

static double exact_angle(int position, double theta, int i) { return position * pow(theta, -2.0 * i / D); }

/* The largest errors over the pairs, at the positions measured so far, in radians. */
typedef struct { double table, large_theta, bf16, spin, length; } Errors;

static float to_bf16(float value) { return bf16_to_float(bf16_from_float(value)); }

/* Tables hold position * inv_freq[i]; spin[i] is (1, 0) turned `position` times by the same small angle. */
static void measure(Errors *worst, int position, const float complex spin[PAIRS]) {
    float inv_freq[PAIRS], large_theta[PAIRS], p = (float)position;
    rope_frequencies(D, inv_freq, &llama2, 1), rope_frequencies(D, large_theta, &llama3, 1);
    for (int i = 0; i < PAIRS; i++) {
        double angle = exact_angle(position, 1e4, i), slower = exact_angle(position, 5e5, i);
        worst->table = fmax(worst->table, fabs(p * inv_freq[i] - angle));
        worst->large_theta = fmax(worst->large_theta, fabs(p * large_theta[i] - slower));
        worst->bf16 = fmax(worst->bf16, fabs(to_bf16(to_bf16(p) * to_bf16(inv_freq[i])) - angle));
        worst->spin = fmax(worst->spin, fabs(remainder(carg(spin[i]) - angle, 2 * pi)));
        worst->length = fmax(worst->length, fabs(cabs(spin[i]) - 1));
    }
}

static void how_exact(const char *data) {
    section("How exact the angles are");
    Table table = {0};
    table_row(&table, "up to position|table|theta 500000|table in bf16|R R R …|its length");
    Output output = {0};
    if (data) output = data_open(data, "04_error", "position, largest error so far: table, bf16, R R R …, length");
    float complex step[PAIRS], spin[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        step[i] = (float complex)cexp(I * exact_angle(1, 1e4, i));
        spin[i] = 1;
    }
    Errors worst = {0};
    for (int position = 1, next = 1; position <= 131071; position++) {
        /* A product of two float32 numbers is exact in a double: each step rounds to float32 once. */
        for (int i = 0; i < PAIRS; i++) spin[i] = (float complex)((double complex)spin[i] * step[i]);
        bool listed = position == 100 || position == 1000 || position == 10000 || position == 100000 ||
                      position == 131071;
        if (position < next && !listed) continue;
        next = position + 1 + position / 64;
        measure(&worst, position, spin);
        if (listed)
            table_row(&table, "%d|%.5f|%.5f|%.1f|%.5f|%.5f", position, worst.table, worst.large_theta, worst.bf16,
                      worst.spin, worst.length);
        if (data)
            fprintf(output.file, "%d %.3g %.3g %.3g %.3g\n", position, worst.table, worst.bf16, worst.spin,
                    worst.length);
    }
    if (data) output_close(&output);
    table_print(&table, stdout);
}

/* ---- longer contexts */

static const struct {
    const char *name;
    RopeParameters parameters;
} recipes[] = {
    {"linear", {.rope_type = ROPE_LINEAR, .rope_theta = 5e5, .factor = 8}},
    {"dynamic", {.rope_type = ROPE_DYNAMIC, .rope_theta = 5e5, .factor = 1, .max_position_embeddings = 8192}},
    {"yarn", {.rope_type = ROPE_YARN, .rope_theta = 5e5, .factor = 8, .original_max_position_embeddings = 8192}},
    {"llama3, 8", {.rope_type = ROPE_LLAMA3, .rope_theta = 5e5, .factor = 8, .original_max_position_embeddings = 8192,
                   .low_freq_factor = 1, .high_freq_factor = 4}},
    {"llama3, 32", {.rope_type = ROPE_LLAMA3, .rope_theta = 5e5, .factor = 32, .original_max_position_embeddings = 8192,
                    .low_freq_factor = 1, .high_freq_factor = 4}}};
enum { LLAMA_31 = 3, LLAMA_32 = 4, RECIPES = sizeof recipes / sizeof *recipes };

static void scaling(const char *data) {
    float plain[PAIRS], scaled[RECIPES][PAIRS], factor[RECIPES];
    double stretch[PAIRS][RECIPES];
    rope_frequencies(D, plain, &llama3, 1);
    for (int r = 0; r < RECIPES; r++) {
        factor[r] = rope_frequencies(D, scaled[r], &recipes[r].parameters, 8 * 8192);
        for (int i = 0; i < PAIRS; i++) stretch[i][r] = plain[i] / scaled[r][i];
    }
    section("By how much each recipe stretches a pair");
    Table table = {0};
    table_row(&table, "pair|wavelength|linear|dynamic|yarn|llama3, 8|llama3, 32");
    for (const int *i = (int[]){0, 8, 16, 24, 28, 30, 32, 34, 36, 40, 48, 63, -1}; *i >= 0; i++) {
        const double *s = stretch[*i];
        table_row(&table, "%d|%.0f|%.2f|%.2f|%.2f|%.2f|%.2f", *i, wavelength(plain[*i]), s[0], s[1], s[2], s[3],
                  s[4]);
    }
    table_print(&table, stdout);
    putchar('\n');
    table_row(&table, "recipe|unchanged|in between|stretched in full|cosine and sine times");
    for (int r = 0; r < RECIPES; r++) {
        int unchanged = 0, full = 0;
        for (int i = 0; i < PAIRS; i++) {
            unchanged += stretch[i][r] < 1.0001;
            full += stretch[i][r] > 0.9999 * stretch[PAIRS - 1][r];
        }
        table_row(&table, "%s|%d|%d|%d|%.4f", recipes[r].name, unchanged, PAIRS - unchanged - full, full, factor[r]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "04_scaling", "pair; stretched by: linear, dynamic, yarn, llama3 8, llama3 32");
    for (int i = 0; i < PAIRS; i++, fputc('\n', output.file)) {
        fprintf(output.file, "%d", i);
        for (int r = 0; r < RECIPES; r++) fprintf(output.file, " %.5g", stretch[i][r]);
    }
    output_close(&output);
}

static void never_round(void) {
    const struct {
        const char *name;
        const RopeParameters *parameters;
        int D, context;
    } models[] = {{"Llama 1", &llama2, 128, 2048}, {"Llama 2", &llama2, 128, 4096}, {"Llama 3", &llama3, 128, 8192},
                  {"Llama 3.1", &recipes[LLAMA_31].parameters, 128, 131072},
                  {"Llama 3.2 3B", &recipes[LLAMA_32].parameters, 128, 131072},
                  {"Llama 3.2 1B", &recipes[LLAMA_32].parameters, 64, 131072}};
    section("Pairs that never come round");
    Table table = {0};
    table_row(&table, "model|theta|context|pairs|never come round|slowest wavelength, millions|turns by");
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        int pairs = models[m].D / 2, context = models[m].context, never = 0;
        float inv_freq[pairs];
        rope_frequencies(models[m].D, inv_freq, models[m].parameters, 1);
        for (int i = 0; i < pairs; i++) never += wavelength(inv_freq[i]) > context;
        double slowest = wavelength(inv_freq[pairs - 1]);
        table_row(&table, "%s|%.0f|%d|%d|%d|%.2f|%.1f°", models[m].name, models[m].parameters->rope_theta, context,
                  pairs, never, slowest / 1e6, 360 * context / slowest);
    }
    table_print(&table, stdout);
}

/* The score of a query with a key of its own direction, equal in every pair, `distance` apart: the mean cosine. */
static double match(double distance, const float inv_freq[PAIRS]) {
    double sum = 0;
    for (int i = 0; i < PAIRS; i++) sum += cos(distance * (double)inv_freq[i]);
    return sum / PAIRS;
}

static double least_match(int from, int to, double factor, const float inv_freq[PAIRS]) {
    double least = 1;
    for (int d = from; d < to; d++) least = fmin(least, match(d / factor, inv_freq));
    return least;
}

enum { INSIDE = 4096, ALL = 32768 };

static void match_row(Table *table, const char *name, int from, int to, double factor, const float inv_freq[PAIRS]) {
    double bound = least_match(0, INSIDE, 1, inv_freq) - 0.001; /* beside what lies between whole positions */
    int below = 0;
    for (int d = from; d < to; d++) below += match(d / factor, inv_freq) < bound;
    table_row(table, "%s|%.3f|%d of %d", name, least_match(from, to, factor, inv_freq), below, to - from);
}

static void extrapolation(const char *data) {
    float inv_freq[PAIRS];
    rope_frequencies(D, inv_freq, &llama2, 1);
    section("Inside and outside a context of %d", INSIDE);
    Table table = {0};
    table_row(&table, "distance|q and k alike|k made for a distance of 1000|alike, linear scaling by 8");
    for (const int *d = (int[]){0, 1, 10, 100, 1000, 2000, 4000, 8000, 16000, 32000, -1}; *d >= 0; d++)
        table_row(&table, "%d|%.3f|%.3f|%.3f", *d, match(*d, inv_freq), match(*d - 1000, inv_freq),
                  match(*d / 8.0, inv_freq));
    table_print(&table, stdout);
    putchar('\n');
    table_row(&table, "alike, at distances|least score|lower than any inside");
    match_row(&table, "0 to 4095", 0, INSIDE, 1, inv_freq);
    match_row(&table, "4096 to 32767", INSIDE, ALL, 1, inv_freq);
    match_row(&table, "4096 to 32767, scaled by 8", INSIDE, ALL, 8, inv_freq);
    table_print(&table, stdout);

    if (!data) return;
    enum { BUCKET = 256 };
    Output output = data_open(data, "04_decay", "distance; least of the scores around it: as trained, scaled by 8");
    for (int d = 0; d < ALL; d += BUCKET)
        fprintf(output.file, "%d %.4f %.4f\n", d + BUCKET / 2, least_match(d, d + BUCKET, 1, inv_freq),
                least_match(d, d + BUCKET, 8, inv_freq));
    output_close(&output);
}

static void write_angles(const char *data) {
    enum { T = 256 };
    static float table[2][T][PAIRS];
    int positions[T];
    float inv_freq[PAIRS], large_theta[PAIRS];
    for (int t = 0; t < T; t++) positions[t] = t;
    rope_frequencies(D, large_theta, &llama3, 1);
    rope_table(T, D, table, positions, inv_freq, rope_frequencies(D, inv_freq, &llama2, T));

    Output output = data_open(data, "04_wavelengths", "pair, wavelength with theta 10000, with theta 500000");
    for (int i = 0; i < PAIRS; i++)
        fprintf(output.file, "%d %.6g %.6g\n", i, wavelength(inv_freq[i]), wavelength(large_theta[i]));
    output_close(&output);
    output = data_open(data, "04_table", "a line for each position: the cosine of every pair, then the sine");
    for (int t = 0; t < T; t++, fputc('\n', output.file))
        for (int i = 0; i < D; i++) fprintf(output.file, "%.3f ", table[i / PAIRS][t][i % PAIRS]);
    output_close(&output);
}

/* ---- agreement with PyTorch */

static void agree(Table *table, const char *form, Rope *rope, const char *kernel) {
    Golden golden = golden_open(kernel);
    double ulps = 0, reference = 0;
    size_t wrong = 0, count = 0;
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        void *x = tensor_to_float(golden_input(c, "x"));
        void *cosine = tensor_to_float(golden_input(c, "cosine")), *sine = tensor_to_float(golden_input(c, "sine"));
        Tensor got = c->expected;
        int T = (int)got.shape[0], H = (int)got.shape[1], D = (int)got.shape[2];
        float(*out)[H][D] = allocate(tensor_bytes(&got));
        rope(T, H, D, out, x, cosine, sine);
        got.data = out;
        Agreement a = golden_check(c, false, &got);
        ulps = fmax(ulps, a.ulps), reference = fmax(reference, a.reference);
        wrong += a.wrong, count += a.count;
        free(x), free(cosine), free(sine), free(out);
    }
    table_row(table, "%s|%d|%zu of %zu|%.1f|%.1f", form, golden.count, wrong, count, ulps, reference);
    golden_close(&golden);
}

static void agreement(void) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "form|cases|wrong|our worst error, ulps|PyTorch's");
    agree(&table, "matrix", rope_by_matrix, "rope_interleaved");
    agree(&table, "complex", by_complex, "rope_interleaved");
    agree(&table, "interleaved", rope_interleaved, "rope_interleaved");
    agree(&table, "half-split", rope_half_split, "rope_half_split");
    agree(&table, "rotate_half", by_rotate_half, "rope_half_split");
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 4, RoPE: rotary position embedding.");
    in_the_plane();
    only_the_distance();
    forms();
    permuted_weights();
    wrong_pairing(data);
    whole_width();
    how_exact(data);
    scaling(data);
    never_round();
    extrapolation(data);
    if (data) write_pairs(data), write_angles(data);
    agreement();
}
