/* The program inspect: what it saves compares with what transformers and itself computed, nothing
 * is lost by it, and the first stage that differs, or is no number, is named. */
#include "common/error.h"
#include "common/safetensors.h"
#define PROGRAM "'" BUILD "/inspect'"
#include "tests/checkpoints.h"

#include <math.h>

static const char *const models[] = {"llama1", "llama2_70b", "llama3", "llama31", "llama32",
                                     "yarn",   "dynamic",    "biases", "longrope"};

static void what_is_saved_compares(void **) {
    const char *model = GOLDEN("llama3");
    assert_runs("--model '%s' --token-ids 1,2,3,63,0 --save mine.safetensors", model);
    assert_runs("--model '%s' --compare mine.safetensors", model);
    assert_said("Nothing differs.");
    SafeTensors mine = safetensors_open(AT("%s/mine.safetensors", folder));
    assert_int_equal(mine.count, 1 + 1 + 2 + 1 + 1);
    assert_int_equal(safetensors_find(&mine, "layers.1")->shape[0], 5);
    assert_int_equal(safetensors_find(&mine, "logits")->shape[1], 64);
    safetensors_close(&mine);
    for (size_t m = 0; m < COUNT(models); m++) {
        assert_runs("--model '%s' --compare '%s/expected.safetensors'", GOLDEN(models[m]),
                    GOLDEN(models[m]));
        assert_said("Nothing differs.");
    }
    assert_int_equal(run("--model '%s' --compare mine.safetensors --token-ids 1,2,3", model),
                     1); /* other lengths */
    assert_said("[5, 32] in the dump, here it is [3, 32]");
}

/* What is read is not written over, under whatever name; and where no file may become so large,
 * none is left. */
static void nothing_is_lost_by_saving(void **) {
    Weights weights = open_weights("llama1");
    save_model("own", "llama1", &weights);
    assert_int_equal(symlink("own", AT("%s/alias", folder)), 0);
    assert_error(run("--model own --token-ids 1 --save alias/model.safetensors"),
                 "--save alias/model.safetensors: this file is being read");
    assert_runs("--model own --token-ids 1 --save dump.safetensors");
    assert_int_equal(run("--model own --compare dump.safetensors --save dump.safetensors"), 1);
    assert_said("--save dump.safetensors: this file is being read");
    assert_int_equal(run("--model own --token-ids 1 --save own/config.json"), 1);
    assert_said("--save own/config.json: this file is no safetensors, and would be lost");
    assert_runs("--model own --token-ids 1 --save dump.safetensors"); /* a dump may be made again */
    assert_int_equal(
        run("--summary llama-3-8b >tree; ulimit -f 4; " PROGRAM
            " --model own --token-ids 1,2,3,4,5,6,7,8,9 --save large.safetensors >tree"),
        1);
    assert_said("error: cannot write large.safetensors: ");
    assert_int_not_equal(system(AT("ls %s/large* >%s/tree 2>&1", folder, folder)), 0);
}

/* Chapter 9's program had these options, and hands them on to inspect. */
static void the_old_program_runs_inspect(void **) {
#ifdef EMULATED /* a program for another machine cannot run one by itself */
    skip();
#endif
    assert_runs("--model '%s' --token-ids 1,2,3; '" BUILD
                "/09_decoder' --model '%s' --token-ids 1,2,3",
                GOLDEN("llama3"), GOLDEN("llama3"));
    char *second = strchr(said, '\n') + 1;
    assert_int_equal(strncmp(said, second, strlen(second)), 0);
    assert_int_equal(strlen(said), 2 * strlen(second));
    assert_misuse(run("--token-ids 1 >tree 2>&1; '" BUILD "/09_decoder' --token-ids 1"));
    assert_said("/inspect --summary NAME|DIR|FILE");
    assert_error(run("--summary llama-3-8b >tree; cp '" BUILD
                     "/09_decoder' . && ./09_decoder --summary llama-3-8b"),
                 "./inspect: this program takes these options, and it cannot be run: No such file "
                 "or directory");
}

static void compare_names_the_first_stage_that_differs(void **) {
    assert_error(run("--model '%s' --token-ids 1 --compare '%s/model.safetensors'",
                     GOLDEN("llama1"), GOLDEN("llama1")),
                 "model.safetensors: it has no stage that this model has: they are called "
                 "embed_tokens … logits");
    static const struct {
        const char *tensor, *first;
    } cases[] = {
        {"model.embed_tokens.weight", "embed_tokens is the first"},
        {"model.layers.0.self_attn.k_proj.weight", "layers.0 is the first"},
        {"model.layers.1.mlp.down_proj.weight", "layers.1 is the first"},
        {"model.layers.1.input_layernorm.weight", "layers.1 is the first"},
        {"model.norm.weight", "norm is the first"},
        {"lm_head.weight", "logits is the first"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Weights weights = open_weights("llama1");
        Tensor *tensor = named(&weights, cases[i].tensor);
        float *values = tensor_to_float(tensor);
        for (size_t j = 0; j < tensor_count(tensor); j++) values[j] *= 1 + 0.01f * (float)(j % 3);
        tensor->data = values;
        const char *path = save_model("perturbed", "llama1", &weights);
        assert_int_equal(
            run("--model '%s' --compare '%s/expected.safetensors'", path, GOLDEN("llama1")), 1);
        assert_said(cases[i].first);
        /* No float64 in it. */
        assert_runs("--model '%s' --token-ids 9,8,7 --save theirs.safetensors", GOLDEN("llama1"));
        assert_int_equal(run("--model '%s' --compare theirs.safetensors", path), 1);
        assert_said(cases[i].first);
        free(values);
    }
}

static const char *copy_spoilt(const char *tensor_name, float value) {
    Weights weights = open_weights("llama1");
    Tensor *tensor = named(&weights, tensor_name);
    float *values = tensor_to_float(tensor);
    for (size_t i = 0; i < tensor_count(tensor); i++) values[i] = value;
    tensor->data = values;
    tensor->dtype = F32;
    const char *path = save_model("spoilt", "llama1", &weights);
    free(values);
    return path;
}

/* Without --save and --compare there is no answer; with them, what is wrong is to be looked at. */
static void the_first_nan_is_named(void **) {
    static const struct {
        const char *tensor;
        float value;
        const char *words;
    } cases[] = {
        {"model.embed_tokens.weight", NAN,
         "embed_tokens is the first stage with nan or infinities: 96 of 96, the first at [0, 0]"},
        {"model.layers.1.self_attn.v_proj.weight", NAN,
         "layers.1 is the first stage with nan or infinities: 96 of 96, the first at [0, 0]"},
        {"model.layers.0.mlp.down_proj.weight", INFINITY,
         "layers.0 is the first stage with nan or infinities: 96 of 96"},
        {"lm_head.weight", NAN, "logits is the first stage with nan or infinities: 192 of 192"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *model = copy_spoilt(cases[i].tensor, cases[i].value);
        assert_error(run("--model %s --token-ids 1,2,3", model), cases[i].words);
        assert_runs("--model %s --token-ids 1,2,3 --save spoilt.safetensors", model);
        assert_said(AT("note: %s", cases[i].words));
        assert_null(strstr(said, "most probable"));
        assert_runs("--model %s --compare spoilt.safetensors",
                    model); /* the same at the same places */
        assert_said("Nothing differs.");
        assert_said(AT("note: %s", cases[i].words));
        assert_int_equal(run("--model '%s' --compare spoilt.safetensors", GOLDEN("llama1")), 1);
        assert_null(strstr(said, "note: "));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_compares),
        cmocka_unit_test(nothing_is_lost_by_saving),
        cmocka_unit_test(the_old_program_runs_inspect),
        cmocka_unit_test(compare_names_the_first_stage_that_differs),
        cmocka_unit_test(the_first_nan_is_named),
    };
    return cmocka_run_group_tests_name("compare", tests, make_folder, remove_folder) != 0;
}
