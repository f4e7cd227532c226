/* Chapter 12: a ladder of matrix products, each rung beside the speed that its limits predict, and the decoder on the last. */
#include "09_decoder/decoder.h"
#include "09_decoder/family.h"
#include "12_speed/ladder.h"
#include "12_speed/projection.c" /* the last rung, with its inner parts: the program is linked with it */
#include "common/check.h"
#include "common/console.h"
#include "common/golden.h"
#include "common/measure.h"
#include "common/options.h"
#include "common/random.h"

#include <math.h>

static int all_threads;

/* ---- the rungs */

static Tensor as_tensor(DType dtype, int in, int out, const void *weight) {
    return (Tensor){.dtype = dtype, .rank = 2, .shape = {(size_t)out, (size_t)in}, .data = weight};
}

static void project_f32(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in],
                        const float weight[out][in]) {
    Tensor tensor = as_tensor(F32, in, out, weight);
    project(rows, in, out, y, x, &tensor);
}

/* The weights are BF16 from here on, whatever the compiler is told. What fills no panel is done as by few rows. */
static void project_bf16(bool pairs, int rows, int in, int out, float y[rows][out], const float x[rows][in], const void *weight) {
    Tensor tensor = as_tensor(BF16, in, out, weight);
    if (rows >= ROWS) many_rows(pairs, rows, in, out, y, x, &tensor);
    few_rows(rows, in, out, y, x, &tensor);
}

static void widened(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]) {
    project_bf16(false, rows, in, out, y, x, weight);
}

static void in_pairs(int rows, int in, int out, float y[restrict rows][out], const float x[rows][in], const float weight[out][in]) {
    project_bf16(true, rows, in, out, y, x, weight);
}

/* What a rung's inner loop does, for a single row of x and for many: that is all its speed is predicted from. */
typedef struct {
    int lanes; /* multiply-adds that one instruction does */
    int sums;  /* of them are under way, each waiting for none but itself */
    int loads; /* of vectors (or single numbers) … */
    int uses;  /* … for so many multiply-adds */
} Loop;

typedef struct {
    const char *name;
    Rung *run;
    DType dtype;
    Loop one, many;
    bool once;   /* a weight is read from memory once, not once for each row of x */
    bool shared; /* by all threads */
    bool pairs;  /* many rows are multiplied in pairs: as fast as dot products are, not multiply-adds */
} Step;

static const Step steps[] = {
    {"0 triple loop", triple_loop, F32, {1, 1, 2, 1}, {1, 1, 2, 1}, false, false, false},
    {"1 loop order", loop_order, F32, {1, 1, 2, 1}, {1, 1, 2, 1}, true, false, false},
    {"2 omp simd", simd_sum, F32, {LANES, 1, 2, 1}, {LANES, 1, 2, 1}, true, false, false},
    {"3 several rows", several_rows, F32, {LANES, 4, 5, 4}, {LANES, 4, 5, 4}, true, false, false},
    {"4 register tile", register_tile, F32, {LANES, 4, 5, 4}, {LANES, 16, 8, 16}, true, false, false},
    {"5 packed panels", project_f32, F32, {LANES, STREAMS, 5, 4}, {LANES, 2 * ROWS, ROWS + 2, 2 * ROWS}, true, false, false},
    {"6 threads", project_f32, F32, {LANES, STREAMS, 5, 4}, {LANES, 2 * ROWS, ROWS + 2, 2 * ROWS}, true, true, false},
    {"7 BF16 weights", widened, BF16, {LANES, STREAMS, 5, 4}, {LANES, 2 * ROWS, ROWS + 2, 2 * ROWS}, true, true, false},
    {"8 BF16 pairs", in_pairs, BF16, {LANES, STREAMS, 5, 4}, {LANES, 2 * ROWS, ROWS + 2, 2 * ROWS}, true, true, true},
};

/* The last needs a processor that has it. */
static int step_count(void) { return (int)(sizeof steps / sizeof *steps) - !has_bf16_dots(); }

static void what_limits(void) {
    section("What limits each rung");
    Table table = {0};
    table_row(&table, "rung|lanes|sums under way|loads per multiply-add|weights read for 128 rows");
    for (const Step *s = steps; s < steps + step_count(); s++)
        table_row(&table, "%s|%s|%d|%.2f|%s", s->name, s->many.lanes == 1 ? "one" : "all", s->many.sums,
                  (double)s->many.loads / s->many.uses, s->once ? "once" : "128 times");
    table_print(&table, stdout);
}

/* ---- is it right? */

static void against_pytorch(const Step *first, const Step *end) {
    section("Against PyTorch");
    Table table = {0};
    table_row(&table, "rung|cases|wrong numbers");
    Golden golden = golden_open("linear");
    for (const Step *s = first; s < end; s++) {
        if (s->dtype != F32) continue; /* the cases are float32 */
        size_t wrong = 0, count = 0;
        for (const GoldenCase *c = golden.cases; c < golden.cases + golden.count; c++) {
            const Tensor *x = golden_input(c, "x"), *weight = golden_input(c, "weight"), *bias = golden_input(c, "bias");
            int rows = (int)x->shape[0], in = (int)x->shape[1], out = (int)weight->shape[0];
            Tensor got = c->expected;
            float *y = allocate(tensor_bytes(&got));
            s->run(rows, in, out, (void *)y, x->data, weight->data);
            for (int k = 0; bias && k < rows * out; k++) y[k] += ((const float *)bias->data)[k % out];
            got.data = y;
            wrong += golden_check(c, false, &got).wrong, count++;
            free(y);
        }
        table_row(&table, "%s|%zu|%zu", s->name, count, wrong);
    }
    table_print(&table, stdout);
    golden_close(&golden);
}

/* ---- how fast is it? */

/* A build for finding mistakes says nothing about speed, nor does an emulator: it gets little to do. */
#if defined __SANITIZE_ADDRESS__ || !defined __OPTIMIZE__ || defined UNTIMED
enum { TIMED = 0, OUT_ONE = 64, OUT_MANY = 64 };
#else
enum { TIMED = 1, OUT_ONE = 32000, OUT_MANY = 512 };
#endif
enum { IN = 2048, MANY = 128 };

/* One row meets more weights than most caches hold, as in decode; many rows meet a matrix of a layer, as in prefill. */
typedef struct {
    int rows, out;
    float *x, *y, *right; /* right: what rung 0 says */
    float *weight;
    bf16 *half;           /* the same numbers */
    Rung *run;
    const void *weights;
} Work;

static Work work_new(int rows, int out) {
    Random random = {.state = 12};
    size_t weights = (size_t)IN * out, outputs = (size_t)rows * out;
    Work w = {.rows = rows, .out = out,
              .x = allocate((size_t)rows * IN * sizeof(float)), .y = allocate(outputs * sizeof(float)),
              .right = allocate(outputs * sizeof(float)),
              .weight = allocate(weights * sizeof(float)), .half = allocate(weights * sizeof(bf16))};
    for (int i = 0; i < rows * IN; i++) w.x[i] = bf16_to_float(bf16_from_float((float)random_uniform(&random) - 0.5F));
    for (size_t i = 0; i < weights; i++)
        w.weight[i] = bf16_to_float(w.half[i] = bf16_from_float((float)random_uniform(&random) - 0.5F));
    triple_loop(rows, IN, out, (void *)w.right, (void *)w.x, (void *)w.weight);
    return w;
}

static void work_free(Work *w) { free(w->x), free(w->y), free(w->right), free(w->weight), free(w->half); }

static void work_once(void *context) {
    Work *w = context;
    w->run(w->rows, IN, w->out, (void *)w->y, (void *)w->x, w->weights);
}

/* Operations a second, two for each multiply-add. A rung that is wrong is not measured.
 * 64 ulps: the roundings of 2048 additions go either way, and even one by one add up to the root of their number. */
static double measured(const char *name, Rung *run, const void *weights, int threads, Work *w) {
    w->run = run, w->weights = weights;
    use_threads(threads);
    work_once(w);
    double truth[w->out];
    for (int r = 0; r < w->rows; r++) {
        for (int o = 0; o < w->out; o++) truth[o] = w->right[r * w->out + o];
        if (check_within(64, (size_t)w->out, (size_t)w->out, w->y + (size_t)r * w->out, truth).wrong)
            fail("%s: row %d of %d is not what rung 0 says", name, r, w->rows);
    }
    return 2.0 * w->rows * IN * w->out / best_seconds(work_once, w);
}

typedef struct {
    double fma, pairs, read; /* operations a second, in pairs of BF16, and bytes a second, of the threads that a rung uses */
} Limits;

static Limits limits_of(int threads) {
    return (Limits){fma_peak(threads), bf16_peak(threads), read_bandwidth(threads, SOME_MEMORY)};
}

/* What a rung's loop and the machine's limits make us expect. A sum waits some four cycles for its last addition, and two
 * multiply-adds can begin in each, so eight must be under way; two loads can begin in each, too; and memory must keep up. */
static double predicted(const Step *s, const Work *w, Limits limits) {
    const Loop *loop = w->rows == 1 ? &s->one : &s->many;
    double lanes = (double)loop->lanes / LANES, uses = s->once ? w->rows : 1;
    double peak = s->pairs && w->rows > 1 ? limits.pairs : limits.fma;
    double waiting = peak * lanes * fmin(1, loop->sums / 8.0), loading = peak * lanes * fmin(1, (double)loop->uses / loop->loads);
    double reading = limits.read * 2 * uses / (double)dtype_size(s->dtype);
    return fmin(fmin(waiting, loading), reading);
}

static void climb(const Step *first, const Step *end, Limits alone, Limits together, const char *data) {
    const char *columns = "rung, rows, operations for each byte of weights, then predicted and measured: of the FMA peak, "
                          "of the read bandwidth";
    Output file = data ? data_open(data, "12_ladder", columns) : (Output){0};
    Work works[] = {work_new(1, OUT_ONE), work_new(MANY, OUT_MANY)};
    Table table = {0};
    section("The ladder");
    table_row(&table, "rung|1 row: predicted|of read bandwidth|%d rows: predicted|of FMA peak", MANY);
    for (const Step *s = first; s < end; s++) {
        const Limits limits = s->shared ? together : alone;
        double bytes_each[2], expected[2], got[2];
        for (int k = 0; k < 2; k++) {
            Work *w = &works[k];
            double size = (double)dtype_size(s->dtype), operations = 2 * (s->once ? w->rows : 1) / size;
            const void *weights = s->dtype == BF16 ? (void *)w->half : w->weight;
            bytes_each[k] = 1 / operations, expected[k] = predicted(s, w, limits);
            got[k] = measured(s->name, s->run, weights, s->shared ? all_threads : 1, w);
            if (data)
                fprintf(file.file, "%d %d %g %.4f %.4f %.4f %.4f\n", (int)(s - steps), w->rows, operations, expected[k] / limits.fma,
                        got[k] / limits.fma, expected[k] * bytes_each[k] / limits.read, got[k] * bytes_each[k] / limits.read);
        }
        double of_memory = 100 * bytes_each[0] / limits.read, of_peak = 100 / limits.fma;
        table_row(&table, "%s|%.0f %%|%.0f %%|%.1f %%|%.1f %%", s->name, expected[0] * of_memory, got[0] * of_memory,
                  expected[1] * of_peak, got[1] * of_peak);
    }
    table_print(&table, stdout);
    printf("From rung 6 on there are %d threads, and the limits are those of %d.\n", all_threads, all_threads);
    if (has_bf16_dots())
        printf("The peak of rung 8's dot products is %.2f times the FMA peak: %s.\n", together.pairs / together.fma,
               bf16_dots_pay() ? "project() takes it" : "project() does not take it");
    else printf("There is no rung 8: this processor has no BF16 dot products.\n");
    work_free(&works[0]), work_free(&works[1]);
    if (data) output_close(&file);
}

/* ---- the decoder */

/* One layer of a Llama 3.2 1B, with weights from nowhere. */
static Tensor random_matrix(DType dtype, int rows, int columns) {
    Tensor t = {.name = "random", .dtype = dtype, .rank = 2, .shape = {(size_t)rows, (size_t)columns}};
    size_t count = (size_t)rows * columns, size = dtype_size(dtype);
    char *bytes = allocate(count * size);
    for (size_t i = 0; i < count; i++) {
        float number = (float)((i * 7919) % 1009) / 1009 - 0.5F;
        bf16 half = bf16_from_float(number);
        memcpy(bytes + i * size, size == 4 ? (void *)&number : (void *)&half, size);
    }
    t.data = bytes;
    return t;
}

static Model one_layer(DType dtype) {
    Model model = {.config = config_preset("llama-3.2-1b"), .layers = allocate(sizeof(Layer))};
    Config *c = &model.config;
    c->L = 1, c->V = 1;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D;
    float *ones = model.norm = allocate((size_t)C * sizeof *ones);
    for (int i = 0; i < C; i++) ones[i] = 1;
    model.embed_tokens = model.lm_head = random_matrix(dtype, 1, C);
    *model.layers = (Layer){
        random_matrix(dtype, queries, C), random_matrix(dtype, keys, C), random_matrix(dtype, keys, C),
        random_matrix(dtype, C, queries),
        random_matrix(dtype, F, C), random_matrix(dtype, F, C), random_matrix(dtype, C, F), ones, ones};
    return model;
}

static void one_layer_free(Model *model) {
    Tensor *matrices = &model->layers->q_proj;
    for (int i = 0; i < 7; i++) free((void *)matrices[i].data);
    free((void *)model->embed_tokens.data), free(model->norm), free(model->layers);
}

static double layer_weights(const Config *c) { return (double)c->C * (2.0 * c->H * c->D + 2.0 * c->KV * c->D + 3.0 * c->F); }

typedef struct {
    Decoder decoder;
    int T, length;
} Reading;

static void read_tokens(void *context) {
    Reading *r = context;
    int ids[r->T];
    memset(ids, 0, sizeof ids);
    r->decoder.length = r->length;
    decoder_read(&r->decoder, r->T, ids);
}

/* Seconds for T tokens after `length` others, which nobody read: what the cache holds does not change how fast it is. */
static double reading_time(const Model *model, int T, int length) {
    Reading r = {decoder_new(model, length + T), T, length};
    size_t cached = (size_t)(length + T) * model->config.KV * model->config.D * sizeof(float);
    memset(r.decoder.keys, 0, cached), memset(r.decoder.values, 0, cached);
    double time = best_seconds(read_tokens, &r);
    decoder_free(&r.decoder);
    return time;
}

/* A row of the table, and lines of the file, if there is one. */
static void measure_layer(const Model *model, int threads, Limits limits, Table *table, FILE *file) {
    const Config *c = &model->config;
    const DType dtype = model->lm_head.dtype;
    const int lengths[] = {64, 1024, 4096}, prompts[] = {16, 32, 64, 128};
    double share[7];
    use_threads(threads);
    for (int k = 0; k < 3; k++) {
        double bytes = layer_weights(c) * (double)dtype_size(dtype) + 2.0 * lengths[k] * c->KV * c->D * sizeof(float);
        share[k] = bytes / reading_time(model, 1, lengths[k]) / limits.read;
        if (file) fprintf(file, "0 %d %d %d %.4f\n", dtype == BF16, threads, lengths[k], share[k]);
    }
    for (int k = 0; k < 4; k++) {
        double T = prompts[k], operations = 2 * layer_weights(c) * T + 4 * c->H * c->D * T * (T + 1) / 2;
        share[3 + k] = operations / reading_time(model, prompts[k], 0) / limits.fma;
        if (file) fprintf(file, "1 %d %d %d %.4f\n", dtype == BF16, threads, prompts[k], share[3 + k]);
    }
    for (int k = 0; k < 7; k++) share[k] *= 100;
    table_row(table, "%s|%d|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%|%.0f %%", dtype_name(dtype), threads,
              share[0], share[1], share[2], share[3], share[4], share[5], share[6]);
}

static void decoder_speed(Limits alone, Limits together, const char *data) {
    const char *columns = "0 decode or 1 prefill, 1 if BF16, threads, tokens, share of the limit";
    Output file = data ? data_open(data, "12_decoder", columns) : (Output){0};
    section("One layer of a Llama 3.2 1B");
    Table table = {0};
    table_row(&table, "weights|threads|decode after 64|after 1024|after 4096|prefill of 16|32|64|128");
    for (DType dtype = F32; dtype <= BF16; dtype++) {
        Model model = one_layer(dtype);
        measure_layer(&model, 1, alone, &table, file.file);
        if (all_threads > 1) measure_layer(&model, all_threads, together, &table, file.file);
        one_layer_free(&model);
    }
    table_print(&table, stdout);
    printf("Decode as a share of the read bandwidth, prefill of the FMA peak.\n");
    if (data) output_close(&file);
}

int main(int argc, char **argv) {
    const char *data = NULL, *rung = NULL;
    const Option options[] = {
        {"rung", "N", "only rung N, from 0 to 8", &rung},
        {"data", "DIR", "write there what the figures are drawn from", &data},
    };
    int rest = parse_options(argc, argv, "[--rung N] [--data DIR]",
                             "Chapter 12, speed: a ladder of matrix products, and the decoder on its last rung.", 2, options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
    if (data && rung) usage_error("--data needs all rungs, not --rung alone");
    all_threads = thread_count();
    const Step *first = steps + (rung ? option_number("rung", rung, 0, step_count() - 1) : 0);
    const Step *end = rung ? first + 1 : steps + step_count();
    if (!rung) what_limits();
    against_pytorch(first, end);
    const Limits alone = limits_of(1), together = limits_of(all_threads);
    climb(first, end, alone, together, data);
    if (TIMED && !rung) decoder_speed(alone, together, data);
}
