/* What the golden values of chapter 6 cannot see: the last T of S positions, that sharing is the
 * same as copying, what sharing saves in the Llamas, and what is refused. */
#include "06_grouped_query/grouped_query.h"
#include "common/random.h"
#include "tests/refused.h"

enum { T = 6, H = 6, KV = 2, D = 5 };

static float q[T][H][D], k[T][KV][D], v[T][KV][D], out[T][H][D];

static int fill(void **) {
    Random random = {6};
    random_fill(&random, T * H * D, (float *)q);
    random_fill(&random, T * KV * D, (float *)k);
    random_fill(&random, T * KV * D, (float *)v);
    grouped_query_attention(T, H, KV, D, out, q, k, v);
    return 0;
}

static void the_last_positions_are_those_of_the_whole(void **) {
    for (int last = 1; last <= T; last++) {
        float some[last][H][D];
        gqa_attention_with_past(last, T, H, KV, D, some, q + T - last, k, v);
        assert_memory_equal(some, out[T - last], sizeof some);
    }
}

static void sharing_is_copying(void **) {
    float own_k[T][H][D], own_v[T][H][D], copied[T][H][D];
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            memcpy(own_k[t][h], k[t][h / 3], sizeof own_k[t][h]);
            memcpy(own_v[t][h], v[t][h / 3], sizeof own_v[t][h]);
        }
    grouped_query_attention(T, H, H, D, copied, q, own_k, own_v);
    assert_memory_equal(copied, out, sizeof out);
}

static void sharing_saves_what_the_llamas_save(void **) {
    static const struct {
        long L, C, H, KV, D, parameters, bytes; /* of a layer; of a token, in bf16 */
    } known[] = {
        {32, 4096, 32, 32, 128, 67108864, 524288},    /* Llama 2 7B */
        {80, 8192, 64, 8, 128, 150994944, 327680},    /* Llama 2 and 3 70B */
        {32, 4096, 32, 8, 128, 41943040, 131072},     /* Llama 3 8B */
        {16, 2048, 32, 8, 64, 10485760, 32768},       /* Llama 3.2 1B */
        {126, 16384, 128, 8, 128, 570425344, 516096}, /* Llama 3.1 405B */
        {7, 5, 3, 1, 2, 80, 56},                      /* no Llama: H D is not C */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(attention_parameters(known[i].C, known[i].H, known[i].KV, known[i].D),
                         known[i].parameters);
        assert_int_equal(kv_bytes_per_token(known[i].L, known[i].KV, known[i].D, 2),
                         known[i].bytes);
    }
}

static void uneven_groups(void) {
    grouped_query_attention(T, 5, 2, D, (void *)out, (void *)q, k, v);
}
static void fewer_heads_than_groups(void) {
    grouped_query_attention(T, 1, 2, D, (void *)out, (void *)q, k, v);
}
static void no_groups(void) { grouped_query_attention(T, H, 0, D, out, q, (void *)k, (void *)v); }
static void more_queries_than_keys(void) { gqa_attention_with_past(3, 2, H, KV, D, out, q, k, v); }
static void no_queries(void) { grouped_query_attention(0, H, KV, D, out, q, k, v); }

static void what_cannot_be_is_refused(void **) {
    assert_refused(uneven_groups, "5 query heads cannot share 2 key/value heads evenly");
    assert_refused(fewer_heads_than_groups, "1 query heads ");
    assert_refused(no_groups, "query heads cannot share 0 key/value heads evenly");
    assert_refused(more_queries_than_keys, "3 queries cannot be the last of 2 positions");
    assert_refused(no_queries, "0 queries ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_last_positions_are_those_of_the_whole, fill),
        cmocka_unit_test_setup(sharing_is_copying, fill),
        cmocka_unit_test(sharing_saves_what_the_llamas_save),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("grouped_query", tests, NULL, NULL) != 0;
}
