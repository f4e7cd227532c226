/* train: a Llama from nothing. Each step reads a batch, finds out which way is down, and goes there; on the way it keeps what
 * would be lost otherwise, measures, and shows how far it is. */
#include "15_backward/backward.h"
#include "16_training/checkpoint.h"
#include "16_training/mixture.h"
#include "16_training/folder.h"
#include "16_training/optimizer.h"
#include "16_training/report.h"
#include "16_training/sample.h"
#include "16_training/step.h"
#include "common/error.h"
#include "common/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ what is needed */

typedef struct {
    Recipe recipe;
    Config config;
    char config_path[FOLDER_PATH], tokenizer_folder[FOLDER_PATH];
    Tokenizer *tokenizer; /* NULL: there is none */
    Mixture data, valid;
    State state;
    Parameters gradients;
    Workers workers;
    int *ids, *targets; /* [batch][length] */
} Run;

/* The folder that a file lies in. */
static void folder_of(char folder[static FOLDER_PATH], const char *path) {
    const char *slash = strrchr(path, '/');
    if (snprintf(folder, FOLDER_PATH, "%.*s", slash > path ? (int)(slash - path) : 1, slash ? path : ".") >= FOLDER_PATH)
        fail("%.200s…: the path is too long", path);
}

static bool has_tokenizer(const char *folder) {
    static const char *const names[] = {"tokenizer.model", "tokenizer.json", "tokenizer.bin"};
    char path[FOLDER_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (access(in_folder(path, folder, names[i]), F_OK) == 0) return true;
    return false;
}

static void open_config(Run *run) {
    const Recipe *r = &run->recipe;
    struct stat status;
    if (r->model && (stat(r->model, &status) != 0 || !S_ISDIR(status.st_mode))) fail("--model %s: it is no folder", r->model);
    if (r->model) in_folder(run->config_path, r->model, "config.json");
    else snprintf(run->config_path, sizeof run->config_path, "%s", r->config);
    run->config = config_read(run->config_path);
    if (run->config.attention_bias || run->config.mlp_bias)
        fail("%s: its projections have a bias, which is not learned here: no Llama of Meta has one", run->config_path);
}

/* A tokenizer of fewer tokens than the model has rows is fine: some rows are never used. */
static void open_tokenizer(Run *run) {
    const Recipe *r = &run->recipe;
    if (r->tokenizer) snprintf(run->tokenizer_folder, sizeof run->tokenizer_folder, "%s", r->tokenizer);
    else folder_of(run->tokenizer_folder, run->config_path);
    if (!r->tokenizer && !has_tokenizer(run->tokenizer_folder)) return;
    if (!has_tokenizer(run->tokenizer_folder)) fail("--tokenizer %s: no folder with a tokenizer.model, .json or .bin", r->tokenizer);
    run->tokenizer = tokenizer_open(run->tokenizer_folder);
    if (tokenizer_size(run->tokenizer) > run->config.V)
        fail("the tokenizer has %d tokens, and %s a vocab_size of only %d", tokenizer_size(run->tokenizer), run->config_path, run->config.V);
}

/* What the recipe leaves to the data. */
static void complete_recipe(Run *run) {
    Recipe *r = &run->recipe;
    size_t whole = mixture_whole(&run->data, r->steps < 0) / (size_t)r->batch;
    if (r->steps < 0 && whole == 0) fail("the data are fewer sequences than a --batch of %d", r->batch);
    if (r->steps < 0) r->steps = whole < INT32_MAX / 2 ? (int)whole : INT32_MAX / 2;
    if (r->warmup < 0) r->warmup = r->steps / 20;
    if (r->warmup > r->steps) fail("--warmup %d is longer than the %d steps that the data are enough for", r->warmup, r->steps);
    if (!mixture_seek(&run->data, (size_t)r->steps * (size_t)r->batch))
        fail("--steps %d: read as often as it is said, the data are enough for %zu", r->steps, run->data.drawn / (size_t)r->batch);
}

static void open_data(Run *run) {
    Recipe *r = &run->recipe;
    int context = config_context(&run->config);
    if (r->length > context) fail("--length %d: the model's context is %d", r->length, context);
    if (!r->length) r->length = context < 512 ? context : 512;
    Reading reading = {run->tokenizer, run->config.V, r->length, r->cut, r->learn_after};
    run->data = mixture_open(r->data_count, r->data, &reading, r->seed);
    if (r->valid) run->valid = mixture_open(1, &r->valid, &reading, r->seed);
    if (r->sample && !run->tokenizer) fail("--sample: there is no tokenizer to write with: --tokenizer DIR");
    complete_recipe(run);
}

static void open_run(Run *run) {
    Recipe *r = &run->recipe;
    use_threads(r->threads);
    open_config(run);
    open_tokenizer(run);
    open_data(run);
    run->state = r->model ? state_of(&run->config, r->model) : state_new(&run->config, run->config_path, r->seed);
    run->gradients = parameters_new(&run->config);
    run->workers = workers_new(&run->config, r->length, r->threads < r->batch ? r->threads : r->batch);
    size_t numbers = product((size_t)r->batch, (size_t)r->length);
    run->ids = allocate(product(numbers, sizeof(int))), run->targets = allocate(product(numbers, sizeof(int)));
}

static void close_run(Run *run) {
    free(run->ids), free(run->targets);
    workers_free(&run->workers), parameters_free(&run->gradients), state_free(&run->state);
    mixture_free(&run->data), mixture_free(&run->valid);
    if (run->tokenizer) tokenizer_close(run->tokenizer);
    config_free(&run->config);
}

/* ------------------------------------------------------------------ a step */

/* AdamW on every tensor, in pieces that the threads share: what happens to a weight depends on no other. */
static void go_downhill(Run *run, float rate) {
    enum { PIECE = 1 << 14 };
    const Recipe *r = &run->recipe;
    const State *s = &run->state;
    for (int i = 0; i < s->weights.tensor_count; i++) {
        const Tensor *tensor = &s->weights.tensors[i];
        size_t count = tensor_count(tensor), first = (size_t)((const float *)tensor->data - s->weights.numbers);
        float decay = decays(tensor) ? r->decay : 0;
#pragma omp parallel for
        for (size_t n = 0; n < count; n += PIECE) {
            size_t at = first + n;
            adamw(count - n < PIECE ? count - n : PIECE, s->weights.numbers + at, s->m.numbers + at, s->v.numbers + at,
                  run->gradients.numbers + at, s->step, rate, r->beta1, r->beta2, r->eps, decay);
        }
    }
}

/* What is not a number would make all weights so: the run ends before, and what was saved stays. */
static void require_numbers(const Run *run, double loss, double norm) {
    if (isfinite(loss) && isfinite(norm)) return;
    fail("step %d: the %s is %s: a lower --rate, a longer --warmup or a smaller --clip may help; what was saved is as it was",
         run->state.step, isfinite(loss) ? "gradients' norm" : "loss", isnan(isfinite(loss) ? norm : loss) ? "not a number" : "infinite");
}

static Row step(Run *run) {
    const Recipe *r = &run->recipe;
    State *s = &run->state;
    double start = seconds();
    mixture_next(&run->data, r->batch, (void *)run->ids, (void *)run->targets);
    s->step++, s->drawn = run->data.drawn;
    memset(run->gradients.numbers, 0, run->gradients.count * sizeof *run->gradients.numbers);
    double loss = batch_backward(&run->workers, &s->weights, &run->gradients, (Batch){r->batch, run->ids, run->targets}, 1);
    double norm = clip_gradient(1, &run->gradients.count, &run->gradients.numbers, r->clip > 0 ? r->clip : INFINITY);
    require_numbers(run, loss, norm);
    float rate = learning_rate(s->step, r->warmup, r->steps, r->rate, r->lowest);
    go_downhill(run, rate);
    double took = seconds() - start;
    s->seconds += took;
    return (Row){.step = s->step, .loss = loss, .norm = norm, .rate = rate, .seconds = took, .validation = NAN};
}

/* ------------------------------------------------------------------ between two steps */

/* The mean over all targets of the validation file, a batch at a time. */
static double validate(Run *run) {
    const int B = run->recipe.batch, T = run->recipe.length;
    const Source *source = &run->valid.sources[0];
    double sum = 0, all = 0;
    for (size_t s = 0; s < source->count; s += (size_t)B) {
        int n = source->count - s < (size_t)B ? (int)(source->count - s) : B;
        for (int b = 0; b < n; b++) mixture_sequence(&run->valid, source, s + (size_t)b, run->ids + b * T, run->targets + b * T);
        double counted = (double)count_targets((size_t)n * (size_t)T, run->targets);
        sum += counted * batch_loss(&run->workers, &run->state.weights, (Batch){n, run->ids, run->targets}), all += counted;
    }
    return sum / all;
}

static bool due(int every, const Run *run) {
    return every && (run->state.step % every == 0 || run->state.step == run->recipe.steps);
}

static void save(const Run *run, uint64_t fingerprint) {
    checkpoint_save(run->recipe.out, &run->state, &run->recipe, fingerprint);
    folder_save_model(run->recipe.out, &run->state.weights);
}

static void train(Run *run, uint64_t fingerprint) {
    const Recipe *r = &run->recipe;
    Report report = report_open(r->out, run->state.step, r->steps, run->state.seconds);
    report_batch(&report, &run->config, r->batch, r->length);
    while (run->state.step < r->steps) {
        Row row = step(run);
        if (due(r->validate, run)) row.validation = validate(run);
        report_step(&report, &row);
        if (due(r->save, run)) save(run, fingerprint);
        if (due(r->save, run) || due(r->validate, run) || due(r->sample, run)) report_line(&report, &row);
        if (due(r->sample, run)) write_sample(&run->state.weights, run->tokenizer, r->prompt ? r->prompt : "", 120, r->seed);
    }
    report_close(&report);
}

int main(int argc, char **argv) {
    Run run = {.recipe = recipe_read(argc, argv)};
    const Recipe *r = &run.recipe;
    open_run(&run);
    folder_claim(r->out, r->resume);
    uint64_t fingerprint = mixture_fingerprint(&run.data);
    bool resumed = checkpoint_restore(r->out, &run.state, r, fingerprint);
    printf("%zu weights, %d steps of %d sequences of %d tokens\n", run.gradients.count, r->steps, r->batch, r->length);
    mixture_print(&run.data, (size_t)r->steps * (size_t)r->batch);
    if (resumed) printf("resumed behind step %d\n", run.state.step);
    fflush(stdout);
    mixture_seek(&run.data, run.state.drawn);
    if (resumed) folder_save_model(r->out, &run.state.weights); /* perhaps it was killed between the checkpoint and this */
    folder_describe(r->out, run.config_path, run.tokenizer_folder, run.tokenizer);
    train(&run, fingerprint);
    if (r->plot) report_plot(r->out, r->valid);
    close_run(&run);
    return 0;
}
