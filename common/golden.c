#include "common/golden.h"
#include "common/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *golden_folder = ROOT "/tests/golden";

/* The case whose name is the first `length` letters of `name`; made if there is none yet. */
static GoldenCase *case_named(Golden *golden, const char *name, size_t length) {
    for (int c = 0; c < golden->count; c++)
        if (strlen(golden->cases[c].name) == length &&
            strncmp(golden->cases[c].name, name, length) == 0)
            return &golden->cases[c];
    golden->cases = xrealloc(golden->cases, (size_t)(golden->count + 1) * sizeof *golden->cases);
    GoldenCase *made = &golden->cases[golden->count++];
    *made = (GoldenCase){.name = xstrndup(name, length)};
    return made;
}

static void append(Tensor list[GOLDEN_MAX], int *count, Tensor tensor, const char *name) {
    if (*count == GOLDEN_MAX)
        fail("%s: over %d inputs or known mistakes in one golden case", tensor.name, GOLDEN_MAX);
    tensor.name = name;
    list[(*count)++] = tensor;
}

/* by_hand first, then from small to large. */
static int reading_order(const void *left, const void *right) {
    const GoldenCase *a = left, *b = right;
    int by_hand = (strcmp(b->name, "by_hand") == 0) - (strcmp(a->name, "by_hand") == 0);
    size_t size_a = tensor_count(&a->expected), size_b = tensor_count(&b->expected);
    if (by_hand) return by_hand;
    if (size_a != size_b) return size_a < size_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

static const char *metadata(const SafeTensors *file, const char *kind, const char *name) {
    char key[256];
    snprintf(key, sizeof key, "%s/%s", kind, name);
    const char *value = safetensors_metadata(file, key);
    return value ? value : "";
}

/* The file's tensors are named case/role. */
static void take_tensor(Golden *golden, const char *path, Tensor tensor) {
    const char *slash = strchr(tensor.name, '/');
    if (!slash) fail("%s: tensor \"%s\" is not named case/something", path, tensor.name);
    GoldenCase *c = case_named(golden, tensor.name, (size_t)(slash - tensor.name));
    const char *role = slash + 1;
    if (strcmp(role, "expected") == 0) c->expected = tensor;
    else if (strcmp(role, "expected64") == 0) c->expected64 = tensor;
    else if (strcmp(role, "rounding") == 0) c->rounding = tensor;
    else if (strncmp(role, "wrong/", 6) == 0)
        append(c->known_mistake, &c->known_mistake_count, tensor, role + 6);
    else append(c->input, &c->input_count, tensor, role);
}

/* Once all its tensors are there. */
static void complete_case(const Golden *golden, const char *path, GoldenCase *c) {
    if (!c->expected.name) fail("%s: case %s has no expected output", path, c->name);
    c->exact = !c->expected64.name;
    if (c->exact) c->expected64 = c->expected;
    if (tensor_count(&c->expected64) != tensor_count(&c->expected))
        fail("%s: case %s: expected64 has another size than expected", path, c->name);
    if (c->rounding.name &&
        (!tensor_count(&c->rounding) || tensor_count(&c->expected) % tensor_count(&c->rounding)))
        fail("%s: case %s: rounding has another number of rows", path, c->name);
    for (int t = 0; t < c->known_mistake_count; t++)
        if (tensor_count(&c->known_mistake[t]) != tensor_count(&c->expected))
            fail("%s: case %s: the known mistake %s has another size than expected", path, c->name,
                 c->known_mistake[t].name);
    c->sentence = metadata(&golden->file, "case", c->name);
}

Golden golden_open(const char *kernel) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.safetensors", golden_folder, kernel);
    Golden golden = {.kernel = kernel, .file = safetensors_open(path)};
    for (size_t i = 0; i < golden.file.count; i++)
        take_tensor(&golden, path, golden.file.tensors[i]);
    for (int c = 0; c < golden.count; c++) complete_case(&golden, path, &golden.cases[c]);
    qsort(golden.cases, (size_t)golden.count, sizeof *golden.cases, reading_order);
    return golden;
}

void golden_close(Golden *golden) {
    for (int c = 0; c < golden->count; c++) free((char *)golden->cases[c].name);
    free(golden->cases);
    safetensors_close(&golden->file);
    *golden = (Golden){0};
}

const GoldenCase *golden_case(const Golden *golden, const char *name) {
    for (int c = 0; c < golden->count; c++)
        if (strcmp(golden->cases[c].name, name) == 0) return &golden->cases[c];
    fail("%s has no golden case \"%s\": build/verify %s --list names them", golden->kernel, name,
         golden->kernel);
}

const Tensor *golden_input(const GoldenCase *golden_case, const char *name) {
    for (int i = 0; i < golden_case->input_count; i++)
        if (strcmp(golden_case->input[i].name, name) == 0) return &golden_case->input[i];
    return NULL;
}

const char *golden_advice(const Golden *golden, const char *known_mistake) {
    return metadata(&golden->file, "wrong", known_mistake);
}

size_t golden_row(const GoldenCase *golden_case, bool pointwise) {
    const Tensor *output = &golden_case->expected;
    return pointwise || output->rank == 0 ? 1 : output->shape[output->rank - 1];
}

double golden_tolerance(const GoldenCase *golden_case, double reference) {
    return golden_case->exact ? 0 : CHECK_MULTIPLE * reference + CHECK_ULPS;
}

double golden_rounding(const GoldenCase *golden_case, size_t index) {
    const Tensor *rounding = &golden_case->rounding;
    if (!rounding->name) return 0;
    size_t numbers = tensor_count(&golden_case->expected) / tensor_count(rounding);
    return tensor_get(rounding, index / numbers);
}

/* How far each number may be off. */
static double *bounds_of(const GoldenCase *golden_case, double tolerance, size_t count, size_t row,
                         const double truth[count]) {
    double *bound = xmalloc(count * sizeof *bound);
    for (size_t start = 0; start < count; start += row) {
        double unit = tolerance * row_ulp(row, truth + start);
        for (size_t i = start; i < start + row; i++)
            bound[i] = fmax(unit, golden_rounding(golden_case, i));
    }
    return bound;
}

Comparison golden_check(const GoldenCase *golden_case, bool pointwise, const Tensor *got) {
    float *result = tensor_to_float(got), *expected = tensor_to_float(&golden_case->expected);
    double *truth = tensor_to_double(&golden_case->expected64);
    size_t count = tensor_count(got),
           row = golden_case->exact ? 1 : golden_row(golden_case, pointwise);
    Comparison comparison = check(count, row, result, expected, truth);
    for (size_t i = 0; i < count; i++) /* as check() has it */
        if (!isfinite(expected[i])) truth[i] = expected[i];
    double *bound = bounds_of(golden_case, golden_tolerance(golden_case, comparison.reference),
                              count, row, truth),
           ulps = comparison.ulps, reference = golden_case->exact ? 0 : comparison.reference;
    comparison = check_bounds(count, result, truth, bound);
    comparison.ulps = ulps;
    comparison.reference = reference;
    free(result);
    free(expected);
    free(truth);
    free(bound);
    return comparison;
}
