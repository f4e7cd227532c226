/* Chapter 4: from a mean of all tokens to attention, by numbers to follow by hand, and then a whole
 * layer of it on the course's sentence. */
#include "04_attention/attention.h"
#include "common/console.h"
#include "common/linear.h"
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

typedef struct {
    char text[128];
} Cells;

/* n numbers as the cells of a table. */
static Cells cells(int n, const float x[n]) {
    Cells cells = {0};
    char *end = cells.text;
    for (int i = 0; i < n; i++) end += sprintf(end, "|%.4f", x[i]);
    return cells;
}

static void matrix(const char *header, int columns, const float m[P][columns]) {
    Table table = {0};
    table_row(&table, "%s", header);
    for (int t = 0; t < P; t++) table_row(&table, "query %d%s", t, cells(columns, m[t]).text);
    putchar('\n');
    table_print(&table, stdout);
}

static void on_paper(void) {
    float m[P][P], out[P][WIDTH];
    section("One head on paper");
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
    matrix("weights|key 0|key 1|key 2", P, m);
    weighted_sum(P, P, WIDTH, out, m, value);
    matrix("output|0|1", WIDTH, out);
    attention(1, P, WIDTH, out, query + 2, key, value, m);
    printf("\n  query 2 alone: %.4f, %.4f\n", out[0][0], out[0][1]);
}

/* Query 1 must not notice what stands at position 2. Its weights under four masks. */
static void where_the_mask_goes(void) {
    const char *names[] = {"-inf before the softmax", "0 before the softmax", "0 after the softmax",
                           "no mask"};
    float weights[4][P], out[4][WIDTH];
    for (int n = 0; n < 4; n++) attention_scores(1, P, WIDTH, weights + n, query + 1, key);
    weights[0][2] = -INFINITY;
    weights[1][2] = 0;
    softmax(4, P, weights, weights);
    weights[2][2] = 0;
    weighted_sum(4, P, WIDTH, out, weights, value);
    section("Where the mask goes");
    Table table = {0};
    table_row(&table, "query 1|key 0|key 1|key 2|output 0|output 1");
    for (int n = 0; n < 4; n++)
        table_row(&table, "%s%s%s", names[n], cells(P, weights[n]).text, cells(WIDTH, out[n]).text);
    table_print(&table, stdout);
}

static int largest(int n, const float x[n]) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

/* The attention weights of the last token with the rows of `a` as queries and those of `b` as
 * keys. */
static void compare_row(Table *table, const char *name, const Sentence *s, int D,
                        const float a[s->T][D], const float b[s->T][D]) {
    int T = s->T;
    float weights[T][T];
    attention_scores(T, T, D, weights, a, b);
    causal_mask(T, T, weights);
    softmax(T, T, weights, weights);
    const float *last = weights[T - 1];
    int most = largest(T, last);
    table_row(table, "%s|%s|%.2f|%.2f|%.2f", name, s->token[most], last[most], last[T - 1],
              last[s->owner]);
}

static void what_to_compare(const Sentence *s) {
    int T = s->T, C = s->C, D = s->D;
    const float(*x)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    const float(*q)[D] = sentence_tensor(s, "head/q", 2, T, D),
          (*k)[D] = sentence_tensor(s, "head/k", 2, T, D);
    section("What to compare");
    Table table = {0};
    table_row(&table, "the last %s compares|<looks most at|weight|weight of itself|of %s",
              s->token[T - 1], s->token[s->owner]);
    compare_row(&table, "its own row with all rows", s, C, x, x);
    compare_row(&table, "its query with all queries", s, D, q, q);
    compare_row(&table, "its query with all keys", s, D, q, k);
    table_print(&table, stdout);
}

/* Each head attends in its own way, and W_o mixes the outputs of all heads. The queries and keys
 * already carry their positions: chapter 5 rotates them between the projections and this function.
 */
static void attention_layer(int T, int C, int H, int KV, int D, float out[restrict T][C],
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
    attention_layer(T, C, H, KV, D, out, sentence_tensor(s, "attention/q_rope", 3, T, H, D),
                    sentence_tensor(s, "attention/k_rope", 3, T, KV, D), v, w_o);
    section("A whole layer");
    sentence_compare(4, T * C, (const float *)out, (const float *)expected);
    free(w_v);
    free(w_o);
}

/* The attention weights of head h at the last token, and how far the vector that it adds to the
 * stream there (its output times its columns of W_o) points to the owner of the ball and to the
 * other person. */
static void head_row(Table *table, const Sentence *s, int h, const float w_o[s->C][s->H][s->D],
                     double sum[2]) {
    int T = s->T, C = s->C, H = s->H, KV = s->KV, D = s->D, other = 1;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q_rope", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k_rope", 3, T, KV, D);
    const float(*found)[H][D] = sentence_tensor(s, "attention/attended", 3, T, H, D);
    const float(*embedding)[C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C);
    float keys[T][D], weights[1][T];
    for (int t = 0; t < T; t++) memcpy(keys[t], k[t][h / (H / KV)], sizeof keys[t]);
    attention_scores(1, T, D, weights, q[T - 1] + h, keys);
    softmax(1, T, weights, weights);
    double points[2] = {0};
    for (int c = 0; c < C; c++) {
        double written = 0;
        for (int i = 0; i < D; i++) written += (double)w_o[c][h][i] * found[T - 1][h][i];
        points[0] += written * embedding[s->owner][c];
        points[1] += written * embedding[other][c];
    }
    int most = largest(T, weights[0]);
    table_row(table, "%d|%s|%.2f|%.1f|%.1f", h, s->token[most], weights[0][most], points[0],
              points[1]);
    sum[0] += points[0];
    sum[1] += points[1];
}

static void what_each_head_writes(const Sentence *s) {
    float(*w_o)[s->H][s->D] = sentence_weight(s, "self_attn.o_proj", 2, s->C, s->H * s->D);
    section("What each head writes");
    double sum[2] = {0};
    Table table = {0};
    table_row(&table, "head|<the last %s looks most at|weight|what is written, times %s|times %s",
              s->token[s->T - 1], s->token[s->owner], s->token[1]);
    for (int h = 0; h < s->H; h++) head_row(&table, s, h, w_o, sum);
    table_row(&table, "all|||%.1f|%.1f", sum[0], sum[1]);
    table_print(&table, stdout);
    free(w_o);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 4: attention, one head and then a whole layer.");
    Sentence s = sentence_open();
    on_paper();
    where_the_mask_goes();
    what_to_compare(&s);
    a_whole_layer(&s);
    what_each_head_writes(&s);
    sentence_close(&s);
}
