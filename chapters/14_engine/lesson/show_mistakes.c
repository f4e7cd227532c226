#include "10_tokenizer/tokenizer_internal.h"
#include "11_generation/generation.h"
#include "14_engine/lesson/lesson.h"
#include "common/console.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char right_answer[] = "Anna has the red ball.";

/* The course's question is answered with one mistake at a time. */
typedef struct {
    const Tokenizer *tokenizer;
    size_t count; /* of the right answer's tokens */
    int *right;
    Table table;
} Exam;

/* Reads a prompt; returns the probability of the right answer, and what the model answers, up to
 * its first full stop or line's end. */
static double ask(const Exam *exam, const Model *model, size_t prompt, const int ids[prompt],
                  char answer[static 80]) {
    enum { MOST = 12 };
    const int V = model->config.V;
    int said[MOST], count = 0;
    float logits[V];
    double log_p = 0;
    Decoder decoder = decoder_new(model, &reference_kernels, (int)prompt + MOST);
    decoder_eval(&decoder, (int)prompt, ids);
    for (size_t i = 0; i < exam->count; i++) {
        decoder_logits(&decoder, logits);
        log_p += log_probability(V, logits, exam->right[i]);
        decoder_eval(&decoder, 1, &exam->right[i]);
    }
    decoder.length = 0; /* the same prompt again, now for the model's own answer */
    decoder_eval(&decoder, (int)prompt, ids);
    while (count < MOST) {
        decoder_logits(&decoder, logits);
        int next = argmax(V, logits);
        if (is_end_of_generation(model, exam->tokenizer, next)) break;
        said[count++] = next;
        decoder_eval(&decoder, 1, &next);
    }
    decoder_free(&decoder);
    size_t length;
    char *text = tokenizer_decode(exam->tokenizer, (size_t)count, said, &length);
    char *start = text + strspn(text, " "), *stop = strchr(start, '.');
    if (stop) stop[1] = '\0';
    start[strcspn(start, "\n")] = '\0';
    for (size_t n = strlen(start); n > 0 && start[n - 1] == ' '; n--) start[n - 1] = '\0';
    snprintf(answer, 80, "%s", start);
    free(text);
    return exp(log_p);
}

/* One row of the table: a model and a text, and how many times BOS comes before it. */
static void try(Exam *exam, const char *what, const Model *model, const char *text, size_t bos) {
    char answer[80];
    size_t count;
    int *ids = tokenizer_encode(exam->tokenizer, strlen(text), text, false, &count);
    ids = xrealloc(ids, (count + bos) * sizeof *ids);
    memmove(ids + bos, ids, count * sizeof *ids);
    for (size_t i = 0; i < bos; i++) ids[i] = tokenizer_bos(exam->tokenizer);
    double p = ask(exam, model, count + bos, ids, answer);
    table_row(&exam->table, "%s|%s|%.4f|%s", what, strcmp(answer, right_answer) ? "no" : "yes", p,
              answer);
    free(ids);
}

static void try_models(Exam *exam, const Model *model, const char *text) {
    float *zeros = xmalloc(tensor_count(&model->lm_head) * sizeof *zeros);
    memset(zeros, 0, tensor_count(&model->lm_head) * sizeof *zeros);
    Model layout = *model, swapped = *model, eps = *model, theta = *model, head = *model;
    layout.interleaved = true;
    eps.config.rms_norm_eps = 1e-6;
    theta.config.rope.rope_theta = 500000;
    head.lm_head.dtype = F32;
    head.lm_head.data = zeros;
    swapped.layers = xmalloc((size_t)model->config.L * sizeof *swapped.layers);
    for (int l = 0; l < model->config.L; l++) {
        swapped.layers[l] = model->layers[l];
        swapped.layers[l].gate_proj = model->layers[l].up_proj;
        swapped.layers[l].up_proj = model->layers[l].gate_proj;
    }
    try(exam, "none", model, text, 1);
    try(exam, "rows of q_proj, k_proj in the other layout", &layout, text, 1);
    try(exam, "gate_proj and up_proj swapped", &swapped, text, 1);
    try(exam, "no lm_head in the file, zeros taken", &head, text, 1);
    try(exam, "rope_theta 500000 for 10000", &theta, text, 1);
    try(exam, "rms_norm_eps 1e-6 for 1e-5", &eps, text, 1);
    free(swapped.layers);
    free(zeros);
}

static void try_prompts(Exam *exam, const Model *model, Tokenizer *tokenizer, const char *text) {
    char other[400];
    try(exam, "no BOS", model, text, 0);
    try(exam, "BOS twice", model, text, 2);
    tokenizer->prepend_scheme = PREPEND_NEVER;
    try(exam, "no space before the text", model, text, 1);
    tokenizer->prepend_scheme = PREPEND_ALWAYS;
    snprintf(other, sizeof other, "%s ", text);
    try(exam, "a space after the text", model, other, 1);
    snprintf(other, sizeof other, "%s", text);
    *strrchr(other, '\n') = ' ';
    try(exam, "Answer: after a space, not on its own line", model, other, 1);
    snprintf(other, sizeof other, "[INST] %s [/INST]", text);
    try(exam, "another model's chat template", model, other, 1);
}

void show_mistakes(const Model *model, Tokenizer *tokenizer, const char *text) {
    Exam exam = {.tokenizer = tokenizer};
    exam.right =
        tokenizer_encode(tokenizer, strlen(right_answer), right_answer, false, &exam.count);
    section("What fails silently");
    table_row(&exam.table, "mistake|word for word?|p of the right answer|<the answer");
    try_models(&exam, model, text);
    try_prompts(&exam, model, tokenizer, text);
    table_print(&exam.table, stdout);
    free(exam.right);
}
