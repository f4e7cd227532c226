#include "tests/judge/exercises.h"
#include "common/console.h"
#include "common/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const Exercise exercises[] = {
    {"01_normalization", {"rms_norm", "layer_norm", "batch_norm", "rms_norm_bf16"}},
    {"02_activation", {"relu", "silu", "swish_derivative", "gelu_tanh_derivative"}},
    {"03_feed_forward", {"swiglu", "linear", "feed_forward", "gated_feed_forward"}},
    {"04_attention", {"softmax", "attention_scores", "causal_mask", "weighted_sum", "attention"}},
    {"05_rope", {"rope_interleaved", "rope_half_split", "rope_table", "rope_frequencies"}},
    {"06_grouped_query", {"grouped_query_attention", "gqa_attention_with_past"}},
    {"07_kv_cache", {"kv_cache_append", "cached_attention"}},
    {"08_flash_attention", {"softmax", "gqa_attention_with_past", "flash_attention"}},
    {"09_decoder", {"feed_forward_block", "attention_block", "decoder_logits", "decoder_forward"}},
    {"10_tokenizer", {"pair_counts", "merge_pair", "bpe_merge"}},
    {"11_generation", {"temperature", "top_k", "min_p", "repetition_penalty", "top_p"}},
    {"12_speed", {"linear"}},
    {"13_quantization",
     {"dequantize_q8_0", "quantize_q8_0", "dequantize_q5_0", "dot_q4_0", "dequantize_q5_k"}},
    {"15_tensor_parallel",
     {"shard_columns", "shard_rows", "shard_heads", "vocabulary_embedding",
      "parallel_feed_forward"}},
    {"16_backward",
     {"linear_backward", "swiglu_backward", "rms_norm_backward", "softmax_backward",
      "grouped_query_attention_backward"}},
    {"17_training", {"learning_rate", "adamw", "clip_gradient", "microbatch_weights"}},
};
enum { EXERCISES = sizeof exercises / sizeof *exercises };

const Exercise *exercise_at(int index) { return index < EXERCISES ? &exercises[index] : NULL; }

const Exercise *exercise_numbered(const char *number) {
    for (int e = 0; e < EXERCISES; e++)
        if (strtol(number, NULL, 10) == strtol(exercises[e].chapter, NULL, 10))
            return &exercises[e];
    fail("there is no exercise %s: they are 01 to %.2s, one a chapter", number,
         exercises[EXERCISES - 1].chapter);
}

int task_count(const Exercise *exercise) {
    int count = 0;
    while (count < MOST_TASKS && exercise->tasks[count]) count++;
    return count;
}

/* ------------------------------------------------------------------ how far is it? */

/* How many of a judgement's cases belong to the kernel's first step, and pass. Of a kernel without
 * steps all do. */
typedef struct {
    int cases, passed;
} Step;

static Step first_step(const Judgement *judgement) {
    Step first = {0};
    for (int c = 0; c < judgement->golden.count; c++) {
        const Verdict *verdict = &judgement->verdicts[c];
        if (judgement->kernel->in_first_step &&
            !judgement->kernel->in_first_step(verdict->golden_case))
            continue;
        first.cases++;
        first.passed += verdict_passes(verdict);
    }
    return first;
}

static bool is_judged(const Judgement *judgement) {
    return judgement->status != NOT_IMPLEMENTED && judgement->status != ANOTHER_FUNCTION &&
           judgement->status != THE_COURSES_OWN;
}

/* The first step is right, and no case of the second passes yet. */
static bool is_half_written(const Judgement *judgement) {
    Step first = first_step(judgement);
    return judgement->kernel->in_first_step && judgement->status == WRONG &&
           first.passed == first.cases && judgement->passed == first.passed;
}

static void step_row(Table *table, const char *name, const char *kernel, KernelStatus status,
                     Step step, bool has_cases) {
    char cases[64] = "";
    bool only_others = status != RIGHT && step.passed == step.cases;
    if (has_cases)
        snprintf(cases, sizeof cases, "%d of %d%s", step.passed, step.cases,
                 only_others ? ", other calls fail" : "");
    table_row(table, "%s|%s|%s%s|%s", name, kernel, status_name(status),
              status == NOT_IMPLEMENTED ? " yet" : "", cases);
}

static void task_row(Table *table, const Exercise *exercise, int t, const Judgement *judgement) {
    char name[20] = "challenge", second[40];
    const char *kernel = exercise->tasks[t];
    if (t + 1 < task_count(exercise)) snprintf(name, sizeof name, "task %d", t + 1);
    bool has_cases = is_judged(judgement);
    Step first = first_step(judgement),
         rest = {judgement->golden.count - first.cases, judgement->passed - first.passed};
    if (!judgement->kernel->in_first_step) {
        step_row(table, name, kernel, judgement->status, first, has_cases);
        return;
    }
    bool is_first_right = has_cases && first.passed == first.cases,
         is_untried = judgement->status == WRONG && rest.passed == 0;
    snprintf(second, sizeof second, "%s, step 2", name);
    strcat(name, ", step 1");
    step_row(table, name, kernel, is_first_right ? RIGHT : judgement->status, first, has_cases);
    step_row(table, second, kernel, is_untried ? NOT_IMPLEMENTED : judgement->status, rest,
             has_cases);
}

/* The last line says what to do next. */
static void next_step(const Exercise *exercise, const char *source, const char *task,
                      const char *what) {
    if (!task && exercise + 1 < exercises + EXERCISES)
        printf("Every task is solved. Next: chapters/%s/README.md\n", exercise[1].chapter);
    else if (!task) printf("Every task is solved. That was the last chapter: build/llama --help\n");
    else
        printf("Not solved yet. Next: %s %s in %s, then run the same command again.\n", what, task,
               source);
}

/* True if the reader's function of this name calls the other one. */
static bool calls(const char *source, const char *name, const char *other) {
    size_t length = strlen(other);
    for (const char *at = source; (at = strstr(at, name)); at++) {
        const char *body = at + strcspn(at, "{;"), *end = *body == '{' ? strstr(body, "\n}") : NULL;
        for (const char *call = body; end && (call = strstr(call + 1, other)) && call < end;)
            if (call[length] == '(' && !isalnum((unsigned char)call[-1]) && call[-1] != '_')
                return true;
    }
    return false;
}

/* A function that fails may be right, and call one that does nothing yet. */
static void what_it_calls(const Exercise *exercise, const char *source, int wrong,
                          const Judgement judgements[]) {
    for (int t = 0; source && t < task_count(exercise); t++)
        if (judgements[t].status == NOT_IMPLEMENTED &&
            calls(source, exercise->tasks[wrong], exercise->tasks[t]))
            printf("  It calls %s, which is not written yet.\n", exercise->tasks[t]);
}

/* A task that is not found, but seems to be there. */
static void what_hides(int count, const Judgement judgements[count]) {
    for (int t = 0; t < count; t++)
        if (judgements[t].status == NOT_IMPLEMENTED && judgements[t].diagnosis[0])
            printf("  %s.\n", judgements[t].diagnosis);
}

bool show_progress(const Exercise *exercise, Library *library, const char *source) {
    int count = task_count(exercise), solved = 0, wrong = -1, missing = -1;
    Judgement judgements[MOST_TASKS];
    Table table = {0};
    table_row(&table, "|<kernel|<|cases passed");
    for (int t = 0; t < count; t++) {
        const Kernel *kernel = kernel_named(exercise->tasks[t]);
        judgements[t] = judge(&(Subject){kernel, library, library_function(library, kernel->name)});
        task_row(&table, exercise, t, &judgements[t]);
        KernelStatus kernel_status = judgements[t].status;
        solved += kernel_status == RIGHT;
        bool is_missing = kernel_status == NOT_IMPLEMENTED || is_half_written(&judgements[t]);
        if (is_missing && missing < 0) missing = t;
        else if (kernel_status != RIGHT && !is_missing && wrong < 0) wrong = t;
    }
    printf("Chapter %.2s, %s: %d of %d tasks solved\n", exercise->chapter, source, solved, count);
    table_print(&table, stdout);
    what_hides(count, judgements);
    if (wrong >= 0) {
        putchar('\n');
        judgement_print(&judgements[wrong], source);
    }
    if (wrong >= 0) what_it_calls(exercise, library_source(library), wrong, judgements);
    putchar('\n');
    int next = wrong >= 0 ? wrong : missing;
    const char *what = wrong >= 0 ? "fix"
                       : next >= 0 && is_half_written(&judgements[next])
                           ? "write the second step of"
                           : "write";
    next_step(exercise, source, next >= 0 ? exercise->tasks[next] : NULL, what);
    for (int t = 0; t < count; t++) judgement_free(&judgements[t]);
    return wrong < 0;
}
