/* What fewer bits do to the trained model: its matrices are quantized and read back, and it
 * answers. Then they stay blocks, and what meets them is quantized, too, as build/llama does it
 * without --no-quantize-activations.
 *
 *     make ablations          computes tests/studies/quantized.txt anew, from unseen stories
 *
 * The norms' weights stay as they are: they are few. Blocks of K-quants are not written here: the
 * scales of their numbers are the plain ones, and activations meet them as they are. */
#include "09_decoder/decoder.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "13_quantization/quantization.h"
#include "13_quantization/rounding.h"
#include "common/console.h"
#include "common/error.h"
#include "tests/studies/eval_questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the ways */

enum { NOBODY, ROW = -1, MATRIX = -2, MATRICES = 7 }; /* who share a scale; matrices of a layer */

typedef struct {
    const char *name; /* a format's, or NULL */
    const char *format,
        *instead;    /* of blocks; of rows that are no multiple of 256, where it is a K-quant */
    int bits, share; /* without a format: any number of bits, with a scale for so many numbers */
} Way;

#define EVERY(bits)                                                                                \
    {NULL, NULL, NULL, bits, 32}, {NULL, NULL, NULL, bits, ROW}, { NULL, NULL, NULL, bits, MATRIX }

static const Way ways[] = {
    {"F32", NULL, NULL, 32, NOBODY},
    {"BF16", NULL, NULL, 16, NOBODY},
    {"Q8_0", "Q8_0", NULL, 0, 0},
    {"Q6_K, else Q8_0", "Q6_K", "Q8_0", 0, 0},
    {"Q5_1", "Q5_1", NULL, 0, 0},
    {"Q5_0", "Q5_0", NULL, 0, 0},
    {"Q4_K, else Q5_0", "Q4_K", "Q5_0", 0, 0},
    {"Q4_1", "Q4_1", NULL, 0, 0},
    {"Q4_0", "Q4_0", NULL, 0, 0},
    EVERY(8),
    EVERY(7),
    EVERY(6),
    EVERY(5),
    EVERY(4),
    EVERY(3),
    EVERY(2),
};
enum { WAYS = sizeof ways / sizeof *ways, REFERENCE = 1, FORMATS = 9, SHARES = 3 };

/* ------------------------------------------------------------- numbers, quantized and read back */

static float half(double value) { return f16_to_float(f16_from_float((float)value)); }

static double limited(double q, double least, double most) { return fmin(fmax(q, least), most); }

/* 256 numbers as Q6_K can have them, with the plain scale of each 16, from the largest of them;
 * llama.cpp tries some scales around it, and keeps the best. */
static void round_q6_k(float x[256]) {
    double scale[16], largest = 0;
    for (int s = 0; s < 16; s++) {
        double most = 0;
        for (int i = 16 * s; i < 16 * s + 16; i++) most = fabs(x[i]) > fabs(most) ? x[i] : most;
        scale[s] = most / -32;
        largest = fmax(largest, fabs(scale[s]));
    }
    double d = half(largest / 127);
    for (int i = 0; i < 256 && d > 0; i++) {
        double step = d * limited(round(scale[i / 16] / d), -127, 127);
        x[i] = step == 0 ? 0 : (float)(step * limited(round(x[i] / step), -32, 31));
    }
}

/* The same of Q4_K: scales and minima of 32 numbers are 0 to 63 times the block's. */
static void round_q4_k(float x[256]) {
    double low[8], step[8], lowest = 0, largest = 0;
    for (int s = 0; s < 8; s++) {
        double high = low[s] = 0;
        for (int i = 32 * s; i < 32 * s + 32; i++) {
            low[s] = fmin(low[s], x[i]);
            high = fmax(high, x[i]);
        }
        step[s] = (high - low[s]) / 15;
        lowest = fmin(lowest, low[s]);
        largest = fmax(largest, step[s]);
    }
    double d = half(largest / 63), dmin = half(-lowest / 63);
    for (int i = 0; i < 256; i++) {
        double one = d > 0 ? d * limited(round(step[i / 32] / d), 0, 63) : 0;
        double m = dmin > 0 ? dmin * limited(round(-low[i / 32] / dmin), 0, 63) : 0;
        x[i] = (float)((one > 0 ? one * limited(round((x[i] + m) / one), 0, 15) : 0) - m);
    }
}

static const QuantType *format_for(const Way *way, int n) {
    return format_named(way->instead && n % 256 ? way->instead : way->format);
}

static void round_matrix(const Way *way, int rows, int n, float x[rows][n]) {
    size_t count = (size_t)rows * (size_t)n;
    size_t share = way->share == ROW      ? (size_t)n
                   : way->share == MATRIX ? count
                                          : (size_t)way->share;
    const QuantType *format = way->format ? format_for(way, n) : NULL;
    if (format && format->quantize) {
        void *blocks = xmalloc(count / (size_t)format->numbers * (size_t)format->bytes);
        format->quantize(rows, n, blocks, x);
        format->dequantize(rows, n, x, blocks);
        free(blocks);
    } else if (format) {
        for (size_t i = 0; i < count; i += 256)
            (format->bytes == sizeof(BlockQ6_K) ? round_q6_k : round_q4_k)((float *)x + i);
    } else if (share) fake_quantize(way->bits, share, count, (float *)x, (float *)x);
}

static double bytes_of(const Way *way, int rows, int n) {
    double count = (double)rows * n, scales = 0;
    if (way->share != NOBODY)
        scales = way->share == ROW ? rows : way->share == MATRIX ? 1 : count / way->share;
    const QuantType *format = way->format ? format_for(way, n) : NULL;
    return format ? count / format->numbers * format->bytes : count * way->bits / 8 + 2 * scales;
}

/* ------------------------------------------------------------------ a model of them */

/* Blocks, if they are to be kept and can be written; else what is read back from them. */
static Tensor quantized(const Way *way, bool kept, const Tensor *from, double *bytes) {
    int rows = (int)from->shape[0], n = (int)from->shape[1];
    const QuantType *format = way->format ? format_for(way, n) : NULL;
    Tensor to = *from;
    float *numbers = tensor_to_float(from);
    *bytes += bytes_of(way, rows, n);
    to.dtype = F32;
    to.data = numbers;
    if (kept && format && format->quantize) {
        void *blocks = xmalloc((size_t)rows * (size_t)(n / format->numbers * format->bytes));
        format->quantize(rows, n, blocks, (void *)numbers);
        free(numbers);
        to.data = blocks;
        to.quant_type = format;
    } else round_matrix(way, rows, n, (void *)numbers);
    return to;
}

static void matrices(Layer *layer, Tensor *list[MATRICES]) {
    Tensor *all[MATRICES] = {&layer->q_proj,    &layer->k_proj,  &layer->v_proj,   &layer->o_proj,
                             &layer->gate_proj, &layer->up_proj, &layer->down_proj};
    memcpy(list, all, sizeof all);
}

static Model quantized_model(const Model *model, const Way *way, bool kept, double *bytes) {
    Model other = *model;
    int L = model->config.L;
    *bytes = way->bits == 32 ? 4.0 * (2 * L + 1) * model->config.C
                             : 2.0 * (2 * L + 1) * model->config.C; /* norms */
    other.embed_tokens = other.lm_head = quantized(way, kept, &model->embed_tokens, bytes);
    other.layers = xmalloc((size_t)L * sizeof *other.layers);
    memcpy(other.layers, model->layers, (size_t)L * sizeof *other.layers);
    for (int l = 0; l < L; l++) {
        Tensor *list[MATRICES];
        matrices(&other.layers[l], list);
        for (int m = 0; m < MATRICES; m++) *list[m] = quantized(way, kept, list[m], bytes);
    }
    return other;
}

static void quantized_free(Model *model) {
    for (int l = 0; l < model->config.L; l++) {
        Tensor *list[MATRICES];
        matrices(&model->layers[l], list);
        for (int m = 0; m < MATRICES; m++) free((void *)list[m]->data);
    }
    free(model->layers);
    free((void *)model->embed_tokens.data);
}

/* ------------------------------------------------------------------ how well it does */

typedef struct {
    Examinee examinee;
    Decoder decoder;
    int read; /* tokens that the decoder has read */
} Reader;

/* What came before is read again where the text before this one went on otherwise. */
static void read_tokens(Examinee *examinee, int T, const int ids[T], int asked, int V,
                        float logits[asked][V]) {
    Reader *reader = (Reader *)examinee;
    if (asked != 1) fail("the logits of the last token alone are known");
    if (reader->read != examinee->length) {
        decoder_free(&reader->decoder);
        reader->decoder = decoder_new(examinee->model, &fast_kernels, CAPACITY);
        if (examinee->length) decoder_eval(&reader->decoder, examinee->length, examinee->ids);
    }
    decoder_eval(&reader->decoder, T, ids);
    decoder_logits(&reader->decoder, logits[0]);
    reader->read = examinee->length += T;
}

static double log_sum(int V, const float logits[V]) {
    double most = logits[0], sum = 0;
    for (int v = 0; v < V; v++) most = fmax(most, logits[v]);
    for (int v = 0; v < V; v++) sum += exp(logits[v] - most);
    return most + log(sum);
}

typedef struct {
    double bytes, surprise, divergence;
    int tokens, right, questions;
    char *answer;
} Result;

/* The probabilities that the reference and the way give every token of a text, and the one that
 * comes. */
static void compare(const Model *reference, const Model *model, const Tokenizer *tokenizer,
                    const char *text, Result *result) {
    int V = model->config.V;
    size_t T;
    int *ids = encode_with_bos(tokenizer, strlen(text), text, &T);
    Decoder one = decoder_new(reference, &fast_kernels, (int)T),
            other = decoder_new(model, &fast_kernels, (int)T);
    float right[V], got[V];
    for (size_t t = 0; t < T; t++) {
        int next = t + 1 < T ? ids[t + 1] : tokenizer_eos(tokenizer);
        decoder_eval(&one, 1, &ids[t]);
        decoder_eval(&other, 1, &ids[t]);
        decoder_logits(&one, right);
        decoder_logits(&other, got);
        double whole = log_sum(V, right), others = log_sum(V, got);
        for (int v = 0; v < V; v++)
            result->divergence += exp(right[v] - whole) * (right[v] - whole - (got[v] - others));
        result->surprise += others - got[next];
        result->tokens++;
    }
    decoder_free(&one);
    decoder_free(&other);
    free(ids);
}

static Result examine(const Model *reference, const Tokenizer *tokenizer, const Way *way, bool kept,
                      int count, char *stories[count], const char *prompt) {
    Result result = {0};
    Model model = quantized_model(reference, way, kept, &result.bytes);
    Reader reader = {.examinee = {.model = &model,
                                  .tokenizer = tokenizer,
                                  .read = read_tokens,
                                  .capacity = CAPACITY},
                     .decoder = decoder_new(&model, &fast_kernels, CAPACITY)};
    for (int i = 0; i < count; i++) {
        compare(reference, &model, tokenizer, stories[i], &result);
        result.right += ask(&reader.examinee, stories[i], &result.questions);
    }
    size_t length;
    FILE *file = open_memstream(&result.answer, &length);
    say(&reader.examinee, prompt, 12, "\n.", greedy, file);
    fclose(file);
    decoder_free(&reader.decoder);
    quantized_free(&model);
    return result;
}

/* ------------------------------------------------------------------ what is printed */

static double divergence(const Result *r) { return r->divergence / r->tokens; }
static double right(const Result *r) { return 100.0 * r->right / r->questions; }

static void print_formats(const Result results[FORMATS]) {
    Table table = {0};
    section("The formats");
    table_row(&table, "|kB|bits per weight|KL to BF16|perplexity|right|<  what it answers");
    for (int i = 0; i < FORMATS; i++) {
        const Result *r = &results[i];
        table_row(&table, "%s|%.0f|%.2f|%.5f|%.3f|%.1f %%|  %s", ways[i].name, r->bytes / 1000,
                  16 * r->bytes / results[REFERENCE].bytes, divergence(r),
                  exp(r->surprise / r->tokens), right(r), r->answer);
    }
    table_print(&table, stdout);
}

static bool has_blocks(const Way *way) { return way->format && !way->instead; }

static void print_activations(const Result alone[FORMATS], const Result both[FORMATS]) {
    Table table = {0};
    section("Activations in Q8_0");
    table_row(&table, "|KL: weights|both|  perplexity: weights|both|  right: weights|both");
    for (int i = 0; i < FORMATS; i++) {
        const Result *a = &alone[i], *b = &both[i];
        if (has_blocks(&ways[i]))
            table_row(&table, "%s|%.5f|%.5f|%.3f|%.3f|%.1f %%|%.1f %%", ways[i].name, divergence(a),
                      divergence(b), exp(a->surprise / a->tokens), exp(b->surprise / b->tokens),
                      right(a), right(b));
    }
    table_print(&table, stdout);
}

static void print_shares(const Result results[WAYS]) {
    Table table = {0};
    section("Who shares a scale");
    table_row(&table, "bits|KL: 32 numbers|a row|a matrix|  right: 32 numbers|a row|a matrix");
    for (int i = FORMATS; i < WAYS; i += SHARES) {
        const Result *r = &results[i];
        table_row(&table, "%d|%.5f|%.5f|%.5f|%.1f %%|%.1f %%|%.1f %%", ways[i].bits, divergence(r),
                  divergence(r + 1), divergence(r + 2), right(r), right(r + 1), right(r + 2));
    }
    table_print(&table, stdout);
}

int main(void) {
    static Result results[WAYS], kept[FORMATS];
    Study study = study_open(OUR_MODEL);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < WAYS + FORMATS; i++)
        if (i < WAYS)
            results[i] = examine(&study.model, study.tokenizer, &ways[i], false, study.count,
                                 study.stories, study.prompt);
        else if (has_blocks(&ways[i - WAYS]))
            kept[i - WAYS] = examine(&study.model, study.tokenizer, &ways[i - WAYS], true,
                                     study.count, study.stories, study.prompt);
    printf(
        "What fewer bits do to the model of chapter 9: its matrices are quantized and read back, "
        "and it reads %d unseen stories.\n`make ablations` computes this page anew.\n\n"
        "kB, bits/weight     of all weights, the norms' in BF16\n"
        "KL to BF16          of the probabilities of the next token, the mean over %d tokens\n"
        "right               of %d questions about these stories (standard error: %.1f points at "
        "%.0f %%)\n"
        "what it answers     to the sentence of the course; it should be: Anna has the red ball.\n"
        "Q6_K, Q4_K          only rows of 512 have them; with plain scales, where llama.cpp looks "
        "for better ones\n"
        "weights, both       both: what meets a matrix is quantized to Q8_0, too, as build/llama "
        "does it without --no-quantize-activations\n",
        study.count, results[0].tokens, results[0].questions,
        sqrt(right(&results[0]) * (100 - right(&results[0])) / results[0].questions),
        right(&results[0]));
    print_formats(results);
    print_activations(results, kept);
    print_shares(results);
    for (int i = 0; i < WAYS; i++) free(results[i].answer);
    for (int i = 0; i < FORMATS; i++) free(kept[i].answer);
    study_close(&study);
    return 0;
}
