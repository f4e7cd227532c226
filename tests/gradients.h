/* For the tests of a whole model's gradients: golden models, and what torch.autograd found for
 * them. */
#ifndef TESTS_GRADIENTS_H
#define TESTS_GRADIENTS_H

#include "16_backward/compare.h"
#include "16_backward/decoder_backward.h"
#include "tests/training_tables.h"
#include "tests/test.h"

static const char *const models[] = {"llama1", "llama2_70b", "llama3",  "llama31", "llama32",
                                     "yarn",   "longrope",   "dynamic", "biases"};
enum { MODELS = sizeof models / sizeof *models };

/* A golden model, its batch, and the gradients that our decoder finds. */
typedef struct {
    Model model;
    GradientFile file;
    Parameters weights, gradients;
    Activations activations;
} Case;

static inline Case open_case(const TrainingKernels *kernels, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/models/%s", ROOT, name);
    Case c = {.model = model_open(path)};
    snprintf(path, sizeof path, "%s/tests/golden/gradients/%s.safetensors", ROOT, name);
    c.file = gradient_file_open(path);
    c.weights = parameters_of(&c.model);
    c.gradients = parameters_new(&c.model.config);
    c.activations = activations_new(&c.model.config, kernels, c.file.B, c.file.T);
    return c;
}

static inline void close_case(Case *c) {
    activations_free(&c->activations);
    parameters_free(&c->gradients);
    parameters_free(&c->weights);
    gradient_file_close(&c->file);
    model_close(&c->model);
}

static inline void assert_gradients_agree(const Case *c, const Parameters *gradients,
                                          const char *what) {
    Comparison comparison;
    for (int i = 0; i < gradients->tensor_count; i++) {
        const Tensor *tensor = &gradients->tensors[i];
        assert_true(gradient_judge(&c->file, tensor, &comparison));
        if (comparison.wrong)
            fail_msg("%s, %s: %zu of %zu differ, by up to %.1f ulps", what, tensor->name,
                     comparison.wrong, comparison.count, comparison.ulps);
    }
}

#endif
