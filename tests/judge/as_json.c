#include "tests/judge/as_json.h"
#include "common/error.h"
#include "tests/judge/diagnosis.h"
#include "tests/judge/mistakes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text that a message cut off, or a file's name, may be no UTF-8. */
static json_t *string_of(const char *text) {
    json_t *string = json_string(text);
    if (string) return string;
    char *ascii = xstrndup(text, strlen(text));
    for (char *at = ascii; *at; at++)
        if (*at & 0x80) *at = '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

static void set_text(json_t *object, const char *key, const char *text) {
    json_object_set_new(object, key, string_of(text));
}

static void set_number(json_t *object, const char *key, size_t number) {
    json_object_set_new(object, key, json_integer((json_int_t)number));
}

static void set_verdict(json_t *object, bool right) {
    set_text(object, "verdict", status_name(right ? RIGHT : WRONG));
}

static json_t *shape_of(const Tensor *tensor) {
    json_t *shape = json_array();
    for (int axis = 0; axis < tensor->rank; axis++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[axis]));
    return shape;
}

static json_t *object_of(const Kernel *kernel) {
    json_t *object = json_new();
    set_text(object, "kernel", kernel->name);
    return object;
}

/* ------------------------------------------------------------------ verdicts */

static json_t *case_as_json(const Verdict *verdict) {
    char words[WORDS];
    json_t *object = json_new();
    const Comparison *comparison = &verdict->comparison;
    verdict_text(words, verdict);
    set_text(object, "case", verdict->golden_case->name);
    json_object_set_new(object, "shape", shape_of(&verdict->golden_case->expected));
    set_verdict(object, verdict_passes(verdict));
    set_number(object, "wrong", comparison->wrong);
    set_number(object, "of", comparison->count);
    json_object_set_new(object, "worst",
                        isfinite(comparison->worst) ? json_real(comparison->worst) : json_null());
    set_text(object, "first_wrong", words);
    return object;
}

json_t *verdicts_as_json(const Kernel *kernel, const Golden *golden, const char *source, int count,
                         const Verdict verdicts[]) {
    json_t *object = object_of(kernel), *cases = json_array();
    int passed = 0;
    for (int i = 0; i < count; i++) {
        passed += verdict_passes(&verdicts[i]);
        json_array_append_new(cases, case_as_json(&verdicts[i]));
    }
    Diagnosis found = {0};
    if (passed < count) found = diagnose(kernel, golden, count, verdicts);
    set_text(object, "source", source);
    set_verdict(object, passed == count);
    set_text(object, "mistake", found.known_mistake ? found.known_mistake : "");
    set_text(object, "advice", found.advice);
    json_object_set_new(object, "cases", cases);
    return object;
}

json_t *judgement_as_json(const Judgement *judgement, const char *source) {
    const Golden *golden = &judgement->golden;
    bool was_run = judgement->status != THE_COURSES_OWN && judgement->status != ANOTHER_FUNCTION;
    json_t *object = verdicts_as_json(judgement->kernel, golden, source,
                                      was_run ? golden->count : 0, judgement->verdicts);
    const char *advice = json_string_value(json_object_get(object, "advice")),
               *about = trial_advice(judgement->diagnosis);
    set_text(object, "verdict", status_name(judgement->status));
    if (judgement->right_plainly) {
        set_text(object, "mistake", "");
        set_text(object, "advice", "");
    } else if (!advice[0])
        set_text(object, "advice",
                 about                  ? about
                 : judgement->advice[0] ? judgement->advice
                                        : judgement->sizes);
    set_text(object, "diagnosis", judgement->diagnosis);
    set_text(object, "note", judgement->note);
    return object;
}

json_t *hidden_as_json(const Kernel *kernel, const char *why) {
    json_t *object = object_of(kernel);
    set_text(object, "verdict", "not judged");
    set_text(object, "diagnosis", why);
    return object;
}

/* ------------------------------------------------------------------ what there is to judge */

json_t *kernel_as_json(const Kernel *kernel, const Golden *golden) {
    json_t *object = object_of(kernel);
    int mistakes;
    free(known_mistakes(golden, &mistakes));
    set_text(object, "chapter", kernel->chapter);
    set_number(object, "cases", (size_t)golden->count);
    set_number(object, "mistakes", (size_t)mistakes);
    return object;
}

json_t *cases_as_json(const Kernel *kernel, const Golden *golden) {
    json_t *object = object_of(kernel), *cases = json_array();
    for (int c = 0; c < golden->count; c++) {
        const GoldenCase *one = &golden->cases[c];
        json_t *told = json_new();
        set_text(told, "case", one->name);
        json_object_set_new(told, "shape", shape_of(&one->expected));
        set_text(told, "tries", one->sentence);
        json_array_append_new(cases, told);
    }
    set_text(object, "chapter", kernel->chapter);
    json_object_set_new(object, "cases", cases);
    return object;
}

json_t *mistakes_as_json(const Kernel *kernel, const Golden *golden) {
    json_t *object = object_of(kernel), *mistakes = json_array();
    char does[MISTAKE_TEXT], advice[MISTAKE_TEXT];
    int count;
    const char **names = known_mistakes(golden, &count);
    for (int m = 0; m < count; m++) {
        json_t *told = json_new();
        mistake_texts(golden, names[m], does, advice);
        set_text(told, "mistake", names[m]);
        set_text(told, "does", does);
        set_text(told, "advice", advice);
        set_number(told, "cases", (size_t)cases_that_tell(golden, names[m]));
        json_array_append_new(mistakes, told);
    }
    free(names);
    set_text(object, "chapter", kernel->chapter);
    json_object_set_new(object, "mistakes", mistakes);
    return object;
}
