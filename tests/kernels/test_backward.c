/* Chapter 16: the whole decoder backwards against torch.autograd, and what the golden cases of
 * single kernels cannot see. */
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "08_flash_attention/flash_attention.h"
#include "16_backward/backward.h"
#include "16_backward/reader.h"
#include "common/error.h"
#include "common/random.h"
#include "tests/gradients.h"
#include "tests/llama2c.h"
#include "tests/program.h"
#include "tests/near.h"
#include "tests/refused.h"
#include "tests/used_heap.h"

#include <float.h>
#include <math.h>

static void every_gradient_is_autograd_s(void **state) {
    const TrainingKernels *kernels = *state;
    for (int m = 0; m < MODELS; m++) {
        Case c = open_case(kernels, models[m]);
        Comparison comparison;
        float loss = (float)decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids,
                                             c.file.targets, 1);
        Tensor of_loss = {.name = "loss", .dtype = F32, .rank = 1, .shape = {1}, .data = &loss};
        assert_true(gradient_judge(&c.file, &of_loss, &comparison));
        if (comparison.wrong)
            fail_msg("%s: the loss is %.1f ulps from autograd's", models[m], comparison.ulps);
        assert_gradients_agree(&c, &c.gradients, models[m]);
        assert_true(safetensors_find(&c.file.file, "lm_head.weight") != NULL ||
                    c.model.config.tie_word_embeddings);
        close_case(&c);
    }
}

/* A float32 that rounds honestly passes; one number that is off by a thousandth of its row does
 * not. */
static void a_small_mistake_is_seen(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama32");
    Comparison comparison;
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
    for (int i = 0; i < c.gradients.tensor_count; i++) {
        Tensor *tensor = &c.gradients.tensors[i];
        float *numbers = (float *)tensor->data;
        size_t columns = tensor->shape[tensor->rank - 1], most = 0;
        for (size_t k = 0; k < columns; k++)
            if (fabsf(numbers[k]) > fabsf(numbers[most])) most = k;
        if (numbers[most] == 0) continue; /* a token that is not in the text */
        numbers[most] *= 1.001f;
        assert_true(gradient_judge(&c.file, tensor, &comparison));
        assert_int_equal(comparison.wrong, 1);
    }
    close_case(&c);
}

/* Two halves of a batch, each with its share of the mean, add up to the whole: accumulation without
 * a mean of means. */
static void shares_add_up(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama3");
    int T = c.file.T, counted[2] = {0};
    for (int i = 0; i < 2 * T; i++) counted[i / T] += c.file.targets[i] >= 0;
    assert_int_not_equal(counted[0], counted[1]);
    Activations one = activations_new(&c.model.config, kernels, 1, T);
    double loss = 0;
    for (int b = 0; b < 2; b++) {
        float share = (float)counted[b] / (float)(counted[0] + counted[1]);
        loss += share * decoder_backward(&c.weights, &c.gradients, &one, c.file.ids + b * T,
                                         c.file.targets + b * T, share);
    }
    assert_near(loss, decoder_loss(&c.weights, &c.activations, c.file.ids, c.file.targets), 1e-6);
    assert_gradients_agree(&c, &c.gradients, "in two parts");
    activations_free(&one);
    close_case(&c);
}

/* Called again without zeros in between, the gradients are twice as large, to the bit. */
static void gradients_are_added(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "yarn");
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
    Parameters once = parameters_of(&c.model);
    memcpy(once.numbers, c.gradients.numbers, once.count * sizeof *once.numbers);
    memset(c.gradients.numbers, 0, c.gradients.count * sizeof *c.gradients.numbers);
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
    /* Nothing is kept from before. */
    assert_memory_equal(once.numbers, c.gradients.numbers, once.count * sizeof *once.numbers);
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
    for (size_t i = 0; i < once.count; i++)
        assert_near(c.gradients.numbers[i], 2 * once.numbers[i],
                    1e-5 * fabsf(once.numbers[i]) + 1e-6);
    parameters_free(&once);
    close_case(&c);
}

/* The same model in the interleaved layout: the rows of q_proj and k_proj change places, and so do
 * those of their gradients. */
static void interleaved_gradients_are_the_same_rows(void **state) {
    const TrainingKernels *kernels = *state;
    Case c = open_case(kernels, "llama2_70b");
    const Config *f = &c.model.config;
    int H = f->H, KV = f->KV, D = f->D, C = f->C;
    float *room = xmalloc(sizeof(float[H * D][C]));
    c.weights.interleaved = true;
    for (int l = 0; l < f->L; l++) {
        LayerParameters *w = &c.weights.layers[l];
        rows_to_interleaved(H, D, C, (void *)room, (void *)w->q_proj);
        memcpy(w->q_proj, room, sizeof(float[H * D][C]));
        rows_to_interleaved(KV, D, C, (void *)room, (void *)w->k_proj);
        memcpy(w->k_proj, room, sizeof(float[KV * D][C]));
    }
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
    for (int l = 0; l < f->L; l++) {
        LayerParameters *g = &c.gradients.layers[l];
        rows_to_half_split(H, D, C, (void *)room, (void *)g->q_proj);
        memcpy(g->q_proj, room, sizeof(float[H * D][C]));
        rows_to_half_split(KV, D, C, (void *)room, (void *)g->k_proj);
        memcpy(g->k_proj, room, sizeof(float[KV * D][C]));
    }
    assert_gradients_agree(&c, &c.gradients, "interleaved");
    free(room);
    close_case(&c);
}

/* More rows than the logits of one chunk, some of whose chunks have no target at all: the loss of
 * one text by itself. */
static void chunks_of_logits_make_no_difference(void **state) {
    const TrainingKernels *kernels = *state;
    enum { TEXTS = 12 };
    Case c = open_case(kernels, "llama1");
    int T = c.file.T, ids[TEXTS * T], targets[TEXTS * T];
    for (int i = 0; i < TEXTS * T; i++) {
        ids[i] = c.file.ids[i % (2 * T)];
        targets[i] = i < 2 * T ? c.file.targets[i] : -100;
    }
    Activations many = activations_new(&c.model.config, kernels, TEXTS, T);
    double loss = decoder_backward(&c.weights, &c.gradients, &many, ids, targets, 1);
    assert_near(loss, decoder_loss(&c.weights, &c.activations, c.file.ids, c.file.targets), 1e-12);
    assert_gradients_agree(&c, &c.gradients, "in chunks");
    for (int i = 0; i < TEXTS * T; i++) targets[i] = -1;
    assert_true(isnan(decoder_backward(&c.weights, &c.gradients, &many, ids, targets, 1)));
    assert_gradients_agree(&c, &c.gradients, "with nothing to learn");
    activations_free(&many);
    close_case(&c);
}

/* Where it takes long, one tensor of each layer is enough: of another kind each time. */
#if defined EMULATED || defined __SANITIZE_ADDRESS__
enum { EVERY = 8 };
#else
enum { EVERY = 1 };
#endif

/* What the lesson says of its first and its last token: the loss of each alone. */
static void a_name_at_the_beginning_is_a_surprise(void **state) {
    const TrainingKernels *kernels = *state;
    Fixture r = fixture_open();
    r.activations.kernels = kernels;
    int last = r.sentence.T - 1, anna = r.targets[last];
    for (int t = 1; t <= last; t++) r.targets[t] = -1;
    assert_near(fixture_loss(&r), 16.89, 0.01);
    r.targets[0] = -1;
    r.targets[last] = anna;
    assert_near(fixture_loss(&r), 0, 0.005);
    fixture_close(&r);
}

/* The trained model on the course's sentence: of every tensor the number with the largest gradient,
 * nudged to both sides. */
static void nudging_the_sentence_s_model_agrees(void **state) {
    const TrainingKernels *kernels = *state;
    Fixture r = fixture_open();
    r.activations.kernels = kernels;
    fixture_gradients(&r);
    for (int i = 0; i < r.weights.tensor_count; i += EVERY) {
        float *numbers = (float *)r.weights.tensors[i].data;
        const float *gradients = r.gradients.tensors[i].data;
        size_t most = 0;
        for (size_t k = 0; k < tensor_count(&r.weights.tensors[i]); k++)
            if (fabsf(gradients[k]) > fabsf(gradients[most])) most = k;
        const float was = numbers[most], more = was + 0.01f, less = was - 0.01f;
        numbers[most] = more;
        double up = fixture_loss(&r);
        numbers[most] = less;
        double slope = (up - fixture_loss(&r)) / ((double)more - less);
        numbers[most] = was;
        if (fabs(slope / gradients[most] - 1) > 0.02)
            fail_msg("%s [%zu]: %g by nudging, %g by the backward pass", r.weights.tensors[i].name,
                     most, slope, gradients[most]);
    }
    fixture_close(&r);
}

/* ------------------------------------------------------------------ attention */

static void log_sum_is_that_of_the_scores(void **state) {
    const TrainingKernels *kernels = *state;
    enum { T = 41, H = 4, KV = 2, D = 6 };
    static float q[T][H][D], k[T][KV][D], v[T][KV][D], out[T][H][D], expected[T][H][D], lse[T][H];
    Random random = {.state = 7};
    random_fill(&random, T * H * D, (float *)q);
    random_fill(&random, T * KV * D, (float *)k);
    random_fill(&random, T * KV * D, (float *)v);
    kernels->flash_attention_lse(T, H, KV, D, out, lse, q, k, v);
    flash_attention(T, T, H, KV, D, expected, q, k, v);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double sum = 0;
            for (int s = 0; s <= t; s++) {
                double score = 0;
                for (int i = 0; i < D; i++) score += (double)q[t][h][i] * k[s][h / (H / KV)][i];
                sum += exp(score / sqrt(D));
            }
            assert_near(lse[t][h], log(sum), 1e-6);
            for (int i = 0; i < D; i++) assert_near(out[t][h][i], expected[t][h][i], 1e-6);
        }
}

/* As it is written in a book, one weight at a time, in double. */
static void attention_by_the_book(int T, int H, int KV, int D, double dq[T][H][D],
                                  double dk[T][KV][D], double dv[T][KV][D],
                                  const float dout[T][H][D], const float q[T][H][D],
                                  const float k[T][KV][D], const float v[T][KV][D]) {
    double p[T], dp[T];
    for (int h = 0; h < H; h++)
        for (int t = 0, g = h / (H / KV); t < T; t++) {
            double sum = 0, common = 0;
            for (int s = 0; s <= t; s++) {
                p[s] = dp[s] = 0;
                for (int i = 0; i < D; i++) {
                    p[s] += (double)q[t][h][i] * k[s][g][i] / sqrt(D);
                    dp[s] += (double)dout[t][h][i] * v[s][g][i];
                }
                sum += p[s] = exp(p[s]);
            }
            for (int s = 0; s <= t; s++) common += (p[s] /= sum) * dp[s];
            for (int s = 0; s <= t; s++)
                for (int i = 0; i < D; i++) {
                    double dscore = p[s] * (dp[s] - common) / sqrt(D);
                    dq[t][h][i] += dscore * k[s][g][i];
                    dk[s][g][i] += dscore * q[t][h][i];
                    dv[s][g][i] += p[s] * dout[t][h][i];
                }
        }
}

static void *random_numbers(Random *random, size_t n) {
    float *numbers = xmalloc(n * sizeof *numbers);
    random_fill(random, (int)n, numbers);
    return numbers;
}

static void *zeros(size_t n, size_t each) { return memset(xmalloc(n * each), 0, n * each); }

/* The numbers are the same up to the rounding of sums. */
static void assert_alike(size_t n, const float got[n], const double expected[n]) {
    double largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(expected[i]));
    for (size_t i = 0; i < n; i++) assert_near(got[i], expected[i], 64 * FLT_EPSILON * largest);
}

/* Heads and texts that fill whole tiles, and those of one more; in room that others have had. */
static void tiles_of_any_size_fit_together(void **state) {
    const TrainingKernels *kernels = *state;
    static const int sizes[][4] = {
        {32, 2, 1, 33}, {64, 4, 2, 32}, {33, 2, 2, 65}, {97, 1, 1, 8}, {2, 3, 3, 2}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        int T = sizes[c][0], H = sizes[c][1], KV = sizes[c][2], D = sizes[c][3];
        size_t heads = (size_t)(T * H * D), shared = (size_t)(T * KV * D);
        Random random = {.state = c};
        void *q = random_numbers(&random, heads), *k = random_numbers(&random, shared),
             *v = random_numbers(&random, shared), *dout = random_numbers(&random, heads),
             *dq = zeros(heads, sizeof(float)), *dk = zeros(shared, sizeof(float)),
             *dv = zeros(shared, sizeof(float)), *exact_dq = zeros(heads, sizeof(double)),
             *exact_dk = zeros(shared, sizeof(double)), *exact_dv = zeros(shared, sizeof(double)),
             *out = zeros(heads, sizeof(float)), *lse = zeros((size_t)(T * H), sizeof(float));
        attention_by_the_book(T, H, KV, D, exact_dq, exact_dk, exact_dv, dout, q, k, v);
        kernels->flash_attention_lse(T, H, KV, D, out, lse, q, k, v);
        void *last = soil_the_heap();
        kernels->flash_attention_backward(T, H, KV, D, dq, dk, dv, dout, q, k, v, out, lse);
        free(last);
        assert_alike(heads, dq, exact_dq);
        assert_alike(shared, dk, exact_dk);
        assert_alike(shared, dv, exact_dv);
        void *rooms[] = {q, k, v, dout, dq, dk, dv, exact_dq, exact_dk, exact_dv, out, lse};
        for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) free(rooms[i]);
    }
}

/* ------------------------------------------------------------------ the loss */

static void large_and_small_numbers_are_no_trouble(void **state) {
    const TrainingKernels *kernels = *state;
    float logits[1][3] = {{3e38f, -3e38f, 0}}, dlogits[1][3] = {{0}}, huge[2] = {3e30f, 4e30f},
          tiny[2] = {3e-30f, 4e-30f};
    assert_near(kernels->cross_entropy(1, 3, logits, (int[]){0}), 0, 0);
    kernels->cross_entropy_backward(1, 3, dlogits, logits, (int[]){0}, 1);
    assert_near(dlogits[0][0], 0, 0);
    assert_true(isnan(kernels->cross_entropy(1, 3, logits, (int[]){-1})));
    assert_near(gradient_norm(2, huge) / 5e30, 1, 1e-6);
    assert_near(gradient_norm(2, tiny) / 5e-30, 1, 1e-6);
    assert_near(gradient_norm(0, NULL), 0, 0);
}

/* ------------------------------------------------------------------ what is refused */

static const TrainingKernels *refusing;

static void too_long(void) {
    Case c = open_case(refusing, "llama1");
    activations_new(&c.model.config, refusing, 1, c.model.config.max_position_embeddings + 1);
}
static void no_text(void) {
    Case c = open_case(refusing, "llama1");
    activations_new(&c.model.config, refusing, 0, 3);
}
static void with(int id, int target) {
    Case c = open_case(refusing, "llama1");
    c.file.ids[3] = id;
    c.file.targets[3] = target;
    decoder_backward(&c.weights, &c.gradients, &c.activations, c.file.ids, c.file.targets, 1);
}
static void an_unknown_token(void) { with(64, 1); }
static void an_unknown_target(void) { with(1, 64); }

static void what_cannot_be_is_refused(void **state) {
    refusing = *state;
    assert_refused(too_long, "a text of 65 tokens does not fit the context of 64");
    assert_refused(no_text, "a batch of 0 texts of 3 tokens: give at least one of each");
    assert_refused(an_unknown_token, "token 64 is not in the vocabulary of 64");
    assert_refused(an_unknown_target, "target 64 is not in the vocabulary of 64");
}

/* ------------------------------------------------------------------ the program */

/* A copy of a golden file whose tensor of this name has another first number. */
static void spoil(const char *to, const char *name) {
    SafeTensors file = safetensors_open(ROOT "/tests/golden/gradients/llama31.safetensors");
    Tensor *tensors = xmalloc(file.count * sizeof *tensors);
    memcpy(tensors, file.tensors, file.count * sizeof *tensors);
    float *numbers = NULL;
    for (size_t i = 0; i < file.count; i++)
        if (strcmp(tensors[i].name, name) == 0)
            tensors[i].data = numbers = tensor_to_float(&tensors[i]);
    numbers[0] += 1;
    safetensors_save(to, file.count, tensors, file.metadata_count, file.metadata);
    free(numbers);
    free(tensors);
    safetensors_close(&file);
}

static void the_first_that_differs_is_named(void **) {
    const char *model = ROOT "/tests/golden/models/llama31";
    assert_runs("'%s/16_backward' --model '%s' --compare "
                "'%s/tests/golden/gradients/llama31.safetensors'",
                BUILD, model, ROOT);
    assert_non_null(strstr(said, "Nothing differs."));
    spoil(AT("%s/spoiled.safetensors", folder), "model.layers.0.mlp.up_proj.weight");
    assert_int_equal(
        run("'%s/16_backward' --model '%s' --compare spoiled.safetensors", BUILD, model), 1);
    assert_non_null(strstr(said, "model.layers.0.mlp.up_proj.weight is the first that differs"));
}

/* In llama2.c's files the rows of queries and keys have another order, and so have their gradients.
 */
static void a_file_in_another_order_is_compared_too(void **) {
    const char *golden = ROOT "/tests/golden/gradients/llama2_70b.safetensors";
    Model model = model_open(ROOT "/tests/golden/models/llama2_70b");
    write_bin(AT("%s/interleaved.bin", folder), &model);
    model_close(&model);
    assert_runs("'%s/16_backward' --model interleaved.bin --compare '%s'", BUILD, golden);
    assert_non_null(strstr(said, "Nothing differs."));
}

/* A copy of the golden file with one tensor changed: to these numbers, or to this shape, or to
 * another name. */
typedef struct {
    const char *name;
    void (*change)(Tensor *tensor);
    int status;
    const char *words;
} Changed;

static const double two_numbers[] = {1, 2}, broken[] = {1.5, -0x1p40};

static void rename_it(Tensor *tensor) { tensor->name = "another"; }
static void deepen(Tensor *tensor) {
    tensor->rank = 3;
    tensor->shape[2] = tensor->shape[1];
    tensor->shape[1] = tensor->shape[0];
    tensor->shape[0] = 1;
}
static void shorten(Tensor *tensor) { tensor->shape[0]--; }
static void empty(Tensor *tensor) { tensor->shape[0] = 0; }
static void make_a_number(Tensor *tensor) { tensor->rank = 0; }
static void take_two(Tensor *tensor) {
    *tensor =
        (Tensor){.name = tensor->name, .dtype = F64, .rank = 1, .shape = {2}, .data = two_numbers};
}
static void break_two(Tensor *tensor) {
    take_two(tensor);
    tensor->data = broken;
}

/* What is not in the file is said, and is no mistake; what is no gradient of this model is one. */
static void a_file_of_others_is_named(void **) {
    static const Changed cases[] = {
        {"ids", rename_it, 1,
         "it has no ids, the tokens that its gradients are of, as [texts, tokens]"},
        {"ids", deepen, 1, "it has no ids"},
        {"ids", empty, 1, "it has no ids"},
        {"ids", make_a_number, 1, "no ids"},
        {"ids", take_two, 1, "its targets are not as many as its ids"},
        {"targets", shorten, 1, "its targets are not as many as its ids"},
        {"lm_head.weight", shorten, 1,
         "lm_head.weight is [63, 32] in the file, here it is [64, 32]"},
        {"lm_head.weight", rename_it, 0,
         "lm_head.weight                                   not in the file"},
        {"loss", take_two, 1, "loss is [2] in the file, here it is [1]"},
        {"loss", rename_it, 0, "Nothing differs."},
    };
    SafeTensors file = safetensors_open(ROOT "/tests/golden/gradients/llama31.safetensors");
    Tensor *tensors = xmalloc(file.count * sizeof *tensors);
    const char *command =
        "'" BUILD "/16_backward' --model '" ROOT "/tests/golden/models/llama31' --compare";
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        memcpy(tensors, file.tensors, file.count * sizeof *tensors);
        for (size_t i = 0; i < file.count; i++)
            if (strcmp(tensors[i].name, cases[c].name) == 0) cases[c].change(&tensors[i]);
        safetensors_save(AT("%s/other.safetensors", folder), file.count, tensors,
                         file.metadata_count, file.metadata);
        assert_int_equal(run("%s other.safetensors", command), cases[c].status);
        assert_said(cases[c].words);
        if (cases[c].status) assert_one_clear_line();
    }
    /* One text, whose targets are its own next tokens; ids that are no whole numbers are of no
     * vocabulary. */
    static const double no_loss[] = {0};
    Tensor few[] = {{.name = "ids"},
                    {.name = "loss", .dtype = F64, .rank = 1, .shape = {1}, .data = no_loss},
                    {.name = "model.norm.weight",
                     .dtype = F64,
                     .rank = 1,
                     .shape = {32},
                     .data = xmalloc(32 * 8)}};
    memset((void *)few[2].data, 0, 32 * 8);
    take_two(&few[0]);
    safetensors_save(AT("%s/few.safetensors", folder), 3, few, 0, NULL);
    assert_int_equal(run("%s few.safetensors", command), 1);
    assert_said("loss is the first that differs");
    assert_said("DIFFERS   32 of 32        [0, 0]");
    static const char *const no_ulps[] = {"inf", "-1", "", "0.4x",
                                          "nan"}; /* infinitely far off all would be right */
    for (size_t i = 0; i < sizeof no_ulps / sizeof *no_ulps; i++) {
        safetensors_save(AT("%s/ulps.safetensors", folder), 3, few, 1,
                         &(Metadata){"ulps/loss", no_ulps[i]});
        assert_error(run("%s ulps.safetensors", command),
                     AT("the file's ulps/loss is \"%s\": it must be a number", no_ulps[i]));
    }
    safetensors_save(AT("%s/few.safetensors", folder), 2, few, 0, NULL);
    assert_error(run("%s few.safetensors", command),
                 "few.safetensors: it has no gradient that this model has");
    break_two(&few[0]);
    safetensors_save(AT("%s/few.safetensors", folder), 3, few, 0, NULL);
    assert_error(run("%s few.safetensors", command),
                 "token 2147483647 is not in the vocabulary of 64");
    free((void *)few[2].data);
    free(tensors);
    safetensors_close(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* In child processes, which are best made before there are threads. */
        FOR_BOTH(what_cannot_be_is_refused),
        FOR_BOTH(every_gradient_is_autograd_s),
        FOR_BOTH(a_small_mistake_is_seen),
        FOR_BOTH(shares_add_up),
        FOR_BOTH(gradients_are_added),
        FOR_BOTH(interleaved_gradients_are_the_same_rows),
        FOR_BOTH(chunks_of_logits_make_no_difference),
        FOR_BOTH(a_name_at_the_beginning_is_a_surprise),
        FOR_BOTH(nudging_the_sentence_s_model_agrees),
        FOR_BOTH(log_sum_is_that_of_the_scores),
        FOR_BOTH(tiles_of_any_size_fit_together),
        FOR_BOTH(large_and_small_numbers_are_no_trouble),
        cmocka_unit_test(the_first_that_differs_is_named),
        cmocka_unit_test(a_file_in_another_order_is_compared_too),
        cmocka_unit_test(a_file_of_others_is_named),
    };
    return cmocka_run_group_tests_name("backward", tests, make_folder, remove_folder) != 0;
}
