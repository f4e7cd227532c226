/* Writes the data of this chapter's figures, and prints two of them as tables. */
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/random.h"
#include "common/sentence.h"

#include <math.h>

enum { WIDE = 64, TOKENS = 512 };
static const float eps = 1e-5f, zeros[WIDE];
static float ones[WIDE]; /* filled by main */

/* The RMS of each token's hidden state, before and after normalization. */
static void growth(const char *data) {
    if (!data) return;
    Sentence s = sentence_open();
    int stages = 2 * s.L + 1, T = s.T, C = s.C;
    const float(*stream)[T][C] = sentence_tensor(&s, "stream", 3, stages + 1, T, C);
    float normed[1][C], weight[C];
    for (int i = 0; i < C; i++) weight[i] = 1;
    Output output = data_open(data, "01_growth",
                              "stage, RMS in the stream, RMS of the copy; a block for each token");
    for (int t = 0; t < T; t++) {
        for (int n = 0; n < stages; n++) {
            rms_norm(1, C, normed, &stream[n][t], weight, s.eps);
            fprintf(output.file, "%d %.4g %.4g\n", n, rms(C, stream[n][t]), rms(C, normed[0]));
        }
        fputc('\n', output.file);
    }
    output_close(&output);
    sentence_close(&s);
}

/* The RMS that a vector of RMS r has after RMSNorm: epsilon added under the root, subtracted there,
 * added to the root. A vector of one number is its own root mean square. */
static void epsilon(const char *data) {
    if (!data) return;
    Output output =
        data_open(data, "01_epsilon", "RMS, and after RMSNorm with eps: added subtracted outside");
    for (float r = 1e-5f; r < 1.01f; r *= 1.02f) {
        const float x[1][1] = {{r}};
        float added[1][1], subtracted[1][1];
        rms_norm(1, 1, added, x, ones, eps);
        rms_norm(1, 1, subtracted, x, ones, -eps);
        fprintf(output.file, "%g %g %g %g\n", r, added[0][0], subtracted[0][0], r / (r + eps));
    }
    output_close(&output);
}

/* The lesson's three tokens, and below and beside them their means. */
static void axis(const char *data) {
    static const float x[3][4] = {{1, -1, 3, 5}, {10, -10, 30, 50}, {1, 5, 3, -1}};
    if (!data) return;
    Output output = data_open(data, "01_axis",
                              "token feature x; then the means of tokens, and those of features");
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 4; i++) fprintf(output.file, "%d %d %g\n", t, i, x[t][i]);
    fputs("\n\n", output.file);
    for (int t = 0; t < 3; t++)
        fprintf(output.file, "%d 4 %g\n", t, (x[t][0] + x[t][1] + x[t][2] + x[t][3]) / 4);
    fputs("\n\n", output.file);
    for (int i = 0; i < 4; i++)
        fprintf(output.file, "3 %d %g\n", i, (x[0][i] + x[1][i] + x[2][i]) / 3);
    output_close(&output);
}

/* A synthetic token: 63 features around 1, and an outlier of 10. */
static void one_token(const char *data) {
    enum { OUTLIER = 20 };
    float out[4][1][WIDE], (*x)[WIDE] = out[0];
    Random random = {2};
    for (int i = 0; i < WIDE; i++)
        x[0][i] = i == OUTLIER ? 10 : (float)(1 + random_normal(&random));
    rms_norm(1, WIDE, out[1], x, ones, eps);
    layer_norm(1, WIDE, out[2], x, ones, zeros, eps);
    dyt(1, WIDE, out[3], x, ones, zeros, 0.5f);

    section("One token with an outlier");
    const char *names[] = {"x", "RMSNorm", "LayerNorm", "DyT, alpha = 0.5"};
    Table table = {0};
    table_row(&table, "|mean|RMS|outlier");
    for (int n = 0; n < 4; n++) {
        double sum = 0;
        for (int i = 0; i < WIDE; i++) sum += out[n][0][i];
        table_row(&table, "%s|%.2f|%.2f|%.2f", names[n], fabs(sum / WIDE), rms(WIDE, out[n][0]),
                  out[n][0][OUTLIER]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "01_token", "feature x rms_norm layer_norm dyt");
    for (int i = 0; i < WIDE; i++) {
        fprintf(output.file, "%d", i);
        for (int n = 0; n < 4; n++) fprintf(output.file, " %.4g", out[n][0][i]);
        fputc('\n', output.file);
    }
    output_close(&output);
}

/* The share of y's squares that gain * tanh(alpha x) explains, with the best gain. */
static double explained(const float x[TOKENS][WIDE], const float y[TOKENS][WIDE], float alpha,
                        double *gain) {
    static float t[TOKENS][WIDE];
    double ty = 0, tt = 0, yy = 0;
    dyt(TOKENS, WIDE, t, x, ones, zeros, alpha);
    for (int r = 0; r < TOKENS; r++)
        for (int i = 0; i < WIDE; i++) {
            ty += t[r][i] * y[r][i];
            tt += t[r][i] * t[r][i];
            yy += y[r][i] * y[r][i];
        }
    *gain = ty / tt;
    return ty * ty / (tt * yy);
}

/* The token whose RMS is nearest to this. */
static int nearest_rms(const float x[TOKENS][WIDE], double wanted) {
    int nearest = 0;
    for (int t = 1; t < TOKENS; t++)
        if (fabs(rms(WIDE, x[t]) - wanted) < fabs(rms(WIDE, x[nearest]) - wanted)) nearest = t;
    return nearest;
}

/* Synthetic tokens, each with an RMS of its own: LayerNorm's outputs over its inputs, and the tanh
 * nearest to them all. */
static void s_shape(const char *data) {
    static float x[TOKENS][WIDE], y[TOKENS][WIDE];
    Random random = {1};
    for (int t = 0; t < TOKENS; t++) {
        float factor = (float)exp(0.8 * random_normal(&random));
        random_fill(&random, WIDE, x[t]);
        for (int i = 0; i < WIDE; i++) x[t][i] *= factor;
    }
    layer_norm(TOKENS, WIDE, y, x, ones, zeros, eps);

    section("LayerNorm approximated by a tanh");
    const float tiny = 1e-4f; /* where tanh is still a straight line */
    double gain, share = explained(x, y, tiny, &gain);
    Table table = {0};
    table_row(&table, "one curve for all tokens|share of LayerNorm's output explained");
    table_row(&table, "%.2f x|%.0f %%", gain * tiny, 100 * share);
    float alpha = 0.1f;
    while (explained(x, y, alpha + 0.1f, &gain) > explained(x, y, alpha, &gain)) alpha += 0.1f;
    share = explained(x, y, alpha, &gain);
    table_row(&table, "%.2f tanh(%.1f x)|%.0f %%", gain, alpha, 100 * share);
    table_print(&table, stdout);

    if (!data) return;
    static const double wanted[] = {0.4, 1, 2, 4};
    Output lines = data_open(data, "01_dyt_lines", "x layer_norm RMS of x, a block for each token");
    for (int n = 0; n < 4; n++) {
        int t = nearest_rms(x, wanted[n]);
        for (int i = 0; i < WIDE; i++)
            fprintf(lines.file, "%.4g %.4g %.1f\n", x[t][i], y[t][i], rms(WIDE, x[t]));
        fputs("\n\n", lines.file);
    }
    output_close(&lines);
    Output bend = data_open(data, "01_dyt_curve", "x dyt");
    for (int n = -80; n <= 80; n++)
        fprintf(bend.file, "%.1f %.4f\n", n / 10.0, gain * tanh(alpha * n / 10));
    output_close(&bend);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 1 draw.");
    for (int i = 0; i < WIDE; i++) ones[i] = 1;
    growth(data);
    epsilon(data);
    axis(data);
    one_token(data);
    s_shape(data);
}
