/* Chapter 7: a cache by hand, why keys can be kept, the course's text token by token, one layer run
 * in ten ways, and what the cache saves in seconds. */
#include "07_kv_cache/kv_cache.h"
#include "05_rope/rope.h"
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four tokens, one head of width 1. Every query is ln 2, so that a key n has e^score = 2^n. */
static void by_hand(void) {
    enum { ALL = 4, PROMPT = 2 };
    static const float ln2 = 0.69314718f;
    const float q[ALL][1][1] = {{{ln2}}, {{ln2}}, {{ln2}}, {{ln2}}};
    const float k[ALL][1][1] = {{{0}}, {{1}}, {{2}}, {{3}}},
                v[ALL][1][1] = {{{7}}, {{10}}, {{2}}, {{20}}};
    float cache_k[ALL][1][1], cache_v[ALL][1][1], out[ALL][1][1];
    float late_k[ALL + 1][1][1] = {0}, late_v[ALL + 1][1][1] = {0}, late[ALL][1][1];
    section("Four tokens by hand");
    Table table = {0};
    table_row(&table, "call|position|key|value|rows filled|output|written one row late");
    int T = PROMPT; /* tokens of this call */
    for (int t = 0; t < ALL; t += T) {
        T = t == 0 ? PROMPT : 1;
        cached_attention(ALL, t, T, 1, 1, 1, out + t, cache_k, cache_v, q + t, k + t, v + t);
        kv_cache_append(ALL + 1, 1, 1, late_k, late_v, t + 1, T, k + t, v + t);
        gqa_attention_with_past(T, t + T, 1, 1, 1, late + t, q + t, late_k, late_v);
        for (int i = t; i < t + T; i++)
            table_row(&table, "%s|%d|%g|%g|%d|%.4f|%.4f", t == 0 ? "prefill" : "decode", i,
                      k[i][0][0], v[i][0][0], t + T, out[i][0][0], late[i][0][0]);
    }
    table_print(&table, stdout);
}

enum { STORY = 15 }; /* tokens before the question */
static Sentence s;
static float *w_q, *w_k, *w_v; /* of its layer */
static int projected, rotated; /* tokens projected, vectors rotated so far */

/* Queries, keys and values of the T tokens from `first` on, from the layer's normalized input. */
static void project(int first, int T, float q[T][s.H][s.D], float k[T][s.KV][s.D],
                    float v[T][s.KV][s.D]) {
    const float(*normed)[s.C] = sentence_tensor(&s, "attention/normed", 2, s.T, s.C);
    linear(T, s.C, s.H * s.D, (void *)q, normed + first, (void *)w_q, NULL);
    linear(T, s.C, s.KV * s.D, (void *)k, normed + first, (void *)w_k, NULL);
    linear(T, s.C, s.KV * s.D, (void *)v, normed + first, (void *)w_v, NULL);
    projected += T;
}

/* RoPE in place: the tokens of x are at positions first, first + 1, … */
static void apply_rope(int first, int T, int heads, float x[T][heads][s.D]) {
    const float(*cosine)[s.D / 2] = sentence_tensor(&s, "rope/cosine", 2, s.T, s.D / 2);
    const float(*sine)[s.D / 2] = sentence_tensor(&s, "rope/sine", 2, s.T, s.D / 2);
    float before[T][heads][s.D];
    memcpy(before, x, sizeof before);
    rope_half_split(T, heads, s.D, x, before, cosine + first, sine + first);
    rotated += T * heads;
}

/* One call: the next T tokens of the text. */
static void step(KVCache *c, int T, float out[T][s.H][s.D]) {
    int H = s.H, KV = s.KV, D = s.D;
    float q[T][H][D], k[T][KV][D], v[T][KV][D];
    project(c->length, T, q, k, v);
    apply_rope(c->length, T, H, q);
    apply_rope(c->length, T, KV, k);
    cached_attention(c->capacity, c->length, T, H, KV, D, out, (void *)c->k, (void *)c->v, q, k, v);
    c->length += T;
}

/* At how many of T positions the outputs of the heads differ, and the largest difference. */
static int different(int T, const float a[T][s.H * s.D], const float b[T][s.H * s.D],
                     float *largest) {
    int count = 0;
    *largest = 0;
    for (int t = 0; t < T; t++) {
        float worst = 0;
        for (int i = 0; i < s.H * s.D; i++) worst = fmaxf(worst, fabsf(a[t][i] - b[t][i]));
        if (worst > 1e-4f) count++;
        *largest = fmaxf(*largest, worst);
    }
    return count;
}

/* The attention outputs for the story alone, and for the story followed by the question. */
static void later_tokens(void) {
    int T = s.T, H = s.H, KV = s.KV, D = s.D;
    float q[T][H][D], k[T][KV][D], v[T][KV][D], alone[STORY][H][D], followed[T][H][D], most;
    project(0, T, q, k, v);
    apply_rope(0, T, H, q);
    apply_rope(0, T, KV, k);
    section("Effect of later tokens on earlier outputs");
    Table table = {0};
    table_row(&table, "attention|positions in the story|changed|largest change");
    grouped_query_attention(STORY, H, KV, D, alone, q, k, v);
    grouped_query_attention(T, H, KV, D, followed, q, k, v);
    int changed = different(STORY, (void *)alone, (void *)followed, &most);
    table_row(&table, "causal, as in a Llama|%d|%d|%.2f", STORY, changed, most);
    for (int t = 0; t < STORY; t++) {
        gqa_attention_with_past(1, STORY, H, KV, D, alone + t, q + t, k, v);
        gqa_attention_with_past(1, T, H, KV, D, followed + t, q + t, k, v);
    }
    changed = different(STORY, (void *)alone, (void *)followed, &most);
    table_row(&table, "without a mask, as in BERT|%d|%d|%.2f", STORY, changed, most);
    table_print(&table, stdout);
}

static void token_by_token(void) {
    KVCache cache = kv_cache_new(s.T, s.KV, s.D);
    const float(*weights)[s.T] = sentence_tensor(&s, "head/weights", 2, s.T, s.T); /* PyTorch's */
    float out[s.T][s.H][s.D];
    section("The question, token by token");
    Table table = {0};
    table_row(&table, "call|last token|position|rows filled|projected|<  head %d attends to",
              s.head);
    while (cache.length < s.T) {
        int T = cache.length == 0 ? STORY : 1;
        step(&cache, T, out);
        int last = cache.length - 1, most = index_of_largest(last + 1, weights[last]);
        table_row(&table, "%s|%s|%d|%d|%d|  %s at %d, weight %.2f", T == 1 ? "decode" : "prefill",
                  s.token[last], last, cache.length, T, s.token[most], most, weights[last][most]);
    }
    table_print(&table, stdout);
    kv_cache_free(&cache);
}

typedef enum {
    RIGHT,
    NO_CACHE,
    ROTATED_WHEN_READ,
    ROTATED_TWICE,
    POSITIONS_FROM_ZERO,
    ROW_LATE,
    MASK_FROM_ZERO
} How;

/* One call in another way, right or wrong. */
static void step_otherwise(How how, KVCache *c, int T, float out[T][s.H][s.D]) {
    int H = s.H, KV = s.KV, D = s.D, S = c->length + T,
        first = how == POSITIONS_FROM_ZERO ? 0 : c->length;
    float q[T][H][D], k[T][KV][D], v[T][KV][D], keys[S][KV][D];
    project(c->length, T, q, k, v);
    apply_rope(first, T, H, q);
    if (how != ROTATED_WHEN_READ) apply_rope(first, T, KV, k);
    kv_cache_append(c->capacity, KV, D, (void *)c->k, (void *)c->v, c->length + (how == ROW_LATE),
                    T, k, v);
    memcpy(keys, c->k, sizeof keys);
    if (how == ROTATED_WHEN_READ || how == ROTATED_TWICE) apply_rope(0, S, KV, keys);
    for (int t = 0; t < T; t++)
        gqa_attention_with_past(1, (how == MASK_FROM_ZERO ? 0 : c->length) + t + 1, H, KV, D,
                                out + t, q + t, keys, (void *)c->v);
    c->length = S;
}

/* The text in pieces: the first of `prompt` tokens, the others of `chunk`. */
static void row_of_ways(Table *table, const char *name, How how, int prompt, int chunk) {
    KVCache cache = kv_cache_new(s.T + 1, s.KV, s.D);
    size_t bytes = (size_t)cache.capacity * s.KV * s.D * sizeof(float);
    memset(cache.k, 0, bytes); /* one way leaves a row unwritten */
    memset(cache.v, 0, bytes);
    float out[s.T][s.H][s.D], largest;
    projected = 0;
    rotated = 0;
    int T; /* tokens of this call */
    for (int done = 0; done < s.T; done += T) {
        T = done == 0 ? prompt : min_int(chunk, s.T - done);
        if (how == NO_CACHE) {
            cache.length = 0;
            step(&cache, done + T, out);
        } else if (how == RIGHT) step(&cache, T, out + done);
        else step_otherwise(how, &cache, T, out + done);
    }
    const void *expected = sentence_tensor(&s, "attention/attended", 3, s.T, s.H, s.D);
    int wrong = different(s.T, (void *)out, expected, &largest);
    table_row(table, "%s|%d|%d|%d|%.1f", name, projected, rotated, wrong, largest);
    kv_cache_free(&cache);
}

static void ten_ways(void) {
    section("Ten ways to process %d tokens", s.T);
    Table table = {0};
    table_row(&table, "one layer|projected|vectors rotated|wrong positions|largest difference");
    row_of_ways(&table, "the whole text at once", RIGHT, s.T, 0);
    row_of_ways(&table, "without a cache, token by token", NO_CACHE, 1, 1);
    row_of_ways(&table, "token by token", RIGHT, 1, 1);
    row_of_ways(&table, "in chunks of 5", RIGHT, 5, 5);
    row_of_ways(&table, "the story, then token by token", RIGHT, STORY, 1);
    row_of_ways(&table, "  keys rotated when read", ROTATED_WHEN_READ, STORY, 1);
    row_of_ways(&table, "  keys rotated when stored and when read", ROTATED_TWICE, STORY, 1);
    row_of_ways(&table, "  positions restart at 0 in every call", POSITIONS_FROM_ZERO, STORY, 1);
    row_of_ways(&table, "  written one row late", ROW_LATE, STORY, 1);
    row_of_ways(&table, "  mask starts at key 0 in every call", MASK_FROM_ZERO, STORY, 1);
    table_print(&table, stdout);
}

/* ---- what it saves in seconds */

/* A text of any length: the hidden states of ours, again and again, with one layer's projections
 * and attention. Its last tokens are generated one by one. */
static double tokens_per_second(int T, bool with_cache) {
    enum { NEW = 8 };
    int C = s.C, H = s.H, KV = s.KV, D = s.D;
    const float(*normed)[C] = sentence_tensor(&s, "attention/normed", 2, s.T, C);
    float(*x)[C] = xmalloc((size_t)T * sizeof *x), (*q)[H][D] = xmalloc((size_t)T * sizeof *q);
    float(*k)[KV][D] = xmalloc((size_t)T * sizeof *k), (*v)[KV][D] = xmalloc((size_t)T * sizeof *v);
    float(*out)[H][D] = xmalloc((size_t)T * sizeof *out);
    for (int t = 0; t < T; t++) memcpy(x[t], normed[t % s.T], sizeof *x);
    KVCache cache = kv_cache_new(T, KV, D);
    double start = seconds();
    for (int length = T - NEW; length <= T; length++) {
        if (!with_cache) cache.length = 0;
        int first = cache.length, n = length - first;
        linear(n, C, H * D, (void *)q, (void *)(x + first), (void *)w_q, NULL);
        linear(n, C, KV * D, (void *)k, (void *)(x + first), (void *)w_k, NULL);
        linear(n, C, KV * D, (void *)v, (void *)(x + first), (void *)w_v, NULL);
        cached_attention(T, first, n, H, KV, D, out, (void *)cache.k, (void *)cache.v, q, k, v);
        cache.length = length;
        if (length == T - NEW) start = seconds(); /* the prompt is processed: generation begins */
    }
    double elapsed = seconds() - start;
    kv_cache_free(&cache);
    free(x);
    free(q);
    free(k);
    free(v);
    free(out);
    return NEW / elapsed;
}

static void speed(void) {
    section("Tokens per second on this machine");
    Table table = {0};
    table_row(&table, "one attention layer, after|without the cache|with the cache|faster by");
    for (int T = 64; T <= 256; T *= 2) {
        double without = tokens_per_second(T, false), with = tokens_per_second(T, true);
        table_row(&table, "%d tokens|%.0f|%.0f|%.0f times", T, without, with, with / without);
    }
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 7, the KV cache: prefill and decode.");
    s = sentence_open();
    w_q = sentence_weight(&s, "self_attn.q_proj", 2, s.H * s.D, s.C);
    w_k = sentence_weight(&s, "self_attn.k_proj", 2, s.KV * s.D, s.C);
    w_v = sentence_weight(&s, "self_attn.v_proj", 2, s.KV * s.D, s.C);
    by_hand();
    later_tokens();
    token_by_token();
    ten_ways();
    speed();
    free(w_q);
    free(w_k);
    free(w_v);
    sentence_close(&s);
}
