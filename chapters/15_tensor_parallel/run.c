#include "15_tensor_parallel/run.h"
#include "14_engine/hidden_states.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "14_engine/generation_config.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "15_tensor_parallel/parallel.h"
#include "15_tensor_parallel/traffic.h"
#include "common/check.h"
#include "common/console.h"
#include "common/error.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/safetensors.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ are they the same? */

/* The values that all ranks must share. The version changes with the messages between ranks. */
enum { VERSION = 1 };
#ifndef SPOKEN
#define SPOKEN VERSION
#endif

static void check_agreement(Ranks ranks, const RunOptions *run_options, const Shard *shard) {
    typedef struct {
        uint64_t version, model;
        int tokens;
        float temperature;
        bool compare, report;
    } Handshake;
    Handshake all[ranks.count];
    Handshake own = {SPOKEN,
                     shard_fingerprint(shard),
                     run_options->tokens,
                     run_options->temperature,
                     run_options->compare,
                     run_options->report};
    gather_ranks(sizeof own, &own, all);
    for (int r = 1; ranks.rank == 0 && r < ranks.count; r++) {
        if (all[r].version != own.version)
            fail("rank %d runs another version of this program: %d, not %d", r, (int)all[r].version,
                 (int)own.version);
        if (all[r].model != own.model)
            fail("rank %d has another model than rank 0: are the files the same?", r);
        if (all[r].tokens != own.tokens || all[r].temperature != own.temperature ||
            all[r].compare != own.compare || all[r].report != own.report)
            fail("rank %d is asked for something else than rank 0: give all ranks the same options",
                 r);
    }
}

/* ------------------------------------------------------------------ the text */

typedef struct {
    Ranks ranks;
    const RunOptions *wish;
    Shard shard;
    Decoder decoder;
    Tokenizer *tokenizer; /* of rank 0, unless the tokens are given as numbers */
    SafeTensors dump;     /* with --compare */
    int count, *ids;      /* the tokens to begin with */
    Stream stream;
    Random random;
    int shown;
    Sent for_a_token; /* all that this rank sent for the first token that was written */
} Run;

/* The prompt in tokens. Rank 0 writes: it needs the tokenizer, and which tokens end a text. */
static void open_text(Run *run, const RunOptions *run_options) {
    SamplingParams unused = {0};
    Model *model = &run->shard.whole;
    char *home = model_directory(run_options->model);
    size_t count;
    run->tokenizer = tokenizer_of_model(run_options->model, run_options->tokenizer);
    check_vocabularies(model, run->tokenizer, true);
    generation_config_read(home, &unused, &model->config);
    add_chatml_end(&model->config, run->tokenizer);
    free(home);
    run->ids =
        encode_with_bos(run->tokenizer, strlen(run_options->prompt), run_options->prompt, &count);
    run->count = (int)count;
    if (count == 0) fail("a text of this tokenizer has no token to begin with: give a --prompt");
}

/* Every rank reads a dump. Of other tokens rank 0 alone knows, until tell_tokens(). */
static void open_tokens(Run *run, const RunOptions *run_options) {
    const Config *c = &run->shard.whole.config;
    if (run_options->compare) {
        run->dump = safetensors_open(run_options->compare);
        run->ids = hidden_states_ids(&run->dump, &run->count);
    } else if (run->ranks.rank > 0) return;
    else if (run_options->ids) run->ids = option_ids("token-ids", run_options->ids, &run->count);
    else open_text(run, run_options);
    for (int t = 0; t < run->count; t++)
        if (run->ids[t] < 0 || run->ids[t] >= c->V)
            fail("token %d is not in the vocabulary of %d (0 to %d)", run->ids[t], c->V, c->V - 1);
    if (!run_options->compare && run->count > config_context(c))
        fail("the prompt's %d tokens do not fit the model's context of %d", run->count,
             config_context(c));
}

/* Errors that all ranks have are found before ranks_ordered_end(), so that the first rank reports
 * them, and before anything is printed. */
static Run run_open(Ranks ranks, const RunOptions *run_options) {
    Run run = {.ranks = ranks,
               .wish = run_options,
               .shard = shard_open(run_options->model, ranks.count, ranks.rank),
               .stream = {.file = stdout},
               .random = {run_options->seed}};
    open_tokens(&run, run_options);
    ranks_ordered_end();
    check_agreement(ranks, run_options, &run.shard);
    shard_load(&run.shard);
    return run;
}

static void run_close(Run *run) {
    decoder_free(&run->decoder);
    shard_close(&run->shard);
    free(run->ids);
    if (run->tokenizer) tokenizer_close(run->tokenizer);
    if (run->wish->compare) safetensors_close(&run->dump);
}

static void tell_tokens(Run *run) {
    broadcast_bytes(sizeof run->count, &run->count);
    if (run->ranks.rank > 0) run->ids = xmalloc((size_t)run->count * sizeof *run->ids);
    broadcast_bytes((size_t)run->count * sizeof *run->ids, run->ids);
}

static int drawn(Run *run) {
    int V = run->shard.whole.config.V, C = run->shard.whole.config.C;
    const SamplingParams sampling = {
        .temperature = run->wish->temperature, .top_p = 1, .repetition_penalty = 1};
    if (sampling.temperature == 0)
        return parallel_argmax(&run->shard, &fast_kernels, C, run->decoder.last_hidden);
    float *logits = xmalloc((size_t)V * sizeof *logits);
    parallel_logits(&run->shard, &fast_kernels, 1, C, (const float(*)[C])run->decoder.last_hidden,
                    (float(*)[V])logits);
    int id = run->ranks.rank == 0 ? sample(&sampling, V, logits, 0, &V, &run->random) : 0;
    free(logits);
    return id;
}

/* The next token, which rank 0 chooses and shows; -1, on all ranks, where the text ends. */
static int next_token(Run *run) {
    int id = drawn(run);
    if (run->ranks.rank == 0) {
        bool ends = run->tokenizer && !run->wish->ignore_eos &&
                    is_end_of_generation(&run->shard.whole, run->tokenizer, id);
        if (ends) id = -1;
        else if (run->tokenizer) stream_token(&run->stream, run->tokenizer, id);
        else {
            printf("%s%d", run->shown++ ? "," : "", id);
            fflush(stdout);
        }
    }
    broadcast_bytes(sizeof id, &id);
    return id;
}

static void write_on(Run *run) {
    int id = 0;
    tell_tokens(run);
    int capacity =
        min_int(run->count + run->wish->tokens, config_context(&run->shard.whole.config));
    run->decoder = parallel_decoder(&run->shard, &fast_kernels, capacity);
    run->stream.skip_space = run->count <= 1;
    if (run->tokenizer) fputs(run->wish->prompt, stdout);
    decoder_eval(&run->decoder, run->count, run->ids);
    for (int n = 0; n < run->wish->tokens && id >= 0; n++) {
        Sent before = sent_so_far();
        id = next_token(run);
        if (id < 0 || run->decoder.length == capacity) break;
        decoder_eval(&run->decoder, 1, &id);
        Sent after = sent_so_far();
        if (n == 0)
            run->for_a_token = (Sent){after.messages - before.messages, after.bytes - before.bytes};
    }
    if (run->ranks.rank == 0) {
        stream_end(&run->stream);
        putchar('\n');
    }
}

/* ------------------------------------------------------------------ beside transformers */

/* The rows after the last norm. */
typedef struct {
    int T, last;
    float *rows; /* [T][C] */
} Normed;

static void keep_last_stage(void *context, int stage, int first, int T, int C,
                            const float x[T][C]) {
    const Normed *normed = context;
    float(*rows)[C] = (void *)normed->rows;
    if (stage == normed->last) memcpy(rows[first], x, (size_t)T * sizeof *x);
}

static const Tensor *tensor_of(const SafeTensors *dump, const char *name, int T, int V) {
    const Tensor *tensor = safetensors_find(dump, name);
    if (!tensor || tensor_count(tensor) != (size_t)T * (size_t)V)
        fail("the dump has no %s of [%d, %d]: is it one of transformers' for this model? "
             "tests/golden/09_decoder.py writes them",
             name, T, V);
    return tensor;
}

static int judge(const Run *run, int T, int V, const float *logits) {
    float *expected = tensor_to_float(tensor_of(&run->dump, "logits", T, V));
    double *truth = tensor_to_double(tensor_of(&run->dump, "logits/float64", T, V));
    Comparison a = check((size_t)T * (size_t)V, (size_t)V, logits, expected, truth);
    printf("%d rank%s: %zu of %d x %d logits wrong; the worst error against float64 is %.1f ulps, "
           "transformers' %.1f\n",
           run->ranks.count, run->ranks.count == 1 ? "" : "s", a.wrong, T, V, a.ulps, a.reference);
    free(expected);
    free(truth);
    return a.wrong > 0;
}

static int compare(Run *run) {
    int T = run->count, V = run->shard.whole.config.V, C = run->shard.whole.config.C, status = 0;
    Normed normed = {T, 2 * run->shard.whole.config.L + 1,
                     xmalloc((size_t)T * (size_t)C * sizeof(float))};
    float *logits = xmalloc((size_t)T * (size_t)V * sizeof *logits);
    run->decoder = parallel_decoder(&run->shard, &fast_kernels, T);
    run->decoder.hook = keep_last_stage;
    run->decoder.context = &normed;
    decoder_eval(&run->decoder, T, run->ids);
    parallel_logits(&run->shard, &fast_kernels, T, C, (const float(*)[C])normed.rows,
                    (float(*)[V])logits);
    if (run->ranks.rank == 0) status = judge(run, T, V, logits);
    broadcast_bytes(sizeof status, &status);
    free(logits);
    free(normed.rows);
    return status;
}

/* ------------------------------------------------------------------ the report */

typedef struct {
    ShardRange heads, kv_heads, hidden, tokens;
    double matrices, cache, memory;
    Sent sent;
} Holding;

static void holding_rows(Table *table, const Holding *all, int count) {
    table_row(table, "rank|query heads|key/value heads|hidden units|tokens|kB of matrices|bytes "
                     "of cache per token");
    for (int r = 0; r < count; r++) {
        const Holding *h = &all[r];
        const ShardRange *p[] = {&h->heads, &h->kv_heads, &h->hidden, &h->tokens};
        char cells[4][40];
        for (int i = 0; i < 4; i++)
            snprintf(cells[i], sizeof cells[i], p[i]->count == 1 ? "%d" : "%d - %d", p[i]->first,
                     p[i]->first + p[i]->count - 1);
        table_row(table, "%d|%s|%s|%s|%s|%.0f|%.0f", r, cells[0], cells[1], cells[2], cells[3],
                  h->matrices / 1e3, h->cache);
    }
}

static void report(const Run *run) {
    const Config *c = &run->shard.model.config;
    const Shard *s = &run->shard;
    Holding own = {s->heads,
                   s->kv_heads,
                   s->hidden,
                   s->tokens,
                   (double)shard_bytes(s),
                   2.0 * c->L * c->KV * c->D * sizeof(float),
                   peak_memory(),
                   run->for_a_token};
    Holding all[run->ranks.count];
    double messages = 0, bytes = 0;
    gather_ranks(sizeof own, &own, all);
    if (run->ranks.rank > 0) return;
    Traffic formula = traffic_of_token(&run->shard.whole.config, run->ranks.count);
    for (int r = 0; r < run->ranks.count; r++) {
        messages += (double)all[r].sent.messages;
        bytes += (double)all[r].sent.bytes;
    }
    section("What each rank of %d holds", run->ranks.count);
    Table table = {0};
    holding_rows(&table, all, run->ranks.count);
    table_print(&table, stdout);
    section("What %d ranks send for a token", run->ranks.count);
    table_row(&table, "|messages|bytes");
    table_row(&table, "counted|%.0f|%.0f", messages, bytes);
    table_row(&table, "by formula|%.0f|%.0f", formula.messages, formula.bytes);
    table_print(&table, stdout);
    section("Memory");
    for (int r = 0; r < run->ranks.count; r++)
        table_row(&table, "rank %d|%.0f MB at most, of them %.0f of matrices", r,
                  all[r].memory / 1e6, all[r].matrices / 1e6);
    table_print(&table, stdout);
}

int run_on_ranks(Ranks ranks, const RunOptions *run_options) {
    int status = 0;
    Run run = run_open(ranks, run_options);
    if (run_options->compare) status = compare(&run);
    else write_on(&run);
    if (run_options->report) report(&run);
    run_close(&run);
    return status;
}
