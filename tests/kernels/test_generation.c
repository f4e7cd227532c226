/* Chapter 11: the trained model writes what it writes in transformers, token by token; draws are
 * fair; the loop ends when it should; text appears as whole characters; and `llama` as a stranger
 * uses it. Conversations: test_chat.c. */
#include "09_decoder/trace.h"
#include "11_generation/generation.h"
#include "12_speed/fast_kernels.h"
#include "12_speed/machine_limits.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/output.h"
#include "common/safetensors.h"
#include "common/sentence.h"
#include "common/timer.h"
#define PROGRAM "'" BUILD "/llama'"
#include "tests/cases.h"
#include "tests/program.h"

#include <math.h>
#include <sys/stat.h>

static const char stories[] = ROOT "/common/stories/model";
static const SamplingParams greedy = {.repetition_penalty = 1},
                            as_it_says = {.temperature = 1, .top_p = 1, .repetition_penalty = 1};
static Model model;
static Tokenizer *tokenizer;
static SafeTensors golden;

/* ------------------------------------------------------------------ choosing */

/* Five tokens, one of them ruled out. */
static const float five[5] = {0, 1, -INFINITY, 2, -1};

static double probability(int token) {
    double sum = 0;
    for (int v = 0; v < 5; v++) sum += exp(five[v]);
    return exp(five[token]) / sum;
}

static double chi_square(int draws, const int drawn[5]) {
    double sum = 0;
    for (int v = 0; v < 5; v++)
        if (probability(v) > 0)
            sum += pow(drawn[v] - draws * probability(v), 2) / (draws * probability(v));
    return sum;
}

static void draws_are_fair(void **) {
    enum { DRAWS = 100000 };
    const double limit =
        16.27; /* chi-square with 3 degrees of freedom is below this in 999 of 1000 cases */
    int fair[5] = {0}, biased[5] = {0};
    Random random = {1};
    for (int i = 0; i < DRAWS; i++) {
        double u = random_uniform(&random);
        fair[multinomial(5, five, u)]++;
        biased[multinomial(5, five, 0.98 * u)]++; /* the test would see so much */
    }
    assert_int_equal(fair[2], 0);
    assert_true(chi_square(DRAWS, fair) < limit);
    assert_true(chi_square(DRAWS, biased) > limit);
}

static void both_ends_can_be_drawn(void **) {
    assert_int_equal(multinomial(5, five, 0), 0);
    assert_int_equal(multinomial(5, five, 1 - 0x1p-53), 4);
    const float last_ruled_out[3] = {0, 0, -INFINITY}, first_ruled_out[3] = {-INFINITY, 0, 0},
                large[2] = {1e30f, 1e30f};
    assert_int_equal(multinomial(3, last_ruled_out, 1 - 0x1p-53), 1);
    assert_int_equal(multinomial(3, first_ruled_out, 0), 1);
    assert_int_equal(multinomial(2, large, 0.75), 1);
}

static void samplers_follow_each_other(void **) {
    /* After the penalty 3 is no longer the most probable; after that, top-k 1 leaves one token
     * only. */
    const int seen[] = {3};
    float logits[5];
    Random random = {1};
    memcpy(logits, five, sizeof five);
    assert_int_equal(
        sample(&(SamplingParams){.repetition_penalty = 4}, 5, logits, 1, seen, &random), 1);
    for (int i = 0; i < 100; i++) {
        memcpy(logits, five, sizeof five);
        assert_int_equal(sample(
                             &(SamplingParams){
                                 .temperature = 5, .top_k = 1, .top_p = 1, .repetition_penalty = 4},
                             5, logits, 1, seen, &random),
                         1);
    }
    /* The temperature goes before top-p: cold, one token has more than half, and hot, none. */
    int cold[5] = {0}, hot[5] = {0};
    for (int i = 0; i < 1000; i++) {
        memcpy(logits, five, sizeof five);
        cold[sample(&(SamplingParams){.temperature = 0.5f, .top_p = 0.7f, .repetition_penalty = 1},
                    5, logits, 0, NULL, &random)]++;
        memcpy(logits, five, sizeof five);
        hot[sample(&(SamplingParams){.temperature = 50, .top_p = 0.7f, .repetition_penalty = 1}, 5,
                   logits, 0, NULL, &random)]++;
    }
    assert_int_equal(cold[3], 1000);
    assert_true(hot[0] > 0 && hot[1] > 0 && hot[3] > 0 && hot[4] == 0);
}

/* ------------------------------------------------------------------ the trained model */

/* Of transformers' tokens an emulator writes the first ones. */
#ifdef EMULATED
enum { WRITTEN = 100 };
#else
enum { WRITTEN = 256 };
#endif

static void it_writes_what_transformers_writes(void **) {
    const Tensor *expected = safetensors_find(&golden, "greedy");
    int bos = tokenizer_bos(tokenizer);
    assert_int_equal(tensor_count(expected), 256);
    Generation generation = generation_new(&model, &fast_kernels, WRITTEN + 1, greedy, 0);
    prefill(&generation, 1, &bos);
    for (int i = 0; i < WRITTEN; i++) {
        int id = sample_next(&generation);
        if (id != (int)tensor_get(expected, (size_t)i))
            fail_msg("token %d is %d, in transformers %g", i, id, tensor_get(expected, (size_t)i));
        prefill(&generation, 1, &id);
    }
    generation_free(&generation);
}

static void no_progress(size_t done, size_t count, double so_far) {
    assert_true(done <= count && so_far >= 1);
}

/* The golden texts' tokens are scored in four windows of 512: BOS, and 511 of them. An emulator
 * gets one, and of that only the beginning where so many are not needed. */
enum { WINDOW = 512, SCORED = WINDOW - 1 };
#ifdef EMULATED
enum { FROM = 2 * SCORED, COUNT = SCORED, READ = 100 };
#else
enum { FROM = 0, COUNT = 4 * SCORED, READ = COUNT };
#endif

static void perplexity_is_transformers(void **) {
    SafeTensors unseen = safetensors_open(ROOT "/common/stories/unseen.safetensors");
    const Tensor *scores = safetensors_find(&golden, "scores");
    const int *texts = safetensors_find(&unseen, "texts")->data;
    double mean = 0;
    assert_int_equal(tensor_count(scores), 4 * SCORED);
    for (int i = 0; i < READ; i++) mean += tensor_get(scores, (size_t)(FROM + i)) / READ;
    double ours = perplexity(&model, &fast_kernels, tokenizer_bos(tokenizer), READ, texts + FROM,
                             WINDOW, no_progress);
    assert_true(fabs(ours - exp(mean)) < 1e-4 * exp(mean));
    safetensors_close(&unseen);
}

/* -log p of each. */
static void score_rounded(double scores[COUNT]) {
    SafeTensors unseen = safetensors_open(ROOT "/common/stories/unseen.safetensors");
    const int *texts = safetensors_find(&unseen, "texts")->data;
    int V = model.config.V, ids[WINDOW] = {tokenizer_bos(tokenizer)};
    for (int done = 0; done < COUNT; done += SCORED) {
        memcpy(ids + 1, texts + FROM + done, SCORED * sizeof *ids);
        HiddenStates seen = record_hidden_states(&model, &bf16_kernels, WINDOW, ids);
        const float(*logits)[V] = (void *)seen.logits;
        for (int t = 0; t + 1 < WINDOW; t++) {
            double sum = 0;
            for (int v = 0; v < V; v++) sum += exp(logits[t][v]);
            scores[done + t] = log(sum) - logits[t][ids[t + 1]];
        }
        hidden_states_free(&seen);
    }
    safetensors_close(&unseen);
}

static double mean_difference(const double a[COUNT], const double b[COUNT]) {
    double sum = 0;
    for (int i = 0; i < COUNT; i++) sum += fabs(a[i] - b[i]);
    return sum / COUNT;
}

/* Sums in another order differ in their last bits, and now and then that makes a number round to
 * its other neighbour. So PyTorch's own float32 is as far from its float64 as ours may be, but for
 * chance: 1.5 times. Without rounding it is farther. */
static void rounding_is_pytorchs(void **) {
    double *exact = tensor_to_double(safetensors_find(&golden, "rounded64")),
           *theirs = tensor_to_double(safetensors_find(&golden, "rounded"));
    double *float32 = tensor_to_double(safetensors_find(&golden, "scores")),
           *bfloat16 = tensor_to_double(safetensors_find(&golden, "bfloat16"));
    double rounded[COUNT];
    score_rounded(rounded);
    double own = mean_difference(theirs + FROM, exact + FROM),
           ours = mean_difference(rounded, exact + FROM),
           unrounded = mean_difference(float32 + FROM, exact + FROM),
           to_float32 = mean_difference(rounded, float32 + FROM),
           bfloat16_to_it = mean_difference(bfloat16 + FROM, float32 + FROM);
    print_message("rounded: %.2e from PyTorch's float64, its float32 %.2e, without rounding %.2e\n",
                  ours, own, unrounded);
    print_message("from float32: rounded %.2e, PyTorch's bfloat16 %.2e\n", to_float32,
                  bfloat16_to_it);
    assert_true(ours < 1.5 * own && unrounded > 1.5 * own);
    assert_true(to_float32 < bfloat16_to_it / 3);
    free(exact);
    free(theirs);
    free(float32);
    free(bfloat16);
}

/* The prompt, and what the model says up to the end of the line. What it begins with was read with
 * the one before. */
static void answer(FILE *file, Generation *generation, const char *prompt) {
    enum { MOST = 16 };
    size_t count, length;
    int *ids = encode_with_bos(tokenizer, strlen(prompt), prompt, &count), same = 0;
    while (same < generation->decoder.length && same < (int)count - 1 &&
           ids[same] == generation->ids[same])
        same++;
    kv_cache_truncate(generation, same);
    prefill(generation, (int)count - same, ids + same);
    fputs(prompt, file);
    for (int i = 0; i < MOST; i++) {
        int id = sample_next(generation);
        const char *bytes = tokenizer_bytes(tokenizer, id, &length);
        if (is_end_of_generation(&model, tokenizer, id) || (length && *bytes == '\n')) break;
        fwrite(bytes, 1, length, file);
        prefill(generation, 1, &id);
    }
    fputs("\n\n", file);
    free(ids);
}

/* Each question of a story by itself, straight after the story. */
static void answer_all(FILE *file, const char *story) {
    static const char first[] = "\nQuestion:", second[] = "\nAnswer:";
    const char *end = strstr(story, first);
    Generation generation =
        generation_new(&model, &fast_kernels, model.config.max_position_embeddings, greedy, 0);
    for (const char *question = end; question; question = strstr(question + 1, first)) {
        char prompt[4096];
        int asked = (int)(strstr(question, second) + strlen(second) - question);
        snprintf(prompt, sizeof prompt, "%.*s%.*s", (int)(end - story), story, asked, question);
        answer(file, &generation, prompt);
    }
    generation_free(&generation);
}

/* Which share of the questions the model answers rightly, as its card says. */
static double share_on_the_card(void) {
    static const char row[] = "answered rightly, greedily | ";
    size_t size;
    int right, asked;
    char *card = file_read(AT("%s/README.md", stories), &size), *at = strstr(card, row);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(row), "%d of %d", &right, &asked), 2);
    free(card);
    return (double)right / asked;
}

/* Stories, with four questions or more about each. An emulator gets one. */
#ifdef EMULATED
#define ASKED "1"
#else
#define ASKED "8"
#endif

/* The generator tells stories that the model has not read, asks, and judges. Of the questions the
 * model may answer two standard deviations less than its card says. */
static void it_answers_questions(void **) {
    static char told[1 << 16];
    char command[2 * PATH];
    int consistent, stories_told, right, questions;
    FILE *generator = popen("'" BUILD "/stories' --count " ASKED " --seed 77", "r");
    told[fread(told, 1, sizeof told - 1, generator)] = '\0';
    pclose(generator);

    snprintf(command, sizeof command, "'%s/stories' --check - | tail -1 >%s/score", BUILD, folder);
    FILE *judge = popen(command, "w");
    for (char *story = told, *next; story; story = next) {
        next = strstr(story, "\n\n");
        if (next) {
            *next = '\0';
            next += 2;
        }
        answer_all(judge, story);
    }
    pclose(judge);
    snprintf(command, sizeof command, "%s/score", folder);
    FILE *score = fopen(command, "r");
    assert_int_equal(fscanf(score, "%d of %d stories are consistent, %d of %d", &consistent,
                            &stories_told, &right, &questions),
                     4);
    fclose(score);
    assert_int_equal(consistent, stories_told);
    assert_true(questions >= 4 * atoi(ASKED));
    const double share = share_on_the_card(), deviation = sqrt(share * (1 - share) / questions);
    if (right < (share - 2 * deviation) * questions)
        fail_msg("%d of %d questions answered rightly", right, questions);
}

static void the_seed_decides(void **) {
    enum { TOKENS = 16 };
    int texts[3][TOKENS], bos = tokenizer_bos(tokenizer);
    for (int i = 0; i < 3; i++) {
        Generation generation =
            generation_new(&model, &fast_kernels, TOKENS + 1, as_it_says, i == 2 ? 6 : 5);
        prefill(&generation, 1, &bos);
        for (int t = 0; t < TOKENS; t++) {
            texts[i][t] = sample_next(&generation);
            prefill(&generation, 1, &texts[i][t]);
        }
        generation_free(&generation);
    }
    assert_memory_equal(texts[0], texts[1], sizeof texts[0]);
    assert_memory_not_equal(texts[0], texts[2], sizeof texts[0]);
}

/* ------------------------------------------------------------------ text as it is made */

static void characters_appear_whole(void **) {
    static const struct {
        const char *pieces[5], *shown[5]; /* after each piece; at the end, what stream_end adds */
    } cases[] = {
        {{"a", "b"}, {"a", "ab", "ab"}},
        {{"\xf0\x9f", "\xa6", "\x99!"}, {"", "", "\xf0\x9f\xa6\x99!", "\xf0\x9f\xa6\x99!"}},
        {{"\xe7\xbe", "x"}, {"", "\xef\xbf\xbd\xef\xbf\xbdx", "\xef\xbf\xbd\xef\xbf\xbdx"}},
        {{"\xff", "\x80", "z"},
         {"", "\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbdz", "\xef\xbf\xbd\xef\xbf\xbdz"}},
        {{"\xed", "\xa0"}, {"", "\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd"}},
        {{"\xc3"}, {"", "\xef\xbf\xbd"}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *shown;
        size_t size;
        Stream stream = {.file = open_memstream(&shown, &size)};
        int i = 0;
        for (; cases[c].pieces[i]; i++) {
            stream_write(&stream, strlen(cases[c].pieces[i]), cases[c].pieces[i]);
            assert_string_equal(shown, cases[c].shown[i]);
        }
        stream_end(&stream);
        assert_string_equal(shown, cases[c].shown[i]);
        fclose(stream.file);
        free(shown);
    }
}

/* Where one of the ends would begin, the text ends; what may become one is held back, and shown if
 * it does not. */
static void a_text_stops_before_its_ends(void **) {
    static const char *const ends[] = {"Who", "\n\n", "abab", NULL};
    static const struct {
        const char *pieces[6], *shown[6]; /* after each piece; at the end, what stream_end adds */
        bool ended;
    } cases[] = {
        {{"a W", "h", "y?"}, {"a ", "a ", "a Why?", "a Why?"}, false},
        {{"a W", "h", "o is"}, {"a ", "a ", "a ", "a "}, true},
        {{"x\n", "\nyWho"}, {"x", "x", "x"}, true},
        {{"aba", "bb", "aba"}, {"", "", "", ""}, true},
        {{"ab", "aab", "W"}, {"", "aba", "abaab", "abaabW"}, false},
        {{"\xc3", "\xa9W", "ho"}, {"", "\xc3\xa9", "\xc3\xa9", "\xc3\xa9"}, true},
        {{"Who"}, {"", ""}, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *shown, *too;
        size_t size, size_too;
        Stream stream = {.file = open_memstream(&shown, &size),
                         .also = open_memstream(&too, &size_too),
                         .ends = ends};
        int i = 0;
        for (; cases[c].pieces[i]; i++) {
            stream_write(&stream, strlen(cases[c].pieces[i]), cases[c].pieces[i]);
            assert_string_equal(shown, cases[c].shown[i]);
        }
        assert_int_equal(stream.ended, cases[c].ended);
        stream_end(&stream);
        assert_string_equal(shown, cases[c].shown[i]);
        fclose(stream.also);
        assert_string_equal(too, shown);
        fclose(stream.file);
        free(shown);
        free(too);
    }
}

/* ------------------------------------------------------------------ the loop */

/* What the model says after the sentence that runs through the course: all of it but the last token
 * was read before. */
static FinishReason go_on(Generation *generation, const Model *of, int most, bool ignore_end,
                          const volatile sig_atomic_t *stop, char text[static 256]) {
    Sentence sentence = sentence_open();
    *text = '\0';
    FILE *file = fmemopen(text, 256, "w");
    Stream stream = {.file = file, .skip_space = true, .stop = stop};
    generation->decoder.model = of;
    generation->ignore_eos = ignore_end;
    kv_cache_truncate(generation, sentence.T - 1);
    prefill(generation, 1, &sentence.ids[sentence.T - 1]);
    FinishReason ending = generate(generation, tokenizer, &stream, most);
    stream_end(&stream);
    fclose(file);
    sentence_close(&sentence);
    return ending;
}

static void the_loop_says_why_it_stops(void **) {
    Sentence sentence = sentence_open();
    const char *answer = safetensors_metadata(&sentence.file, "answer");
    char text[256];
    size_t count;
    int *full_stop = tokenizer_encode(tokenizer, 1, ".", false, &count);
    Model ends = model; /* with a full stop */
    ends.config.eos[0] = full_stop[count - 1];
    ends.config.eos_count = 1;
    volatile sig_atomic_t pressed = 0;
    Generation wide = generation_new(&model, &fast_kernels, sentence.T + 50, greedy, 0),
               narrow = generation_new(&model, &fast_kernels, sentence.T + 5, greedy, 0);
    prefill(&wide, sentence.T - 1, sentence.ids);
    prefill(&narrow, sentence.T - 1, sentence.ids);

    assert_int_equal(go_on(&wide, &model, 6, false, &pressed, text), FINISH_LENGTH);
    assert_string_equal(text, answer);
    assert_int_equal(go_on(&wide, &ends, 6, false, NULL, text), FINISH_EOS);
    assert_string_equal(text, "Anna has the red ball");
    assert_int_equal(go_on(&wide, &ends, 5, false, NULL, text), FINISH_LENGTH);
    assert_int_equal(go_on(&wide, &ends, 6, true, NULL, text), FINISH_LENGTH);
    assert_string_equal(text, answer);
    assert_int_equal(go_on(&narrow, &model, 6, false, NULL, text),
                     FINISH_CONTEXT_FULL); /* the last of them is shown, and not read */
    assert_string_equal(text, answer);
    assert_int_equal(go_on(&narrow, &model, 5, false, NULL, text), FINISH_LENGTH);
    assert_int_equal(go_on(&wide, &model, 0, false, NULL, text), FINISH_LENGTH);
    assert_string_equal(text, "");
    pressed = 1;
    assert_int_equal(go_on(&wide, &model, 6, false, &pressed, text), FINISH_INTERRUPTED);
    assert_string_equal(text, "");
    free(full_stop);
    generation_free(&wide);
    generation_free(&narrow);
    sentence_close(&sentence);
}

/* After the first half of the text is kept and the rest read again, the model says the same. */
static void what_was_read_can_be_forgotten(void **) {
    Sentence sentence = sentence_open();
    int V = model.config.V, half = sentence.T / 2;
    Generation generation = generation_new(&model, &fast_kernels, sentence.T, greedy, 0);
    prefill(&generation, sentence.T, sentence.ids);
    float before[V];
    memcpy(before, generation.logits, sizeof before);
    kv_cache_truncate(&generation, half);
    prefill(&generation, sentence.T - half, sentence.ids + half);
    /* The tokens are multiplied in other groups: two or three ulps, of 1e-6 each, where 30 are
     * allowed. */
    for (int v = 0; v < V; v++) assert_true(fabsf(before[v] - generation.logits[v]) < 3e-5f);
    generation_free(&generation);
    sentence_close(&sentence);
}

/* A model may have a few rows more than its tokenizer has tokens; they have no text. */
static void what_has_no_text_shows_none(void **) {
    char *shown;
    size_t size, count;
    Stream stream = {.file = open_memstream(&shown, &size), .skip_space = true};
    int *ids = tokenizer_encode(tokenizer, 8, "Anna has", false, &count);
    stream_token(&stream, tokenizer, tokenizer_size(tokenizer) + 3);
    stream_token(&stream, tokenizer, tokenizer_bos(tokenizer));
    fflush(stream.file);
    assert_int_equal(size, 0);
    for (size_t i = 0; i < count; i++) stream_token(&stream, tokenizer, ids[i]);
    stream_end(&stream);
    assert_string_equal(shown, "Anna has"); /* of the spaces, only the first is left out */
    fclose(stream.file);
    free(shown);
    free(ids);
}

/* ------------------------------------------------------------------ llama */

/* A copy of the stories' model in our folder, with these bits, of bfloat16, in each number of one
 * tensor. */
static void copy_model(const char *name, const char *spoilt, uint16_t bits) {
    SafeTensors file = safetensors_open(AT("%s/model.safetensors", stories));
    Tensor tensors[file.count];
    uint16_t *values = NULL;
    memcpy(tensors, file.tensors, sizeof tensors);
    for (size_t i = 0; i < file.count; i++) {
        if (!spoilt || strcmp(tensors[i].name, spoilt) != 0) continue;
        assert_int_equal(tensors[i].dtype, BF16);
        tensors[i].data = values = xmalloc(tensor_bytes(&tensors[i]));
        for (size_t k = 0; k < tensor_count(&tensors[i]); k++) values[k] = bits;
    }
    assert_shell("mkdir -p %s/%s && cp '%s'/*.json '%s'/tokenizer.model %s/%s", folder, name,
                 stories, stories, folder, name);
    safetensors_save(AT("%s/%s/model.safetensors", folder, name), file.count, tensors, 0, NULL);
    safetensors_close(&file);
    free(values);
}

/* A token for which the model has no row does no harm, and no more tokens than half of the rows are
 * enough; who uses such a token is told. */
static void a_vocabulary_may_be_a_little_larger_or_smaller(void **) {
    assert_shell("cp -r '%s' %s/padded", stories, folder);
    assert_runs("--temperature 0 --prompt 'Once upon' --max-tokens 9 --quiet");
    char told[sizeof said];
    strcpy(told, said);
    write_text("padded/added_tokens.json", "{\"<pad>\": 1024}");
    assert_runs("--model padded --temperature 0 --prompt 'Once upon' --max-tokens 9 --quiet");
    assert_string_equal(said, told);
    assert_int_equal(run("--model padded --prompt 'Once <pad>' --quiet"), 1);
    assert_said("token 1024 is not in the vocabulary of 1024");
#define SMALLER "--tokenizer '" ROOT "/tests/golden/tokenizers/metaspace' --temperature 0 "
    assert_runs(SMALLER "--prompt 'Once upon' --max-tokens 9 --quiet");
    assert_null(strstr(said, "note:"));
    assert_runs(SMALLER "--prompt 'Once upon' --max-tokens 9");
    assert_said(
        "note: the model has 1024 tokens, and the tokenizer 722: those from 722 on have no text\n");
    /* The most probable are "ed" and tokens that it does not know, which still go on. */
    assert_runs(SMALLER "--prompt 'Once upon' --max-tokens 3 --logprobs 1 --quiet");
    int number, count = 0;
    for (const char *line = said; *line; line += strcspn(line, "\n") + 1, count++)
        if (sscanf(line, "[%d] ", &number) == 1) assert_true(number >= 722 && number < 1024);
        else assert_memory_equal(line, "ed -0.0", 7);
    assert_int_equal(count, 3);
    assert_runs("--temperature 0 --prompt 'Once upon' --max-tokens 1");
    assert_null(strstr(said, "note:"));
#undef SMALLER
}

static void llama_tells_a_story(void **) {
    assert_runs("--temperature 0 --prompt 'Once upon a time' --quiet");
    assert_int_equal(strncmp(said, "Once upon a time there was ", 27), 0);
    assert_said("\nQuestion: ");
    char first[sizeof said];
    strcpy(first, said);
    write_text("prompt", "Once upon a time\n");
    assert_runs("--temperature 0 --prompt - --max-tokens 30 --quiet --threads 1 <prompt");
    *strrchr(said, '\n') = '\0';
    assert_int_equal(strncmp(first, said, strlen(said)), 0);

    assert_runs("--seed 3 --max-tokens 12 --threads 1 --quiet");
    strcpy(first, said);
    assert_runs("--seed 3 --max-tokens 12 --threads 2 --quiet");
    assert_string_equal(said, first);
    assert_runs("--seed 3 --max-tokens 12 2>/dev/null");
    assert_string_equal(said, first);
    assert_runs("--seed 3 --max-tokens 3");
    assert_said("memory allows");
    assert_said("; seed 3\n");
    assert_runs("--prompt Once --max-tokens 1");
    assert_said("; written: 1 token, ");
    assert_runs("--max-tokens 0 --prompt 'As it is' --quiet");
    assert_string_equal(said, "As it is\n");
    assert_runs("--ctx-size 20 --max-tokens 30 --seed 1 --quiet");
    assert_said("\nnote: the context of 20 tokens is full\n");
    assert_null(strstr(said, "\n\n"));
}

static void a_text_ends_where_it_is_told_to(void **) {
    static const char ask[] = "--temperature 0 --prompt 'Once upon a time' --max-tokens 20 --quiet";
    assert_runs("%s", ask);
    char whole[sizeof said];
    strcpy(whole, said);
    assert_runs("%s --stop '. ' --stop '\nQuestion' --stop nothing", ask);
    size_t shown = strlen(said) - 1;
    assert_true(said[shown] == '\n' && memcmp(said, whole, shown) == 0 &&
                strncmp(whole + shown, ". ", 2) == 0);
    assert_non_null(strstr(whole, " there was"));
    assert_runs("%s --stop ' there was'", ask);
    assert_int_equal(strlen(said) - 1, strstr(whole, " there was") - whole);
    assert_runs("%s --stop 'Once'", ask); /* the prompt is not looked at */
    assert_true(strlen(said) > strlen("Once upon a time\n"));
    write_text("hello", "Hello!\n");
    assert_runs("--chat --quiet --temperature 0 --stop e <hello");
    assert_null(strchr(said, 'e'));
}

/* The numbers of the golden run in, and out come those that follow. */
static void tokens_go_in_and_out(void **) {
    char in[400] = "", out[400] = "";
    const Tensor *expected = safetensors_find(&golden, "greedy");
    sprintf(in, "%d", tokenizer_bos(tokenizer));
    for (int i = 0; i < 20; i++)
        sprintf(in + strlen(in), ",%d", (int)tensor_get(expected, (size_t)i));
    for (int i = 20; i < 40; i++)
        sprintf(out + strlen(out), "%d%s", (int)tensor_get(expected, (size_t)i),
                i < 39 ? " " : "\n");
    assert_runs("--token-ids %s --temperature 0 --max-tokens 20 --quiet", in);
    assert_string_equal(said, out);
    assert_runs("--token-ids \"$(echo %s | tr , ' ')\" --temperature 0 --max-tokens 20 --quiet",
                in);
    assert_string_equal(said, out);
}

/* Their sum over a text is its perplexity; the most probable stand in their order. */
static void log_probabilities_are_the_models(void **) {
    enum { TOKENS = 30 };
    /* One or the other. */
    assert_int_equal(
        run("--prompt 'Once upon a time' --seed 2 --max-tokens %d --token-ids '' --logprobs 2",
            TOKENS),
        2);
    assert_runs("--token-ids %d --temperature 1 --top-p 1 --seed 2 --max-tokens %d "
                "--logprobs 2 --quiet",
                tokenizer_bos(tokenizer), TOKENS);
    int ids[TOKENS], first, second, used;
    double sum = 0, p, p_first, p_second;
    const char *line = said;
    for (int t = 0; t < TOKENS; t++, line += used) {
        assert_int_equal(sscanf(line, "%d %lf\t%d %lf\t%d %lf\n%n", &ids[t], &p, &first, &p_first,
                                &second, &p_second, &used),
                         6);
        assert_true(p <= p_first && p_first >= p_second && first != second &&
                    (p < p_second || ids[t] == first || ids[t] == second));
        sum += p;
    }
    assert_int_equal(*line, '\0');
    double right = perplexity(&model, &fast_kernels, tokenizer_bos(tokenizer), TOKENS, ids,
                              TOKENS + 1, no_progress);
    assert_true(fabs(exp(-sum / TOKENS) / right - 1) < 1e-3);
    assert_runs("--prompt 'Once upon a time' --temperature 0 --max-tokens 2 --logprobs 0 --quiet");
    int end = 0;
    assert_int_equal(sscanf(said, "▁there %lf\n▁was %lf\n%n", &p_first, &p_second, &end), 2);
    assert_true(end > 0 && said[end] == '\0' && p_first > -0.01 &&
                p_second > -0.01); /* no story goes on otherwise */
    assert_null(strstr(said, "-0.0000"));
}

/* A large model on a small machine writes less than a token a second. */
static void slow_speeds_have_two_digits(void **) {
    static const struct {
        double rate;
        const char *text;
    } known[] = {{0, "0"},     {0.0123, "0.012"}, {0.834, "0.83"}, {0.994, "0.99"},
                 {0.996, "1"}, {1.4, "1"},        {12.6, "13"},    {12345.6, "12346"}};
    char text[RATE_TEXT];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(rate_text(text, known[i].rate), known[i].text);
}

/* A model that fits a cache is faster than memory. */
static void no_share_is_above_all(void **) {
    char text[SHARE_TEXT];
    assert_string_equal(share_text(text, 0.126), "13 % of what memory allows");
    assert_string_equal(share_text(text, 1), "100 % of what memory allows");
    assert_string_equal(share_text(text, 2.77),
                        "more than memory allows, so the weights lie in a cache");
}

static void what_was_not_written_has_no_speed(void **) {
    assert_runs("--prompt Once --max-tokens 0 --seed 3");
    assert_said("; written: 0 tokens; seed 3\n");
    assert_runs("--prompt Once --max-tokens 1 --seed 3");
    assert_said("; written: 1 token, ");
    assert_said(" a second, ");
    assert_said("; seed 3\n");
}

/* What a .gguf says of the end of a text, of a turn, of a message: each of them ends it. Here it is
 * the full stop. */
static void a_gguf_says_what_ends_a_text(void **) {
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    size_t count;
    int *full_stop = tokenizer_encode(tokenizer, 1, ".", false, &count);
    assert_shell("'%s/quantize' '%s' %s/all.gguf --type bf16 --quiet >/dev/null", BUILD, stories,
                 folder);
    Gguf all = gguf_open(AT("%s/all.gguf", folder));
    for (int k = 0; k < 3; k++) {
        GgufPairs pairs = {0};
        for (size_t i = 0; i < all.pair_count; i++)
            if (strcmp(all.pairs[i].key, keys[k]) != 0) gguf_add_copy(&pairs, &all.pairs[i]);
        gguf_add_u32(&pairs, keys[k], (uint32_t)full_stop[count - 1]);
        gguf_save(AT("%s/ends.gguf", folder), pairs.count, pairs.pairs, all.tensor_count,
                  all.tensors, NULL, NULL);
        gguf_pairs_free(&pairs);
        assert_runs("--model ends.gguf --temperature 0 --prompt 'Once upon a time' --quiet");
        assert_said("there was");
        assert_null(strchr(said, '.'));
    }
    gguf_close(&all);
    free(full_stop);
}

/* A byte that is no UTF-8 is three tokens. Whatever the prompt, there is room for it and for what
 * is to be written. */
static void the_context_is_as_long_as_it_must_be(void **) {
    write_text("bytes", "\xff\xfe\x80"
                        "abc");
    assert_runs("--seed 1 --max-tokens 3 --prompt - --quiet <bytes");
    assert_null(strstr(said, "context"));
    char many[101];
    memset(many, 0xff, 100);
    many[100] = '\0';
    write_text("bytes", many);
    assert_runs("--seed 1 --prompt - --quiet <bytes");
    assert_null(strstr(said, "context"));
    for (int tokens = 0; tokens < 5; tokens++) {
        assert_runs("--seed 1 --max-tokens %d --ignore-eos --prompt 'Once upon' --quiet", tokens);
        assert_null(strstr(said, "context"));
    }
    assert_error(run("--max-tokens 5 --prompt \"$(yes fox | head -2000)\""),
                 ", all that this model was made for");
}

static void logits_that_are_no_numbers_are_said(void **) {
    static const struct {
        const char *tensor;
        uint16_t bits;
        const char *words;
    } bad[] = {{"model.layers.2.mlp.up_proj.weight", 0x7fc0, "is nan"},
               {"model.embed_tokens.weight", 0x7f80, "is nan"},
               {"model.norm.weight", 0x7f7f,
                "is "}}; /* a sum overflows: infinities, or their difference */
    write_text("text", "Once upon a time there was Anna, a brave fox.");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        static const char *const ways[] = {"--prompt Once --temperature 0",
                                           "--prompt Once --top-p 1 --quiet", "--perplexity text",
                                           "--chat --chat-template llama2 <text"};
        copy_model("broken", bad[i].tensor, bad[i].bits);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (run("--model broken %s", ways[w]) != 1)
                fail_msg("%s, %s: %s", bad[i].tensor, ways[w], said);
            assert_one_clear_line();
            assert_said("the model's logit of token ");
            assert_said(bad[i].words);
        }
    }
    copy_model("broken", "model.norm.weight", 0x4780); /* 65536: all numbers are finite still */
    assert_runs("--model broken --prompt Once --max-tokens 3 --quiet");
    assert_error(run("--model broken --perplexity text"), "its perplexity is beyond every number");
}

/* A conversation whose model's file is made empty after the first answer has begun. */
static void a_model_that_shrinks_is_named(void **) {
    copy_model("shrinking", NULL, 0);
    assert_error(run("--chat --chat-template llama2 --max-tokens 3 --ignore-eos --model "
                     "shrinking <lines >answer & exec 3>lines; trap '' PIPE; echo Hello >&3;"
                     "while kill -0 $! && ! [ -s answer ]; do sleep 0.05; done; : "
                     ">shrinking/model.safetensors;"
                     "echo Hello 2>/dev/null >&3; " /* it may be gone before it reads this */
                     "exec 3>&-; wait $!"),
                 "shrinking/model.safetensors: its bytes are gone");
}

static void texts_come_through_pipes(void **) {
    write_text("text", "Once upon a time");
    assert_runs("--perplexity /dev/stdin <text");
    assert_said("perplexity ");
    assert_runs("--perplexity told & echo 'Once upon a time' >told; wait $!");
    assert_said("perplexity ");
}

/* generation_config.json, over what llama would do by itself, and under what it is asked for. */
static void llama_follows_the_models_defaults(void **) {
    static const char ask[] =
        "--prompt 'Once upon a time' --max-tokens 12 --seed 3 --quiet --model advised";
    static const struct {
        const char *config, *same_as; /* --options that do the same without it */
    } cases[] = {
        {"{}", ""},
        {"{\"do_sample\": false, \"temperature\": 0.6}", "--temperature 0"},
        {"{\"do_sample\": true, \"temperature\": 2.5, \"top_p\": 1.0, \"top_k\": null}",
         "--temperature 2.5 --top-p 1"},
        {"{\"temperature\": 2.5, \"top_p\": 0.5, \"top_k\": 3.0}",
         "--temperature 2.5 --top-p 0.5 --top-k 3"},
        {"{\"temperature\": 2.5, \"top_p\": null, \"min_p\": 0.3, \"repetition_penalty\": 1.5}",
         "--temperature 2.5 --min-p 0.3 --repetition-penalty 1.5"},
    };
    char before[sizeof said], plain[sizeof said] = "";
    copy_model("advised", NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unlink(AT("%s/advised/generation_config.json", folder));
        assert_runs("%s %s", ask, cases[i].same_as);
        strcpy(before, said);
        write_text("advised/generation_config.json", cases[i].config);
        assert_runs("%s", ask);
        assert_string_equal(said, before);
        if (i == 0) strcpy(plain, said);
        else assert_string_not_equal(said, plain);
    }
    write_text("advised/generation_config.json",
               "{\"do_sample\": false, \"top_p\": 0.1, \"top_k\": 1, \"min_p\": 0.9, "
               "\"repetition_penalty\": 50}");
    assert_runs("%s --temperature 0.8 --top-p 0.95 --top-k 0 --min-p 0 --repetition-penalty 1",
                ask);
    assert_string_equal(said, plain);

    /* An end that only this file knows: the full stop. */
    size_t count;
    int *full_stop = tokenizer_encode(tokenizer, 1, ".", false, &count);
    write_text("advised/generation_config.json",
               AT("{\"eos_token_id\": [2, %d]}", full_stop[count - 1]));
    assert_runs("%s --temperature 0", ask);
    assert_null(strchr(said, '.'));
    assert_runs("%s --temperature 0", "--model advised/model.safetensors --prompt Once --quiet");
    assert_null(strchr(said, '.'));
    free(full_stop);

    unlink(AT("%s/advised/generation_config.json", folder));
    assert_int_equal(symlink("nowhere", AT("%s/advised/generation_config.json", folder)), 0);
    assert_error(
        run("%s", ask),
        "advised/generation_config.json: it is a link, and what it points to is not there");
}

static void a_generation_config_is_refused(void **state) {
    const char *const *its = *state;
    copy_model("ill_advised", NULL, 0);
    write_text("ill_advised/generation_config.json", its[0]);
    assert_error(run("--prompt x --quiet --model ill_advised"), its[1]);
}

/* The stories' tokenizer with <S> for <s>: it has no token for the beginning, or none by that name.
 */
static void a_text_may_have_no_beginning(void **) {
    write_replaced("nobos.model", AT("%s/tokenizer.model", stories), "<s>", "<S>");
    copy_model("renamed", NULL, 0);
    assert_shell("cd %s && mv nobos.model renamed/tokenizer.model && sed -i "
                 "'s/<s>/<S>/' renamed/tokenizer_config.json",
                 folder);
    assert_runs(
        "--temperature 0 --max-tokens 20 --prompt 'Once upon a time' --quiet --model renamed");
    char renamed[sizeof said];
    strcpy(renamed, said);
    assert_runs("--temperature 0 --max-tokens 20 --prompt 'Once upon a time' --quiet");
    assert_string_equal(said, renamed);
    assert_shell("mv %s/renamed/tokenizer.model %s/nobos.model", folder, folder);
    assert_runs("--tokenizer nobos.model --prompt Once --max-tokens 2 --seed 1 --quiet");
    static const char *const bad[][2] = {
        {"--max-tokens 2", "no BOS to begin a text with: give a --prompt"},
        {"--chat <text", "has no BOS, which a conversation needs"},
        {"--perplexity text", "no BOS to begin a window with"}};
    write_text("text", "Once upon a time");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_error(run("--tokenizer nobos.model %s", bad[i][0]), bad[i][1]);
    }
}

static void llama_talks_and_scores(void **) {
    write_text("talk", "Hello!\n\nWho?\n");
    assert_runs("--chat --system-prompt 'Be kind.' --max-tokens 5 --seed 1 --quiet <talk");
    assert_runs("--chat --max-tokens 5 --quiet < /dev/null");
    assert_string_equal(said, "");
    assert_shell("printf 'Hello\\000 Anna\\n' >%s/nul", folder);
    assert_error(run("--chat --max-tokens 5 <nul"), "a line has a NUL in it");
    write_text("text", "Once upon a time there was Anna, a brave fox. She was in the forest.");
    assert_runs("--perplexity - <text");
    double perplexity;
    assert_int_equal(sscanf(said, "perplexity %lf over", &perplexity), 1);
    assert_true(perplexity > 1 && perplexity < 20);
}

/* A real model of another maker, where it is: LLAMA_DATA, or ../shared/data. */
static void stories260K_makes_sense(void **) {
    char data[PATH];
    snprintf(data, sizeof data, "%s",
             getenv("LLAMA_DATA") ? getenv("LLAMA_DATA") : ROOT "/../shared/data");
    if (access(data, R_OK) != 0) {
        print_message("skipped: %s is not here\n", data);
        return;
    }
    assert_runs("--model '%s/stories260K.bin' --tokenizer '%s/tok512.bin' --temperature 0 "
                "--max-tokens 256 --quiet",
                data, data);
    assert_int_equal(strncmp(said, "Once upon a time, there was a little girl named ", 48), 0);
    assert_said("Lily was sad and didn't know what to do.");
    assert_error(run("--model '%s/stories260K.bin' --tokenizer '%s/tok512.bin' --bf16-activations",
                     data, data),
                 "are F32, not BF16");
}

static int open_all(void **state) {
    model = model_open(stories);
    tokenizer = tokenizer_open(stories);
    golden = safetensors_open(ROOT "/tests/golden/stories.safetensors");
    return make_folder(state) || mkfifo(AT("%s/lines", folder), 0666) ||
           mkfifo(AT("%s/pipe", folder), 0666) || mkfifo(AT("%s/told", folder), 0666);
}

static int close_all(void **state) {
    model_close(&model);
    tokenizer_close(tokenizer);
    safetensors_close(&golden);
    return remove_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_fair),
        cmocka_unit_test(both_ends_can_be_drawn),
        cmocka_unit_test(samplers_follow_each_other),
        cmocka_unit_test(it_writes_what_transformers_writes),
        cmocka_unit_test(perplexity_is_transformers),
        cmocka_unit_test(rounding_is_pytorchs),
        cmocka_unit_test(it_answers_questions),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(characters_appear_whole),
        cmocka_unit_test(a_text_stops_before_its_ends),
        cmocka_unit_test(the_loop_says_why_it_stops),
        cmocka_unit_test(what_was_read_can_be_forgotten),
        cmocka_unit_test(what_has_no_text_shows_none),
        cmocka_unit_test(a_vocabulary_may_be_a_little_larger_or_smaller),
        cmocka_unit_test(llama_tells_a_story),
        cmocka_unit_test(a_text_ends_where_it_is_told_to),
        cmocka_unit_test(tokens_go_in_and_out),
        cmocka_unit_test(log_probabilities_are_the_models),
        cmocka_unit_test(slow_speeds_have_two_digits),
        cmocka_unit_test(no_share_is_above_all),
        cmocka_unit_test(what_was_not_written_has_no_speed),
        cmocka_unit_test(a_gguf_says_what_ends_a_text),
        cmocka_unit_test(the_context_is_as_long_as_it_must_be),
        cmocka_unit_test(logits_that_are_no_numbers_are_said),
        cmocka_unit_test(a_model_that_shrinks_is_named),
        cmocka_unit_test(texts_come_through_pipes),
        cmocka_unit_test(a_text_may_have_no_beginning),
        cmocka_unit_test(llama_follows_the_models_defaults),
        cmocka_unit_test(llama_talks_and_scores),
        cmocka_unit_test(stories260K_makes_sense),
    };
    static const Check checks[] = {CHECK(a_request_is_refused), CHECK(a_misuse_is_refused),
                                   CHECK(a_generation_config_is_refused)};
    return run_with_cases("kernels/generation", sizeof tests / sizeof *tests, tests, 3, checks,
                          open_all, close_all);
}
