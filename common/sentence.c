#include "common/sentence.h"
#include "common/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Tensor *present(const SafeTensors *file, const char *name) {
    const Tensor *tensor = safetensors_find(file, name);
    if (!tensor) fail("the sentence has no tensor \"%s\": see tests/golden/README.md", name);
    return tensor;
}

static const char *said(const SafeTensors *file, const char *key) {
    const char *text = safetensors_metadata(file, key);
    if (!text) fail("the sentence does not say \"%s\": see tests/golden/README.md", key);
    return text;
}

static const Tensor *find(const SafeTensors *file, const char *name, int rank, va_list sizes) {
    const Tensor *tensor = present(file, name);
    size_t shape[TENSOR_MAX_RANK];
    for (int i = 0; i < rank; i++) shape[i] = (size_t)va_arg(sizes, int);
    char is[SHAPE_TEXT], asked[SHAPE_TEXT];
    if (tensor->rank != rank || memcmp(tensor->shape, shape, (size_t)rank * sizeof *shape) != 0)
        fail("tensor \"%s\" is %s, not %s", name, shape_text(is, tensor->rank, tensor->shape),
             shape_text(asked, rank, shape));
    return tensor;
}

const void *sentence_tensor(const Sentence *sentence, const char *name, int rank, ...) {
    va_list sizes;
    va_start(sizes, rank);
    const Tensor *tensor = find(&sentence->file, name, rank, sizes);
    va_end(sizes);
    return tensor->data;
}

void *sentence_weight(const Sentence *sentence, const char *name, int rank, ...) {
    char whole[128];
    snprintf(whole, sizeof whole, "model.layers.%d.%s.weight", sentence->layer, name);
    va_list sizes;
    va_start(sizes, rank);
    const Tensor *tensor = find(&sentence->model, whole, rank, sizes);
    va_end(sizes);
    return tensor_to_float(tensor);
}

void *sentence_model_weight(const Sentence *sentence, const char *name, int rank, ...) {
    char whole[128];
    snprintf(whole, sizeof whole, "%s.weight", name);
    va_list sizes;
    va_start(sizes, rank);
    const Tensor *tensor = find(&sentence->model, whole, rank, sizes);
    va_end(sizes);
    return tensor_to_float(tensor);
}

/* The `count` texts of a list that blanks part. Free the first, which holds them all, and the
 * array. */
static char **texts(const char *list, int count) {
    char **text = xmalloc((size_t)count * sizeof *text), *rest = xstrndup(list, strlen(list));
    for (int i = 0; i < count; i++) text[i] = strsep(&rest, " ");
    return text;
}

Sentence sentence_open(void) {
    Sentence s = {.file = safetensors_open(ROOT "/tests/golden/sentence.safetensors"),
                  .model = safetensors_open(ROOT "/common/stories/model/model.safetensors")};
    const size_t *stream = present(&s.file, "stream")->shape;
    const size_t *q = present(&s.file, "attention/q")->shape;
    s.L = (int)stream[0] / 2 - 1;
    s.T = (int)stream[1];
    s.C = (int)stream[2];
    s.H = (int)q[1];
    s.D = (int)q[2];
    s.KV = (int)present(&s.file, "attention/k")->shape[1];
    s.F = (int)present(&s.file, "feed_forward/gate")->shape[1];
    s.V = (int)present(&s.file, "logits")->shape[0];
    s.layer = atoi(said(&s.file, "layer"));
    s.head = atoi(said(&s.file, "head"));
    s.owner = atoi(said(&s.file, "owner"));
    s.eps = strtof(said(&s.file, "rms_norm_eps"), NULL);
    s.rope_theta = strtod(said(&s.file, "rope_theta"), NULL);
    s.ids = present(&s.file, "ids")->data;
    s.token = texts(said(&s.file, "tokens"), s.T);
    s.vocabulary = texts(said(&s.file, "vocabulary"), s.V);
    return s;
}

void sentence_close(Sentence *s) {
    free(s->token[0]);
    free(s->token);
    free(s->vocabulary[0]);
    free(s->vocabulary);
    safetensors_close(&s->file);
    safetensors_close(&s->model);
    *s = (Sentence){0};
}

int sentence_count_mismatches(int decimals, int count, const float got[count],
                              const float expected[count]) {
    int far = 0;
    for (int i = 0; i < count; i++)
        far += !(fabs((double)got[i] - expected[i]) <= pow(10, -decimals));
    return far;
}

void sentence_compare(int decimals, int count, const float got[count],
                      const float expected[count]) {
    int far = sentence_count_mismatches(decimals, count, got, expected);
    printf("  %d of %d numbers differ from PyTorch's by more than %.*f\n", far, count, decimals,
           pow(10, -decimals));
}
