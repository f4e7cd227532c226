/* What each way of choosing a token does to what the trained model says: it answers questions about
 * unseen stories, and tells stories of its own; the program that wrote its training stories judges
 * both.
 *
 *     make ablations          computes tests/studies/sampling.txt anew, from unseen stories
 *
 * Where a choice is drawn there is one set of dice for each row, and the same in every run. */
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "tests/studies/eval_questions.h"
#include "tests/studies/eval_stories.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    SamplingParams sampling;
} ways[] = {
    {"greedy", {.temperature = 0, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.5", {.temperature = 0.5f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.8", {.temperature = 0.8f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1", {.temperature = 1, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1.5", {.temperature = 1.5f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 2", {.temperature = 2, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.8, top-p 0.95", {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}},
    {"temperature 1, top-k 5", {.temperature = 1, .top_k = 5, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1, top-p 0.9", {.temperature = 1, .top_p = 0.9f, .repetition_penalty = 1}},
    {"temperature 1, min-p 0.1",
     {.temperature = 1, .top_p = 1, .min_p = 0.1f, .repetition_penalty = 1}},
    {"temperature 2, top-p 0.9", {.temperature = 2, .top_p = 0.9f, .repetition_penalty = 1}},
    {"temperature 2, min-p 0.1",
     {.temperature = 2, .top_p = 1, .min_p = 0.1f, .repetition_penalty = 1}},
    {"greedy, penalty 1.1", {.temperature = 0, .top_p = 1, .repetition_penalty = 1.1f}},
    {"greedy, penalty 1.3", {.temperature = 0, .top_p = 1, .repetition_penalty = 1.3f}},
    {"greedy, penalty 2", {.temperature = 0, .top_p = 1, .repetition_penalty = 2}},
};

enum { WAYS = sizeof ways / sizeof *ways, TOLD = 300, ASKED = 100 };

typedef struct {
    Verdict answers, stories;
    int sentence; /* how often, of so many times, its question is answered rightly */
    int different;
} Result;

static Result examine(const Model *model, const Tokenizer *tokenizer, const char *program,
                      int count, char *stories[count], const Sentence *sentence,
                      SamplingParams sampling) {
    Result result = {0};
    char *answers, *told, *all[TOLD];
    size_t length;
    int tellings = sampling.temperature == 0 ? 1 : TOLD; /* without dice they are all one story */
    Random random = {11};
    FILE *file = open_memstream(&answers, &length);
    for (int i = 0; i < count; i++)
        answer_all(model, tokenizer, stories[i], sampling, &random, file);
    fclose(file);
    result.answers = judge_stories(program, answers);

    file = open_memstream(&told, &length);
    for (int i = 0; i < tellings; i++) {
        int same = 0;
        all[i] = said_after(model, tokenizer, "", STORY, sampling, &random);
        fprintf(file, "%s\n\n", all[i]);
        while (strcmp(all[i], all[same]) != 0) same++;
        result.different += same == i;
    }
    fclose(file);
    result.stories = judge_stories(program, told);
    for (int i = 0; i < tellings; i++) free(all[i]);

    const char *question = safetensors_metadata(&sentence->file, "story");
    const char *answer = safetensors_metadata(&sentence->file, "answer");
    for (int i = 0; i < ASKED; i++) {
        char *said = said_after(model, tokenizer, question, ANSWER, sampling, &random);
        result.sentence += strncmp(said + (*said == ' '), answer, strlen(answer)) == 0;
        free(said);
    }
    free(answers);
    free(told);
    return result;
}

int main(int argc, char **argv) {
    static Result results[WAYS];
    if (argc != 2) fail("the program is needed that judges stories");
    Study study = study_open(OUR_MODEL);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < WAYS; i++)
        results[i] = examine(&study.model, study.tokenizer, argv[1], study.count, study.stories,
                             &study.sentence, ways[i].sampling);

    printf("What each way of choosing the next token does to what the model of chapter 9 says. "
           "`make ablations`\n"
           "computes this page anew.\n\n"
           "answers      of %d questions about %d unseen stories, each asked by itself: those "
           "answered rightly\n"
           "red ball     the sentence's question is asked %d times: \"%s\"\n"
           "consistent   of %d stories that the model tells by itself, those in which nothing "
           "happens that cannot\n"
           "different    how many different stories there are among these\n",
           results[0].answers.asked, study.count, ASKED,
           safetensors_metadata(&study.sentence.file, "answer"), TOLD);
    section("Choosing");
    Table table = {0};
    table_row(&table, "how a token is chosen|answers|red ball|consistent|different");
    for (int i = 0; i < WAYS; i++) {
        const Result *r = &results[i];
        table_row(&table, "%s|%.0f %%|%.0f %%|%.0f %%|%d", ways[i].name,
                  100.0 * r->answers.right / r->answers.asked, 100.0 * r->sentence / ASKED,
                  100.0 * r->stories.consistent / r->stories.told, r->different);
    }
    table_print(&table, stdout);
    study_close(&study);
    return 0;
}
