/* Chapter 17: what build/train is told, what it is to read and what lies in its folder, wrong in
 * every way: one clear line, and nothing is begun or lost. And what it says of a run: the line, the
 * table, the curve. */
#include "17_training/report.h"
#include "common/error.h"
#include "common/file.h"
#include "common/safetensors.h"
#include "tests/cases.h"
#include "tests/program.h"

#include <math.h>
#include <sys/stat.h>

#define GOLDEN ROOT "/tests/golden"
#define STORIES ROOT "/common/stories/model"
#define TRAIN "'" BUILD "/train' "

/* A small model on a small file of tokens; and a smaller one, of no weights yet, on a text. */
#define TOKENS "--model '" GOLDEN "/models/llama1' --seq-len 24 --batch-size 1 --data "
#define WORDS TOKENS "'" GOLDEN "/run/words.safetensors' "
#define TEXT "--config tiny.json --tokenizer '" STORIES "' --data story.txt --batch-size 1 "

static bool exists(const char *name) { return access(AT("%s/%s", folder, name), F_OK) == 0; }

static void write_tiny(const char *name, const char *more) {
    write_text(name, AT("{\"model_type\": \"llama\", \"vocab_size\": 1024, \"hidden_size\": 8, "
                        "\"intermediate_size\": 8, \"num_hidden_layers\": 1, "
                        "\"num_attention_heads\": 2, \"max_position_embeddings\": 64%s}",
                        more));
}

/* Tokens 0, 1, 2 …, whose second document begins at `second`, if there is one, and how much each
 * counts. */
static void write_tokens(const char *name, size_t count, int64_t second, const float *learned) {
    int32_t ids[65];
    const int64_t begins[] = {0, second};
    for (size_t i = 0; i < count; i++) ids[i] = (int32_t)i;
    const Tensor tensors[] = {
        {.name = "ids", .dtype = I32, .rank = 1, .shape = {count}, .data = ids},
        {.name = "begins", .dtype = I64, .rank = 1, .shape = {second ? 2 : 1}, .data = begins},
        {.name = "learned", .dtype = F32, .rank = 1, .shape = {count}, .data = learned}};
    safetensors_save(AT("%s/%s", folder, name), learned ? 3 : 2, tensors, 0, NULL);
}

static int make_files(void **state) {
    if (make_folder(state) != 0 || setenv("STORIES", STORIES, 1) != 0 ||
        setenv("LLAMA1", GOLDEN "/models/llama1", 1) != 0)
        return -1;
    write_text("empty.txt", "");
    write_text("blank.txt", "\n\n\n\n");
    write_bytes("binary", 15, "Mia\0has a ball.");
    write_tokens("tokens.safetensors", 65, 63, NULL);
    write_tokens("one.safetensors", 1, 0, NULL);
    write_tokens("astray.safetensors", 3, 0, (const float[]){1, 1, -1});
    write_tokens("none.safetensors", 3, 0, (const float[]){1, 1, NAN});
    write_tiny("zero.json", ", \"initializer_range\": 0");
    write_tiny("large.json", ", \"initializer_range\": 100");
    write_text("story.txt", "Mia has a ball. Mia gave the ball to Anna. Anna has the ball.\n");
    write_tiny("tiny.json", "");
    write_text(
        "words.json",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"vocab_size\": 64, \"hidden_size\": 8, "
        "\"intermediate_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2}");
    /* What is large is looked into, and not refused for its size. */
    return run("truncate -s 600M large && " TRAIN WORDS "--steps 2 --out begun");
}

/* ------------------------------------------------------------------ what it is told */

static void a_run_is_not_begun(void **state) {
    const char *const *its = *state;
    assert_error(run(TRAIN "--out refused %s", its[0]), its[1]);
    assert_false(exists("refused"));
}

static void a_run_makes_no_sense(void **state) {
    const char *const *its = *state;
    assert_misuse(run(TRAIN "--out refused %s", its[0]));
    assert_said(its[1]);
    assert_false(exists("refused"));
}

static void a_folder_is_needed(void **) {
    assert_misuse(run(TRAIN "--config tiny.json --data story.txt"));
    assert_said("--out DIR is missing");
}

static void a_path_may_be_too_long(void **) {
    /* A path may be as long as the system takes it, and what lies in it has none any more. */
    assert_error(
        run(TRAIN "--config tiny.json --tokenizer '" STORIES
                  "' --data story.txt --batch-size 1 --out \"$(printf './%%.0s' $(seq 2040))x\""),
        "/…: the path is too long");
    assert_error(run(TRAIN "--out refused --tokenizer \"$(printf './%%.0s' $(seq 2045))\" "
                           "--config tiny.json --data story.txt"),
                 "/…: the path is too long");
    assert_error(run(TRAIN "--out refused --config tiny.json --data story.txt --tokenizer "
                           "\"$(printf './%%.0s' $(seq 2100))\""),
                 "/…: the path is too long");
    assert_error(
        run(TRAIN
            "--out refused --config \"$(printf './%%.0s' $(seq 2100))tiny.json\" --data story.txt"),
        "/…: the path is too long");
}

/* ------------------------------------------------------------------ files of tokens */

typedef struct {
    const char *words;
    Tensor tensors[3]; /* those that have a name */
} TokenFile;

static void broken_files_of_tokens_are_named(void **) {
    static const int32_t ids[] = {1, 2, 3, 4};
    static const float broken[] = {1, 2.5f, 3, 4}, negative[] = {1, -2, 3, 4},
                       ones[] = {1, 1, 1, 1};
    static const int64_t from_1[] = {1, 3}, backwards[] = {0, 3, 2}, twice[] = {0, 2, 2},
                         beyond[] = {0, 9};
    static const int64_t large[] = {1, INT64_C(0x100000001), 3, 4};
    static const float nowhere[] = {0, NAN}, half[] = {0, 1.5f};
#define IDS(r, ...) {.name = "ids", .dtype = I32, .rank = r, .shape = {__VA_ARGS__}, .data = ids}
#define BEGINS(n, type, numbers)                                                                   \
    { .name = "begins", .dtype = type, .rank = 1, .shape = {n}, .data = numbers }
    const TokenFile cases[] = {
        {"it has no ids, of [tokens] or [documents, tokens]", {BEGINS(2, I64, from_1)}},
        {"it has no ids, of [tokens] or [documents, tokens]", {IDS(3, 1, 2, 2)}},
        {"it has no ids, of [tokens] or [documents, tokens]", {IDS(0, 1)}},
        {"it is empty: there is nothing to learn", {IDS(1, 0)}},
        {"it is empty: there is nothing to learn", {IDS(2, 4, 0)}},
        {"its learned are not as many as its ids",
         {IDS(1, 4), {.name = "learned", .dtype = F32, .rank = 1, .shape = {3}, .data = ones}}},
        {"begins[0] is not 0", {IDS(1, 4), BEGINS(2, I64, from_1)}},
        {"begins[2] is not behind the one before it", {IDS(1, 4), BEGINS(3, I64, backwards)}},
        {"begins[2] is not behind the one before it", {IDS(1, 4), BEGINS(3, I64, twice)}},
        {"begins[1] is not behind the one before it, or there is no such token",
         {IDS(1, 4), BEGINS(2, I64, beyond)}},
        {"begins[1] is not behind the one before it, or there is no such token",
         {IDS(1, 4), BEGINS(2, F32, nowhere)}},
        {"begins[1] is not behind the one before it, or there is no such token",
         {IDS(1, 4), BEGINS(2, F32, half)}},
        {"token 1 of document 1 is 2.5",
         {{.name = "ids", .dtype = F32, .rank = 1, .shape = {4}, .data = broken}}},
        {"token 1 of document 1 is -2",
         {{.name = "ids", .dtype = F32, .rank = 1, .shape = {4}, .data = negative}}},
        {"token 1 of document 1 is 4294967297",
         {{.name = "ids", .dtype = I64, .rank = 1, .shape = {4}, .data = large}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t count = 0;
        while (count < COUNT(cases[i].tensors) && cases[i].tensors[count].name) count++;
        safetensors_save(AT("%s/broken.safetensors", folder), count, cases[i].tensors, 0, NULL);
        assert_error(run(TRAIN TOKENS "broken.safetensors --out refused"),
                     AT("broken.safetensors: %s", cases[i].words));
        if (exists("refused")) fail_msg("%d: %s", (int)i, said);
    }
}

/* ------------------------------------------------------------------ what lies in the folder */

/* A checkpoint in `spoiled`, with one tensor or one note other than in `begun`. */
typedef struct {
    const char *tensor, *note; /* what is changed; without a change it is left out */
    void (*change)(Tensor *tensor);
    const char *value, *words;
} Spoiled;

static void another_type(Tensor *tensor) { tensor->dtype = I32; }
static void another_rank(Tensor *tensor) {
    tensor->rank = 2;
    tensor->shape[1] = 1;
}
static void another_shape(Tensor *tensor) { tensor->shape[1] /= 2; }

static void a_checkpoint_of_others_is_left_alone(void **) {
    static const Spoiled cases[] = {
        {"m/lm_head.weight", NULL, NULL, NULL,
         "its m/lm_head.weight is missing, and the model's [64, 32]"},
        {"v/lm_head.weight", NULL, another_shape, NULL,
         "its v/lm_head.weight is [64, 16], and the model's [64, 32]"},
        {"model.norm.weight", NULL, another_type, NULL,
         "it is of a model of another shape: its model.norm.weight is"},
        {"model.norm.weight", NULL, another_rank, NULL,
         "its model.norm.weight is [32, 1], and the model's [32]"},
        {NULL, "step", NULL, NULL, "it does not say its step: this program did not write it"},
        {NULL, "step", NULL, "3", "its step is \"3\": this program did not write it"},
        {NULL, "step", NULL, "", "its step is \"\": this program did not write it"},
        {NULL, "seconds", NULL, "-1", "its seconds is \"-1\": this program did not write it"},
        {NULL, "seconds", NULL, "nan", "its seconds is \"nan\": this program did not write it"},
        {NULL, "lr", NULL, NULL, "it does not say its lr: this program did not write it"},
        {NULL, "data", NULL, NULL, "it does not say its data: this program did not write it"},
    };
    SafeTensors file = safetensors_open(AT("%s/begun/checkpoint.safetensors", folder));
    Tensor tensors[file.count + 1];
    Metadata notes[file.metadata_count];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const Spoiled *c = &cases[i];
        size_t count = 0, noted = 0;
        for (size_t t = 0; t < file.count; t++) {
            const bool is = c->tensor && strcmp(file.tensors[t].name, c->tensor) == 0;
            tensors[count] = file.tensors[t];
            if (is && c->change) c->change(&tensors[count]);
            count += !is || c->change;
        }
        for (size_t n = 0; n < file.metadata_count; n++) {
            const bool is = c->note && strcmp(file.metadata[n].key, c->note) == 0;
            notes[noted] = is ? (Metadata){c->note, c->value} : file.metadata[n];
            noted += !is || c->value;
        }
        assert_true(count + noted < file.count + file.metadata_count || c->change || c->value);
        assert_runs("rm -rf spoiled && cp -r begun spoiled");
        safetensors_save(AT("%s/spoiled/checkpoint.safetensors", folder), count, tensors, noted,
                         notes);
        assert_error(run(TRAIN WORDS "--steps 2 --resume --out spoiled"), c->words);
        assert_runs("cmp begun/model.safetensors spoiled/model.safetensors");
    }
    for (size_t n = 0; n < file.metadata_count; n++) { /* as an older version named it */
        notes[n] = file.metadata[n];
        if (strcmp(notes[n].key, "lr") == 0) notes[n].key = "rate";
    }
    safetensors_save(AT("%s/spoiled/checkpoint.safetensors", folder), file.count, file.tensors,
                     file.metadata_count, notes);
    assert_runs(TRAIN WORDS "--steps 2 --resume --out spoiled");
    memcpy(tensors, file.tensors, file.count * sizeof *tensors);
    tensors[file.count] = file.tensors[0];
    tensors[file.count].name = "one_more";
    safetensors_save(AT("%s/spoiled/checkpoint.safetensors", folder), file.count + 1, tensors,
                     file.metadata_count, file.metadata);
    assert_error(run(TRAIN WORDS "--steps 2 --resume --out spoiled"), "it has 1 tensors more");
    safetensors_close(&file);
}

static void a_folder_of_others_is_left_alone(void **) {
    assert_runs("mkdir sharded && touch sharded/model.safetensors.index.json");
    assert_error(run(TRAIN WORDS "--out sharded"),
                 "a model lies there that no run of this program began");
    assert_runs("ls sharded");
    assert_string_equal(strchr(said, 'm'), "model.safetensors.index.json\n");
    assert_runs("mkdir -p odd/log.csv");
    assert_int_equal(run(TRAIN WORDS "--steps 1 --out odd"), 1);
    assert_said("error: ");
    assert_said("odd/log.csv");
    assert_true(exists("odd/log.csv/."));
}

/* What a killed run had begun to write goes, what is not its own stays. */
static void only_what_it_wrote_is_removed(void **) {
    assert_runs("cp -r begun left; cd left; touch model.safetensors.tmp-1-0 log.csv.tmp-1-0 "
                "config.json.tmp-1-0 notes.tmp-1-0; rm model.safetensors log.csv");
    assert_runs(TRAIN WORDS "--steps 2 --resume --out left");
    assert_said(
        "step 2 was the last: --model left and another --out begin with what it has learned\n");
    assert_runs("cmp left/model.safetensors begun/model.safetensors");
    assert_runs("cd left && ls *.tmp-*");
    assert_string_equal(said, "notes.tmp-1-0\n");
}

/* What transformers needs is in its config.json, be it in that which it was made from or not. */
static void its_config_says_what_others_need(void **) {
    assert_runs(TRAIN "--config words.json --data '" GOLDEN
                      "/run/words.safetensors' --seq-len 24 --batch-size 1 --steps 1 --out said");
    assert_runs("grep -c '\"model_type\": \"llama\"\\|\"dtype\": \"float32\"' said/config.json");
    assert_string_equal(said, "2\n");
    assert_runs(TRAIN TEXT "--steps 1 --out said_too");
    assert_runs("grep -c 'LlamaForCausalLM\\|\"[be]os_token_id\": [12]' said_too/config.json");
    assert_string_equal(said, "3\n");
}

/* ------------------------------------------------------------------ what it says */

/* The table is a line for each step; those of steps that are done again, and one that is torn, are
 * taken out. */
static void the_table_has_each_step_once(void **) {
    size_t length;
    assert_runs("cp -r begun torn; printf '3,72,9,9,9,9,\\n4,96,' >>torn/log.csv");
    assert_runs(TRAIN WORDS "--steps 2 --resume --out torn");
    char *whole = file_read(AT("%s/begun/log.csv", folder), &length);
    char *mended = file_read(AT("%s/torn/log.csv", folder), &length);
    assert_string_equal(mended, whole);
    free(whole);
    free(mended);
}

/* The table grows beyond what the disk takes. */
static void a_full_disk_is_no_secret(void **) {
    assert_int_equal(run("ulimit -f 16; " TRAIN "--config words.json --data '" GOLDEN
                         "/run/words.safetensors' --seq-len 24 --batch-size 1 --threads 1 --steps "
                         "3000 --save-every 3000 --out full 2>why"),
                     1);
    assert_runs("tail -n 1 why | tr '\\r' '\\n' | tail -n 1");
    assert_said("cannot write full/log.csv: File too large; the last checkpoint is whole");
    assert_false(exists("full/model.safetensors"));
}

static void time_that_is_left_is_told_in_its_unit(void **) {
    static const struct {
        int steps;
        const char *left;
    } cases[] = {{80, "70 s left"}, {600, "10 min left"}, {36010, "10.0 h left"}};
    for (size_t i = 0; i < COUNT(cases);
         i++) { /* a step a second; 1000 operations of 4000 that were possible */
        const Report report = {.steps = cases[i].steps,
                               .tokens = 50,
                               .operations = 1000,
                               .measuring = 1,
                               .multiplied = 4000,
                               .done = 10,
                               .seconds = 10};
        const Row row = {.step = 10, .loss = 2, .validation = i == 1 ? 3 : NAN};
        char line[256];
        fflush(stdout);
        int terminal = dup(STDOUT_FILENO);
        assert_non_null(freopen(AT("%s/line", folder), "w+", stdout));
        report_line(&report, &row);
        rewind(stdout);
        line[fread(line, 1, sizeof line - 1, stdout)] = '\0';
        dup2(terminal, STDOUT_FILENO);
        close(terminal);
        snprintf(said, sizeof said,
                 "step 10 of %d   loss 2.0000   50 tokens a second, 25 %% of FMA peak   %s%s\n",
                 cases[i].steps, cases[i].left, i == 1 ? "   validation 3.0000" : "");
        assert_string_equal(line, said);
    }
}

/* gnuplot is asked twice, and a quote in a path stays one. Where there is none, or it cannot, a
 * note says so. */
static void the_loss_is_drawn_where_it_can_be(void **) {
    assert_runs("mkdir bin && printf '#!/bin/sh\\nprintf \"%%%%s\\\\n\" \"$@\" "
                ">>asked\\n' >bin/gnuplot && chmod +x bin/gnuplot");
    assert_runs("cp -r begun \"it's\"; PATH=\"$PWD/bin:$PATH\" " TRAIN WORDS
                "--steps 2 --plot --resume --out \"it's\"");
    assert_null(strstr(said, "note: "));
    assert_runs("cat asked");
    assert_said("\ndata='it''s/log.csv'\n");
    assert_said("\noutput='it''s/loss.svg'\n" ROOT "/chapters/17_training/loss.gp\n");
    assert_said("\npreview=1\n" ROOT "/chapters/17_training/loss.gp\n");
    assert_null(strstr(said, "validation=1"));
    assert_runs("PATH=\"$PWD/bin:$PATH\" " TRAIN WORDS "--steps 1 --plot --eval-data '" GOLDEN
                "/run/words.safetensors' --out valid");
    assert_runs("grep -c validation=1 asked");
    static const char *const paths[] = {
        "$PWD/bin:$PATH",
#ifndef EMULATED /* without a PATH there is no emulator either */
        "$PWD/nowhere",
#endif
    };
    assert_runs("printf '#!/bin/sh\\nexit 3\\n' >bin/gnuplot");
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_runs("PATH=\"%s\" " TRAIN WORDS "--steps 2 --plot --resume --out begun", paths[i]);
        assert_said("note: the loss was not drawn: gnuplot is missing, or could not");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_needed),
        cmocka_unit_test(a_path_may_be_too_long),
        cmocka_unit_test(broken_files_of_tokens_are_named),
        cmocka_unit_test(a_checkpoint_of_others_is_left_alone),
        cmocka_unit_test(a_folder_of_others_is_left_alone),
        cmocka_unit_test(only_what_it_wrote_is_removed),
        cmocka_unit_test(its_config_says_what_others_need),
        cmocka_unit_test(the_table_has_each_step_once),
        cmocka_unit_test(a_full_disk_is_no_secret),
        cmocka_unit_test(time_that_is_left_is_told_in_its_unit),
        cmocka_unit_test(the_loss_is_drawn_where_it_can_be),
    };
    static const Check checks[] = {CHECK(a_run_is_not_begun), CHECK(a_run_makes_no_sense)};
    return run_with_cases("programs/recipe", COUNT(tests), tests, COUNT(checks), checks, make_files,
                          remove_folder);
}
