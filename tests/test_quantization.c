/* Chapter 13, beyond the golden values: what is refused, what any address must not matter to, how far a number may be from what is
 * read back, and what feedback is for. */
#include "13_quantization/quantization.h"
#include "13_quantization/rounding.h"
#include "common/linear.h"
#include "common/random.h"
#include "common/tensor.h"
#include "tests/refused.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 288 };

static void there_and_back(const Blocks *format, float out[N], const float x[N]) {
    char blocks[2 * N];
    format->quantize(1, N, blocks, (const void *)x);
    format->dequantize(1, N, (void *)out, blocks);
}

/* A step is d; the end that has one level fewer is wrong by up to a whole one. */
static void what_is_read_back_is_within_a_step(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float steps; /* between the largest magnitude, or the minimum, and the other end */
    } formats[] = {{"Q8_0", 127}, {"Q4_0", 8}, {"Q5_0", 16}, {"Q4_1", 7.5f}, {"Q5_1", 15.5f}};
    for (int f = 0; f < 5; f++) {
        const Blocks *format = format_named(formats[f].name);
        float x[N], back[N];
        random_fill(&(Random){7}, N, x);
        there_and_back(format, back, x);
        for (int i = 0; i < N; i += 32) {
            float most = 0;
            for (int j = i; j < i + 32; j++) most = fmaxf(most, fabsf(x[j]));
            for (int j = i; j < i + 32; j++) assert_true(fabsf(back[j] - x[j]) <= 1.01f * most / formats[f].steps);
        }
    }
}

/* Read back and quantized again, the numbers stay: they are levels already. */
static void levels_stay_levels(void **state) {
    (void)state;
    const Blocks *format = format_named("Q8_0");
    float x[N], once[N], twice[N];
    random_fill(&(Random){7}, N, x);
    there_and_back(format, once, x);
    there_and_back(format, twice, once);
    for (int i = 0; i < N; i++) assert_true(fabsf(once[i] - twice[i]) <= 1e-3f * fabsf(once[i])); /* d is rounded again */
}

static void any_address_will_do(void **state) {
    (void)state;
    const Blocks *format;
    for (int f = 0; (format = format_at(f)); f++) {
        size_t bytes = (size_t)format->bytes;
        int n = format->numbers;
        char even[bytes + 1], odd[bytes + 1];
        float one[1][n], other[1][n];
        Random random = {(uint64_t)f + 1};
        for (size_t i = 0; i < bytes; i++) even[i] = (char)(random_between(&random, 0, 255) & 0x3b);
        memcpy(odd + 1, even, bytes);
        format->dequantize(1, n, one, even), format->dequantize(1, n, other, odd + 1);
        assert_memory_equal(one, other, sizeof one);
    }
}

static void quantize_half_a_block(void) {
    float x[1][48] = {0};
    char blocks[64];
    quantize_q4_0(1, 48, blocks, x);
}
static void read_half_a_block(void) {
    float x[1][192];
    char blocks[256] = {0};
    dequantize_q4_k(1, 192, x, blocks);
}
static void multiply_half_a_block(void) { dot_q8_0(40, "", ""); }
static void ask_for_no_format(void) { format_named("Q9_9"); }

static void half_a_block_is_refused(void **state) {
    (void)state;
    assert_refused(quantize_half_a_block, "a row of 48 numbers cannot be cut into blocks of 32");
    assert_refused(read_half_a_block, "a row of 192 numbers cannot be cut into blocks of 256");
    assert_refused(multiply_half_a_block, "a row of 40 numbers cannot be cut into blocks of 32");
    assert_refused(ask_for_no_format, "there is no format Q9_9");
}

/* Of 64 inputs that hardly differ, what one weight does wrong another makes good. */
static void feedback_saves_the_sum(void **state) {
    (void)state;
    enum { OUT = 5, IN = 64, T = 20 };
    float w[OUT][IN], nearest[OUT][IN], fed[OUT][IN], x[T][IN], right[T][OUT], got[2][T][OUT];
    Random random = {3};
    random_fill(&random, OUT * IN, (void *)w);
    for (int t = 0; t < T; t++) {
        float common = (float)random_normal(&random);
        for (int i = 0; i < IN; i++) x[t][i] = common + 0.1f * (float)random_normal(&random);
    }
    memcpy(fed, w, sizeof w);
    round_by(3, 32, OUT * IN, (void *)nearest, (void *)w);
    round_with_feedback(3, OUT, IN, fed, T, x);
    linear(T, IN, OUT, right, x, w, NULL);
    linear(T, IN, OUT, got[0], x, nearest, NULL);
    linear(T, IN, OUT, got[1], x, fed, NULL);
    double error[2] = {0}, moved[2] = {0};
    for (int k = 0; k < 2; k++)
        for (int t = 0; t < T; t++)
            for (int o = 0; o < OUT; o++) error[k] += pow(got[k][t][o] - right[t][o], 2);
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++)
            moved[0] += pow(nearest[o][i] - w[o][i], 2), moved[1] += pow(fed[o][i] - w[o][i], 2);
    assert_true(error[1] < error[0] / 10);
    assert_true(moved[1] > moved[0]);
}

/* Where no two inputs ever come together, there is nothing to make good: the nearest levels. */
static void without_company_the_nearest_is_best(void **state) {
    (void)state;
    enum { OUT = 4, IN = 64 };
    float w[OUT][IN], fed[OUT][IN], nearest[OUT][IN], x[IN][IN] = {0};
    Random random = {5};
    random_fill(&random, OUT * IN, (void *)w);
    memcpy(fed, w, sizeof w);
    for (int i = 0; i < IN; i++) x[i][i] = 1;
    round_by(4, 32, OUT * IN, (void *)nearest, (void *)w);
    round_with_feedback(4, OUT, IN, fed, IN, x);
    assert_memory_equal(fed, nearest, sizeof fed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_back_is_within_a_step), cmocka_unit_test(levels_stay_levels),
        cmocka_unit_test(any_address_will_do),                cmocka_unit_test(half_a_block_is_refused),
        cmocka_unit_test(feedback_saves_the_sum),             cmocka_unit_test(without_company_the_nearest_is_best),
    };
    return cmocka_run_group_tests_name("quantization", tests, NULL, NULL) != 0;
}
