/* The edges of what the programs of chapters 9 to 11 take: the last length that fits and the first
 * that does not, files by names that are too long, models of llama2.c with their tokenizer beside
 * them. */
#include "09_decoder/decoder.h"
#include "common/golden.h"
#include "tests/program.h"
#include "tests/refused.h"

enum { MOST_PIECE = 8000 }; /* bytes of a token's name: chapters/10_tokenizer/vocabulary.h */

/* ------------------------------------------------------------------ llama2.c's two files */

/* A model of zeros, of width 4, with 8 hidden, 1 layer, 2 heads, 1 key/value head, V tokens and 16
 * positions. */
static void write_model(int V) {
    static struct {
        int header[7];
        float zeros[1 << 12];
    } model;
    memcpy(model.header, (const int[]){4, 8, 1, 2, 1, V, 16}, sizeof model.header);
    size_t floats = (size_t)V * 4 + 4 + 16 + 8 + 8 + 16 + 4 + 3 * 32 + 4 + 16 * 2;
    write_bytes("model.bin", sizeof model.header + floats * sizeof(float), &model);
}

static void llama_finds_the_tokenizer_beside_the_model(void **) {
    write_model(262);
    assert_runs("tar -xzOf '" ROOT
                "/tests/hardening/fuzz/tokenizer.tar.gz' bin-good >tokenizer.bin");
    assert_runs("'" BUILD "/llama' --model model.bin --max-tokens 3 --temperature 0 --quiet");
    assert_string_equal(said, "⁇  ⁇  ⁇ \n"); /* of equal ones the first, <unk> */
    char here[sizeof said];
    strcpy(here, said);
    assert_runs("'" BUILD "/llama' --model ./model.bin --max-tokens 3 --temperature 0 --quiet");
    assert_string_equal(said, here);

    write_model(270); /* a few rows more than the tokenizer has tokens, to make the number round */
    assert_runs("'" BUILD "/llama' --model model.bin --max-tokens 3 --seed 1 --top-k 1000 --quiet");
    assert_runs("'" BUILD
                "/llama' --model model.bin --max-tokens 30 --seed 1 --ignore-eos --quiet");
    assert_said("note: the context of 16 tokens is full");
    assert_runs("'" BUILD
                "/llama' --model model.bin --max-tokens 30 --seed 1 --ignore-eos --ctx-size 1");
    assert_said("note: the context of 1 token is full");
    assert_int_equal(run("'" BUILD "/llama' --model model.bin --bf16-activations"), 1);
    assert_said("are F32, not BF16");
    assert_int_equal(run("'" BUILD "/llama' --model model.bin --chat --system-prompt Brief "
                         "--max-tokens 2 --seed 1 <model.bin"),
                     1);
    assert_int_equal(run("'" BUILD "/inspect' --model model.bin --token-ids 1,2,270"), 1);
    assert_said("token 270 is not in the vocabulary of 270");
}

/* --------------------------------------------------------- names, and tokens, that are too long */

static void paths_may_be_long_but_not_too_long(void **) {
    static const char *const commands[] = {"tokenize' --info", "llama' --max-tokens 1",
                                           "inspect' --token-ids 1"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_error(run("'" BUILD "/%s --model $(printf '%%0.s./' $(seq 2045))", commands[i]),
                     "the path is too long");
    }
}

static void tokens_may_be_long_but_not_too_long(void **) {
    static char name[MOST_PIECE + 2], file[1 << 15];
    for (int length = MOST_PIECE; length <= MOST_PIECE + 1; length++) {
        const char *words = length > MOST_PIECE ? "too long" : "";
        memset(name, 'a', (size_t)length);
        name[length] = '\0';
        const int sizes[] = {10, 0, length};
        memcpy(file, sizes, sizeof sizes);
        memcpy(file + sizeof sizes, name, (size_t)length);
        write_bytes("long", sizeof sizes + (size_t)length, file);
        assert_error(run("'" BUILD "/tokenize' --info --model long"), words);

        sprintf(
            file,
            "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{\"%s\":0},\"merges\":[]"
            "},"
            "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"▁\","
            "\"prepend_scheme\":\"first\",\"split\":false},\"decoder\":{\"type\":\"Sequence\","
            "\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"▁\"},\"content\":\" \"},"
            "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]}}",
            name);
        write_bytes("long", strlen(file), file);
        assert_int_equal(run("'" BUILD "/tokenize' --info --model long"), length > MOST_PIECE);
        if (length > MOST_PIECE) {
            assert_said(words);
            assert_one_clear_line();
        }
    }
    memset(file, 'A', 10668); /* base64 of 8001 bytes */
    write_bytes("long", 10668 + sprintf(file + 10668, " 0\n"), file);
    assert_error(run("'" BUILD "/tokenize' --info --model long"), "too long");
}

/* ------------------------------------------------------------------ the decoder's own */

static Model model;

static void no_positions(void) { decoder_new(&model, &reference_kernels, 0); }
static void no_tokens(void) {
    Decoder decoder = decoder_new(&model, &reference_kernels, 2);
    decoder_eval(&decoder, 0, NULL);
}
static void one_too_many(void) {
    Decoder decoder = decoder_new(&model, &reference_kernels, 2);
    decoder_eval(&decoder, 2, (const int[]){1, 2});
    decoder_eval(&decoder, 1, (const int[]){3});
}

static void a_decoder_has_its_limits(void **) {
    model = model_open(ROOT "/tests/golden/models/llama1");
    assert_refused(no_positions, "a decoder for 0 positions");
    assert_refused(no_tokens, "0 tokens to read");
    assert_refused(one_too_many, "a text of 3 tokens does not fit the context of 2");
    model_close(&model);
}

static void a_folder_has_a_tree(void **) {
    assert_runs("'" BUILD "/inspect' --summary '" ROOT "/tests/golden/models/llama32'");
    assert_int_equal(strncmp(said, "LlamaForCausalLM(\n", 18), 0);
    assert_said("lm_head (it is embed_tokens)");
}

/* ------------------------------------------------------------------ golden files */

/* A golden file in our folder, beside the course's: its tensors' names and how many numbers each
 * has. */
static struct {
    const char *name;
    size_t numbers;
} spoilt[2 * GOLDEN_MAX];

static void open_a_spoilt_one(void) {
    static const float zeros[4];
    Tensor tensors[2 * GOLDEN_MAX];
    size_t count = 0;
    for (; spoilt[count].name; count++)
        tensors[count] = (Tensor){.name = spoilt[count].name,
                                  .dtype = F32,
                                  .rank = 1,
                                  .shape = {spoilt[count].numbers},
                                  .data = zeros};
    safetensors_save(AT("%s/spoilt.safetensors", folder), count, tensors, 0, NULL);
    golden_open(AT("../../../../../../../../../../../..%s/spoilt", folder));
}

static void what_is_no_golden_file_is_refused(void **) {
    memset(spoilt, 0, sizeof spoilt);
    spoilt[0].name = "x";
    assert_refused(open_a_spoilt_one, "tensor \"x\" is not named case/something");
    spoilt[0].name = "a/x";
    assert_refused(open_a_spoilt_one, "case a has no expected output");
    spoilt[0].name = "a/expected";
    spoilt[0].numbers = 3;
    spoilt[1].name = "a/expected64";
    spoilt[1].numbers = 4;
    assert_refused(open_a_spoilt_one, "case a: expected64 has another size");
    spoilt[1].name = "a/rounding";
    assert_refused(open_a_spoilt_one, "case a: rounding has another number of rows");
    spoilt[1].name = "a/wrong/way";
    assert_refused(open_a_spoilt_one, "case a: the known mistake way has another size");
    spoilt[1].numbers = 3;
    spoilt[2].name = "b/x";
    assert_refused(open_a_spoilt_one, "case b has no expected output");
    char names[GOLDEN_MAX + 1][16];
    for (int i = 0; i <= GOLDEN_MAX; i++) {
        sprintf(names[i], "a/%d", i);
        spoilt[1 + i].name = names[i];
    }
    assert_refused(open_a_spoilt_one, "over 80 inputs or known mistakes in one golden case");
}

static void an_unknown_case(void) {
    Golden golden = golden_open("relu");
    golden_case(&golden, "of no name");
}

static void golden_cases_have_names(void **) {
    assert_refused(an_unknown_case,
                   "relu has no golden case \"of no name\": build/verify relu --list names them");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llama_finds_the_tokenizer_beside_the_model),
        cmocka_unit_test(paths_may_be_long_but_not_too_long),
        cmocka_unit_test(tokens_may_be_long_but_not_too_long),
        cmocka_unit_test(a_decoder_has_its_limits),
        cmocka_unit_test(a_folder_has_a_tree),
        cmocka_unit_test(golden_cases_have_names),
        cmocka_unit_test(what_is_no_golden_file_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
