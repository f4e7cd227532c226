/* Chapter 16: a batch on several threads is the batch of chapter 15. */
#include "16_training/step.h"
#include "common/error.h"
#include "tests/gradients.h"
#include "tests/refused.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static Batch whole(const Case *c) { return (Batch){c->file.B, c->file.ids, c->file.targets}; }

/* With fewer threads than sequences, as many, and more. */
static void every_gradient_is_autograd_s(void **state) {
    (void)state;
    for (int m = 0; m < MODELS; m++)
        for (int threads = 1; threads <= 3; threads++) {
            Case c = open_case(models[m]);
            Workers workers = workers_new(&c.model.config, c.file.T, threads);
            Agreement agreement;
            float loss = (float)batch_backward(&workers, &c.weights, &c.gradients, whole(&c), 1);
            Tensor of_loss = {.name = "loss", .dtype = F32, .rank = 1, .shape = {1}, .data = &loss};
            assert_true(gradient_judge(&c.file, &of_loss, &agreement));
            if (agreement.wrong) fail_msg("%s: the loss is %.1f ulps from autograd's", models[m], agreement.ulps);
            assert_float_equal(batch_loss(&workers, &c.weights, whole(&c)), loss, 1e-6);
            assert_gradients_agree(&c, &c.gradients, models[m]);
            workers_free(&workers), close_case(&c);
        }
}

/* The second run finds in each thread's arrays what the first has left there. */
static void the_same_threads_give_the_same_bits(void **state) {
    (void)state;
    Case c = open_case("llama3"), again = open_case("llama3");
    Workers workers = workers_new(&c.model.config, c.file.T, 2);
    double first = batch_backward(&workers, &c.weights, &c.gradients, whole(&c), 1);
    double second = batch_backward(&workers, &again.weights, &again.gradients, whole(&c), 1);
    assert_true(first == second);
    assert_memory_equal(c.gradients.numbers, again.gradients.numbers, c.gradients.count * sizeof(float));
    workers_free(&workers), close_case(&c), close_case(&again);
}

/* Two batches of one sequence each, whose targets are not as many: with their shares they are the whole batch. */
static void accumulated_batches_weigh_by_their_targets(void **state) {
    (void)state;
    Case c = open_case("llama3");
    int T = c.file.T, counted[2] = {0};
    for (int i = 0; i < 2 * T; i++) counted[i / T] += c.file.targets[i] >= 0;
    assert_int_not_equal(counted[0], counted[1]);
    Workers workers = workers_new(&c.model.config, T, 2);
    double loss = 0;
    for (int b = 0; b < 2; b++) {
        double share = (double)counted[b] / (counted[0] + counted[1]);
        Batch batch = {1, c.file.ids + b * T, c.file.targets + b * T};
        loss += share * batch_backward(&workers, &c.weights, &c.gradients, batch, share);
    }
    assert_float_equal(loss, batch_loss(&workers, &c.weights, whole(&c)), 1e-6);
    assert_gradients_agree(&c, &c.gradients, "in two batches");
    workers_free(&workers), close_case(&c);
}

/* A sequence without a target adds nothing; a batch without one has no mean. */
static void sequences_without_targets_count_nothing(void **state) {
    (void)state;
    Case c = open_case("llama1");
    int T = c.file.T, ids[4 * T], targets[4 * T];
    for (int i = 0; i < 4 * T; i++) {
        int of_file = i / (2 * T) * T + i % T;
        bool empty = i / T % 2 == 0;
        ids[i] = empty ? 1 : c.file.ids[of_file], targets[i] = empty ? -1 : c.file.targets[of_file];
    }
    Workers workers = workers_new(&c.model.config, T, 2);
    double loss = batch_backward(&workers, &c.weights, &c.gradients, (Batch){4, ids, targets}, 1);
    assert_float_equal(loss, batch_loss(&workers, &c.weights, whole(&c)), 1e-6);
    assert_gradients_agree(&c, &c.gradients, "with empty sequences");
    assert_true(isnan(batch_backward(&workers, &c.weights, &c.gradients, (Batch){1, ids, targets}, 1)));
    assert_gradients_agree(&c, &c.gradients, "with nothing to learn");
    workers_free(&workers), close_case(&c);
}

static void no_threads(void) {
    Case c = open_case("llama1");
    workers_new(&c.model.config, 3, 0);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    assert_refused(no_threads, "0 threads: give at least one");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gradient_is_autograd_s),
        cmocka_unit_test(the_same_threads_give_the_same_bits),
        cmocka_unit_test(accumulated_batches_weigh_by_their_targets),
        cmocka_unit_test(sequences_without_targets_count_nothing),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
