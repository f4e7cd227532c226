/* Chapter 1: what a norm does to a token, by numbers that can be followed by hand. */
#include "01_normalization/normalization.h"
#include "common/console.h"
#include "common/error.h"
#include "common/golden.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 64 };
static const float eps = 1e-5f, zeros[WIDE];
static float ones[WIDE]; /* filled by main */

typedef struct { char text[64]; } Cells;

/* Four numbers as the cells of a table. */
static Cells cells(const float x[4]) {
    Cells cells = {0};
    char *end = cells.text;
    for (int i = 0; i < 4; i++) end += sprintf(end, isnan(x[i]) ? "|NaN" : "|%.4f", x[i]);
    return cells;
}

static void by_hand(void) {
    const float x[1][4] = {{1, 2, 3, 4}};
    float layer[1][4], unbiased[1][4], rms[1][4], root[4];
    for (int i = 0; i < 4; i++) root[i] = sqrtf(3.0f / 4); /* dividing by dim - 1 acts as a smaller weight */
    layer_norm(1, 4, layer, x, ones, zeros, eps);
    layer_norm(1, 4, unbiased, x, root, zeros, eps);
    rms_norm(1, 4, rms, x, ones, NULL, eps);

    section("By hand");
    Table table = {0};
    table_row(&table, "x%s", cells(x[0]).text);
    table_row(&table, "LayerNorm: (x - 10/4) / sqrt(5/4)%s", cells(layer[0]).text);
    table_row(&table, "  with the unbiased variance, 5/3%s", cells(unbiased[0]).text);
    table_row(&table, "RMSNorm: x / sqrt(30/4)%s", cells(rms[0]).text);
    table_print(&table, stdout);
}

/* Tokens 0 and 1 point the same way, one ten times as far; token 2 is token 0 backwards. */
static const float tokens[3][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}, {4, 3, 2, 1}};

static void which_axis(const char *data) {
    float layer[3][4], batch[3][4], alone[1][4];
    layer_norm(3, 4, layer, tokens, ones, zeros, eps);
    batch_norm(3, 4, batch, tokens, ones, zeros, eps);
    batch_norm(1, 4, alone, tokens, ones, zeros, eps);

    section("Which numbers are averaged together");
    Table table = {0};
    table_row(&table, "|feature 0|feature 1|feature 2|feature 3");
    for (int t = 0; t < 3; t++) table_row(&table, "x, token %d%s", t, cells(tokens[t]).text);
    for (int t = 0; t < 3; t++) table_row(&table, "LayerNorm, token %d%s", t, cells(layer[t]).text);
    for (int t = 0; t < 3; t++) table_row(&table, "BatchNorm, token %d%s", t, cells(batch[t]).text);
    table_row(&table, "BatchNorm, token 0 alone%s", cells(alone[0]).text);
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "01_axis", "token feature x");
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 4; i++) fprintf(output.file, "%d %d %g\n", t, i, tokens[t][i]);
    output_close(&output);
}

static void what_is_ignored(void) {
    const struct { const char *name; float factor, shift; } inputs[] = {
        {"x", 1, 0}, {"x + 100", 1, 100}, {"100 x", 100, 0}, {"x / 1000", 0.001f, 0}};
    section("What each norm ignores");
    Table table = {0};
    table_row(&table, "input|LayerNorm 0|1|2|3|RMSNorm 0|1|2|3");
    for (int n = 0; n < 4; n++) {
        float x[1][4], layer[1][4], rms[1][4];
        for (int i = 0; i < 4; i++) x[0][i] = tokens[0][i] * inputs[n].factor + inputs[n].shift;
        layer_norm(1, 4, layer, x, ones, zeros, eps);
        rms_norm(1, 4, rms, x, ones, NULL, eps);
        table_row(&table, "%s%s%s", inputs[n].name, cells(layer[0]).text, cells(rms[0]).text);
    }
    table_print(&table, stdout);
}

/* The size that a token of size r has after RMSNorm: epsilon added under the root, subtracted there, added to
 * the root, left out. A row of one number is its own root mean square. */
static void sizes_after(float r, float after[4]) {
    const float x[1][1] = {{r}};
    float added[1][1], subtracted[1][1], missing[1][1];
    rms_norm(1, 1, added, x, ones, NULL, eps);
    rms_norm(1, 1, subtracted, x, ones, NULL, -eps);
    rms_norm(1, 1, missing, x, ones, NULL, 0);
    after[0] = added[0][0], after[1] = subtracted[0][0], after[2] = r / (r + eps), after[3] = missing[0][0];
}

static void where_epsilon_stands(const char *data) {
    const float r[] = {1, 0.02f, 0.004f, 0.003f, 0};
    float after[4];
    section("Where epsilon stands");
    Table table = {0};
    table_row(&table, "size of x|sqrt(ms + eps)|sqrt(ms - eps)|sqrt(ms) + eps|sqrt(ms)");
    for (int n = 0; n < 5; n++) {
        sizes_after(r[n], after);
        table_row(&table, "%g%s", r[n], cells(after).text);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "01_epsilon", "size, and after RMSNorm with eps: added subtracted outside");
    for (float size = 1e-5f; size < 1.01f; size *= 1.02f) {
        sizes_after(size, after);
        fprintf(output.file, "%g %g %g %g\n", size, after[0], after[1], after[2]);
    }
    output_close(&output);
}

/* A synthetic token: 63 channels around 1, and an outlier of 10. */
static void one_token(const char *data) {
    enum { OUTLIER = 20 };
    float out[4][1][WIDE], (*x)[WIDE] = out[0];
    Random random = {2};
    for (int i = 0; i < WIDE; i++) x[0][i] = i == OUTLIER ? 10 : (float)(1 + random_normal(&random));
    rms_norm(1, WIDE, out[1], x, ones, NULL, eps);
    layer_norm(1, WIDE, out[2], x, ones, zeros, eps);
    dyt(1, WIDE, out[3], x, ones, zeros, 0.5f);

    section("One token with an outlier");
    const char *names[] = {"x", "RMSNorm", "LayerNorm", "DyT, alpha = 0.5"};
    Table table = {0};
    table_row(&table, "|mean|size|outlier");
    for (int n = 0; n < 4; n++) {
        const float *y = out[n][0];
        double mean = 0, square = 0;
        for (int i = 0; i < WIDE; i++) mean += y[i] / WIDE, square += y[i] * y[i] / WIDE;
        table_row(&table, "%s|%.2f|%.2f|%.2f", names[n], fabs(mean), sqrt(square), y[OUTLIER]);
    }
    table_print(&table, stdout);

    if (!data) return;
    Output output = data_open(data, "01_token", "channel x rms_norm layer_norm dyt");
    for (int i = 0; i < WIDE; i++) {
        fprintf(output.file, "%d", i);
        for (int n = 0; n < 4; n++) fprintf(output.file, " %.4g", out[n][0][i]);
        fputc('\n', output.file);
    }
    output_close(&output);
}

enum { TOKENS = 512 };

/* The share of y's squares that gain * tanh(alpha x) explains, with the best gain. */
static double explained(const float x[TOKENS][WIDE], const float y[TOKENS][WIDE], float alpha, double *gain) {
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

static void s_shape(const char *data) {
    static float x[TOKENS][WIDE], y[TOKENS][WIDE];
    Random random = {1};
    for (int t = 0; t < TOKENS; t++) {
        float size = (float)exp(0.8 * random_normal(&random)); /* synthetic too, each of its own size */
        random_fill(&random, WIDE, x[t]);
        for (int i = 0; i < WIDE; i++) x[t][i] *= size;
    }
    layer_norm(TOKENS, WIDE, y, x, ones, zeros, eps);

    section("LayerNorm beside tanh");
    const float tiny = 1e-4f; /* where tanh is still a straight line */
    double gain, share = explained(x, y, tiny, &gain);
    Table table = {0};
    table_row(&table, "one curve for all tokens|explains of LayerNorm");
    table_row(&table, "%.2f x|%.0f %%", gain * tiny, 100 * share);
    float alpha = 0.1f;
    while (explained(x, y, alpha + 0.1f, &gain) > explained(x, y, alpha, &gain)) alpha += 0.1f;
    share = explained(x, y, alpha, &gain);
    table_row(&table, "%.2f tanh(%.1f x)|%.0f %%", gain, alpha, 100 * share);
    table_print(&table, stdout);

    if (!data) return;
    Output lines = data_open(data, "01_dyt_lines", "x layer_norm, a block for each token");
    for (int t = 0; t < 40; t++, fputc('\n', lines.file))
        for (int i = 0; i < WIDE; i++) fprintf(lines.file, "%.4g %.4g\n", x[t][i], y[t][i]);
    output_close(&lines);
    Output bend = data_open(data, "01_dyt_curve", "x dyt");
    for (int n = -80; n <= 80; n++) fprintf(bend.file, "%.1f %.4f\n", n / 10.0, gain * tanh(alpha * n / 10));
    output_close(&bend);
}

static bf16 *copy_bf16(const Tensor *tensor) {
    return memcpy(allocate(tensor_bytes(tensor)), tensor->data, tensor_bytes(tensor));
}

static void where_bf16_rounds(void) {
    Golden golden = golden_open("rms_norm_bf16");
    const GoldenCase *c = golden_case(&golden, "residual_stream");
    int dim = (int)tensor_count(&c->expected);
    bf16 *x = copy_bf16(golden_input(c, "x")), *weight = copy_bf16(golden_input(c, "weight"));
    bf16 *expected = copy_bf16(&c->expected), out[2][1][dim];
    float golden_eps = (float)tensor_get(golden_input(c, "eps"), 0);
    rms_norm_bf16(1, dim, out[0], (const bf16(*)[dim])x, weight, golden_eps);
    rms_norm_bf16_round_once(1, dim, out[1], (const bf16(*)[dim])x, weight, golden_eps);

    section("Where bf16 rounds");
    const char *names[] = {"rms_norm_bf16", "rms_norm_bf16_round_once"};
    Table table = {0};
    table_row(&table, "|unlike LlamaRMSNorm's|by at most");
    for (int k = 0; k < 2; k++) {
        int different = 0, most = 0;
        for (int i = 0; i < dim; i++) {
            int ulps = abs(out[k][0][i] - expected[i]); /* neighbouring numbers have neighbouring bits */
            different += ulps > 0;
            if (ulps > most) most = ulps;
        }
        table_row(&table, "%s|%d of %d|%d ulp", names[k], different, dim, most);
    }
    table_print(&table, stdout);
    free(x), free(weight), free(expected);
    golden_close(&golden);
}

/* The float32 kernels have one type; the last argument is eps, or dyt's alpha. */
typedef void Norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                  const float weight[dim], const float *bias, float scalar);

static void agree(Table *table, const char *kernel, Norm *norm, const char *case_name) {
    Golden golden = golden_open(kernel);
    const GoldenCase *c = golden_case(&golden, case_name);
    const Tensor *bias = golden_input(c, "bias"), *scalar = golden_input(c, norm == dyt ? "alpha" : "eps");
    int rows = (int)c->expected.shape[0], dim = (int)c->expected.shape[1];
    float *x = tensor_to_float(golden_input(c, "x")), *weight = tensor_to_float(golden_input(c, "weight"));
    float *b = bias ? tensor_to_float(bias) : NULL, (*out)[dim] = allocate((size_t)rows * sizeof *out);
    norm(rows, dim, out, (const float(*)[dim])x, weight, b, (float)tensor_get(scalar, 0));
    Tensor got = c->expected;
    got.data = out;
    Agreement a = golden_check(c, false, &got);
    table_row(table, "%s|%s|%d x %d|%zu|%.2f|%.2f", kernel, case_name, rows, dim, a.wrong, a.ulps,
              a.reference);
    free(x), free(weight), free(b), free(out);
    golden_close(&golden);
}

static void agreement(void) {
    section("Agreement with PyTorch");
    Table table = {0};
    table_row(&table, "kernel|case|shape|wrong|our error in ulps|PyTorch's");
    agree(&table, "layer_norm", layer_norm, "residual_stream");
    agree(&table, "layer_norm", layer_norm, "large_mean");
    agree(&table, "rms_norm", rms_norm, "residual_stream");
    agree(&table, "batch_norm", batch_norm, "ragged");
    agree(&table, "dyt", dyt, "ragged");
    table_print(&table, stdout);
}

/* dyt without its tanh: what it costs to read, scale and write a row. */
static void no_tanh(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim],
                    const float weight[dim], const float *bias, float alpha) {
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < dim; i++) out[r][i] = (float)((double)(alpha * x[r][i]) * weight[i] + bias[i]);
}

enum { MANY = 2048, FEW = 4, DIM = 4096 }; /* many rows do not fit a core's caches, few do */

typedef struct {
    Norm *norm;
    int rows;
    float (*out)[DIM], (*x)[DIM];
} Work;

static void run(void *context) {
    const Work *work = context;
    work->norm(work->rows, DIM, work->out, work->x, work->x[0], work->x[0], 0.5f);
}

static void speed(void) {
    const struct { const char *name; Norm *norm; } kernels[] = {
        {"layer_norm", layer_norm}, {"rms_norm", rms_norm}, {"dyt", dyt}, {"dyt without its tanh", no_tanh}};
    float(*x)[DIM] = allocate(MANY * sizeof *x), (*out)[DIM] = allocate(MANY * sizeof *out);
    Random random = {3};
    random_fill(&random, DIM, x[0]);
    for (int r = 1; r < MANY; r++) memcpy(x[r], x[0], sizeof x[0]);

    section("Speed");
    double reading = MANY * sizeof *x / read_bandwidth(1, SOME_MEMORY), first_many = 0, first_few = 0;
    Table table = {0};
    table_row(&table, "kernel|%d rows, of reading them|of layer_norm|%d rows, of layer_norm", MANY, FEW);
    for (int k = 0; k < 4; k++) {
        double many = best_seconds(run, &(Work){kernels[k].norm, MANY, out, x});
        double few = best_seconds(run, &(Work){kernels[k].norm, FEW, out, x});
        if (k == 0) first_many = many, first_few = few;
        table_row(&table, "%s|%.1f|%.2f|%.2f", kernels[k].name, many / reading, many / first_many,
                  few / first_few);
    }
    table_print(&table, stdout);
    free(x), free(out);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 1: LayerNorm, RMSNorm, BatchNorm, DyT.");
    for (int i = 0; i < WIDE; i++) ones[i] = 1;
    by_hand();
    which_axis(data);
    what_is_ignored();
    where_epsilon_stands(data);
    one_token(data);
    s_shape(data);
    where_bf16_rounds();
    agreement();
    speed();
}
