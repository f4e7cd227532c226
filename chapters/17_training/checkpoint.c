#include "17_training/checkpoint.h"
#include "14_engine/formats/model_open_any.h"
#include "17_training/folder.h"
#include "common/error.h"
#include "common/random.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the beginning */

static double initializer_range(const char *path) {
    json_t *json = json_open(path);
    const json_t *value = json_object_get(json, "initializer_range");
    double range = json_is_number(value) ? json_number_value(value) : 0.02;
    json_decref(json);
    if (!(range > 0 && range < 100))
        fail("%s: initializer_range is %g: it must be a number above 0, such as 0.02", path, range);
    return range;
}

static bool is_bias(const Tensor *tensor) {
    return strcmp(strrchr(tensor->name, '.'), ".bias") == 0;
}

/* The matrices are normal numbers of this size, as transformers makes them; a norm's weights are 1,
 * and biases 0. */
State state_new(const Config *config, const char *config_path, unsigned long seed) {
    State s = {.weights = parameters_new(config),
               .m = parameters_new(config),
               .v = parameters_new(config)};
    const double range = initializer_range(config_path);
    Random random = {seed};
    for (int i = 0; i < s.weights.tensor_count; i++) {
        const Tensor *tensor = &s.weights.tensors[i];
        float *numbers = (float *)tensor->data;
        for (size_t n = 0; n < tensor_count(tensor); n++)
            numbers[n] =
                tensor->rank == 1 ? !is_bias(tensor) : (float)(range * random_normal(&random));
    }
    return s;
}

State state_of(const Config *config, const char *path) {
    Model model = model_open_any(path);
    State s = {
        .weights = parameters_of(&model), .m = parameters_new(config), .v = parameters_new(config)};
    s.weights.config = *config; /* the model's own goes with the model */
    model_close(&model);
    return s;
}

void state_free(State *s) {
    parameters_free(&s->weights);
    parameters_free(&s->m);
    parameters_free(&s->v);
    *s = (State){0};
}

/* ------------------------------------------------------------------ the file */

static const char file_name[] = "checkpoint.safetensors";
static const char *const kinds[] = {"", "m/", "v/"};
enum { KINDS = 3 };

static char *name_of(const char *kind, const Tensor *tensor) {
    char name[100];
    return xstrndup(name, (size_t)snprintf(name, sizeof name, "%s%s", kind, tensor->name));
}

typedef struct {
    char step[24], seconds[32], data[24], threads[24];
    RunHyperparameters recipe;
} Notes;

static void fill_notes(Notes *n, const State *s, const TrainConfig *recipe, uint64_t fingerprint) {
    snprintf(n->step, sizeof n->step, "%d", s->step);
    snprintf(n->seconds, sizeof n->seconds, "%.3f", s->seconds);
    snprintf(n->threads, sizeof n->threads, "%d", recipe->threads);
    snprintf(n->data, sizeof n->data, "%016" PRIx64, fingerprint);
    train_config_hyperparameters(recipe, &n->recipe);
}

void checkpoint_save(const char *folder, const State *s, const TrainConfig *recipe,
                     uint64_t fingerprint) {
    enum { OTHERS = 4 };
    char path[FOLDER_PATH];
    Notes notes;
    fill_notes(&notes, s, recipe, fingerprint);
    Metadata metadata[OTHERS + INGREDIENTS] = {{"step", notes.step},
                                               {"seconds", notes.seconds},
                                               {"data", notes.data},
                                               {"threads", notes.threads}};
    memcpy(metadata + OTHERS, notes.recipe.each, sizeof notes.recipe.each);
    const Parameters *const each[KINDS] = {&s->weights, &s->m, &s->v};
    size_t count = (size_t)s->weights.tensor_count;
    Tensor *tensors = xmalloc(KINDS * count * sizeof *tensors);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < count; i++) {
            tensors[k * count + i] = each[k]->tensors[i];
            tensors[k * count + i].name = name_of(kinds[k], &each[k]->tensors[i]);
        }
    safetensors_save(in_folder(path, folder, file_name), KINDS * count, tensors,
                     OTHERS + INGREDIENTS, metadata);
    for (size_t i = 0; i < KINDS * count; i++) free((char *)tensors[i].name);
    free(tensors);
}

static void restore_tensor(const char *path, const SafeTensors *file, const char *kind,
                           const Tensor *to) {
    char *name = name_of(kind, to), is[SHAPE_TEXT], wanted[SHAPE_TEXT];
    const Tensor *from = safetensors_find(file, name);
    if (!from || from->dtype != F32 || from->rank != to->rank ||
        memcmp(from->shape, to->shape, (size_t)to->rank * sizeof *to->shape) != 0)
        fail("%s: it is of a model of another shape: its %s is %s, and the model's %s. Another "
             "--out begins anew",
             path, name, from ? shape_text(is, from->rank, from->shape) : "missing",
             shape_text(wanted, to->rank, to->shape));
    tensor_dequantize_row(from, 0, tensor_count(to), (float *)to->data);
    free(name);
}

static const char *note(const char *path, const SafeTensors *file, const char *key) {
    const char *value = safetensors_metadata(file, key);
    if (!value) fail("%s: it does not say its %s: this program did not write it", path, key);
    return value;
}

static double number_noted(const char *path, const SafeTensors *file, const char *key,
                           double most) {
    const char *text = note(path, file, key);
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= 0 && number <= most))
        fail("%s: its %s is \"%s\": this program did not write it", path, key, text);
    return number;
}

/* Checkpoints of older versions call some hyperparameters by older names. NULL: this one has no
 * other. */
static const char *older_name(const char *key) {
    static const char *const names[][2] = {{"lr", "rate"},
                                           {"min-lr", "lowest"},
                                           {"weight-decay", "decay"},
                                           {"muon-lr", "muon"},
                                           {"seq-len", "length"},
                                           {"batch-size", "batch"},
                                           {"max-grad-norm", "clip"},
                                           {"split-documents", "cut"},
                                           {"no-shuffle", "in-order"},
                                           {"matmul-bf16", "mixed"},
                                           {"document-mask", "apart"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], key) == 0) return names[i][1];
    return NULL;
}

/* The same bits come out only if all is as it was. */
static void check_notes(const char *path, const SafeTensors *file, const Notes *now) {
    for (int i = 0; i < INGREDIENTS; i++) {
        const Metadata *m = &now->recipe.each[i];
        const char *was = safetensors_metadata(file, m->key), *older = older_name(m->key);
        if (!was && older) was = safetensors_metadata(file, older);
        if (!was) was = note(path, file, m->key);
        if (strcmp(was, m->value) != 0)
            fail("%s: it was begun with --%s %s, and now that is %s: --resume goes on as it was "
                 "begun",
                 path, m->key, was, m->value);
    }
    if (strcmp(note(path, file, "data"), now->data) != 0)
        fail("%s: it was begun with other --data, another tokenizer or another config.json: "
             "--resume goes on as it was begun",
             path);
}

/* They add up in another order. Older checkpoints do not say how many there were. */
static void note_threads(const SafeTensors *file, const char *now) {
    const char *were = safetensors_metadata(file, "threads");
    if (were && strcmp(were, now) != 0)
        printf("note: it was saved with --threads %s, and goes on with --threads %s: other bits "
               "will come out\n",
               were, now);
}

bool checkpoint_restore(const char *folder, State *s, const TrainConfig *recipe,
                        uint64_t fingerprint) {
    char path[FOLDER_PATH];
    Notes now;
    if (!file_is_there(in_folder(path, folder, file_name))) return false;
    SafeTensors file = safetensors_open(path);
    fill_notes(&now, s, recipe, fingerprint);
    const Parameters *const each[KINDS] = {&s->weights, &s->m, &s->v};
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < each[k]->tensor_count; i++)
            restore_tensor(path, &file, kinds[k], &each[k]->tensors[i]);
    if (file.count != KINDS * (size_t)s->weights.tensor_count)
        fail("%s: it is of a model of another shape: it has %zu tensors more. Another --out begins "
             "anew",
             path, file.count - KINDS * (size_t)s->weights.tensor_count);
    check_notes(path, &file, &now);
    note_threads(&file, now.threads);
    s->step = (int)number_noted(path, &file, "step", recipe->steps);
    s->seconds = number_noted(path, &file, "seconds", 1e12);
    safetensors_close(&file);
    return true;
}
