/* What the golden values of chapter 5 cannot see: that the four forms are one rotation, that
 * permuted weights keep the scores, that a score knows only the distance, and what is refused. */
#include "05_rope/rope.h"
#include "common/linear.h"
#include "common/random.h"
#include "tests/refused.h"

#include <math.h>

enum { T = 6, H = 4, KV = 2, C = 20, D = 10, PAIRS = D / 2 };

static const RopeParameters llama1 = {.rope_theta = 10000};
static const float rounding =
    2e-5f; /* some float32 roundings of sums of a hundred numbers near 1 */

static void assert_near(float got, float right) {
    if (!(fabsf(got - right) <= rounding)) fail_msg("%g is not %g", got, right);
}

static void assert_all_near(size_t count, const float got[count], const float right[count]) {
    for (size_t i = 0; i < count; i++) assert_near(got[i], right[i]);
}

static void table_from(int first, float table[2][T][PAIRS]) {
    float inv_freq[PAIRS];
    int positions[T];
    for (int t = 0; t < T; t++) positions[t] = first + t;
    rope_frequencies(D, inv_freq, &llama1, first + T);
    rope_table(T, D, table, positions, inv_freq);
}

/* ------------------------------------------------------------------ one rotation, four forms */

static void the_four_forms_agree(void **) {
    Random random = {4};
    float x[T][H][D], table[2][T][PAIRS], by_matrix[T][H][D], other[T][H][D], permuted[T][H][D];
    random_fill(&random, sizeof x / sizeof(float), (float *)x);
    table_from(3, table);
    rope_by_matrix(T, H, D, by_matrix, x, table[COSINES], table[SINES]);

    memset(other, 0xff, sizeof other); /* NaN: nothing of it may be left */
    rope_interleaved(T, H, D, other, x, table[COSINES], table[SINES]);
    assert_all_near(T * H * D, (float *)other, (float *)by_matrix);

    float complex
        freqs_cis[T][PAIRS]; /* in memory, a complex number is its real and its imaginary part */
    for (int t = 0; t < T; t++)
        for (int i = 0; i < PAIRS; i++)
            freqs_cis[t][i] = table[COSINES][t][i] + I * table[SINES][t][i];
    memset(other, 0xff, sizeof other);
    rope_complex(T, H, D, (float complex(*)[H][PAIRS])other, (float complex(*)[H][PAIRS])x,
                 freqs_cis);
    assert_all_near(T * H * D, (float *)other, (float *)by_matrix);

    /* A head's numbers are reordered as a weight's rows are: a row of one. */
    memset(other, 0xff, sizeof other);
    for (int t = 0; t < T; t++)
        rows_to_half_split(H, D, 1, (float(*)[1])permuted[t], (float(*)[1])x[t]);
    rope_half_split(T, H, D, other, permuted, table[COSINES], table[SINES]);
    for (int t = 0; t < T; t++)
        rows_to_interleaved(H, D, 1, (float(*)[1])permuted[t], (float(*)[1])other[t]);
    assert_all_near(T * H * D, (float *)permuted, (float *)by_matrix);
}

static void the_matrix_is_a_rotation(void **) {
    float table[2][T][PAIRS], matrix[D + 2][D]; /* two rows more than it may touch */
    table_from(7, table);
    memset(matrix, 0xff, sizeof matrix); /* NaN */
    rope_matrix(D, matrix, table[COSINES][2], table[SINES][2]);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            float dot = 0; /* its rows are of length 1 and orthogonal */
            for (int k = 0; k < D; k++) dot += matrix[i][k] * matrix[j][k];
            assert_near(dot, i == j);
            assert_true(isnan(matrix[D + i % 2][j]));
        }
}

/* ----------------------------------------------------------------- from one layout to the other */

static void rows_are_reordered_as_transformers_does(void **) {
    /* torch.arange(16).view(2, 4, 2).view(2, 2, 2, 2).transpose(1, 2): two heads of width 4, C = 2.
     */
    const float expected[8][2] = {{0, 1}, {4, 5},   {2, 3},   {6, 7},
                                  {8, 9}, {12, 13}, {10, 11}, {14, 15}};
    float weight[8][2], half_split[8][2], back[8][2];
    for (int i = 0; i < 16; i++) weight[i / 2][i % 2] = (float)i;
    rows_to_half_split(2, 4, 2, half_split, weight);
    assert_memory_equal(half_split, expected, sizeof expected);
    rows_to_interleaved(2, 4, 2, back, half_split);
    assert_memory_equal(back, weight, sizeof weight);
}

static void the_two_are_inverse(void **) {
    Random random = {2};
    float weight[H * D][C], there[H * D][C], back[H * D][C];
    random_fill(&random, sizeof weight / sizeof(float), (float *)weight);
    rows_to_half_split(H, D, C, there, weight);
    rows_to_interleaved(H, D, C, back, there);
    assert_memory_equal(back, weight, sizeof weight);
    rows_to_interleaved(H, D, C, there, weight);
    rows_to_half_split(H, D, C, back, there);
    assert_memory_equal(back, weight, sizeof weight);
}

/* Query t of head h against key s, which the heads of a group share. */
typedef float Scores[H][T][T];
typedef __typeof__(rope_half_split) Rotation;

static void turn_and_score(Scores scores, Rotation *rope, int first, const float q[T][H][D],
                           const float k[T][KV][D]) {
    float table[2][T][PAIRS], turned_q[T][H][D], turned_k[T][KV][D];
    table_from(first, table);
    rope(T, H, D, turned_q, q, table[COSINES], table[SINES]);
    rope(T, KV, D, turned_k, k, table[COSINES], table[SINES]);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s < T; s++) {
                const float *query = turned_q[t][h], *key = turned_k[s][h / (H / KV)];
                scores[h][t][s] = 0;
                for (int i = 0; i < D; i++) scores[h][t][s] += query[i] * key[i] / D;
            }
}

static void project_and_score(Scores scores, Rotation *rope, const float x[T][C],
                              const float w_q[H * D][C], const float w_k[KV * D][C]) {
    float q[T][H * D], k[T][KV * D];
    linear(T, C, H * D, q, x, w_q, NULL);
    linear(T, C, KV * D, k, x, w_k, NULL);
    turn_and_score(scores, rope, 0, (float(*)[H][D])q, (float(*)[KV][D])k);
}

static void permuted_weights_keep_the_scores(void **) {
    Random random = {3};
    float x[T][C], w_q[H * D][C], w_k[KV * D][C], permuted_q[H * D][C], permuted_k[KV * D][C];
    random_fill(&random, sizeof x / sizeof(float), (float *)x);
    random_fill(&random, sizeof w_q / sizeof(float), (float *)w_q);
    random_fill(&random, sizeof w_k / sizeof(float), (float *)w_k);
    rows_to_half_split(H, D, C, permuted_q, w_q);
    rows_to_half_split(KV, D, C, permuted_k, w_k);

    Scores meta, hugging_face, mixed;
    project_and_score(meta, rope_interleaved, x, w_q, w_k);
    project_and_score(hugging_face, rope_half_split, x, permuted_q, permuted_k);
    project_and_score(mixed, rope_half_split, x, w_q, w_k);
    assert_all_near(H * T * T, (float *)hugging_face, (float *)meta);
    for (int h = 0; h < H; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s < T; s++) {
                float apart = fabsf(mixed[h][t][s] - meta[h][t][s]);
                if (t == s) assert_near(apart, 0); /* turned alike, the pairing does not matter */
                else assert_true(apart > 100 * rounding);
            }
}

/* ------------------------------------------------------------------ what RoPE is for */

static void a_score_knows_only_the_distance(void **) {
    Random random = {6};
    float q[T][H][D], k[T][KV][D]; /* the same at every position */
    random_fill(&random, H * D, (float *)q);
    random_fill(&random, KV * D, (float *)k);
    for (int t = 1; t < T; t++) {
        memcpy(q[t], q[0], sizeof *q);
        memcpy(k[t], k[0], sizeof *k);
    }

    Scores near, far;
    Rotation *const layouts[] = {rope_interleaved, rope_half_split};
    for (size_t l = 0; l < COUNT(layouts); l++) {
        turn_and_score(near, layouts[l], 0, q, k);
        turn_and_score(far, layouts[l], 40, q, k);
        assert_all_near(H * T * T, (float *)near, (float *)far);
        for (int h = 0; h < H; h++) {
            float moved = 0, mirrored = 0;
            for (int t = 1; t < T; t++) {
                for (int s = 1; s < T; s++) assert_near(near[h][t][s], near[h][t - 1][s - 1]);
                moved = fmaxf(moved, fabsf(near[h][t][0] - near[h][0][0]));
                mirrored =
                    fmaxf(mirrored, fabsf(near[h][t][0] - near[h][0][t])); /* before is not after */
            }
            assert_true(moved > 1000 * rounding && mirrored > 1000 * rounding);
        }
    }
}

/* ------------------------------------------------------------------ what is refused */

/* No width or table of 0: in C an array type of 0 elements is undefined before the kernel can
 * refuse it. */
static float y[64], x[64], angle[64];

static void odd_width(void) {
    rope_half_split(1, 1, 3, (void *)y, (void *)x, (void *)angle, (void *)angle);
}
static void odd_complex(void) { rope_complex(1, 1, 5, (void *)y, (void *)x, (void *)angle); }
static void odd_rows(void) { rows_to_half_split(1, 7, 1, (void *)y, (void *)x); }
static void odd_rows_back(void) { rows_to_interleaved(1, 7, 1, (void *)y, (void *)x); }
static void no_tokens(void) {
    rope_interleaved(0, 1, 4, (void *)y, (void *)x, (void *)angle, (void *)angle);
}
static void none_in_qkv(void) {
    rope_qkv(0, 1, 1, 4, (void *)y, (void *)x, (void *)angle, (void *)angle);
}
static void beyond_the_table(void) { check_positions(6, 3, 8); }
static void a_long_way_beyond(void) { check_positions(INT32_MAX, 1, 8); }
static void before_the_table(void) { check_positions(-1, 1, 8); }
static void none_of_the_table(void) { check_positions(0, 0, 8); }

static void what_cannot_be_is_refused(void **) {
    assert_refused(odd_width, "a head of width 3 cannot be cut into pairs: the width must be even");
    assert_refused(odd_complex, "a head of width 5 ");
    assert_refused(odd_rows, "a head of width 7 ");
    assert_refused(odd_rows_back, "a head of width 7 ");
    assert_refused(no_tokens, "0 positions: give at least one");
    assert_refused(none_in_qkv, "0 positions: ");
    assert_refused(beyond_the_table, "3 positions from 6 on are not in a table of 8");
    assert_refused(a_long_way_beyond, "1 positions from 2147483647 on ");
    assert_refused(before_the_table, "1 positions from -1 on ");
    assert_refused(none_of_the_table, "0 positions: ");
}

static void what_fits_is_not_refused(void **) {
    check_positions(0, 8, 8);
    check_positions(7, 1, 8);
    check_positions(5, 3, 8);
    check_positions(INT32_MAX - 1, 1, INT32_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_four_forms_agree),
        cmocka_unit_test(the_matrix_is_a_rotation),
        cmocka_unit_test(rows_are_reordered_as_transformers_does),
        cmocka_unit_test(the_two_are_inverse),
        cmocka_unit_test(permuted_weights_keep_the_scores),
        cmocka_unit_test(a_score_knows_only_the_distance),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(what_fits_is_not_refused),
    };
    return cmocka_run_group_tests_name("rope", tests, NULL, NULL) != 0;
}
