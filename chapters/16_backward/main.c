/* Chapter 16: backward. The gradient of one weight by finite differences, the gradient of each
 * operation by its formula, by finite differences and by autograd, the backward pass of the whole
 * model on the example text, and some steps of gradient descent. With --model and --compare it
 * finds the first gradient that differs from another program's. */
#include "04_attention/attention.h"
#include "16_backward/autograd.h"
#include "16_backward/backward.h"
#include "16_backward/compare.h"
#include "16_backward/formulas.h"
#include "16_backward/reader.h"
#include "common/console.h"
#include "common/numbers.h"
#include "common/options.h"

#include <math.h>
#include <string.h>

/* ---- one weight is changed */

/* The weight of the last norm with the largest gradient. */
static void change_one_weight(Fixture *r, double loss) {
    const float *gradient = r->gradients.norm, steps[] = {0.5f, 0.1f, 0.02f, -0.02f};
    int most = fixture_largest_gradient(r);
    float *number = &r->weights.norm[most], was = *number;
    Table table = {0};
    table_row(
        &table,
        "weight %d of the last norm|loss|change of the loss|divided by the change of the weight",
        most);
    table_row(&table, "%.4f, unchanged|%.4f", was, loss);
    for (int n = 0; n < 4; n++) {
        *number = was + steps[n];
        double changed = fixture_loss(r);
        table_row(&table, "changed by %.2f|%.4f|%.4f|%.3f", steps[n], changed, changed - loss,
                  (changed - loss) / steps[n]);
    }
    *number = was;
    table_print(&table, stdout);
    printf("  the backward pass computes %.3f, and the gradients of all %zu weights with it\n",
           gradient[most], r->weights.count);
}

/* ---- cross entropy */

static void cross_entropy_example(void) {
    const float logits[1][3] = {{logf(2), 0, 0}};
    float p[1][3], dlogits[1][3] = {{0}};
    softmax(1, 3, p, logits);
    cross_entropy_backward(1, 3, dlogits, logits, (int[]){1}, 1);
    Table table = {0};
    table_row(&table, "the second token is the target|first|second|third");
    table_row(&table, "probabilities|%.2f|%.2f|%.2f", p[0][0], p[0][1], p[0][2]);
    table_row(&table, "gradient of the logits|%.2f|%.2f|%.2f", dlogits[0][0], dlogits[0][1],
              dlogits[0][2]);
    table_print(&table, stdout);
    printf("  the loss is %.4f\n", cross_entropy(1, 3, logits, (int[]){1}));
}

/* ---- from the loss back to the embedding */

typedef struct {
    const Sentence *sentence;
    Table table;
} Watcher;

static void stage_row(void *context, int stage, int rows, int C, const float dx[rows][C]) {
    Watcher *w = context;
    const Sentence *s = w->sentence;
    double others = 0;
    int whose = 0;
    for (int t = 0; t < rows - 1; t++) {
        others += rms(C, dx[t]) / (rows - 1);
        if (rms(C, dx[t]) > rms(C, dx[whose])) whose = t;
    }
    char place[64] = "after the embedding";
    if (stage)
        snprintf(place, sizeof place, "after %s of layer %d",
                 stage % 2 ? "attention" : "feed-forward", (stage - 1) / 2);
    char token[64] = "none";
    if (others > 0) snprintf(token, sizeof token, "\"%s\"", s->token[whose]);
    table_row(&w->table, "%s|%.4f|%.4f|%s", place, rms(C, dx[rows - 1]), others, token);
}

/* The loss of one answer alone, which is wrong. */
static void gradients_for_mia(void) {
    Fixture r = fixture_open();
    Watcher watcher = {.sentence = &r.sentence};
    fixture_ask_for(&r, r.sentence.ids[1]);
    r.activations.hook = stage_row;
    r.activations.context = &watcher;
    table_row(&watcher.table,
              "RMS of the gradient|last token|mean of the other tokens|largest other token");
    double loss = fixture_gradients(&r);
    table_print(&watcher.table, stdout);
    printf("  the loss of this answer is %.2f\n", loss);
    fixture_close(&r);
}

/* ---- activations */

static void saved_or_recomputed(const Fixture *r) {
    const Config *c = &r->model.config;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D, T = r->sentence.T;
    Table table = {0};
    table_row(&table, "per token and layer|numbers|<needed by|<status");
    table_row(&table, "residual stream before each norm|%d|rms_norm_backward|saved", 2 * C);
    table_row(&table, "q and k after RoPE, v|%d|flash_attention_backward|saved",
              queries + 2 * keys);
    table_row(&table, "outputs of the heads|%d|flash_attention_backward, linear_backward|saved",
              queries);
    table_row(&table, "lse|%d|flash_attention_backward|saved", c->H);
    table_row(&table, "gate and up|%d|swiglu_backward|saved", 2 * F);
    table_row(&table, "outputs of the norms|%d|linear_backward|recomputed", 2 * C);
    table_row(&table, "silu(gate) up|%d|linear_backward|recomputed", F);
    table_row(&table, "attention weights|%d|flash_attention_backward|recomputed", c->H * T);
    table_row(&table, "q and k before RoPE|%d|no function|discarded", queries + keys);
    table_print(&table, stdout);
}

/* ---- gradient descent */

static void one_step(Fixture *r, double loss) {
    Parameters *w = &r->weights, *g = &r->gradients;
    const double rates[] = {0.0001, 0.001, 0.01, 0.1};
    double norm = gradient_norm(g->count, g->numbers);
    Table table = {0};
    table_row(&table, "learning rate|predicted loss|loss after the step");
    table_row(&table, "0||%.3f", loss);
    for (int n = 0; n < 4; n++) {
        for (size_t i = 0; i < w->count; i++) w->numbers[i] -= (float)(rates[n] * g->numbers[i]);
        table_row(&table, "%g|%.3f|%.3f", rates[n], loss - rates[n] * norm * norm, fixture_loss(r));
        for (size_t i = 0; i < w->count; i++) w->numbers[i] += (float)(rates[n] * g->numbers[i]);
    }
    table_print(&table, stdout);
    printf("  the norm of the gradient is %.2f\n", norm);
}

/* The losses after each step, from a start whose gradients are known. `kept` is the share of the
 * last gradients that the next are added to. */
static void descend(const Fixture *start, int steps, double losses[steps + 1], double rate,
                    float kept) {
    Fixture r = fixture_open();
    Parameters *w = &r.weights, *g = &r.gradients;
    memcpy(g->numbers, start->gradients.numbers, g->count * sizeof *g->numbers);
    for (int n = 1; n <= steps; n++) {
        for (size_t i = 0; i < w->count; i++) w->numbers[i] -= (float)(rate * g->numbers[i]);
        if (n == steps) break; /* no step follows these gradients */
        for (size_t i = 0; i < g->count; i++) g->numbers[i] *= kept;
        losses[n] = decoder_backward(w, g, &r.activations, r.sentence.ids, r.targets, 1);
    }
    losses[steps] = fixture_loss(&r);
    fixture_close(&r);
}

static void four_steps(const Fixture *start, double loss) {
    enum { STEPS = 4 };
    double right[STEPS + 1] = {loss}, not_zeroed[STEPS + 1] = {loss}, uphill[STEPS + 1] = {loss};
    descend(start, STEPS, right, 0.006, 0);
    descend(start, STEPS, not_zeroed, 0.006, 1);
    descend(start, STEPS, uphill, -0.006, 0);
    Table table = {0};
    table_row(&table, "loss after|correct|gradients not set to 0|added instead of subtracted");
    for (int n = 0; n <= STEPS; n += 2)
        table_row(&table, "%d steps|%.2f|%.2f|%.2f", n, right[n], not_zeroed[n], uphill[n]);
    table_print(&table, stdout);
}

static void demonstrate(void) {
    Fixture reader = fixture_open();
    double loss = fixture_gradients(&reader);
    section("One weight is changed");
    change_one_weight(&reader, loss);
    section("Autograd on a small graph");
    print_small_graph();
    section("Cross entropy backward");
    cross_entropy_example();
    section("Formulas and finite differences");
    print_formulas();
    section("Autograd and the hand-written gradients");
    print_autograd_check();
    section("Gradients for the answer Mia");
    gradients_for_mia();
    section("Activations: saved or recomputed");
    saved_or_recomputed(&reader);
    section("One step of gradient descent");
    one_step(&reader, loss);
    section("Four steps of gradient descent");
    four_steps(&reader, loss);
    fixture_close(&reader);
}

int main(int argc, char **argv) {
    const char *model = NULL, *file = NULL;
    const Option options[] = {
        {"model", "DIR|FILE", "a Hugging Face folder, a .gguf, or a .bin of llama2.c", &model},
        {"compare", "FILE",
         "find the first of its gradients that differs from those in this .safetensors", &file},
    };
    int rest = parse_options(argc, argv, "[--model DIR|FILE --compare FILE]",
                             "Chapter 16: the gradients of every operation and of every weight.", 2,
                             options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
    if (!model != !file) usage_error("--model and --compare need each other");
    if (model) return compare_gradients(model, file);
    demonstrate();
}
