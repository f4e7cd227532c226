/* The reader's Llama: it is chapter 9's whichever kernels it is made of, and whatever they do, it
 * is told. */
#include "09_decoder/decoder.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "11_generation/generation.h"
#include "13_quantization/quantization.h"
#include "common/file.h"
#include "common/linear.h"
#include "common/timer.h"
#include "tests/judge/exercises.h"
#include "tests/judge/landlock.h"
#include "tests/judge/kernels.h"
#include "tests/judge/yours.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/mman.h>

#define PROGRAM "'" BUILD "/mine'"
#include "tests/program.h"

static const char model_folder[] = ROOT "/common/stories/model";

static Model model;
static Tokenizer *tokenizer;

static int open_model(void **state) {
    use_threads(1); /* a process that forks must not have any */
    model = model_open(model_folder);
    tokenizer = tokenizer_open(model_folder);
    return make_folder(state);
}

static int close_model(void **state) {
    model_close(&model);
    tokenizer_close(tokenizer);
    return remove_folder(state);
}

/* ------------------------------------------------------------------ the Llama by itself */

/* Logits are up to 16 large, whose ulp is 1e-6. Kernels that add in another order move them by two
 * or three, and 30 are allowed. */
static void assert_alike(int V, const float logits[V], const float decoders[V],
                         const char *kernels) {
    for (int v = 0; v < V; v++)
        if (!(fabsf(logits[v] - decoders[v]) < 3e-5f))
            fail_msg("with %s, logit %d is %g, and %g in chapter 9", kernels, v, logits[v],
                     decoders[v]);
}

/* A prompt at once, and a token more: chapter 9's logits after each. */
static void read_by_decoder(int T, const int ids[T], int V, float logits[2][V]) {
    Decoder decoder = decoder_new(&model, &reference_kernels, T);
    decoder_eval(&decoder, T - 1, ids);
    decoder_logits(&decoder, logits[0]);
    decoder_eval(&decoder, 1, ids + T - 1);
    decoder_logits(&decoder, logits[1]);
    decoder_free(&decoder);
}

/* With some of our kernels taken for the reader's, the Llama's are the same. */
static void compare_with_decoder(const char *kernels, const Function yours[PARTS], int T,
                                 const int ids[T], int V, const float decoders[2][V]) {
    float logits[V];
    Requests underway = {0};
    YourLlama llama = your_llama(&model, tokenizer, yours, &underway);
    for (int more = 0; more < 2; more++) {
        read_text(&llama.examinee, T - 1 + more, ids, V, logits);
        assert_alike(V, logits, decoders[more], kernels);
    }
    forget_the_limit();
    your_llama_free(&llama);
}

static void each_way_through_it_is_chapter_9s(void **) {
    static const char *const ways[] = {
        "",
        "flash_attention",
        "gqa_attention_with_past",
        "cached_attention",
        "grouped_query_attention",
        "attention",
        "attention_scores",
        "softmax",
        "weighted_sum",
        "grouped_query_attention attention",
        "gated_feed_forward",
        "gated_feed_forward swiglu",
        "silu",
        "rms_norm linear rope_frequencies rope_table rope_half_split kv_cache_append swiglu",
        "attention_block",
        "feed_forward_block",
        "decoder_logits",
        "decoder_forward",
        "decoder_forward decoder_logits",
        "attention_block feed_forward_block rms_norm linear rope_table",
    };
    static const char text[] = "Mia gave the red ball to Anna. Mia sang";
    int V = model.config.V;
    float decoders[2][V];
    size_t T;
    int *ids = encode_with_bos(tokenizer, strlen(text), text, &T);
    read_by_decoder((int)T, ids, V, decoders);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        Function yours[PARTS] = {0};
        char names[256];
        snprintf(names, sizeof names, "%s", ways[w]);
        for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
            yours[part_named(name)] = kernel_named(name)->ours;
        compare_with_decoder(ways[w], yours, (int)T, ids, V, decoders);
    }
    free(ids);
}

/* The projections with weights in a format, and for Q4_0 what they are multiplied by in Q8_0. */
static void (*quantize)(int rows, int n, void *blocks, const float x[rows][n]);
static void (*dequantize)(int rows, int n, float out[restrict rows][n], const void *blocks);

static void linear_of_blocks(int rows, int in, int out, float y[restrict rows][out],
                             const float x[rows][in], const Tensor *weight) {
    float(*wide)[in] = (void *)tensor_to_float(weight),
    (*rounded)[in] = malloc(sizeof(float[rows][in]));
    void *blocks = malloc((size_t)(rows > out ? rows : out) * (size_t)in / 32 * sizeof(BlockQ8_0));
    memcpy(rounded, x, sizeof(float[rows][in]));
    quantize(out, in, blocks, wide);
    dequantize(out, in, wide, blocks);
    if (quantize == quantize_q4_0) {
        quantize_q8_0(rows, in, blocks, x);
        dequantize_q8_0(rows, in, rounded, blocks);
    }
    linear(rows, in, out, y, rounded, wide, NULL);
    free(blocks);
    free(rounded);
    free(wide);
}

static void weights_are_stored_as_the_reader_can_read_them(void **) {
    static const struct {
        const char *yours;
        __typeof__(quantize) quantize;
        __typeof__(dequantize) dequantize;
    } formats[] = {{"dot_q4_0", quantize_q4_0, dequantize_q4_0},
                   {"dequantize_q5_0", quantize_q5_0, dequantize_q5_0},
                   {"dequantize_q8_0", quantize_q8_0, dequantize_q8_0},
                   {"quantize_q8_0", quantize_q8_0, dequantize_q8_0}};
    enum { T = 5 };
    static const int ids[T] = {1, 300, 17, 900, 42};
    int V = model.config.V;
    Kernels kernels = reference_kernels;
    kernels.linear_tensor = linear_of_blocks;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        float logits[V], expected[V];
        Function yours[PARTS] = {0};
        Requests underway = {0};
        quantize = formats[f].quantize;
        dequantize = formats[f].dequantize;
        yours[part_named(formats[f].yours)] = kernel_named(formats[f].yours)->ours;
        Decoder decoder = decoder_new(&model, &kernels, T);
        decoder_eval(&decoder, T, ids);
        decoder_logits(&decoder, expected);
        YourLlama llama = your_llama(&model, tokenizer, yours, &underway);
        read_text(&llama.examinee, T, ids, V, logits);
        assert_alike(V, logits, expected, formats[f].yours);
        forget_the_limit();
        your_llama_free(&llama);
        decoder_free(&decoder);
    }
}

static jmp_buf called;
static void note_the_call(void) { longjmp(called, 1); }

static Requests of_training;
static void end_at_the_call(void) { _exit(of_training.is_yours ? 7 : 0); }

/* In a process of its own, since what it has allocated is lost. */
static void is_called_in_training(int part) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        Function yours[PARTS] = {0};
        yours[part] = end_at_the_call;
        train_yours(1, yours, &of_training);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
        fail_msg("%s is not called in training", parts[part].name);
}

/* If it is the only one of the reader's, each part is called, and it is noted. */
static void each_part_is_called(void **) {
    FILE *nowhere = fopen("/dev/null", "w");
    for (int p = 0; p < PARTS; p++) {
        Function yours[PARTS] = {0};
        Requests underway = {0};
        if (parts[p].places == IN_TRAINING) {
            is_called_in_training(p);
            continue;
        }
        yours[p] = note_the_call;
        YourLlama llama = your_llama(&model, tokenizer, yours, &underway);
        let_it_merge(tokenizer);
        if (setjmp(called) == 0) {
            say(&llama.examinee, "Once upon", 2, "", drawn, nowhere);
            fail_msg("%s is not called", parts[p].name);
        }
        assert_string_equal(underway.kernel, parts[p].name);
        assert_true(underway.is_yours);
        forget_the_limit();
        your_llama_free(&llama);
    }
    tokenizer->merge = bpe_merge;
    fclose(nowhere);
}

/* Ours, taken for the reader's; and one that gives what lies in no text, and is no token. */
static int merge_to_nonsense(const Vocabulary *vocabulary, const char *text, int count,
                             Symbol symbols[count]) {
    (void)text;
    for (int i = 0; i < count; i++) {
        static const Symbol nonsense[] = {{.start = -1, .length = 1},
                                          {.start = 1 << 30, .length = 1},
                                          {.length = -1},
                                          {.length = 1 << 30},
                                          {.length = 1, .id = -2}};
        symbols[i] = nonsense[i % 5];
    }
    if (count) symbols[count - 1] = (Symbol){.length = 1, .id = vocabulary->size};
    return count + 1;
}

static void the_readers_merge_makes_the_tokens(void **) {
    Function yours[PARTS] = {0};
    Requests underway = {0};
    YourLlama llama = your_llama(&model, tokenizer, yours, &underway);
    static const char text[] = "Mia gave the red ball to Anna.";
    size_t count, again;
    int *ids = encode_with_bos(tokenizer, strlen(text), text, &count);
    for (int way = 0; way < 2; way++) {
        yours[part_named("bpe_merge")] =
            way == 0 ? (Function)bpe_merge : (Function)merge_to_nonsense;
        let_it_merge(tokenizer);
        int *others = encode_with_bos(tokenizer, strlen(text), text, &again);
        if (way == 0) {
            assert_int_equal(again, count);
            assert_memory_equal(others, ids, count * sizeof *ids);
        } else assert_int_equal(again, 1); /* BOS alone */
        free(others);
    }
    assert_int_equal(underway.layer, CUTTING);
    forget_the_limit();
    free(ids);
    your_llama_free(&llama);
    tokenizer->merge = bpe_merge;
}

/* A text of more tokens than are read together, by a small model of two layers: where the first
 * ends, it is cut as well. */
static void a_long_text_is_read_in_pieces(void **) {
    static const Function yours[PARTS];
    enum { T = CAPACITY + 5 };
    Model small = model_open(ROOT "/tests/golden/models/llama1");
    int V = small.config.V, ids[T];
    float logits[V], decoders[V];
    Requests underway = {0};
    for (int t = 0; t < T; t++) ids[t] = 1 + 7 * t % (V - 1);
    YourLlama llama = your_llama(&small, tokenizer, yours, &underway);
    Decoder decoder = decoder_new(&small, &reference_kernels, T);
    decoder_eval(&decoder, T, ids);
    decoder_logits(&decoder, decoders);
    read_text(&llama.examinee, T, ids, V, logits);
    assert_alike(V, logits, decoders, "a long text");
    decoder_free(&decoder);
    your_llama_free(&llama);
    model_close(&small);
}

static void one_of_several_does_the_work(void **) {
    bool has[PARTS];
    const char *instead[PARTS];
    memset(has, true, sizeof has);
    for (int p = 0; p < PARTS; p++)
        if (parts[p].covers) has[p] = false;
    resolve_overrides(has, instead);
    assert_true(has[part_named("flash_attention")] && has[part_named("kv_cache_append")] &&
                has[part_named("swiglu")]);
    assert_false(has[part_named("cached_attention")] || has[part_named("softmax")] ||
                 has[part_named("silu")]);
    assert_string_equal(instead[part_named("attention")], "flash_attention");
    assert_null(instead[part_named("kv_cache_append")]);

    memset(has, false, sizeof has);
    has[part_named("cached_attention")] = has[part_named("kv_cache_append")] =
        has[part_named("softmax")] = true;
    resolve_overrides(has, instead);
    assert_true(has[part_named("cached_attention")]);
    assert_string_equal(instead[part_named("kv_cache_append")], "cached_attention");
    assert_string_equal(instead[part_named("softmax")], "cached_attention");
    assert_null(instead[part_named("gqa_attention_with_past")]);
}

/* Whoever makes a whole block needs nobody at its place; whoever makes the whole way, no block. */
static void a_block_does_the_work_of_its_kernels(void **) {
    bool has[PARTS];
    const char *instead[PARTS];
    memset(has, true, sizeof has);
    resolve_overrides(has, instead);
    assert_true(has[part_named("decoder_forward")] && has[part_named("decoder_logits")] &&
                has[part_named("rope_table")]);
    assert_string_equal(instead[part_named("attention_block")], "decoder_forward");
    assert_string_equal(instead[part_named("rms_norm")], "decoder_forward");
    assert_string_equal(instead[part_named("linear")], "decoder_forward");

    memset(has, true, sizeof has);
    has[part_named("decoder_forward")] = has[part_named("decoder_logits")] =
        has[part_named("dot_q4_0")] = false;
    resolve_overrides(has, instead);
    assert_true(has[part_named("attention_block")] && has[part_named("feed_forward_block")]);
    assert_true(has[part_named("rms_norm")] &&
                has[part_named("linear")]); /* the last norm, and the logits */
    assert_string_equal(instead[part_named("flash_attention")], "attention_block");
    assert_string_equal(instead[part_named("softmax")], "attention_block");
    assert_string_equal(instead[part_named("swiglu")], "feed_forward_block");
}

/* Calls that each come back can be too many, too. */
static void its_time_has_an_end(void **) {
    static const Function yours[PARTS];
    Requests *underway =
        mmap(NULL, sizeof *underway, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    underway->deadline = 1e-9; /* which are over as soon as the child begins */
    pid_t child = fork();
    if (child == 0) {
        YourLlama llama = your_llama(&model, tokenizer, yours, underway);
        say(&llama.examinee, "Once upon", 2, "", drawn, stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    sweep_after(child);
    assert_true(underway->too_slow && WIFEXITED(status) && WEXITSTATUS(status) == 1);
    munmap(underway, sizeof *underway);
}

/* --------------------------------------------------------------- make mine, as a reader uses it */

static void write_kernel(const char *name, const char *signature, const char *body) {
    FILE *file = fopen(AT("%s/%s", folder, name), "w");
    assert_non_null(file);
    fprintf(file, "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\nvoid %s {\n%s\n}\n",
            signature, body);
    fclose(file);
}

static const char norm_head[] =
    "rms_norm(int rows, int dim, float out[restrict rows][dim], const float x[rows][dim], const "
    "float weight[dim], float eps)";
static const char rope_head[] =
    "rope_half_split(int T, int H, int D, float out[restrict T][H][D], const float x[T][H][D], "
    "const float cosine[T][D / 2], const float sine[T][D / 2])";
static const char adamw_head[] =
    "adamw(size_t n, float weight[restrict n], float m[restrict n], float v[restrict n], const "
    "float gradient[n], int step, float rate, float beta1, float beta2, float eps, float decay)";
static const char gate_head[] =
    "swiglu(int n, float out[n], const float gate[n], const float up[n])";

/* RMSNorm by this root; before it, some deed. */
#define NORM(root, deed)                                                                           \
    deed "for (int r = 0; r < rows; r++) {\n"                                                      \
         "    double mean = 0;\n"                                                                  \
         "    for (int i = 0; i < dim; i++) mean += (double)x[r][i] * x[r][i] / dim;\n"            \
         "    for (int i = 0; i < dim; i++)\n"                                                     \
         "        out[r][i] = (float)(x[r][i] / (" root ")) * weight[i];\n}"
#define RIGHT_ROOT "sqrt(mean + eps)"

/* "It answers 3 of 24 questions about 5 unseen stories correctly. With the course's kernels it
 * is 24." */
static void read_share(int *right, int *ours) {
    int questions = 0, stories = 0;
    const char *line = strstr(said, "It answers ");
    static const char format[] = "It answers %d of %d questions about %d unseen stories correctly. "
                                 "With the course's kernels it is %d.";
    if (!line || sscanf(line, format, right, &questions, &stories, ours) != 4)
        fail_msg("no share is told:\n%s", said);
    assert_true(*ours >= 4 * stories && *ours <= questions && questions < 6 * stories);
}

static void an_untouched_clone_is_all_ours(void **) {
    int right, ours, count = 0, exercises = 0;
    while (exercise_at(exercises)) exercises++;
    assert_runs("%s", "");
    for (const char *at = said; (at = strstr(at, "not written yet")); at++) count++;
    assert_int_equal(count, exercises);
    assert_said("chapters/05_rope/exercise.c");
    assert_said("Your Llama: so far every kernel is the course's");
    assert_said("Answer: Anna has the red ball.\n");
    assert_said("Once upon a time there was ");
    read_share(&right, &ours);
    assert_int_equal(right, ours);
}

/* A bpe_merge that does some deed, and merges the pair that comes first by this. */
static void write_merge(const char *name, const char *deed, const char *better) {
    static const char merge[] =
        "#include \"10_tokenizer/bpe.h\"\n#include <stdlib.h>\n"
        "int bpe_merge(const Vocabulary *vocabulary, const char *text, int count, Symbol "
        "symbols[count]) {\n"
        "    %s\n"
        "    for (;;) {\n"
        "        int best = -1;\n"
        "        Merge first = {0};\n"
        "        for (int i = 0; i + 1 < count; i++) {\n"
        "            Symbol *a = &symbols[i], *b = &symbols[i + 1];\n"
        "            Merge merge = vocabulary_merge(vocabulary, text + a->start, a->length, a->id, "
        "b->length, b->id);\n"
        "            if (merge.id >= 0 && (best < 0 || %s)) best = i, first = merge;\n"
        "        }\n"
        "        if (best < 0) return count;\n"
        "        symbols[best].length += symbols[best + 1].length, symbols[best].id = first.id;\n"
        "        for (int i = best + 2; i < count; i++) symbols[i - 1] = symbols[i];\n"
        "        count--;\n"
        "    }\n"
        "}\n";
    FILE *file = fopen(AT("%s/%s", folder, name), "w");
    fprintf(file, merge, deed, better);
    fclose(file);
}

#define LOWEST_RANK "merge.rank < first.rank"

/* And of two files both. */
static void a_right_kernel_is_a_part_of_it(void **) {
    int right, ours;
    write_kernel("my norm.c", norm_head, NORM(RIGHT_ROOT, ""));
    write_merge("merge.c", "", LOWEST_RANK);
    assert_runs("'my norm.c' merge.c");
    assert_said("my norm.c   rms_norm    right         12 of 12   normalizes before each block "
                "and before the logits\n");
    assert_said("merge.c     bpe_merge   right         14 of 14   merges letters into tokens\n");
    assert_null(strstr(said, "so far every kernel"));
    assert_said("Answer: Anna has the red ball.\n");
    read_share(&right, &ours);
    assert_int_equal(right, ours);
}

static void wrong_kernels_are_named_and_used(void **) {
    int right, ours;
    write_kernel("norm.c", norm_head, NORM("sqrt(mean) + eps", ""));
    write_kernel("rope.c", rope_head,
                 "for (int t = 0; t < T; t++)\n"
                 "    for (int h = 0; h < H; h++)\n"
                 "        for (int i = 0; i < D / 2; i++) {\n"
                 "            float a = x[t][h][i], b = x[t][h][i + D / 2];\n"
                 "            out[t][h][i] = a * cosine[t][i] + b * sine[t][i];\n"
                 "            out[t][h][i + D / 2] = b * cosine[t][i] - a * sine[t][i];\n"
                 "        }");
    write_kernel("gate.c", gate_head,
                 "for (int i = 0; i < n; i++) out[i] = up[i] / (1 + expf(-up[i])) * gate[i];");
    assert_int_equal(run("norm.c rope.c gate.c"), 1);
    assert_said("norm.c   rms_norm          wrong ");
    assert_said("rope.c   rope_half_split   wrong          0 of 14   rotates queries and keys\n");
    assert_said("gate.c   swiglu            wrong ");
    assert_said("norm.c, rms_norm: Your epsilon is outside the root");
    assert_said("rope.c, rope_half_split: Your pairs are rotated in the opposite direction.");
    assert_null(strstr(said, "Answer: Anna has the red ball."));
    read_share(&right, &ours);
    assert_true(right < ours / 2);
}

static const char last[] =
    "gqa_attention_with_past(int T, int S, int H, int KV, int D, float out[restrict T][H][D], "
    "const float q[T][H][D], const float k[S][KV][D], const float v[S][KV][D])";

/* Chapter 9's decoder as a reader's file, with something exchanged in it. */
static void write_decoder(const char *name, const char *from, const char *to) {
    size_t size;
    char *source = file_read(ROOT "/chapters/09_decoder/decoder.c", &size),
         *at = strstr(source, from);
    assert_non_null(at);
    FILE *file = fopen(AT("%s/%s", folder, name), "w");
    fprintf(file, "%.*s%s%s", (int)(at - source), source, to, at + strlen(from));
    fclose(file);
    free(source);
}

static void the_decoder_is_the_readers(void **) {
    int right, ours;
    write_decoder("whole.c", "#include", "#include");
    assert_runs("whole.c");
    assert_said("decoder_forward      right           4 of 4   the whole forward pass\n");
    assert_said("attention_block      right         11 of 11   the attention block, where your "
                "decoder_forward calls it\n");
    assert_said("decoder_logits       right           3 of 3   the logits\n");
    assert_said("Answer: Anna has the red ball.\n");
    read_share(&right, &ours);
    assert_int_equal(right, ours);
}

/* The same, but x = delta in place of x += delta; and a feed-forward that gives nothing to add, by
 * itself. */
static void a_wrong_decoder_tells_its_story(void **) {
    int right, ours;
    write_decoder("wrong.c", "x[t][i] += delta", "x[t][i] = delta");
    assert_int_equal(run("wrong.c"), 1);
    assert_said("decoder_forward      wrong           0 of 4   the whole forward pass\n");
    assert_said("wrong.c, decoder_forward: ");
    assert_said("Each adds to it: x += delta");
    assert_null(strstr(said, "Answer: Anna has the red ball."));
    read_share(&right, &ours);
    assert_true(right < ours / 2);

    FILE *file = fopen(AT("%s/nothing.c", folder), "w");
    fputs("#include \"09_decoder/decoder.h\"\n#include <stdlib.h>\n"
          "void feed_forward_block(Decoder *d, int l, int T, int C, float delta[restrict T][C], "
          "const float x[T][C]) {\n"
          "    if (d->length > 3 && l == 2) exit(7);\n"
          "    for (int t = 0; t < T; t++)\n        for (int i = 0; i < C; i++) delta[t][i] = 0 * "
          "x[t][i];\n}\n",
          file);
    fclose(file);
    assert_int_equal(run("nothing.c"), 1);
    assert_said(
        "It ended here: your feed_forward_block in nothing.c ended the program (exit status "
        "7), in layer 2, while it processed token ");
}

/* A block is in one file, and what it is made of in others: through the table of kernels they are
 * called, right or wrong, and named when they crash. */
static void the_readers_blocks_call_the_readers_kernels(void **) {
    int right, ours;
    FILE *file = fopen(AT("%s/block.c", folder), "w");
    fputs("#include \"09_decoder/decoder.h\"\n"
          "static void add(int T, int n, float y[T][n], const float *bias) {\n"
          "    for (int t = 0; bias && t < T; t++)\n"
          "        for (int i = 0; i < n; i++) y[t][i] += bias[i];\n}\n"
          "void feed_forward_block(Decoder *d, int l, int T, int C, float delta[restrict T][C], "
          "const float x[T][C]) {\n"
          "    const Layer *layer = &d->model->layers[l];\n"
          "    const Kernels *kernels = d->kernels;\n"
          "    int F = d->model->config.F;\n"
          "    float normed[T][C], gate[T][F], up[T][F];\n"
          "    kernels->rms_norm(T, C, normed, x, layer->post_attention_layernorm, "
          "(float)d->model->config.rms_norm_eps);\n"
          "    kernels->linear_tensor(T, C, F, gate, normed, &layer->gate_proj);\n"
          "    add(T, F, gate, layer->gate_bias);\n"
          "    kernels->linear_tensor(T, C, F, up, normed, &layer->up_proj);\n"
          "    add(T, F, up, layer->up_bias);\n"
          "    for (int t = 0; t < T; t++) kernels->swiglu(F, gate[t], gate[t], up[t]);\n"
          "    kernels->linear_tensor(T, F, C, delta, gate, &layer->down_proj);\n"
          "    add(T, C, delta, layer->down_bias);\n}\n",
          file);
    fclose(file);
    write_kernel("gate.c", gate_head, "for (int i = 0; i < n; i++) out[i] = 0 * gate[i] * up[i];");
    assert_int_equal(run("block.c gate.c"), 1);
    assert_said("feed_forward_block   right           7 of 7   the feed-forward block\n");
    assert_said("computes SwiGLU, where your feed_forward_block calls d->kernels->swiglu\n");
    assert_null(strstr(said, "Answer: Anna has the red ball."));
    read_share(&right, &ours);
    assert_true(right < ours / 2);

    write_kernel(
        "own.c", last,
        "(void)q, (void)k;\n"
        "for (int t = 0; t < T; t++)\n"
        "    for (int h = 0; h < H; h++)\n"
        "        for (int i = 0; i < D; i++) out[t][h][i] = v[S - T + t][h / (H / KV)][i];");
    assert_int_equal(
        system(AT("cp '%s/chapters/07_kv_cache/kv_cache.c' %s/cached.c", ROOT, folder)), 0);
    assert_int_equal(run("own.c cached.c"), 1);
    assert_said(
        "cached_attention          right         14 of 14   appends to the cache and attends\n");
    assert_said("not needed: your cached_attention does its work\n"); /* which calls ours */
    assert_said("Answer: Anna has the red ball.\n");

    write_kernel("crash.c", gate_head,
                 "if (n == 512) abort(); /* as many as the model has hidden numbers */\n"
                 "for (int i = 0; i < n; i++) out[i] = gate[i] / (1 + expf(-gate[i])) * up[i];");
    assert_int_equal(run("block.c crash.c"), 1);
    assert_said("your feed_forward_block in block.c crashed (");
    assert_said("The last kernel that it called is also yours: swiglu in crash.c.\n");
}

/* Its own tokens: the leftmost pair that merges, whatever its rank. */
static void the_tokenizer_merges_as_the_reader_does(void **) {
    int right, ours;
    write_merge("leftmost.c", "", "0");
    write_merge("exits.c", "if (count > 4 && text[3] == 'O') exit(7);", LOWEST_RANK);
    assert_int_equal(run("leftmost.c"), 1);
    assert_said("leftmost.c   bpe_merge   wrong ");
    read_share(&right, &ours);
    assert_true(right < ours);

    assert_int_equal(run("exits.c"), 1);
    assert_said("Answer: Anna has the red ball.\n"); /* and then it is to tell a story, which begins
                                                        with "Once" */
    assert_said("It ended here: your bpe_merge in exits.c ended the program (exit status 7), "
                "while it split a text into tokens.\n");
}

/* What nobody else knows: a kernel that passes, and goes wrong in the Llama alone, whose rows have
 * 192 numbers. */
static void how_it_ends_is_told(void **) {
    static const struct {
        const char *name, *deed, *words;
    } ends[] = {
        {"crash.c", "if (dim == 192) ++*(volatile float *)NULL;\n",
         "your rms_norm in crash.c crashed ("},
        {"loop.c", "for (volatile int i = 0; dim == 192 && i < 2; i = 1) {}\n",
         "your rms_norm in loop.c did not come back within 1 second, "},
        {"exit.c", "if (dim == 192) exit(7);\n",
         "your rms_norm in exit.c ended the program (exit status 7), "},
    };
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        char body[1024];
        snprintf(body, sizeof body, "%s%s", ends[e].deed, NORM(RIGHT_ROOT, ""));
        write_kernel(ends[e].name, norm_head, body);
        assert_int_equal(run("--timeout 1 %s", ends[e].name), 1);
        assert_said("right         12 of 12");
        assert_said(ends[e].words);
        assert_said(", in layer 0, while it processed tokens 0 to ");
    }
}

static void the_golden_values_are_closed_to_it(void **) {
    static const char golden[] = ROOT "/tests/golden/sentence.safetensors";
    pid_t child = fork();
    if (child == 0) {
        hide_goldens();
        _exit(access(golden, R_OK) == 0 && fopen(golden, "r"));
    }
    int status;
    waitpid(child, &status, 0);
    sweep_after(child);
    if (WEXITSTATUS(status) != 0) skip(); /* nothing can be hidden here: hide.h */
    char body[2048];
    snprintf(body, sizeof body,
             NORM(RIGHT_ROOT, "    if (dim == 192) exit(fopen(\"%s\", \"r\") ? 7 : 9);\n"), golden);
    write_kernel("peeps.c", norm_head, body);
    assert_int_equal(run("peeps.c"), 1);
    assert_said("(exit status 9)");
}

/* The kernels of chapters 13, 16 and 17: a step that goes uphill is a wrong optimizer. */
static void chapters_13_to_17_are_used(void **) {
    int right, ours;
    double loss = 0, our_loss = 0;
    assert_int_equal(
        system(AT("cp '%s/chapters/13_quantization/quantization.c' %s/blocks.c", ROOT, folder)), 0);
    write_kernel("uphill.c", adamw_head,
                 "for (size_t i = 0; i < n; i++) weight[i] += rate * gradient[i] + 0 * "
                 "(m[i] + v[i] + (float)step + beta1 + beta2 + eps + decay);");
    assert_int_equal(run("blocks.c uphill.c"), 1);
    assert_said("7 of 7   every projection, with weights in Q4_0\n");
    assert_said("uphill.c, adamw: ");
    read_share(&right, &ours);
    assert_int_equal(right, ours);
    const char *line = strstr(said, "After ");
    static const char format[] =
        "After %*d steps the loss of a small model is %lf. With the course's kernels it is %lf.";
    assert_true(line && sscanf(line, format, &loss, &our_loss) == 2);
    assert_true(loss > our_loss);
    write_kernel("stops.c", adamw_head,
                 "weight[0] = m[0] + v[0] + gradient[0] + (float)step + rate + beta1 + beta2 + eps "
                 "+ decay;\nif (n > 0) exit(7);");
    assert_int_equal(run("stops.c"), 1);
    assert_said("Your Llama: so far every kernel is the course's");
    assert_said("It ended here: your adamw in stops.c ended the program (exit status 7), in step 1 "
                "of training.\n");
}

/* And of two files that have the same kernel, the later one counts. */
static void what_gives_no_kernel_is_told(void **) {
    write_kernel("broken.c", rope_head, "flaot x;");
    write_kernel("other.c", "nothing(void)", "");
    write_kernel("one.c", norm_head, NORM("1 + sqrt(mean + eps)", ""));
    write_kernel("two.c", norm_head, NORM(RIGHT_ROOT, ""));
    assert_int_equal(run("broken.c one.c two.c other.c 2>/dev/null"), 1);
    assert_said("broken.c: it does not compile\n");
    assert_said("other.c: it defines no kernel of the course");
    assert_said("not used: the one in two.c is\n");
    assert_said("two.c      rms_norm   right ");
    assert_said("Answer: Anna has the red ball.\n");
    assert_misuse(run("nowhere.c"));
    assert_misuse(run("--timeout 0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_through_it_is_chapter_9s),
        cmocka_unit_test(weights_are_stored_as_the_reader_can_read_them),
        cmocka_unit_test(each_part_is_called),
        cmocka_unit_test(the_readers_merge_makes_the_tokens),
        cmocka_unit_test(a_long_text_is_read_in_pieces),
        cmocka_unit_test(one_of_several_does_the_work),
        cmocka_unit_test(a_block_does_the_work_of_its_kernels),
        cmocka_unit_test(its_time_has_an_end),
        cmocka_unit_test(an_untouched_clone_is_all_ours),
        cmocka_unit_test(a_right_kernel_is_a_part_of_it),
        cmocka_unit_test(wrong_kernels_are_named_and_used),
        cmocka_unit_test(the_decoder_is_the_readers),
        cmocka_unit_test(the_readers_blocks_call_the_readers_kernels),
        cmocka_unit_test(the_tokenizer_merges_as_the_reader_does),
        cmocka_unit_test(a_wrong_decoder_tells_its_story),
        cmocka_unit_test(how_it_ends_is_told),
        cmocka_unit_test(the_golden_values_are_closed_to_it),
        cmocka_unit_test(chapters_13_to_17_are_used),
        cmocka_unit_test(what_gives_no_kernel_is_told),
    };
    return cmocka_run_group_tests_name("mine", tests, open_model, close_model) != 0;
}
