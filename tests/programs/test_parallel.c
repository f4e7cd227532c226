/* Chapter 15's program, on one rank and on several: the same tokens, the same logits, and one line
 * when something goes wrong. */
#include "common/timer.h"
#include "tests/llama2c.h"
#include "tests/program.h"

#define MODEL ROOT "/common/stories/model"
#define OURS "'" BUILD "/15_tensor_parallel'"

#ifndef MPIRUN

static void without_mpi_it_is_one_rank(void **) {
    assert_runs("%s --model '%s' --prompt Once --max-tokens 20", OURS, MODEL);
    assert_int_equal(run("OMPI_COMM_WORLD_SIZE=2 %s --model '%s'", OURS, MODEL), 1);
    assert_said("without MPI");
}

int main(void) {
    puts("skipped: several ranks, for there is no MPI here (apt install libopenmpi-dev "
         "openmpi-bin)");
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_mpi_it_is_one_rank)};
    return cmocka_run_group_tests_name("parallel", tests, make_folder, remove_folder) != 0;
}

#else

/* The Makefile asks which mpirun knows -q. */
static bool is_open_mpi_4(void) { return strncmp(MPIRUN, "mpirun -q ", 10) == 0; }

/* Open MPI 5 cannot be told to be quiet about a rank that fails: what it says between two lines of
 * dashes is left out. */
static void forget_what_mpirun_said(void) {
    static const char dashes[] = "----------------------------------------------------------------";
    for (char *begin, *end; (begin = strstr(said, dashes)); strcpy(begin, end)) {
        end = strstr(strchr(begin, '\n'), dashes);
        end = end ? strchr(end, '\n') + 1 : begin + strlen(begin);
    }
}

/* Runs so many ranks with these words; what they print is in `said`. */
#define RANKS(count, ...) run_ranks(count, AT(__VA_ARGS__))

static int run_ranks(int count, const char *words) {
    int status = run("timeout 240 " MPIRUN " -n %d " OURS " %s", count, words);
    forget_what_mpirun_said();
    return status;
}

/* Rank 0 has these words, and rank 1 is another program with others. */
static int two(const char *words, const char *program, const char *others) {
    write_text("two", AT("[ $OMPI_COMM_WORLD_RANK = 0 ] && exec " OURS " %s\nexec %s %s\n", words,
                         program, others));
    int status = run("timeout 240 " MPIRUN " -n 2 sh two");
    forget_what_mpirun_said();
    return status;
}

static const char *golden_model(const char *name) {
    static char path[PATH];
    return text(path, "%s/tests/golden/models/%s", ROOT, name);
}

/* ------------------------------------------------------------------ the same as one */

static void many_ranks_tell_the_same_story(void **) {
    assert_runs("'%s/llama' --quiet --temperature 0 --ignore-eos --max-tokens 256 "
                "--prompt 'Once upon a time' >one",
                BUILD);
    static const int counts[] = {1, 2, 3, 6};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(RANKS(counts[i],
                               "--model '%s' --ignore-eos --max-tokens 256 --prompt 'Once upon a "
                               "time' >many && cmp one many",
                               MODEL),
                         0);
        assert_string_equal(said, "");
    }
}

static char one[sizeof said]; /* what one rank has printed */
static void keep_what_was_said(void) { memcpy(one, said, sizeof one); }

/* A model, and how many ranks its heads divide among. */
static const struct {
    const char *name;
    int most;
} models[] = {{"llama1", 4},  {"llama2_70b", 8}, {"llama3", 4},   {"llama31", 4}, {"llama32", 4},
              {"dynamic", 4}, {"yarn", 4},       {"longrope", 4}, {"biases", 4}};
enum { MODELS = sizeof models / sizeof *models };

static void golden_models_go_on_the_same(void **) {
    for (int m = 0; m < MODELS; m++) {
        assert_runs(OURS " --model '%s' --token-ids 1,5,9 --max-tokens 256",
                    golden_model(models[m].name));
        keep_what_was_said();
        assert_true(strlen(one) > 20);
        for (int count = 2; count <= models[m].most; count *= 2) {
            assert_int_equal(RANKS(count, "--model '%s' --token-ids 1,5,9 --max-tokens 256",
                                   golden_model(models[m].name)),
                             0);
            assert_string_equal(said, one);
        }
    }
}

static void their_logits_are_transformers(void **) {
    for (int m = 0; m < MODELS; m++)
        for (int count = 1; count <= models[m].most; count *= 2) {
            const char *model = golden_model(models[m].name);
            assert_int_equal(
                RANKS(count, "--model '%s' --compare '%s/expected.safetensors'", model, model), 0);
            assert_said(AT("%d rank", count));
            assert_said(": 0 of 12 x 64 logits wrong");
            printf("%s, %s", models[m].name, said);
        }
}

/* Drawn tokens depend on every bit of the logits, sooner or later. */
static void the_same_seed_draws_the_same_text(void **) {
    for (int n = 0; n < 2; n++)
        assert_int_equal(RANKS(3,
                               "--model '%s' --temperature 1 --seed 5 --ignore-eos --max-tokens "
                               "120 --prompt Once >drawn%d",
                               MODEL, n),
                         0);
    assert_runs("cmp drawn0 drawn1");
}

static void files_of_other_formats_are_cut_as_well(void **) {
    static const char *const files[] = {ROOT "/tests/golden/gguf/plain.gguf",
                                        ROOT "/tests/golden/gguf/mixed.gguf", "a.bin"};
    Model model = model_open(golden_model("llama2_70b"));
    write_bin(AT("%s/a.bin", folder), &model);
    model_close(&model);
    for (int f = 0; f < 3; f++) {
        assert_runs(OURS " --model '%s' --token-ids 1,2,3 --max-tokens 30", files[f]);
        keep_what_was_said();
        assert_int_equal(RANKS(2, "--model '%s' --token-ids 1,2,3 --max-tokens 30", files[f]), 0);
        assert_string_equal(said, one);
    }
}

/* ------------------------------------------------------------------ what is sent */

static void what_is_counted_is_the_formula(void **) {
    static const int counts[] = {2, 3, 6};
    for (int i = 0; i < 3; i++) {
        double counted[2], formula[2];
        assert_int_equal(
            RANKS(counts[i], "--model '%s' --max-tokens 3 --prompt Once --report", MODEL), 0);
        const char *at = strstr(said, "counted "), *then = strstr(said, "by formula ");
        assert_true(at && then && sscanf(at, "counted %lf %lf", &counted[0], &counted[1]) == 2);
        assert_int_equal(sscanf(then, "by formula %lf %lf", &formula[0], &formula[1]), 2);
        assert_true(counted[0] == formula[0] && counted[1] == formula[1] && counted[1] > 10000);
    }
}

/* The lesson shows such a report: those lines of it that are the same everywhere. */
static void the_lesson_shows_this_report(void **) {
    assert_int_equal(
        RANKS(3, "--model '%s' --prompt 'Once upon a time' --max-tokens 20 --report >report",
              MODEL),
        0);
    assert_runs("sed -e '1,/^$/d' -e '/^== Memory/,$d' report | grep . >now; grep . "
                "'%s/tests/golden/parallel.txt' | diff - now",
                ROOT);
}

/* make says what it would run. */
static void make_parallel_runs_two_or_as_many_as_one_says(void **) {
    static const char *const asked[] = {"", "RANKS=3"}, *const runs[] = {" -n 2 ", " -n 3 "};
    unsetenv("MAKEFLAGS"); /* of the make that runs the tests */
    for (int i = 0; i < 2; i++) {
        assert_runs("make -n -C '%s' -o build/15_tensor_parallel parallel %s | grep mpirun", ROOT,
                    asked[i]);
        assert_said(runs[i]);
    }
}

/* ------------------------------------------------------------------ what goes wrong */

static void heads_that_do_not_divide_are_refused(void **) {
    assert_int_equal(RANKS(4, "--model '%s'", MODEL), 1);
    assert_one_clear_line();
    assert_said("error: rank 0: ");
    assert_said("num_attention_heads 6 and num_key_value_heads 2 cannot be cut for 4 ranks: take "
                "1, 2, 3, 6");
}

static void the_rank_that_fails_is_named(void **) {
    const char *words = AT("--model '%s' --prompt Once", MODEL);
    assert_int_equal(two(words, OURS, "--model /nowhere"), 1);
    assert_one_clear_line();
    assert_said("error: rank 1: /nowhere: No such file");
    assert_int_equal(RANKS(3, "--model /nowhere"), 1); /* all of them fail, and one says so */
    assert_one_clear_line();
    assert_said("error: rank 0: /nowhere");
    assert_int_not_equal(RANKS(2, "--modell /nowhere"), 0);
    assert_said("error: rank 0: --modell");
    assert_null(strstr(said, "rank 1"));
}

/* By rank 0, and before anything is printed. */
static void what_no_rank_can_read_is_said_once(void **) {
    static const char *const wishes[][2] = {
        {"--token-ids 5,1024",
         "error: rank 0: token 1024 is not in the vocabulary of 1024 (0 to 1023)"},
        {"--prompt 'Once <pad>'",
         "error: rank 0: token 1024 is not in the vocabulary of 1024 (0 to 1023)"},
        {"--token-ids $(seq -s , 700)",
         "error: rank 0: the prompt's 700 tokens do not fit the model's context of 512"},
        {"--compare /nowhere", "error: rank 0: /nowhere: cannot open it"}};
    assert_runs("cp -r '" MODEL "' padded && echo '{\"<pad>\": 1024}' >padded/added_tokens.json");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        assert_int_equal(RANKS(3, "--model padded %s >printed", wishes[i][0]), 1);
        assert_one_clear_line();
        assert_said(wishes[i][1]);
        assert_runs("! [ -s printed ]");
    }
}

static void ranks_that_are_asked_for_help_end_well(void **) {
    assert_runs("timeout 60 " MPIRUN " -n 2 " OURS " --help >help");
    assert_string_equal(said, "");
    run("grep -c usage: help");
    assert_int_equal(atoi(said), 1);
}

static void without_a_model_they_show_the_lesson(void **) {
    assert_runs("timeout 60 " MPIRUN " -n 3 " OURS " >shown");
    assert_string_equal(said, "");
    assert_runs(OURS " | cmp - shown");
    assert_misuse(run(OURS " --prompt Once"));
    assert_said("without a --model there is a demonstration, which takes no options");
}

static void ranks_that_are_not_alike_are_told(void **) {
    const char *words = AT("--model '%s' --prompt Once", MODEL);
    assert_int_equal(two(words, OURS, AT("--model '%s'", golden_model("llama3"))), 1);
    assert_one_clear_line();
    assert_said("rank 1 has another model");
    assert_int_equal(two(words, "'" BUILD "/tests/other_version'", AT("--model '%s'", MODEL)), 1);
    assert_one_clear_line();
    assert_said("rank 1 runs another version of this program: 2, not 1");
    assert_int_equal(two(words, OURS, AT("--model '%s' --max-tokens 7", MODEL)), 1);
    assert_one_clear_line();
    assert_said("rank 1 is asked for something else");
}

/* On one rank, which needs no mpirun. */
static void one_rank_writes_and_refuses_as_llama_does(void **) {
    assert_runs("'" BUILD "/llama' --quiet --temperature 0 --max-tokens 480 --prompt Once >one");
    assert_runs(OURS " --model '" MODEL "' --tokenizer '" MODEL
                     "' --max-tokens 480 --prompt Once >many && cmp one many && wc -c <many");
    assert_true(atoi(said) > 100 && atoi(said) < 2000); /* the story has ended */
    /* At its first full stop, where generation_config.json names that an end. */
    assert_runs("cp -r '" MODEL
                "' stops && echo '{\"eos_token_id\": 985}' >stops/generation_config.json");
    assert_runs(OURS " --model stops --prompt 'Once upon a time'");
    assert_said("Once upon a time there was ");
    assert_null(strchr(said, '.'));
    assert_error(run(OURS " --model '" MODEL "' --prompt \"$(yes no | head -n 700)\" >stdout"),
                 "tokens do not fit the model's context");
    assert_runs(OURS " --model '" MODEL "' --tokenizer '" ROOT
                     "/tests/golden/tokenizers/metaspace' --prompt Once --max-tokens 1 >stdout");
    assert_string_equal(
        said,
        "note: the model has 1024 tokens, and the tokenizer 722: those from 722 on have no text\n");
    assert_error(run(OURS " --model '%s' --tokenizer '" MODEL "' >stdout", golden_model("llama1")),
                 "the model has a vocabulary of 64 tokens and the tokenizer one of 1024: they do "
                 "not belong together");
    static const char *const misuses[] = {
        "--report --temperature 1", "--token-ids 1 --prompt Once",
        "--temperature 0.0001"}; /* by which a logit might overflow */
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
        assert_misuse(run(OURS " --model '" MODEL "' %s", misuses[i]));
    assert_error(run(OURS " --model '%s' --compare '%s/tests/golden/gradients/llama1.safetensors'",
                     golden_model("llama1"), ROOT),
                 "is it one of transformers' for this model?");
    assert_runs("cp -r '" MODEL
                "' spoilt && printf '\\377\\377\\377\\377' | dd of=spoilt/model.safetensors bs=1 "
                "seek=$(($(wc -c <spoilt/model.safetensors) - 4)) conv=notrunc 2>/dev/null");
    assert_error(run(OURS " --model spoilt --max-tokens 3 --prompt Once >stdout"),
                 "is no number: are the weights damaged?");
}

/* LLVM's OpenMP needs a file of 1 kB to begin with, so a few blocks there are. */
static void a_full_disk_on_rank_1_is_no_harm(void **) {
    /* Open MPI's own shared memory is a file, too, and would be too large. */
    setenv("OMPI_MCA_btl", "self,tcp", 1);
    setenv("OMPI_MCA_btl_tcp_if_include", "127.0.0.0/8", 1);
    setenv("PMIX_MCA_gds", "hash", 1);
    assert_int_equal(two(AT("--model '%s' --max-tokens 9 --prompt Once", MODEL),
                         "sh -c 'ulimit -f 8; exec \"$0\" \"$@\"' " OURS,
                         AT("--model '%s' --max-tokens 9", MODEL)),
                     0);
    setenv("OMPI_MCA_btl", "^tcp", 1);
    unsetenv("OMPI_MCA_btl_tcp_if_include");
    unsetenv("PMIX_MCA_gds");
    assert_said("Once upon a time");
}

/* The course's own model, with a context so long that it still writes when the signal comes. */
static void make_an_endless_model(void) {
    run("mkdir -p model; ln -sf '" MODEL
        "'/* model; rm model/config.json; sed 's/\"max_position_embeddings\": "
        ".*,/\"max_position_embeddings\": 30000,/' '" MODEL "/config.json' >model/config.json");
}

/* Starts three ranks, whose processes are then in the files pid.0 to pid.2, and kills what the
 * shell's words name. All must be gone soon. Of Open MPI 4, which knows -q, the user reads what our
 * ranks say; Open MPI 5 may no longer listen to them, and speaks itself. */
static void assert_ends_soon(const char *whom, const char *words, const char *its_own) {
    bool quiet = is_open_mpi_4();
    make_an_endless_model();
    run("rm -f story pid.*; " MPIRUN
        " -n 3 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec \"$0\" \"$@\"' " OURS
        " --model $PWD/model --ignore-eos --max-tokens 29000 --prompt Once >story 2>last & "
        "for i in $(seq 600); do [ -s story ] && break; sleep 0.1; done; "
        "sleep 0.2; kill %s; wait $!; echo $? >status",
        whom);
    double start = seconds();
    do run("for pid in $(cat pid.*); do kill -0 $pid && echo $pid; done 2>/dev/null");
    while (*said && seconds() - start < 5);
    assert_string_equal(said, "");
    run("cat status");
    assert_int_not_equal(atoi(said), 0);
    run("cat last");
    if (quiet) assert_one_clear_line();
    assert_said(quiet ? words : its_own);
}

static void a_rank_that_dies_ends_them_all(void **) {
    assert_ends_soon("-9 $(cat pid.1)", ": it has died: killed, or crashed", "rank 1");
}

static void control_c_ends_them_all(void **) {
    assert_ends_soon("-INT $!", "error: rank 0: told to end: by Ctrl-C", "");
}

int main(void) {
    setenv("OMP_NUM_THREADS", "1", 1);
    /* The libevent of Open MPI 4 may otherwise warn of a file that it has closed itself, as it
     * ends. Open MPI 5 has epoll alone. */
    if (is_open_mpi_4()) setenv("EVENT_NOEPOLL", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ranks_tell_the_same_story),
        cmocka_unit_test(golden_models_go_on_the_same),
        cmocka_unit_test(their_logits_are_transformers),
        cmocka_unit_test(the_same_seed_draws_the_same_text),
        cmocka_unit_test(files_of_other_formats_are_cut_as_well),
        cmocka_unit_test(what_is_counted_is_the_formula),
        cmocka_unit_test(the_lesson_shows_this_report),
        cmocka_unit_test(make_parallel_runs_two_or_as_many_as_one_says),
        cmocka_unit_test(heads_that_do_not_divide_are_refused),
        cmocka_unit_test(the_rank_that_fails_is_named),
        cmocka_unit_test(what_no_rank_can_read_is_said_once),
        cmocka_unit_test(ranks_that_are_asked_for_help_end_well),
        cmocka_unit_test(ranks_that_are_not_alike_are_told),
        cmocka_unit_test(without_a_model_they_show_the_lesson),
        cmocka_unit_test(one_rank_writes_and_refuses_as_llama_does),
        cmocka_unit_test(a_full_disk_on_rank_1_is_no_harm),
        cmocka_unit_test(a_rank_that_dies_ends_them_all),
        cmocka_unit_test(control_c_ends_them_all),
    };
    return cmocka_run_group_tests_name("parallel", tests, make_folder, remove_folder) != 0;
}

#endif
