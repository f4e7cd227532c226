/* Chapter 5: RoPE tells a token's position by rotating its query and its key. First in the plane,
 * then on the course's text; then the two layouts. */
#include "05_rope/rope.h"
#include "common/console.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;
static const RopeParameters llama2 = {.rope_theta = 10000};

typedef void Rope(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D],
                  const float cosine[T][D / 2], const float sine[T][D / 2]);

/* One head's vector, rotated for that position. All models here have the theta of Llama 2, the
 * course's own as well. */
static void rotate(Rope *rope, int D, float out[restrict D], const float x[D], int position) {
    float inv_freq[D / 2], table[2][1][D / 2];
    rope_frequencies(D, inv_freq, &llama2, 1);
    rope_table(1, D, table, &position, inv_freq);
    rope(1, 1, D, (float(*)[1][D])out, (const float(*)[1][D])x, table[COSINES], table[SINES]);
}

/* The dot product of a query at m and a key at n, both rotated. */
static double score(Rope *rope, int D, const float q[D], int m, const float k[D], int n) {
    float rotated_q[D], rotated_k[D];
    double sum = 0;
    rotate(rope, D, rotated_q, q, m);
    rotate(rope, D, rotated_k, k, n);
    for (int i = 0; i < D; i++) sum += (double)rotated_q[i] * rotated_k[i];
    return sum;
}

/* Mia occurs twice: her two vectors after the embedding. */
static void the_same_word_twice(const Sentence *s) {
    int T = s->T, C = s->C, again = 2, different = 0;
    const float(*stream)[T][C] = sentence_tensor(s, "stream", 3, 2 * s->L + 2, T, C),
          (*x)[C] = stream[0];
    while (s->ids[again] != s->ids[1]) again++;
    section("The same word twice");
    Table table = {0};
    table_row(&table, "after the embedding|position|x[0]|x[1]|x[2]");
    for (int t = 1; t <= again; t++)
        if (s->ids[t] == s->ids[1])
            table_row(&table, "%s|%d|%.2f|%.2f|%.2f", s->token[t], t, x[t][0], x[t][1], x[t][2]);
    table_print(&table, stdout);
    for (int i = 0; i < C; i++)
        if (x[1][i] != x[again][i]) different++;
    printf("  %d of %d numbers differ\n", different, C);
}

/* The last token's query and the owner's key: with the position added to each number, and with both
 * rotated. */
static void added_or_rotated(const Sentence *s) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D, group = H / KV;
    const float(*q)[H][D] = sentence_tensor(s, "attention/q", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(s, "attention/k", 3, T, KV, D);
    const float *query = q[T - 1][s->head], *key = k[s->owner][s->head / group];
    section("Adding the position or rotating");
    Table table = {0};
    table_row(&table, "the text begins at|\"%s\" at|\"%s\" at|unchanged|position added|rotated",
              s->token[T - 1], s->token[s->owner]);
    const int begins[] = {0, 10, 100, 1000};
    for (int b = 0; b < 4; b++) {
        int m = begins[b] + T - 1, n = begins[b] + s->owner;
        double added = 0;
        for (int i = 0; i < D; i++) added += ((double)query[i] + m) * ((double)key[i] + n);
        table_row(&table, "%d|%d|%d|%.1f|%.0f|%.1f", begins[b], m, n,
                  score(rope_half_split, D, query, 0, key, 0), added,
                  score(rope_half_split, D, query, m, key, n));
    }
    table_print(&table, stdout);
}

static void plane_row(Table *table, const char *name, const float x[2], const float p[2]) {
    table_row(table, "%s|%.4f|%.4f|%.4f|%.2f", name, p[0], p[1], hypot(p[0], p[1]),
              hypot(p[0] - x[0], p[1] - x[1]));
}

static void in_the_plane(void) {
    const float x[2] = {3, 4};
    const float cosine[1] = {cosf(1)}, sine[1] = {sinf(1)};
    float once[2], thrice[2], both[2], back[2], matrix[2][2];
    rotate(rope_interleaved, 2, once, x,
           1); /* a head of width 2 is one pair, which rotates by one radian per position */
    rotate(rope_interleaved, 2, both, once, 2);
    rotate(rope_interleaved, 2, thrice, x, 3);
    rotate(rope_interleaved, 2, back, once, -1);
    rope_matrix(2, matrix, cosine, sine);
    const float column[2] = {matrix[0][0] * x[0] + matrix[1][0] * x[1],
                             matrix[0][1] * x[0] + matrix[1][1] * x[1]};
    section("A rotation in the plane");
    Table table = {0};
    table_row(&table, "|first|second|length|distance from x");
    plane_row(&table, "x", x, x);
    plane_row(&table, "x R(1)", x, once);
    plane_row(&table, "x R(1) R(2)", x, both);
    plane_row(&table, "x R(3)", x, thrice);
    plane_row(&table, "x R(1) R(-1)", x, back);
    plane_row(&table, "R(1)^T x, as a column", x, column);
    table_print(&table, stdout);
}

static void only_the_distance(void) {
    const float q[4] = {1, 0, 1, 0}, k[4] = {0, 1, 0, 1};
    const int places[][2] = {{3, 1}, {10, 8}, {102, 100}, {5, 5}, {1, 3}};
    section("The score depends only on the distance");
    Table table = {0};
    table_row(&table, "query at m|key at n|m - n|both rotated|q R(m - n) k^T|q R(n - m) k^T");
    for (int i = 0; i < 5; i++) {
        int m = places[i][0], n = places[i][1];
        table_row(
            &table, "%d|%d|%d|%.4f|%.4f|%.4f", m, n, m - n, score(rope_interleaved, 4, q, m, k, n),
            score(rope_interleaved, 4, q, m - n, k, 0), score(rope_interleaved, 4, q, n - m, k, 0));
    }
    table_print(&table, stdout);
}

static void two_layouts_one_rotation(void) {
    const char *names[] = {"(1, 2, 3, 4), interleaved", "(1, 2, 3, 4), half-split",
                           "(1, 3, 2, 4), half-split", "(1, 2, 3, 4), matrix",
                           "(1 + 2i, 3 + 4i), complex"};
    const float x[1][1][4] = {{{1, 2, 3, 4}}}, reordered[4] = {1, 3, 2, 4};
    const float cosine[1][2] = {{cosf(1), cosf(0.01f)}}, sine[1][2] = {{sinf(1), sinf(0.01f)}};
    const float complex pairs[1][1][2] = {{{1 + 2 * I, 3 + 4 * I}}},
                        step[1][2] = {{cexpf(I), cexpf(0.01f * I)}};
    float out[5][4];
    rotate(rope_interleaved, 4, out[0], x[0][0], 1);
    rotate(rope_half_split, 4, out[1], x[0][0], 1);
    rotate(rope_half_split, 4, out[2], reordered, 1);
    rope_by_matrix(1, 1, 4, (float(*)[1][4])out[3], x, cosine, sine);
    rope_complex(1, 1, 4, (float complex(*)[1][2])out[4], pairs,
                 step); /* in memory: real part, imaginary part */
    section("Two layouts, one rotation");
    Table table = {0};
    table_row(&table, "at position 1|out 0|out 1|out 2|out 3");
    for (int n = 0; n < 5; n++)
        table_row(&table, "%s|%.3f|%.3f|%.3f|%.3f", names[n], out[n][0], out[n][1], out[n][2],
                  out[n][3]);
    table_print(&table, stdout);
}

/* The inputs of attention: PyTorch's queries and keys before RoPE, and the same rotated by our
 * kernel. */
static void on_the_text(const Sentence *s) {
    int T = s->T, H = s->H, D = s->D, slow = D / 4, positions[T];
    const float(*q)[H][D] = sentence_tensor(s, "attention/q", 3, T, H, D);
    const float(*expected)[H][D] = sentence_tensor(s, "attention/q_rope", 3, T, H, D);
    float inv_freq[D / 2], table[2][T][D / 2], out[T][H][D];
    for (int t = 0; t < T; t++) positions[t] = t;
    rope_frequencies(D, inv_freq, &llama2, T);
    rope_table(T, D, table, positions, inv_freq);
    rope_half_split(T, H, D, out, q, table[COSINES], table[SINES]);
    section("RoPE on the example text");
    Table rows = {0};
    table_row(&rows, "query of|position|pair 0|rotated by|after|pair %d|rotated by|after", slow);
    const int shown[] = {0, 1, s->owner, T - 1};
    for (int n = 0; n < 4; n++) {
        int t = shown[n];
        double fast_angle = t * (double)inv_freq[0] * 180 / pi,
               slow_angle = t * (double)inv_freq[slow] * 180 / pi;
        const float *from = q[t][s->head], *to = out[t][s->head];
        table_row(&rows, "%s|%d|(%.2f, %.2f)|%.0f°|(%.2f, %.2f)|(%.2f, %.2f)|%.0f°|(%.2f, %.2f)",
                  s->token[t], t, from[0], from[D / 2], fast_angle, to[0], to[D / 2], from[slow],
                  from[slow + D / 2], slow_angle, to[slow], to[slow + D / 2]);
    }
    table_print(&rows, stdout);
    sentence_compare(4, T * H * D, (const float *)out, (const float *)expected);
}

/* The same weights in Meta's order of rows, and in Hugging Face's, in which the course's model is
 * stored. */
static void two_layouts(const Sentence *s) {
    int T = s->T, H = s->H, KV = s->KV, D = s->D, C = s->C, m = T - 1, group = H / KV;
    const float(*normed)[C] = sentence_tensor(s, "attention/normed", 2, T, C);
    float(*w_q)[C] = sentence_weight(s, "self_attn.q_proj", 2, H * D, C);
    float(*w_k)[C] = sentence_weight(s, "self_attn.k_proj", 2, KV * D, C);
    float meta_q[H * D][C], meta_k[KV * D][C], q[1][H][D], k[T][KV][D], other_q[1][H][D],
        other_k[T][KV][D];
    rows_to_interleaved(H, D, C, meta_q, w_q);
    rows_to_interleaved(KV, D, C, meta_k, w_k);
    linear(1, C, H * D, (float(*)[H * D]) q, normed + m, w_q, NULL);
    linear(T, C, KV * D, (float(*)[KV * D]) k, normed, w_k, NULL);
    linear(1, C, H * D, (float(*)[H * D]) other_q, normed + m, meta_q, NULL);
    linear(T, C, KV * D, (float(*)[KV * D]) other_k, normed, meta_k, NULL);
    section("The layouts on the example text");
    Table table = {0};
    table_row(&table,
              "score of the last %s with|distance|half-split|permuted, interleaved|not permuted, "
              "interleaved",
              s->token[m]);
    const int shown[] = {m, m - 1, m - 5, s->owner, 1};
    for (int n = 0; n < 5; n++) {
        int t = shown[n];
        const float *query = q[0][s->head], *key = k[t][s->head / group];
        table_row(
            &table, "%s|%d|%.1f|%.1f|%.1f", s->token[t], m - t,
            score(rope_half_split, D, query, m, key, t),
            score(rope_interleaved, D, other_q[0][s->head], m, other_k[t][s->head / group], t),
            score(rope_interleaved, D, query, m, key, t));
    }
    table_print(&table, stdout);
    free(w_q);
    free(w_k);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 5: RoPE, rotary position embedding.");
    Sentence s = sentence_open();
    the_same_word_twice(&s);
    added_or_rotated(&s);
    in_the_plane();
    only_the_distance();
    two_layouts_one_rotation();
    on_the_text(&s);
    two_layouts(&s);
    sentence_close(&s);
}
