/* What the golden values of chapter 5's frequencies cannot see: the attention factor of YaRN and
 * longrope in every spelling, and what is refused. */
#include "05_rope/scaling.h"
#include "tests/near.h"
#include "tests/refused.h"

enum { D = 10 };

static void the_attention_factor_is_transformers(void **) {
    static const struct {
        RopeParameters parameters;
        double factor;
    } known[] = {
        {{.rope_type = ROPE_YARN, .factor = 4}, 1.138629436111989}, /* 0.1 ln 4 + 1 */
        {{.rope_type = ROPE_YARN, .factor = 1.5}, 1.0405465108108164},
        {{.rope_type = ROPE_YARN, .factor = 16}, 1.2772588722239782},
        {{.rope_type = ROPE_YARN, .factor = 32}, 1.3465735902799727},
        {{.rope_type = ROPE_YARN, .factor = 1}, 1},
        {{.rope_type = ROPE_YARN, .factor = 0.5}, 1},
        {{.rope_type = ROPE_YARN, .factor = 40, .mscale = 1, .mscale_all_dim = 1},
         1}, /* DeepSeek-V3 */
        {{.rope_type = ROPE_YARN, .factor = 40, .mscale = 0.707, .mscale_all_dim = 1},
         0.9210423553163399},
        {{.rope_type = ROPE_YARN, .factor = 40, .mscale = 1, .mscale_all_dim = 0.707},
         1.0857263992561355},
        {{.rope_type = ROPE_YARN, .factor = 40, .mscale = 0.707}, 1.3688879454113936},
        {{.rope_type = ROPE_YARN, .factor = 40, .mscale_all_dim = 0.707}, 1.3688879454113936},
        {{.rope_type = ROPE_YARN, .factor = 40, .attention_factor = 0.5}, 0.5},
        {{.rope_type = ROPE_YARN,
          .factor = 9,
          .attention_factor = 2,
          .mscale = 2,
          .mscale_all_dim = 1},
         2},
        {{.rope_type = ROPE_LONGROPE, .factor = 32},
         1.1902380714238083}, /* sqrt(1 + ln 32 / ln 4096) */
        {{.rope_type = ROPE_LONGROPE, .factor = 1}, 1},
        {{.rope_type = ROPE_LONGROPE, .factor = 0.5}, 1},
        {{.rope_type = ROPE_LONGROPE, .factor = 32, .attention_factor = 1.25}, 1.25},
        {{.rope_type = ROPE_DEFAULT, .factor = 4, .attention_factor = 0.5}, 1},
        {{.rope_type = ROPE_LINEAR, .factor = 4, .attention_factor = 0.5}, 1},
        {{.rope_type = ROPE_DYNAMIC, .factor = 4, .attention_factor = 0.5}, 1},
        {{.rope_type = ROPE_LLAMA3, .factor = 4, .attention_factor = 0.5}, 1},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        RopeParameters parameters = known[i].parameters;
        parameters.rope_theta = 10000;
        parameters.max_position_embeddings = parameters.original_max_position_embeddings = 4096;
        parameters.low_freq_factor = 1;
        parameters.high_freq_factor = 4;
        parameters.short_factor = parameters.long_factor = (const float[D / 2]){1, 1, 1, 1, 1};
        float inv_freq[D / 2];
        assert_near(rope_frequencies(D, inv_freq, &parameters, 4096), known[i].factor, 1e-7);
    }
}

/* Bases whose powers are whole numbers, which every powf() has right: the rest is the order of the
 * operations. The answers are those of transformers 5.23; rounded elsewhere, they would be 156, 26,
 * 1 and 1 ulp off. */
static void it_is_rounded_where_transformers_rounds(void **) {
    static const struct {
        int D, pair;
        RopeParameters parameters;
        float frequency;
    } known[] = {
        {32,
         6,
         {.rope_type = ROPE_LLAMA3,
          .rope_theta = 65536,
          .factor = 20,
          .original_max_position_embeddings = 700,
          .low_freq_factor = 1.74,
          .high_freq_factor = 1.89},
         0x1.c0e15ap-11f},
        {28,
         5,
         {.rope_type = ROPE_LLAMA3,
          .rope_theta = 4782969,
          .factor = 32,
          .original_max_position_embeddings = 4096,
          .low_freq_factor = 2.62,
          .high_freq_factor = 3.6},
         0x1.925818p-12f},
        {28,
         4,
         {.rope_type = ROPE_YARN,
          .rope_theta = 4782969,
          .factor = 1,
          .original_max_position_embeddings = 4096,
          .keep_fractions = true},
         0x1.948b0ap-7f},
        {28,
         4,
         {.rope_type = ROPE_YARN,
          .rope_theta = 4782969,
          .factor = 4,
          .original_max_position_embeddings = 8192,
          .keep_fractions = true},
         0x1.586304p-7f},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        float inv_freq[16];
        rope_frequencies(known[i].D, inv_freq, &known[i].parameters, 1);
        float got = inv_freq[known[i].pair];
        if (got != known[i].frequency) fail_msg("case %zu: %a, not %a", i, got, known[i].frequency);
    }
}

static float y[8];

static void odd_width(void) { rope_frequencies(9, y, &(RopeParameters){.rope_theta = 10000}, 1); }
static void no_width(void) { rope_frequencies(0, y, &(RopeParameters){.rope_theta = 10000}, 1); }
static void dynamic_pair(void) {
    const RopeParameters dynamic = {.rope_type = ROPE_DYNAMIC,
                                    .rope_theta = 10000,
                                    .factor = 2,
                                    .max_position_embeddings = 4096};
    rope_frequencies(2, y, &dynamic, 8192);
}

static void what_cannot_be_is_refused(void **) {
    assert_refused(odd_width, "a head of width 9 cannot be cut into pairs: the width must be even");
    assert_refused(no_width, "a head of width 0 cannot be cut into pairs");
    assert_refused(dynamic_pair, "dynamic scaling needs a head wider than 2");
}

/* A GGUF file says of each pair what its frequency is divided by. */
static void each_pair_is_slowed_by_its_own_factor(void **) {
    static const float factors[D / 2] = {1, 2, 4, 8, 32};
    const RopeParameters plain = {.rope_theta = 10000}, slowed = {.rope_type = ROPE_FACTORS,
                                                                  .rope_theta = 10000,
                                                                  .factors = factors};
    float before[D / 2], after[D / 2];
    assert_true(rope_frequencies(D, before, &plain, 1) == 1 &&
                rope_frequencies(D, after, &slowed, 1) == 1);
    /* Powers of two: nothing is rounded. */
    for (int i = 0; i < D / 2; i++) assert_true(after[i] * factors[i] == before[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_is_slowed_by_its_own_factor),
        cmocka_unit_test(the_attention_factor_is_transformers),
        cmocka_unit_test(it_is_rounded_where_transformers_rounds),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("scaling", tests, NULL, NULL) != 0;
}
