/* How the trained model does past the length of its training: RoPE as it is, and stretched by each
 * scaling of chapter 4.
 *
 *     make ablations          computes tests/studies/extrapolation.txt anew, from unseen stories
 *
 * The stories stand in a row: TEXTS texts of LENGTH tokens each. */
#include "09_decoder/trace.h"
#include "10_tokenizer/tokenizer.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "tests/studies/eval_questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 12, LENGTH = 4096, PIECE = 512, BUCKET = 128, SCALINGS = 5 };

static const char *const names[SCALINGS] = {"plain", "linear", "dynamic", "yarn", "llama3"};
static const RopeType types[SCALINGS] = {ROPE_DEFAULT, ROPE_LINEAR, ROPE_DYNAMIC, ROPE_YARN,
                                         ROPE_LLAMA3};

/* Of all texts' tokens at a position: the sum of -log p, and how many there are. */
typedef struct {
    double sum[LENGTH];
    int counted[LENGTH];
} Surprise;

/* The same weights, with the angles stretched from the trained length to LENGTH. */
static Model stretched(const Model *model, RopeType type) {
    int trained = model->config.max_position_embeddings;
    Model other = *model;
    other.config.rope = (RopeParameters){.rope_type = type,
                                         .rope_theta = model->config.rope.rope_theta,
                                         .factor = (double)LENGTH / trained,
                                         .low_freq_factor = 1,
                                         .high_freq_factor = 4,
                                         .max_position_embeddings = trained,
                                         .original_max_position_embeddings = trained};
    other.config.max_position_embeddings = LENGTH;
    return other;
}

/* As many stories as fill a text, from the n-th on, each between BOS and EOS; returns which one is
 * the next. */
static int write_text(const Tokenizer *tokenizer, int n, char *stories[], int told,
                      int ids[LENGTH]) {
    for (int count = 0; count < LENGTH; n++) {
        size_t T;
        if (n == told)
            fail("%d stories are too few for %d texts of %d tokens", told, TEXTS, LENGTH);
        int *story = encode_with_bos(tokenizer, strlen(stories[n]), stories[n], &T);
        for (size_t t = 0; t < T && count < LENGTH; t++) ids[count++] = story[t];
        if (count < LENGTH) ids[count++] = tokenizer_eos(tokenizer);
        free(story);
    }
    return n;
}

/* -log p of each token is added, but of no story's BOS: behind the end of one the model never
 * learned what comes. */
static void add_surprises(const Model *model, int bos, const int ids[LENGTH], Surprise *surprise) {
    HiddenStates run = record_hidden_states(model, &fast_kernels, LENGTH, ids);
    float(*logits)[run.V] = (void *)run.logits;
    for (int t = 1; t < LENGTH; t++)
        if (ids[t] != bos) {
            surprise->sum[t] -= log_probability(run.V, logits[t - 1], ids[t]);
            surprise->counted[t]++;
        }
    hidden_states_free(&run);
}

/* exp of the mean from one position up to another. */
static double perplexity_between(int first, int end, const Surprise *surprise) {
    double sum = 0, counted = 0;
    for (int t = first; t < end; t++) {
        sum += surprise->sum[t];
        counted += surprise->counted[t];
    }
    return exp(sum / counted);
}

/* A row a scaling. */
static void print_by_position(const Surprise surprises[SCALINGS]) {
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
                           perplexity_between(first, first + PIECE, &surprises[s]));
        table_row(&table, "%s", line);
    }
    table_print(&table, stdout);
}

/* A row a bucket, for the figure. */
static void print_buckets(const Surprise surprises[SCALINGS]) {
    section("Position by position");
    printf("# middle of %d positions", BUCKET);
    for (int s = 0; s < SCALINGS; s++) printf(", %s", names[s]);
    for (int first = 0; first < LENGTH; first += BUCKET) {
        printf("\n%d", first + BUCKET / 2);
        for (int s = 0; s < SCALINGS; s++)
            printf(" %.3f", perplexity_between(first, first + BUCKET, &surprises[s]));
    }
    putchar('\n');
}

int main(void) {
    static Surprise surprises[SCALINGS];
    static char *stories[MOST_STORIES];
    static int ids[TEXTS][LENGTH];
    Model model = model_open(OUR_MODEL);
    Tokenizer *tokenizer = tokenizer_open(OUR_MODEL);
    size_t length;
    char *text = file_read("-", &length);
    int told = cut(text, MOST_STORIES, stories), next = 0;
    for (int i = 0; i < TEXTS; i++) next = write_text(tokenizer, next, stories, told, ids[i]);
    for (int s = 0; s < SCALINGS; s++) {
        Model other = stretched(&model, types[s]);
        for (int i = 0; i < TEXTS; i++)
            add_surprises(&other, tokenizer_bos(tokenizer), ids[i], &surprises[s]);
    }
    printf("How the model of chapter 9, which was trained on texts of %d tokens, foresees the "
           "tokens of longer ones: the perplexity\n"
           "in %d texts of %d tokens, unseen stories in a row. `make ablations` computes this page "
           "anew.\n",
           model.config.max_position_embeddings, TEXTS, LENGTH);
    print_by_position(surprises);
    print_buckets(surprises);
    free(text);
    tokenizer_close(tokenizer);
    model_close(&model);
    return 0;
}
