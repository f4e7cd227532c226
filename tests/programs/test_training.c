/* Chapter 17: the program that trains. A hundred steps beside PyTorch's; killed at any moment and
 * resumed, the same bits; what is read, in which order and shares; and everything that can be
 * wrong. */
#include "09_decoder/model.h"
#include "17_training/documents.h"
#include "17_training/mixture.h"
#include "common/check.h"
#include "common/error.h"
#include "common/file.h"
#include "common/random.h"
#include "common/safetensors.h"
#include "common/timer.h"
#include "tests/program.h"
#include "tests/refused.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>

#define GOLDEN ROOT "/tests/golden"
#define STORIES ROOT "/common/stories/model"

/* A small model on two small files, 12 steps of so many sequences. */
#define STEPS_OF(batch)                                                                            \
    "'" BUILD "/train' --model '" GOLDEN "/models/llama1' --data '" GOLDEN                         \
    "/run/words.safetensors':3 --data '" GOLDEN                                                    \
    "/run/answers.safetensors' --seq-len 24 --batch-size " #batch " --steps 12 --seed 5 "
#define SMALL STEPS_OF(3)
/* It is at work for so long that it can be stopped in the midst of it. */
#ifdef EMULATED
#define LASTING STEPS_OF(5)
#else
#define LASTING STEPS_OF(100)
#endif

static float counts[2048]; /* of the sequences that are read here; most tests do not look */

static bool exists(const char *name) { return access(AT("%s/%s", folder, name), F_OK) == 0; }

/* Documents of these lengths, a 0 behind the last; the tokens count on from 0. */
static void write_tokens(const char *name, const int lengths[]) {
    int64_t begins[64];
    int32_t ids[2048];
    size_t documents = 0, tokens = 0;
    for (; lengths[documents]; documents++) {
        begins[documents] = (int64_t)tokens;
        for (int i = 0; i < lengths[documents]; i++, tokens++) ids[tokens] = (int32_t)tokens;
    }
    Tensor tensors[] = {
        {.name = "begins", .dtype = I64, .rank = 1, .shape = {documents}, .data = begins},
        {.name = "ids", .dtype = I32, .rank = 1, .shape = {tokens}, .data = ids}};
    safetensors_save(AT("%s/%s", folder, name), 2, tensors, 0, NULL);
}

/* ------------------------------------------------------------------ beside PyTorch */

/* A column of log.csv; NAN where it is empty. */
static int read_column(const char *path, int column, int most, double values[most]) {
    size_t length;
    char *text = file_read(path, &length), *rest = strchr(text, '\n') + 1;
    int rows = 0;
    for (char *row; rows < most && (row = strsep(&rest, "\n")) && *row; rows++) {
        char *cell = NULL;
        for (int c = 0; c <= column; c++) cell = strsep(&row, ",");
        values[rows] = *cell ? strtod(cell, NULL) : NAN;
    }
    free(text);
    return rows;
}

enum { LOSS = 2, VALIDATION = 6 };

static void assert_weights_agree(const SafeTensors *golden, const char *path) {
    SafeTensors ours = safetensors_open(path);
    for (size_t i = 0; i < ours.count; i++) {
        const Tensor *tensor = &ours.tensors[i], *truth = safetensors_find(golden, tensor->name);
        assert_non_null(truth);
        double *right = tensor_to_double(truth),
               ulps = strtod(safetensors_metadata(golden, AT("ulps/%s", tensor->name)), NULL);
        float *got = tensor_to_float(tensor);
        Comparison a = check_within(CHECK_MULTIPLE * ulps + CHECK_ULPS, tensor_count(tensor),
                                    tensor->shape[tensor->rank - 1], got, right);
        if (a.wrong)
            fail_msg("%s: %zu of %zu differ, by up to %.1f ulps; PyTorch's own float32 by %.1f",
                     tensor->name, a.wrong, a.count, a.ulps, ulps);
        free(right);
        free(got);
    }
    safetensors_close(&ours);
}

/* "words:3 answers:1", as options. */
static const char *data_options(char options[static 2 * PATH], const char *data) {
    int length = 0;
    for (const char *at = data; *at; at += *at == ' ') {
        int name = (int)strcspn(at, ":"), weight = (int)strcspn(at + name, " ");
        length += sprintf(options + length, "--data '" GOLDEN "/run/%.*s.safetensors'%.*s ", name,
                          at, weight, at + name);
        at += name + weight;
    }
    return options;
}

#ifdef EMULATED /* takes far longer: two of five runs, and fewer moments, which are other ones     \
                   each time */
enum { EVERY = 4, KILLS = 3 };
#else
enum { EVERY = 1, KILLS = 12 };
#endif

/* By AdamW; with tokens that count differently, in the order of the files; and by Muon. Each step
 * begins where the roundings of the one before have led: after a hundred the losses are 2e-6 apart,
 * by Muon up to 7e-6. */
static void a_hundred_steps_are_pytorch_s(void **) {
    static const char *const names[] = {"counted", "llama1", "llama32", "biases", "muon"};
    enum { STEPS = 100 };
    char data[2 * PATH];
    for (size_t n = 0; n < sizeof names / sizeof *names; n += EVERY) {
        SafeTensors golden = safetensors_open(AT(GOLDEN "/run/%s.safetensors", names[n]));
        int status = run("'" BUILD "/train' --model '" GOLDEN "/models/%s' %s %s --out %s",
                         safetensors_metadata(&golden, "model"),
                         data_options(data, safetensors_metadata(&golden, "data")),
                         safetensors_metadata(&golden, "options"), names[n]);
        if (status) fail_msg("%s", said);
        double losses[STEPS + 1], right;
        assert_int_equal(
            read_column(AT("%s/%s/log.csv", folder, names[n]), LOSS, STEPS + 1, losses), STEPS);
        for (size_t s = 0; s < STEPS; s++) {
            right = tensor_get(safetensors_find(&golden, "losses"), s);
            if (!(fabs(losses[s] / right - 1) < 1e-4))
                fail_msg("%s, step %zu: %.9g, not %.9g", names[n], s + 1, losses[s], right);
        }
        assert_weights_agree(&golden, AT("%s/%s/model.safetensors", folder, names[n]));
        safetensors_close(&golden);
    }
}

/* ------------------------------------------------------------------ killed, and resumed */

/* Nothing is seen of a step before its end. */
static void a_long_step_is_announced(void **) {
    static const char *const batches[] = {"20000", "2"};
    for (int i = 0; i < 2; i++) {
        run("'" BUILD "/train' --model '" STORIES "' --data '" GOLDEN
            "/run/words.safetensors':1:20000 --batch-size %s --steps 2 --out long >told 2>&1 & "
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 1; "
            "grep -q 'a step\\|step 2 of 2   loss' told && break; done; kill -9 $!; rm -rf long; "
            "cat told",
            batches[i]);
        assert_non_null(strstr(said, AT("2 steps of %s sequences of 512 tokens", batches[i])));
        assert_int_equal(strstr(said, "or more here: a smaller --batch-size") != NULL, i == 0);
    }
}

/* Sequences of two tokens: the only query whose answer counts sees one key, and softmax has no
 * slope. Where rounding left some, Adam would make whole steps of it. */
static void one_key_teaches_nothing(void **) {
    write_tokens("two.safetensors", (const int[]){2, 2, 2, 2, 2, 2, 0});
    assert_runs("'" BUILD "/train' --model '" GOLDEN "/models/llama1' --data "
                "two.safetensors:1:100 --seq-len 2 --batch-size 4 --steps 9 --seed 5 "
                "--weight-decay 0 --lr 0.001 --out two");
    SafeTensors before = safetensors_open(GOLDEN "/models/llama1/model.safetensors"),
                after = safetensors_open(AT("%s/two/model.safetensors", folder));
    static const char *const names[] = {"q_proj", "k_proj", "v_proj"};
    for (int i = 0; i < 3; i++) {
        const char *name = AT("model.layers.1.self_attn.%s.weight", names[i]);
        const Tensor *one = safetensors_find(&before, name), *two = safetensors_find(&after, name);
        float *old = tensor_to_float(one), *new = tensor_to_float(two);
        size_t bytes = tensor_count(one) * sizeof(float);
        assert_int_equal(memcmp(old, new, bytes) != 0, i == 2); /* values do learn */
        free(old);
        free(new);
    }
    safetensors_close(&before);
    safetensors_close(&after);
}

static void assert_same_file(const char *one, const char *other) {
    size_t size, other_size;
    char *bytes = file_read(AT("%s/%s", folder, one), &size),
         *others = file_read(AT("%s/%s", folder, other), &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, others, size);
    free(bytes);
    free(others);
}

/* Weights, m, v and all losses; the clock alone may differ. */
static void assert_same_run(const char *one, const char *other) {
    enum { MOST = 64 };
    double losses[2][MOST];
    assert_same_file(AT("%s/model.safetensors", one), AT("%s/model.safetensors", other));
    SafeTensors a = safetensors_open(AT("%s/%s/checkpoint.safetensors", folder, one));
    SafeTensors b = safetensors_open(AT("%s/%s/checkpoint.safetensors", folder, other));
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++)
        assert_memory_equal(a.tensors[i].data, b.tensors[i].data, tensor_bytes(&a.tensors[i]));
    safetensors_close(&a);
    safetensors_close(&b);
    int rows = read_column(AT("%s/%s/log.csv", folder, one), LOSS, MOST, losses[0]);
    assert_int_equal(rows, read_column(AT("%s/%s/log.csv", folder, other), LOSS, MOST, losses[1]));
    assert_memory_equal(losses[0], losses[1], (size_t)rows * sizeof **losses);
}

/* Starts the command in a process group of its own, to be killed with all that it started. */
static pid_t start(const char *command) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        signal(SIGINT, SIG_DFL); /* in the background it would be ignored */
        execl("/bin/sh", "sh", "-c", AT("cd %s && exec >/dev/null 2>&1; exec %s", folder, command),
              (char *)NULL);
        _exit(127);
    }
    setpgid(child, child);
    return child;
}

static int end_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return status;
}

/* With these options, whole; and killed so many times, or until one was interrupted, each time at
 * another moment, and resumed. */
static void survive(const char *options, const char *whole, const char *killed, int kills) {
    char resumed[2 * PATH];
    snprintf(resumed, sizeof resumed, "%s --save-every 2 --resume --out %s", options, killed);
    double began = seconds();
    assert_runs("%s --save-every 5 --out %s", options, whole);
    double took = seconds() - began;
    Random random = {(uint64_t)time(NULL)}; /* other moments in each run of this test */
    int interrupted = 0;
    for (int n = 0; n < kills || interrupted == 0; n++) {
        pid_t child = start(resumed);
        double moment = random_uniform(&random) * took;
        nanosleep(&(struct timespec){(time_t)moment, (long)(fmod(moment, 1) * 1e9)}, NULL);
        kill(-child, SIGKILL);
        int status = end_of(child);
        interrupted += WIFSIGNALED(status);
        if (WIFSIGNALED(status)) continue;
        assert_int_equal(status, 0);
        assert_same_run(whole, killed);
        run("rm -r %s", killed);
    }
    if (run("%s", resumed)) fail_msg("%s", said);
    assert_same_run(whole, killed);
    assert_int_equal(run("ls %s | grep -c tmp", killed), 1); /* what was left over is gone */
    assert_runs("%s", resumed);                              /* nothing is left to do */
    assert_same_run(whole, killed);
}

static void killed_at_any_moment_it_gives_the_same_bits(void **) {
    survive(SMALL, "whole", "killed", KILLS);
    survive(SMALL "--muon-lr 0.01 --no-shuffle --save-bf16", "by_muon", "by_muon_killed",
            KILLS / 3);
}

/* The model is the weights of the checkpoint, rounded; those themselves are not. */
static void a_model_in_bf16_is_half_as_large(void **) {
    Model model = model_open(AT("%s/by_muon", folder));
    assert_int_equal(model.embed_tokens.dtype, BF16);
    model_close(&model);
    SafeTensors saved = safetensors_open(AT("%s/by_muon/model.safetensors", folder));
    SafeTensors kept = safetensors_open(AT("%s/by_muon/checkpoint.safetensors", folder));
    size_t rounded = 0;
    for (size_t i = 0; i < saved.count; i++) {
        const Tensor *tensor = &saved.tensors[i], *exact = safetensors_find(&kept, tensor->name);
        assert_int_equal(exact->dtype, F32);
        for (size_t n = 0; n < tensor_count(tensor); n++) {
            float number = (float)tensor_get(exact, n);
            assert_true(tensor_get(tensor, n) == bf16_to_float(bf16_from_float(number)));
            rounded += tensor_get(tensor, n) != number;
        }
    }
    assert_true(rounded > 10000);
    safetensors_close(&saved);
    safetensors_close(&kept);
    size_t length;
    char *config = file_read(AT("%s/by_muon/config.json", folder), &length);
    assert_non_null(strstr(config, "\"dtype\": \"bfloat16\""));
    free(config);
}

/* Other intervals, and a validation, change nothing of the training. */
static void what_is_only_looked_at_changes_nothing(void **) {
    assert_runs("%s", SMALL "--save-every 3 --eval-data '" GOLDEN
                            "/run/answers.safetensors' --eval-every 4 --out watched");
    assert_same_run("whole", "watched");
    double validations[13];
    assert_int_equal(read_column(AT("%s/watched/log.csv", folder), VALIDATION, 13, validations),
                     12);
    for (int s = 0; s < 12; s++) assert_int_equal(isnan(validations[s]), (s + 1) % 4 != 0);
    assert_true(validations[11] < validations[3]);
}

static void only_the_same_run_is_resumed(void **) {
    assert_error(run("%s", SMALL "--out whole"),
                 "a run has begun there: --resume goes on with it, another --out begins anew");
    static const char *const others[][2] = {
        {"--lr 0.01 --min-lr 0.0001", "it was begun with --lr 0.001, and now that is 0.01"},
        {"--warmup 1", "it was begun with --warmup 0, and now that is 1"},
        {"--muon-lr 0.01", "it was begun with --muon-lr 0, and now that is 0.01"},
        {"--no-shuffle", "it was begun with --no-shuffle 0, and now that is 1"},
        {"--matmul-bf16", "it was begun with --matmul-bf16 0, and now that is 1"},
        {"--data words.safetensors", "it was begun with other --data"}};
    assert_runs("cp '" GOLDEN "/run/words.safetensors' .");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_error(run("%s %s --resume --out whole", SMALL, others[i][0]), others[i][1]);
    }
    assert_error(run("'" BUILD "/train' --model '" GOLDEN
                     "/models/llama32' --data words.safetensors --seq-len 24 --resume --out whole"),
                 "it is of a model of another shape: its model.layers.0.self_attn.q_proj.weight is "
                 "[32, 32], and the model's [48, 32]");
    assert_runs("cp -r '" GOLDEN "/models/llama1' other_epsilon; sed -i 's/\"rms_norm_eps\": "
                "[^,]*/\"rms_norm_eps\": 0.5/' other_epsilon/config.json");
    assert_error(run("%s --model other_epsilon --data '" GOLDEN
                     "/run/words.safetensors':3 --data '" GOLDEN
                     "/run/answers.safetensors' %s --resume --out whole",
                     "'" BUILD "/train'", strstr(SMALL, "--seq-len")),
                 "or another config.json: --resume goes on as it was begun");
    assert_runs("cp -r whole noted; sed -i 's/\"step\":\"12\"/\"step\":\"1x\"/' "
                "noted/checkpoint.safetensors");
    assert_error(run("%s", SMALL "--resume --out noted"),
                 "noted/checkpoint.safetensors: its step is \"1x\": this program did not write it");
    /* Its disk is away: begun anew, the run would write over what is there. */
    assert_runs("cd noted && rm model.safetensors && ln -sf /nowhere/checkpoint "
                "checkpoint.safetensors");
    assert_error(run("%s", SMALL "--resume --out noted"),
                 "noted/checkpoint.safetensors: it is a link, and what it points to is not there");
    assert_same_run("whole", "killed"); /* nothing was lost */
}

/* BF16 has three digits, and the losses of a few steps as many in common. */
static void mixed_precision_hardly_changes_the_losses(void **) {
    enum { STEPS = 12 };
    double exact[STEPS], mixed[STEPS];
    if (run("%s", SMALL "--matmul-bf16 --out mixed")) fail_msg("%s", said);
    assert_int_equal(read_column(AT("%s/whole/log.csv", folder), LOSS, STEPS, exact), STEPS);
    assert_int_equal(read_column(AT("%s/mixed/log.csv", folder), LOSS, STEPS, mixed), STEPS);
    for (int s = 0; s < STEPS; s++)
        if (!(fabs(mixed[s] / exact[s] - 1) < 1e-3))
            fail_msg("step %d: %.9g, not %.9g", s + 1, mixed[s], exact[s]);
    assert_true(mixed[STEPS - 1] != exact[STEPS - 1]);
}

static void other_threads_are_noted(void **) {
    assert_runs("%s", SMALL "--threads 1 --out threaded");
    assert_runs("%s", SMALL "--threads 1 --resume --out threaded");
    assert_null(strstr(said, "note:"));
    assert_runs("%s", SMALL "--threads 2 --resume --out threaded");
    assert_said("note: it was saved with --threads 1, and goes on with --threads 2: other bits "
                "will come out\n");
}

/* ------------------------------------------------------------------ several processes */

#ifdef MPIRUN
/* MPI's own libraries leak, and are gone when the leak sanitizer asks for their names. */
#define SEVERAL "ASAN_OPTIONS=detect_leaks=0 timeout 240 " MPIRUN

/* Each process has a part of the batch: the losses of one with the whole, to rounding, which makes
 * 6e-8 in these few steps. (AdamW divides a gradient by its size. One that is next to nothing would
 * be all rounding: eps keeps it so.) */
#define SOFT SMALL "--eps 0.0001 "
static void several_processes_share_a_batch(void **) {
    enum { STEPS = 12 };
    double whole[STEPS], shared[STEPS];
    if (run("%s", SOFT "--out soft")) fail_msg("%s", said);
    read_column(AT("%s/soft/log.csv", folder), LOSS, STEPS, whole);
    for (int ranks = 2; ranks <= 3; ranks++) {
        if (run(SEVERAL " -n %d %s --out shared%d", ranks, SOFT, ranks)) fail_msg("%s", said);
        /* 2 (n - 1) / n numbers for each weight */
        assert_said(AT("rank 0 has sent %.2f MB to the others",
                       2.0 * (ranks - 1) / ranks * 4 * 21664 / 1e6));
        assert_int_equal(read_column(AT("%s/shared%d/log.csv", folder, ranks), LOSS, STEPS, shared),
                         STEPS);
        for (int s = 0; s < STEPS; s++)
            if (!(fabs(shared[s] / whole[s] - 1) < 1e-6))
                fail_msg("step %d: %.9g, not %.9g", s + 1, shared[s], whole[s]);
    }
    double by_muon[STEPS];
    read_column(AT("%s/by_muon/log.csv", folder), LOSS, STEPS, by_muon);
    if (run(SEVERAL " -n 2 %s --muon-lr 0.01 --no-shuffle --out shared_by_muon", SMALL))
        fail_msg("%s", said);
    read_column(AT("%s/shared_by_muon/log.csv", folder), LOSS, STEPS, shared);
    for (int s = 0; s < STEPS; s++)
        if (!(fabs(shared[s] / by_muon[s] - 1) < 1e-6))
            fail_msg("by Muon, step %d: %.9g, not %.9g", s + 1, shared[s], by_muon[s]);
    assert_int_equal(run(SEVERAL " -n 4 %s --out shared4", SMALL), 1);
    assert_said("a --batch-size of 3 sequences cannot be shared by 4 ranks");
    assert_error(run(SEVERAL " -n 2 %s --data - --out shared2_too </dev/null", SMALL),
                 "-: of several ranks only the first has a standard input: name a file");
    assert_int_equal(run(SEVERAL " -n 1 %s --out apart : -n 1 %s --data '" GOLDEN
                                 "/run/words.safetensors' --out apart",
                         SMALL, SMALL),
                     1);
    assert_said(
        "error: rank 1: its --data, its tokenizer or its config.json are not those of rank 0");
}
#endif

/* ------------------------------------------------------------------ the result */

static void the_result_is_a_model(void **) {
    assert_runs("'" BUILD "/stories' --count 40 --seed 3 > stories.txt");
    write_text("tiny.json", "{\"model_type\": \"llama\", \"vocab_size\": 1024, \"hidden_size\": "
                            "16, \"intermediate_size\": 24, \"num_hidden_layers\": 1, "
                            "\"num_attention_heads\": 2, \"max_position_embeddings\": 600}");
    if (run("'" BUILD "/train' --config tiny.json --tokenizer '" STORIES
            "' --data stories.txt --batch-size 1 --seq-len 300 --steps 2 --sample-every 1 --prompt "
            "'Once upon' --out model"))
        fail_msg("%s", said);
    assert_said("    Once upon");
    Model model = model_open(AT("%s/model", folder));
    assert_int_equal(model.config.V, 1024);
    assert_int_equal(model.config.eos[0], 2); /* of the tokenizer */
    assert_int_equal(model.embed_tokens.dtype, F32);
    model_close(&model);
    assert_runs("cmp model/tokenizer.model '" STORIES "/tokenizer.model'");
    assert_runs("'" BUILD "/llama' --model model --prompt Once --max-tokens 3 --quiet");
    /* and a beginning for another run */
    assert_runs("'" BUILD "/train' --model model --data - --batch-size 1 --seq-len 300 "
                "--steps 1 --out second < stories.txt");
}

/* Of a model with biases, which have moved: what it writes in training is what llama writes with
 * it. */
static void a_sample_is_of_the_model_that_learns(void **) {
    write_text("biased.json",
               "{\"model_type\": \"llama\", \"vocab_size\": 1024, \"hidden_size\": 16, "
               "\"intermediate_size\": 24, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
               "\"attention_bias\": true, \"mlp_bias\": true, \"max_position_embeddings\": 600}");
    if (run("'" BUILD "/train' --config biased.json --tokenizer '" STORIES
            "' --data stories.txt --batch-size 1 --seq-len 300 --steps 3 --lr 0.1 --sample-every 3 "
            "--prompt 'Once upon' --out biased"))
        fail_msg("%s", said);
    char *sample = xstrndup(said, strlen(said));
    assert_runs("'" BUILD "/llama' --model biased --prompt 'Once upon' --max-tokens 120 "
                "--temperature 1 --top-p 1 --seed 1 --quiet");
    assert_non_null(strstr(said, "Once upon"));
    if (!strstr(sample, said)) fail_msg("in training:\n%s\nbehind it:\n%s", sample, said);
    free(sample);
}

/* ------------------------------------------------------------------ what is read */

static Reading reading(const Tokenizer *tokenizer, int T, bool cut, const char *learn_after) {
    return (Reading){.tokenizer = tokenizer,
                     .V = 4096,
                     .T = T,
                     .split_documents = cut,
                     .loss_after = learn_after};
}

static Mixture mixture_of(const Reading *how, int count, const char *const names[]) {
    char paths[MOST_SOURCES][PATH];
    const char *specs[MOST_SOURCES];
    for (int i = 0; i < count; i++) specs[i] = text(paths[i], "%s/%s", folder, names[i]);
    return mixture_open(count, specs, how, 9);
}

/* Every token but a document's first is a target once, behind the token that it follows; and
 * documents are whole, unless they may be cut. */
static void every_token_is_told_once(void **) {
    static const int lengths[] = {5, 16, 9, 3, 2, 11, 7, 7, 4, 15, 1, 8, 6, 10, 0};
    enum { T = 16, TOKENS = 104, DOCUMENTS = 14 };
    write_tokens("lengths.safetensors", lengths);
    for (int cut = 0; cut < 2; cut++) {
        Reading how = reading(NULL, T, cut, NULL);
        Mixture m = mixture_of(&how, 1, (const char *[]){"lengths.safetensors"});
        int told[TOKENS] = {0}, ids[T], targets[T];
        for (size_t s = 0; s < m.sources[0].count; s++) {
            mixture_sequence(&m, &m.sources[0], s, ids, targets, counts);
            for (int t = 0; t < T; t++)
                if (targets[t] >= 0) {
                    assert_int_equal(targets[t], ids[t] + 1);
                    told[targets[t]]++;
                }
        }
        for (int d = 0, token = 0; d < DOCUMENTS; d++)
            for (int i = 0; i < lengths[d]; i++) assert_int_equal(told[token++], i > 0);
        assert_int_equal(m.sources[0].documents.count,
                         DOCUMENTS - 1); /* in that of one token is nothing to learn */
        assert_true(m.sources[0].count <= 8 - (size_t)cut); /* of 7 at least: 103 tokens */
        mixture_free(&m);
    }
}

/* Longer ones go on in the next sequence, where they may. */
static void long_documents_are_cut_where_asked(void **) {
    enum { T = 8, LONG = 100 };
    write_tokens("long.safetensors", (const int[]){LONG, 0});
    Reading how = reading(NULL, T, true, NULL);
    Mixture m = mixture_of(&how, 1, (const char *[]){"long.safetensors"});
    int told = 0, ids[T], targets[T];
    for (size_t s = 0; s < m.sources[0].count; s++) {
        mixture_sequence(&m, &m.sources[0], s, ids, targets, counts);
        for (int t = 0; t < T; t++) told += targets[t] >= 0;
    }
    assert_int_equal(told, LONG - 1);
    mixture_free(&m);
}

static void weights_are_shares(void **) {
    enum { T = 4, DRAWN = 1000 };
    static const int four[] = {4, 4, 4, 4, 4, 4, 4, 0}, three[] = {4, 4, 4, 0};
    write_tokens("seven.safetensors", four);
    write_tokens("three.safetensors", three);
    Reading how = reading(NULL, T, false, NULL);
    Mixture m = mixture_of(&how, 3,
                           (const char *[]){"seven.safetensors:0.5", "three.safetensors:0.3",
                                            "three.safetensors:0.2:10"});
    int ids[1][T], targets[1][T];
    for (int n = 1; n <= DRAWN; n++) {
        mixture_next(&m, 1, ids, targets, (void *)counts);
        bool all_three = m.sources[2].drawn < 30; /* ten times three sequences */
        for (int i = 0; all_three && i < 3; i++)  /* never a whole sequence off */
            assert_true(fabs((double)m.sources[i].drawn - n * m.sources[i].weight) <= 1);
    }
    assert_int_equal(m.sources[2].drawn, 30);
    /* The two others have gone on alone, after half of 150, and again never a whole sequence off.
     */
    assert_true(fabs((double)m.sources[0].drawn - 75 - (DRAWN - 150) * 0.5 / 0.8) <= 2);
    mixture_free(&m);
}

/* Each time that a file is read, all its sequences come, once, and in another order. */
static void an_epoch_is_all_of_a_file(void **) {
    enum { T = 4, COUNT = 7, EPOCHS = 5 };
    Reading how = reading(NULL, T, false, NULL);
    Mixture m = mixture_of(&how, 1, (const char *[]){"seven.safetensors::5"});
    int ids[EPOCHS][COUNT][T], targets[COUNT][T], different = 0;
    assert_int_equal(mixture_whole(&m, true), COUNT * EPOCHS);
    for (int e = 0; e < EPOCHS; e++) {
        int sum = 0;
        mixture_next(&m, COUNT, ids[e], targets, (void *)counts);
        for (int s = 0; s < COUNT; s++) sum |= 1 << ids[e][s][0] / T;
        assert_int_equal(sum, (1 << COUNT) - 1);
        different += e && memcmp(ids[e], ids[0], sizeof ids[e]) != 0;
    }
    assert_int_equal(different, EPOCHS - 1);
    assert_false(mixture_seek(&m, COUNT * EPOCHS + 1));
    /* and from anywhere on it is the same again */
    for (size_t n = 0; n < COUNT; n++) {
        assert_true(mixture_seek(&m, 2 * COUNT + n));
        mixture_next(&m, 1, (void *)targets[0], (void *)targets[1], (void *)counts);
        assert_memory_equal(targets[0], ids[2][n], sizeof targets[0]);
    }
    mixture_free(&m);
}

static void a_blank_line_is_one_on_windows_too(void **) {
    write_text("windows.txt",
               "Mia sang.\r\n\r\nTom sang.\r\nTom slept.\r\n\r\n\r\nAnna slept.\r\n");
    Tokenizer *tokenizer = tokenizer_open(STORIES);
    Reading how = reading(tokenizer, 128, false, NULL);
    Documents d = documents_read(AT("%s/windows.txt", folder), &how);
    assert_int_equal(d.count, 3);
    documents_free(&d);
    tokenizer_close(tokenizer);
}

static void only_what_follows_a_text_is_learned(void **) {
    write_text("questions.txt", "Mia has a ball.\nQuestion: Who has it?\nAnswer: Mia has "
                                "it.\nQuestion: Who is it?\nAnswer: Mia."
                                "\n\n\nTom sang.\n\nQuestion: What?\nAnswer: A song.\n");
    Tokenizer *tokenizer = tokenizer_open(STORIES);
    Reading how = reading(tokenizer, 128, false, "Answer:");
    Documents d = documents_read(AT("%s/questions.txt", folder), &how);
    assert_int_equal(d.count, 2); /* of three */
    char learned[200] = "";
    for (size_t i = 0; i < d.tokens; i++) {
        size_t length;
        const char *bytes = tokenizer_bytes(tokenizer, d.ids[i], &length);
        if (d.loss_weight[i]) strncat(learned, bytes, length);
        if (d.loss_weight[i] && d.ids[i] == tokenizer_eos(tokenizer)) strcat(learned, "$");
    }
    assert_string_equal(learned, " Mia has it.\n Mia.$ A song.$");
    assert_int_equal(d.ids[d.spans[1].begin], tokenizer_bos(tokenizer));
    documents_free(&d);
    tokenizer_close(tokenizer);
}

/* The same, where the rest counts a fifth: then no document is left out. */
static void what_follows_a_text_may_count_more(void **) {
    Tokenizer *tokenizer = tokenizer_open(STORIES);
    Reading how = reading(tokenizer, 128, false, "Answer:");
    Documents answers = documents_read(AT("%s/questions.txt", folder), &how);
    how.loss_weight_else = 0.2f;
    Documents all = documents_read(AT("%s/questions.txt", folder), &how);
    assert_int_equal(all.count, answers.count + 1);
    size_t first = all.spans[0].length;
    for (size_t i = 0; i < first; i++)
        assert_true(all.loss_weight[i] == (answers.loss_weight[i] > 0 ? 1 : 0.2f));
    for (size_t i = 0; i < all.spans[1].length; i++)
        assert_true(all.loss_weight[all.spans[1].begin + i] == 0.2f);
    documents_free(&answers);
    documents_free(&all);
    tokenizer_close(tokenizer);
}

/* A document is a sequence here. They come as they stand in the file, time after time, and count
 * what the file says, whatever is learned of texts beside it. */
static void they_are_read_in_order_where_asked(void **) {
    enum { T = 4, COUNT = 9 };
    int32_t ids[COUNT][T];
    float learned[COUNT][T];
    for (int d = 0; d < COUNT; d++)
        for (int t = 0; t < T; t++) {
            ids[d][t] = d * T + t;
            learned[d][t] = (float)(d * t) / 8;
        }
    Tensor tensors[] = {
        {.name = "ids", .dtype = I32, .rank = 2, .shape = {COUNT, T}, .data = ids},
        {.name = "learned", .dtype = F32, .rank = 2, .shape = {COUNT, T}, .data = learned}};
    safetensors_save(AT("%s/ordered.safetensors", folder), 2, tensors, 0, NULL);
    for (int cut = 0; cut < 2; cut++) {
        Reading how = reading(NULL, T, cut, "Answer:");
        how.no_shuffle = true;
        Mixture m = mixture_of(&how, 1, (const char *[]){"ordered.safetensors"});
        int read[T], targets[T];
        float weights[T];
        assert_int_equal(m.sources[0].count,
                         COUNT - 1); /* in the first there is nothing to learn */
        for (int n = 0; n < 3 * (COUNT - 1); n++) {
            int d = 1 + n % (COUNT - 1);
            mixture_next(&m, 1, &read, &targets, &weights);
            assert_memory_equal(read, ids[d], sizeof read);
            for (int t = 0; t < T; t++) {
                assert_true(weights[t] == (t + 1 < T ? learned[d][t + 1] : 0));
                assert_int_equal(targets[t], t + 1 < T ? ids[d][t + 1] : -1);
            }
        }
        mixture_free(&m);
    }
}

static void a_mark_may_stand_between_documents(void **) {
    write_text("marked.txt", "One.\n\nOne.\n<|endoftext|>\nTwo.\n<|endoftext|>\n");
    Tokenizer *tokenizer = tokenizer_open(STORIES);
    Reading how = reading(tokenizer, 64, false, NULL);
    Documents d = documents_read(AT("%s/marked.txt", folder), &how);
    assert_int_equal(d.count, 2);
    size_t length;
    char *first = tokenizer_decode(tokenizer, d.spans[0].length, d.ids + d.spans[0].begin, &length);
    assert_string_equal(first, "One.\n\nOne.");
    free(first);
    documents_free(&d);
    tokenizer_close(tokenizer);
}

/* --------------------------------------------------------------- what teaches to look things up */

#define LESSONS "'" BUILD "/curriculum' --tokenizer '" STORIES "' "

/* Whatever is to be told was said before, behind the same word. */
static void lists_can_be_copied(void **) {
    enum { ROWS = 50, LIST = 32, T = 1 + 2 * LIST };
    assert_runs(LESSONS "--copy-task %d --out lists.safetensors", ROWS);
    assert_runs(LESSONS "--copy-task %d --out same.safetensors", ROWS);
    assert_runs(LESSONS "--copy-task %d --out others.safetensors --seed 2", ROWS);
    assert_same_file("lists.safetensors", "same.safetensors");
    assert_int_equal(run("cmp -s lists.safetensors others.safetensors"), 1);
    SafeTensors file = safetensors_open(AT("%s/lists.safetensors", folder));
    const Tensor *ids = safetensors_find(&file, "ids"),
                 *learned = safetensors_find(&file, "learned");
    size_t told = 0;
    assert_true(ids->shape[0] == ROWS && ids->shape[1] == T);
    for (size_t i = 0; i < ROWS * T; i++) {
        if (tensor_get(learned, i) == 0) continue;
        size_t row = i / T * T, before = row + 1;
        while (before < row + 1 + LIST && tensor_get(ids, before) != tensor_get(ids, i)) before++;
        assert_true(i > row + LIST && before <= row + LIST && tensor_get(learned, i) == 1);
        assert_true(tensor_get(ids, before - 1) == tensor_get(ids, i - 1));
        told++;
    }
    assert_true(told > ROWS * LIST / 2 && told < ROWS * LIST * 7 / 8);
    safetensors_close(&file);
}

/* What was said counts a tenth; what is asked for counts, and is there four times. The last lesson
 * of a row is cut off. */
static void lessons_end_with_questions(void **) {
    enum {
        LESSON_KINDS = 20,
        OF_THINGS = 10,
        ROWS = (LESSON_KINDS + OF_THINGS) * 10,
        T = 128,
        BEGIN = 1
    };
    assert_runs(LESSONS "--lessons 10 --out lessons.safetensors");
    SafeTensors file = safetensors_open(AT("%s/lessons.safetensors", folder));
    const Tensor *ids = safetensors_find(&file, "ids"),
                 *learned = safetensors_find(&file, "learned");
    assert_true(ids->shape[0] == ROWS && ids->shape[1] == T);
    int whole = 0;
    for (size_t row = 0; row < ROWS; row++) {
        int asked = 4;
        assert_true(tensor_get(ids, row * T) == BEGIN);
        for (size_t i = row * T; i < (row + 1) * T; i++) {
            double counts = tensor_get(learned, i);
            if (tensor_get(ids, i) == BEGIN) {
                assert_true(asked == 4 && counts == 0);
                asked = 0;
                whole++;
            } else assert_true(counts == 1 || counts == 0.1f);
            asked += counts == 1 && tensor_get(learned, i - 1) != 1;
        }
        assert_true(asked <= 4);
    }
    assert_true(whole > ROWS);
    safetensors_close(&file);
}

/* Of each gift it is asked who has it now, or where it is: that other name counts; and where it is
 * said so, no more. */
static void gifts_are_asked_for(void **) {
    enum { ROWS = 20, T = 128 };
    size_t length;
    assert_runs(LESSONS "--recall-task %d --loss-weight-else 0 --out gifts.safetensors", ROWS);
    SafeTensors file = safetensors_open(AT("%s/gifts.safetensors", folder));
    const Tensor *ids = safetensors_find(&file, "ids"),
                 *learned = safetensors_find(&file, "learned");
    Tokenizer *tokenizer = tokenizer_open(STORIES);
    int answers = 0;
    assert_true(ids->shape[0] == ROWS && ids->shape[1] == T);
    for (size_t i = 0, lesson = 0, name; i < ROWS * T; i++) {
        if (tensor_get(ids, i) == tokenizer_bos(tokenizer)) lesson = i;
        assert_true(tensor_get(learned, i) == 1 || tensor_get(learned, i) == 0);
        if (tensor_get(learned, i) != 1 || tensor_get(learned, i - 1) == 1) continue;
        for (name = lesson; tensor_get(ids, name) != tensor_get(ids, i); name++) continue;
        const char *before = tokenizer_bytes(tokenizer, (int)tensor_get(ids, name - 1), &length);
        assert_true(name < i && memcmp(before, " to", length) == 0);
        answers++;
    }
    assert_true(answers > ROWS);
    tokenizer_close(tokenizer);
    safetensors_close(&file);
    assert_misuse(run(LESSONS "--out lessons.safetensors"));
    assert_misuse(run(LESSONS "--copy-task 1 --lessons 1 --out lessons.safetensors"));
    assert_misuse(run(LESSONS "--copy-task 1 --recall-task 1 --out lessons.safetensors"));
    assert_misuse(run(LESSONS "--recall-task 1 --loss-weight-else 2 --out lessons.safetensors"));
    assert_misuse(run(LESSONS "--copy-task 1 --loss-weight-else 0 --out lessons.safetensors"));
}

/* ------------------------------------------------------------------ what can be wrong */

/* Weights that grow ten thousandfold each step; what was saved before they are too large stays as
 * it was. */
static void what_is_no_number_ends_the_run(void **) {
    const char *options =
        SMALL "--lr 100 --min-lr 100 --weight-decay 100 --save-every 1 --out grown";
    assert_int_equal(run("%s", options), 1);
    const char *line = strstr(said, "error: ");
    assert_non_null(line);
    assert_ptr_equal(strchr(line, '\n'), said + strlen(said) - 1);
    assert_said("a lower --lr, a longer --warmup or a smaller --max-grad-norm may help; what was "
                "saved is as it was");
    SafeTensors saved = safetensors_open(AT("%s/grown/model.safetensors", folder));
    for (size_t i = 0; i < saved.count; i++)
        for (size_t n = 0; n < tensor_count(&saved.tensors[i]); n++)
            assert_true(isfinite(tensor_get(&saved.tensors[i], n)));
    safetensors_close(&saved);
}

static int saved_step(const char *name) {
    SafeTensors file = safetensors_open(AT("%s/%s/checkpoint.safetensors", folder, name));
    int step = (int)strtol(safetensors_metadata(&file, "step"), NULL, 10);
    safetensors_close(&file);
    return step;
}

/* A run that was killed as soon as it had a checkpoint. */
static void begin_only(const char *name) {
    do {
        run("rm -rf %s", name);
        pid_t child = start(AT("%s --save-every 2 --out %s", SMALL, name));
        while (!exists(AT("%s/checkpoint.safetensors", name)) && waitpid(child, NULL, WNOHANG) == 0)
            nanosleep(&(struct timespec){0, 200000}, NULL);
        kill(-child, SIGKILL);
        end_of(child);
    } while (saved_step(name) == 12); /* that was too late */
}

/* Starts it, and waits until it is about to train: then it begins its log. */
static pid_t start_training(const char *command, const char *log) {
    pid_t child = start(command);
    for (int i = 0; i < 60000 && !exists(log); i++) nanosleep(&(struct timespec){0, 1000000}, NULL);
    return child;
}

/* Ctrl-C, or the end that a machine is told to come to: the step at work is done and saved, and
 * none is lost. */
static void a_signal_costs_no_step(void **) {
    static const int signals[] = {SIGINT, SIGTERM};
    assert_runs("%s", LASTING "--out patient");
    for (int i = 0; i < 2; i++) {
        int status;
        do {
            run("rm -rf stopped");
            pid_t child =
                start_training(LASTING "--out stopped >stopped.txt 2>&1", "stopped/log.csv");
            kill(child, signals[i]);
            status = end_of(child);
        } while (WIFEXITED(status) && WEXITSTATUS(status) == 0); /* that was too late */
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        double losses[13];
        int step = saved_step("stopped");
        assert_int_equal(read_column(AT("%s/stopped/log.csv", folder), LOSS, 13, losses), step);
        run("cat stopped.txt");
        assert_said(
            "note: it stops behind this step, and saves; a second signal ends it at once\n");
        assert_said(
            AT("stopped behind step %d, which is saved: the same command with --resume goes on\n",
               step));
        assert_runs("%s", LASTING "--resume --out stopped");
        assert_said(AT("resumed behind step %d\n", step));
        assert_same_run("patient", "stopped");
    }
}

/* A step takes long: who presses Ctrl-C again does not wait for it. */
static void a_second_signal_ends_at_once(void **) {
    int status;
    pid_t child = start_training(STEPS_OF(3000) "--out hurried", "hurried/log.csv");
    while (kill(child, SIGINT), waitpid(child, &status, WNOHANG) == 0)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_false(exists("hurried/checkpoint.safetensors"));
    assert_int_not_equal(run("ls hurried | grep tmp"), 0);
}

/* The next checkpoint, of 264 KB, is more than the disk has room for: the last one stays, and leads
 * to the same end. */
static void a_full_disk_costs_nothing_that_was_saved(void **) {
    begin_only("crowded");
    int step = saved_step("crowded");
    assert_int_equal(run("ulimit -f 200; %s", SMALL "--resume --save-every 2 --out crowded"), 1);
    assert_said("error: cannot write crowded/checkpoint.safetensors: ");
    assert_int_equal(run("ls crowded | grep -c tmp"), 1);
    assert_int_equal(saved_step("crowded"), step);
    assert_runs("%s", SMALL "--resume --save-every 2 --out crowded");
    assert_same_run("whole", "crowded");
}

static void a_folder_has_one_run_at_a_time(void **) {
    int descriptor = open(AT("%s/whole", folder), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    assert_error(run("%s", SMALL "--resume --out whole"),
                 "--out whole: another run is at work there");
    close(descriptor);
    assert_runs("mkdir -p other && cp whole/model.safetensors other");
    assert_int_equal(run("%s", SMALL "--resume --out other"), 1);
    assert_said("a model lies there that no run of this program began");
    assert_runs("mkdir -p theirs && touch theirs/tokenizer.json");
    assert_int_equal(run("%s", SMALL "--out theirs"), 1);
    assert_said("a model lies there that no run of this program began");
    assert_runs("mkdir -p read && cp stories.txt read/log.csv");
    assert_error(run("%s", SMALL "--out read"),
                 "read/log.csv: no run wrote this file, and it would be lost");
    /* One that was killed before it had a checkpoint leaves nothing to the next. */
    assert_runs("mkdir -p early && touch early/tokenizer.json early/log.csv");
    assert_runs("'" BUILD "/train' --config tiny.json --tokenizer '" STORIES
                "' --data stories.txt --batch-size 1 --seq-len 300 --steps 1 --out early");
    assert_false(exists("early/tokenizer.json"));
    assert_int_equal(run("%s", SMALL "--out missing/deep"), 1);
    assert_one_clear_line();
    assert_int_equal(run("touch file; %s", SMALL "--out file"), 1);
    assert_one_clear_line();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_steps_are_pytorch_s),
        cmocka_unit_test(a_long_step_is_announced),
        cmocka_unit_test(one_key_teaches_nothing),
        cmocka_unit_test(killed_at_any_moment_it_gives_the_same_bits),
        cmocka_unit_test(a_model_in_bf16_is_half_as_large),
        cmocka_unit_test(what_is_only_looked_at_changes_nothing),
        cmocka_unit_test(only_the_same_run_is_resumed),
        cmocka_unit_test(mixed_precision_hardly_changes_the_losses),
        cmocka_unit_test(other_threads_are_noted),
        cmocka_unit_test(a_signal_costs_no_step),
        cmocka_unit_test(a_second_signal_ends_at_once),
#ifdef MPIRUN
        cmocka_unit_test(several_processes_share_a_batch),
#endif
        cmocka_unit_test(the_result_is_a_model),
        cmocka_unit_test(a_sample_is_of_the_model_that_learns),
        cmocka_unit_test(every_token_is_told_once),
        cmocka_unit_test(long_documents_are_cut_where_asked),
        cmocka_unit_test(weights_are_shares),
        cmocka_unit_test(an_epoch_is_all_of_a_file),
        cmocka_unit_test(only_what_follows_a_text_is_learned),
        cmocka_unit_test(a_blank_line_is_one_on_windows_too),
        cmocka_unit_test(what_follows_a_text_may_count_more),
        cmocka_unit_test(they_are_read_in_order_where_asked),
        cmocka_unit_test(a_mark_may_stand_between_documents),
        cmocka_unit_test(lists_can_be_copied),
        cmocka_unit_test(lessons_end_with_questions),
        cmocka_unit_test(gifts_are_asked_for),
        cmocka_unit_test(what_is_no_number_ends_the_run),
        cmocka_unit_test(a_full_disk_costs_nothing_that_was_saved),
        cmocka_unit_test(a_folder_has_one_run_at_a_time),
    };
    return cmocka_run_group_tests_name("training", tests, make_folder, remove_folder) != 0;
}
