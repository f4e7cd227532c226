/* Writes the data of this chapter's figures, and estimates the speed of large models on several
 * machines. */
#include "09_decoder/presets.h"
#include "15_tensor_parallel/shard_model.h"
#include "15_tensor_parallel/traffic.h"
#include "common/console.h"
#include "common/options.h"

#include <math.h>

/* The part of each matrix that each of three ranks holds of the course's own model: its
 * beginning and end in percent. */
static void parts(const char *data) {
    enum { RANKS = 3 };
    Output output =
        data_open(data, "15_parts", "rank; of H, of KV, of F, of V: first, end in percent");
    for (int rank = 0; rank < RANKS; rank++) {
        Shard shard = shard_open(ROOT "/common/stories/model", RANKS, rank);
        const Config *c = &shard.whole.config;
        const struct {
            ShardRange part;
            int of;
        } cuts[] = {{shard.heads, c->H},
                    {shard.kv_heads, c->KV},
                    {shard.hidden, c->F},
                    {shard.tokens, c->V}};
        fprintf(output.file, "%d", rank);
        for (int i = 0; i < 4; i++)
            fprintf(output.file, " %.2f %.2f", 100.0 * cuts[i].part.first / cuts[i].of,
                    100.0 * (cuts[i].part.first + cuts[i].part.count) / cuts[i].of);
        fputc('\n', output.file);
        shard_close(&shard);
    }
    output_close(&output);
}

/* Typical machines of today: 60 GB per second are two channels of DDR5 memory. */
enum { NETWORKS = 4 };
static const struct {
    const char *name;
    Machine machine;
} networks[NETWORKS] = {{"1 Gbit/s", {60e9, 0.125e9, 50e-6}},
                        {"10 Gbit/s", {60e9, 1.25e9, 25e-6}},
                        {"100 Gbit/s", {60e9, 12.5e9, 10e-6}},
                        {"InfiniBand", {60e9, 25e9, 2e-6}}};

static const char *const models[] = {"llama-3-8b", "llama-3-70b", "llama-3.1-405b"};

/* In BF16, without the embedding. */
static double weight_bytes(const Config *c) {
    return 2.0 *
           (double)(config_parameters(c) - (c->tie_word_embeddings ? 0 : (int64_t)c->V * c->C));
}

static void tokens_per_second(void) {
    section("Tokens per second by the formula");
    Table table = {0};
    table_row(&table, "model in BF16|machines|GB per machine|%s|%s|%s|%s|pipeline",
              networks[0].name, networks[1].name, networks[2].name, networks[3].name);
    for (int m = 0; m < 3; m++)
        for (int n = 2; n <= 16; n *= 2) {
            Config c = config_preset(models[m]);
            double bytes = weight_bytes(&c), speed[NETWORKS];
            for (int k = 0; k < NETWORKS; k++)
                speed[k] = 1 / token_seconds(&c, bytes, n, networks[k].machine);
            table_row(&table, "%s|%d|%.0f|%.2f|%.2f|%.2f|%.2f|%.2f", models[m], n, bytes / n / 1e9,
                      speed[0], speed[1], speed[2], speed[3],
                      1 / pipeline_seconds(&c, bytes, n, networks[1].machine));
        }
    table_print(&table, stdout);
}

/* A prompt of 512 tokens has 512 times the bytes, and the same number of all-reduces. */
static void prefill_seconds(void) {
    section("Prefill of 512 tokens");
    Table table = {0};
    table_row(&table, "seconds for the all-reduces, 4 machines|%s|%s|%s|%s", networks[0].name,
              networks[1].name, networks[2].name, networks[3].name);
    for (int m = 0; m < 3; m++) {
        Config c = config_preset(models[m]);
        double time[NETWORKS];
        for (int k = 0; k < NETWORKS; k++) time[k] = sums_seconds(&c, 512, 4, networks[k].machine);
        table_row(&table, "%s|%.2f|%.2f|%.2f|%.2f", models[m], time[0], time[1], time[2], time[3]);
    }
    table_print(&table, stdout);
}

/* The speed-up over one machine that could hold the model: a small one in 4.5 bits, and the
 * largest. Each machine has at least one query head. */
static void draw_speedup(const char *data) {
    Output output =
        data_open(data, "15_pays", "machines; speedup on each network; a block for each model");
    static const struct {
        const char *name;
        double share;
    } ends[] = {/* of BF16 */
                {"llama-3.2-1b", 4.5 / 16},
                {"llama-3.1-405b", 1}};
    for (int m = 0; m < 2; m++) {
        Config c = config_preset(ends[m].name);
        double bytes = weight_bytes(&c) * ends[m].share;
        for (int n = 1; n <= 64 && n <= c.H; n *= 2) {
            fprintf(output.file, "%d", n);
            for (int k = 0; k < NETWORKS; k++) {
                double alone = token_seconds(&c, bytes, 1, networks[k].machine);
                fprintf(output.file, " %.4f",
                        alone / token_seconds(&c, bytes, n, networks[k].machine));
            }
            fputc('\n', output.file);
        }
        fputs("\n\n", output.file);
    }
    output_close(&output);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(
        argc, argv,
        "The data of chapter 15's figures, and the speed of several machines by the formula.");
    tokens_per_second();
    prefill_seconds();
    if (!data) return 0;
    parts(data);
    draw_speedup(data);
    return 0;
}
