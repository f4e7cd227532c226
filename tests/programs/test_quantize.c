/* build/quantize: the file that it writes is the model that it read, and what it cannot write it
 * names. */
#define PROGRAM "'" BUILD "/quantize'"
#include "tests/llama2c.h"
#include "tests/program.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "15_tensor_parallel/shard_model.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/output.h"
#include "common/random.h"
#include "common/safetensors.h"
#include "tests/refused.h"

#include <float.h>
#include <jansson.h>
#include <math.h>

#define MODEL ROOT "/common/stories/model"
#define IDS "--token-ids 399,715,262,461,605,310,420,985"

/* The course's own model, with another line in its config.json; the weights are linked, not copied.
 */
static void model_with(const char *name, const char *line) {
    assert_shell("mkdir %s/%s && ln -s '%s'/model.safetensors '%s'/tokenizer.* %s/%s", folder, name,
                 MODEL, MODEL, folder, name);
    assert_shell("sed 's/^{/{%s/' '%s'/config.json >%s/%s/config.json", line, MODEL, folder, name);
}

/* The same with a bias in every projection. */
static void model_with_biases(const char *name) {
    SafeTensors file = safetensors_open(MODEL "/model.safetensors");
    size_t count = file.count;
    Tensor tensors[2 * count];
    float numbers[4096];
    char names[count][64];
    random_fill(&(Random){7}, 4096, numbers);
    memcpy(tensors, file.tensors, count * sizeof *tensors);
    for (size_t i = 0; i < file.count; i++) {
        const char *end = strstr(tensors[i].name, "_proj.weight");
        if (!end) continue;
        snprintf(names[i], sizeof names[i], "%.*s_proj.bias", (int)(end - tensors[i].name),
                 tensors[i].name);
        assert_true(tensors[i].shape[0] <= 4096);
        tensors[count++] = (Tensor){.name = names[i],
                                    .dtype = F32,
                                    .rank = 1,
                                    .shape = {tensors[i].shape[0]},
                                    .data = numbers};
    }
    model_with(name, "\"attention_bias\": true, \"mlp_bias\": true,");
    assert_int_equal(unlink(AT("%s/%s/model.safetensors", folder, name)), 0);
    assert_shell("sed -i 's/_bias\": false/_nobias\": false/' %s/%s/config.json", folder, name);
    safetensors_save(AT("%s/%s/model.safetensors", folder, name), count, tensors, 0, NULL);
    safetensors_close(&file);
}

/* Both read the same text, and no stage differs. */
static void assert_same_model(const char *one, const char *other) {
    assert_shell("cd %s && '%s/inspect' --model %s " IDS " --save one.safetensors >one.txt", folder,
                 BUILD, one);
    assert_shell("cd %s && '%s/inspect' --model %s --compare one.safetensors >two.txt", folder,
                 BUILD, other);
}

static void without_a_loss_it_is_the_same_model(void **) {
    model_with("plain", "");
    model_with(
        "llama3",
        "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
        "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 64},");
    model_with("linear", "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4.0},");
    model_with("yarn", "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
                       "\"original_max_position_embeddings\": 128},");
#define FACTORS "1.0, 1.1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7"
#define LONGROPE(context)                                                                          \
    "\"rope_scaling\": {\"rope_type\": \"longrope\", "                                             \
    "\"original_max_position_embeddings\": " context ", \"short_factor\": [1.0, " FACTORS          \
    "], \"long_factor\": [" FACTORS ", 8]},"
    model_with("short", LONGROPE("256"));
    model_with("long", LONGROPE("2")); /* which the text is longer than */
    model_with_biases("biases");
    static const char *const names[] = {"plain", "llama3", "linear", "yarn",
                                        "short", "long",   "biases"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_runs("%s %s.gguf --type bf16", names[i], names[i]);
        assert_same_model(names[i], AT("%s.gguf", names[i]));
    }
    /* the text, too: the tokenizer is in the file */
    assert_shell("cd %s && '%s/llama' --model plain.gguf --seed 33 --prompt 'Once "
                 "upon a time' --max-tokens 20 --quiet >told.txt",
                 folder, BUILD);
    assert_shell("cd %s && '%s/llama' --model plain --seed 33 --prompt 'Once upon a "
                 "time' --max-tokens 20 --quiet | cmp - told.txt",
                 folder, BUILD);
}

/* What is quantized already stands for numbers like any other: F32 keeps them all. */
static void a_quantized_file_is_a_model(void **) {
    static const char *const types[] = {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "f16"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_runs("'%s' %s.gguf --type %s", MODEL, types[i], types[i]);
        assert_non_null(strstr(said, "38 tensors"));
        assert_non_null(strstr(said, "The norms stay F32"));
        assert_runs("%s.gguf wide.gguf --type f32", types[i]);
        assert_null(strstr(said, "The norms stay F32")); /* all of them do */
        assert_same_model(AT("%s.gguf", types[i]), "wide.gguf");
    }
}

/* A file that llama.cpp quantized, widened and quantized again, has the bytes that it had: the
 * largest of a block is 127 times its scale, and so the scale comes out once more. */
static void the_blocks_are_llama_cpps(void **) {
    const char *theirs = AT("%s/../shared/data/gguf/stories-Q8_0.gguf", ROOT);
    if (access(theirs, R_OK) != 0) {
        print_message("skipped: %s is not here\n", theirs);
        return;
    }
    assert_runs("'%s' widened.gguf --type f32", theirs);
    assert_runs("widened.gguf ours.gguf");
    Gguf a = gguf_open(AT("%s/ours.gguf", folder)), b = gguf_open(theirs);
    assert_int_equal(a.tensor_count, b.tensor_count);
    for (size_t i = 0; i < a.tensor_count; i++) {
        assert_string_equal(a.tensors[i].name, b.tensors[i].name);
        assert_int_equal(a.tensors[i].bytes, b.tensors[i].bytes);
        assert_memory_equal(a.tensors[i].data, b.tensors[i].data, a.tensors[i].bytes);
    }
    gguf_close(&a);
    gguf_close(&b);
}

static void assert_error_and_no_file(int status, const char *words) {
    if (!strstr(said, words)) fail_msg("\"%s\" does not say \"%s\"", said, words);
    assert_int_equal(status, strncmp(said, "error: ", 7) == 0 && !strstr(said, "usage: ") ? 1 : 2);
    assert_shell("! test -e %s/x.gguf && ! ls %s/x.gguf.tmp* >/dev/null 2>&1", folder, folder);
}

/* The tokenizer.json of a folder, with a change, in this test's. */
static void write_json(const char *path, const char *from, const char *to) {
    write_replaced("tokenizer.json", AT("%s/tokenizer.json", path), from, to);
}

#define OWN                                                                                        \
    "{\"id\":720,\"content\":\"[INST]\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"  \
    "\"normalized\":false,"                                                                        \
    "\"special\":false}"
#define OTHER                                                                                      \
    "{\"id\":721,\"content\":\"[/"                                                                 \
    "INST]\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,"        \
    "\"special\":false}"

/* GGUF has scores where a tokenizer.json of SentencePiece's family has merges: the ids are the
 * same. */
static void merges_become_scores(void **) {
    write_json(ROOT "/tests/golden/tokenizers/prepend", "," OWN "," OTHER, "");
    assert_runs("'%s' merges.gguf --tokenizer tokenizer.json", MODEL);
    Tokenizer *json = tokenizer_open_any(AT("%s/tokenizer.json", folder)),
              *gguf = tokenizer_open_any(AT("%s/merges.gguf", folder));
    json_t *expected = json_load_file(AT("%s/tests/golden/tokenizers/expected.json", ROOT),
                                      JSON_ALLOW_NUL, NULL),
           *text;
    size_t i, count, others;
    json_array_foreach(json_object_get(expected, "texts"), i, text) {
        int *ids = tokenizer_encode(json, json_string_length(text), json_string_value(text), false,
                                    &count);
        int *its = tokenizer_encode(gguf, json_string_length(text), json_string_value(text), false,
                                    &others);
        if (others != count || (count && memcmp(ids, its, count * sizeof *ids) != 0))
            fail_msg("\"%s\" has other ids", json_string_value(text));
        free(ids), free(its);
    }
    assert_true(i > 100);
    json_decref(expected);
    tokenizer_close(json);
    tokenizer_close(gguf);

    write_json(folder, ",[\"数\",\"字\"]", "");
    assert_error_and_no_file(run("'%s' x.gguf --tokenizer tokenizer.json", MODEL),
                             "does not merge all that makes a token, as \"数字\"");
    write_json(ROOT "/tests/golden/tokenizers/prepend", "", "");
    assert_error_and_no_file(run("'%s' x.gguf --tokenizer tokenizer.json", MODEL),
                             "begins anew behind an added token");
    write_json(ROOT "/tests/golden/tokenizers/metaspace", "," OWN "," OTHER, "");
    assert_error_and_no_file(run("'%s' x.gguf --tokenizer tokenizer.json", MODEL),
                             "a text that begins with a space gets no other");
}

/* In blocks of 4 bits, a NaN would be one of the levels, and the story a good one. */
static void a_damaged_model_is_not_made_sound(void **) {
    static const float strange[] = {NAN, INFINITY, -INFINITY};
    model_with_biases("sound");
    model_with_biases("damaged");
    SafeTensors file = safetensors_open(AT("%s/sound/model.safetensors", folder));
    Tensor tensors[file.count], *last = &tensors[file.count - 1];
    memcpy(tensors, file.tensors, sizeof tensors);
    float numbers[tensor_count(last)];
    memcpy(numbers, last->data, sizeof numbers);
    last->data = numbers;
    for (int k = 0; k < 3; k++) {
        numbers[5] = strange[k];
        safetensors_save(AT("%s/damaged/model.safetensors", folder), file.count, tensors, 0, NULL);
        for (const char *const *type = (const char *const[]){"q8_0", "q4_1", "q5_0", "f32", NULL};
             *type; type++)
            assert_error_and_no_file(
                run("damaged x.gguf --type %s", *type),
                "blk.3.ffn_down.bias: its number 5 is NaN or infinite: the model is damaged");
    }
    safetensors_close(&file);
}

/* What a float16 does not hold, be it a number itself or a block's scale, would be infinite when it
 * is read. */
static void a_number_may_be_too_large_for_a_type(void **) {
    static const struct {
        const char *type;
        float fits, too_large;
    } cases[] = {{"f16", 65504, 65536},  {"q8_0", 8e6f, 9e6f},   {"q4_0", 5e5f, 6e5f},
                 {"q5_0", 1e6f, 1.1e6f}, {"q4_1", 9e5f, 1.1e6f}, {"bf16", 3.3e38f, FLT_MAX}};
    model_with_biases("small");
    model_with_biases("large");
    SafeTensors file = safetensors_open(AT("%s/small/model.safetensors", folder));
    Tensor tensors[file.count], *matrix = tensors;
    memcpy(tensors, file.tensors, sizeof tensors);
    while (!strstr(matrix->name, "up_proj.weight")) matrix++;
    float *numbers = tensor_to_float(matrix);
    matrix->dtype = F32;
    matrix->data = numbers;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        numbers[5] = cases[c].fits;
        safetensors_save(AT("%s/large/model.safetensors", folder), file.count, tensors, 0, NULL);
        assert_runs("large fits.gguf --type %s", cases[c].type);
        numbers[5] = cases[c].too_large;
        safetensors_save(AT("%s/large/model.safetensors", folder), file.count, tensors, 0, NULL);
        assert_error_and_no_file(run("large x.gguf --type %s", cases[c].type),
                                 "up_proj.weight: it has a number too large for ");
    }
    free(numbers);
    safetensors_close(&file);
}

/* Such a file holds no tokenizer: the one beside it is taken, or the one that is named. Where none
 * is, llama and chapter 15 say the same. */
static void a_tokenizer_lies_beside_a_bin(void **) {
    static const char words[] = "bin/model.bin: no tokenizer.json, tokenizer.model or "
                                "tokenizer.bin lies beside it: --tokenizer PATH names one";
    Model model = model_open(MODEL);
    assert_shell("mkdir %s/bin", folder);
    write_bin(AT("%s/bin/model.bin", folder), &model);
    model_close(&model);
    assert_error_and_no_file(run("bin/model.bin x.gguf"), words);
    assert_error_and_no_file(run("--help >help && '%s/llama' --model bin/model.bin", BUILD), words);
    assert_error_and_no_file(
        run("--help >help && '%s/15_tensor_parallel' --model bin/model.bin --prompt x", BUILD),
        words);
    assert_runs("bin/model.bin named.gguf --tokenizer '%s'", MODEL);
    assert_shell("cp '%s'/tokenizer.* %s/bin", MODEL, folder);
    assert_runs("bin/model.bin beside.gguf && cmp named.gguf beside.gguf");
}

static void what_it_cannot_write_it_names(void **) {
    assert_error_and_no_file(run("'%s'", MODEL), "give a model and the file to write");
    assert_error_and_no_file(run("'%s' ''", MODEL), "give a model and the file to write");
    assert_error_and_no_file(run("'%s' x.gguf --type q3_0", MODEL), "--type q3_0: it must be");
    assert_shell("echo my notes >%s/notes", folder);
    assert_error_and_no_file(run("'%s' notes", MODEL),
                             "notes: this file is no GGUF, and would be lost");
    assert_error_and_no_file(run("nothing x.gguf"), "nothing");
    assert_error_and_no_file(run("'%s' no/where/x.gguf", MODEL), "make its directory first");
    assert_error_and_no_file(
        run("'%s/tests/golden/models/dynamic' x.gguf --tokenizer '%s'", ROOT, MODEL),
        "more tokens than the model");
    model_with("dynamic", "\"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 4.0},");
    assert_error_and_no_file(run("dynamic x.gguf"), "dynamic scaling");
    assert_error_and_no_file(run("'%s/tests/golden/gguf/mixed.gguf' x.gguf", ROOT),
                             "there is no tokenizer in it");
    assert_runs("'%s' same.gguf", MODEL);
    assert_int_equal(run("same.gguf same.gguf"), 1);
    assert_non_null(strstr(said, "read and written at once"));
}

/* A chat model goes on to be talked to in its own form: from its folder, and from the GGUF file
 * made of that. */
static void a_chat_template_goes_along(void **) {
    static const char own[] =
        "{{ bos_token }}{% for m in messages %}Mia: {{ m.content }}{% endfor %}";
    model_with("talks", "");
    FILE *file = fopen(AT("%s/talks/chat_template.jinja", folder), "w");
    fputs(own, file);
    assert_int_equal(fclose(file), 0);
    assert_runs("talks talks.gguf --quiet");
    assert_runs("talks.gguf again.gguf --quiet");
    Gguf made = gguf_open(AT("%s/again.gguf", folder));
    const GgufPair *pair = gguf_pair(&made, "tokenizer.chat_template");
    assert_non_null(pair);
    const unsigned char *place = pair->bytes;
    GgufText template = gguf_text(&place);
    assert_int_equal(template.length, strlen(own));
    assert_memory_equal(template.letters, own, template.length);
    gguf_close(&made);
}

/* What somebody changed in a quantized file's header is refused, or the same model: no crash,
 * whatever the byte. Of a file of megabytes every 7th byte of the first 3000 is tried;
 * tests/formats/test_gguf.c tries all of a small one. */
static void a_changed_byte_is_no_crash(void **) {
    assert_runs("'%s' good.gguf --type Q4_0", MODEL);
    for (int at = 0; at < 3000; at += 67) {
        assert_shell("cd %s && cp good.gguf bad.gguf && printf '\\377' | dd "
                     "of=bad.gguf bs=1 seek=%d conv=notrunc 2>/dev/null",
                     folder, at);
        int status =
            system(AT("cd %s && '%s/inspect' --model bad.gguf --token-ids 1,2 >/dev/null 2>&1",
                      folder, BUILD));
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            fail_msg("byte %d as 0xff: status %x", at, status);
    }
}

/* Ranks get whole blocks and whole heads. */
static int cut_into;
static const char *cut_file;
static void cut(void) { shard_open(AT("%s/%s", folder, cut_file), cut_into, 0); }

static void a_model_is_cut_between_its_blocks(void **) {
    static const struct {
        const char *file;
        int ranks;
        const char *words;
    } cases[] = {
        {"wide.gguf", 4,
         "num_attention_heads 6 and num_key_value_heads 2 cannot be cut for 4 ranks: take 1, 2, 3, "
         "6"},
        {"wide.gguf", 12, "cannot be cut for 12 ranks: take 1, 2, 3, 6"},
        {"narrow.gguf", 4,
         "for 4 ranks o_proj is cut every 8 numbers, and its Q4_0 has blocks of 32"},
        {"flat.gguf", 4, "its intermediate_size 96 has 3 blocks of Q4_0, too few for 4 ranks"},
    };
    static const char *const shapes[][2] = {
        {"narrow", "\"hidden_size\": 32, \"intermediate_size\": 64"},
        {"flat", "\"hidden_size\": 128, \"intermediate_size\": 96"}};
    assert_runs("'%s' wide.gguf --type q4_0", MODEL);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(AT("%s/shape.json", folder), "w");
        fprintf(file,
                "{\"model_type\": \"llama\", \"vocab_size\": 1024, %s, \"num_attention_heads\": 4, "
                "\"num_hidden_layers\": 1}",
                shapes[i][1]);
        fclose(file);
        assert_shell("cd %s && echo Once >text && '%s/train' --config shape.json --tokenizer '%s' "
                     "--data text --batch-size 1 --seq-len 8 --steps 1 --out %s >/dev/null",
                     folder, BUILD, MODEL, shapes[i][0]);
        assert_runs("%s %s.gguf --type q4_0", shapes[i][0], shapes[i][0]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cut_file = cases[i].file;
        cut_into = cases[i].ranks;
        assert_refused(cut, cases[i].words);
    }
    Shard shard = shard_open(AT("%s/wide.gguf", folder), 6, 5);
    assert_int_equal(shard.model.config.H, 1);
    shard_close(&shard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_loss_it_is_the_same_model),
        cmocka_unit_test(a_quantized_file_is_a_model),
        cmocka_unit_test(the_blocks_are_llama_cpps),
        cmocka_unit_test(merges_become_scores),
        cmocka_unit_test(a_damaged_model_is_not_made_sound),
        cmocka_unit_test(a_number_may_be_too_large_for_a_type),
        cmocka_unit_test(a_tokenizer_lies_beside_a_bin),
        cmocka_unit_test(what_it_cannot_write_it_names),
        cmocka_unit_test(a_chat_template_goes_along),
        cmocka_unit_test(a_changed_byte_is_no_crash),
        cmocka_unit_test(a_model_is_cut_between_its_blocks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
