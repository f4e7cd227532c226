/* The kernels of training: both tables beside sums in double, at sizes that fill more than one tile,
 * panel and block. */
#include "17_training/product.h"
#include "common/error.h"
#include "common/random.h"
#include "common/tensor.h"
#include "common/timer.h"
#include "tests/test.h"
#include "tests/training_tables.h"

#include <math.h>

static float *random_numbers(size_t count) {
    static Random random = {.state = 16};
    float *numbers = xmalloc(count * sizeof *numbers);
    random_fill(&random, count, numbers);
    return numbers;
}

/* ------------------------------------------------------------------ products */

/* A float32 sum of K products of numbers near 1 is wrong by few roundings of its size, if its parts
 * are summed apart: by 8e-7 sqrt(K) at the most. */
static void check_product(int M, int N, int K, bool add, const float *c, const float *before,
                          Matrix a, Matrix b) {
    for (int m = 0; m < M; m += M / 40 + 1)
        for (int n = 0; n < N; n += N / 40 + 1) {
            double sum = add ? before[m * N + n] : 0;
            for (int k = 0; k < K; k++)
                sum +=
                    (double)a.first[m * a.row + k * a.column] * b.first[k * b.row + n * b.column];
            if (!(fabs(c[m * N + n] - sum) <= 3e-6 * (sqrt(K) + 1)))
                fail_msg("%d x %d x %d, [%d][%d]: %g, and not %g", M, N, K, m, n, c[m * N + n],
                         sum);
        }
}

/* Of rounded factors the product is that of the numbers that they are rounded to. */
static void each_way_the_factors_lie(int M, int N, int K, bool rounds) {
    float *a = random_numbers((size_t)M * K), *b = random_numbers((size_t)K * N),
          *before = random_numbers((size_t)M * N);
    float *rounded_a = memcpy(random_numbers((size_t)M * K), a, (size_t)M * K * sizeof *a),
          *rounded_b = memcpy(random_numbers((size_t)K * N), b, (size_t)K * N * sizeof *b);
    if (rounds) {
        bf16_round(M * K, rounded_a);
        bf16_round(K * N, rounded_b);
    }
    float *c = xmalloc(((size_t)M * N + 1) * sizeof *c);
    for (int way = 0; way < 8; way++) {
        bool add = way & 4;
        Matrix left = way & 1 ? (Matrix){a, 1, M} : (Matrix){a, K, 1},
               right = way & 2 ? (Matrix){b, 1, K} : (Matrix){b, N, 1};
        for (int i = 0; i < M * N; i++) c[i] = add ? before[i] : NAN;
        c[M * N] = 16;
        matmul(rounds ? BF16 : F32, M, N, K, add, (void *)c, left, right);
        left.first = rounded_a;
        right.first = rounded_b;
        check_product(M, N, K, add, c, before, left, right);
        assert_true(c[M * N] == 16);
    }
    free(a);
    free(b);
    free(rounded_a);
    free(rounded_b);
    free(before);
    free(c);
}

static void products_of_all_sizes(void **) {
    const int sizes[][3] = {{1, 1, 1},     {2, 3, 5},       {12, 32, 64},
                            {13, 33, 65},  {17, 100, 257},  {40, 31, 600},
                            {530, 70, 40}, {1030, 33, 300}, {33, 65, 2101}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int rounds = 0; rounds < 2; rounds++)
            each_way_the_factors_lie(sizes[i][0], sizes[i][1], sizes[i][2], rounds);
}

/* ------------------------------------------------------------------ the same bits */

enum { ROWS = 70, IN = 150, OUT = 170, T = 100, H = 6, KV = 3, D = 40 };

/* Everything that a linear layer and attention compute, one after the other. */
typedef struct {
    float y[ROWS][OUT], dx[ROWS][IN], dweight[OUT][IN], dbias[OUT];
    float out[T][H][D], lse[T][H], dq[T][H][D], dk[T][KV][D], dv[T][KV][D];
} Results;

static Results *results_of(const TrainingKernels *kernels, int threads, const float *x,
                           const float *weight, const float *q, const float *k, const float *v) {
    Results *r = memset(xmalloc(sizeof *r), 0, sizeof *r);
    int before = thread_count();
    use_threads(threads);
    kernels->linear(ROWS, IN, OUT, r->y, (void *)x, (void *)weight, NULL);
    kernels->linear_backward(ROWS, IN, OUT, r->dx, r->dweight, r->dbias, r->y, (void *)x,
                             (void *)weight);
    kernels->flash_attention_lse(T, H, KV, D, r->out, r->lse, (void *)q, (void *)k, (void *)v);
    kernels->flash_attention_backward(T, H, KV, D, r->dq, r->dk, r->dv, r->out, (void *)q,
                                      (void *)k, (void *)v, r->out, r->lse);
    use_threads(before);
    return r;
}

static void threads_share_the_work_and_change_no_bit(void **state) {
    const TrainingKernels *kernels = *state;
    float *x = random_numbers(ROWS * IN), *weight = random_numbers(OUT * IN);
    float *q = random_numbers(T * H * D), *k = random_numbers(T * KV * D),
          *v = random_numbers(T * KV * D);
    Results *one = results_of(kernels, 1, x, weight, q, k, v);
    for (int threads = 2; threads <= 4; threads++) {
        Results *more = results_of(kernels, threads, x, weight, q, k, v);
        assert_memory_equal(one, more, sizeof *one);
        free(more);
    }
    free(one);
    free(x);
    free(weight);
    free(q);
    free(k);
    free(v);
}

/* ------------------------------------------------------------------ attention */

typedef struct {
    int tokens, heads, kv, width;
    float *q, *k, *v, *dout;
} Heads;

static double dot(int n, const float *a, const float *b) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* What query t of head h adds to the gradients, in double, by the formulas of chapter 16: all
 * weights first. */
static void attend_one_query(const Heads *a, int t, int h, double *dq, double *dk, double *dv) {
    int width = a->width, group = a->heads / a->kv;
    size_t query = ((size_t)t * a->heads + h) * width;
    double p[t + 1], dp[t + 1], sum = 0, common = 0, root = sqrt(width);
    for (int s = 0; s <= t; s++)
        sum += p[s] = exp(dot(width, a->q + query, a->k + (s * a->kv + h / group) * width) / root);
    for (int s = 0; s <= t; s++) {
        p[s] /= sum;
        dp[s] = dot(width, a->dout + query, a->v + (s * a->kv + h / group) * width);
        common += p[s] * dp[s];
    }
    for (int s = 0; s <= t; s++)
        for (int i = 0; i < width; i++) {
            size_t key = (size_t)(s * a->kv + h / group) * width + i;
            dv[key] += p[s] * a->dout[query + i];
            dk[key] += p[s] * (dp[s] - common) / root * a->q[query + i];
            dq[query + i] += p[s] * (dp[s] - common) / root * a->k[key];
        }
}

/* In float32 the longest of these sums, over 130 tokens of 64 numbers, are wrong by 2e-6. */
static void near(const char *what, size_t n, const float *got, const double *right) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - right[i]) <= 2e-5))
            fail_msg("%s: number %zu is %g, and not %g", what, i, got[i], right[i]);
}

/* With heads of all widths, and texts that end within a tile. */
static void attention_agrees(const TrainingKernels *kernels, int tokens, int heads, int kv,
                             int width) {
    size_t queries = (size_t)tokens * heads * width, keys = (size_t)tokens * kv * width,
           all = queries + 2 * keys;
    Heads a = {tokens,
               heads,
               kv,
               width,
               random_numbers(queries),
               random_numbers(keys),
               random_numbers(keys),
               random_numbers(queries)};
    float *out = xmalloc(queries * sizeof *out),
          *lse = xmalloc((size_t)tokens * heads * sizeof *lse);
    float *got = memset(xmalloc(all * sizeof *got), 0, all * sizeof *got), *dk = got + queries,
          *dv = dk + keys;
    double *right = memset(xmalloc(all * sizeof *right), 0, all * sizeof *right);
    kernels->flash_attention_lse(tokens, heads, kv, width, (void *)out, (void *)lse, (void *)a.q,
                                 (void *)a.k, (void *)a.v);
    kernels->flash_attention_backward(tokens, heads, kv, width, (void *)got, (void *)dk, (void *)dv,
                                      (void *)a.dout, (void *)a.q, (void *)a.k, (void *)a.v,
                                      (void *)out, (void *)lse);
    for (int t = 0; t < tokens; t++)
        for (int h = 0; h < heads; h++)
            attend_one_query(&a, t, h, right, right + queries, right + queries + keys);
    near("dq", queries, got, right);
    near("dk", keys, dk, right + queries);
    near("dv", keys, dv, right + queries + keys);
    free(a.q);
    free(a.k);
    free(a.v);
    free(a.dout);
    free(out);
    free(lse);
    free(got);
    free(right);
}

static void attention_of_all_shapes(void **state) {
    const TrainingKernels *kernels = *state;
    static const int shapes[][4] = {{1, 1, 1, 2},   {33, 3, 1, 6},   {64, 4, 4, 32},
                                    {97, 4, 2, 48}, {130, 2, 1, 64}, {31, 2, 2, 128}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        attention_agrees(kernels, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

/* Of any width, added to what is there, beside sums in double: what fills no vector is computed as
 * well. */
static void gates_of_all_widths(void **state) {
    const TrainingKernels *kernels = *state;
    enum { MOST = 70 };
    for (int n = 1; n <= MOST; n++) {
        float *dout = random_numbers((size_t)n), *gate = random_numbers((size_t)n),
              *up = random_numbers((size_t)n);
        float dgate[MOST + 1], dup[MOST + 1];
        double right_gate[MOST], right_up[MOST];
        for (int i = 0; i < n; i++) {
            double share = 1 / (1 + exp(-gate[i]));
            dgate[i] = 1;
            dup[i] = 2;
            right_gate[i] = 1 + (double)dout[i] * up[i] * share * (1 + gate[i] * (1 - share));
            right_up[i] = 2 + dout[i] * gate[i] * share;
        }
        dgate[n] = dup[n] = 16;
        kernels->swiglu_backward(n, dgate, dup, dout, gate, up);
        near("dgate", (size_t)n, dgate, right_gate);
        near("dup", (size_t)n, dup, right_up);
        assert_true(dgate[n] == 16 && dup[n] == 16);
        free(dout);
        free(gate);
        free(up);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_sizes),
        FOR_BOTH(threads_share_the_work_and_change_no_bit),
        FOR_BOTH(attention_of_all_shapes),
        FOR_BOTH(gates_of_all_widths),
    };
    return cmocka_run_group_tests_name("product", tests, NULL, NULL) != 0;
}
