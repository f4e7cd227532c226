/* Chapter 17: a batch on several threads is the batch of chapter 16. */
#include "16_backward/backward.h"
#include "17_training/step.h"
#include "common/error.h"
#include "tests/gradients.h"
#include "tests/near.h"
#include "tests/refused.h"

#include <math.h>

/* Each sequence is computed by itself, to the same bits whatever batch it is in; the losses of a
 * few are then added up in double, in one order or another, which makes 2e-15. */
static const double summed = 1e-12;

static Batch whole(const Case *c) { return (Batch){c->file.B, c->file.ids, c->file.targets, NULL}; }

/* With fewer threads than sequences, as many, and more. */
static void every_gradient_is_autograd_s(void **state) {
    const TrainingKernels *kernels = *state;
    for (int m = 0; m < MODELS; m++)
        for (int threads = 1; threads <= 3; threads++) {
            Case c = open_case(kernels, models[m]);
            Workers workers = workers_new(&c.model.config, kernels, c.file.T, threads);
            Comparison comparison;
            double loss = batch_backward(&workers, &c.weights, &c.gradients, whole(&c), 1);
            float rounded = (float)loss;
            Tensor of_loss = {
                .name = "loss", .dtype = F32, .rank = 1, .shape = {1}, .data = &rounded};
            assert_true(gradient_judge(&c.file, &of_loss, &comparison));
            if (comparison.wrong)
                fail_msg("%s: the loss is %.1f ulps from autograd's", models[m], comparison.ulps);
            assert_near(batch_loss(&workers, &c.weights, whole(&c)), loss, summed);
            assert_gradients_agree(&c, &c.gradients, models[m]);
            workers_free(&workers);
            close_case(&c);
        }
}

/* The second run finds in each thread's arrays what the first has left there. */
static void the_same_threads_give_the_same_bits(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama3"), again = open_case(kernels, "llama3");
    Workers workers = workers_new(&c.model.config, kernels, c.file.T, 2);
    double first = batch_backward(&workers, &c.weights, &c.gradients, whole(&c), 1);
    double second = batch_backward(&workers, &again.weights, &again.gradients, whole(&c), 1);
    assert_true(first == second);
    assert_memory_equal(c.gradients.numbers, again.gradients.numbers,
                        c.gradients.count * sizeof(float));
    workers_free(&workers);
    close_case(&c);
    close_case(&again);
}

/* Two batches of one sequence each, whose targets are not as many: with their shares they are the
 * whole batch. */
static void accumulated_batches_weigh_by_their_targets(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama3");
    int T = c.file.T, counted[2] = {0};
    for (int i = 0; i < 2 * T; i++) counted[i / T] += c.file.targets[i] >= 0;
    assert_int_not_equal(counted[0], counted[1]);
    Workers workers = workers_new(&c.model.config, kernels, T, 2);
    double loss = 0;
    for (int b = 0; b < 2; b++) {
        double share = (double)counted[b] / (counted[0] + counted[1]);
        Batch batch = {1, c.file.ids + b * T, c.file.targets + b * T, NULL};
        loss += share * batch_backward(&workers, &c.weights, &c.gradients, batch, share);
    }
    assert_near(loss, batch_loss(&workers, &c.weights, whole(&c)), summed);
    assert_gradients_agree(&c, &c.gradients, "in two batches");
    workers_free(&workers);
    close_case(&c);
}

/* A sequence without a target adds nothing; a batch without one has no mean. */
static void sequences_without_targets_count_nothing(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama1");
    int T = c.file.T, ids[4 * T], targets[4 * T];
    for (int i = 0; i < 4 * T; i++) {
        int of_file = i / (2 * T) * T + i % T;
        bool empty = i / T % 2 == 0;
        ids[i] = empty ? 1 : c.file.ids[of_file];
        targets[i] = empty ? -1 : c.file.targets[of_file];
    }
    Workers workers = workers_new(&c.model.config, kernels, T, 2);
    double loss =
        batch_backward(&workers, &c.weights, &c.gradients, (Batch){4, ids, targets, NULL}, 1);
    assert_near(loss, batch_loss(&workers, &c.weights, whole(&c)), summed);
    assert_gradients_agree(&c, &c.gradients, "with empty sequences");
    assert_true(isnan(
        batch_backward(&workers, &c.weights, &c.gradients, (Batch){1, ids, targets, NULL}, 1)));
    assert_gradients_agree(&c, &c.gradients, "with nothing to learn");
    workers_free(&workers);
    close_case(&c);
}

/* A target that counts twice is one that is there twice. Some of the first sequence's do; and what
 * all count is no matter, if they count alike. */
static void counting_twice_is_being_there_twice(void **state) {
    const TrainingKernels *kernels = *state;
    Case once = open_case(kernels, "llama32"), twice = open_case(kernels, "llama32");
    int T = once.file.T, ids[3 * T], targets[3 * T];
    float counts[2 * T];
    for (int i = 0; i < 3 * T; i++) {
        int of_file =
            i < 2 * T
                ? i
                : i - 2 * T; /* the third is the first again, but for what counts once alone */
        bool again = i % T % 5 < 2;
        ids[i] = once.file.ids[of_file];
        targets[i] = i < 2 * T || again ? once.file.targets[of_file] : -1;
        if (i < 2 * T) counts[i] = i < T && again ? 0.5f : 0.25f;
    }
    Workers workers = workers_new(&once.model.config, kernels, T, 2);
    Batch weighted = {2, ids, targets, counts}, thrice = {3, ids, targets, NULL};
    double loss = batch_backward(&workers, &once.weights, &once.gradients, weighted, 1);
    assert_near(loss, batch_backward(&workers, &twice.weights, &twice.gradients, thrice, 1),
                summed);
    assert_near(loss, batch_loss(&workers, &once.weights, weighted), summed);
    double norm = gradient_norm(once.gradients.count, once.gradients.numbers);
    for (size_t i = 0; i < once.gradients.count; i++)
        once.gradients.numbers[i] -= twice.gradients.numbers[i];
    /* 2e-7: gradients are added up in float32. */
    assert_true(gradient_norm(once.gradients.count, once.gradients.numbers) < 1e-6 * norm);
    assert_true(fabs(loss - batch_loss(&workers, &once.weights, whole(&once))) >
                1e-3); /* it does matter */
    close_case(&twice);

    Case alike = open_case(kernels, "llama32");
    for (int i = 0; i < 2 * T; i++) counts[i] = 0.1f;
    assert_near(batch_backward(&workers, &alike.weights, &alike.gradients, weighted, 1),
                batch_loss(&workers, &alike.weights, whole(&alike)), summed);
    assert_gradients_agree(&alike, &alike.gradients, "counting a tenth each");
    workers_free(&workers);
    close_case(&once);
    close_case(&alike);
}

/* Two documents in one sequence, and each in one of its own. */
static void apart_no_document_sees_another(void **state) {
    const TrainingKernels *kernels = *state;
    enum { BOS = 1 };
    Case together = open_case(kernels, "llama3"), alone = open_case(kernels, "llama3");
    const int T = together.file.T / 2 * 2, *text = together.file.ids;
    int ids[T], targets[T];
    for (int t = 0; t < T; t++) {
        ids[t] = t % (T / 2) == 0 ? BOS : text[t] == BOS ? BOS + 1 : text[t];
        targets[t] = (t + 1) % (T / 2) == 0 ? -1 : text[t + 1];
    }
    Workers one = workers_new(&together.model.config, kernels, T, 1);
    Workers two = workers_new(&alone.model.config, kernels, T / 2, 1);
    Batch sequence = {1, ids, targets, NULL}, halves = {2, ids, targets, NULL};
    double seen = batch_loss(&one, &together.weights, sequence);
    workers_set_document_mask(&one, BOS);
    double loss = batch_backward(&one, &together.weights, &together.gradients, sequence, 1);
    /* 1e-7: to turn the second one by larger angles rounds otherwise. */
    assert_near(loss, batch_backward(&two, &alone.weights, &alone.gradients, halves, 1), 1e-6);
    double norm = gradient_norm(alone.gradients.count, alone.gradients.numbers);
    for (size_t i = 0; i < alone.gradients.count; i++)
        alone.gradients.numbers[i] -= together.gradients.numbers[i];
    assert_true(gradient_norm(alone.gradients.count, alone.gradients.numbers) < 1e-5 * norm);
    assert_true(fabs(loss - seen) > 1e-4); /* it does matter */
    workers_free(&one);
    workers_free(&two);
    close_case(&together);
    close_case(&alone);
}

/* Short sequences go through the decoder several at a time, as many as each thread can have. */
static void a_group_of_sequences_is_each_of_them(void **state) {
    const TrainingKernels *kernels = *state;
    enum { B = 7 };
    Case grouped = open_case(kernels, "llama3"), single = open_case(kernels, "llama3");
    const int T = grouped.file.T;
    int ids[B * T], targets[B * T];
    for (int i = 0; i < B * T; i++) {
        int of_file = (i + i / T) % (2 * T);
        ids[i] = grouped.file.ids[of_file];
        targets[i] = i % 3 ? grouped.file.ids[(of_file + 1) % (2 * T)] : -1;
    }
    Workers workers = workers_new(&grouped.model.config, kernels, T, 2);
    assert_true(workers.together >= B / 2);
    double loss = batch_backward(&workers, &grouped.weights, &grouped.gradients,
                                 (Batch){B, ids, targets, NULL}, 1);
    workers.together = 1;
    double again = batch_backward(&workers, &single.weights, &single.gradients,
                                  (Batch){B, ids, targets, NULL}, 1);
    assert_near(loss, again, summed);
    double norm = gradient_norm(single.gradients.count, single.gradients.numbers);
    for (size_t i = 0; i < single.gradients.count; i++)
        single.gradients.numbers[i] -= grouped.gradients.numbers[i];
    /* 2e-7: gradients are added up in float32. */
    assert_true(gradient_norm(single.gradients.count, single.gradients.numbers) < 1e-6 * norm);
    workers_free(&workers);
    close_case(&grouped);
    close_case(&single);
}

static void no_threads(void) {
    Case c = open_case(&reference_training_kernels, "llama1");
    workers_new(&c.model.config, &reference_training_kernels, 3, 0);
}

static void what_cannot_be_is_refused(void **) {
    assert_refused(no_threads, "0 threads: give at least one");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FOR_BOTH(every_gradient_is_autograd_s),
        FOR_BOTH(the_same_threads_give_the_same_bits),
        FOR_BOTH(accumulated_batches_weigh_by_their_targets),
        FOR_BOTH(sequences_without_targets_count_nothing),
        FOR_BOTH(counting_twice_is_being_there_twice),
        FOR_BOTH(apart_no_document_sees_another),
        FOR_BOTH(a_group_of_sequences_is_each_of_them),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
