/* What the golden values of chapter 7 cannot see, for each of them is one step: a whole text
 * through a cache, token by token and in chunks, what appending leaves alone, and what does not
 * fit. */
#include "07_kv_cache/kv_cache.h"
#include "06_grouped_query/grouped_query.h"
#include "common/random.h"
#include "tests/refused.h"

#include <math.h>
#include <sys/mman.h>

enum { TEXT = 13, H = 4, KV = 2, D = 6, CAPACITY = TEXT + 3 };

static float q[TEXT][H][D], k[TEXT][KV][D], v[TEXT][KV][D], whole[TEXT][H][D];
static float (*cache_k)[KV][D],
    (*cache_v)[KV][D]; /* shared with the child processes: what they write is seen */

static int fill(void **) {
    Random random = {7};
    random_fill(&random, TEXT * H * D, (float *)q);
    random_fill(&random, TEXT * KV * D, (float *)k);
    random_fill(&random, TEXT * KV * D, (float *)v);
    grouped_query_attention(TEXT, H, KV, D, whole, q, k, v);
    size_t bytes = CAPACITY * sizeof *cache_k;
    cache_k = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(cache_k, MAP_FAILED);
    cache_v = cache_k + CAPACITY;
    memset(cache_k, 0xff, 2 * bytes); /* NaN: nobody may look at it */
    return 0;
}

static int release(void **) { return munmap(cache_k, 2 * CAPACITY * sizeof *cache_k); }

/* After each step, its outputs are those of the whole text, to the bit: the same sums in the same
 * order. */
static void attend_in_steps(int count, const int steps[count]) {
    int length = 0;
    for (int i = 0; i < count; i++) {
        int T = steps[i];
        float out[T][H][D];
        cached_attention(CAPACITY, length, T, H, KV, D, out, cache_k, cache_v, q + length,
                         k + length, v + length);
        assert_memory_equal(out, whole[length], sizeof out);
        length += T;
        assert_memory_equal(cache_k, k, (size_t)length * sizeof *k);
        assert_memory_equal(cache_v, v, (size_t)length * sizeof *v);
        for (int s = length; s < CAPACITY; s++)
            assert_true(isnan(cache_k[s][0][0]) && isnan(cache_v[s][KV - 1][D - 1]));
    }
    assert_int_equal(length, TEXT);
}

static void token_by_token(void **) {
    attend_in_steps(TEXT, (const int[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}

static void prefill_and_decode(void **) { attend_in_steps(6, (const int[]){8, 1, 1, 1, 1, 1}); }

static void in_chunks(void **) { attend_in_steps(4, (const int[]){5, 5, 2, 1}); }

static void all_at_once(void **) { attend_in_steps(1, (const int[]){TEXT}); }

static void what_fits_is_appended(void **) {
    assert_int_equal(kv_cache_append(CAPACITY, KV, D, cache_k, cache_v, 0, TEXT, k, v), TEXT);
    assert_int_equal(kv_cache_append(CAPACITY, KV, D, cache_k, cache_v, TEXT, 3, k, v), CAPACITY);
    assert_memory_equal(cache_k[TEXT], k, 3 * sizeof *k);
    assert_int_equal(kv_cache_append(CAPACITY, KV, D, cache_k, cache_v, 2, 1, k + 9, v + 9),
                     3); /* a text cut short */
    assert_memory_equal(cache_v[2], v[9], sizeof *v);
    assert_memory_equal(cache_v[3], v[3], sizeof *v);
}

static void append(int length, int T) {
    kv_cache_append(CAPACITY, KV, D, cache_k, cache_v, length, T, k, v);
}
static void one_to_a_full_one(void) { append(CAPACITY, 1); }
static void two_for_one_place(void) { append(CAPACITY - 1, 2); }
static void more_than_any(void) { append(0, CAPACITY + 1); }
static void a_great_many(void) { append(CAPACITY, INT32_MAX); }
static void none(void) { append(3, 0); }
static void before_the_start(void) { append(-1, 1); }
static void attend_past_the_end(void) {
    cached_attention(CAPACITY, CAPACITY, 1, H, KV, D, whole, cache_k, cache_v, q, k, v);
}

static void what_does_not_fit_is_refused(void **) {
    const struct {
        void (*action)(void);
        const char *words;
    } refused[] = {
        {one_to_a_full_one,
         "16 of its 16 rows are filled, 1 more do not fit: make the cache longer"},
        {two_for_one_place, "15 of its 16 rows are filled, 2 more "},
        {more_than_any, "0 of its 16 rows are filled, 17 more "},
        {a_great_many, "16 of its 16 rows are filled, 2147483647 more "},
        {none, "0 tokens cannot be appended to 3"},
        {before_the_start, "1 tokens cannot be appended to -1"},
        {attend_past_the_end, "16 of its 16 rows are filled, 1 more "},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(refused[i].action, refused[i].words);
    const float *both = (const float *)cache_k;
    for (int i = 0; i < 2 * CAPACITY * KV * D; i++)
        assert_true(isnan(both[i])); /* nothing was written */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(token_by_token, fill, release),
        cmocka_unit_test_setup_teardown(prefill_and_decode, fill, release),
        cmocka_unit_test_setup_teardown(in_chunks, fill, release),
        cmocka_unit_test_setup_teardown(all_at_once, fill, release),
        cmocka_unit_test_setup_teardown(what_fits_is_appended, fill, release),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, fill, release),
    };
    return cmocka_run_group_tests_name("kv_cache", tests, NULL, NULL) != 0;
}
