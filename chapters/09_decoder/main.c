/* Chapter 9: the decoder. The module tree, the family in numbers, and the course's sentence from
 * tokens to logits. */
#include "06_grouped_query/grouped_query.h"
#include "09_decoder/model_summary.h"
#include "09_decoder/presets.h"
#include "09_decoder/trace.h"
#include "common/console.h"
#include "common/error.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_family(void) {
    Table table = {0};
    table_row(
        &table,
        "model|C|F|layers|heads|KV heads|V|parameters|weights, GiB|KV bytes per token|context");
    for (const char *const *name = config_names(); *name; name++) {
        Config c = config_preset(*name);
        int64_t all = config_parameters(&c);
        table_row(&table, "%s|%d|%d|%d|%d|%d|%d|%" PRId64 "|%.1f|%ld|%d", *name, c.C, c.F, c.L, c.H,
                  c.KV, c.V, all, (double)all * (double)dtype_size(c.dtype) / 0x1p30,
                  kv_bytes_per_token(c.L, c.KV, c.D, 2), c.max_position_embeddings);
    }
    table_print(&table, stdout);
}

/* ---- the sentence, from its tokens to its logits */

/* The residual stream at every stage, laid out as in the sentence's file. */
typedef struct {
    int T;
    float *stages; /* [2 L + 2][T][C] */
} Stream;

static void keep(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    Stream *stream = context;
    float (*stages)[stream->T][C] = (void *)stream->stages;
    memcpy(stages[stage][first], x, (size_t)T * sizeof *x);
}

static const char *stage_text(char text[static 32], int stage, int L) {
    if (stage == 0) return "embedding";
    if (stage == 2 * L + 1) return "last norm";
    snprintf(text, 32, "layer %d, %s", (stage - 1) / 2, stage % 2 ? "attention" : "feed-forward");
    return text;
}

/* Counts the numbers that differ from PyTorch's by more than the bound. */
static int count_far(double bound, int count, const float got[count], const float expected[count]) {
    int far = 0;
    for (int i = 0; i < count; i++) far += !(fabs((double)got[i] - expected[i]) <= bound);
    return far;
}

/* Compares the hidden states of every stage with PyTorch's, and prints their RMS: that of the first
 * token, and the mean of the other tokens'. */
static void compare_with_pytorch(const Model *model, const Sentence *s) {
    int T = s->T, C = s->C, L = s->L, V = s->V;
    const float (*expected)[T][C] = sentence_tensor(s, "stream", 3, 2 * L + 2, T, C);
    float (*stages)[T][C] = xmalloc(sizeof(float[2 * L + 2][T][C])), logits[V];
    Stream stream = {T, stages[0][0]};
    Decoder decoder = decoder_new(model, &reference_kernels, T);
    decoder.hook = keep;
    decoder.context = &stream;
    decoder_eval(&decoder, T, s->ids);
    decoder_logits(&decoder, logits);

    Table table = {0};
    table_row(&table,
              "after|shape|RMS, first token|mean RMS, others|farther than 0.001 from PyTorch's");
    for (int n = 0; n < 2 * L + 2; n++) {
        char text[32];
        double others = 0;
        for (int t = 1; t < T; t++) others += rms(C, stages[n][t]) / (T - 1);
        table_row(&table, "%s|[%d, %d]|%.2f|%.2f|%d of %d", stage_text(text, n, L), T, C,
                  rms(C, stages[n][0]), others,
                  count_far(0.001, T * C, stages[n][0], expected[n][0]), T * C);
    }
    table_row(&table, "logits of the last token|[%d]|%.2f||%d of %d", V, rms(V, logits),
              count_far(0.001, V, logits, sentence_tensor(s, "logits", 1, V)), V);
    table_print(&table, stdout);
    decoder_free(&decoder);
    free(stages);
}

/* For each head, the token that the last token attends to most: the last token has to predict
 * who has the ball. */
static void print_heads(const Model *model, const Sentence *s) {
    int T = s->T;
    float weights[T][T];
    HiddenStates run = record_hidden_states(model, &reference_kernels, T, s->ids);
    Table table = {0};
    table_row(&table, "layer|head|attends most to|position|weight");
    for (int l = 0; l < s->L; l++)
        for (int h = 0; h < s->H; h++) {
            head_weights(model, &run, l, h, weights);
            int most = 0;
            for (int t = 1; t < T; t++)
                if (weights[T - 1][t] > weights[T - 1][most]) most = t;
            table_row(&table, "%d|%d|%s|%d|%.2f", l, h, s->token[most], most, weights[T - 1][most]);
        }
    table_print(&table, stdout);
    head_weights(model, &run, s->layer, s->head, weights);
    printf("Head %d of layer %d gives the answer, position %d, an attention weight of %.2f.\n",
           s->head, s->layer, s->owner, weights[T - 1][s->owner]);
    hidden_states_free(&run);
}

static void demonstrate(void) {
    Config llama3 = config_preset("llama-3-8b");
    Model model = model_open(ROOT "/common/stories/model");
    Sentence sentence = sentence_open();
    section("A Llama, as PyTorch prints it");
    config_print_model(stdout, &llama3);
    section("What it weighs");
    config_print_modules(stdout, &llama3);
    section("The family");
    print_family();
    section("Hidden states on the sentence");
    compare_with_pytorch(&model, &sentence);
    section("What each head attends to");
    print_heads(&model, &sentence);
    sentence_close(&sentence);
    model_close(&model);
}

int main(int argc, char **argv) {
    /* Options are those of build/inspect, which runs models of any format. */
    bool asks_for_help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (argc > 1 && !asks_for_help) run_instead("inspect", argv);
    no_options(
        argc, argv,
        "Chapter 9, the decoder: a demonstration. Your own checkpoints: build/inspect --help.");
    demonstrate();
    return 0;
}
