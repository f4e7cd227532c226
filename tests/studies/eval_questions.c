#include "tests/studies/eval_questions.h"
#include "11_generation/generation.h"
#include "14_engine/formats/model_open_any.h"
#include "common/error.h"
#include "common/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void read_text(Examinee *examinee, int T, const int ids[T], int V, float logits[V]) {
    int same = 0;
    if (T > examinee->capacity)
        fail("a text of %d tokens: there is room for %d", T, examinee->capacity);
    while (!examinee->sees_ahead && same < T - 1 && same < examinee->length &&
           ids[same] == examinee->ids[same])
        same++;
    examinee->length = same;
    memcpy(examinee->ids, ids, (size_t)T * sizeof *ids);
    examinee->read(examinee, T - same, ids + same, 1, V, (float(*)[V])logits);
}

static int *encode(const Examinee *examinee, const char *text, size_t length, size_t *count) {
    return (examinee->encode ? examinee->encode : encode_with_bos)(examinee->tokenizer, length,
                                                                   text, count);
}

int greedy(Examinee *examinee, int T, const int ids[T], int V, float logits[V]) {
    (void)examinee, (void)ids;
    return argmax(V, logits);
}

void say(Examinee *examinee, const char *prompt, int most, const char *ends, Choose *choose,
         FILE *file) {
    int V = examinee->model->config.V;
    float logits[V];
    size_t T, length;
    int *prompt_ids = encode(examinee, prompt, strlen(prompt), &T), ids[T + (size_t)most];
    memcpy(ids, prompt_ids, T * sizeof *ids);
    free(prompt_ids);
    Stream stream = {.file = file};
    for (int read = (int)T, end = read + most; read < end; read++) {
        read_text(examinee, read, ids, V, logits);
        ids[read] = choose(examinee, read, ids, V, logits);
        if (ids[read] < 0) break;
        const char *bytes = tokenizer_bytes(examinee->tokenizer, ids[read], &length);
        stream_write(&stream, length, bytes);
        if (length && strchr(ends, bytes[length - 1])) break;
    }
    stream_end(&stream);
}

static bool ends_with_space(const Tokenizer *tokenizer, int id) {
    size_t length;
    const char *bytes = tokenizer_bytes(tokenizer, id, &length);
    return length > 0 && bytes[length - 1] == ' ';
}

/* Whether the model's own choices spell how `text` goes on after the prompt that it begins with. A
 * space that the prompt's tokens have already may be there again, or not. The last character ends a
 * line; the model may as well end the text. */
static bool answers(Examinee *examinee, const char *text, size_t prompt) {
    const Tokenizer *tokenizer = examinee->tokenizer;
    int V = examinee->model->config.V;
    float logits[V];
    size_t T, length;
    int *ids = encode(examinee, text, prompt, &T);
    bool spaced = ends_with_space(tokenizer, ids[T - 1]);
    const char *left = text + prompt + spaced;
    ids = xrealloc(ids, (T + strlen(left)) * sizeof *ids);
    for (; *left; T++, left += length, spaced = false) {
        read_text(examinee, (int)T, ids, V, logits);
        ids[T] = argmax(V, logits);
        const char *bytes = tokenizer_bytes(tokenizer, ids[T], &length);
        if (spaced && length > 0 && *bytes == ' ') {
            bytes++;
            length--;
        }
        if (strcmp(left, "\n") == 0 && is_end_of_generation(examinee->model, tokenizer, ids[T])) {
            bytes = left;
            length = 1;
        }
        if (length == 0 || strncmp(left, bytes, length) != 0) break;
    }
    free(ids);
    return *left == '\0';
}

int ask(Examinee *examinee, const char *story, int *questions) {
    int line = (int)strcspn(story, "\n"), right = 0;
    for (const char *question = story + line;
         *question;) { /* from the end of a line, two lines on */
        const char *said = strstr(question, "Answer:") + strlen("Answer:"),
                   *end = said + strcspn(said, "\n");
        char text[2048];
        snprintf(text, sizeof text, "%.*s%.*s\n", line, story, (int)(end - question), question);
        right += answers(examinee, text, (size_t)(line + said - question));
        ++*questions;
        question = end;
    }
    return right;
}

int add_surprise(Examinee *examinee, const char *text, double *sum) {
    int V = examinee->model->config.V;
    size_t T, counted;
    int *ids = encode(examinee, text, strlen(text), &T);
    float(*logits)[V] = xmalloc(T * sizeof *logits);
    free(encode_with_bos(examinee->tokenizer, strlen(text), text, &counted));
    if (T > (size_t)examinee->capacity)
        fail("a text of %zu tokens: there is room for %d", T, examinee->capacity);
    examinee->length = 0;
    examinee->read(examinee, (int)T, ids, (int)T, V, logits);
    memcpy(examinee->ids, ids, T * sizeof *ids);
    for (size_t t = 0; t < T; t++) {
        float max = logits[t][argmax(V, logits[t])];
        double total = 0;
        for (int v = 0; v < V; v++) total += exp((double)logits[t][v] - max);
        *sum += max + log(total) -
                logits[t][t + 1 < T ? ids[t + 1] : tokenizer_eos(examinee->tokenizer)];
    }
    free(ids);
    free(logits);
    return (int)counted;
}

int cut(char *text, int most, char *stories[most]) {
    int count = 0;
    while (*text && count < most) {
        stories[count++] = text;
        char *end = strstr(text, "\n\n");
        text = end ? end + 2 : text + strlen(text);
        text[end ? -2 : -1] = '\0'; /* the end of the story's last line */
    }
    return count;
}

Study study_open(const char *folder) {
    Study study = {.model = model_open_any(folder),
                   .tokenizer = tokenizer_open(folder),
                   .sentence = sentence_open()};
    size_t length;
    study.prompt = safetensors_metadata(&study.sentence.file, "story");
    study.text = file_read("-", &length);
    study.count = cut(study.text, MOST_STORIES, study.stories);
    return study;
}

void study_close(Study *study) {
    sentence_close(&study->sentence);
    tokenizer_close(study->tokenizer);
    model_close(&study->model);
    free(study->text);
}
