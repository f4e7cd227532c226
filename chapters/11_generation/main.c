/* Chapter 11: generation. The answer to the sentence, token by token; the probabilities of the next
 * token after its story, ten thousand samples from them, and what temperature and each filter make
 * of them; and whole stories. The program to use is build/llama. */
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "common/options.h"
#include "common/sentence.h"
#include "common/timer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = ROOT "/common/stories/model";
static const SamplingParams greedy = {.repetition_penalty = 1};
static Model model;
static Tokenizer *tokenizer;

typedef struct {
    int token;
    double probability;
} Chance; /* a token that can be sampled */

static int by_probability(const void *a, const void *b) {
    const Chance *x = a, *y = b;
    if (x->probability != y->probability) return x->probability < y->probability ? 1 : -1;
    return x->token - y->token;
}

/* softmax of the logits, the most likely token first. Returns how many tokens are not ruled out. */
static int chances(int V, const float logits[V], Chance out[V]) {
    double sum = 0;
    int count = 0;
    for (int v = 0; v < V; v++) sum += exp(logits[v]);
    for (int v = 0; v < V; v++)
        if (logits[v] > -INFINITY) out[count++] = (Chance){v, exp(logits[v]) / sum};
    qsort(out, (size_t)count, sizeof *out, by_probability);
    return count;
}

typedef struct {
    char text[64];
} Name;

/* The text of a token, without the space before a word; its piece, if it has none, as <s>, or ends
 * a line. */
static Name name(int token) {
    Name name;
    size_t length;
    const char *bytes = tokenizer_bytes(tokenizer, token, &length);
    if (length == 0 || *bytes == '\n') bytes = tokenizer_piece(tokenizer, token, &length);
    size_t space = length > 1 && *bytes == ' ';
    snprintf(name.text, sizeof name.text, "%.*s", (int)(length - space), bytes + space);
    return name;
}

/* A generation whose prompt, BOS and a text, has been processed. */
static Generation after(const char *text, SamplingParams sampling, unsigned long seed) {
    size_t count;
    int *ids = encode_with_bos(tokenizer, strlen(text), text, &count);
    Generation generation =
        generation_new(&model, &reference_kernels, config_context(&model.config), sampling, seed);
    prefill(&generation, (int)count, ids);
    free(ids);
    return generation;
}

/* ---- the sentence */

static void the_answer(const char *story) {
    Chance all[model.config.V];
    Generation g = after(story, greedy, 0);
    Name last = {":"};
    Table table = {0};
    section("The answer, token by token");
    table_row(&table, "last token|<next token|probability|<second best|probability");
    while (strcmp(last.text, ".") != 0) {
        chances(model.config.V, g.logits, all);
        int id = sample_next(&g);
        table_row(&table, "%s|%s|%.3f|%s|%.3f", last.text, name(id).text, all[0].probability,
                  name(all[1].token).text, all[1].probability);
        prefill(&g, 1, &id);
        last = name(id);
    }
    table_print(&table, stdout);
    generation_free(&g);
}

/* ---- one step */

static void what_comes_next(int V, const float logits[V]) {
    Chance all[V];
    double up_to_here = 0;
    chances(V, logits, all);
    section("The most likely next tokens");
    Table table = {0};
    table_row(&table, "token|logit|probability|cumulative");
    for (int i = 0; i < 9; i++) {
        up_to_here += all[i].probability;
        table_row(&table, "%s|%.2f|%.3f|%.3f", name(all[i].token).text, logits[all[i].token],
                  all[i].probability, up_to_here);
    }
    table_print(&table, stdout);
}

static void many_draws(int V, const float logits[V]) {
    enum { DRAWS = 10000 };
    Chance all[V];
    int drawn[V];
    Random random = {11};
    memset(drawn, 0, sizeof drawn);
    chances(V, logits, all);
    for (int i = 0; i < DRAWS; i++) drawn[multinomial(V, logits, random_uniform(&random))]++;
    section("Ten thousand samples");
    Table table = {0};
    table_row(&table, "token|sampled|expected|standard deviation");
    for (int i = 0; i < 5; i++) {
        double p = all[i].probability;
        table_row(&table, "%s|%d|%.0f|%.0f", name(all[i].token).text, drawn[all[i].token],
                  DRAWS * p, sqrt(DRAWS * p * (1 - p)));
    }
    table_print(&table, stdout);
}

/* The words that can begin a sentence after a girl has acted: each is one token. */
static const char beginnings[] =
    "Anna Ben Carl Clara Daisy Emma Felix Hugo Ida Jack Leo Lucy Max Mia Nora Oscar Ruby Sam Tom "
    "Zoe She There Then After Not One In It And A \"";
static void temperatures(int V, const float logits[V]) {
    enum { SHOWN = 5 };
    static const float Ts[] = {0.5f, 1, 2};
    Chance all[V];
    float reshaped[V];
    bool good[V];
    size_t count;
    int *ids = tokenizer_encode(tokenizer, strlen(beginnings), beginnings, false, &count);
    memset(good, 0, sizeof good);
    for (size_t i = 0; i < count; i++) good[ids[i]] = true;
    free(ids);
    chances(V, logits, all);
    section("Temperature");
    Table table = {0};
    table_row(&table, "T|%s|%s|%s|%s|%s|%d more valid|%d invalid", name(all[0].token).text,
              name(all[1].token).text, name(all[2].token).text, name(all[3].token).text,
              name(all[4].token).text, (int)count - SHOWN, V - (int)count);
    for (size_t k = 0; k < sizeof Ts / sizeof *Ts; k++) {
        double others = 0, rest = 0;
        temperature(V, reshaped, logits, Ts[k]);
        chances(V, reshaped, all);
        for (int i = SHOWN; i < V; i++)
            *(good[all[i].token] ? &others : &rest) += all[i].probability;
        table_row(&table, "%g|%.3f|%.3f|%.3f|%.3f|%.3f|%.3f|%.3f", Ts[k], all[0].probability,
                  all[1].probability, all[2].probability, all[3].probability, all[4].probability,
                  others, rest);
    }
    table_print(&table, stdout);
}

/* Counts the tokens that each filter keeps at a temperature. */
static void cuts_row(Table *table, const char *where, int V, const float logits[V], float T) {
    float hot[V], out[V];
    Chance all[V];
    int kept[3];
    temperature(V, hot, logits, T);
    top_k(V, out, hot, 5);
    kept[0] = chances(V, out, all);
    top_p(V, out, hot, 0.9f);
    kept[1] = chances(V, out, all);
    min_p(V, out, hot, 0.1f);
    kept[2] = chances(V, out, all);
    chances(V, hot, all);
    table_row(table, "%s|%g|%.3f|%d|%d|%d", where, T, all[0].probability, kept[0], kept[1],
              kept[2]);
}

/* ---- whole stories */

static void tell(const char *beginning, const char *const *ends, SamplingParams sampling,
                 unsigned long seed) {
    Generation g = after(beginning, sampling, seed);
    Stream stream = {.file = stdout, .ends = ends}; /* NULL: to the story's own */
    fputs(beginning, stdout);
    generate(&g, tokenizer, &stream, 256);
    stream_end(&stream);
    putchar('\n');
    generation_free(&g);
}

int main(int argc, char **argv) {
    no_options(argc, argv, "Chapter 11, generation: from logits to a text.");
    use_threads(1); /* for so small a model, threads cost more than they save */
    Sentence sentence = sentence_open();
    const char *story = safetensors_metadata(&sentence.file, "story");
    char *line = xstrndup(story, strcspn(story, "\n"));
    model = model_open(folder);
    tokenizer = tokenizer_open(folder);
    Generation question = after(story, greedy, 0), next = after(line, greedy, 0);
    int V = model.config.V;

    the_answer(story);
    what_comes_next(V, next.logits);
    many_draws(V, next.logits);
    temperatures(V, next.logits);
    section("Top-k, top-p and min-p");
    Table table = {0};
    table_row(&table, "after|T|largest probability|top-k 5|top-p 0.9|min-p 0.1");
    cuts_row(&table, "the question", V, question.logits, 1);
    cuts_row(&table, "the story", V, next.logits, 1);
    cuts_row(&table, "the story", V, next.logits, 2);
    table_print(&table, stdout);
    section("The greedy story");
    tell("Once upon a time", (const char *const[]){"\n", NULL}, greedy, 0);
    section("A sampled story: temperature 0.8, top-p 0.95");
    tell("Once upon a time", NULL,
         (SamplingParams){.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}, 10);

    generation_free(&question);
    generation_free(&next);
    free(line);
    tokenizer_close(tokenizer);
    model_close(&model);
    sentence_close(&sentence);
}
