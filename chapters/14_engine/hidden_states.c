#include "14_engine/hidden_states.h"
#include "common/check.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the stages of a run */

/* The numbers of a stage, row by row: the stream's, and after them the logits. Returns the stage's
 * name. */
static const char *stage_of(const HiddenStates *run, int s, char name[static 32], int *width,
                            const float **values) {
    const bool last = s == run->stages;
    *width = last ? run->V : run->C;
    *values = last ? run->logits : run->states + (size_t)s * run->T * run->C;
    return last ? "logits" : stage_name(name, s, run->stages);
}

bool hidden_states_are_finite(const HiddenStates *run, char words[static 200]) {
    for (int s = 0, width; s <= run->stages; s++) {
        char name[32];
        const float *values;
        const char *stage = stage_of(run, s, name, &width, &values);
        size_t count = (size_t)run->T * (size_t)width, finite = 0, first = SIZE_MAX;
        for (size_t i = 0; i < count; i++)
            if (isfinite(values[i])) finite++;
            else if (first == SIZE_MAX) first = i;
        if (finite == count) continue;
        snprintf(words, 200,
                 "%s is the first stage with nan or infinities: %zu of %zu, the first at [%zu, "
                 "%zu]: what comes after it inherits",
                 stage, count - finite, count, first / (size_t)width, first % (size_t)width);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ in a file */

void hidden_states_save(const HiddenStates *run, const char *path, const char *model) {
    int count = 0;
    Tensor *tensors = xmalloc((size_t)(run->stages + 2) * sizeof *tensors);
    char(*names)[32] = xmalloc((size_t)run->stages * sizeof *names);
    size_t T = (size_t)run->T, C = (size_t)run->C;
    tensors[count++] =
        (Tensor){.name = "ids", .dtype = I32, .rank = 1, .shape = {T}, .data = run->ids};
    for (int s = 0; s < run->stages; s++)
        tensors[count++] = (Tensor){.name = stage_name(names[s], s, run->stages),
                                    .dtype = F32,
                                    .rank = 2,
                                    .shape = {T, C},
                                    .data = run->states + (size_t)s * T * C};
    tensors[count++] = (Tensor){.name = "logits",
                                .dtype = F32,
                                .rank = 2,
                                .shape = {T, (size_t)run->V},
                                .data = run->logits};
    safetensors_save(path, (size_t)count, tensors, 1, &(Metadata){"model", model});
    printf("%s: ids, embed_tokens, layers.0 to layers.%d, norm and logits of %d token%s\n", path,
           run->stages - 3, run->T, run->T == 1 ? "" : "s");
    free(names);
    free(tensors);
}

/* ------------------------------------------------------------------ beside another
 *
 * A dump that brings its own float64 (NAME/float64) is judged by common/check.h. Of any other we
 * only know its dtype: an honest float32 run of the deepest Llama stays within 2^-13 of the row's
 * largest number, and the mistakes that are worth finding are far beyond it; what was computed in
 * 16 bits rounds at each of its steps. */

static double ulps_allowed(DType dtype) {
    return dtype == BF16 ? 0x1p19 : dtype == F16 ? 0x1p16 : 0x1p10;
}

/* NULL if the dump has no such stage. */
static const Tensor *find_stage(const SafeTensors *dump, const char *name, int T, int width) {
    const Tensor *tensor = safetensors_find(dump, name);
    char text[SHAPE_TEXT];
    if (!tensor) return NULL;
    int last = tensor->rank - 1; /* a batch of one may stand before [T, width] */
    if (tensor_count(tensor) != (size_t)T * width || last < 1 ||
        tensor->shape[last] != (size_t)width)
        fail("%s is %s in the dump, here it is [%d, %d]", name,
             shape_text(text, tensor->rank, tensor->shape), T, width);
    return tensor;
}

static Comparison judge(const SafeTensors *dump, const Tensor *theirs, const float *ours) {
    char name[64];
    snprintf(name, sizeof name, "%s/float64", theirs->name);
    const Tensor *exact = safetensors_find(dump, name);
    bool exacting = exact && tensor_count(exact) == tensor_count(theirs);
    size_t count = tensor_count(theirs), row = theirs->shape[theirs->rank - 1];
    float *expected = tensor_to_float(theirs);
    double *truth = tensor_to_double(exacting ? exact : theirs);
    Comparison comparison =
        exacting ? check(count, row, ours, expected, truth)
                 : check_within(ulps_allowed(theirs->dtype), count, row, ours, truth);
    free(expected);
    free(truth);
    return comparison;
}

/* Adds a line to the table; whether the stage agrees. */
static bool compare_stage(Table *table, const SafeTensors *dump, const char *name, int T, int width,
                          const float *ours) {
    const Tensor *theirs = find_stage(dump, name, T, width);
    if (!theirs) {
        table_row(table, "%s|not in the dump", name);
        return true;
    }
    Comparison a = judge(dump, theirs, ours);
    if (a.wrong == 0) table_row(table, "%s|%.2g|%.1f|ok", name, a.worst, a.ulps);
    else
        table_row(table, "%s|%.2g|%.1f|DIFFERS|%zu of %zu|[%zu, %zu]", name, a.worst, a.ulps,
                  a.wrong, a.count, a.first_wrong / (size_t)width, a.first_wrong % (size_t)width);
    return a.wrong == 0;
}

void hidden_states_require(const HiddenStates *run, const SafeTensors *dump, const char *path) {
    char name[32], last[32];
    const float *ours;
    int width;
    for (int s = 0; s <= run->stages; s++)
        if (safetensors_find(dump, stage_of(run, s, name, &width, &ours))) return;
    fail("%s: it has no stage that this model has: they are called %s … %s", path,
         stage_of(run, 0, name, &width, &ours), stage_of(run, run->stages, last, &width, &ours));
}

bool hidden_states_compare(const HiddenStates *run, const SafeTensors *dump) {
    Table table = {0};
    char name[32], first[32] = "";
    table_row(&table, "stage|worst error|in ulps|<|wrong|first wrong");
    for (int s = 0, width; s <= run->stages; s++) {
        const float *ours;
        const char *stage = stage_of(run, s, name, &width, &ours);
        if (!compare_stage(&table, dump, stage, run->T, width, ours) && !*first)
            strcpy(first, stage);
    }
    table_print(&table, stdout);
    if (*first)
        printf("%s is the first that differs: what comes before it agrees, what comes after it "
               "inherits.\n",
               first);
    else printf("Nothing differs.\n");
    return *first == 0;
}

/* ------------------------------------------------------------------ the tokens */

int *hidden_states_ids(const SafeTensors *dump, int *count) {
    const Tensor *tensor = safetensors_find(dump, "ids");
    if (!tensor || tensor_count(tensor) == 0)
        fail("--token-ids 1,2,3 is needed: the dump does not hold its ids");
    if (tensor_count(tensor) > INT_MAX) fail("the dump holds more ids than any context");
    int *ids = xmalloc(tensor_count(tensor) * sizeof *ids);
    *count = (int)tensor_count(tensor);
    for (int t = 0; t < *count; t++) {
        double id = tensor_get(tensor, (size_t)t);
        ids[t] = id >= 0 && id <= INT_MAX ? (int)id : -1; /* which no vocabulary has */
    }
    return ids;
}
