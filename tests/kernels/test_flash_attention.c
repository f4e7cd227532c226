/* Chapter 8's kernel, and once more chapter 12's in its place: the golden values, and what they
 * cannot see: every shape around the tiles, against chapter 6; how exact a weight is; the same
 * answer from run to run and on any number of threads; that the memory does not grow with the text;
 * and what is refused. */
#include "08_flash_attention/flash_attention.h"
#include "06_grouped_query/grouped_query.h"
#include "12_speed/fast_kernels.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/random.h"
#include "tests/refused.h"
#include "tests/used_heap.h"

#include <math.h>
#include <sys/mman.h>
#include <sys/resource.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static __typeof__(flash_attention)
    *attend; /* what is tested: that of the table which is the test's state */

static int take_kernels(void **state) {
    attend = ((const Kernels *)*state)->flash_attention;
    return 0;
}

#define FOR_BOTH(test)                                                                             \
    {#test, test, take_kernels, NULL, (void *)&reference_kernels}, {                               \
        #test ", fast", test, take_kernels, NULL, (void *)&fast_kernels                            \
    }

typedef struct {
    int T, S, H, KV, D;
} Shape;

typedef struct {
    void *pages;
    size_t bytes;
    float *numbers;
} Guarded;

typedef struct {
    Guarded q, k, v;
} Inputs;

enum { PAGE = 1 << 16 }; /* a multiple of any machine's */

/* Normal numbers that start or end where a forbidden page ends or starts: who reads past them
 * crashes. */
static Guarded guarded(Random *random, size_t count, bool at_end) {
    size_t pages = (count * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    Guarded room = {.bytes = pages + 2 * PAGE};
    room.pages = mmap(NULL, room.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room.pages, MAP_FAILED);
    char *middle = (char *)room.pages + PAGE;
    mprotect(middle, pages, PROT_READ | PROT_WRITE);
    room.numbers = (float *)(at_end ? middle + pages : middle) - (at_end ? count : 0);
    random_fill(random, count, room.numbers);
    return room;
}

static Inputs inputs_of(Shape n) {
    Random random = {8};
    size_t queries = (size_t)n.T * n.H * n.D, keys = (size_t)n.S * n.KV * n.D;
    return (Inputs){guarded(&random, queries, true), guarded(&random, keys, true),
                    guarded(&random, keys, false)};
}

static void inputs_free(Inputs in) {
    munmap(in.q.pages, in.q.bytes);
    munmap(in.k.pages, in.k.bytes);
    munmap(in.v.pages, in.v.bytes);
}

static float *flash(Shape n, Inputs in) {
    float *out = xmalloc((size_t)n.T * n.H * n.D * sizeof *out);
    attend(n.T, n.S, n.H, n.KV, n.D, (void *)out, (void *)in.q.numbers, (void *)in.k.numbers,
           (void *)in.v.numbers);
    return out;
}

/* Some roundings of sums of some hundred weighted values near 1. */
static void assert_all_near(Shape n, const float *got, const float *right) {
    for (int i = 0; i < n.T * n.H * n.D; i++)
        if (!(fabsf(got[i] - right[i]) <= 4e-6f))
            fail_msg("T %d, S %d, H %d, KV %d, D %d: output %d is %g, not %g", n.T, n.S, n.H, n.KV,
                     n.D, i, got[i], right[i]);
}

static void assert_inputs_as_chapter_6(Shape n, Inputs in) {
    float *got = flash(n, in), *right = xmalloc((size_t)n.T * n.H * n.D * sizeof *right);
    gqa_attention_with_past(n.T, n.S, n.H, n.KV, n.D, (void *)right, (void *)in.q.numbers,
                            (void *)in.k.numbers, (void *)in.v.numbers);
    assert_all_near(n, got, right);
    free(got);
    free(right);
}

static void assert_as_chapter_6(Shape n) {
    Inputs in = inputs_of(n);
    assert_inputs_as_chapter_6(n, in);
    inputs_free(in);
}

/* ------------------------------------------------------------------ as PyTorch */

static void golden_values(void **) {
    Golden golden = golden_open("flash_attention");
    for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
        const Tensor *q = golden_input(c, "q"), *k = golden_input(c, "k");
        Shape n = {(int)q->shape[0], (int)k->shape[0], (int)q->shape[1], (int)k->shape[1],
                   (int)q->shape[2]};
        Inputs in = {{.numbers = tensor_to_float(q)},
                     {.numbers = tensor_to_float(k)},
                     {.numbers = tensor_to_float(golden_input(c, "v"))}};
        Tensor got = c->expected;
        float *out = flash(n, in);
        got.data = out;
        Comparison a = golden_check(c, false, &got);
        if (a.wrong) fail_msg("%s: %zu of %zu are wrong", c->name, a.wrong, a.count);
        free(in.q.numbers);
        free(in.k.numbers);
        free(in.v.numbers);
        free(out);
    }
    golden_close(&golden);
}

/* ------------------------------------------------------------------ as chapter 6 */

static void every_length_around_the_tiles(void **) {
    for (int S = 1; S <= 70; S++) {
        assert_as_chapter_6((Shape){S, S, 2, 1, 3});
        assert_as_chapter_6((Shape){1, S, 6, 2, 5});
        assert_as_chapter_6((Shape){(S + 1) / 2, S, 3, 3, 4});
    }
}

static void every_width_around_the_vectors(void **) {
    for (int D = 1; D <= 70; D++) {
        assert_as_chapter_6((Shape){20, 20, 2, 1, D});
        assert_as_chapter_6((Shape){1, 40, 2, 2, D});
    }
    assert_as_chapter_6((Shape){3, 50, 4, 2, 128});
    assert_as_chapter_6((Shape){40, 40, 2, 1, 256});
}

static void every_grouping(void **) {
    for (int KV = 1; KV <= 5; KV++)
        for (int group = 1; group <= 18; group++) {
            assert_as_chapter_6((Shape){1, 37, KV * group, KV, 4});
            assert_as_chapter_6((Shape){7, 19, KV * group, KV, 4});
        }
}

static void a_long_text(void **) {
    for (int T = 255; T <= 257; T++)
        assert_as_chapter_6((Shape){T, T, 1, 1, 3}); /* 256 queries are a team */
    assert_as_chapter_6((Shape){300, 300, 4, 2, 16});
    assert_as_chapter_6((Shape){133, 700, 2, 1, 32});
    assert_as_chapter_6((Shape){1, 3000, 4, 2, 16});
    /* A full set, and several parts of the keys. */
    for (int T = 1; T <= 2; T++) assert_as_chapter_6((Shape){T, 1000, 16, 2, 16});
}

/* Wherever a query lies, its maximum starts below its scores: here they are near -1e4, and whole
 * numbers / 32. */
static void far_below_zero(void **) {
    Shape n = {40, 40, 2, 1, 4};
    Inputs in = inputs_of(n);
    for (int i = 0; i < n.T * n.H * n.D; i++)
        in.q.numbers[i] = i % n.D ? roundf(4 * in.q.numbers[i]) / 4 : -200;
    for (int i = 0; i < n.S * n.KV * n.D; i++)
        in.k.numbers[i] = i % n.D ? roundf(4 * in.k.numbers[i]) / 4 : 100;
    assert_inputs_as_chapter_6(n, in);
    inputs_free(in);
}

/* One key's score is so far above all others that no other maximum would do, wherever it stands. */
static void one_key_takes_all(void **) {
    enum { S = 40 };
    float q = 1, v[S], out;
    for (int s = 0; s < S; s++) v[s] = (float)s;
    for (int s = 0; s < S; s++) {
        float k[S] = {0};
        k[s] = 2000;
        attend(1, S, 1, 1, 1, (void *)&out, (void *)&q, (void *)k, (void *)v);
        assert_true(out == v[s]);
    }
}

/* Each query has a key of its own that takes all of it: on a circle, the one in its direction; the
 * next has hundreds less. So its maximum is its own, and from tile to tile it stays. */
static void each_query_takes_another_key(int T, int S, int H, int KV) {
    Inputs in = inputs_of((Shape){T, S, H, KV, 2});
    const float large = 4e6F;
    float(*q)[H][2] = (void *)in.q.numbers, (*k)[KV][2] = (void *)in.k.numbers,
    (*v)[KV][2] = (void *)in.v.numbers;
    for (int s = 0; s < S; s++)
        for (int g = 0; g < KV; g++) {
            k[s][g][0] = (float)cos(2 * M_PI * s / S);
            k[s][g][1] = (float)sin(2 * M_PI * s / S);
            v[s][g][0] = (float)s;
            v[s][g][1] = (float)g;
        }
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++)
            for (int i = 0; i < 2; i++)
                q[t][h][i] = large * k[(13 * t + 5 * h) % (S - T + t + 1)][0][i];
    float(*out)[H][2] = (void *)flash((Shape){T, S, H, KV, 2}, in);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            assert_true(out[t][h][0] == (float)((13 * t + 5 * h) % (S - T + t + 1)));
            assert_true(out[t][h][1] == (float)(h / (H / KV)));
        }
    inputs_free(in);
    free(out);
}

static void each_query_has_its_own_maximum(void **) {
    each_query_takes_another_key(1, 50, 5, 1);
    each_query_takes_another_key(1, 300, 4, 2);
    each_query_takes_another_key(3, 300, 8, 2);
    each_query_takes_another_key(70, 70, 1, 1);
    each_query_takes_another_key(40, 300, 4, 2);
}

/* Each head's scores are larger than those of the head before it, by so much that another's maximum
 * would not do. All are whole numbers / 2. */
static void heads_of_other_sizes(void **) {
    Shape n = {1, 1000, 8, 1, 4};
    Inputs in = inputs_of(n);
    for (int i = 0; i < n.T * n.H * n.D; i++)
        in.q.numbers[i] = roundf(4 * in.q.numbers[i]) * (float)(4 * (i / n.D * i / n.D + 1));
    for (int i = 0; i < n.S * n.KV * n.D; i++) in.k.numbers[i] = roundf(4 * in.k.numbers[i]) / 4;
    assert_inputs_as_chapter_6(n, in);
    inputs_free(in);
}

static void on_a_used_heap(void **) {
    const Shape shapes[] = {{1, 40, 2, 2, 20}, {40, 40, 2, 2, 20}};
    for (int i = 0; i < 2; i++) {
        void *last = soil_the_heap();
        assert_as_chapter_6(shapes[i]);
        free(last);
    }
}

/* ------------------------------------------------------------------ how exact a weight is */

/* Of two keys the first has the score 0 and the value 0, the second x and 1: the output is e^x / (1
 * + e^x). Its error is that of e^x, and three roundings. */
static void a_weight_is_exact(void **) {
    double worst = 0;
    for (int i = 0; i <= 87 * 256; i++) {
        float q = 1, x = -(float)i / 256, k[2] = {0, x}, v[2] = {0, 1}, out;
        attend(1, 2, 1, 1, 1, (void *)&out, (void *)&q, (void *)k, (void *)v);
        double right = exp(x) / (1 + exp(x));
        worst = fmax(worst, fabs(out - right) / ldexp(1, ilogb(right) - 23)); /* in ulps */
    }
    if (!(worst <= 3)) fail_msg("a weight is wrong by %.2f ulps", worst);
    const float q = 1, k[2] = {0, -88}, v[2] = {3, 1e30f};
    float out;
    attend(1, 2, 1, 1, 1, (void *)&out, (void *)&q, (void *)k, (void *)v);
    assert_true(out == 3); /* below e^-87 a weight is 0 */
}

/* ---------------------------------------------------- from run to run, on any number of threads */

static const Shape prefill = {90, 150, 6, 2, 20},
                   decode = {1, 10000, 6, 2, 20}; /* work enough for several threads */

static void runs_agree(Shape n) {
    Inputs in = inputs_of(n);
    float *first = flash(n, in);
    for (int run = 0; run < 5; run++) {
        float *next = flash(n, in);
        assert_memory_equal(next, first, (size_t)n.T * n.H * n.D * sizeof *next);
        free(next);
    }
    inputs_free(in);
    free(first);
}

static void runs_agree_to_the_bit(void **) {
    runs_agree(prefill);
    runs_agree(decode);
}

static void threads_agree(Shape n) {
#ifdef _OPENMP
    Inputs in = inputs_of(n);
    int most = omp_get_max_threads();
    omp_set_num_threads(1);
    float *alone = flash(n, in);
    for (int threads = 2; threads <= 3;
         threads++) { /* more than a small machine has would wait for each other */
        omp_set_num_threads(threads);
        float *together = flash(n, in);
        assert_memory_equal(together, alone, (size_t)n.T * n.H * n.D * sizeof *alone);
        free(together);
    }
    omp_set_num_threads(most);
    inputs_free(in);
    free(alone);
#else
    (void)n;
    skip();
#endif
}

static void threads_agree_to_the_bit(void **) {
    threads_agree(prefill);
    threads_agree(decode);
}

/* ------------------------------------------------------------------ memory */

static long peak_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024L;
}

static int threads_at_most(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* By how much a call's memory is more than its inputs and output. */
static long bytes_beside(Shape n) {
    Shape small = {512, 512, 2, 1, 16};
    flash(small,
          inputs_of(small)); /* work enough for all threads, which have stacks of their own */
    Inputs in = inputs_of(n);
    float *out = guarded(&(Random){1}, (size_t)n.T * n.H * n.D, true).numbers;
    long before = peak_bytes();
    attend(n.T, n.S, n.H, n.KV, n.D, (void *)out, (void *)in.q.numbers, (void *)in.k.numbers,
           (void *)in.v.numbers);
    return peak_bytes() - before;
}

/* 2 x 4096 x 4096 scores would be 134 MB; an emulator gets a quarter of them. */
#ifdef EMULATED
enum { LONG_TEXT = 2048 };
#else
enum { LONG_TEXT = 4096 };
#endif

static void the_memory_does_not_grow(void **) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer's own memory would be counted */
#endif
    fflush(NULL);
    pid_t child = fork(); /* whose peak is its own */
    if (child == 0)
        _exit(bytes_beside((Shape){LONG_TEXT, LONG_TEXT, 2, 1, 4}) >=
              threads_at_most() * (1L << 20));
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* ------------------------------------------------------------------ what is refused */

static float x[512], y[512];

static void refused(Shape n) {
    attend(n.T, n.S, n.H, n.KV, n.D, (void *)y, (void *)x, (void *)x, (void *)x);
}
static void uneven_groups(void) { refused((Shape){2, 2, 5, 2, 4}); }
static void fewer_heads_than_groups(void) { refused((Shape){2, 2, 1, 2, 4}); }
static void no_groups(void) { refused((Shape){2, 2, 4, 0, 4}); }
static void more_queries_than_keys(void) { refused((Shape){3, 2, 4, 2, 4}); }
static void no_queries(void) { refused((Shape){0, 2, 4, 2, 4}); }

static void what_cannot_be_is_refused(void **) {
    assert_refused(uneven_groups, "5 query heads cannot share 2 key/value heads evenly");
    assert_refused(fewer_heads_than_groups, "1 query heads ");
    assert_refused(no_groups, "4 query heads cannot share 0 key/value heads evenly");
    assert_refused(more_queries_than_keys, "3 queries cannot be the last of 2 positions");
    assert_refused(no_queries, "0 queries ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First: after fork() a process has its parent's OpenMP, but not its threads. */
        FOR_BOTH(the_memory_does_not_grow),
        FOR_BOTH(what_cannot_be_is_refused),
        FOR_BOTH(golden_values),
        FOR_BOTH(every_length_around_the_tiles),
        FOR_BOTH(every_width_around_the_vectors),
        FOR_BOTH(every_grouping),
        FOR_BOTH(a_long_text),
        FOR_BOTH(far_below_zero),
        FOR_BOTH(one_key_takes_all),
        FOR_BOTH(each_query_has_its_own_maximum),
        FOR_BOTH(heads_of_other_sizes),
        FOR_BOTH(on_a_used_heap),
        FOR_BOTH(a_weight_is_exact),
        FOR_BOTH(runs_agree_to_the_bit),
        FOR_BOTH(threads_agree_to_the_bit),
    };
    return cmocka_run_group_tests_name("flash_attention", tests, NULL, NULL) != 0;
}
