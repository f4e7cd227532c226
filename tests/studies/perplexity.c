/* What a perplexity says, and what it does not: the trained model of chapter 9 judges unseen
 * stories and texts of its own, in windows of several lengths, what is said twice, and logits that
 * BF16 can hold.
 *
 *     make ablations          computes tests/studies/perplexity.txt anew, from unseen stories */
#include "09_decoder/trace.h"
#include "12_speed/fast_kernels.h"
#include "common/console.h"
#include "common/error.h"
#include "tests/studies/eval_questions.h"
#include "tests/studies/eval_stories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 100, TIMES = 8, WINDOW = 512 };

static void no_progress(size_t, size_t, double) {}

/* -log p of a text's tokens is added to *sum, and their number to *count. */
static void add_text(const Study *study, const char *text, int window, double *sum, double *count) {
    size_t n;
    int *ids = encode_with_bos(study->tokenizer, strlen(text), text, &n);
    if (n > 1)
        *sum += log(perplexity(&study->model, &fast_kernels, ids[0], n - 1, ids + 1, window,
                               no_progress)) *
                (double)(n - 1);
    *count += (double)n - 1;
    free(ids);
}

static double of_unseen(const Study *study, int window) {
    double sum = 0, count = 0;
    for (int i = 0; i < study->count; i++) add_text(study, study->stories[i], window, &sum, &count);
    return exp(sum / count);
}

/* Of stories that it tells itself at a temperature: the perplexity that it gives them. */
static double of_its_own(const Study *study, float temperature) {
    SamplingParams sampling = {.temperature = temperature, .top_p = 1, .repetition_penalty = 1};
    Random random = {11};
    double sum = 0, count = 0;
    for (int i = 0; i < (temperature > 0 ? TEXTS : 1); i++) {
        char *told = said_after(&study->model, study->tokenizer, "", STORY, sampling, &random);
        add_text(study, told, WINDOW, &sum, &count);
        free(told);
    }
    return exp(sum / count);
}

/* The first sentence of each story, TIMES times in a row: -log p of each time's tokens, and how
 * many they are. */
static void say_again(const Study *study, double sum[TIMES], double count[TIMES]) {
    int V = study->model.config.V;
    for (int i = 0; i < study->count; i++) {
        const char *story = study->stories[i];
        size_t first = strcspn(story, ".") + 1, n, tokens;
        char *text = calloc(TIMES, first + 2);
        for (int time = 0; time < TIMES; time++) {
            strncat(text, story, first);
            strcat(text, time + 1 < TIMES ? " " : "");
        }
        int *one = encode_with_bos(study->tokenizer, first, text, &tokens);
        int *ids = encode_with_bos(study->tokenizer, strlen(text), text, &n);
        if (n != 1 + (tokens - 1) * TIMES) fail("\"%s\" has not as many tokens each time", text);
        HiddenStates run = record_hidden_states(&study->model, &fast_kernels, (int)n, ids);
        const float(*logits)[V] = (const void *)run.logits;
        for (size_t t = 1; t < n; t++) {
            sum[(t - 1) / (tokens - 1)] -= log_probability(V, logits[t - 1], ids[t]);
            count[(t - 1) / (tokens - 1)]++;
        }
        hidden_states_free(&run);
        free(text);
        free(one);
        free(ids);
    }
}

typedef struct {
    int positions, ties, other; /* the largest logit is there twice in BF16; and the first of them
                                   is another token */
} Rounded;

static int largest(int V, const float logits[V]) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

static void round_logits(const Study *study, const char *story, Rounded *rounded) {
    int V = study->model.config.V;
    size_t n;
    int *ids = encode_with_bos(study->tokenizer, strlen(story), story, &n);
    HiddenStates run = record_hidden_states(&study->model, &fast_kernels, (int)n, ids);
    float(*logits)[V] = (void *)run.logits;
    for (size_t t = 0; t < n; t++) {
        int before = largest(V, logits[t]), ties = 0;
        bf16_round(V, logits[t]);
        int after = largest(V, logits[t]);
        for (int v = 0; v < V; v++) ties += logits[t][v] == logits[t][after];
        rounded->positions++;
        rounded->ties += ties > 1;
        rounded->other += after != before;
    }
    hidden_states_free(&run);
    free(ids);
}

int main(void) {
    static const float temperatures[] = {0, 0.5f, 0.8f, 1, 1.5f, 2};
    static const int windows[] = {512, 128, 32, 8};
    Study study = study_open(OUR_MODEL);
    Table own = {0}, cut = {0}, again = {0}, bf16s = {0};

    printf("What the perplexity that the model of chapter 9 gives a text depends on: of %d unseen "
           "stories, with their\n"
           "questions; and of %d stories that it tells itself. `make ablations` computes this page "
           "anew.\n",
           study.count, TEXTS);
    section("Its own stories");
    table_row(&own, "whose stories|perplexity");
    table_row(&own, "unseen ones|%.2f", of_unseen(&study, WINDOW));
    for (size_t i = 0; i < sizeof temperatures / sizeof *temperatures; i++)
        table_row(&own, "its own, temperature %g|%.2f", (double)temperatures[i],
                  of_its_own(&study, temperatures[i]));
    table_print(&own, stdout);

    section("The same stories in smaller windows");
    table_row(&cut, "positions in a window|perplexity");
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        table_row(&cut, "%d|%.2f", windows[i], of_unseen(&study, windows[i]));
    table_print(&cut, stdout);

    double sum[TIMES] = {0}, count[TIMES] = {0};
    say_again(&study, sum, count);
    section("A story's first sentence, again and again");
    table_row(&again, "time|perplexity");
    for (int i = 0; i < TIMES; i++) table_row(&again, "%d|%.2f", i + 1, exp(sum[i] / count[i]));
    table_print(&again, stdout);

    Rounded rounded = {0};
    for (int i = 0; i < study.count; i++) round_logits(&study, study.stories[i], &rounded);
    section("Logits rounded to BF16");
    table_row(&bf16s,
              "positions|the largest logit is there twice|the first of them is another token");
    table_row(&bf16s, "%d|%d|%d", rounded.positions, rounded.ties, rounded.other);
    table_print(&bf16s, stdout);
    study_close(&study);
    return 0;
}
