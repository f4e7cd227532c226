/* Writes the data of this chapter's figures, and prints the sizes of models. */
#include "13_quantization/quantization.h"
#include "13_quantization/rounding.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ gigabytes */

static void what_a_model_weighs(void) {
    static const struct {
        const char *name;
        double parameters, cached; /* and the numbers that a token leaves in the cache: 2 L KV D */
    } models[] = {{"Llama 2 7B", 6738415616, 2 * 32 * 32 * 128},
                  {"Llama 3.2 1B", 1235814400, 2 * 16 * 8 * 64},
                  {"Llama 3 8B", 8030261248, 2 * 32 * 8 * 128},
                  {"Llama 3 70B", 70553706496, 2 * 80 * 8 * 128}};
    section("What a model weighs");
    Table table = {0};
    table_row(&table, "GB|16 bits|8.5: Q8_0|4.5: Q4_0, Q4_K|4|  cache of 4096 tokens: 16 bits|8.5");
    for (int m = 0; m < 4; m++) {
        double bit = models[m].parameters / 8e9, cached = models[m].cached * 4096 / 8e9;
        table_row(&table, "%s|%.1f|%.1f|%.1f|%.1f|%.1f|%.1f", models[m].name, 16 * bit, 8.5 * bit,
                  4.5 * bit, 4 * bit, 16 * cached, 8.5 * cached);
    }
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ figures */

static Sentence s;

/* A histogram of the matrix's weights, and the quantized values of 4 bits with one scale for all
 * and with one per block. */
static void levels(const char *data) {
    enum { BINS = 150, BLOCK = 1000 };
    float *w = sentence_weight(&s, "mlp.down_proj", 2, s.C, s.F), most[2] = {0};
    int count = s.C * s.F, bins[BINS] = {0};
    for (int i = 0; i < count; i++) {
        int bin = (int)floorf(w[i] * 100) + BINS / 2;
        if (bin >= 0 && bin < BINS) bins[bin]++;
        if (fabsf(w[i]) > fabsf(most[0])) most[0] = w[i];
        if (i / 32 == BLOCK && fabsf(w[i]) > fabsf(most[1])) most[1] = w[i];
    }
    Output output = data_open(data, "13_levels",
                              "weight, percentage; values per tensor; per block; the block");
    for (int b = 0; b < BINS; b++)
        fprintf(output.file, "%.3f %.4f\n", (b - BINS / 2 + 0.5) / 100, 100.0 * bins[b] / count);
    for (int k = 0; k < 2; k++) {
        fputs("\n\n", output.file);
        for (int q = -8; q < 8; q++) fprintf(output.file, "%.5f\n", q * most[k] / -8);
    }
    fputs("\n\n", output.file);
    for (int i = 0; i < 32; i++) fprintf(output.file, "%.5f\n", w[BLOCK * 32 + i]);
    output_close(&output);
    free(w);
}

static float largest(int count, const float x[count]) {
    float most = 0;
    for (int i = 0; i < count; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* The activations of the last token before down_proj, and half a step of 8 bits for each
 * granularity: what is smaller becomes 0. */
static void outliers(const char *data) {
    enum { BITS_8 = 127, GROUP = 32 };
    const float(*x)[s.F] = sentence_tensor(&s, "feed_forward/product", 2, s.T, s.F);
    const float *row = x[s.T - 1];
    float tensor = largest(s.T * s.F, x[0]) / BITS_8 / 2, token = largest(s.F, row) / BITS_8 / 2;
    Output output = data_open(data, "13_outliers",
                              "feature, magnitude, half a step: per tensor, token, group of 32");
    for (int i = 0; i < s.F; i++)
        fprintf(output.file, "%d %.4g %.4g %.4g %.4g\n", i, fabsf(row[i]), tensor, token,
                largest(GROUP, row + i / GROUP * GROUP) / BITS_8 / 2);
    output_close(&output);
}

static double error(int count, const float got[count], const float right[count]) {
    double differences = 0, squares = 0;
    for (int i = 0; i < count; i++) {
        differences += (got[i] - right[i]) * (got[i] - right[i]);
        squares += right[i] * right[i];
    }
    return 100 * sqrt(differences / squares);
}

/* The error for the same matrix, for every number of bits and for the formats. */
static void errors(const char *data) {
    int C = s.C, F = s.F, count = C * F;
    float *w = sentence_weight(&s, "mlp.down_proj", 2, C, F),
          *back = xmalloc((size_t)count * sizeof *back);
    Output output = data_open(data, "13_error",
                              "bits per weight, error: per group of 32; row; tensor; the formats");
    const int shares[] = {32, F, count};
    for (int k = 0; k < 3; k++, fputs("\n\n", output.file))
        for (int bits = 2; bits <= 8; bits++) {
            fake_quantize(bits, (size_t)shares[k], (size_t)count, back, w);
            fprintf(output.file, "%.3f %.4f %d\n", bits + 16.0 / shares[k], error(count, back, w),
                    bits);
        }
    const QuantType *format;
    for (int f = 0; (format = format_at(f)); f++) {
        if (!format->quantize) continue;
        void *blocks = xmalloc((size_t)(count / 32 * format->bytes));
        format->quantize(C, F, blocks, (void *)w);
        format->dequantize(C, F, (void *)back, blocks);
        fprintf(output.file, "%.3f %.4f %s\n", 8.0 * format->bytes / 32, error(count, back, w),
                format->name);
        free(blocks);
    }
    output_close(&output);
    free(w);
    free(back);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "What the figures of chapter 13 draw.");
    what_a_model_weighs();
    if (!data) return 0;
    s = sentence_open();
    levels(data);
    outliers(data);
    errors(data);
    sentence_close(&s);
}
