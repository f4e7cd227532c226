/* Chapter 13, quantization: weights, activations and the cache in 8 bits and in 4. */
#include "13_quantization/quantization.h"
#include "13_quantization/rounding.h"
#include "06_grouped_query/grouped_query.h"
#include "common/console.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/options.h"
#include "common/sentence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Sentence s;

/* ------------------------------------------------------------------ quantize and dequantize */

static void *quantized(const QuantType *format, int rows, int n, const float x[rows][n]) {
    void *blocks = xmalloc((size_t)(rows * (n / format->numbers) * format->bytes));
    format->quantize(rows, n, blocks, x);
    return blocks;
}

static void quantize_and_read_back(const QuantType *format, int rows, int n, float out[rows][n],
                                   const float x[rows][n]) {
    void *blocks = quantized(format, rows, n, x);
    format->dequantize(rows, n, out, blocks);
    free(blocks);
}

/* The norm of the differences over the norm of the right numbers, in percent. */
static double error(size_t count, const void *got, const void *right) {
    const float *a = got, *b = right;
    double differences = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        differences += (a[i] - b[i]) * (a[i] - b[i]);
        squares += b[i] * b[i];
    }
    return 100 * sqrt(differences / squares);
}

/* ------------------------------------------------------------------ sections */

static void block_on_paper(void) {
    static const float x[1][32] = {{0.30f, -2.00f, 1.10f, 0.70f}};
    const char *names[] = {"Q4_0", "Q4_1", "Q8_0"};
    section("A block on paper");
    Table table = {0};
    table_row(&table, "32 numbers, the other 28 are 0|0.30|-2.00|1.10|0.70|bytes");
    for (int f = 0; f < 3; f++) {
        const QuantType *format = format_named(names[f]);
        float back[1][32];
        quantize_and_read_back(format, 1, 32, back, x);
        table_row(&table, "%s|%.4f|%.4f|%.4f|%.4f|%d", names[f], back[0][0], back[0][1], back[0][2],
                  back[0][3], format->bytes);
    }
    table_print(&table, stdout);
    section("A block in bytes");
    uint8_t *block = quantized(format_named("Q4_0"), 1, 32, x);
    for (int i = 0; i < (int)sizeof(BlockQ4_0); i++) printf("%s%02x", i > 0 ? " " : "  ", block[i]);
    puts("");
    free(block);
}

/* The activations that down_proj receives: one row per token, with outliers in a few columns. */
static void outliers(void) {
    int T = s.T, F = s.F, count = T * F, most = 0;
    const float *x = sentence_tensor(&s, "feed_forward/product", 2, T, F);
    float *back = xmalloc((size_t)count * sizeof *back);
    double squares = 0;
    for (int i = 0; i < count; i++) {
        squares += x[i] * x[i];
        most = fabsf(x[i]) > fabsf(x[most]) ? i : most;
    }
    section("Outliers");
    printf("  of %d activations with an RMS of %.1f, the largest is %.1f: feature %d of token %s\n",
           count, sqrt(squares / count), x[most], most % F, s.token[most / F]);
    static const char *const names[] = {"tensor", "token", "group of 32"};
    const size_t shares[] = {(size_t)count, (size_t)F, 32};
    Table table = {0};
    table_row(&table, "8 bits, one scale per|become 0|error of the last token");
    for (int k = 0; k < 3; k++) {
        int zeros = 0;
        fake_quantize(8, shares[k], (size_t)count, back, x);
        for (int i = 0; i < count; i++) zeros += back[i] == 0;
        table_row(&table, "%s|%d %%|%.1f %%", names[k], 100 * zeros / count,
                  error((size_t)F, back + count - F, x + count - F));
    }
    table_print(&table, stdout);
    free(back);
}

static void granularity(void) {
    static const char *const names[] = {"self_attn.q_proj", "self_attn.v_proj", "mlp.gate_proj",
                                        "mlp.down_proj"};
    const int sizes[][2] = {{s.H * s.D, s.C}, {s.KV * s.D, s.C}, {s.F, s.C}, {s.C, s.F}};
    section("Granularity");
    Table table = {0};
    table_row(&table, "layer %d|largest over RMS|4 bits, error: per tensor|per row|per group of 32",
              s.layer);
    for (int w = 0; w < 4; w++) {
        int rows = sizes[w][0], n = sizes[w][1];
        size_t count = (size_t)(rows * n);
        float *x = sentence_weight(&s, names[w], 2, rows, n), *back = xmalloc(count * sizeof *back),
              most = 0;
        double squares = 0, errors[3];
        for (size_t i = 0; i < count; i++) {
            most = fmaxf(most, fabsf(x[i]));
            squares += x[i] * x[i];
        }
        const size_t shares[] = {count, (size_t)n, 32};
        for (int k = 0; k < 3; k++) {
            fake_quantize(4, shares[k], count, back, x);
            errors[k] = error(count, back, x);
        }
        table_row(&table, "%s|%.1f|%.1f %%|%.1f %%|%.1f %%", names[w],
                  most / sqrt(squares / (double)count), errors[0], errors[1], errors[2]);
        free(x);
        free(back);
    }
    table_print(&table, stdout);
}

/* down_proj: the error of its weights and of its outputs, with the activations in float32 and in
 * Q8_0. */
static void weights_and_outputs(void) {
    int T = s.T, F = s.F, C = s.C;
    const QuantType *format, *q8_0 = format_named("Q8_0");
    const float(*x)[F] = sentence_tensor(&s, "feed_forward/product", 2, T, F);
    float(*w)[F] = sentence_weight(&s, "mlp.down_proj", 2, C, F),
    (*back)[F] = xmalloc((size_t)C * sizeof *back);
    float y[T][C], alone[T][C], both[T][C];
    char *x_blocks = quantized(q8_0, T, F, x);
    linear(T, F, C, y, x, w, NULL);
    section("Error of weights and outputs");
    Table table = {0};
    table_row(&table,
              "down_proj, layer %d|bits per weight|weights|outputs|outputs, activations in Q8_0",
              s.layer);
    for (int f = 0; (format = format_at(f)); f++) {
        if (!format->quantize) continue;
        char *blocks = quantized(format, C, F, w);
        int row = F / 32 * format->bytes, x_row = F / 32 * q8_0->bytes;
        format->dequantize(C, F, back, blocks);
        linear(T, F, C, alone, x, back, NULL);
        for (int t = 0; t < T; t++)
            for (int c = 0; c < C; c++)
                both[t][c] = format->dot(F, blocks + c * row, x_blocks + t * x_row);
        table_row(&table, "%s|%.1f|%.2f %%|%.2f %%|%.2f %%", format->name,
                  8.0 * format->bytes / format->numbers, error((size_t)(C * F), back, w),
                  error((size_t)(T * C), alone, y), error((size_t)(T * C), both, y));
        free(blocks);
    }
    table_print(&table, stdout);
    free(w);
    free(back);
    free(x_blocks);
}

static void the_cache(void) {
    int T = s.T, H = s.H, KV = s.KV, D = s.D;
    const float(*q)[H][D] = sentence_tensor(&s, "attention/q_rope", 3, T, H, D);
    const float(*k)[KV][D] = sentence_tensor(&s, "attention/k_rope", 3, T, KV, D);
    const float(*v)[KV][D] = sentence_tensor(&s, "attention/v", 3, T, KV, D);
    const void *right = sentence_tensor(&s, "attention/attended", 3, T, H, D);
    static const char *const names[] = {"Q8_0", "Q5_0", "Q4_0"};
    section("The KV cache");
    Table table = {0};
    table_row(&table,
              "keys and values in|bytes per token and layer|error: both|only keys|only values");
    for (int f = 0; f < 3; f++) {
        const QuantType *format = format_named(names[f]);
        float keys[T][KV][D], values[T][KV][D], out[3][T][H][D];
        quantize_and_read_back(format, T * KV, D, (void *)keys, (void *)k);
        quantize_and_read_back(format, T * KV, D, (void *)values, (void *)v);
        grouped_query_attention(T, H, KV, D, out[0], q, keys, values);
        grouped_query_attention(T, H, KV, D, out[1], q, keys, v);
        grouped_query_attention(T, H, KV, D, out[2], q, k, values);
        size_t count = (size_t)(T * H * D);
        table_row(&table, "%s|%d|%.1f %%|%.1f %%|%.1f %%", names[f],
                  2 * KV * D / 32 * format->bytes, error(count, out[0], right),
                  error(count, out[1], right), error(count, out[2], right));
    }
    table_print(&table, stdout);
}

enum { STORY = 15 }; /* tokens before the question */

static void feedback_row(Table *table, int bits, bool feedback) {
    int T = s.T, C = s.C, out = s.H * s.D;
    const float(*x)[C] = sentence_tensor(&s, "attention/normed", 2, T, C);
    float(*w)[C] = sentence_weight(&s, "self_attn.q_proj", 2, out, C);
    float(*rounded)[C] = xmalloc((size_t)out * sizeof *rounded);
    float right[T][out], got[T][out];
    memcpy(rounded, w, (size_t)out * sizeof *w);
    if (feedback) gptq(bits, out, C, rounded, STORY, x);
    else fake_quantize(bits, 32, (size_t)(out * C), (float *)rounded, (float *)w);
    linear(T, C, out, right, x, w, NULL);
    linear(T, C, out, got, x, rounded, NULL);
    table_row(table, "%d bits, %s|%.1f %%|%.1f %%|%.1f %%", bits,
              feedback ? "feedback from the story (GPTQ)" : "round to nearest",
              error((size_t)(out * C), rounded, w), error((size_t)(STORY * out), got, right),
              error((size_t)((T - STORY) * out), got[STORY], right[STORY]));
    free(w);
    free(rounded);
}

static void error_feedback(void) {
    section("Error feedback (GPTQ)");
    Table table = {0};
    table_row(&table, "q_proj, layer %d|error: weights|queries of the story|of the question",
              s.layer);
    for (int bits = 4; bits >= 3; bits--)
        for (int feedback = 0; feedback < 2; feedback++) feedback_row(&table, bits, feedback);
    table_print(&table, stdout);
}

int main(int argc, char **argv) {
    no_options(argc, argv,
               "Chapter 13, quantization: weights, activations and the cache in 8 bits and in 4.");
    s = sentence_open();
    block_on_paper();
    outliers();
    granularity();
    weights_and_outputs();
    the_cache();
    error_feedback();
    sentence_close(&s);
}
