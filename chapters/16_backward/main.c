/* Chapter 16: backward. One number is nudged, and the loss tells its gradient; each operation's
 * formula stands beside such nudges; the sentence's loss goes back through the whole model, and
 * steps downhill are taken. With --model and
 * --compare it finds the first gradient that is not another program's. */
#include "04_attention/attention.h"
#include "16_backward/backward.h"
#include "16_backward/compare.h"
#include "16_backward/formulas.h"
#include "16_backward/reader.h"
#include "common/console.h"
#include "common/numbers.h"
#include "common/options.h"

#include <math.h>
#include <string.h>

/* ---- one number is nudged */

/* The weight of the last norm with the largest gradient. */
static void nudge_one_number(Fixture *r, double loss) {
    const float *gradient = r->gradients.norm, steps[] = {0.5f, 0.1f, 0.02f, -0.02f};
    int most = fixture_largest_gradient(r);
    float *number = &r->weights.norm[most], was = *number;
    Table table = {0};
    table_row(&table, "weight %d of the last norm|loss of the sentence|change|change / nudge",
              most);
    table_row(&table, "%.4f, as it is|%.4f", was, loss);
    for (int n = 0; n < 4; n++) {
        *number = was + steps[n];
        double nudged = fixture_loss(r);
        table_row(&table, "nudged by %.2f|%.4f|%.4f|%.3f", steps[n], nudged, nudged - loss,
                  (nudged - loss) / steps[n]);
    }
    *number = was;
    table_print(&table, stdout);
    printf("  the backward pass says %.3f, and has as much to say of each of the model's %zu "
           "numbers\n",
           gradient[most], r->weights.count);
}

/* ---- where it begins */

static void where_it_begins(void) {
    const float logits[1][3] = {{logf(2), 0, 0}};
    float p[1][3], dlogits[1][3] = {{0}};
    softmax(1, 3, p, logits);
    cross_entropy_backward(1, 3, dlogits, logits, (int[]){1}, 1);
    Table table = {0};
    table_row(&table, "the second is right|first|second|third");
    table_row(&table, "softmax|%.2f|%.2f|%.2f", p[0][0], p[0][1], p[0][2]);
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
    table_row(&w->table, "%s|%.4f|%.4f|%s", place, rms(C, dx[rows - 1]), others,
              others > 0 ? s->token[whose] : "nobody's");
}

/* The loss of one answer alone, which is wrong. */
static void what_would_make_it_mia(void) {
    Fixture r = fixture_open();
    Watcher watcher = {.sentence = &r.sentence};
    fixture_ask_for(&r, r.sentence.ids[1]);
    r.activations.hook = stage_row;
    r.activations.context = &watcher;
    table_row(&watcher.table,
              "size of the gradient|of the last token|mean of the others|largest of them");
    double loss = fixture_gradients(&r);
    table_print(&watcher.table, stdout);
    printf("  the loss of this answer is %.2f\n", loss);
    fixture_close(&r);
}

/* ---- what is kept on the way there */

static void what_is_remembered(const Fixture *r) {
    const Config *c = &r->model.config;
    int C = c->C, F = c->F, queries = c->H * c->D, keys = c->KV * c->D, T = r->sentence.T;
    Table table = {0};
    table_row(&table, "of a token, in each layer|numbers|<is needed by|<is");
    table_row(&table, "x, before each norm|%d|rms_norm_backward|remembered", 2 * C);
    table_row(&table, "q and k after RoPE, v|%d|flash_attention_backward|remembered",
              queries + 2 * keys);
    table_row(&table, "what the heads give|%d|the same, and linear_backward|remembered", queries);
    table_row(&table, "log_sum|%d|flash_attention_backward|remembered", c->H);
    table_row(&table, "gate and up|%d|swiglu_backward|remembered", 2 * F);
    table_row(&table, "the normed copies|%d|linear_backward|computed again", 2 * C);
    table_row(&table, "silu(gate) up|%d|linear_backward|computed again", F);
    table_row(&table, "weights of the heads|%d|flash_attention_backward|computed again", c->H * T);
    table_row(&table, "q and k before RoPE|%d|nobody|forgotten", queries + keys);
    table_print(&table, stdout);
}

/* ---- downhill */

static void a_step_downhill(Fixture *r, double loss) {
    Parameters *w = &r->weights, *g = &r->gradients;
    const double rates[] = {0.0001, 0.001, 0.01, 0.1};
    double norm = gradient_norm(g->count, g->numbers);
    Table table = {0};
    table_row(&table, "rate|loss promised|loss found");
    table_row(&table, "0||%.3f", loss);
    for (int n = 0; n < 4; n++) {
        for (size_t i = 0; i < w->count; i++) w->numbers[i] -= (float)(rates[n] * g->numbers[i]);
        table_row(&table, "%g|%.3f|%.3f", rates[n], loss - rates[n] * norm * norm, fixture_loss(r));
        for (size_t i = 0; i < w->count; i++) w->numbers[i] += (float)(rates[n] * g->numbers[i]);
    }
    table_print(&table, stdout);
    printf("  the gradient's norm is %.2f\n", norm);
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

static void steps_in_a_row(const Fixture *start, double loss) {
    enum { STEPS = 4 };
    double right[STEPS + 1] = {loss}, not_zeroed[STEPS + 1] = {loss}, uphill[STEPS + 1] = {loss};
    descend(start, STEPS, right, 0.006, 0);
    descend(start, STEPS, not_zeroed, 0.006, 1);
    descend(start, STEPS, uphill, -0.006, 0);
    Table table = {0};
    table_row(&table, "loss after steps|right|gradients not set to 0|added, not subtracted");
    for (int n = 0; n <= STEPS; n += 2)
        table_row(&table, "%d|%.2f|%.2f|%.2f", n, right[n], not_zeroed[n], uphill[n]);
    table_print(&table, stdout);
}

static void demonstrate(void) {
    Fixture reader = fixture_open();
    double loss = fixture_gradients(&reader);
    section("One number is nudged");
    nudge_one_number(&reader, loss);
    section("Where it begins");
    where_it_begins();
    section("Every formula beside its nudges");
    print_formulas();
    section("What would make it Mia?");
    what_would_make_it_mia();
    section("Remembered, or computed again");
    what_is_remembered(&reader);
    section("A step downhill");
    a_step_downhill(&reader, loss);
    section("Steps in a row");
    steps_in_a_row(&reader, loss);
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
                             "Chapter 16: the gradient of every operation, and of every weight.", 2,
                             options);
    if (rest < argc) usage_error("%s is not understood", argv[rest]);
    if (!model != !file) usage_error("--model and --compare need each other");
    if (model) return compare_gradients(model, file);
    demonstrate();
}
