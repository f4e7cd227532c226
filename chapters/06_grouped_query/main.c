/* Chapter 6: what several heads are for, who reads whom, and what sharing saves in every Llama. */
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void row_of_4(Table *table, const char *name, const float x[4]) {
    table_row(table, "%s|%.4f|%.4f|%.4f|%.4f", name, x[0], x[1], x[2], x[3]);
}

/* Four words, and two questions of the last: q . k = 8 for "cat" in head 0 and for "small" in head 1, else 0. The 8
 * numbers of a token are two heads of 4, or one of 8. Values are one-hot: an output begins with the words' weights. */
static void two_questions(void) {
    static const float q[4][2][4] = {[3] = {{4}, {4}}}, k[4][2][4] = {[1] = {[1] = {2}}, [2] = {[0] = {2}}};
    static const float v[4][2][4] = {
        {{1}, {1}}, {{0, 1}, {0, 1}}, {{0, 0, 1}, {0, 0, 1}}, {{0, 0, 0, 1}, {0, 0, 0, 1}}};
    float two[4][2][4], one[4][1][8];
    grouped_query_attention(4, 2, 2, 4, two, q, k, v);
    grouped_query_attention(4, 1, 1, 8, one, (const float(*)[1][8])q, (const float(*)[1][8])k, (const float(*)[1][8])v);
    section("Two questions at once");
    Table table = {0};
    table_row(&table, "\"sleeps\" looks at|a|small|cat|sleeps");
    row_of_4(&table, "two heads of 4: head 0", two[3][0]);
    row_of_4(&table, "two heads of 4: head 1", two[3][1]);
    row_of_4(&table, "one head of 8", one[3][0]);
    table_print(&table, stdout);
}

/* ---- PyTorch's answers */

/* The kernel on a golden case, laid out as PyTorch's output is. The caller frees the data. */
static Tensor run(const GoldenCase *c) {
    void *q = tensor_to_float(golden_input(c, "q")), *k = tensor_to_float(golden_input(c, "k"));
    void *v = tensor_to_float(golden_input(c, "v"));
    Tensor out = c->expected;
    int T = (int)out.shape[0], H = (int)out.shape[1], D = (int)out.shape[2], KV = (int)golden_input(c, "k")->shape[1];
    float(*numbers)[H][D] = allocate(tensor_bytes(&out));
    grouped_query_attention(T, H, KV, D, numbers, q, k, v);
    out.data = numbers;
    free(q), free(k), free(v);
    return out;
}

static void by_hand(const Golden *golden) {
    Tensor out = run(golden_case(golden, "by_hand"));
    const float(*token)[4][4] = out.data;
    section("Four query heads, two key/value heads");
    Table table = {0};
    table_row(&table, "query head|out 0|out 1|out 2|out 3");
    for (int h = 0; h < 4; h++) row_of_4(&table, (const char *[]){"0", "1", "2", "3"}[h], token[1][h]);
    table_print(&table, stdout);
    free((void *)out.data);
}

static void agreement(const Golden *golden) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "case|T|H|KV|D|our worst error, ulps|PyTorch's|wrong");
    for (const GoldenCase *c = golden->cases; c < golden->cases + golden->count; c++) {
        Tensor out = run(c);
        Agreement a = golden_check(c, false, &out);
        table_row(&table, "%s|%zu|%zu|%zu|%zu|%.1f|%.1f|%zu of %zu", c->name, out.shape[0], out.shape[1],
                  golden_input(c, "k")->shape[1], out.shape[2], a.ulps, a.reference, a.wrong, a.count);
        free((void *)out.data);
    }
    table_print(&table, stdout);
}

/* ---- who reads whom */

typedef int Share(int h, int H, int KV); /* the key/value head for query head h */

static int neighbours(int h, int H, int KV) { return h / (H / KV); }         /* 0 0 0 0 1 1 1 1: repeat_interleave */
static int in_turn(int h, [[maybe_unused]] int H, int KV) { return h % KV; } /* 0 1 0 1 0 1 0 1: tile */

/* With one token the only weight is 1 and an output is a value. Value head g holds the number g. */
static void who_reads(int H, int KV, float reads[restrict 1][H][1]) {
    float q[1][H][1], v[1][KV][1];
    for (int h = 0; h < H; h++) q[0][h][0] = 1;
    for (int g = 0; g < KV; g++) v[0][g][0] = (float)g;
    grouped_query_attention(1, H, KV, 1, reads, q, v, v);
}

static void three_names(const char *data) {
    float mha[1][8][1], four[1][8][1], two[1][8][1], mqa[1][8][1], llama3[1][32][1];
    who_reads(8, 8, mha), who_reads(8, 4, four), who_reads(8, 2, two), who_reads(8, 1, mqa), who_reads(32, 8, llama3);
    section("Who reads whom");
    Table table = {0};
    table_row(&table, "query head|MHA: KV = 8|GQA: KV = 4|GQA: KV = 2|MQA: KV = 1|wrong: h %% 4|wrong: h %% 2");
    for (int h = 0; h < 8; h++)
        table_row(&table, "%d|%g|%g|%g|%g|%d|%d", h, mha[0][h][0], four[0][h][0], two[0][h][0], mqa[0][h][0],
                  in_turn(h, 8, 4), in_turn(h, 8, 2));
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "06_sharing", "query head; the head that it reads of 8, of 2, of 1");
    for (int h = 0; h < 8; h++) fprintf(output.file, "%d %g %g %g\n", h, mha[0][h][0], two[0][h][0], mqa[0][h][0]);
    output_close(&output);
    output = data_open(data, "06_wrong", "query head of 32, the head of 8 that it reads, h % KV");
    for (int h = 0; h < 32; h++) fprintf(output.file, "%d %g %d\n", h, llama3[0][h][0], in_turn(h, 32, 8));
    output_close(&output);
}

/* ---- sharing is repeating */

enum { T = 16, H = 8, KV = 2, D = 16 };
static float q[T][H][D], k[T][KV][D], v[T][KV][D];

/* The same attention on `heads` key/value heads that are copies of the two: how far is it from sharing them? */
static void repeat_row(Table *table, const char *name, int heads, Share *share) {
    float shared[T][H][D], out[T][H][D], more_k[T][heads][D], more_v[T][heads][D];
    for (int t = 0; t < T; t++)
        for (int h = 0; h < heads; h++) {
            int g = share(h, heads, KV);
            memcpy(more_k[t][h], k[t][g], sizeof k[t][g]), memcpy(more_v[t][h], v[t][g], sizeof v[t][g]);
        }
    grouped_query_attention(T, H, KV, D, shared, q, k, v);
    grouped_query_attention(T, H, heads, D, out, q, more_k, more_v);
    int differ = 0;
    double error = 0, size = 0;
    const float *a = (const float *)out, *b = (const float *)shared;
    for (int i = 0; i < T * H * D; i++)
        differ += a[i] != b[i], error += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    table_row(table, "%s|%d of %d|%.1f", name, differ, T * H * D, sqrt(error / size));
}

static void repeating(void) {
    Random random = {.state = 6};
    random_fill(&random, T * H * D, **q), random_fill(&random, T * KV * D, **k), random_fill(&random, T * KV * D, **v);
    section("Sharing is repeating");
    Table table = {0};
    table_row(&table, "2 key/value heads, copied|outputs that differ|relative error");
    repeat_row(&table, "to 4, neighbours: 0 0 1 1", 4, neighbours);
    repeat_row(&table, "to 8, neighbours: 0 0 0 0 1 1 1 1", 8, neighbours);
    repeat_row(&table, "to 8, in turn: 0 1 0 1 0 1 0 1", 8, in_turn);
    table_print(&table, stdout);
}

/* ---- what sharing saves in every Llama, by their config.json files */

typedef struct {
    const char *name;
    int L, H, KV, D, contexts[2];
} Llama;

static const Llama llamas[] = {{"Llama 1, 2 7B", 32, 32, 32, 128, {2048, 4096}},
                               {"Llama 1, 2 13B", 40, 40, 40, 128, {2048, 4096}},
                               {"Llama 1 33B", 60, 52, 52, 128, {2048}},
                               {"Llama 1 65B", 80, 64, 64, 128, {2048}},
                               {"Llama 2 70B", 80, 64, 8, 128, {4096}},
                               {"Llama 3, 3.1 8B", 32, 32, 8, 128, {8192, 131072}},
                               {"Llama 3, 3.1 70B", 80, 64, 8, 128, {8192, 131072}},
                               {"Llama 3.1 405B", 126, 128, 8, 128, {131072}},
                               {"Llama 3.2 1B", 16, 32, 8, 64, {131072}},
                               {"Llama 3.2 3B", 28, 24, 8, 128, {131072}}};
static const Llama *const end = llamas + sizeof llamas / sizeof *llamas;

static long weights(const Llama *m, int KV) { return attention_parameters(m->H * m->D, m->H, KV, m->D); }
static double saved(const Llama *m, int KV) { return 1 - (double)weights(m, KV) / weights(m, m->H); }
static long cached(const Llama *m, int KV) { return kv_bytes_per_token(m->L, KV, m->D, sizeof(bf16)); }
static double gib(const Llama *m, int KV, int tokens) { return (double)cached(m, KV) * tokens / (1 << 30); }

static void in_every_llama(const char *data) {
    Table table = {0};
    section("What sharing saves: weights");
    table_row(&table, "model|L|H|KV|D|k_proj, v_proj|a layer's four|with KV = H|saved|with KV = 1");
    for (const Llama *m = llamas; m < end; m++)
        table_row(&table, "%s|%d|%d|%d|%d|[%d, %d]|%ld|%ld|%.1f %%|%.1f %%", m->name, m->L, m->H, m->KV, m->D,
                  m->KV * m->D, m->H * m->D, weights(m, m->KV), weights(m, m->H), 100 * saved(m, m->KV),
                  100 * saved(m, 1));
    table_print(&table, stdout);

    section("What sharing saves: cache");
    table_row(&table, "model|KiB a token|with KV = H|with KV = 1|context|GiB|with KV = H");
    for (const Llama *m = llamas; m < end; m++)
        for (const int *tokens = m->contexts; tokens < m->contexts + 2 && *tokens; tokens++)
            table_row(&table, "%s|%ld|%ld|%ld|%d|%.2f|%.2f", m->name, cached(m, m->KV) / 1024, cached(m, m->H) / 1024,
                      cached(m, 1) / 1024, *tokens, gib(m, m->KV, *tokens), gib(m, m->H, *tokens));
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "06_cache", "KiB a token, query heads that share one, name");
    for (const Llama *m = llamas; m < end; m++)
        fprintf(output.file, "%ld %d \"%s\"\n", cached(m, m->KV) / 1024, m->H / m->KV, m->name);
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 6: many heads, and how they share keys and values.");
    Golden golden = golden_open("grouped_query_attention");
    two_questions();
    by_hand(&golden);
    three_names(data);
    repeating();
    in_every_llama(data);
    agreement(&golden);
    golden_close(&golden);
}
