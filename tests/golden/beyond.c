/* How the trained model does past the length of its training: RoPE as it is, and stretched by each scaling of chapter
 * 4.
 *
 *     make ablations          computes tests/golden/beyond.txt anew, from unseen stories
 *
 * The stories stand in a row, up to TEXTS texts of LENGTH tokens each. */
#include "09_decoder/trace.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "tests/golden/examine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 12, LENGTH = 4096, PIECE = 512, BUCKET = 128, SCALINGS = 5 };

static const char *const names[SCALINGS] = {"plain", "linear", "dynamic", "yarn", "llama3"};
static const RopeType types[SCALINGS] = {ROPE_DEFAULT, ROPE_LINEAR, ROPE_DYNAMIC, ROPE_YARN, ROPE_LLAMA3};

/* The same weights, with the angles stretched from the trained length to LENGTH. */
static Model stretched(const Model *model, RopeType type) {
    int trained = model->config.max_position_embeddings;
    Model other = *model;
    other.config.rope = (RopeParameters){.rope_type = type, .rope_theta = model->config.rope.rope_theta,
                                         .factor = (double)LENGTH / trained, .low_freq_factor = 1,
                                         .high_freq_factor = 4, .max_position_embeddings = trained,
                                         .original_max_position_embeddings = trained};
    other.config.max_position_embeddings = LENGTH;
    return other;
}

/* The stories' tokens in one row, each story between BOS and EOS, as in training. */
static int read_stories(const Tokenizer *tokenizer, char *text, int most, int ids[most]) {
    static char *stories[1000];
    int stories_told = cut(text, sizeof stories / sizeof *stories, stories), count = 0;
    for (int i = 0; i < stories_told; i++) {
        size_t T;
        int *story = encode_with_bos(tokenizer, strlen(stories[i]), stories[i], &T);
        for (size_t t = 0; t < T && count < most; t++) ids[count++] = story[t];
        if (count < most) ids[count++] = tokenizer_eos(tokenizer);
        free(story);
    }
    return count;
}

/* -log p of each token but the first, added to `sum`. */
static void add_surprises(const Model *model, const int ids[LENGTH], double sum[LENGTH]) {
    Trace run = trace(model, LENGTH, ids);
    float(*logits)[run.V] = (void *)run.logits;
    for (int t = 0; t + 1 < LENGTH; t++) {
        double total = 0;
        for (int v = 0; v < run.V; v++) total += exp(logits[t][v]);
        sum[t + 1] += log(total) - logits[t][ids[t + 1]];
    }
    trace_free(&run);
}

/* exp of the mean from one position up to another; nothing foresees the first token. */
static double perplexity_between(int first, int end, const double sum[LENGTH]) {
    double mean = 0;
    if (first == 0) first = 1;
    for (int t = first; t < end; t++) mean += sum[t] / TEXTS / (end - first);
    return exp(mean);
}

/* A row a scaling. */
static void print_pieces(double sum[SCALINGS][LENGTH]) {
    Table table = {0};
    char line[256];
    section("Past the trained length");
    int at = snprintf(line, sizeof line, "from position");
    for (int first = 0; first < LENGTH; first += PIECE)
        at += snprintf(line + at, sizeof line - (size_t)at, "|%d", first);
    table_row(&table, "%s", line);
    for (int s = 0; s < SCALINGS; s++) {
        at = snprintf(line, sizeof line, "%s", names[s]);
        for (int first = 0; first < LENGTH; first += PIECE)
            at += snprintf(line + at, sizeof line - (size_t)at, "|%.2f",
                           perplexity_between(first, first + PIECE, sum[s]));
        table_row(&table, "%s", line);
    }
    table_print(&table, stdout);
}

/* A row a bucket, for the figure. */
static void print_buckets(double sum[SCALINGS][LENGTH]) {
    section("Position by position");
    printf("# middle of %d positions", BUCKET);
    for (int s = 0; s < SCALINGS; s++) printf(", %s", names[s]);
    for (int first = 0; first < LENGTH; first += BUCKET) {
        printf("\n%d", first + BUCKET / 2);
        for (int s = 0; s < SCALINGS; s++) printf(" %.3f", perplexity_between(first, first + BUCKET, sum[s]));
    }
    putchar('\n');
}

int main(void) {
    static double sum[SCALINGS][LENGTH];
    Model model = model_open(OUR_MODEL);
    Tokenizer *tokenizer = tokenizer_open(OUR_MODEL);
    size_t length;
    char *text = file_read("-", &length);
    static int ids[TEXTS * LENGTH];
    int count = read_stories(tokenizer, text, TEXTS * LENGTH, ids);
    if (count < TEXTS * LENGTH) fail("the stories have %d tokens; %d texts of %d are asked for", count, TEXTS, LENGTH);
    for (int s = 0; s < SCALINGS; s++) {
        Model other = stretched(&model, types[s]);
        for (int t = 0; t < TEXTS; t++) add_surprises(&other, ids + t * LENGTH, sum[s]);
    }
    printf("How the model of chapter 9, which was trained on texts of %d tokens, foresees the tokens of longer ones: "
           "the perplexity\n"
           "in %d texts of %d tokens, unseen stories in a row. `make ablations` computes this page anew.\n",
           model.config.max_position_embeddings, TEXTS, LENGTH);
    print_pieces(sum);
    print_buckets(sum);
    free(text), tokenizer_close(tokenizer), model_close(&model);
    return 0;
}
