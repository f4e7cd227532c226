/* Chapter 9's files: configurations, weights and requests that cannot be are refused, with one line
 * and status 1; what may be otherwise than in Meta's is read. */
#include "09_decoder/decoder.h"
#include "14_engine/formats/model_open_any.h"
#include "common/error.h"
#include "common/timer.h"
#define PROGRAM "'" BUILD "/inspect'"
#include "tests/cases.h"
#include "tests/checkpoints.h"
#include "tests/llama2c.h"
#include "tests/refused.h"

#include <math.h>
#include <sys/resource.h>

/* The keys' bytes are 2^64: no size_t holds them, and what is left of the product is 0. */
static void ask_for_the_largest_cache(void) {
    Model model = {
        .config = {.C = 2, .F = 2, .L = MOST_LAYERS, .H = 2048, .KV = 2048, .D = 2048, .V = 2}};
    decoder_new(&model, &reference_kernels, MOST_POSITIONS);
}

static void a_cache_that_no_machine_holds_is_refused(void **) {
    assert_refused(ask_for_the_largest_cache, "out of memory");
}

static void shorten_a_mapped_bin(void) {
    Model model = model_open_any(AT("%s/short.bin", folder));
    if (truncate(AT("%s/short.bin", folder), 100) == 0)
        do_not_optimize(tensor_to_float(&model.lm_head));
}

static void a_bin_that_shrinks_is_named(void **) {
    size_t size;
    char *bytes = file_read(AT("%s/interleaved.bin", folder), &size);
    write_bytes("short.bin", size, bytes);
    assert_refused(shorten_a_mapped_bin, "short.bin: its bytes are gone");
    free(bytes);
}

static void a_configuration_is_refused(void **state) {
    const char *const *its = *state;
    write_config("bad", *its[3] ? its[3] : "llama3", its[0], its[1]);
    assert_error(run("--summary bad"), its[2]);
    assert_error(run("--model bad --token-ids 1"), its[2]);
}

static void what_is_no_model_gets_one_line(void **) {
    write_config("bad", "llama3", "", "");
    write_text("bad/config.json", "[]");
    assert_error(run("--summary bad"), "holds no JSON object");
    write_text("bad/config.json", "");
    assert_error(run("--summary bad"), "no valid JSON");
    unlink(AT("%s/bad/config.json", folder));
    assert_error(run("--summary bad"),
                 "error: bad/config.json: cannot open it: No such file or directory\n");
    assert_error(run("--model bad --token-ids 1"),
                 "error: bad: it holds no config.json, as a model's ");
    assert_int_equal(symlink(ROOT "/tests/golden/gguf/plain.gguf", AT("%s/bad/q8.gguf", folder)),
                     0);
    assert_error(run("--model bad --token-ids 1"),
                 "bad: it holds no config.json. Is this the model? bad/q8.gguf\n");
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    write_text("lfs.gguf", pointer);
    assert_error(run("--model lfs.gguf --token-ids 1"),
                 "lfs.gguf: it is git-lfs's note of where the file is");
    write_text("lfs.safetensors", pointer);
    assert_error(run("--model '%s' --compare lfs.safetensors", GOLDEN("llama1")),
                 "lfs.safetensors: it is git-lfs's note of where the file is");
    assert_error(run("--summary llama-4"),
                 "llama-4 is neither a model's folder or file nor one of llama-1-7b, ");
}

static void good_configurations_are_read(void **) {
    const char *config = AT("%s/good/config.json", folder);
    write_config("good", "llama3", "\"rope_theta\": 500000.0",
                 "\"rope_parameters\": {\"rope_theta\": 7, \"type\": \"linear\", \"factor\": 3}");
    Config c = config_read(config);
    assert_true(c.rope.rope_theta == 7 && c.rope.rope_type == ROPE_LINEAR && c.rope.factor == 3);
    assert_true(c.eos_count == 2 && c.eos[0] == 2 && c.eos[1] == 3 && c.dtype == BF16 &&
                c.pad == -1);
    write_config("good", "llama32",
                 "\"rope_parameters\":", "\"rope_scaling\": {}, \"rope_parameters\":");
    c = config_read(config);
    assert_true(c.rope.rope_type == ROPE_LLAMA3 && c.rope.factor > 1);
    write_config("good", "llama3", "\"rope_scaling\": null", "\"rope_scaling\": {}");
    c = config_read(config);
    assert_true(c.rope.rope_type == ROPE_DEFAULT && c.rope.rope_theta == 500000);
    static const struct {
        const char *from, *to;
        int context;
    } windows[] = {{"{", "{\"sliding_window\": null,", 64},
                   {"{", "{\"sliding_window\": 64,", 64},
                   {"{", "{\"sliding_window\": 63,", 63},
                   {"\"max_position_embeddings\": 64",
                    "\"max_position_embeddings\": 32768, \"sliding_window\": 4096", 4096}};
    static const struct {
        const char *name;
        DType dtype;
    } dtypes[] = {
        {"auto", F32}, {"torch.bfloat16", BF16}, {"torch.float16", F16}, {"float64", F64}};
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        write_config("good", "llama3", "\"bfloat16\"", AT("\"%s\"", dtypes[i].name));
        c = config_read(config);
        assert_int_equal(c.dtype, dtypes[i].dtype);
    }
    write_config("good", "llama3", "\"silu\"", "\"swish\"");
    assert_int_equal(config_read(config).C, 32);
    for (size_t i = 0; i < COUNT(windows); i++) {
        write_config("good", "llama3", windows[i].from, windows[i].to);
        c = config_read(config);
        assert_int_equal(config_context(&c), windows[i].context);
    }
    write_config("good", "llama3", "{", "\xEF\xBB\xBF{"); /* as an editor of Windows saves it */
    c = config_read(config);
    assert_int_equal(c.C, 32);
    write_config("good", "yarn", "\"factor\": 4.0", "\"factor\": null");
    c = config_read(config);
    assert_true(c.rope.rope_type == ROPE_YARN && c.rope.factor == 4 &&
                c.rope.original_max_position_embeddings == 16);
    write_config("good", "llama3", "\"eos_token_id\": [", "\"pad_token_id\": 0, \"ends\": [");
    size_t size;
    char *json = file_read(config, &size), *null = strstr(json, "\"pad_token_id\": null,");
    memset(null, ' ', strlen("\"pad_token_id\": null,"));
    write_bytes("good/config.json", size, json);
    c = config_read(config);
    assert_true(c.eos_count == 0 && c.pad == 0);
    free(json);
    c = config_read(AT("%s/config.json", GOLDEN("dynamic")));
    assert_int_equal(config_context(&c), 16);
    assert_true(c.KV == 2 && c.D == 8 && c.rope.rope_type == ROPE_DYNAMIC);
    c = config_read(AT("%s/config.json", GOLDEN("llama1")));
    assert_true(c.KV == 4 && c.rms_norm_eps == 1e-6 && config_context(&c) == 64);
}

/* A Mistral's weights are a Llama's, and so is its answer; a text that is longer than its window is
 * refused. */
static void a_mistral_is_a_llama_up_to_its_window(void **) {
    static const struct {
        const char *window;
        int context; /* of 64 */
    } cases[] = {{"\"sliding_window\": null,", 64}, {"\"sliding_window\": 9,", 9}, {"", 64}};
    assert_runs("--model '%s' --token-ids 1,2,3,4,5,6,7,8,9", GOLDEN("llama3"));
    char llama[sizeof said];
    strcpy(llama, strstr(said, "\n"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_config("mistral", "llama3", "{", AT("{ %s", cases[i].window));
        assert_shell("cd %s/mistral && sed -i 's/Llama/Mistral/; s/\"llama\"/\"mistral\"/' "
                     "config.json && cp '%s'/*.safetensors .",
                     folder, GOLDEN("llama3"));
        assert_runs("--model mistral --token-ids 1,2,3,4,5,6,7,8,9");
        assert_string_equal(strstr(said, "\n"), llama);
        Config c = config_read(AT("%s/mistral/config.json", folder));
        assert_int_equal(config_context(&c), cases[i].context);
        assert_int_equal(run("--model mistral --token-ids 1,2,3,4,5,6,7,8,9,10"),
                         cases[i].context == 9);
        if (cases[i].context == 9)
            assert_error(1, "longer than this model's context of 9, its sliding_window");
    }
    /* What the file leaves out is 4096. */
    write_config("mistral", "llama3", "\"max_position_embeddings\": 64",
                 "\"max_position_embeddings\": 32768");
    assert_int_equal(
        system(
            AT("cd %s/mistral && sed -i 's/Llama/Mistral/; s/\"llama\"/\"mistral\"/' config.json",
               folder)),
        0);
    Config c = config_read(AT("%s/mistral/config.json", folder));
    assert_int_equal(config_context(&c), 4096);
}

/* A path to a folder's weights is the folder; weights of another kind are refused with what
 * converts them. */
static void other_files_of_weights_are_told_apart(void **) {
    assert_runs("--model '%s' --token-ids 1,2,3", GOLDEN("llama2_70b"));
    char whole[sizeof said];
    strcpy(whole, strstr(said, "\n"));
    assert_runs("--model '%s/model.safetensors.index.json' --token-ids 1,2,3",
                GOLDEN("llama2_70b"));
    assert_string_equal(strstr(said, "\n"), whole);
    assert_runs("--model '%s/model.safetensors' --token-ids 1,2,3", GOLDEN("llama3"));
    assert_shell("cd %s && mkdir alone && cp '%s'/*.json '%s'/model.safetensors alone", folder,
                 GOLDEN("llama3"), GOLDEN("llama3"));
    assert_shell("cd %s/alone && " PROGRAM " --model model.safetensors --token-ids 1,2,3 >out",
                 folder);
    assert_shell("cd %s/alone && mv model.safetensors pytorch_model.bin", folder);
    assert_error(run("--model alone --token-ids 1"),
                 "alone: it holds pytorch_model.bin and no model.safetensors. transformers "
                 "writes one beside it: python3 -c \"from sys import argv; from transformers "
                 "import AutoModelForCausalLM as M; M.from_pretrained(argv[1], "
                 "dtype='auto').save_pretrained(argv[2])\" 'alone' 'alone'");
    assert_shell("cd %s/alone && mv pytorch_model.bin pytorch_model.bin.index.json", folder);
    assert_error(run("--model alone --token-ids 1"),
                 "alone: it holds pytorch_model.bin.index.json and no model.safetensors");
    assert_shell("cd %s/alone && rm *.json && touch consolidated.00.pth params.json", folder);
    assert_error(run("--model alone --token-ids 1"),
                 "alone: it is Meta's checkpoint, consolidated.00.pth. ");
    assert_said("python3 '" ROOT "/chapters/14_engine/formats/convert_meta.py' 'alone'");
    assert_shell("mv '%s/alone' \"%s/it's\"", folder, folder);
    assert_error(run("--model \"it's\" --token-ids 1"), "convert_meta.py' 'it'\\''s'");
}

/* Snapshots of links, beside what they point to; and an adapter. */
static void folders_around_a_model_are_named(void **) {
    assert_shell("cd %s && mkdir -p cache/snapshots/3ab && cp -r '%s' cache/blobs && cd "
                 "cache/snapshots/3ab && for f in ../../blobs/*; do ln -s $f .; done",
                 folder, GOLDEN("llama3"));
    assert_runs("--model cache/snapshots/3ab --token-ids 1,2,3");
    assert_error(run("--model cache --token-ids 1"),
                 "error: cache: the model is the folder in its snapshots: name that");
    assert_shell("mkdir %s/lora && echo {} >%s/lora/adapter_config.json", folder, folder);
    assert_error(run("--model lora --token-ids 1"),
                 "error: lora: it holds an adapter, not a model: peft's");
    assert_int_equal(symlink("/nowhere/llama.gguf", AT("%s/lost.gguf", folder)), 0);
    assert_error(run("--model lost.gguf --token-ids 1"),
                 "lost.gguf: it is a link, and what it points to is not there: copy that, too");
    assert_error(run("--summary lost.gguf"),
                 "lost.gguf: it is a link, and what it points to is not there");
    /* With another model's file in the folder: it is not for want of a config.json that this one
     * does not run. */
    assert_int_equal(
        symlink(ROOT "/tests/golden/gguf/plain.gguf", AT("%s/cache/snapshots/3ab/q8.gguf", folder)),
        0);
    static const char *const lost[] = {"model.safetensors", "config.json"};
    for (size_t i = 0; i < COUNT(lost); i++) {
        assert_int_equal(unlink(AT("%s/cache/blobs/%s", folder, lost[i])), 0);
        assert_error(run("--model cache/snapshots/3ab --token-ids 1"),
                     AT("3ab/%s: it is a link, and what it points to is not there: copy that, too",
                        lost[i]));
    }
}

/* As where the Llama is a part of a model that sees. */
static void tensors_of_other_names_get_one_line(void **) {
    Weights weights = open_weights("llama1");
    char(*names)[96] = xmalloc(weights.count * sizeof *names);
    for (size_t i = 0; i < weights.count; i++) {
        snprintf(names[i], sizeof *names, "language_model.%s", weights.tensors[i].name);
        weights.tensors[i].name = names[i];
    }
    write_config("prefixed", "llama1", "{", "{");
    safetensors_save(AT("%s/prefixed/model.safetensors", folder), weights.count, weights.tensors, 0,
                     NULL);
    safetensors_close(&weights.file);
    free(names);
    assert_error(run("--model prefixed --token-ids 1"),
                 "prefixed: its tensors have other names than a Llama's: "
                 "\"language_model.lm_head.weight\", and none is \"model.embed_tokens\"");
}

static void a_tensor_is_refused(void **state) {
    static const double doubles[32];
    const char *const *its = *state, *change = its[1];
    Weights weights = open_weights("llama1");
    Tensor *tensor = named(&weights, its[0]);
    if (strcmp(change, "drop") == 0) *tensor = weights.tensors[--weights.count];
    else if (strcmp(change, "rename") == 0) tensor->name = "lm_haed.weight";
    else if (strcmp(change, "shape") == 0) tensor->shape[0] /= 2;
    else if (strcmp(change, "rank") == 0) {
        tensor->rank = 2;
        tensor->shape[1] = 1;
    } else if (strcmp(change, "dtype") == 0) tensor->dtype = I32;
    else if (strcmp(change, "double") == 0) {
        tensor->dtype = F64;
        tensor->data = doubles;
    } else {
        assert_string_equal(change, "add");
        weights.tensors[weights.count] = *tensor;
        weights.tensors[weights.count++].name = "model.layers.0.self_attn.q_proj.bias";
    }
    const char *path = save_model("bad_tensors", "llama1", &weights);
    assert_error(run("--model '%s' --token-ids 1", path), its[2]);
}

static void missing_and_truncated_weights_get_one_line(void **) {
    write_config("more", "llama1", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000");
    assert_int_equal(run("--model more --token-ids 1"), 1);
    assert_error(1, "it holds neither model.safetensors nor model.safetensors.index.json");
    size_t size;
    char *bytes = file_read(AT("%s/model.safetensors", GOLDEN("llama1")), &size);
    write_bytes("more/model.safetensors", size, bytes);
    assert_error(run("--model more --token-ids 1"),
                 "8982 tensors are missing: model.layers.2.input_layernorm.weight, ");
    write_config("more", "llama1", "{", "{");
    static const size_t cuts[] = {0, 7, 8, 100, 5000, 80000};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        write_bytes("more/model.safetensors", cuts[i], bytes);
        assert_error(run("--model more --token-ids 1"), "model.safetensors: ");
    }
    free(bytes);
}

/* Tensors of no Llama beside a thousand layers cost no more time than beside two. */
static double time_to_refuse(int layers, size_t strange) {
    Weights weights = open_weights("llama1");
    size_t count = 0, most = strange + weights.count * (size_t)layers;
    Tensor *tensors = xmalloc(most * sizeof *tensors);
    char(*names)[64] = xmalloc(most * sizeof *names);
    for (size_t i = 0; i < strange; i++, count++) {
        snprintf(names[count], sizeof *names, "strange.%zu", i);
        tensors[count] =
            (Tensor){.name = names[count], .dtype = F32, .rank = 1, .shape = {0}, .data = ""};
    }
    for (size_t i = 0; i < weights.count; i++) {
        const char *name = weights.tensors[i].name, *rest = strstr(name, "layers.0.");
        for (int l = 0; l < (rest ? layers : 1); l++) {
            if (strstr(name, "layers.1.")) continue;
            tensors[count] = weights.tensors[i];
            if (rest)
                snprintf(names[count], sizeof *names, "model.layers.%d.%s", l,
                         rest + strlen("layers.0."));
            if (rest) tensors[count].name = names[count];
            count++;
        }
    }
    write_config("strange", "llama1", "\"num_hidden_layers\": 2",
                 AT("\"num_hidden_layers\": %d", layers));
    safetensors_save(AT("%s/strange/model.safetensors", folder), count, tensors, 0, NULL);
    safetensors_close(&weights.file);
    free(tensors);
    free(names);

    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    assert_error(run("--model strange --token-ids 1"),
                 AT("%zu tensors of no Llama: strange.", strange));
    getrusage(RUSAGE_CHILDREN, &after);
    return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
           1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
}

static void many_tensors_take_linear_time(void **) {
    enum { STRANGE = 100000, LAYERS = 1000 };
    double few = 0, many = 1e9;
    for (int i = 0; i < 5 && many > 1.3 * few; i++) { /* again if a try was disturbed */
        few = fmax(few, time_to_refuse(1, STRANGE + 9 * (LAYERS - 1)));
        many = fmin(many, time_to_refuse(LAYERS, STRANGE));
    }
    print_message("%d tensors of 1 layer %.2f s, of %d layers %.2f s\n", STRANGE + 9 * LAYERS, few,
                  LAYERS, many);
    if (many > 1.3 * few)
        fail_msg("refusing them takes %.2f s beside 1000 layers, %.2f beside 1", many, few);
}

static void make_shards(const char *from, const char *to) {
    const char *golden = GOLDEN("llama2_70b");
    write_config("shards", "llama2_70b", "", "");
    assert_shell("cp '%s'/model-*.safetensors %s/shards", golden, folder);
    write_replaced("shards/model.safetensors.index.json",
                   AT("%s/model.safetensors.index.json", golden), from, to);
}

static void an_index_of_shards_is_refused(void **state) {
    const char *const *its = *state;
    make_shards(its[0], its[1]);
    assert_error(run("--model shards --token-ids 1"), its[2]);
}

static void shards_are_the_model_or_get_one_line(void **) {
    make_shards("", "");
    assert_runs("--model shards --compare '%s/expected.safetensors'", GOLDEN("llama2_70b"));
    truncate(AT("%s/shards/model-00002-of-00002.safetensors", folder), 9000);
    assert_error(run("--model shards --token-ids 1"), "model-00002-of-00002.safetensors: tensor ");
    assert_error(run("--model shards/model-00001-of-00002.safetensors --token-ids 1"),
                 "it has weights alone: name the folder");
}

/* A .bin with these numbers in its header. */
static void a_bin_is_refused(void **state) {
    const char *const *its = *state;
    size_t size;
    char *bytes = file_read(AT("%s/interleaved.bin", folder), &size), *end = (char *)its[0];
    for (int i = 0; *end; i++) ((int *)bytes)[i] = (int)strtol(end, &end, 10);
    write_bytes("bad.bin", size, bytes);
    assert_error(run("--model bad.bin --token-ids 1"), its[1]);
    free(bytes);
}

static void a_short_bin_is_refused(void **) {
    write_bytes("bad.bin", 27, (char[27]){1});
    assert_error(run("--model bad.bin --token-ids 1"),
                 "27 bytes do not even hold the header of a .bin: truncated");
}

static void a_pipe_is_no_file(void **) {
    static const char *const pipes[] = {"config.json", "model.safetensors.index.json",
                                        "model.safetensors"};
    for (size_t i = 0; i < COUNT(pipes); i++) { /* nobody writes to them */
        write_config("pipe", "llama3", "{", "{");
        unlink(AT("%s/pipe/%s", folder, pipes[i]));
        assert_int_equal(mkfifo(AT("%s/pipe/%s", folder, pipes[i]), 0666), 0);
        assert_error(run("--model pipe --token-ids 1"),
                     AT("%s: it is not a regular file", pipes[i]));
        unlink(AT("%s/pipe/%s", folder, pipes[i]));
    }
}

static void a_tree_is_of_any_model(void **) {
    const char *const paths[] = {AT("%s/interleaved.bin", folder), GOLDEN("mixed.gguf")};
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct stat status;
        assert_int_equal(stat(paths[i], &status), 0);
        assert_runs("--summary '%s'", paths[i]);
        assert_said("LlamaForCausalLM(\n  (model): LlamaModel(\n");
        assert_said(AT("\nThis file has %lld bytes.\n", (long long)status.st_size));
    }
    assert_runs("--summary '%s'", GOLDEN("llama2_70b"));
    assert_null(strstr(said, "This file has"));
    assert_error(run("--summary '%s/config.json'", GOLDEN("llama2_70b")),
                 "this is no .bin of llama2.c: name one, a .gguf or a model's folder");
    assert_shell("head -c 4000 /dev/zero >%s/hollow.gguf", folder); /* a download that never came */
    assert_error(run("--summary '%s/hollow.gguf'", folder),
                 "hollow.gguf: it does not begin with GGUF");
}

/* The tests' folder, and a golden model in llama2.c's layout in it. */
static int make_folder_with_bin(void **state) {
    if (make_folder(state) || setenv("LLAMA3", GOLDEN("llama3"), 1)) return -1;
    Model model = model_open(GOLDEN("llama2_70b"));
    write_bin(AT("%s/interleaved.bin", folder), &model);
    model_close(&model);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_that_no_machine_holds_is_refused),
        cmocka_unit_test(a_bin_that_shrinks_is_named),
        cmocka_unit_test(what_is_no_model_gets_one_line),
        cmocka_unit_test(good_configurations_are_read),
        cmocka_unit_test(a_mistral_is_a_llama_up_to_its_window),
        cmocka_unit_test(other_files_of_weights_are_told_apart),
        cmocka_unit_test(folders_around_a_model_are_named),
        cmocka_unit_test(tensors_of_other_names_get_one_line),
        cmocka_unit_test(missing_and_truncated_weights_get_one_line),
        cmocka_unit_test(many_tensors_take_linear_time),
        cmocka_unit_test(shards_are_the_model_or_get_one_line),
        cmocka_unit_test(a_short_bin_is_refused),
        cmocka_unit_test(a_pipe_is_no_file),
        cmocka_unit_test(a_tree_is_of_any_model),
    };
    static const Check checks[] = {
        CHECK(a_configuration_is_refused), CHECK(an_index_of_shards_is_refused),
        CHECK(a_tensor_is_refused),        CHECK(a_bin_is_refused),
        CHECK(a_request_is_refused),       CHECK(a_misuse_is_refused)};
    return run_with_cases("formats/model", COUNT(tests), tests, COUNT(checks), checks,
                          make_folder_with_bin, remove_folder);
}
