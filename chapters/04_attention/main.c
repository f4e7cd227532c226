/* Chapter 4: one attention head by hand, where its mask goes, and then the heads of a whole layer
 * on the course's text. */
#include "04_attention/attention.h"
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A head small enough for paper: three positions, each with a query, a key and a value of two
 * numbers. */
enum { P = 3, WIDTH = 2 };
static const float query[P][WIDTH] = {{1, 1}, {2, 0}, {1, 2}};
static const float key[P][WIDTH] = {{1, 0}, {0, 1}, {1, 1}};
static const float value[P][WIDTH] = {{10, 0}, {0, 10}, {10, 10}};

static void matrix(const char *header, int columns, const float m[P][columns]) {
    Table table = {0};
    table_row(&table, "%s", header);
    for (int t = 0; t < P; t++) table_numbers(&table, 4, columns, m[t], "query %d", t);
    putchar('\n');
    table_print(&table, stdout);
}

static void one_head_by_hand(void) {
    float m[P][P], out[P][WIDTH];
    section("One attention head by hand");
    Table table = {0};
    table_row(&table, "position|<query|<key|<value");
    for (int t = 0; t < P; t++)
        table_row(&table, "%d|(%g, %g)|(%g, %g)|(%g, %g)", t, query[t][0], query[t][1], key[t][0],
                  key[t][1], value[t][0], value[t][1]);
    table_print(&table, stdout);
    attention_scores(P, P, WIDTH, m, query, key);
    causal_mask(P, P, m);
    matrix("scores|key 0|key 1|key 2", P, m);
    softmax(P, P, m, m);
    matrix("attention weights|key 0|key 1|key 2", P, m);
    weighted_sum(P, P, WIDTH, out, m, value);
    matrix("output|0|1", WIDTH, out);
    attention(1, P, WIDTH, out, query + 2, key, value, m);
    printf("\n  query 2 alone: %.4f, %.4f\n", out[0][0], out[0][1]);
}

/* Query 1 must not attend to position 2. Its attention weights under four masks. */
static void where_the_mask_is_applied(void) {
    const char *names[] = {"-inf before the softmax", "0 before the softmax", "0 after the softmax",
                           "no mask"};
    float weights[4][P], out[4][WIDTH];
    for (int n = 0; n < 4; n++) attention_scores(1, P, WIDTH, weights + n, query + 1, key);
    weights[0][2] = -INFINITY;
    weights[1][2] = 0;
    softmax(4, P, weights, weights);
    weights[2][2] = 0;
    weighted_sum(4, P, WIDTH, out, weights, value);
    section("Where the mask is applied");
    Table table = {0};
    table_row(&table, "query 1|key 0|key 1|key 2|output 0|output 1");
    for (int n = 0; n < 4; n++)
        table_row(&table, "%s|%.4f|%.4f|%.4f|%.4f|%.4f", names[n], weights[n][0], weights[n][1],
                  weights[n][2], out[n][0], out[n][1]);
    table_print(&table, stdout);
}

/* The attention weights of the last token with the vectors of `a` as queries and those of
 * `b` as keys. */
static void compare_row(Table *table, const char *name, const Sentence *s, int D,
                        const float a[s->T][D], const float b[s->T][D]) {
    int T = s->T;
    float weights[T][T];
    attention_scores(T, T, D, weights, a, b);
    causal_mask(T, T, weights);
    softmax(T, T, weights, weights);
    const float *last = weights[T - 1];
    int most = index_of_largest(T, last);
    table_row(table, "%s|%s|%.2f|%.2f|%.2f", name, s->token[most], last[most], last[T - 1],
              last[s->owner]);
}

static void queries_and_keys(const Sentence *s) {
    int T = s->T, C = s->C, D = s->D;
    const float(*x)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    const float(*q)[D] = sentence_tensor(s, "head/q", 2, T, D),
          (*k)[D] = sentence_tensor(s, "head/k", 2, T, D);
    section("Comparing hidden states, queries and keys");
    Table table = {0};
    table_row(&table, "the last %s compares|<attends most to|weight|weight of itself|weight of %s",
              s->token[T - 1], s->token[s->owner]);
    compare_row(&table, "its hidden state with all hidden states", s, C, x, x);
    compare_row(&table, "its query with all queries", s, D, q, q);
    compare_row(&table, "its query with all keys", s, D, q, k);
    table_print(&table, stdout);
}

/* Each head attends in its own way, and W_o mixes the outputs of all heads. The queries and keys
 * carry their positions already: chapter 5 rotates them between the projections and this function.
 */
static void multi_head_attention(int T, int C, int H, int KV, int D, float out[restrict T][C],
                                 const float q[T][H][D], const float k[T][KV][D],
                                 const float v[T][KV][D], const float w_o[C][H * D]) {
    float query[T][D], key[T][D], value[T][D], scores[T][T], head[T][D], heads[T][H * D];
    for (int h = 0; h < H; h++) {
        int g = h / (H / KV); /* H heads share KV keys and values: chapter 6 */
        for (int t = 0; t < T; t++) {
            memcpy(query[t], q[t][h], sizeof query[t]);
            memcpy(key[t], k[t][g], sizeof key[t]);
            memcpy(value[t], v[t][g], sizeof value[t]);
        }
        attention(T, T, D, head, query, key, value, scores);
        for (int t = 0; t < T; t++) memcpy(&heads[t][h * D], head[t], sizeof head[t]);
    }
    linear(T, H * D, C, out, heads, w_o, NULL);
}

static void a_whole_layer(const Sentence *s) {
    int T = s->T, C = s->C, H = s->H, KV = s->KV, D = s->D;
    float(*w_v)[C] = sentence_weight(s, "self_attn.v_proj", 2, KV * D, C);
    float(*w_o)[H * D] = sentence_weight(s, "self_attn.o_proj", 2, C, H * D);
    float v[T][KV][D], out[T][C];
    const float(*x)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    const float(*expected)[C] = sentence_tensor(s, "attention/out", 2, T, C);
    linear(T, C, KV * D, (float(*)[KV * D]) v, x, w_v, NULL);
    multi_head_attention(T, C, H, KV, D, out, sentence_tensor(s, "attention/q_rope", 3, T, H, D),
                         sentence_tensor(s, "attention/k_rope", 3, T, KV, D), v, w_o);
    section("A multi-head attention layer");
    sentence_compare(4, T * C, (const float *)out, (const float *)expected);
    free(w_v);
    free(w_o);
}

/* ---- what attention does to the prediction after the last token: Anna, who has the ball, or Mia?
 */

enum { MIA = 1 }; /* her position */

/* The logit of a token is the dot product of the normalized last hidden state with the token's
 * embedding. The norm divides by one RMS and multiplies by a weight, so the logit is the sum of
 * what every vector in the stream contributes: vector * weight / RMS, times the embedding. */
typedef struct {
    int C;
    float *norm;             /* [C]: the last norm's weight */
    double rms;              /* of the last hidden state, as the last norm sees it */
    const float *anna, *mia; /* [C]: their embeddings */
} Prediction;

static void contribution(const Prediction *p, const float vector[p->C], double logit[2]) {
    logit[0] = 0;
    logit[1] = 0;
    for (int c = 0; c < p->C; c++) {
        logit[0] += vector[c] * p->norm[c] / p->rms * p->anna[c];
        logit[1] += vector[c] * p->norm[c] / p->rms * p->mia[c];
    }
}

/* To one decimal place, without a minus before 0.0. */
static double tenths(double x) { return round(10 * x) / 10 + 0.0; }

static void add_row(Table *table, const Prediction *p, const char *what, const float vector[p->C]) {
    double logit[2];
    contribution(p, vector, logit);
    table_row(table, "%s|||%.1f|%.1f", what, tenths(logit[0]), tenths(logit[1]));
}

/* The attention weights of head h at the last token, and the contribution of the vector that it
 * adds to the stream there: its output times its columns of W_o. */
static void head_row(Table *table, const Prediction *p, const Sentence *s, int h,
                     const float w_o[s->C][s->H][s->D]) {
    int T = s->T, C = s->C, H = s->H, KV = s->KV, D = s->D;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q_rope", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k_rope", 3, T, KV, D);
    const float(*head_out)[H][D] = sentence_tensor(s, "attention/attended", 3, T, H, D);
    float keys[T][D], weights[1][T], added[C];
    for (int t = 0; t < T; t++) memcpy(keys[t], k[t][h / (H / KV)], sizeof keys[t]);
    attention_scores(1, T, D, weights, q[T - 1] + h, keys);
    softmax(1, T, weights, weights);
    for (int c = 0; c < C; c++) {
        double sum = 0;
        for (int i = 0; i < D; i++) sum += (double)w_o[c][h][i] * head_out[T - 1][h][i];
        added[c] = (float)sum;
    }
    double logit[2];
    contribution(p, added, logit);
    int most = index_of_largest(T, weights[0]);
    table_row(table, "head %d|%s|%.2f|%.1f|%.1f", h, s->token[most], weights[0][most],
              tenths(logit[0]), tenths(logit[1]));
}

static void contribution_of_each_head(const Sentence *s) {
    int T = s->T, C = s->C, L = s->L, last = 2 * L;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * L + 2, T, C);
    const float(*mlp)[C] = sentence_tensor(s, "feed_forward/out", 2, T, C);
    float(*w_o)[s->H][s->D] = sentence_weight(s, "self_attn.o_proj", 2, C, s->H * s->D);
    Prediction p = {.C = C,
                    .norm = sentence_model_weight(s, "model.norm", 1, C),
                    .rms = sqrt(pow(rms(C, stream[last][T - 1]), 2) + s->eps),
                    .anna = stream[0][s->owner],
                    .mia = stream[0][MIA]};
    section("Contribution of each head to the logits");
    Table table = {0};
    table_row(&table, "layer %d, the last %s|<attends most to|weight|logit of %s|logit of %s",
              s->layer, s->token[T - 1], s->token[s->owner], s->token[MIA]);
    add_row(&table, &p, "the stream before the layer", stream[2 * s->layer][T - 1]);
    for (int h = 0; h < s->H; h++) head_row(&table, &p, s, h, w_o);
    add_row(&table, &p, "feed-forward", mlp[T - 1]);
    add_row(&table, &p, "all: the logits", stream[last][T - 1]);
    table_print(&table, stdout);
    free(p.norm);
    free(w_o);
}

/* The logits as they would be if the model ended here: the last norm, then the embeddings. */
static void logits_row(Table *table, const char *place, const Sentence *s,
                       const float state[1][s->C]) {
    int C = s->C, V = s->V;
    float *norm = sentence_model_weight(s, "model.norm", 1, C);
    float(*embedding)[C] = sentence_model_weight(s, "model.embed_tokens", 2, V, C);
    float normed[1][C], logits[1][V];
    rms_norm(1, C, normed, state, norm, s->eps);
    linear(1, C, V, logits, normed, embedding, NULL);
    int most = index_of_largest(V, logits[0]);
    table_row(table, "%s|%.1f|%.1f|%s|%.1f", place, logits[0][s->ids[s->owner]],
              logits[0][s->ids[MIA]], s->vocabulary[most], logits[0][most]);
    free(norm);
    free(embedding);
}

static void before_and_after_the_last_layer(const Sentence *s) {
    int T = s->T, C = s->C, last = T - 1, l = s->layer;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    section("Logits before and after the last layer");
    Table table = {0};
    table_row(&table, "layer %d, the last %s|logit of %s|logit of %s|<largest logit|its value", l,
              s->token[last], s->token[s->owner], s->token[MIA]);
    logits_row(&table, "before the layer", s, &stream[2 * l][last]);
    logits_row(&table, "after its attention", s, &stream[2 * l + 1][last]);
    logits_row(&table, "after its feed-forward", s, &stream[2 * l + 2][last]);
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 4: attention, one head and then a whole layer.");
    Sentence s = sentence_open();
    one_head_by_hand();
    where_the_mask_is_applied();
    queries_and_keys(&s);
    a_whole_layer(&s);
    before_and_after_the_last_layer(&s);
    contribution_of_each_head(&s);
    sentence_close(&s);
}
