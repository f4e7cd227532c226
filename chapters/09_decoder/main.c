/* Chapter 9: the decoder. The module tree, the family in numbers, and the course's sentence from tokens to logits; and
 * with --model any checkpoint: its logits and hidden states, to be saved, or compared with another program's. */
#include "06_grouped_query/grouped_query.h"
#include "09_decoder/family.h"
#include "09_decoder/print_tree.h"
#include "09_decoder/run_model.h"
#include "09_decoder/trace.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/numbers.h"
#include "common/options.h"
#include "common/sentence.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH = 4096 };

/* ---- the tree, and what it weighs */

/* A matrix, or a vector where rows is 0, that the model has `count` times. */
static void module_row(Table *table, const Config *c, const char *name, int count, int rows, int columns) {
    size_t shape[] = {(size_t)rows, (size_t)columns};
    char text[SHAPE_TEXT];
    int64_t each = (int64_t)(rows ? rows : 1) * columns, all = count * each;
    shape_text(text, rows ? 2 : 1, rows ? shape : shape + 1);
    table_row(table, "%s|%s|%" PRId64 "|%d|%" PRId64 "|%" PRId64, name, text, each, count, all,
              all * (int64_t)dtype_size(c->dtype));
}

static void print_modules(const Config *c) {
    Table table = {0};
    int C = c->C, F = c->F, L = c->L, queries = c->H * c->D, keys = c->KV * c->D;
    table_row(&table, "module|shape|parameters|times|in all|bytes in %s", dtype_name(c->dtype));
    module_row(&table, c, "embed_tokens", 1, c->V, C);
    module_row(&table, c, "layers.N.input_layernorm", L, 0, C);
    module_row(&table, c, "layers.N.self_attn.q_proj", L, queries, C);
    module_row(&table, c, "layers.N.self_attn.k_proj", L, keys, C);
    module_row(&table, c, "layers.N.self_attn.v_proj", L, keys, C);
    module_row(&table, c, "layers.N.self_attn.o_proj", L, C, queries);
    module_row(&table, c, "layers.N.post_attention_layernorm", L, 0, C);
    module_row(&table, c, "layers.N.mlp.gate_proj", L, F, C);
    module_row(&table, c, "layers.N.mlp.up_proj", L, F, C);
    module_row(&table, c, "layers.N.mlp.down_proj", L, C, F);
    if (c->attention_bias) module_row(&table, c, "layers.N.self_attn's biases", L, 0, queries + 2 * keys + C);
    if (c->mlp_bias) module_row(&table, c, "layers.N.mlp's biases", L, 0, 2 * F + C);
    module_row(&table, c, "norm", 1, 0, C);
    module_row(&table, c, c->tie_word_embeddings ? "lm_head (it is embed_tokens)" : "lm_head", !c->tie_word_embeddings,
               c->V, C);
    int64_t all = config_parameters(c);
    table_row(&table, "all||||%" PRId64 "|%" PRId64, all, all * (int64_t)dtype_size(c->dtype));
    table_print(&table, stdout);
    printf("A token leaves %ld bytes in the KV cache in float32, %ld in 16 bits.\n",
           kv_bytes_per_token(c->L, c->KV, c->D, 4), kv_bytes_per_token(c->L, c->KV, c->D, 2));
}

/* A folder's config.json is enough; a .gguf and a .bin say the same within. */
static void print_tree(const char *name) {
    struct stat status;
    char path[PATH];
    bool exists = stat(name, &status) == 0, is_file = exists ? !S_ISDIR(status.st_mode) : file_is_there(name);
    Model model = {0};
    snprintf(path, sizeof path, "%s/config.json", name);
    if (is_file) model = model_open(name);
    else model.config = exists ? config_read(path) : config_preset(name);
    config_print_tree(stdout, &model.config), putchar('\n');
    print_modules(&model.config);
    if (is_file) printf("This file has %" PRId64 " bytes.\n", (int64_t)status.st_size), model_close(&model);
    else config_free(&model.config);
}

static void print_family(void) {
    Table table = {0};
    table_row(&table, "model|C|F|layers|heads|KV heads|V|parameters|weights, GiB|KV bytes a token|context");
    for (const char *const *name = config_names(); *name; name++) {
        Config c = config_preset(*name);
        int64_t all = config_parameters(&c);
        table_row(&table, "%s|%d|%d|%d|%d|%d|%d|%" PRId64 "|%.1f|%ld|%d", *name, c.C, c.F, c.L, c.H, c.KV, c.V, all,
                  (double)all * (double)dtype_size(c.dtype) / 0x1p30, kv_bytes_per_token(c.L, c.KV, c.D, 2),
                  c.max_position_embeddings);
    }
    table_print(&table, stdout);
}

/* ---- the sentence, from its tokens to its logits */

/* Every stage of the stream, as the sentence's file has them. */
typedef struct {
    int T;
    float *stages; /* [2 L + 2][T][C] */
} Stream;

static void keep(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    Stream *stream = context;
    float(*stages)[stream->T][C] = (void *)stream->stages;
    memcpy(stages[stage][first], x, (size_t)T * sizeof *x);
}

static const char *stage_text(char text[static 32], int stage, int L) {
    if (stage == 0) return "embedding";
    if (stage == 2 * L + 1) return "last norm";
    snprintf(text, 32, "layer %d, %s", (stage - 1) / 2, stage % 2 ? "attention" : "feed-forward");
    return text;
}

/* Numbers that are farther from PyTorch's than so. */
static int count_far(double bound, int count, const float got[count], const float expected[count]) {
    int far = 0;
    for (int i = 0; i < count; i++) far += !(fabs((double)got[i] - expected[i]) <= bound);
    return far;
}

/* The stream grows from stage to stage: at the first token, and at the others on average. */
static void read_the_sentence(const Model *model, const Sentence *s) {
    int T = s->T, C = s->C, L = s->L, V = s->V;
    const float(*expected)[T][C] = sentence_tensor(s, "stream", 3, 2 * L + 2, T, C);
    float(*stages)[T][C] = allocate(sizeof(float[2 * L + 2][T][C])), logits[V];
    Stream stream = {T, stages[0][0]};
    Decoder decoder = decoder_new(model, &reference_kernels, T);
    decoder.watch = keep, decoder.context = &stream;
    decoder_read(&decoder, T, s->ids);
    decoder_logits(&decoder, logits);

    Table table = {0};
    table_row(&table, "after|shape|size of the first row|of the others|farther than 0.001 from PyTorch's");
    for (int n = 0; n < 2 * L + 2; n++) {
        char text[32];
        double others = 0;
        for (int t = 1; t < T; t++) others += row_size(C, stages[n][t]) / (T - 1);
        table_row(&table, "%s|[%d, %d]|%.2f|%.2f|%d of %d", stage_text(text, n, L), T, C, row_size(C, stages[n][0]),
                  others, count_far(0.001, T * C, stages[n][0], expected[n][0]), T * C);
    }
    table_row(&table, "logits of the last token|[%d]|%.2f||%d of %d", V, row_size(V, logits),
              count_far(0.001, V, logits, sentence_tensor(s, "logits", 1, V)), V);
    table_print(&table, stdout);
    decoder_free(&decoder), free(stages);
}

/* Where each head looks most from the last token, which has to say who has the ball. */
static void print_heads(const Model *model, const Sentence *s) {
    int T = s->T;
    float weights[T][T];
    Trace run = trace(model, &reference_kernels, T, s->ids);
    Table table = {0};
    table_row(&table, "layer|head|looks most at|token|weight");
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
    printf("Head %d of layer %d looks at the answer, token %d, with a weight of %.2f.\n", s->head, s->layer, s->owner,
           weights[T - 1][s->owner]);
    trace_free(&run);
}

static void demonstrate(void) {
    Config llama3 = config_preset("llama-3-8b");
    Model model = model_open(ROOT "/chapters/09_decoder/stories/model");
    Sentence sentence = sentence_open();
    section("A Llama, as PyTorch prints it");
    config_print_tree(stdout, &llama3);
    section("What it weighs");
    print_modules(&llama3);
    section("The family");
    print_family();
    section("A story, read");
    read_the_sentence(&model, &sentence);
    section("Who has the red ball?");
    print_heads(&model, &sentence);
    sentence_close(&sentence), model_close(&model);
}

int main(int argc, char **argv) {
    const char *tree = NULL, *model = NULL, *ids = NULL, *save_to = NULL, *dump = NULL;
    const Option options[] = {
        {"tree", "NAME|DIR|FILE", "print a model as PyTorch does, and what it weighs: llama-3-8b, or any --model",
         &tree},
        {"model", "DIR|FILE", "run a Hugging Face folder, a .gguf, or a .bin of llama2.c", &model},
        {"ids", "1,2,3", "on these tokens", &ids},
        {"save", "FILE", "write logits and hidden states as .safetensors", &save_to},
        {"compare", "FILE", "find the first stage that differs from such a file; without --ids, on its ids", &dump},
    };
    only_options(argc, argv, "[--tree NAME|DIR|FILE] [--model DIR|FILE --ids 1,2,3 [--save FILE] [--compare FILE]]",
                 "Chapter 9, the decoder: any Llama checkpoint, equal to transformers. Without --tree and --model,\n"
                 "a demonstration.", sizeof options / sizeof *options, options);
    if (!model && (ids || save_to || dump)) usage_error("--ids, --save and --compare need --model");
    if (tree) print_tree(tree);
    if (model) return run_model(model, ids, save_to, dump);
    if (!tree) demonstrate();
    return 0;
}
