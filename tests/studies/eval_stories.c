#include "12_speed/fast_kernels.h"
#include "tests/studies/eval_stories.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *said_after(const Model *model, const Tokenizer *tokenizer, const char *prompt, int most,
                 SamplingParams sampling, Random *random) {
    char *text;
    size_t length, count;
    Stream stream = {.file = open_memstream(&text, &length), .skip_space = *prompt == '\0'};
    int *ids = encode_with_bos(tokenizer, strlen(prompt), prompt, &count);
    Generation g =
        generation_new(model, &fast_kernels, (int)count + most, sampling, random_bits(random));
    prefill(&g, (int)count, ids);
    generate(&g, tokenizer, &stream, most);
    stream_end(&stream);
    fclose(stream.file);
    generation_free(&g);
    free(ids);
    return text;
}

Verdict judge_stories(const char *program, const char *stories) {
    char path[] = "/tmp/judged-XXXXXX", *command, line[4096];
    Verdict verdict;
    int file = mkstemp(path);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out || fputs(stories, out) < 0 || fclose(out) != 0) fail("%s: it cannot be written", path);
    if (asprintf(&command, "'%s' --check %s", program, path) < 0) fail("out of memory");
    FILE *pipe = popen(command, "r");
    bool found = false;
    while (fgets(line, sizeof line, pipe))
        found |= sscanf(line, "%d of %d stories are consistent, %d of %d", &verdict.consistent,
                        &verdict.told, &verdict.right, &verdict.asked) == 4;
    if (pclose(pipe) != 0 || !found) fail("%s: it judges nothing", program);
    unlink(path);
    free(command);
    return verdict;
}

void answer_all(const Model *model, const Tokenizer *tokenizer, const char *story,
                SamplingParams sampling, Random *random, FILE *file) {
    int line = (int)strcspn(story, "\n");
    for (const char *question = story + line; (question = strstr(question, "Question:"));
         question++) {
        int asked = (int)(strstr(question, "Answer:") + strlen("Answer:") - question);
        char prompt[2048];
        snprintf(prompt, sizeof prompt, "%.*s\n%.*s", line, story, asked, question);
        char *answer = said_after(model, tokenizer, prompt, ANSWER, sampling, random);
        fprintf(file, "%s%.*s\n\n", prompt, (int)strcspn(answer, "\n"), answer);
        free(answer);
    }
}
