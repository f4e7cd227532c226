/* Chapter 15, tensor parallelism: one model on several processes and machines. */
#include "02_activation/activation.h"
#include "03_feed_forward/feed_forward.h"
#include "09_decoder/presets.h"
#include "14_engine/args.h"
#include "15_tensor_parallel/run.h"
#include "15_tensor_parallel/shard.h"
#include "15_tensor_parallel/traffic.h"
#include "common/console.h"
#include "common/error.h"
#include "common/linear.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ a worked example */

/* Two matrices with a ReLU between them, cut for two ranks: columns, then rows. One partial sum is
 * negative, so that a ReLU of each partial sum would give another total. */
static void two_ranks(void) {
    const float x[1][2] = {{1, 2}}, first[4][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}},
                second[1][4] = {{1, 2, -1, 4}};
    float all[1][4], out[1][1];
    linear(1, 2, 4, all, x, first, NULL);
    relu(4, all[0], all[0]);
    linear(1, 4, 1, out, all, second, NULL);
    section("A feed-forward layer on two ranks");
    Table table = {0};
    table_row(&table, "|hidden units|weights of the second matrix|result");
    table_row(&table, "one rank alone|%g  %g  %g  %g|1  2  -1  4|%g", all[0][0], all[0][1],
              all[0][2], all[0][3], out[0][0]);
    for (int rank = 0; rank < 2; rank++) {
        float first_part[2][2], part[1][2], own[1][2], partial[1][1];
        shard_columns(2, rank, 4, 2, first_part, first);
        shard_rows(2, rank, 1, 4, part, second);
        linear(1, 2, 2, own, x, first_part, NULL);
        relu(2, own[0], own[0]);
        linear(1, 2, 1, partial, own, part, NULL);
        table_row(&table, "rank %d of 2|%g  %g|%g  %g|%g", rank, own[0][0], own[0][1], part[0][0],
                  part[0][1], partial[0][0]);
    }
    table_print(&table, stdout);
}

/* ------------------------------------------------------------------ on the example text */

static Sentence s;

/* A feed-forward layer on the example text: its weights, its input, and the residual stream before
 * and after it. */
typedef struct {
    float *gate, *up, *down;
    const void *normed, *before, *after;
} Half;

static Half half_open(void) {
    const float(*stream)[s.T][s.C] = sentence_tensor(&s, "stream", 3, 2 * s.L + 2, s.T, s.C);
    return (Half){.gate = sentence_weight(&s, "mlp.gate_proj", 2, s.F, s.C),
                  .up = sentence_weight(&s, "mlp.up_proj", 2, s.F, s.C),
                  .down = sentence_weight(&s, "mlp.down_proj", 2, s.C, s.F),
                  .normed = sentence_tensor(&s, "feed_forward/normed", 2, s.T, s.C),
                  .before = stream[2 * s.layer + 1],
                  .after = stream[2 * s.layer + 2]};
}

static void half_close(Half *h) {
    free(h->gate);
    free(h->up);
    free(h->down);
}

static void partial_sums_add_up(const Half *h) {
    int T = s.T, C = s.C;
    section("Partial sums add up");
    Table table = {0};
    table_row(&table,
              "ranks|hidden units per rank|differ from PyTorch by more than 0.001, of %d numbers",
              T * C);
    for (int ranks = 1; ranks <= 8; ranks *= 2) {
        float out[T][C];
        parallel_feed_forward(ranks, T, C, s.F, out, h->before, h->normed, (void *)h->gate,
                              (void *)h->up, (void *)h->down);
        table_row(&table, "%d|%d|%d", ranks, s.F / ranks,
                  sentence_count_mismatches(3, T * C, (const float *)out, h->after));
    }
    table_print(&table, stdout);
}

/* The partial sum that one rank computes for the last token, without the stream. */
static void rank_partial_sum(const Half *h, int ranks, int rank, float partial[s.C]) {
    int C = s.C, own = s.F / ranks;
    const float(*normed)[C] = h->normed;
    float(*gate)[C] = xmalloc((size_t)own * sizeof *gate),
          (*up)[C] = xmalloc((size_t)own * sizeof *up);
    float(*down)[own] = xmalloc((size_t)C * sizeof *down), open[1][own], room[1][own];
    shard_columns(ranks, rank, s.F, C, gate, (void *)h->gate);
    shard_columns(ranks, rank, s.F, C, up, (void *)h->up);
    shard_rows(ranks, rank, C, s.F, down, (void *)h->down);
    gated_feed_forward(1, C, own, (float(*)[C])partial, normed + s.T - 1, gate, up, down,
                       swiglu, open, room);
    free(gate);
    free(up);
    free(down);
}

/* Each rank's partial sum for the last token, and common mistakes in adding them up. */
static void errors_in_the_sum(const Half *h) {
    enum { RANKS = 4 };
    int C = s.C;
    const float *before = (const float *)h->before + (s.T - 1) * C,
                *after = (const float *)h->after + (s.T - 1) * C;
    float partial[RANKS][C], sum[C];
    for (int c = 0; c < C; c++) sum[c] = after[c] - before[c];
    section("Partial sums of four ranks");
    Table sums = {0};
    table_row(&sums, "|RMS");
    for (int r = 0; r < RANKS; r++) {
        rank_partial_sum(h, RANKS, r, partial[r]);
        table_row(&sums, "partial sum of rank %d|%.2f", r, rms(C, partial[r]));
    }
    table_row(&sums, "sum of the four|%.2f", rms(C, sum));
    table_row(&sums, "residual stream before the layer|%.2f", rms(C, before));
    table_row(&sums, "residual stream after the layer|%.2f", rms(C, after));
    table_print(&sums, stdout);
    section("Errors in the sum");
    Table table = {0};
    float wrong[4][C];
    for (int c = 0; c < C; c++) {
        wrong[0][c] = partial[0][c] - sum[c];
        wrong[1][c] = (RANKS - 1) * sum[c];
        wrong[2][c] = sum[c] / RANKS - sum[c];
        wrong[3][c] = (RANKS - 1) * before[c];
    }
    const char *names[] = {"no sum: each rank continues with its partial sum",
                           "the sum is taken twice", "the mean instead of the sum",
                           "every rank adds the residual stream"};
    table_row(&table, "mistake, with four ranks|error");
    for (int k = 0; k < 4; k++)
        table_row(&table, "%s|%.0f %%", names[k], 100 * rms(C, wrong[k]) / rms(C, after));
    table_print(&table, stdout);
}

/* ---------------------------------------------------- models that are too large for one machine */

static void heads_per_rank(void) {
    section("Heads per rank");
    Config c = config_preset("llama-3-70b");
    Table table = {0};
    table_row(&table, "Llama 3 70B, ranks|query heads per rank|n_kv_heads // ranks|key-value heads "
                      "per rank|copies of each");
    for (int ranks = 1; ranks <= 64; ranks *= 2) {
        int kept = c.KV > ranks ? c.KV / ranks : 1;
        table_row(&table, "%d|%d|%d|%d|%d", ranks, c.H / ranks, c.KV / ranks, kept,
                  kept * ranks / c.KV);
    }
    table_print(&table, stdout);
}

static void traffic_per_token(void) {
    const char *names[] = {"llama-3-8b", "llama-3-70b", "llama-3.1-405b"};
    section("Traffic per token");
    Table table = {0};
    table_row(
        &table,
        "|all-reduces|bytes of a vector|kB sent per rank, 2 ranks|4 ranks|16 ranks|messages per "
        "rank, 16 ranks");
    for (int m = 0; m < 3; m++) {
        Config c = config_preset(names[m]);
        Traffic two = traffic_of_token(&c, 2), four = traffic_of_token(&c, 4),
                sixteen = traffic_of_token(&c, 16);
        table_row(&table, "%s|%d|%d|%.0f|%.0f|%.0f|%.0f", names[m], 2 * c.L + 1, 4 * c.C,
                  two.bytes / 2e3, four.bytes / 4e3, sixteen.bytes / 16e3, sixteen.messages / 16);
    }
    table_print(&table, stdout);
}

static int demonstrate(void) {
    ranks_ordered_end();
    s = sentence_open();
    Half half = half_open();
    two_ranks();
    partial_sums_add_up(&half);
    errors_in_the_sum(&half);
    heads_per_rank();
    traffic_per_token();
    half_close(&half);
    sentence_close(&s);
    return 0;
}

int main(int argc, char **argv) {
    RunOptions run_options = {0};
    const char *tokens = "256", *temperature = "0", *seed = "1", *ignore_end = 0, *report = 0;
    const Option options[] = {
        {"model", "DIR|FILE",
         "a Hugging Face folder, .gguf, or .bin of llama2.c; each rank holds a part",
         &run_options.model},
        {"tokenizer", "PATH", "tokenizer.model, .json, .bin or a .gguf (what is in the model)",
         &run_options.tokenizer},
        {"prompt", "TEXT", "the beginning of the text (empty)", &run_options.prompt},
        {"token-ids|ids", "1,2,3", "the prompt as token ids; the output is printed as token ids",
         &run_options.ids},
        {"max-tokens|tokens", "N", "generate at most N tokens (256)", &tokens},
        {"temperature", "X",
         "0 takes the most likely token, 1 samples from the model's probabilities (0)",
         &temperature},
        {"seed", "S", "the same text for the same seed (1)", &seed},
        {"ignore-eos", NULL, "continue after the end of the text", &ignore_end},
        {"report", NULL, "report what each rank holds, and what it sends per token", &report},
        {"compare", "FILE", "process the tokens of a dump by transformers, and compare the logits",
         &run_options.compare},
    };
    Ranks ranks = ranks_open();
    ranks_ordered_begin();
    int rest = parse_options(
        argc, argv, "[--model DIR|FILE [--prompt TEXT] [--max-tokens N] …]",
        "Chapter 15: one model on several ranks:\n"
        "mpirun -n 2 build/15_tensor_parallel --model DIR. Without --model, a demonstration.",
        sizeof options / sizeof *options, options);
    if (rest < argc)
        usage_error("%s is not understood: is it the --prompt, in quotes?", argv[rest]);
    run_options.tokens = (int)option_number("max-tokens", tokens, 0, INT_MAX / 2);
    run_options.temperature = temperature_of(temperature);
    run_options.seed = option_number("seed", seed, 0, ULONG_MAX);
    run_options.ignore_eos = ignore_end;
    run_options.report = report;
    if (!run_options.model && argc > 1)
        usage_error("without a --model there is a demonstration, which takes no options");
    if (!!run_options.prompt + !!run_options.ids + !!run_options.compare > 1)
        usage_error("--prompt, --token-ids, --compare: one of them alone");
    if (!run_options.prompt) run_options.prompt = "";
    if (report && run_options.temperature > 0)
        usage_error("--report counts the messages of a greedy token: no --temperature");
    int status = run_options.model ? run_on_ranks(ranks, &run_options) : demonstrate();
    ranks_close();
    return status;
}
