/* What the golden values of chapter 4 cannot see: what is left in `scores`, that the future is not
 * read, that the past has no order, and what is refused. */
#include "04_attention/attention.h"
#include "common/random.h"
#include "tests/near.h"
#include "tests/refused.h"

#include <math.h>

enum { T = 5, S = 9, D = 6 };

static float q[T][D], k[S][D], v[S][D], scores[T][S], out[T][D], again[T][D];

static int fill(void **) {
    Random random = {5};
    random_fill(&random, T * D, (float *)q);
    random_fill(&random, S * D, (float *)k);
    random_fill(&random, S * D, (float *)v);
    attention(T, S, D, out, q, k, v, scores);
    return 0;
}

static void scores_hold_the_weights(void **) {
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int s = 0; s < S; s++) {
            sum += scores[t][s];
            assert_true(s <= S - T + t ? scores[t][s] > 0 : scores[t][s] == 0);
        }
        assert_near(sum, 1, 1e-7); /* each weight is rounded to a float, by up to 6e-8 of it */
    }
    weighted_sum(T, S, D, again, scores, v);
    assert_memory_equal(again, out, sizeof out);
}

static void the_future_changes_nothing(void **) {
    for (int last = S - 1; last > S - T; last--) { /* each query but the last must not notice */
        for (int i = 0; i < D; i++) {
            k[last][i] = 1e30f;
            v[last][i] = -7;
        }
        attention(T, S, D, again, q, k, v, scores);
        assert_memory_equal(again, out, (size_t)(last - (S - T)) * sizeof *out);
        assert_memory_not_equal(again[T - 1], out[T - 1], sizeof *out);
    }
}

static void the_past_has_no_order(void **) {
    float reversed_k[S][D], reversed_v[S][D]; /* the keys that all queries see */
    for (int s = 0; s < S; s++) {
        int from = s <= S - T ? S - T - s : s;
        memcpy(reversed_k[s], k[from], sizeof *k);
        memcpy(reversed_v[s], v[from], sizeof *v);
    }
    attention(T, S, D, again, q, reversed_k, reversed_v, scores);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < D;
             i++) /* sums in double: a float's last bit, 2e-7, may come out otherwise */
            assert_near(again[t][i], out[t][i], 1e-6);
}

static void softmax_works_in_place(void **) {
    float x[2][3] = {{0, 1, 2}, {3, 3, -INFINITY}}, elsewhere[2][3];
    softmax(2, 3, elsewhere, x);
    softmax(2, 3, x, x);
    assert_memory_equal(x, elsewhere, sizeof x);
    assert_true(x[1][0] == 0.5f && x[1][1] == 0.5f && x[1][2] == 0);
}

static void more_queries_than_keys(void) { attention(3, 2, D, out, q, k, v, (float(*)[2])scores); }
static void no_queries(void) { attention(0, S, D, out, q, k, v, scores); }

static void what_cannot_be_is_refused(void **) {
    assert_refused(more_queries_than_keys, "3 queries cannot be the last of 2 positions");
    assert_refused(no_queries, "0 queries ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(scores_hold_the_weights, fill),
        cmocka_unit_test_setup(the_future_changes_nothing, fill),
        cmocka_unit_test_setup(the_past_has_no_order, fill),
        cmocka_unit_test(softmax_works_in_place),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("attention", tests, NULL, NULL) != 0;
}
