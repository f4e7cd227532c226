/* The sentence that runs through the course: each chapter's kernel turns what its step was given
 * into what transformers made of it. */
#include "common/sentence.h"
#include "01_normalization/normalization.h"
#include "03_feed_forward/feed_forward.h"
#include "05_rope/rope.h"
#include "04_attention/attention.h"
#include "06_grouped_query/grouped_query.h"
#include "07_kv_cache/kv_cache.h"
#include "08_flash_attention/flash_attention.h"
#include "common/check.h"
#include "common/error.h"
#include "common/linear.h"
#include "tests/refused.h"

#include <math.h>

static Sentence s;
static int T, C, H, KV, D, F;

static int open_sentence(void **) {
    s = sentence_open();
    T = s.T;
    C = s.C;
    H = s.H;
    KV = s.KV;
    D = s.D;
    F = s.F;
    return 0;
}

static int close_sentence(void **) {
    sentence_close(&s);
    return 0;
}

/* ------------------------------------------------------------------ the judge */

/* A kernel may err against float64 by CHECK_MULTIPLE times PyTorch's own error and CHECK_ULPS more.
 * What is stored is PyTorch's float32, which is itself that one error away from float64. */
static size_t wrong(const char *name, size_t row, const float got[], size_t count,
                    const double stored[]) {
    char key[64];
    snprintf(key, sizeof key, "ulps/%s", name);
    double error = strtod(safetensors_metadata(&s.file, key), NULL);
    return check_within((CHECK_MULTIPLE + 1) * error + CHECK_ULPS, count, row, got, stored).wrong;
}

/* `count` numbers of a tensor, from `first` on, are `got`; zeros are not, nor is one NaN among
 * them. */
static void assert_part(const char *name, size_t row, size_t first, size_t count,
                        const float got[count]) {
    double *stored = tensor_to_double(safetensors_find(&s.file, name));
    float *other = calloc(count, sizeof *other);
    size_t zeros = wrong(name, row, other, count, stored + first),
           ours = wrong(name, row, got, count, stored + first);
    memcpy(other, got, count * sizeof *other);
    other[count / 2] = NAN;
    size_t nan = wrong(name, row, other, count, stored + first);
    free(stored);
    free(other);
    if (ours > 0) fail_msg("%s: %zu of %zu are wrong", name, ours, count);
    if (zeros == 0 || nan != 1) fail_msg("%s: zeros or NaN pass", name);
}

static void assert_right(const char *name, size_t row, const float got[]) {
    assert_part(name, row, 0, tensor_count(safetensors_find(&s.file, name)), got);
}

/* ------------------------------------------------------------------ what is stored */

static const void *rows(const char *name, int width) {
    return sentence_tensor(&s, name, 2, T, width);
}
static const void *heads(const char *name, int count) {
    return sentence_tensor(&s, name, 3, T, count, D);
}

static const void *stage(int number) {
    const float(*stream)[T][C] = sentence_tensor(&s, "stream", 3, 2 * s.L + 2, T, C);
    return stream[number];
}

/* ------------------------------------------------------------------ chapters 1 to 3 */

static void check_norm(int from, const float weight[C], const char *to, size_t first) {
    float out[T][C];
    rms_norm(T, C, out, stage(from), weight, s.eps);
    assert_part(to, (size_t)C, first, (size_t)T * C, (float *)out);
}

static void chapter_1_normalizes(void **) {
    float *before_attention = sentence_weight(&s, "input_layernorm", 1, C);
    float *before_feed_forward = sentence_weight(&s, "post_attention_layernorm", 1, C);
    float *last = tensor_to_float(safetensors_find(&s.model, "model.norm.weight"));
    check_norm(2 * s.layer, before_attention, "attention/normed", 0);
    check_norm(2 * s.layer + 1, before_feed_forward, "feed_forward/normed", 0);
    check_norm(2 * s.L, last, "stream", (size_t)(2 * s.L + 1) * T * C);
    free(before_attention);
    free(before_feed_forward);
    free(last);
}

static void chapters_2_and_3_gate(void **) {
    float out[T * F], hidden[T * F];
    const float *gate = rows("feed_forward/gate", F), *up = rows("feed_forward/up", F);
    swiglu(T * F, out, gate, up);
    assert_right("feed_forward/product", 1, out);
    silu(T * F, hidden, gate);
    for (int i = 0; i < T * F; i++) hidden[i] *= up[i];
    assert_right("feed_forward/product", 1, hidden);
}

static void chapter_3_feeds_forward(void **) {
    float(*w_gate)[C] = sentence_weight(&s, "mlp.gate_proj", 2, F, C);
    float(*w_up)[C] = sentence_weight(&s, "mlp.up_proj", 2, F, C);
    float(*w_down)[F] = sentence_weight(&s, "mlp.down_proj", 2, C, F);
    float out[T][C], gate[T][F], up[T][F];
    const float(*normed)[C] = rows("feed_forward/normed", C);
    linear(T, C, F, gate, normed, w_gate, NULL);
    linear(T, C, F, up, normed, w_up, NULL);
    assert_right("feed_forward/gate", (size_t)F, (float *)gate);
    assert_right("feed_forward/up", (size_t)F, (float *)up);
    gated_feed_forward(T, C, F, out, normed, w_gate, w_up, w_down, swiglu, gate, up);
    assert_right("feed_forward/out", (size_t)C, (float *)out);
    free(w_gate);
    free(w_up);
    free(w_down);
}

/* ------------------------------------------------------------------ chapter 5 */

static void chapter_4_turns(void **) {
    float inv_freq[D / 2], table[2][T][D / 2], q[T][H][D], k[T][KV][D];
    int positions[T];
    for (int t = 0; t < T; t++) positions[t] = t;
    rope_frequencies(D, inv_freq, &(RopeParameters){.rope_theta = s.rope_theta}, T);
    rope_table(T, D, table, positions, inv_freq);
    rope_half_split(T, H, D, q, heads("attention/q", H), table[COSINES], table[SINES]);
    rope_half_split(T, KV, D, k, heads("attention/k", KV), table[COSINES], table[SINES]);
    assert_right("rope/cosine", (size_t)D / 2, (float *)table[COSINES]);
    assert_right("rope/sine", (size_t)D / 2, (float *)table[SINES]);
    assert_right("attention/q_rope", (size_t)D, (float *)q);
    assert_right("attention/k_rope", (size_t)D, (float *)k);
}

/* ------------------------------------------------------------------ chapters 4 and 6 to 8 */

static void chapter_5_attends(void **) {
    const float(*q)[D] = rows("head/q", D), (*k)[D] = rows("head/k", D);
    const float(*v)[D] = rows("head/v", D);
    float scores[T][T], out[T][D];
    attention_scores(T, T, D, scores, q, k);
    assert_right("head/scores", (size_t)T, (float *)scores);
    causal_mask(T, T, scores);
    softmax(T, T, scores, scores);
    assert_right("head/weights", (size_t)T, (float *)scores);
    weighted_sum(T, T, D, out, scores, v);
    assert_right("head/out", (size_t)D, (float *)out);
    attention(T, T, D, out, q, k, v, scores);
    assert_right("head/weights", (size_t)T, (float *)scores);
    assert_right("head/out", (size_t)D, (float *)out);
}

static void check_projection(const char *weight, const char *from, const char *to, int out) {
    float(*w)[C] = sentence_weight(&s, weight, 2, out, C), y[T][out];
    linear(T, C, out, y, safetensors_find(&s.file, from)->data, w, NULL);
    const Tensor *truth = safetensors_find(&s.file, to);
    assert_right(to, truth->shape[truth->rank - 1], (float *)y);
    free(w);
}

static void a_layer_projects(void **) {
    assert_int_equal(H * D, C);
    check_projection("self_attn.q_proj", "attention/normed", "attention/q", H * D);
    check_projection("self_attn.k_proj", "attention/normed", "attention/k", KV * D);
    check_projection("self_attn.v_proj", "attention/normed", "attention/v", KV * D);
    check_projection("self_attn.o_proj", "attention/attended", "attention/out", C);
}

static void chapter_6_shares(void **) {
    float out[T][H][D];
    grouped_query_attention(T, H, KV, D, out, heads("attention/q_rope", H),
                            heads("attention/k_rope", KV), heads("attention/v", KV));
    assert_right("attention/attended", (size_t)D, (float *)out);
}

static void chapter_7_remembers(void **) {
    float out[T][H][D], keys[T][KV][D], values[T][KV][D];
    const float(*q)[H][D] = heads("attention/q_rope", H);
    const float(*k)[KV][D] = heads("attention/k_rope", KV);
    const float(*v)[KV][D] = heads("attention/v", KV);
    for (int t = 0; t < T; t++)
        cached_attention(T, t, 1, H, KV, D, out + t, keys, values, q + t, k + t, v + t);
    assert_right("attention/attended", (size_t)D, (float *)out);
    assert_memory_equal(keys, k, sizeof keys);
    assert_memory_equal(values, v, sizeof values);
}

static void chapter_8_tiles(void **) {
    float out[T][H][D];
    const float(*q)[H][D] = heads("attention/q_rope", H);
    const void *k = heads("attention/k_rope", KV), *v = heads("attention/v", KV);
    flash_attention(T, T, H, KV, D, out, q, k, v);
    assert_right("attention/attended", (size_t)D, (float *)out);
    for (int t = 0; t < T; t++) flash_attention(1, t + 1, H, KV, D, out + t, q + t, k, v);
    assert_right("attention/attended", (size_t)D, (float *)out);
}

/* ------------------------------------------------------------------ all together */

/* What each block gives is added to the stream; the head's rows are the layer's; the first stage is
 * the embedding. */
static void the_steps_are_of_one_run(void **) {
    const float(*stream)[T][C] = stage(0), (*attention_out)[C] = rows("attention/out", C);
    const float(*feed_forward_out)[C] = rows("feed_forward/out", C);
    const float(*attn_out)[H][D] = heads("attention/attended", H), (*out)[D] = rows("head/out", D);
    const Tensor *embedding = safetensors_find(&s.model, "model.embed_tokens.weight");
    for (int t = 0; t < T; t++) {
        for (int i = 0; i < C; i++) {
            assert_true(stream[0][t][i] == (float)tensor_get(embedding, (size_t)s.ids[t] * C + i));
            assert_true(stream[2 * s.layer + 1][t][i] ==
                        stream[2 * s.layer][t][i] + attention_out[t][i]);
            assert_true(stream[2 * s.layer + 2][t][i] ==
                        stream[2 * s.layer + 1][t][i] + feed_forward_out[t][i]);
        }
        assert_memory_equal(out[t], attn_out[t][s.head], sizeof *out);
    }
}

static void the_answer_is_the_owner(void **) {
    float(*table)[C] =
        (void *)tensor_to_float(safetensors_find(&s.model, "model.embed_tokens.weight")),
    logits[s.V];
    const float(*normed)[C] = stage(2 * s.L + 1), (*weights)[T] = rows("head/weights", T);
    linear(1, C, s.V, (float(*)[s.V])logits, normed + T - 1, table, NULL);
    assert_right("logits", (size_t)s.V, logits);
    int best = 0, most = 0;
    for (int v = 1; v < s.V; v++) best = logits[v] > logits[best] ? v : best;
    for (int t = 1; t < T; t++) most = weights[T - 1][t] > weights[T - 1][most] ? t : most;
    assert_int_equal(best, s.ids[s.owner]);
    assert_int_equal(most, s.owner);
    assert_string_equal(s.token[s.owner], "Anna");
    free(table);
}

/* ------------------------------------------------------------ what the lessons say of the heads */

static int largest(int n, const float x[n]) {
    int best = 0;
    for (int i = 1; i < n; i++) best = x[i] > x[best] ? i : best;
    return best;
}

static int kv_head(int head) { return head / (H / KV); }

/* The rows of one head. */
static void take_head(int heads, int head, float rows[T][D], const float x[T][heads][D]) {
    for (int t = 0; t < T; t++) memcpy(rows[t], x[t][head], sizeof rows[t]);
}

/* The weights that each row of a, as a query, gives the rows of b up to its own. */
static void weigh(int width, float weights[T][T], const float a[T][width],
                  const float b[T][width]) {
    attention_scores(T, T, width, weights, a, b);
    causal_mask(T, T, weights);
    softmax(T, T, weights, weights);
}

/* What is written in words of the trained model must be read again when it is trained again, and
 * differs. */
static void as_chapter_5_says_only_keys_lead_to_the_owner(void **) {
    const float(*q)[D] = rows("head/q", D), (*k)[D] = rows("head/k", D),
          (*normed)[C] = rows("attention/normed", C);
    float weights[T][T];
    int itself = 0;
    weigh(C, weights, normed, normed);
    for (int t = 0; t < T; t++) itself += largest(t + 1, weights[t]) == t;
    assert_true(itself > 0.9 * T && largest(T, weights[T - 1]) == T - 1);
    weigh(D, weights, q, q);
    assert_int_not_equal(largest(T, weights[T - 1]), s.owner);
    weigh(D, weights, q, k);
    assert_true(weights[T - 1][s.owner] > 0.5f);
}

/* What a head writes into the last row, its numbers times its columns of W_o, times a token's
 * embedding. */
static double speaks_for(int head, int token, const float w_o[C][H * D]) {
    const float(*found)[H][D] = heads("attention/attended", H), (*embedding)[C] = stage(0);
    double sum = 0;
    for (int c = 0; c < C; c++)
        for (int i = 0; i < D; i++)
            sum += (double)w_o[c][head * D + i] * found[T - 1][head][i] * embedding[token][c];
    return sum;
}

static void weigh_head(int h, float weights[T][T]) {
    float q[T][D], k[T][D];
    take_head(H, h, q, heads("attention/q_rope", H));
    take_head(KV, kv_head(h), k, heads("attention/k_rope", KV));
    weigh(D, weights, q, k);
}

static void as_chapter_5_says_that_head_writes_the_answer(void **) {
    enum { FIRST_OWNER = 1 };
    float(*w_o)[H * D] = sentence_weight(&s, "self_attn.o_proj", 2, C, H * D);
    double owner = 0, first = 0;
    float weights[T][T];
    assert_string_equal(s.token[FIRST_OWNER], "Mia");
    for (int h = 0; h < H; h++) {
        double one = speaks_for(h, s.owner, w_o), other = speaks_for(h, FIRST_OWNER, w_o);
        weigh_head(h, weights);
        bool finds_her = weights[T - 1][s.owner] > 0.6f;
        assert_true(finds_her || h != s.head);
        if (finds_her) assert_true(one > other && one <= speaks_for(s.head, s.owner, w_o));
        owner += one;
        first += other;
    }
    assert_true(owner > first);
    free(w_o);
}

static void as_chapter_6_says_who_shares_her_key_may_pass_her_over(void **) {
    enum { SECOND = 1 };
    float weights[T][T];
    int find_her = 0, pass_her_over = 0;
    for (int h = 0; h < H; h++) {
        weigh_head(h, weights);
        bool finds_her = largest(T, weights[T - 1]) == s.owner;
        if (h == s.head) assert_true(finds_her);
        if (kv_head(h) == SECOND) {
            find_her += finds_her;
            pass_her_over += !finds_her;
        }
    }
    assert_true(find_her > 0 && pass_her_over > 0);
}

static void
as_chapter_7_says_a_word_of_the_question_looks_at_what_followed_it_in_the_story(void **) {
    enum { THE = 3, THE_AGAIN = 21 };
    const float(*weights)[T] = rows("head/weights", T);
    for (int n = 0; n < 2; n++) { /* the, red */
        assert_string_equal(s.token[THE + n], s.token[THE_AGAIN + n]);
        assert_int_equal(largest(T, weights[THE_AGAIN + n]), THE + n + 1);
    }
}

static void as_chapter_8_says_the_largest_score_comes_with_her_tile(void **) {
    enum { TILE = 4 };
    const float(*scores)[T] = rows("head/scores", T), *last = scores[T - 1];
    assert_int_equal(largest(T, last) / TILE, s.owner / TILE);
    assert_int_equal(s.owner / TILE,
                     1); /* one tile stands before hers, and what it has summed shrinks */
}

static float *projected(int layer, const char *weight, int out) {
    char name[64];
    float normed[T][C], *y = calloc((size_t)T * (size_t)out, sizeof *y);
    snprintf(name, sizeof name, "model.layers.%d.input_layernorm.weight", layer);
    float *norm = tensor_to_float(safetensors_find(&s.model, name));
    snprintf(name, sizeof name, "model.layers.%d.self_attn.%s.weight", layer, weight);
    float *w = tensor_to_float(safetensors_find(&s.model, name));
    rms_norm(T, C, normed, stage(2 * layer), norm, s.eps);
    linear(T, C, out, (float(*)[out])y, normed, (float(*)[C])w, NULL);
    free(norm);
    free(w);
    return y;
}

static float *turned(int heads, const float *x) {
    float *y = calloc((size_t)T * (size_t)(heads * D), sizeof *y);
    const float(*cosine)[D / 2] = rows("rope/cosine", D / 2),
                             (*sine)[D / 2] = rows("rope/sine", D / 2);
    rope_half_split(T, heads, D, (float(*)[heads][D])y, (const float(*)[heads][D])x, cosine, sine);
    return y;
}

/* In how many rows a head weighs the token before most. */
static int looks_one_back(int head, const float *queries, const float *keys) {
    float q[T][D], k[T][D], weights[T][T];
    int count = 0;
    take_head(H, head, q, (const float(*)[H][D])queries);
    take_head(KV, kv_head(head), k, (const float(*)[KV][D])keys);
    weigh(D, weights, q, k);
    for (int t = 1; t < T; t++) count += largest(t + 1, weights[t]) == t - 1;
    return count;
}

/* How much of a head's scores can come from the fastest quarter of the pairs. */
static double share_of_fast_pairs(int head, const float *queries, const float *keys) {
    const float(*q)[H][D] = (const float(*)[H][D])queries,
          (*k)[KV][D] = (const float(*)[KV][D])keys;
    double fast = 0, all = 0;
    for (int i = 0; i < D / 2; i++) {
        double of_q = 0, of_k = 0;
        for (int t = 0; t < T; t++) {
            of_q += hypot(q[t][head][i], q[t][head][i + D / 2]);
            of_k += hypot(k[t][kv_head(head)][i], k[t][kv_head(head)][i + D / 2]);
        }
        all += of_q * of_k;
        fast += i < D / 8 ? of_q * of_k : 0;
    }
    return fast / all;
}

static void as_chapter_4_says_one_head_needs_fast_pairs_and_hers_slow_ones(void **) {
    int most = -1, without = 0, where = -1;
    double share = 0, share_of_hers = 0;
    for (int l = 0; l < s.L; l++) {
        float *q = projected(l, "q_proj", H * D), *k = projected(l, "k_proj", KV * D);
        float *turned_q = turned(H, q), *turned_k = turned(KV, k);
        for (int h = 0; h < H; h++) {
            int back = looks_one_back(h, turned_q, turned_k);
            if (back > most) {
                most = back;
                where = l;
                without = looks_one_back(h, q, k);
                share = share_of_fast_pairs(h, q, k);
            }
            if (l == s.layer && h == s.head) share_of_hers = share_of_fast_pairs(h, q, k);
        }
        free(q);
        free(k);
        free(turned_q);
        free(turned_k);
    }
    assert_true(most > 0.5 * (T - 1) && without < 0.5 * (T - 1));
    assert_int_equal(where, s.layer - 1); /* chapter 4 says it, too */
    assert_true(share > 0.25 && share_of_hers < 0.125);
}

static void a_name_that_is_not_there(void) { heads("attention/queries", H); }
static void another_rank(void) { sentence_tensor(&s, "attention/q", 2, T, H * D); }
static void another_shape(void) { sentence_tensor(&s, "attention/q", 3, H, T, D); }
static void a_turned_weight(void) { sentence_weight(&s, "mlp.gate_proj", 2, C, F); }

static void what_is_not_there_is_refused(void **) {
    assert_refused(a_name_that_is_not_there, "no tensor \"attention/queries\"");
    assert_refused(another_rank, "tensor \"attention/q\" is [");
    assert_refused(another_shape, "tensor \"attention/q\" is [");
    assert_refused(a_turned_weight, ".mlp.gate_proj.weight\" is [");
}

static void what_is_far_is_counted(void **) {
    const float right[4] = {1, 1, 1, 1}, got[4] = {1, 1.00009f, 1.0002f, NAN};
    assert_int_equal(sentence_count_mismatches(4, 4, got, right), 2);
    assert_int_equal(sentence_count_mismatches(3, 4, got, right), 1);
    assert_int_equal(sentence_count_mismatches(4, 4, right, got), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chapter_1_normalizes),
        cmocka_unit_test(chapters_2_and_3_gate),
        cmocka_unit_test(chapter_3_feeds_forward),
        cmocka_unit_test(chapter_4_turns),
        cmocka_unit_test(chapter_5_attends),
        cmocka_unit_test(a_layer_projects),
        cmocka_unit_test(chapter_6_shares),
        cmocka_unit_test(chapter_7_remembers),
        cmocka_unit_test(chapter_8_tiles),
        cmocka_unit_test(the_steps_are_of_one_run),
        cmocka_unit_test(the_answer_is_the_owner),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(what_is_far_is_counted),
        cmocka_unit_test(as_chapter_4_says_one_head_needs_fast_pairs_and_hers_slow_ones),
        cmocka_unit_test(as_chapter_5_says_only_keys_lead_to_the_owner),
        cmocka_unit_test(as_chapter_5_says_that_head_writes_the_answer),
        cmocka_unit_test(as_chapter_6_says_who_shares_her_key_may_pass_her_over),
        cmocka_unit_test(
            as_chapter_7_says_a_word_of_the_question_looks_at_what_followed_it_in_the_story),
        cmocka_unit_test(as_chapter_8_says_the_largest_score_comes_with_her_tile),
    };
    return cmocka_run_group_tests_name("sentence", tests, open_sentence, close_sentence) != 0;
}
