/* Chapter 11: generation. One step of a story: the scores, what each sampler makes of them, and many draws. Then the
 * story. The program to use is llama.c. */
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = ROOT "/chapters/09_decoder/stories/model";
static const char prompt[] = "Once upon a time there was Anna, a brave";

/* What a sampler leaves: the tokens that can still be drawn, the likeliest first, and their probabilities. */
typedef struct {
    int token;
    double probability;
} Chance;

static int likelier_first(const void *a, const void *b) {
    const Chance *x = a, *y = b;
    return (x->probability < y->probability) - (x->probability > y->probability);
}

static int chances(int V, const float logits[V], Chance out[V]) {
    double sum = 0;
    int count = 0;
    float most = logits[greedy(V, logits)];
    for (int v = 0; v < V; v++) sum += exp((double)logits[v] - most);
    for (int v = 0; v < V; v++)
        if (logits[v] > -INFINITY) out[count++] = (Chance){v, exp((double)logits[v] - most) / sum};
    qsort(out, (size_t)count, sizeof *out, likelier_first);
    return count;
}

/* ---- one step */

static void add_row(Table *table, const Tokenizer *tokenizer, int V, const float logits[V], const char *name) {
    Chance *all = allocate((size_t)V * sizeof *all);
    int count = chances(V, logits, all);
    char text[256] = "";
    for (int i = 0; i < count && i < 5; i++) {
        size_t length, used = strlen(text);
        const char *piece = tokenizer_piece(tokenizer, all[i].token, &length);
        snprintf(text + used, sizeof text - used, "%s%.*s %.3f", i ? "  " : "", (int)length, piece, all[i].probability);
    }
    table_row(table, "%s|%d|%s", name, count, text);
    free(all);
}

static void one_step(const Tokenizer *tokenizer, int V, const float logits[V], int n, const int ids[n]) {
    float *reshaped = allocate((size_t)V * sizeof *reshaped);
    Table table = {0};
    table_row(&table, "logits|tokens left|<the likeliest, with their probabilities");
    add_row(&table, tokenizer, V, logits, "as they are");
    temperature(V, reshaped, logits, 0.5f), add_row(&table, tokenizer, V, reshaped, "temperature 0.5");
    temperature(V, reshaped, logits, 2), add_row(&table, tokenizer, V, reshaped, "temperature 2");
    top_k(V, reshaped, logits, 3), add_row(&table, tokenizer, V, reshaped, "top-k 3");
    top_p(V, reshaped, logits, 0.5f), add_row(&table, tokenizer, V, reshaped, "top-p 0.5");
    min_p(V, reshaped, logits, 0.5f), add_row(&table, tokenizer, V, reshaped, "min-p 0.5");
    repetition_penalty(V, n, reshaped, logits, ids, 1.3f), add_row(&table, tokenizer, V, reshaped, "repetition penalty 1.3");
    table_print(&table, stdout);
    free(reshaped);
}

/* ---- many draws */

static void many_draws(const Tokenizer *tokenizer, int V, const float logits[V]) {
    enum { DRAWS = 10000, SHOWN = 6 };
    Chance *all = allocate((size_t)V * sizeof *all);
    int *drawn = allocate((size_t)V * sizeof *drawn), count = chances(V, logits, all);
    Random random = {11};
    Table table = {0};
    memset(drawn, 0, (size_t)V * sizeof *drawn);
    for (int i = 0; i < DRAWS; i++) drawn[draw(V, logits, random_uniform(&random))]++;
    table_row(&table, "token|probability|drawn, of %d|expected", DRAWS);
    for (int i = 0; i < count && i < SHOWN; i++) {
        size_t length;
        const char *piece = tokenizer_piece(tokenizer, all[i].token, &length);
        table_row(&table, "%.*s|%.4f|%d|%.1f", (int)length, piece, all[i].probability, drawn[all[i].token], DRAWS * all[i].probability);
    }
    table_print(&table, stdout);
    free(all), free(drawn);
}

/* ---- the figure: how flat a temperature makes it */

static void write_temperatures(int V, const float logits[V], const char *data) {
    static const float Ts[] = {0.5f, 1, 2};
    Output file = data_open(data, "11_temperature", "rank, probability at temperature 0.5, 1, 2");
    Chance *all = allocate(3 * (size_t)V * sizeof *all);
    float *reshaped = allocate((size_t)V * sizeof *reshaped);
    for (int i = 0; i < 3; i++) temperature(V, reshaped, logits, Ts[i]), chances(V, reshaped, all + (size_t)i * V);
    for (int rank = 0; rank < 40; rank++)
        fprintf(file.file, "%d %.6g %.6g %.6g\n", rank + 1, all[rank].probability, all[V + rank].probability, all[2 * V + rank].probability);
    output_close(&file);
    free(all), free(reshaped);
}

/* ---- the story */

static void tell(const Model *model, const Tokenizer *tokenizer, int count, const int ids[count], Sampling sampling, int seed) {
    Generation generation = generation_new(model, config_context(&model->config), sampling, (unsigned long)seed);
    Stream stream = {.file = stdout};
    generation_read(&generation, count, ids);
    fputs(prompt, stdout);
    for (int id; !ends_text(model, tokenizer, id = generation_choose(&generation));) {
        size_t length;
        const char *bytes = tokenizer_bytes(tokenizer, id, &length);
        stream_write(&stream, length, bytes);
        if (generation.decoder.length == generation.decoder.capacity) break;
        generation_read(&generation, 1, &id);
    }
    stream_end(&stream);
    putchar('\n');
    generation_free(&generation);
}

int main(int argc, char **argv) {
    const char *data = chapter_options(argc, argv, "Chapter 11, generation: from scores to a story.");
    Model model = model_open(folder);
    Tokenizer *tokenizer = tokenizer_open(folder);
    const Sampling likeliest = {.repetition_penalty = 1}, usual = {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1};
    size_t count;
    int *ids = encode_with_bos(tokenizer, strlen(prompt), prompt, &count), V = model.config.V;

    Generation step = generation_new(&model, (int)count, likeliest, 1);
    generation_read(&step, (int)count, ids);
    section("After \"%s\"", prompt);
    one_step(tokenizer, V, step.logits, (int)count, ids);
    section("Ten thousand draws");
    many_draws(tokenizer, V, step.logits);
    if (data) write_temperatures(V, step.logits, data);
    section("The likeliest story");
    tell(&model, tokenizer, (int)count, ids, likeliest, 1);
    section("Two others: temperature 0.8, top-p 0.95");
    for (int seed = 1; seed <= 2; seed++) tell(&model, tokenizer, (int)count, ids, usual, seed);
    generation_free(&step), free(ids), tokenizer_close(tokenizer), model_close(&model);
    return 0;
}
