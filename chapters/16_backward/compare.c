#include "16_backward/compare.h"
#include "05_rope/rope.h"
#include "14_engine/formats/model_open_any.h"
#include "16_backward/decoder_backward.h"
#include "common/console.h"
#include "common/error.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the file */

/* [B][T] whole numbers; what is none becomes one that no vocabulary has. */
static int *whole_numbers(const Tensor *tensor) {
    size_t count = tensor_count(tensor);
    int *numbers = xmalloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        double number = tensor_get(tensor, i);
        numbers[i] =
            number > INT_MIN && number < INT_MAX && number == (int)number ? (int)number : INT_MAX;
    }
    return numbers;
}

static int *next_tokens(int B, int T, const int ids[B * T]) {
    int *targets = xmalloc((size_t)B * (size_t)T * sizeof *targets);
    for (int i = 0; i < B * T; i++) targets[i] = (i + 1) % T ? ids[i + 1] : -1;
    return targets;
}

GradientFile gradient_file_open(const char *path) {
    GradientFile f = {.file = safetensors_open(path)};
    const Tensor *ids = safetensors_find(&f.file, "ids"),
                 *targets = safetensors_find(&f.file, "targets");
    if (!ids || ids->rank < 1 || ids->rank > 2 || tensor_count(ids) == 0 ||
        tensor_count(ids) > INT_MAX / 2)
        fail("%s: it has no ids, the tokens that its gradients are of, as [texts, tokens]", path);
    f.B = ids->rank == 2 ? (int)ids->shape[0] : 1;
    f.T = (int)ids->shape[ids->rank - 1];
    if (targets && tensor_count(targets) != tensor_count(ids))
        fail("%s: its targets are not as many as its ids", path);
    f.ids = whole_numbers(ids);
    f.targets = targets ? whole_numbers(targets) : next_tokens(f.B, f.T, f.ids);
    return f;
}

void gradient_file_close(GradientFile *f) {
    free(f->ids);
    free(f->targets);
    safetensors_close(&f->file);
    *f = (GradientFile){0};
}

/* The bound for a file without its own: rounding errors of float32 stay far below this fraction
 * of a gradient's largest number, and no mistake does. Single rows may be nothing but rounding,
 * such as those of a head that attends to one token alone. */
static const double ULPS_ALLOWED = 0x1p10;

/* The metadata ulps/NAME; NAN if there is none. */
static double ulps_of_pytorch(const GradientFile *f, const char *name) {
    char key[80], *end;
    snprintf(key, sizeof key, "ulps/%s", name);
    const char *text = safetensors_metadata(&f->file, key);
    if (!text) return NAN;
    double ulps = strtod(text, &end);
    if (end == text || *end || !(ulps >= 0 && isfinite(ulps)))
        fail("the file's %s is \"%s\": it must be a number, how far PyTorch's own float32 is", key,
             text);
    return ulps;
}

bool gradient_judge(const GradientFile *f, const Tensor *ours, Comparison *comparison) {
    const Tensor *theirs = safetensors_find(&f->file, ours->name);
    char is[SHAPE_TEXT], wanted[SHAPE_TEXT];
    if (!theirs) return false;
    if (tensor_count(theirs) != tensor_count(ours))
        fail("%s is %s in the file, here it is %s", ours->name,
             shape_text(is, theirs->rank, theirs->shape),
             shape_text(wanted, ours->rank, ours->shape));
    size_t count = tensor_count(ours), row = ours->shape[ours->rank - 1];
    double *truth = tensor_to_double(theirs), ulps = ulps_of_pytorch(f, ours->name);
    *comparison = isnan(ulps) ? check_within(ULPS_ALLOWED, count, count, ours->data, truth)
                              : check_within(CHECK_MULTIPLE * ulps + CHECK_ULPS, count, row,
                                             ours->data, truth);
    free(truth);
    return true;
}

/* ------------------------------------------------------------------ the order of the rows */

/* [heads D][C] */
static void order_rows(int heads, int D, int C, float *rows) {
    size_t bytes = sizeof(float[heads * D][C]);
    float(*copy)[C] = xmalloc(bytes);
    memcpy(copy, rows, bytes);
    rows_to_half_split(heads, D, C, (void *)rows, copy);
    free(copy);
}

/* In a .gguf or a .bin the rows of queries and keys lie in another order than in PyTorch's model
 * (chapter 5). */
static void order_as_pytorch(Parameters *gradients) {
    const Config *c = &gradients->config;
    for (int l = 0; l < c->L; l++) {
        LayerParameters *layer = &gradients->layers[l];
        order_rows(c->H, c->D, c->C, layer->q_proj);
        order_rows(c->KV, c->D, c->C, layer->k_proj);
        if (layer->q_bias) {
            order_rows(c->H, c->D, 1, layer->q_bias);
            order_rows(c->KV, c->D, 1, layer->k_bias);
        }
    }
}

/* ------------------------------------------------------------------ the table */

static bool compare_one(Table *table, const GradientFile *f, const Tensor *ours) {
    Comparison a;
    if (!gradient_judge(f, ours, &a)) {
        table_row(table, "%s|not in the file", ours->name);
        return true;
    }
    size_t row = ours->shape[ours->rank - 1];
    if (a.wrong == 0) table_row(table, "%s|%.2g|%.1f|ok", ours->name, a.worst, a.ulps);
    else
        table_row(table, "%s|%.2g|%.1f|DIFFERS|%zu of %zu|[%zu, %zu]", ours->name, a.worst, a.ulps,
                  a.wrong, a.count, a.first_wrong / row, a.first_wrong % row);
    return a.wrong == 0;
}

/* A file of another model, or of another program's names, has no gradient to compare. */
static void require_a_gradient(const GradientFile *f, const Parameters *gradients,
                               const char *path) {
    for (int i = 0; i < gradients->tensor_count; i++)
        if (safetensors_find(&f->file, gradients->tensors[i].name)) return;
    fail("%s: it has no gradient that this model has: they are called as the weights are, such as "
         "%s",
         path, gradients->tensors[0].name);
}

static const char *compare(const GradientFile *f, double loss, const Parameters *gradients) {
    const char *first = NULL;
    float rounded = (float)loss;
    Table table = {0};
    table_row(&table, "gradient of|worst error|in ulps|<|wrong|first wrong");
    Tensor of_loss = {.name = "loss", .dtype = F32, .rank = 1, .shape = {1}, .data = &rounded};
    if (!compare_one(&table, f, &of_loss)) first = "loss";
    for (int i = gradients->tensor_count - 1; i >= 0; i--)
        if (!compare_one(&table, f, &gradients->tensors[i]) && !first)
            first = gradients->tensors[i].name;
    table_print(&table, stdout);
    return first;
}

int compare_gradients(const char *path, const char *file_path) {
    GradientFile f = gradient_file_open(file_path);
    Model model = model_open_any(path);
    Parameters weights = parameters_of(&model), gradients = parameters_new(&model.config);
    require_a_gradient(&f, &gradients, file_path);
    Activations activations = activations_new(&model.config, &reference_training_kernels, f.B, f.T);
    double loss = decoder_backward(&weights, &gradients, &activations, f.ids, f.targets, 1);
    if (weights.interleaved) order_as_pytorch(&gradients);
    const char *first = compare(&f, loss, &gradients);
    if (first)
        printf("%s is the first that differs: what comes before it on the way back agrees, what "
               "comes after it inherits.\n",
               first);
    else printf("Nothing differs.\n");
    activations_free(&activations);
    parameters_free(&gradients);
    parameters_free(&weights);
    model_close(&model);
    gradient_file_close(&f);
    return first ? 1 : 0;
}
