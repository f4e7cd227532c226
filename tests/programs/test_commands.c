/* What the programs of chapters 9 to 13 make of files that are in order, but not as usual: a dump
 * that lacks something, a tokenizer without a beginning, rows that no block fits, a text that ends
 * in the middle of a character. */
#include "common/safetensors.h"
#include "tests/program.h"

#define GOLDEN ROOT "/tests/golden/"
#define STORIES ROOT "/common/stories/model"

/* ------------------------------------------------------------------ a dump of a model's stages */

/* The dump of a golden model, with one tensor of it changed, or none where it has no name; its
 * status. */
static int compare_with(const char *name, void change(Tensor *tensor)) {
    SafeTensors dump = safetensors_open(GOLDEN "models/llama3/expected.safetensors");
    Tensor tensors[dump.count];
    memcpy(tensors, dump.tensors, sizeof tensors);
    change(&tensors[safetensors_find(&dump, name) - dump.tensors]);
    safetensors_save(AT("%s/dump.safetensors", folder), dump.count, tensors, 0, NULL);
    safetensors_close(&dump);
    return run("'" BUILD "/inspect' --model '" GOLDEN "models/llama3' --compare dump.safetensors");
}

static void rename_it(Tensor *tensor) { tensor->name = "other"; }
static void flatten_it(Tensor *tensor) {
    tensor->rank = 1;
    tensor->shape[0] *= tensor->shape[1];
}
static void turn_its_shape(Tensor *tensor) {
    size_t rows = tensor->shape[0];
    tensor->shape[0] = tensor->shape[1];
    tensor->shape[1] = rows;
}
static void lose_a_row(Tensor *tensor) { tensor->shape[0]--; }
static void empty_it(Tensor *tensor) { tensor->shape[0] = 0; }
static void put_before_it(Tensor *tensor) {
    tensor->rank = 3;
    tensor->shape[2] = tensor->shape[1];
    tensor->shape[1] = tensor->shape[0];
    tensor->shape[0] = 1;
}
static void negate_it(Tensor *tensor) {
    static const float ids[4] = {-1, 2, 3, 4};
    tensor->dtype = F32;
    tensor->rank = 1;
    tensor->shape[0] = 4;
    tensor->data = ids;
}
static void enlarge_it(Tensor *tensor) {
    static const float ids[4] = {1, 1e10F, 3, 4};
    tensor->dtype = F32;
    tensor->rank = 1;
    tensor->shape[0] = 4;
    tensor->data = ids;
}

static void a_dump_may_lack_something(void **) {
    assert_int_equal(compare_with("layers.0", rename_it), 0);
    assert_said("layers.0       not in the dump");
    assert_said("Nothing differs.");
    assert_int_equal(compare_with("layers.0", put_before_it), 0); /* a batch of one */
    assert_said("Nothing differs.");
    assert_int_equal(compare_with("layers.0/float64", lose_a_row),
                     0); /* then it is judged by the float32 alone */
    assert_said("Nothing differs.");
    static const struct {
        const char *name;
        void (*change)(Tensor *tensor);
        const char *words;
    } refused[] = {
        {"layers.0", flatten_it, "in the dump, here it is"},
        {"layers.0", turn_its_shape, "in the dump, here it is"},
        {"layers.0", lose_a_row, "in the dump, here it is"},
        {"ids", rename_it, "the dump does not hold its ids"},
        {"ids", empty_it, "the dump does not hold its ids"},
        {"ids", negate_it, "token -1 is not in the vocabulary"},
        {"ids", enlarge_it, "token -1 is not in the vocabulary"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(compare_with(refused[i].name, refused[i].change), 1);
        assert_said("error: ");
        assert_said(refused[i].words);
    }
}

/* What was computed in 16 bits rounds at each step, and is no other model. */
static void a_dump_may_be_of_16_bits(void **) {
    SafeTensors dump = safetensors_open(GOLDEN "models/llama3/expected.safetensors");
    for (DType dtype = BF16; dtype <= F16; dtype++) {
        Tensor tensors[] = {*safetensors_find(&dump, "ids"), *safetensors_find(&dump, "layers.0")};
        size_t count = tensor_count(&tensors[1]);
        uint16_t narrow[count];
        for (size_t i = 0; i < count; i++) {
            float wide = (float)tensor_get(&tensors[1], i);
            if (dtype == F16) ((f16 *)narrow)[i] = f16_from_float(wide);
            else ((bf16 *)narrow)[i] = bf16_from_float(wide);
        }
        tensors[1].dtype = dtype;
        tensors[1].data = narrow;
        safetensors_save(AT("%s/dump.safetensors", folder), 2, tensors, 0, NULL);
        assert_runs("'" BUILD "/inspect' --model '" GOLDEN
                    "models/llama3' --compare dump.safetensors");
        assert_said("Nothing differs.");
        assert_int_equal(run("'" BUILD "/inspect' --model '" GOLDEN
                             "models/llama2_70b' --compare dump.safetensors"),
                         1);
    }
    safetensors_close(&dump);
}

/* ------------------------------------------------------------------ where a text begins */

#define INFO "'" BUILD "/tokenize' --info --model "

static void an_id_of_the_beginning_is_one_of_the_tokens(void **) {
    assert_runs("mkdir named && sed 's/<s>/<S>/' '" GOLDEN
                "tokenizers/sentencepiece/tokenizer.model' >named/tokenizer.model");
    static const char *const ids[][2] = {{"-1", "bos_token_id is -1"},
                                         {"100000", "bos_token_id is 100000"},
                                         {"1e300", "bos_token_id is 1.0"}};
    for (size_t i = 0; i < COUNT(ids); i++) {
        write_text("named/config.json", AT("{\"bos_token_id\": %s}", ids[i][0]));
        assert_error(run(INFO "named"), ids[i][1]);
    }
    write_text("named/config.json", "{\"bos_token_id\": [1]}"); /* then there is none */
    assert_runs(INFO "named");
    assert_said("beginning: none");
    assert_int_equal(run("'" BUILD "/tokenize' --model named --encode x --bos"), 1);
    assert_said("it has no token for the beginning: leave --bos out");
}

/* A file of ranks that was cut off between two lines is whole but for that: only the model knows
 * better. */
static void a_list_of_ranks_is_as_long_as_the_model_says(void **) {
    assert_runs("mkdir cut && head -n 1399 '" GOLDEN
                "tokenizers/tiktoken/tokenizer.model' >cut/tokenizer.model");
    write_text("cut/config.json", "{\"bos_token_id\": 1399}");
    assert_runs(INFO "cut");
    write_text("cut/config.json", "{\"bos_token_id\": 1400}");
    assert_error(
        run(INFO "cut"),
        "it has 1399 ranks, and so <|begin_of_text|> is token 1399; for cut/config.json it "
        "is 1400");
}

/* A path can just be opened, and that of the file beside it is too long. */
static void a_neighbour_may_have_too_long_a_path(void **) {
    write_text("tokenizer.model", "");
    assert_error(run("cp '" GOLDEN "tokenizers/sentencepiece/tokenizer.model' . && " INFO
                     "$(printf '%%0.s./' $(seq 2039))tokenizer.model"),
                 "the path is too long");
    assert_error(run("cp -r '" STORIES "' m && '" BUILD
                     "/llama' --max-tokens 1 --tokenizer m --model $(printf '%%0.s./' $(seq "
                     "2036))m/model.safetensors"),
                 "the path is too long");
}

/* ------------------------------------------------------------------ what chapter 10 shows */

static void pieces_are_shown_so_that_one_can_read_them(void **) {
    static const char bytes[] = "a\tb\nc \x7f\x01\xc2\x85\xff",
                      shown[] = "a\\tb\\nc▁<0x7F><0x01><0xC2><0x85><0xFF>\n";
    write_bytes("text", sizeof bytes - 1, bytes);
    assert_runs("'" BUILD "/tokenize' --model '" GOLDEN
                "tokenizers/byte_level' --encode-file text --pieces");
    char *end = said;
    for (const char *c = said; *c; c++) /* without the blanks between the pieces */
        if (*c != ' ') *end++ = *c;
    *end = '\0';
    assert_string_equal(said, shown);
    assert_runs(INFO "'" GOLDEN "tokenizers/byte_level'");
    assert_said("byte level, as Llama 3");
    assert_said("end: <|end_of_text|>, 601");
}

/* The old spelling: chapter 10's program runs tokenize beside itself, or says that it is not there.
 */
static void chapter_10_hands_its_options_to_tokenize(void **) {
    static const char words[] =
        "--model '" GOLDEN "tokenizers/sentencepiece' --encode 'the llama' --bos";
    assert_runs("'" BUILD "/10_tokenizer' %s", words);
    assert_string_equal(said, "1 264 447\n");
    assert_misuse(run("'" BUILD "/10_tokenizer' --encode"));
    assert_error(
        run("mkdir alone && cp '" BUILD "/10_tokenizer' alone && alone/10_tokenizer %s", words),
        "alone/tokenize");
}

/* ------------------------------------------------------------------ what chapter 13 writes */

static void rows_that_no_block_fits_stay_float16(void **) {
    /* llama2.c's file: 4 wide, 8 hidden, 1 layer, 2 heads, 1 key/value head, 262 tokens, 16
     * positions; its output is a matrix of its own, for the number of tokens is negative. */
    static struct {
        int header[7];
        float zeros[1 << 12];
    } model;
    memcpy(model.header, (const int[]){4, 8, 1, 2, 1, -262, 16}, sizeof model.header);
    size_t floats = 2 * 262 * 4 + 4 + 16 + 8 + 8 + 16 + 4 + 3 * 32 + 4 + 16 * 2;
    write_bytes("model.bin", sizeof model.header + floats * sizeof(float), &model);
    assert_runs("tar -xzOf '" ROOT
                "/tests/hardening/fuzz/tokenizer.tar.gz' bin-good >tokenizer.bin");
    assert_runs("'" BUILD "/quantize' model.bin small.gguf --tokenizer tokenizer.bin --type q4_0");
    assert_said("small.gguf: 12 tensors");
    assert_said("9 matrices are F16: their rows are no multiple of q4_0's block of 32.");
    assert_runs("'" BUILD "/llama' --model small.gguf --max-tokens 3 --temperature 0 --quiet");
}

static void yarn_with_numbers_of_its_own(void **) {
    static const char *const words[] = {"attention_factor\": 1.2", "mscale\": 0.7",
                                        "mscale_all_dim\": 0.7, \"mscale\": 1.1",
                                        "beta_fast\": 16, \"beta_slow\": 2", "truncate\": false"};
    assert_runs("mkdir yarn && ln -s '" STORIES "'/model.safetensors '" STORIES
                "'/tokenizer.* yarn");
    for (size_t i = 0; i < COUNT(words); i++) {
        assert_runs("sed 's/^{/{\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": "
                    "4.0, \"original_max_position_embeddings\": 128, \"%s},/' '" STORIES
                    "'/config.json >yarn/config.json",
                    words[i]);
        int status = run("'" BUILD "/quantize' yarn yarn.gguf --type bf16");
        if (i + 1 == COUNT(words)) break;
        assert_int_equal(status, 0);
        assert_runs("'" BUILD
                    "/inspect' --model yarn --token-ids 399,715,262 --save yarn.safetensors "
                    "&& '" BUILD "/inspect' --model yarn.gguf --compare yarn.safetensors");
        assert_said("Nothing differs.");
    }
    assert_one_clear_line();
    assert_said("YaRN with fractions of pairs: GGUF has no words for it");
}

/* ------------------------------------------------------------------ what llama reads */

static void a_score_needs_no_terminal(void **) {
    write_text("score", "Once upon a time there was a fox.");
    assert_runs("'" BUILD "/llama' --perplexity score --ctx-size 9 --quiet");
    assert_said("perplexity ");
    assert_misuse(run("'" BUILD "/llama' --perplexity score --ctx-size 1"));
    assert_said("a window needs 2 positions");
}

static void a_prompt_ends_where_its_last_line_does(void **) {
    static const char *const prompts[] = {"Once upon a time", "Once upon a time\n"};
    char first[sizeof said] = "";
    for (size_t i = 0; i < COUNT(prompts); i++) {
        write_text("prompt", prompts[i]);
        assert_runs("'" BUILD "/llama' --seed 1 --max-tokens 5 --quiet --prompt - <prompt");
        if (i == 0) strcpy(first, said);
        assert_string_equal(said, first);
    }
    write_text("prompt", "");
    assert_runs("'" BUILD "/llama' --seed 1 --max-tokens 1 --quiet --prompt - <prompt");
    assert_runs("cd '" STORIES "' && '" BUILD
                "/llama' --model model.safetensors --seed 1 --max-tokens 1");
    assert_said("written: 1 token, ");
}

/* Where only ids go in and out. */
static void ids_need_no_tokenizer(void **) {
    static const char *const models[] = {ROOT "/tests/golden/models/llama1",
                                         ROOT "/tests/golden/gguf/plain.gguf"};
    char ids[200] = "1,2,3";
    for (size_t i = 0; i < COUNT(models); i++) {
        assert_runs("'" BUILD "/llama' --model '%s' --token-ids %s --max-tokens 4 "
                    "--temperature 0 --ignore-eos --quiet",
                    models[i], ids);
        int four[4], end = 0;
        assert_int_equal(
            sscanf(said, "%d %d %d %d%n", &four[0], &four[1], &four[2], &four[3], &end), 4);
        assert_string_equal(said + end, "\n");
        assert_runs("'" BUILD "/llama' --model '%s' --token-ids %s --max-tokens 4 "
                    "--temperature 0 --ignore-eos --quiet --logprobs 1",
                    models[i], ids);
        assert_int_equal(atoi(said), four[0]);
        assert_int_equal(run("'" BUILD "/llama' --model '%s' --prompt a --quiet", models[i]), 1);
        assert_one_clear_line();
        assert_error(
            run("'" BUILD "/llama' --model '%s' --token-ids 1 --stop a --quiet", models[i]),
            "has no tokenizer, so its tokens have no text");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_may_lack_something),
        cmocka_unit_test(a_dump_may_be_of_16_bits),
        cmocka_unit_test(an_id_of_the_beginning_is_one_of_the_tokens),
        cmocka_unit_test(a_list_of_ranks_is_as_long_as_the_model_says),
        cmocka_unit_test(a_neighbour_may_have_too_long_a_path),
        cmocka_unit_test(pieces_are_shown_so_that_one_can_read_them),
        cmocka_unit_test(chapter_10_hands_its_options_to_tokenize),
        cmocka_unit_test(rows_that_no_block_fits_stay_float16),
        cmocka_unit_test(yarn_with_numbers_of_its_own),
        cmocka_unit_test(a_score_needs_no_terminal),
        cmocka_unit_test(a_prompt_ends_where_its_last_line_does),
        cmocka_unit_test(ids_need_no_tokenizer),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
