/* Chapter 17: what the golden cases of its kernels cannot see, and that what they are parts of
 * learns. */
#include "16_backward/backward.h"
#include "17_training/optimizer.h"
#include "17_training/small.h"
#include "common/random.h"
#include "tests/near.h"

#include <math.h>

/* ------------------------------------------------------------------ the kernels */

enum { N = 1001 };

typedef struct {
    float weight[N], m[N], v[N], gradient[N];
} Arrays;

static Arrays random_arrays(void) {
    Arrays a;
    Random random = {.state = 16};
    random_fill(&random, N, a.weight);
    random_fill(&random, N, a.m);
    random_fill(&random, N, a.gradient);
    for (int i = 0; i < N; i++) a.v[i] = (float)random_uniform(&random);
    return a;
}

static void step_of(Arrays *a, int from, int to) {
    adamw((size_t)(to - from), a->weight + from, a->m + from, a->v + from, a->gradient + from, 7,
          0.01f, 0.9f, 0.95f, 1e-5f, 0.1f);
}

static void adamw_may_be_given_pieces(void **) {
    Arrays whole = random_arrays(), pieces = whole;
    step_of(&whole, 0, N);
    for (int from = 0, size = 1; from < N; from += size, size += 13)
        step_of(&pieces, from, from + size < N ? from + size : N);
    assert_memory_equal(&whole, &pieces, sizeof whole);
}

static void adamw_is_as_long_whatever_the_gradient(void **) {
    for (float g = 1e-6f; g < 1e6f; g *= 10) {
        float weight = 0, m = 0, v = 0;
        adamw(1, &weight, &m, &v, &g, 1, 0.01f, 0.9f, 0.95f, 1e-12f, 0);
        assert_near(weight, -0.01f,
                    1e-7); /* of the smallest gradient eps is a millionth, which is 1e-8 here */
    }
}

/* What Muon takes off a matrix whose gradient is this. */
static void step_of_muon(int rows, int columns, float step[rows][columns],
                         const float gradient[rows][columns]) {
    float m[rows][columns];
    memset(m, 0, sizeof m);
    memset(step, 0, sizeof m);
    muon(rows, columns, step, m, gradient, -1, 0.95f, 0);
}

/* Directions that are a hundred times as long as others, too. Rows or columns, whichever are fewer,
 * have lengths between the least and the greatest singular value; of a tall matrix, times the root
 * of how tall it is. */
static void muon_makes_all_directions_alike(void **) {
    static const int shapes[][2] = {{6, 20}, {20, 6}, {8, 8}, {1, 9}, {9, 1}, {1, 1}, {30, 29}};
    Random random = {.state = 5};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int rows = shapes[s][0], columns = shapes[s][1], high = rows < columns ? rows : columns;
        float gradient[rows][columns], step[rows][columns];
        random_fill(&random, sizeof gradient / sizeof(float), gradient[0]);
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                gradient[r][c] *= (rows < columns ? r : c) % 2 ? 1 : 0.01f;
        step_of_muon(rows, columns, step, gradient);
        for (int i = 0; i < high; i++) {
            double squares = 0;
            for (int j = 0; j < (rows < columns ? columns : rows); j++) {
                double number = rows < columns ? step[i][j] : step[j][i];
                squares += number * number;
            }
            double length = sqrt(squares / fmax(1, (double)rows / columns));
            if (!(length > 0.65 && length < 1.25))
                fail_msg("%d x %d: a direction has %g", rows, columns, length);
        }
    }
}

static void muon_hides_no_number_that_is_none(void **) {
    for (int n = 0; n < 2; n++) {
        float gradient[3][5] = {{1, 2}, {0, 3}}, step[3][5];
        gradient[1][1] = n ? INFINITY : NAN;
        step_of_muon(3, 5, step, gradient);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 5; c++) assert_true(isnan(step[r][c]));
    }
}

static void without_a_gradient_muon_stands_still(void **) {
    const float gradient[4][3] = {0};
    float step[4][3], weight[4][3] = {{1, 2, 3}}, m[4][3] = {0};
    step_of_muon(4, 3, step, gradient);
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 3; c++) assert_true(step[r][c] == 0);
    muon(4, 3, weight, m, gradient, 0.5f, 0.95f, 0.5f);
    assert_true(weight[0][0] == 0.75f && weight[0][1] == 1.5f && weight[3][2] == 0);
}

static void a_gradient_that_is_no_number_is_not_hidden(void **) {
    float one[] = {1, NAN}, other[] = {2}, far[] = {INFINITY, 1};
    assert_true(isnan(clip_gradient(2, (size_t[]){2, 1}, (float *[]){one, other}, 1)));
    assert_true(isnan(one[0]) && isnan(other[0]));
    assert_true(isinf(clip_gradient(1, (size_t[]){2}, (float *[]){far}, 1)));
    assert_true(isnan(far[0]) && far[1] == 0);
}

static void what_is_small_enough_keeps_its_bits(void **) {
    Arrays a = random_arrays(), before = a;
    double norm = clip_gradient(1, (size_t[]){N}, (float *[]){a.gradient}, 40);
    assert_true(norm > 25 && norm < 39);
    assert_memory_equal(a.gradient, before.gradient, sizeof a.gradient);
    clip_gradient(1, (size_t[]){N}, (float *[]){a.gradient}, 1);
    /* What is divided by has 1e-6 added, which of a norm above 25 is 4e-8, and each float rounds by
     * up to 6e-8. */
    assert_near(gradient_norm(N, a.gradient), 1, 2e-7);
}

static void the_rate_never_rises_after_the_peak(void **) {
    for (int warmup = 0; warmup <= 60; warmup += 20) {
        float before = learning_rate(warmup ? warmup : 1, warmup, 60, 2, 0.5f);
        for (int step = warmup + 1; step <= 100; step++) {
            float rate = learning_rate(step, warmup, 60, 2, 0.5f);
            assert_true(rate <= before && rate >= 0.5f);
            before = rate;
        }
        assert_true(before == 0.5f);
    }
}

static void matrices_decay_and_those_of_layers_suit_muon(void **) {
    TinyTrainer l = tiny_trainer_new(1);
    int count = 0, for_muon = 0;
    for (int t = 0; t < l.weights.tensor_count; t++) {
        const Tensor *tensor = &l.weights.tensors[t];
        assert_int_equal(uses_weight_decay(tensor), strstr(tensor->name, "norm") == NULL);
        count += uses_weight_decay(tensor);
        for_muon += uses_muon(tensor);
    }
    assert_int_equal(count, 1 + 2 * 7);
    assert_int_equal(for_muon, 2 * 7); /* without the embedding */
    tiny_trainer_free(&l);
}

static void no_target_no_share(void **) {
    const int targets[2][2] = {{-1, -100}, {-1, -1}};
    float shares[2] = {1, 1};
    microbatch_weights(2, 2, shares, targets);
    assert_true(shares[0] == 0 && shares[1] == 0);
}

/* ------------------------------------------------------------------ a batch in parts */

/* The gradients of two parts with as many targets as they have, by their shares, are those of the
 * whole batch. */
static void parts_are_the_whole(void **) {
    TinyTrainer l = tiny_trainer_new(2);
    const Parameters *w = &l.weights;
    Parameters parts = parameters_new(&w->config);
    Activations half = activations_new(&w->config, &reference_training_kernels, BATCH / 2, TEXT);
    int ids[BATCH][TEXT], targets[BATCH][TEXT];
    for (int b = 0; b < BATCH; b++) {
        draw_text(&l.random, ids[b], targets[b]);
        for (int t = 0; t < b; t++) targets[b][t] = -1; /* the first half has more that count */
    }
    float shares[2];
    microbatch_weights(2, BATCH / 2 * TEXT, shares, (const void *)targets);
    assert_true(shares[0] > 0.6f);
    assert_near((double)shares[0] + (double)shares[1], 1,
                1e-7); /* each is rounded to a float, by up to 3e-8 */
    double whole = decoder_backward(w, &l.gradients, &l.activations, ids[0], targets[0], 1),
           sum = 0;
    for (int b = 0; b < 2; b++)
        sum += shares[b] * decoder_backward(w, &parts, &half, ids[b * BATCH / 2],
                                            targets[b * BATCH / 2], shares[b]);
    assert_near(sum, whole, 1e-6); /* of a loss of 4 the rounded shares make 1e-7 */
    double norm = gradient_norm(w->count, l.gradients.numbers);
    for (size_t i = 0; i < w->count; i++) parts.numbers[i] -= l.gradients.numbers[i];
    assert_true(gradient_norm(w->count, parts.numbers) <
                1e-6 * norm); /* 1e-7: gradients are added up in float32 */
    activations_free(&half);
    parameters_free(&parts);
    tiny_trainer_free(&l);
}

/* ------------------------------------------------------------------ a small Llama */

static void it_learns_the_same_each_time(void **) {
    TinyTrainer one = tiny_trainer_new(3), other = tiny_trainer_new(3);
    Hyperparameters s = llama_settings(40);
    double before = tiny_trainer_loss(&one, 20);
    for (int step = 0; step < 4; step++)
        assert_true(tiny_trainer_step(&one, &s) == tiny_trainer_step(&other, &s));
    assert_memory_equal(one.weights.numbers, other.weights.numbers,
                        one.weights.count * sizeof(float));
    for (int step = 4; step < 40; step++) tiny_trainer_step(&one, &s);
    assert_true(before > 2.8 && tiny_trainer_loss(&one, 20) < 0.8);
    tiny_trainer_free(&one);
    tiny_trainer_free(&other);
}

/* What the lesson says of the answers after its 60 steps, over many texts. */
static void it_prefers_who_is_named_and_not_who_has_it(void **) {
    enum { TEXTS = 400 };
    TinyTrainer l = tiny_trainer_new(1);
    Hyperparameters s = llama_settings(60);
    while (l.step < s.steps) tiny_trainer_step(&l, &s);
    Random random = {.state = 99};
    double right = 0, other = 0, all = 0;
    for (int n = 0; n < TEXTS; n++) {
        int ids[TEXT], targets[TEXT];
        float p[WORDS];
        draw_text(&random, ids, targets);
        tiny_trainer_predict(&l, 16, ids, p);
        right += p[targets[15]];
        other += p[targets[15] == ids[1] ? ids[6] : ids[1]];
        for (int id = word_id("Mia"); id <= word_id("Max"); id++) all += p[id];
    }
    assert_near(right / TEXTS, 0.28, 0.01);
    assert_near(other / TEXTS, 0.30, 0.01);
    assert_near((all - right - other) / 4 / TEXTS, 0.10, 0.01);
    tiny_trainer_free(&l);
}

static void every_text_can_be_answered(void **) {
    Random random = {.state = 4};
    for (int n = 0; n < 200; n++) {
        int ids[TEXT], targets[TEXT];
        draw_text(&random, ids, targets);
        assert_memory_equal(ids + 1, targets, (TEXT - 1) * sizeof *ids);
        /* "Mia has the ball . Tom has the hat . Who has the hat ? Tom ." */
        int asked = ids[14], owner = ids[4] == asked ? ids[1] : ids[6];
        assert_true(ids[4] == asked || ids[9] == asked);
        assert_true(targets[15] == owner && ids[1] != ids[6] && ids[4] != ids[9]);
        assert_string_equal(word(ids[15]), "?");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_may_be_given_pieces),
        cmocka_unit_test(adamw_is_as_long_whatever_the_gradient),
        cmocka_unit_test(muon_makes_all_directions_alike),
        cmocka_unit_test(muon_hides_no_number_that_is_none),
        cmocka_unit_test(without_a_gradient_muon_stands_still),
        cmocka_unit_test(a_gradient_that_is_no_number_is_not_hidden),
        cmocka_unit_test(what_is_small_enough_keeps_its_bits),
        cmocka_unit_test(the_rate_never_rises_after_the_peak),
        cmocka_unit_test(matrices_decay_and_those_of_layers_suit_muon),
        cmocka_unit_test(no_target_no_share),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(it_learns_the_same_each_time),
        cmocka_unit_test(it_prefers_who_is_named_and_not_who_has_it),
        cmocka_unit_test(every_text_can_be_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
