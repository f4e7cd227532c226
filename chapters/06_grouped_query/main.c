/* Chapter 6: what several heads are for, which key/value head each query head reads, sharing on the
 * course's text, and what it saves in the published models. */
#include "06_grouped_query/grouped_query.h"
#include "04_attention/attention.h"
#include "common/console.h"
#include "common/llamas.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/random.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four words, and two questions of the last one: q . k = 8 for "cat" in head 0 and for "small" in
 * head 1, else 0. The 8 numbers of a token are two heads of 4, or one of 8. Values are one-hot, so
 * that an output shows the attention weights of the words. */
static void two_questions(void) {
    enum { A, SMALL, CAT, SLEEPS, WORDS };
    float q[WORDS][2][4] = {0}, k[WORDS][2][4] = {0}, v[WORDS][2][4] = {0};
    float two[WORDS][2][4], one[WORDS][1][8];
    q[SLEEPS][0][0] = 4;
    k[CAT][0][0] = 2;
    q[SLEEPS][1][0] = 4;
    k[SMALL][1][0] = 2;
    for (int t = 0; t < WORDS; t++) {
        v[t][0][t] = 1;
        v[t][1][t] = 1;
    }
    grouped_query_attention(WORDS, 2, 2, 4, two, q, k, v);
    grouped_query_attention(WORDS, 1, 1, 8, one, (const float(*)[1][8])q, (const float(*)[1][8])k,
                            (const float(*)[1][8])v);
    section("Two questions at once");
    Table table = {0};
    table_row(&table, "\"sleeps\" attends to|a|small|cat|sleeps");
    table_numbers(&table, 4, 4, two[SLEEPS][0], "two heads of 4: head 0");
    table_numbers(&table, 4, 4, two[SLEEPS][1], "two heads of 4: head 1");
    table_numbers(&table, 4, 4, one[SLEEPS][0], "one head of 8");
    table_print(&table, stdout);
}

/* Two tokens. The queries of the second: heads 0 to 2 read the first number of a key, head 3 the
 * second. */
static void by_hand(void) {
    enum { T = 2, H = 4, KV = 2, D = 4 };
    float q[T][H][D] = {0}, k[T][KV][D] = {0}, out[T][H][D];
    const float v[T][KV][D] = {{{8, 0, 0, 1}, {0, 0, 8, 2}}, {{0, 8, 0, 1}, {0, 0, 0, 2}}};
    for (int h = 0; h < 3; h++) q[1][h][0] = 2;
    q[1][3][1] = 2;
    k[1][0][0] = logf(3);
    k[1][1][1] = logf(7);
    grouped_query_attention(T, H, KV, D, out, q, k, v);
    section("Four query heads, two key/value heads");
    Table table = {0};
    table_row(&table, "query head|out 0|out 1|out 2|out 3");
    for (int h = 0; h < H; h++) table_numbers(&table, 4, D, out[1][h], "%d", h);
    table_print(&table, stdout);
}

/* With one token the only weight is 1 and an output is a value. Value head g holds the number g. */
static void who_reads(int H, int KV, float reads[restrict 1][H][1]) {
    float q[1][H][1], v[1][KV][1];
    for (int h = 0; h < H; h++) q[0][h][0] = 1;
    for (int g = 0; g < KV; g++) v[0][g][0] = (float)g;
    grouped_query_attention(1, H, KV, 1, reads, q, v, v);
}

static void three_names(void) {
    enum { H = 6 };
    const int heads[4] = {6, 3, 2, 1};
    float reads[4][1][H][1];
    for (int n = 0; n < 4; n++) who_reads(H, heads[n], reads[n]);
    section("Key/value head of each query head");
    Table table = {0};
    table_row(
        &table,
        "query head|MHA: KV = 6|GQA: KV = 3|GQA: KV = 2|MQA: KV = 1|wrong: h %% 3|wrong: h %% 2");
    for (int h = 0; h < H; h++)
        table_row(&table, "%d|%g|%g|%g|%g|%d|%d", h, reads[0][0][h][0], reads[1][0][h][0],
                  reads[2][0][h][0], reads[3][0][h][0], h % 3, h % 2);
    table_print(&table, stdout);
}

/* ---- sharing compared with copying */

typedef int Share(int h, int heads, int KV); /* which of the KV heads is copied to head h */

/* 0 0 0 0 1 1 1 1, as torch.repeat_interleave copies. */
static int neighbours(int h, int heads, int KV) { return h / (heads / KV); }

/* 0 1 0 1 0 1 0 1, as torch.tile copies: wrong here. */
static int in_turn(int h, [[maybe_unused]] int heads, int KV) { return h % KV; }

enum { T = 16, H = 8, KV = 2, D = 16 };
static float q[T][H][D], k[T][KV][D], v[T][KV][D];

/* The same attention on `heads` key/value heads that are copies of the two: how many outputs differ
 * from those of sharing, and how large is the RMS of their error, relative to the outputs? */
static void repeat_row(Table *table, const char *name, int heads, Share *share) {
    float shared[T][H][D], out[T][H][D], more_k[T][heads][D], more_v[T][heads][D];
    for (int t = 0; t < T; t++)
        for (int h = 0; h < heads; h++) {
            int g = share(h, heads, KV);
            memcpy(more_k[t][h], k[t][g], sizeof k[t][g]);
            memcpy(more_v[t][h], v[t][g], sizeof v[t][g]);
        }
    grouped_query_attention(T, H, KV, D, shared, q, k, v);
    grouped_query_attention(T, H, heads, D, out, q, more_k, more_v);
    int differ = 0;
    double error = 0, size = 0;
    const float *got = (const float *)out, *right = (const float *)shared;
    for (int i = 0; i < T * H * D; i++) {
        if (got[i] == right[i]) continue;
        differ++;
        error += (got[i] - right[i]) * (got[i] - right[i]);
        size += right[i] * right[i];
    }
    table_row(table, "%s|%d of %d|%.1f", name, differ, T * H * D, differ ? sqrt(error / size) : 0);
}

static void sharing_or_copying(void) {
    Random random = {.state = 6};
    random_fill(&random, T * H * D, **q);
    random_fill(&random, T * KV * D, **k);
    random_fill(&random, T * KV * D, **v);
    section("Sharing compared with copying");
    Table table = {0};
    table_row(&table, "2 key/value heads, copied|outputs that differ|relative error (RMS)");
    repeat_row(&table, "to 4, neighbours: 0 0 1 1", 4, neighbours);
    repeat_row(&table, "to 8, neighbours: 0 0 0 0 1 1 1 1", 8, neighbours);
    repeat_row(&table, "to 8, in turn: 0 1 0 1 0 1 0 1", 8, in_turn);
    table_print(&table, stdout);
}

/* ---- on the example text */

typedef struct {
    const char *token;
    float weight;
} Attended;

/* The token that query head h of the last token attends to most, among the keys of head g. */
static Attended attends_most_to(const Sentence *s, int h, int g) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q_rope", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k_rope", 3, T, KV, D);
    float keys[T][D], weights[1][T];
    for (int t = 0; t < T; t++) memcpy(keys[t], k[t][g], sizeof keys[t]);
    attention_scores(1, T, D, weights, q[T - 1] + h, keys);
    softmax(1, T, weights, weights);
    int most = index_of_largest(T, weights[0]);
    return (Attended){s->token[most], weights[0][most]};
}

static void on_the_text(const Sentence *s) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D;
    const float(*expected)[H][D] = sentence_tensor(s, "attention/attended", 3, T, H, D);
    float out[T][H][D];
    grouped_query_attention(T, H, KV, D, out, sentence_tensor(s, "attention/q_rope", 3, T, H, D),
                            sentence_tensor(s, "attention/k_rope", 3, T, KV, D),
                            sentence_tensor(s, "attention/v", 3, T, KV, D));
    section("Query heads and key/value heads in layer %d", s->layer);
    Table table = {0};
    table_row(
        &table,
        "query head|reads|<attends most to|weight|with h %% %d it reads|<attends most to|weight",
        KV);
    for (int h = 0; h < H; h++) {
        int right = h / (H / KV), wrong = h % KV;
        Attended as_trained = attends_most_to(s, h, right);
        Attended otherwise = attends_most_to(s, h, wrong);
        table_row(&table, "%d|%d|%s|%.2f|%d|%s|%.2f", h, right, as_trained.token, as_trained.weight,
                  wrong, otherwise.token, otherwise.weight);
    }
    table_print(&table, stdout);
    sentence_compare(4, T * H * D, (const float *)out, (const float *)expected);
}

/* ---- what sharing saves in the published models */

static long weights(const LlamaSizes *m, int KV) {
    return attention_parameters(m->C, m->H, KV, llama_head_width(m));
}

static double saved(const LlamaSizes *m, int KV) {
    return 100 - 100.0 * (double)weights(m, KV) / (double)weights(m, m->H);
}

static void saving_row(Table *table, const LlamaSizes *m) {
    int D = llama_head_width(m);
    table_row(table, "%s|%d|%d|%d|%d|[%d, %d]|%ld|%ld|%.1f %%|%.1f %%", llama_names(m), m->L, m->H,
              m->KV, D, m->KV * D, m->C, weights(m, m->KV), weights(m, m->H), saved(m, m->KV),
              saved(m, 1));
}

static void what_sharing_saves(void) {
    section("Parameters saved by sharing");
    Table table = {0};
    table_row(&table,
              "model|L|H|KV|D|k_proj, v_proj|per layer|with KV = H|saved|saved with KV = 1");
    saving_row(&table,
               &(LlamaSizes){.name = "the course's model", .C = 192, .L = 4, .H = 6, .KV = 2});
    for (const LlamaSizes *m = llamas; m < llamas_end; m++) saving_row(&table, m);
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 6: many heads, and how they share keys and values.");
    Sentence s = sentence_open();
    two_questions();
    by_hand();
    three_names();
    sharing_or_copying();
    on_the_text(&s);
    what_sharing_saves();
    sentence_close(&s);
}
