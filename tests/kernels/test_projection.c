/* project() and fast_linear_tensor(): weights of every dtype, of any size and at any address. The
 * state of each test is the function. */
#include "tests/projection.h"

typedef __typeof__(linear_tensor) Project;

static void every_float16_is_widened_rightly(void **state) {
    Project *project = *state;
    enum { ALL = 1 << 16 };
    f16 *weights = xmalloc(ALL * sizeof *weights);
    for (int i = 0; i < ALL; i++) weights[i] = (f16)i;
    float(*y)[ALL] = xmalloc(sizeof *y), one[1][1] = {{1}};
    project(1, 1, ALL, y, one,
            &(Tensor){.dtype = F16, .rank = 2, .shape = {ALL, 1}, .data = weights});
    for (int i = 0; i < ALL; i++) {
        float right = f16_to_float((f16)i);
        if (!(y[0][i] == right || (isnan(y[0][i]) && isnan(right))))
            fail_msg("%04x: %g is not %g", i, y[0][i], right);
    }
    free(weights);
    free(y);
}

/* Every sum within what float32 may lose, whatever the sizes and wherever the weights begin. */
static void try_project(Project *project, DType dtype, int rows, int in, int out, int offset,
                        Random *random) {
    float *x = xmalloc((size_t)rows * in * 4), *w = xmalloc((size_t)out * in * 4),
          *y = xmalloc((size_t)rows * out * 4);
    char *bytes = xmalloc((size_t)out * in * 4 + 8);
    random_fill(random, (size_t)rows * in, x);
    random_fill(random, (size_t)out * in, w);
    store(dtype, out * in, bytes + offset, w);
    if (rows % 2) bf16_round(rows * in, x); /* for these there may be another way */
    Tensor weight = {
        .dtype = dtype, .rank = 2, .shape = {(size_t)out, (size_t)in}, .data = bytes + offset};
    project(rows, in, out, (void *)y, (void *)x, &weight);
    tensor_dequantize_row(&weight, 0, (size_t)out * in, w);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double right = 0, size = 0;
#pragma omp simd reduction(+ : right, size)
            for (int i = 0; i < in; i++) {
                double product = (double)x[r * in + i] * w[o * in + i];
                right += product;
                size += fabs(product);
            }
            if (!(fabs(y[r * out + o] - right) <= 1e-6 * size))
                fail_msg("%s [%d][%d] x [%d][%d]: [%d][%d] is %g, not %g", dtype_name(dtype), rows,
                         in, out, in, r, o, y[r * out + o], right);
        }
    free(x);
    free(w);
    free(y);
    free(bytes);
}

static void any_size_at_any_address(void **state) {
    Project *project = *state;
    static const int rows[] = {1, 2, 4, 7, 11, 12, 13, 17, 24, 33, 65, 130},
                     ins[] = {1, 15, 16, 31, 32, 33, 100, 257, 515};
    static const int outs[] = {1, 3, 5, 13, 32, 33, 70}, shared[] = {4, 24, 47};
    Random random = {9};
    for (DType dtype = F32; dtype <= F16; dtype++)
        for (size_t r = 0; r < COUNT(rows); r++)
            for (size_t i = 0; i < COUNT(ins); i++)
                try_project(project, dtype, rows[r], ins[i], outs[(r + i) % COUNT(outs)],
                            (int)(r + i) % 5, &random);
    for (DType dtype = F32; dtype <= F16; dtype++) /* large enough for several threads */
        for (size_t r = 0; r < COUNT(shared); r++)
            try_project(project, dtype, shared[r], 1030, 301, 1, &random);
    try_project(project, BF16, 525, 40, 45, 0,
                &random); /* more rows than stay in the cache together */
}

/* As exact with four lanes as with sixteen. Equal terms are rounded the same way again and again:
 * added up one after the other, even in sixteen lanes, they end 6e-5 of the sum away. 256 parts of
 * 256 terms have 512 roundings at most, each of half an ulp. */
static void a_long_sum_is_one_of_parts(void **state) {
    Project *project = *state;
    enum { IN = 256 * 256, ROUNDINGS = 512, OUT = 33, ROWS_MOST = 13 };
    static const int rows[] = {1, 4, ROWS_MOST};
    float *x = xmalloc(ROWS_MOST * IN * sizeof *x), *w = xmalloc(OUT * IN * sizeof *w),
          y[ROWS_MOST][OUT];
    for (int i = 0; i < ROWS_MOST * IN; i++) x[i] = 1;
    /* Just under half an ulp of a sum of 2048 is lost with each. */
    for (int i = 0; i < OUT * IN; i++) w[i] = 1 + 0x1.ffp-14F;
    for (size_t r = 0; r < COUNT(rows); r++) {
        project(rows[r], IN, OUT, y, (void *)x,
                &(Tensor){.dtype = F32, .rank = 2, .shape = {OUT, IN}, .data = w});
        for (int k = 0; k < rows[r] * OUT; k++) {
            double right = (double)IN * w[0], lost = fabs(y[k / OUT][k % OUT] - right) / right;
            if (!(lost <= ROUNDINGS * 0x1p-24))
                fail_msg("%d rows: sum %d has lost %g of itself", rows[r], k, lost);
        }
    }
    free(x);
    free(w);
}

#define PROJECTION_TESTS(function)                                                                 \
    cmocka_unit_test_prestate(every_float16_is_widened_rightly, (void *)function),                 \
        cmocka_unit_test_prestate(any_size_at_any_address, (void *)function),                      \
        cmocka_unit_test_prestate(a_long_sum_is_one_of_parts, (void *)function)

int main(void) {
    const struct CMUnitTest tests[] = {PROJECTION_TESTS(linear_tensor),
                                       PROJECTION_TESTS(fast_linear_tensor)};
    return cmocka_run_group_tests_name("projection", tests, NULL, NULL) != 0;
}
