/* Chapter 13, beyond the golden values: what is refused, what any address must not matter to, how
 * far a number may be from what is read back, and what feedback is for. */
#include "12_speed/fast_kernels.h"
#include "13_quantization/quantization.h"
#include "13_quantization/rounding.h"
#include "common/error.h"
#include "common/gguf.h"
#include "common/linear.h"
#include "common/random.h"
#include "common/tensor.h"
#include "common/timer.h"
#include "tests/refused.h"

#include <math.h>

enum { N = 288 };

static void there_and_back(const QuantType *format, float out[N], const float x[N]) {
    char blocks[2 * N];
    format->quantize(1, N, blocks, (const void *)x);
    format->dequantize(1, N, (void *)out, blocks);
}

/* A step is d; the end that has one level fewer is wrong by up to a whole one. */
static void what_is_read_back_is_within_a_step(void **) {
    static const struct {
        const char *name;
        float steps; /* between the largest magnitude, or the minimum, and the other end */
    } formats[] = {{"Q8_0", 127}, {"Q4_0", 8}, {"Q5_0", 16}, {"Q4_1", 7.5f}, {"Q5_1", 15.5f}};
    for (int f = 0; f < 5; f++) {
        const QuantType *format = format_named(formats[f].name);
        float x[N], back[N];
        random_fill(&(Random){7}, N, x);
        there_and_back(format, back, x);
        for (int i = 0; i < N; i += 32) {
            float most = 0;
            for (int j = i; j < i + 32; j++) most = fmaxf(most, fabsf(x[j]));
            for (int j = i; j < i + 32; j++)
                assert_true(fabsf(back[j] - x[j]) <= 1.01f * most / formats[f].steps);
        }
    }
}

/* Between -3e38 and 3e38 there is more than a float32 can tell. What cannot be read back is not
 * taken for a number. */
static void too_wide_a_block_is_no_number(void **) {
    float x[N] = {[3] = -3e38f, [9] = 3e38f}, back[N];
    for (int f = 0; f < 2; f++) {
        there_and_back(format_named(f ? "Q5_1" : "Q4_1"), back, x);
        for (int i = 0; i < N; i++) assert_int_equal(isfinite(back[i]) != 0, i >= 32);
    }
}

/* A single number is that of its row, wherever its block begins. */
static void a_number_is_read_from_its_block(void **) {
    enum { ROWS = 3 };
    for (int f = 0; format_at(f); f++) {
        const QuantType *format = format_at(f);
        float x[ROWS][N], back[ROWS][N];
        char blocks[ROWS * N * sizeof(float)];
        if (!format->quantize || N % format->numbers) continue;
        random_fill(&(Random){13}, ROWS * N, (float *)x);
        format->quantize(ROWS, N, blocks, (const void *)x);
        format->dequantize(ROWS, N, (void *)back, blocks);
        Tensor tensor = {
            .name = "blocks", .rank = 2, .shape = {ROWS, N}, .data = blocks, .quant_type = format};
        for (size_t i = 0; i < ROWS * N; i++)
            assert_true(tensor_get(&tensor, i) == back[i / N][i % N]);
    }
}

/* Read back and quantized again, the numbers stay: they are levels already. */
static void levels_stay_levels(void **) {
    const QuantType *format = format_named("Q8_0");
    float x[N], once[N], twice[N];
    random_fill(&(Random){7}, N, x);
    there_and_back(format, once, x);
    there_and_back(format, twice, once);
    for (int i = 0; i < N; i++) /* d is rounded again */
        assert_true(fabsf(once[i] - twice[i]) <= 1e-3f * fabsf(once[i]));
}

static void any_address_will_do(void **) {
    const QuantType *format;
    for (int f = 0; (format = format_at(f)); f++) {
        size_t bytes = (size_t)format->bytes;
        int n = format->numbers;
        char even[bytes + 1], odd[bytes + 1];
        float one[1][n], other[1][n];
        Random random = {(uint64_t)f + 1};
        for (size_t i = 0; i < bytes; i++) even[i] = (char)(random_between(&random, 0, 255) & 0x3b);
        memcpy(odd + 1, even, bytes);
        format->dequantize(1, n, one, even);
        format->dequantize(1, n, other, odd + 1);
        assert_memory_equal(one, other, sizeof one);
    }
}

/* GGMLQuantizationType and GGML_QUANT_SIZES of the Python package gguf: what files say. */
static void formats_have_the_numbers_of_files(void **) {
    static const QuantType files[] = {{.name = "Q4_0", .type = 2, .numbers = 32, .bytes = 18},
                                      {.name = "Q4_1", .type = 3, .numbers = 32, .bytes = 20},
                                      {.name = "Q5_0", .type = 6, .numbers = 32, .bytes = 22},
                                      {.name = "Q5_1", .type = 7, .numbers = 32, .bytes = 24},
                                      {.name = "Q8_0", .type = 8, .numbers = 32, .bytes = 34},
                                      {.name = "Q2_K", .type = 10, .numbers = 256, .bytes = 84},
                                      {.name = "Q3_K", .type = 11, .numbers = 256, .bytes = 110},
                                      {.name = "Q4_K", .type = 12, .numbers = 256, .bytes = 144},
                                      {.name = "Q5_K", .type = 13, .numbers = 256, .bytes = 176},
                                      {.name = "Q6_K", .type = 14, .numbers = 256, .bytes = 210},
                                      {.name = "IQ4_NL", .type = 20, .numbers = 32, .bytes = 18},
                                      {.name = "IQ3_S", .type = 21, .numbers = 256, .bytes = 110},
                                      {.name = "IQ4_XS", .type = 23, .numbers = 256, .bytes = 136},
                                      {.name = "TQ1_0", .type = 34, .numbers = 256, .bytes = 54},
                                      {.name = "TQ2_0", .type = 35, .numbers = 256, .bytes = 66}};
    enum { FORMATS = sizeof files / sizeof *files };
    for (int f = 0; f < FORMATS; f++) {
        const QuantType *ours = format_named(files[f].name);
        assert_ptr_equal(ours, format_at(f));
        assert_int_equal(ours->type, files[f].type);
        assert_int_equal(ours->numbers, files[f].numbers);
        assert_int_equal(ours->bytes, files[f].bytes);
        assert_true(ours->dequantize && !ours->quantize == !ours->dot);
        GgufType type = (GgufType)ours->type; /* the reader of files has the same */
        assert_string_equal(ours->name, gguf_type_name(type));
        assert_int_equal(ours->numbers, gguf_block_numbers(type));
        assert_int_equal(ours->bytes, gguf_block_bytes(type));
    }
    assert_null(format_at(FORMATS));
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

static void half_a_block_is_refused(void **) {
    assert_refused(quantize_half_a_block, "a row of 48 numbers cannot be cut into blocks of 32");
    assert_refused(read_half_a_block, "a row of 192 numbers cannot be cut into blocks of 256");
    assert_refused(multiply_half_a_block, "a row of 40 numbers cannot be cut into blocks of 32");
    assert_refused(ask_for_no_format, "there is no format Q9_9");
}

/* Of 64 inputs that hardly differ, what one weight does wrong another makes good. */
static void feedback_saves_the_sum(void **) {
    enum { OUT = 5, IN = 64, T = 20 };
    float w[OUT][IN], nearest[OUT][IN], fed[OUT][IN], x[T][IN], right[T][OUT], got[2][T][OUT];
    Random random = {3};
    random_fill(&random, OUT * IN, (void *)w);
    for (int t = 0; t < T; t++) {
        float common = (float)random_normal(&random);
        for (int i = 0; i < IN; i++) x[t][i] = common + 0.1f * (float)random_normal(&random);
    }
    memcpy(fed, w, sizeof w);
    fake_quantize(3, 32, OUT * IN, (void *)nearest, (void *)w);
    gptq(3, OUT, IN, fed, T, x);
    linear(T, IN, OUT, right, x, w, NULL);
    linear(T, IN, OUT, got[0], x, nearest, NULL);
    linear(T, IN, OUT, got[1], x, fed, NULL);
    double error[2] = {0}, moved[2] = {0};
    for (int k = 0; k < 2; k++)
        for (int t = 0; t < T; t++)
            for (int o = 0; o < OUT; o++) error[k] += pow(got[k][t][o] - right[t][o], 2);
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i < IN; i++) {
            moved[0] += pow(nearest[o][i] - w[o][i], 2);
            moved[1] += pow(fed[o][i] - w[o][i], 2);
        }
    assert_true(error[1] < error[0] / 10);
    assert_true(moved[1] > moved[0]);
}

/* Where no two inputs ever come together, there is nothing to make good: the nearest levels. */
static void without_company_the_nearest_is_best(void **) {
    enum { OUT = 4, IN = 64 };
    float w[OUT][IN], fed[OUT][IN], nearest[OUT][IN], x[IN][IN] = {0};
    Random random = {5};
    random_fill(&random, OUT * IN, (void *)w);
    memcpy(fed, w, sizeof w);
    for (int i = 0; i < IN; i++) x[i][i] = 1;
    fake_quantize(4, 32, OUT * IN, (void *)nearest, (void *)w);
    gptq(4, OUT, IN, fed, IN, x);
    assert_memory_equal(fed, nearest, sizeof fed);
}

/* ------------------------------------------------------------------ products */

static float half_at(const char *bytes) {
    GgmlHalf half;
    memcpy(&half, bytes, sizeof half);
    return f16_to_float(half_bits(half));
}

static void set_half(char *bytes, float value) {
    f16 half = f16_from_float(value);
    bytes[0] = (char)(half & 255);
    bytes[1] = (char)(half >> 8);
}

/* Any bytes but for the float16: d between 0.01 and 0.02, and behind it m or dmin. Q6_K, Q3_K and
 * Q2_K have theirs at the end. */
static Tensor random_weight(const QuantType *format, int in, int out, Random *random) {
    size_t count = (size_t)(in / format->numbers) * (size_t)out, bytes = (size_t)format->bytes;
    bool two = format->type == 3 || format->type == 7 || format->type == 10 || format->type == 12 ||
               format->type == 13;
    bool behind = format->type == 10 || format->type == 11 || format->type == 14 ||
                  format->type == 34 || format->type == 35;
    char *blocks = xmalloc(count * bytes);
    for (size_t i = 0; i < count * bytes; i++) blocks[i] = (char)random_bits(random);
    for (size_t b = 0; b < count; b++)
        for (size_t k = 0; k < 1 + (size_t)two; k++)
            set_half(blocks + b * bytes + (behind ? bytes - 2 - 2 * (size_t)two : 0) + 2 * k,
                     0.01f + 0.01f * (float)random_uniform(random));
    return (Tensor){
        .rank = 2, .shape = {(size_t)out, (size_t)in}, .data = blocks, .quant_type = format};
}

/* The largest minimum that a block may have, which is added to what d and the levels make. */
static double minimum_of(const QuantType *format, const char *block) {
    if (format->type == 3 || format->type == 7) return fabsf(half_at(block + 2));
    return format->type == 12 || format->type == 13 ? 63 * fabsf(half_at(block + 2)) : 0;
}

/* x as it is, or as a block of Q8_0 has it but for d, which stays a float32. */
static void numbers_of(bool exactly, int n, double to[n], const float x[n]) {
    for (int i = 0; i < n; i++) to[i] = x[i];
    for (int b = 0; b < n && !exactly; b += 32) {
        int8_t levels[32];
        float d = q8_levels(levels, &x[b]);
        for (int j = 0; j < 32; j++) to[b + j] = (double)d * levels[j];
    }
}

/* How many of y are farther from float64's than float32 may lose. Sums of whole numbers have no
 * error, and there are at most 2^24 of them, so that a float32 holds them. What is rounded: a
 * scale, two or three times; its product with the sum; and as many additions as there are blocks,
 * two to each if it has a minimum, or numbers, if the weights were widened; at the end the lanes'.
 * Each rounding is by half an ulp of what is there, at most the terms' magnitudes. */
static int count_wrong(bool exactly, int rows, int in, int out, float y[rows][out],
                       const float x[rows][in], const Tensor *weight) {
    double bound = (exactly ? in + 8 : 2 * in / 32 + 12) * 0x1p-24, numbers[in];
    const QuantType *format = weight->quant_type;
    float w[in];
    int wrong = 0;
    for (int r = 0; r < rows; r++) {
        numbers_of(exactly, in, numbers, x[r]);
        for (int o = 0; o < out; o++) {
            double right = 0, size = 0;
            tensor_dequantize_row(weight, (size_t)o * (size_t)in, (size_t)in, w);
            for (int i = 0; i < in; i++) {
                size_t block = ((size_t)o * (size_t)in + (size_t)i) / (size_t)format->numbers;
                double m =
                    minimum_of(format, (const char *)weight->data + block * (size_t)format->bytes);
                right += w[i] * numbers[i];
                size += (fabsf(w[i]) + 2 * m) * fabs(numbers[i]);
            }
            wrong += !(fabs(y[r][o] - right) <= bound * size);
        }
    }
    return wrong;
}

static void try_products(const QuantType *format, bool exactly, int rows, int in, int out,
                         Random *random) {
    Tensor weight = random_weight(format, in, out, random);
    float *x = xmalloc((size_t)rows * (size_t)in * sizeof *x),
          *y = xmalloc((size_t)rows * (size_t)out * sizeof *y);
    random_fill(random, (size_t)rows * (size_t)in, x);
    for (int i = 0; i < rows * out; i++) y[i] = 0;
    if (count_wrong(exactly, rows, in, out, (void *)y, (void *)x, &weight) * 2 < rows * out)
        fail_msg("%s: zeros are right", format->name);
    for (int i = 0; i < rows * out; i++) y[i] = NAN;
    (exactly ? exact_kernels : fast_kernels)
        .linear_tensor(rows, in, out, (void *)y, (void *)x, &weight);
    int wrong = count_wrong(exactly, rows, in, out, (void *)y, (void *)x, &weight);
    if (wrong)
        fail_msg("%s [%d][%d] x [%d][%d]%s: %d are wrong", format->name, rows, in, out, in,
                 exactly ? ", exactly" : "", wrong);
    free((void *)weight.data);
    free(x);
    free(y);
}

static bool is_widened(const QuantType *format) {
    static const int types[] = {10, 11, 20, 21, 23, 34, 35};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (format->type == types[i]) return true;
    return false;
}

static void products_are_exact_but_for_the_last_sums(void **) {
    static const int shapes[][3] = {{1, 1, 1},  {1, 3, 5},    {2, 9, 37}, {5, 8, 12},
                                    {6, 6, 64}, {13, 17, 70}, {40, 2, 33}};
    const QuantType *format;
    Random random = {19};
    for (int f = 0; (format = format_at(f)); f++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            int in = shapes[s][1] * (format->numbers == 32 ? 32 : 256);
            if (format->numbers > 32 && shapes[s][1] > 3) continue;
            try_products(format, is_widened(format), shapes[s][0], in, shapes[s][2], &random);
            try_products(format, true, shapes[s][0], in, shapes[s][2], &random);
        }
    try_products(format_named("Q8_0"), false, 525, 64, 33,
                 &random); /* more rows than stay in the cache together */
}

static void threads_change_no_product(void **) {
    enum { IN = 512, OUT = 333, MOST = 40 };
    static const int rows[] = {1, 3, MOST};
    static float x[MOST][IN], y[3][MOST * OUT];
    const QuantType *format;
    Random random = {23};
    random_fill(&random, MOST * IN, (void *)x);
    for (int f = 0; (format = format_at(f)); f++)
        for (int r = 0; r < 3; r++) {
            Tensor weight = random_weight(format, IN, OUT, &random);
            for (int k = 0; k < 3; k++) {
                use_threads(k == 0 ? 1 : 2 * k);
                fast_linear_tensor(rows[r], IN, OUT, (void *)y[k], x, &weight);
                assert_memory_equal(y[0], y[k], (size_t)rows[r] * OUT * sizeof(float));
            }
            free((void *)weight.data);
        }
}

/* Wherever it stands, and beside whatever: all outputs of its row show it, and no other row's. */
static void what_is_no_number_stays_none(void **) {
    enum { ROWS = 12, IN = 256, OUT = 40 };
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    static float x[ROWS][IN], y[ROWS][OUT];
    const QuantType *format;
    Random random = {29};
    for (int f = 0; (format = format_at(f)); f++)
        for (int k = 0; k < 3; k++)
            for (int rows = 2; rows <= ROWS; rows += ROWS - 2) {
                Tensor weight = random_weight(format, IN, OUT, &random);
                random_fill(&random, ROWS * IN, (void *)x);
                x[1][random_between(&random, 0, IN - 1)] = strange[k];
                fast_linear_tensor(rows, IN, OUT, y, x, &weight);
                for (int r = 0; r < rows; r++)
                    for (int o = 0; o < OUT && !is_widened(format); o++)
                        assert_int_equal(isfinite(y[r][o]) != 0, r != 1);
                free((void *)weight.data);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_back_is_within_a_step),
        cmocka_unit_test(levels_stay_levels),
        cmocka_unit_test(too_wide_a_block_is_no_number),
        cmocka_unit_test(any_address_will_do),
        cmocka_unit_test(half_a_block_is_refused),
        cmocka_unit_test(formats_have_the_numbers_of_files),
        cmocka_unit_test(feedback_saves_the_sum),
        cmocka_unit_test(without_company_the_nearest_is_best),
        cmocka_unit_test(products_are_exact_but_for_the_last_sums),
        cmocka_unit_test(threads_change_no_product),
        cmocka_unit_test(what_is_no_number_stays_none),
        cmocka_unit_test(a_number_is_read_from_its_block),
    };
    return cmocka_run_group_tests_name("quantization", tests, NULL, NULL) != 0;
}
