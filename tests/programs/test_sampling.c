/* Which token is chosen: argmax(), multinomial() and sample(). The samplers have golden values of
 * their own. */
#include "11_generation/sampling.h"
#include "tests/program.h"

#include <math.h>

enum { V = 5 };

static void the_largest_logit_is_taken(void **) {
    for (int best = 0; best < V; best++) {
        float logits[V] = {-3, -3, -3, -3, -3};
        logits[best] = -1;
        assert_int_equal(argmax(V, logits), best);
    }
    assert_int_equal(argmax(V, (float[V]){1, 2, 2, 2, 1}), 1); /* of several, the first */
}

/* Probabilities 1/8, 0, 1/2, 1/8, 1/4: where u lies, there is the token. */
static void a_draw_falls_where_u_lies(void **) {
    const float logits[V] = {logf(1), -INFINITY, logf(4), logf(1), logf(2)};
    static const struct {
        double u;
        int token;
    } draws[] = {{0, 0},    {0.12, 0}, {0.13, 2}, {0.4, 2},   {0.62, 2},
                 {0.63, 3}, {0.74, 3}, {0.76, 4}, {0.9999, 4}};
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++)
        assert_int_equal(multinomial(V, logits, draws[i].u), draws[i].token);
    /* What cannot be drawn is not drawn, not at the end either; and logits may be large. */
    assert_int_equal(
        multinomial(V, (float[V]){-INFINITY, 900, 900, -INFINITY, -INFINITY}, 0.9999999), 2);
    assert_int_equal(multinomial(V, (float[V]){-INFINITY, 900, 900, -INFINITY, -INFINITY}, 0.4), 1);
    assert_int_equal(multinomial(V, (float[V]){900, 0, 0, 0, 0}, 1), 0);
}

static int chosen(SamplingParams sampling, const float logits[V], unsigned long seed) {
    static const int ids[] = {2, 2};
    float own[V];
    memcpy(own, logits, sizeof own);
    return sample(&sampling, V, own, 2, ids, &(Random){seed});
}

/* Each sampler alone leaves one token, and leaves others if it is off. */
static void each_sampler_is_asked(void **) {
    const float logits[V] = {0, 1, 1.2f, 0.9f, -1}, halves[V] = {0, 0.5f, 0.6f, 0.45f, -0.5f};
    const SamplingParams off = {.temperature = 1, .top_p = 1, .repetition_penalty = 1};
    SamplingParams greedy = off, colder = off, of_one = off, of_few = off, of_much = off,
                   penalty = off, warmer = off;
    greedy.temperature = 0;
    colder.temperature = 0.01f;
    of_one.top_k = 1;
    of_few.top_p = 0.01f;
    of_much.min_p = 0.99f;
    penalty.temperature = 0;
    penalty.repetition_penalty = 2;
    warmer.temperature = 2;
    bool seen[V] = {0};
    for (unsigned long seed = 0; seed < 200; seed++) {
        seen[chosen(off, logits, seed)] = true;
        assert_int_equal(chosen(greedy, logits, seed), 2);
        assert_int_equal(chosen(colder, logits, seed), 2);
        assert_int_equal(chosen(of_one, logits, seed), 2);
        assert_int_equal(chosen(of_few, logits, seed), 2);
        assert_int_equal(chosen(of_much, logits, seed), 2);
        assert_int_equal(chosen(penalty, logits, seed), 1);
        double u = random_uniform(&(Random){seed});
        assert_int_equal(chosen(off, logits, seed), multinomial(V, logits, u));
        assert_int_equal(chosen(warmer, logits, seed), multinomial(V, halves, u));
    }
    for (int v = 0; v < V; v++) assert_true(seen[v]);
}

/* Wherever the largest of all stands, top_k() finds it. */
static void the_largest_is_kept_at_either_end(void **) {
    for (int best = 0; best < V; best++) {
        float logits[V] = {0, 1, 2, 1, 0}, out[V];
        logits[best] = 3;
        top_k(V, out, logits, 1);
        for (int v = 0; v < V; v++) assert_true(v == best ? out[v] == 3 : out[v] == -INFINITY);
    }
}

/* The order of the samplers: a colder model has fewer tokens that together have top_p. */
static void the_temperature_comes_first(void **) {
    const float logits[V] = {0, 1, 1.2f, 0.9f, -1};
    const SamplingParams both = {.temperature = 0.2f, .top_p = 0.45f, .repetition_penalty = 1};
    for (unsigned long seed = 0; seed < 200; seed++)
        assert_int_equal(chosen(both, logits, seed), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_logit_is_taken),
        cmocka_unit_test(a_draw_falls_where_u_lies),
        cmocka_unit_test(each_sampler_is_asked),
        cmocka_unit_test(the_largest_is_kept_at_either_end),
        cmocka_unit_test(the_temperature_comes_first),
    };
    return cmocka_run_group_tests_name("sampling", tests, NULL, NULL) != 0;
}
