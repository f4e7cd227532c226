/* build/quantize: the file that it writes is the model that it read, and what it cannot write it names. */
#define PROGRAM "'" BUILD "/quantize'"
#include "tests/program.h"
#include "common/gguf.h"

#define MODEL ROOT "/chapters/09_decoder/stories/model"
#define IDS "--ids 399,715,262,461,605,310,420,985"

/* The course's own model, with another line in its config.json; the weights are linked, not copied. */
static void model_with(const char *name, const char *line) {
    assert_int_equal(system(AT("mkdir %s/%s && ln -s '%s'/model.safetensors '%s'/tokenizer.* %s/%s", folder, name, MODEL, MODEL, folder, name)), 0);
    assert_int_equal(system(AT("sed 's/^{/{%s/' '%s'/config.json >%s/%s/config.json", line, MODEL, folder, name)), 0);
}

/* Both read the same text, and no stage differs. */
static void assert_same_model(const char *one, const char *other) {
    assert_int_equal(system(AT("cd %s && '%s/09_decoder' --model %s " IDS " --save one.safetensors >one.txt", folder, BUILD, one)), 0);
    assert_int_equal(system(AT("cd %s && '%s/09_decoder' --model %s --compare one.safetensors >two.txt", folder, BUILD, other)), 0);
}

static void without_a_loss_it_is_the_same_model(void **state) {
    (void)state;
    model_with("plain", "");
    model_with("llama3", "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
                         "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 64},");
    model_with("linear", "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0},");
    model_with("yarn", "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 128},");
    static const char *const names[] = {"plain", "llama3", "linear", "yarn"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(run("%s %s.gguf --type bf16", names[i], names[i]), 0);
        assert_same_model(names[i], AT("%s.gguf", names[i]));
    }
    /* the text, too: the tokenizer is in the file */
    assert_int_equal(system(AT("cd %s && '%s/llama' --model plain.gguf --seed 33 --prompt 'Once upon a time' --tokens 20 --quiet >told.txt", folder, BUILD)), 0);
    assert_int_equal(system(AT("cd %s && '%s/llama' --model plain --seed 33 --prompt 'Once upon a time' --tokens 20 --quiet | cmp - told.txt", folder, BUILD)), 0);
}

/* What is quantized already stands for numbers like any other: F32 keeps them all. */
static void a_quantized_file_is_a_model(void **state) {
    (void)state;
    static const char *const types[] = {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "f16"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_int_equal(run("'%s' %s.gguf --type %s", MODEL, types[i], types[i]), 0);
        assert_non_null(strstr(said, "38 tensors"));
        assert_int_equal(run("%s.gguf wide.gguf --type f32", types[i]), 0);
        assert_same_model(AT("%s.gguf", types[i]), "wide.gguf");
    }
}

/* The same bytes as llama.cpp's own quantizer writes. */
static void the_blocks_are_llama_cpps(void **state) {
    (void)state;
    const char *theirs = AT("%s/../shared/data/gguf/stories-Q8_0.gguf", ROOT);
    if (access(theirs, R_OK) != 0) {
        print_message("skipped: %s is not here\n", theirs);
        return;
    }
    assert_int_equal(run("'%s' ours.gguf", MODEL), 0);
    Gguf a = gguf_open(AT("%s/ours.gguf", folder)), b = gguf_open(theirs);
    assert_int_equal(a.tensor_count, b.tensor_count);
    for (size_t i = 0; i < a.tensor_count; i++) {
        assert_string_equal(a.tensors[i].name, b.tensors[i].name);
        assert_int_equal(a.tensors[i].bytes, b.tensors[i].bytes);
        assert_memory_equal(a.tensors[i].data, b.tensors[i].data, a.tensors[i].bytes);
    }
    gguf_close(&a), gguf_close(&b);
}

static void assert_error(int status, const char *words) {
    if (!strstr(said, words)) fail_msg("\"%s\" does not say \"%s\"", said, words);
    assert_int_equal(status, strncmp(said, "error: ", 7) == 0 && !strstr(said, "usage: ") ? 1 : 2);
    assert_int_equal(system(AT("! test -e %s/x.gguf && ! ls %s/x.gguf.tmp* >/dev/null 2>&1", folder, folder)), 0);
}

static void what_it_cannot_write_it_names(void **state) {
    (void)state;
    assert_error(run("'%s'", MODEL), "give a model and the file to write");
    assert_error(run("'%s' x.gguf --type q3_0", MODEL), "--type q3_0: it must be");
    assert_error(run("nothing x.gguf"), "nothing");
    assert_error(run("'%s' no/where/x.gguf", MODEL), "make its directory first");
    assert_error(run("'%s/tests/golden/models/dynamic' x.gguf --tokenizer '%s'", ROOT, MODEL), "more tokens than the model");
    model_with("dynamic", "\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 4.0},");
    assert_error(run("dynamic x.gguf"), "dynamic scaling");
    assert_error(run("'%s/tests/golden/gguf/mixed.gguf' x.gguf", ROOT), "there is no tokenizer in it");
    assert_int_equal(run("'%s' same.gguf", MODEL), 0);
    assert_int_equal(run("same.gguf same.gguf"), 1);
    assert_non_null(strstr(said, "read and written at once"));
}

/* What somebody changed in a quantized file's header is refused, or the same model: no crash, whatever the byte. Of a file of
 * megabytes every 7th byte of the first 3000 is tried; tests/test_gguf.c tries all of a small one. */
static void a_changed_byte_is_no_crash(void **state) {
    (void)state;
    assert_int_equal(run("'%s' good.gguf --type q4_0", MODEL), 0);
    for (int at = 0; at < 3000; at += 67) {
        assert_int_equal(system(AT("cd %s && cp good.gguf bad.gguf && printf '\\377' | dd of=bad.gguf bs=1 seek=%d conv=notrunc 2>/dev/null", folder, at)), 0);
        int status = system(AT("cd %s && '%s/09_decoder' --model bad.gguf --ids 1,2 >/dev/null 2>&1", folder, BUILD));
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) fail_msg("byte %d as 0xff: status %x", at, status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loss_it_is_the_same_model),
        cmocka_unit_test(a_quantized_file_is_a_model),
        cmocka_unit_test(the_blocks_are_llama_cpps),
        cmocka_unit_test(what_it_cannot_write_it_names),
        cmocka_unit_test(a_changed_byte_is_no_crash),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
