/* 12_speed: every rung of the ladder says the same; the last, fast_linear_tensor(), gives the same
 * bits from run to run and whatever the number of threads. test_projection.c has more of it. */
#include "12_speed/ladder.h"
#include "12_speed/machine_limits.h"
#include "12_speed/projection.h"
#include "common/check.h"
#include "common/timer.h"
#include "tests/projection.h"

static void every_rung_agrees(void **) {
    static const struct {
        const char *name;
        MatmulVersion *run;
    } rungs[] = {{"loop_order", loop_order},       {"float_sum", float_sum},
                 {"simd_sum", simd_sum},           {"multiple_accumulators", multiple_accumulators},
                 {"register_tile", register_tile}, {"packed_panels", packed_panels}};
    static const int shapes[][3] = {{1, 1, 1},  {1, 33, 7},   {3, 16, 4},   {4, 17, 5},
                                    {5, 64, 8}, {9, 100, 30}, {16, 15, 16}, {25, 270, 67}};
    Random random = {12};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t k = 0; k < COUNT(rungs); k++) {
            int rows = shapes[s][0], in = shapes[s][1], out = shapes[s][2];
            float x[rows][in], w[out][in], right[rows][out], y[rows][out];
            double truth[rows * out];
            random_fill(&random, (size_t)rows * in, x[0]);
            random_fill(&random, (size_t)out * in, w[0]);
            triple_loop(rows, in, out, right, x, w);
            for (int i = 0; i < rows * out; i++) {
                truth[i] = right[i / out][i % out];
                y[i / out][i % out] = NAN;
            }
            rungs[k].run(rows, in, out, y, x, w);
            /* Up to 270 roundings in float32, where rung 0 has none to speak of. They go either
             * way, so that even one by one, where there are no vectors, they add up to the root of
             * their number: 16. */
            if (check_within(16, (size_t)rows * out, (size_t)rows * out, y[0], truth).wrong)
                fail_msg("%s is wrong at [%d][%d] x [%d][%d]", rungs[k].name, rows, in, out, in);
        }
}

static void threads_change_no_bit(void **) {
    enum { IN = 700, OUT = 333 };
    static const int rows[] = {1, 5, 40};
    Random random = {13};
    for (DType dtype = F32; dtype <= F16; dtype++)
        for (size_t r = 0; r < COUNT(rows); r++) {
            size_t numbers = (size_t)rows[r] * OUT, size = dtype_size(dtype);
            float *x = xmalloc((size_t)rows[r] * IN * 4), *w = xmalloc(IN * OUT * 4), *y[3];
            char *bytes = xmalloc(IN * OUT * size);
            random_fill(&random, (size_t)rows[r] * IN, x);
            random_fill(&random, IN * OUT, w);
            store(dtype, IN * OUT, bytes, w);
            if (dtype == BF16)
                bf16_round(rows[r] * IN, x); /* dot products, where the processor has them */
            for (int k = 0; k < 3; k++) {
                use_threads(k == 0 ? 1 : 2 * k);
                fast_linear_tensor(
                    rows[r], IN, OUT, (void *)(y[k] = xmalloc(numbers * 4)), (void *)x,
                    &(Tensor){.dtype = dtype, .rank = 2, .shape = {OUT, IN}, .data = bytes});
                assert_memory_equal(y[0], y[k], numbers * 4);
            }
            free(x);
            free(w);
            free(bytes);
            free(y[0]);
            free(y[1]);
            free(y[2]);
        }
}

static float *uniform(size_t count, uint64_t seed) {
    Random random = {.state = seed};
    float *numbers = xmalloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)random_uniform(&random) - 0.5F;
    return numbers;
}

/* Root mean square of the error, and of the right values. */
static double relative_error(int rows, int in, int out, const float y[rows][out],
                             const float x[rows][in], const float w[out][in]) {
    double wrong = 0, size = 0;
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double right = 0;
            for (int i = 0; i < in; i++) right += (double)x[r][i] * w[o][i];
            wrong += (y[r][o] - right) * (y[r][o] - right);
            size += right * right;
        }
    return sqrt(wrong / size);
}

/* Many rows are multiplied more exactly than by PyTorch's float32, whose errors
 * tests/golden/exactness.py prints: its chains of additions are longer. With 64 in a chain the
 * error is 0.5 to 0.6 of that, with 256 as large. */
static void as_exact_as_pytorch(void **) {
    enum { ROWS_HERE = 16, OUT = 96 };
    static const struct {
        int width;
        double pytorch;
    } cases[] = {
        {256, 2.87e-07}, {512, 2.86e-07}, {1024, 2.93e-07}, {2048, 3.51e-07}, {4096, 3.34e-07}};
    for (size_t c = 0; c < COUNT(cases); c++) {
        int in = cases[c].width;
        float *x = uniform((size_t)ROWS_HERE * in, 1), *w = uniform((size_t)OUT * in, 2),
              y[ROWS_HERE][OUT];
        fast_linear_tensor(
            ROWS_HERE, in, OUT, y, (void *)x,
            &(Tensor){.dtype = F32, .rank = 2, .shape = {OUT, (size_t)in}, .data = w});
        double error = relative_error(ROWS_HERE, in, OUT, y, (void *)x, (void *)w);
        if (!(error <= 0.75 * cases[c].pytorch))
            fail_msg("width %d: the error is %.2e, PyTorch's %.2e", in, error, cases[c].pytorch);
        free(x);
        free(w);
    }
}

/* A row has the same bits in every batch that is read in panels, and the same in every smaller one.
 * (Between the two they differ: the lanes of few rows run along the sum.) */
static void a_row_does_not_see_its_batch(void **) {
    enum { IN = 700, OUT = 4 * NR, MOST = 530 };
    static const int few[] = {1, 2, 4, MR - 1}, many[] = {MR, MR + 1, 40, MOST};
    float *x = uniform(MOST * IN, 3), *w = uniform(OUT * IN, 4);
    float *alone = xmalloc(OUT * sizeof *alone), *y = xmalloc(MOST * OUT * sizeof *y);
    char *bytes = xmalloc(OUT * IN * sizeof *w);
    for (DType dtype = F32; dtype <= F16; dtype++)
        for (int kind = 0; kind < 2; kind++)
            for (size_t b = 0; b < COUNT(few); b++) {
                int rows = (kind ? many : few)[b];
                store(dtype, OUT * IN, bytes, w);
                fast_linear_tensor(
                    rows, IN, OUT, (void *)y, (void *)x,
                    &(Tensor){.dtype = dtype, .rank = 2, .shape = {OUT, IN}, .data = bytes});
                if (b == 0) memcpy(alone, y, OUT * sizeof *alone);
                assert_memory_equal(y, alone, OUT * sizeof *alone);
            }
    free(x);
    free(w);
    free(alone);
    free(y);
    free(bytes);
}

/* What shares of a limit are reckoned from: every machine has one, but for BF16. */
static void the_machine_has_limits(void **) {
    for (int threads = 1; threads <= 2; threads++) {
        assert_true(isfinite(fma_peak(threads)) && fma_peak(threads) > 0);
        assert_true(isfinite(bf16_peak(threads)) && bf16_peak(threads) >= 0);
        assert_true(isfinite(read_bandwidth(threads, 1 << 20)) &&
                    read_bandwidth(threads, 1 << 20) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rung_agrees),      cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(as_exact_as_pytorch),    cmocka_unit_test(a_row_does_not_see_its_batch),
        cmocka_unit_test(the_machine_has_limits),
    };
    return cmocka_run_group_tests_name("speed", tests, NULL, NULL) != 0;
}
