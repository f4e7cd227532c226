/* inspect: a model in any format, from the inside. Its module tree and what it weighs; its logits
 * and hidden states on some tokens, to be saved, or compared with those of another program. */
#include "09_decoder/model_summary.h"
#include "09_decoder/presets.h"
#include "14_engine/formats/model_open_any.h"
#include "14_engine/hidden_states.h"
#include "common/error.h"
#include "common/file.h"
#include "common/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ the tree */

/* Of a folder config.json is enough; a .gguf and a .bin have the same in their headers. */
static void print_tree(const char *name) {
    struct stat status;
    char path[MODEL_PATH];
    bool exists = stat(name, &status) == 0;
    bool is_file = exists ? !S_ISDIR(status.st_mode) : file_is_there(name);
    Model model = {0};
    if (is_file) model = model_open_any(name);
    else if (exists) model.config = config_read(model_file(path, name, "config.json"));
    else model.config = config_preset(name);
    config_print_model(stdout, &model.config);
    putchar('\n');
    config_print_modules(stdout, &model.config);
    if (is_file) {
        printf("This file has %" PRId64 " bytes.\n", (int64_t)status.st_size);
        model_close(&model);
    } else config_free(&model.config);
}

/* ------------------------------------------------------------------ a run */

static void print_next(const HiddenStates *run) {
    const float *logits = run->logits + (size_t)(run->T - 1) * run->V;
    int best = 0;
    for (int v = 1; v < run->V; v++)
        if (logits[v] > logits[best]) best = v;
    if (run->T == 1) printf("After this token,");
    else printf("After these %d tokens,", run->T);
    printf(" token %d is the most probable: its logit is %.4f.\n", best, logits[best]);
}

static void check_dump_can_be_written(const char *path) {
    if (file_is_mapped(path))
        fail("--save %s: this file is being read, and would be lost: name another one", path);
    /* The header of a .safetensors comes after its length of 8 bytes. */
    if (file_would_be_lost(path, 8, "{"))
        fail("--save %s: this file is no safetensors, and would be lost: name another one", path);
}

/* Without `ids_text` the ids are those of the dump to compare with. Returns the exit status: 1 if a
 * stage differs. */
static int inspect_model(const char *path, const char *ids_text, const char *save_to,
                         const char *dump_path) {
    SafeTensors dump = {0};
    int T;
    bool agrees = true;
    if (dump_path) dump = safetensors_open(dump_path);
    if (!ids_text && !dump_path)
        usage_error("--model needs --token-ids 1,2,3, or a dump to --compare with");
    int *ids = ids_text ? option_ids("token-ids", ids_text, &T) : hidden_states_ids(&dump, &T);

    Model model = model_open_any(path);
    if (save_to) check_dump_can_be_written(save_to);
    HiddenStates run = record_hidden_states(&model, &reference_kernels, T, ids);
    if (dump_path) hidden_states_require(&run, &dump, dump_path);
    char words[200];
    if (hidden_states_are_finite(&run, words)) print_next(&run);
    else if (save_to || dump_path) fprintf(stderr, "note: %s\n", words); /* it is in the dump */
    else fail("%s: %s", path, words);
    if (save_to) hidden_states_save(&run, save_to, path);
    if (dump_path) {
        agrees = hidden_states_compare(&run, &dump);
        safetensors_close(&dump);
    }
    hidden_states_free(&run);
    model_close(&model);
    free(ids);
    return agrees ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *tree = NULL, *model = NULL, *ids = NULL, *save_to = NULL, *dump = NULL;
    const Option options[] = {
        {"summary|tree", "NAME|DIR|FILE",
         "print a model as PyTorch does, and what it weighs: llama-3-8b, or any --model", &tree},
        {"model", "DIR|FILE", "run a Hugging Face folder, a .gguf, or a .bin of llama2.c", &model},
        {"token-ids|ids", "1,2,3", "on these tokens", &ids},
        {"save", "FILE", "write logits and hidden states as .safetensors", &save_to},
        {"compare", "FILE",
         "find the first stage that differs from such a file; without --token-ids, on its ids",
         &dump},
    };
    only_options(argc, argv,
                 "--summary NAME|DIR|FILE | --model DIR|FILE --token-ids 1,2,3 [--save FILE] "
                 "[--compare FILE]",
                 "Shows a model in any format from the inside: its modules; its logits and hidden "
                 "states, equal\n"
                 "to transformers'.",
                 sizeof options / sizeof *options, options);
    if (!model && (ids || save_to || dump))
        usage_error("--token-ids, --save and --compare need --model");
    if (!model && !tree) usage_error("give a --summary or a --model");
    if (tree) print_tree(tree);
    return model ? inspect_model(model, ids, save_to, dump) : 0;
}
