/* What each way of choosing a token does to what the trained model says: it answers questions about unseen stories, and
 * tells stories of its own; the program that wrote its training stories judges both.
 *
 *     make ablations          computes tests/golden/choices.txt anew, from unseen stories
 *
 * Where a choice is drawn there is one set of dice for each row, and the same in every run. */
#include "11_generation/generation.h"
#include "common/console.h"
#include "common/error.h"
#include "tests/golden/examine.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    Sampling sampling;
} ways[] = {
    {"the likeliest", {.temperature = 0, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.5", {.temperature = 0.5f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.8", {.temperature = 0.8f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1", {.temperature = 1, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1.5", {.temperature = 1.5f, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 2", {.temperature = 2, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 0.8, top-p 0.95", {.temperature = 0.8f, .top_p = 0.95f, .repetition_penalty = 1}},
    {"temperature 1, top-k 5", {.temperature = 1, .top_k = 5, .top_p = 1, .repetition_penalty = 1}},
    {"temperature 1, top-p 0.9", {.temperature = 1, .top_p = 0.9f, .repetition_penalty = 1}},
    {"temperature 1, min-p 0.1", {.temperature = 1, .top_p = 1, .min_p = 0.1f, .repetition_penalty = 1}},
    {"temperature 2, top-p 0.9", {.temperature = 2, .top_p = 0.9f, .repetition_penalty = 1}},
    {"temperature 2, min-p 0.1", {.temperature = 2, .top_p = 1, .min_p = 0.1f, .repetition_penalty = 1}},
    {"the likeliest, penalty 1.1", {.temperature = 0, .top_p = 1, .repetition_penalty = 1.1f}},
    {"the likeliest, penalty 1.3", {.temperature = 0, .top_p = 1, .repetition_penalty = 1.3f}},
    {"the likeliest, penalty 2", {.temperature = 0, .top_p = 1, .repetition_penalty = 2}},
};

enum { WAYS = sizeof ways / sizeof *ways, TOLD = 300, ASKED = 100, STORY = 500, ANSWER = 16 };

typedef struct {
    int answers, questions; /* right, of so many */
    int sentence; /* how often, of so many times, its question is answered rightly */
    int consistent, told, different;
} Result;

/* How the model goes on after a prompt: the bytes of so many tokens at most, up to its own end. The caller frees. */
static char *said_after(const Model *model, const Tokenizer *tokenizer, const char *prompt, int most, Sampling sampling,
                        Random *random) {
    char *text;
    size_t length, count;
    Stream stream = {.file = open_memstream(&text, &length), .skip_space = *prompt == '\0'};
    int *ids = encode_with_bos(tokenizer, strlen(prompt), prompt, &count);
    Generation g = generation_new(model, (int)count + most, sampling, random_bits(random));
    generation_read(&g, (int)count, ids);
    generation_write(&g, tokenizer, &stream, most);
    stream_end(&stream);
    fclose(stream.file);
    generation_free(&g), free(ids);
    return text;
}

/* What the judge says of stories: how many are consistent, and how many answers are right. */
static void judge(const char *program, const char *stories, int *consistent, int *right, int *questions) {
    char path[] = "/tmp/choices-XXXXXX", *command, line[4096];
    int told, file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out || fputs(stories, out) < 0 || fclose(out) != 0) fail("%s: it cannot be written", path);
    if (asprintf(&command, "'%s' --check %s", program, path) < 0) fail("out of memory");
    FILE *pipe = popen(command, "r");
    bool found = false;
    while (fgets(line, sizeof line, pipe))
        found |= sscanf(line, "%d of %d stories are consistent, %d of %d", consistent, &told, right, questions) == 4;
    if (pclose(pipe) != 0 || !found) fail("%s: it judges nothing", program);
    unlink(path), free(command);
}

/* Each question of a story by itself, right after the story; the answer's first line is written behind it. */
static void answer_all(const Model *model, const Tokenizer *tokenizer, const char *story, Sampling sampling,
                       Random *random, FILE *file) {
    int line = (int)strcspn(story, "\n");
    for (const char *question = story + line; (question = strstr(question, "Question:")); question++) {
        int asked = (int)(strstr(question, "Answer:") + strlen("Answer:") - question);
        char prompt[2048];
        snprintf(prompt, sizeof prompt, "%.*s\n%.*s", line, story, asked, question);
        char *answer = said_after(model, tokenizer, prompt, ANSWER, sampling, random);
        fprintf(file, "%s%.*s\n\n", prompt, (int)strcspn(answer, "\n"), answer);
        free(answer);
    }
}

static Result examine(const Model *model, const Tokenizer *tokenizer, const char *program, int count,
                      char *stories[count], const Sentence *sentence, Sampling sampling) {
    Result result = {0};
    char *answers, *told, *all[TOLD];
    size_t length;
    int consistent, right, questions;
    result.told = sampling.temperature == 0 ? 1 : TOLD; /* without dice they are all one story */
    Random random = {11};
    FILE *file = open_memstream(&answers, &length);
    for (int i = 0; i < count; i++) answer_all(model, tokenizer, stories[i], sampling, &random, file);
    fclose(file);
    judge(program, answers, &consistent, &result.answers, &result.questions);

    file = open_memstream(&told, &length);
    for (int i = 0; i < result.told; i++) {
        int same = 0;
        all[i] = said_after(model, tokenizer, "", STORY, sampling, &random);
        fprintf(file, "%s\n\n", all[i]);
        while (strcmp(all[i], all[same]) != 0) same++;
        result.different += same == i;
    }
    fclose(file);
    judge(program, told, &result.consistent, &right, &questions);
    for (int i = 0; i < result.told; i++) free(all[i]);

    const char *question = safetensors_metadata(&sentence->file, "story");
    const char *answer = safetensors_metadata(&sentence->file, "answer");
    for (int i = 0; i < ASKED; i++) {
        char *said = said_after(model, tokenizer, question, ANSWER, sampling, &random);
        result.sentence += strncmp(said + (*said == ' '), answer, strlen(answer)) == 0;
        free(said);
    }
    free(answers), free(told);
    return result;
}

int main(int argc, char **argv) {
    static Result results[WAYS];
    if (argc != 2) fail("the program is needed that judges stories");
    Study study = study_open();
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < WAYS; i++)
        results[i] = examine(&study.model, study.tokenizer, argv[1], study.count, study.stories, &study.sentence, ways[i].sampling);

    printf("What each way of choosing the next token does to what the model of chapter 9 says. `make ablations`\n"
           "computes this page anew.\n\n"
           "answers      of %d questions about %d unseen stories, each asked by itself: those answered rightly\n"
           "red ball     the sentence's question is asked %d times: \"%s\"\n"
           "consistent   of %d stories that the model tells by itself, those in which nothing happens that cannot\n"
           "different    how many different stories there are among these\n",
           results[0].questions, study.count, ASKED, safetensors_metadata(&study.sentence.file, "answer"), TOLD);
    section("Choosing");
    Table table = {0};
    table_row(&table, "how a token is chosen|answers|red ball|consistent|different");
    for (int i = 0; i < WAYS; i++) {
        const Result *r = &results[i];
        table_row(&table, "%s|%.0f %%|%.0f %%|%.0f %%|%d", ways[i].name, 100.0 * r->answers / r->questions,
                  100.0 * r->sentence / ASKED, 100.0 * r->consistent / r->told, r->different);
    }
    table_print(&table, stdout);
    study_close(&study);
    return 0;
}
