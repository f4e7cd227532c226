/* What a model of the stories knows, as the rows of its card. make train ends with it:
 *
 *     build/stories --count 1000 --seed 2 | build/model_card build/stories MODEL
 *
 * The stories are unseen ones. Each question is asked by itself, right after its story;
 * build/stories judges. */
#include "09_decoder/trace.h"
#include "12_speed/fast_kernels.h"
#include "common/error.h"
#include "tests/studies/eval_questions.h"
#include "tests/studies/eval_stories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 6 };

/* How a question begins, and one of its kind. The first that fits is its kind. */
static const struct {
    const char *begins, *example;
} kinds[KINDS] = {
    {"Who has ", "Who has the red ball?"},
    {"Where is the ", "Where is the red ball?"},
    {"Who found ", "Who found the red ball?"},
    {"What colour ", "What colour is the ball?"},
    {"Who is ", "Who is Anna?"},
    {"Where is ", "Where is Anna?"},
};

static int kind_of(const char *text) {
    const char *question = strstr(text, "Question: ") + strlen("Question: ");
    for (int kind = 0; kind < KINDS; kind++)
        if (strncmp(question, kinds[kind].begins, strlen(kinds[kind].begins)) == 0) return kind;
    fail("\"%s\" is a question of no kind", question);
}

/* -log p of all tokens of a story, its end too, is added to *sum. */
static void add_surprises(const Study *study, const char *story, double *sum, int *tokens) {
    size_t T;
    int *ids = encode_with_bos(study->tokenizer, strlen(story), story, &T);
    HiddenStates run = record_hidden_states(&study->model, &fast_kernels, (int)T, ids);
    float(*logits)[run.V] = (void *)run.logits;
    for (size_t t = 0; t < T; t++)
        *sum -= log_probability(run.V, logits[t],
                                t + 1 < T ? ids[t + 1] : tokenizer_eos(study->tokenizer));
    *tokens += (int)T;
    hidden_states_free(&run);
    free(ids);
}

/* Texts that are made side by side, one behind the other. */
static char *joined(int count, char *const texts[count]) {
    char *all;
    size_t length;
    FILE *file = open_memstream(&all, &length);
    for (int i = 0; i < count; i++) {
        fputs(texts[i], file);
        free(texts[i]);
    }
    fclose(file);
    return all;
}

/* Every story's questions with the model's most probable answers. */
static char *answers(const Study *study) {
    char *texts[MOST_STORIES];
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < study->count; i++) {
        size_t length;
        Random random = {0};
        FILE *file = open_memstream(&texts[i], &length);
        answer_all(&study->model, study->tokenizer, study->stories[i],
                   (SamplingParams){.top_p = 1, .repetition_penalty = 1}, &random, file);
        fclose(file);
    }
    return joined(study->count, texts);
}

/* As many stories of its own: each has its own dice. */
static char *tellings(const Study *study) {
    char *texts[MOST_STORIES];
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < study->count; i++) {
        Random random = {(unsigned long)i};
        SamplingParams sampling = {.temperature = 1, .top_p = 1, .repetition_penalty = 1};
        char *story = said_after(&study->model, study->tokenizer, "", STORY, sampling, &random);
        if (asprintf(&texts[i], "%s\n\n", story) < 0) fail("out of memory");
        free(story);
    }
    return joined(study->count, texts);
}

static void print_answers(const char *judges, char *text) {
    enum { MOST = 16 * MOST_STORIES };
    static char *asked[MOST];
    char *of_kind[KINDS];
    FILE *files[KINDS];
    size_t lengths[KINDS];
    Verdict all = judge_stories(judges, text);
    printf("| questions about these stories answered rightly, greedily | %d of %d (%.1f %%) |\n",
           all.right, all.asked, 100.0 * all.right / all.asked);
    int count = cut(text, MOST, asked);
    for (int kind = 0; kind < KINDS; kind++)
        files[kind] = open_memstream(&of_kind[kind], &lengths[kind]);
    for (int i = 0; i < count; i++) fprintf(files[kind_of(asked[i])], "%s\n\n", asked[i]);
    for (int kind = 0; kind < KINDS; kind++) {
        fclose(files[kind]);
        Verdict verdict = *of_kind[kind] ? judge_stories(judges, of_kind[kind]) : (Verdict){0};
        printf("| … %s | %d of %d |\n", kinds[kind].example, verdict.right, verdict.asked);
        free(of_kind[kind]);
    }
}

int main(int argc, char **argv) {
    double sum = 0;
    int tokens = 0;
    if (argc != 3) fail("the program is needed that judges stories, and the model's folder");
    Study study = study_open(argv[2]);
#pragma omp parallel for reduction(+ : sum, tokens)
    for (int i = 0; i < study.count; i++) add_surprises(&study, study.stories[i], &sum, &tokens);
    printf("| perplexity of a token, %d unseen stories | %.3f |\n", study.count, exp(sum / tokens));
    char *text = answers(&study);
    print_answers(argv[1], text);
    free(text);
    text = tellings(&study);
    Verdict told = judge_stories(argv[1], text);
    printf("| stories that it writes itself (temperature 1) whose facts are consistent | %d of %d "
           "(%.1f %%) |\n"
           "| questions that it asks itself about those, and answers rightly | %d of %d |\n",
           told.consistent, told.told, 100.0 * told.consistent / told.told, told.right, told.asked);
    free(text);
    study_close(&study);
    return 0;
}
