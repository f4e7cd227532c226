/* Chapter 9 against transformers: every configuration, read at once, in pieces and token by token;
 * both layouts; weights in every dtype at any address; the room that a decoder works in; and what
 * is refused. */
#include "09_decoder/decoder.h"
#include "09_decoder/presets.h"
#include "09_decoder/model_summary.h"
#include "09_decoder/trace.h"
#include "12_speed/fast_kernels.h"
#include "14_engine/formats/model_open_any.h"
#include "common/check.h"
#include "common/error.h"
#include "common/safetensors.h"
#define PROGRAM "'" BUILD "/inspect'"
#include "tests/checkpoints.h"
#include "tests/llama2c.h"
#include "tests/refused.h"

#include <math.h>

/* Folders, and files of llama.cpp's format. */
enum { FOLDERS = 9 };
static const char *const models[] = {"llama1",   "llama2_70b", "llama3",     "llama31",
                                     "llama32",  "yarn",       "dynamic",    "biases",
                                     "longrope", "mixed.gguf", "plain.gguf", "rare.gguf"};

static const Kernels
    *kernels; /* those that the decoder is made of: the state that a test begins with */

static int take_kernels(void **state) {
    kernels = *state;
    return 0;
}

/* Each test for both tables. transformers does not quantize x before it is multiplied by a weight
 * in blocks. */
#define FOR_BOTH(test)                                                                             \
    {#test, test, take_kernels, NULL, (void *)&reference_kernels}, {                               \
        #test ", fast", test, take_kernels, NULL, (void *)&exact_kernels                           \
    }

/* ------------------------------------------------------------------ against transformers */

static SafeTensors open_expected(const char *name) {
    const char *end = strchr(name, '.');
    if (!end) return safetensors_open(AT("%s/expected.safetensors", GOLDEN(name)));
    return safetensors_open(
        AT("%s/tests/golden/gguf/%.*s.safetensors", ROOT, (int)(end - name), name));
}

static void assert_agrees(const SafeTensors *expected, const char *model, const char *name,
                          const float *got) {
    const Tensor *single = safetensors_find(expected, name),
                 *exact = safetensors_find(expected, AT("%s/float64", name));
    float *right = tensor_to_float(single);
    double *truth = tensor_to_double(exact);
    Comparison a = check(tensor_count(single), single->shape[1], got, right, truth);
    if (a.wrong)
        fail_msg("%s: %s: %zu of %zu wrong, %.1f ulps, transformers %.1f", model, name, a.wrong,
                 a.count, a.ulps, a.reference);
    free(right);
    free(truth);
}

static int read_ids(const SafeTensors *expected, int ids[64]) {
    const Tensor *tensor = safetensors_find(expected, "ids");
    int T = (int)tensor_count(tensor);
    for (int t = 0; t < T; t++) ids[t] = (int)tensor_get(tensor, (size_t)t);
    return T;
}

typedef struct {
    int stages, T, C;
    float *states;
} Seen;

static void watch(void *context, int stage, int first, int T, int C, const float x[T][C]) {
    Seen *seen = context;
    assert_in_range(stage, 0, seen->stages - 1);
    memcpy(seen->states + ((size_t)stage * seen->T + first) * C, x, (size_t)T * sizeof *x);
}

static void every_stage_is_transformers(void **) {
    for (size_t m = 0; m < COUNT(models); m++) {
        Model model = model_open_any(GOLDEN(models[m]));
        SafeTensors expected = open_expected(models[m]);
        int ids[64], T = read_ids(&expected, ids), C = model.config.C, L = model.config.L;
        Seen seen = {2 * L + 2, T, C, xmalloc((size_t)(2 * L + 2) * T * C * sizeof(float))};
        Decoder decoder = decoder_new(&model, kernels, T);
        decoder.hook = watch;
        decoder.context = &seen;
        decoder_eval(&decoder, T, ids);
        for (int s = 0; s < L + 2; s++) {
            char name[32];
            snprintf(name, sizeof name,
                     s == 0       ? "embed_tokens"
                     : s == L + 1 ? "norm"
                                  : "layers.%d",
                     s - 1);
            size_t stage = s <= L ? 2 * (size_t)s
                                  : 2 * (size_t)L + 1; /* transformers show none within a layer */
            assert_agrees(&expected, models[m], name, seen.states + stage * T * C);
        }
        decoder_free(&decoder);
        model_close(&model);
        safetensors_close(&expected);
        free(seen.states);
    }
}

/* The logits after every token, with the text read in pieces; where a piece is longer than 1, only
 * after its last. */
static void read_in_pieces(const Model *model, int T, const int ids[T], int first, int piece,
                           float logits[T][model->config.V]) {
    Decoder decoder = decoder_new(model, kernels, T);
    for (int t = 0, n; t < T; t += n) {
        n = t == 0 ? first : piece;
        if (n > T - t) n = T - t;
        decoder_eval(&decoder, n, ids + t);
        decoder_logits(&decoder, logits[t + n - 1]);
    }
    decoder_free(&decoder);
}

static void pieces_are_transformers(void **) {
    static const int cuts[][2] = {{1, 1}, {2, 1}, {5, 1}, {11, 1}, {5, 5}, {3, 4}, {12, 1}};
    for (size_t m = 0; m < COUNT(models); m++) {
        Model model = model_open_any(GOLDEN(models[m]));
        SafeTensors expected = open_expected(models[m]);
        int ids[64], T = read_ids(&expected, ids), V = model.config.V;
        const bool dynamic = model.config.rope.rope_type == ROPE_DYNAMIC ||
                             model.config.rope.rope_type == ROPE_LONGROPE;
        const char *name = dynamic ? "by_token" : "logits";
        for (size_t c = 0; c < (dynamic ? 1 : COUNT(cuts)); c++) {
            /* Right where none is asked for. */
            float(*logits)[V] = (void *)tensor_to_float(safetensors_find(&expected, name));
            read_in_pieces(&model, T, ids, cuts[c][0], cuts[c][1], logits);
            assert_agrees(&expected, models[m], name, &logits[0][0]);
            free(logits);
        }
        model_close(&model);
        safetensors_close(&expected);
    }
}

static void assert_close(double ulps, int count, const float got[count], const float right[count]) {
    double *truth = xmalloc((size_t)count * sizeof *truth);
    for (int i = 0; i < count; i++) truth[i] = right[i];
    Comparison a = check_within(ulps, (size_t)count, (size_t)count, got, truth);
    if (a.wrong) fail_msg("%zu of %zu wrong, %.1f ulps", a.wrong, a.count, a.ulps);
    free(truth);
}

static void a_long_text_in_any_pieces_is_the_same(void **) {
    enum { T = 300 };
    Model model = model_open(GOLDEN("llama31"));
    int ids[T], V = model.config.V;
    float(*once)[V] = xmalloc(T * sizeof *once), (*pieces)[V] = xmalloc(T * sizeof *pieces);
    for (int t = 0; t < T; t++) ids[t] = t * 7 % V;
    read_in_pieces(&model, T, ids, T, 1, once);
    static const int cuts[][2] = {{1, 1}, {129, 1}, {100, 99}, {T - 1, 1}};
    for (size_t c = 0; c < COUNT(cuts); c++) {
        read_in_pieces(&model, T, ids, cuts[c][0], cuts[c][1], pieces);
        assert_close(100, V, pieces[T - 1], once[T - 1]); /* sums of 300 keys in another order */
    }
    free(once);
    free(pieces);
    model_close(&model);
}

/* 512 positions go through the layers together: here twice as many, and one more. No two of the
 * chunks are alike. */
static void a_text_of_several_chunks_is_the_same(void **) {
    enum { T = 1025 };
    Model model = model_open(GOLDEN("llama31"));
    int ids[T], V = model.config.V;
    float(*once)[V] = xmalloc(T * sizeof *once), (*pieces)[V] = xmalloc(T * sizeof *pieces);
    for (int t = 0; t < T; t++) ids[t] = t * 7 % 61;
    read_in_pieces(&model, T, ids, 256, 256, pieces);
    for (int n = T - 1; n <= T; n++) {
        read_in_pieces(&model, n, ids, n, 1, once);
        assert_close(100, V, pieces[n - 1], once[n - 1]); /* sums of 1000 keys in another order */
    }
    free(once);
    free(pieces);
    model_close(&model);
}

/* ------------------------------------------------------------------ what is refused */

static Decoder asked;
static struct {
    int T;
    const int *ids;
} text_of;

static void ask_for_no_positions(void) { decoder_new(asked.model, kernels, 0); }
static void read_text(void) { decoder_eval(&asked, text_of.T, text_of.ids); }

static void assert_not_read(int T, const int ids[T], const char *words) {
    text_of.T = T;
    text_of.ids = ids;
    assert_refused(read_text, words);
}

static void an_id_that_is_none_is_refused(void **) {
    Model model = model_open(GOLDEN("llama3"));
    asked = decoder_new(&model, kernels, 3);
    for (int t = 0; t < 3; t++) {
        int low[3] = {0, 63, 0}, high[3] = {0, 63, 0};
        low[t] = -1;
        high[t] = 64;
        assert_not_read(3, low, "token -1 is not in the vocabulary of 64 (0 to 63)");
        assert_not_read(3, high, "token 64 is not in the vocabulary of 64 (0 to 63)");
    }
    decoder_eval(&asked, 2, (int[]){0, 63, -1});
    assert_int_equal(asked.length, 2);
    decoder_free(&asked);
    model_close(&model);
}

static void a_text_has_room_to_the_last_position(void **) {
    static const int ids[5] = {1, 2, 3, 4, 5};
    Model model = model_open(GOLDEN("llama3"));
    for (int capacity = 1; capacity <= 4; capacity++) {
        asked = decoder_new(&model, kernels, capacity);
        assert_not_read(0, ids, "0 tokens to read: give at least one");
        decoder_eval(&asked, 1, ids);
        assert_not_read(
            capacity, ids,
            AT("a text of %d tokens does not fit the context of %d", capacity + 1, capacity));
        if (capacity > 1) decoder_eval(&asked, capacity - 1, ids + 1);
        assert_int_equal(asked.length, capacity);
        decoder_free(&asked);
    }
    asked.model = &model;
    assert_refused(ask_for_no_positions, "a decoder for 0 positions: give at least one");
    model_close(&model);
}

/* ------------------------------------------------------------------ the room */

static size_t lines(size_t numbers) { return (numbers * sizeof(float) + 63) / 64 * 64; }

/* Bytes for what the way of T tokens takes at once: of the stream's width x, what is added to it,
 * what is handed out and a norm; and q, k, v with what becomes of them, or the three of the hidden
 * layer. */
static size_t bytes_taken(const Config *c, size_t T) {
    size_t stream = lines(T * c->C), queries = lines(T * c->H * c->D),
           keys = lines(T * c->KV * c->D);
    size_t attention = 3 * queries + 3 * keys, feed_forward = 3 * lines(T * c->F);
    return 4 * stream + (attention > feed_forward ? attention : feed_forward);
}

/* The attention of llama1 takes more than its feed-forward block, of biases less, and of llama3 as
 * much. Of 16 tokens a column is a line. */
static void what_is_written_is_taken(void **) {
    static const int ids[16] = {1, 2, 3};
    for (size_t m = 0; m < FOLDERS; m++) {
        Model model = model_open_any(GOLDEN(models[m]));
        asked = decoder_new(&model, kernels, 2 * 16);
        asked.arena_size = bytes_taken(&model.config, 16);
        decoder_eval(&asked, 16, ids);
        asked.arena_size--;
        assert_not_read(16, ids, "a decoder's room is too small");
        decoder_free(&asked);
        model_close(&model);
    }
}

/* Each array may be 64 bytes longer, for each token. */
static void there_is_room_for_any_width(void **) {
    static const Model wide[] = {
        {.config = {.L = 1, .C = 1001, .F = 500, .H = 25, .KV = 5, .D = 39, .V = 1}},
        {.config = {.L = 1, .C = 1001, .F = 3001, .H = 25, .KV = 5, .D = 39, .V = 1}}};
    static const int capacities[] = {1, 2, 17, 512, 600};
    for (size_t m = 0; m < COUNT(wide); m++)
        for (size_t i = 0; i < COUNT(capacities); i++) {
            size_t T = capacities[i] < 512 ? (size_t)capacities[i] : 512,
                   least = bytes_taken(&wide[m].config, T);
            Decoder decoder = decoder_new(&wide[m], kernels, capacities[i]);
            assert_in_range(decoder.arena_size, least, least + T * 10 * 64);
            decoder_free(&decoder);
        }
}

static size_t too_many;
static void take_too_many(void) { decoder_alloc(&asked, too_many); }

static void what_is_taken_begins_at_a_line(void **) {
    char room[320];
    asked = (Decoder){.arena = room, .arena_size = sizeof room};
    static const size_t bytes[] = {1, 63, 65, 64};
    static const int begin[] = {0, 64, 128, 256};
    for (size_t i = 0; i < COUNT(bytes); i++)
        assert_ptr_equal(decoder_alloc(&asked, bytes[i]), room + begin[i]);
    asked.arena_size = sizeof room + 66;
    const size_t refused[] = {65, 67, SIZE_MAX}; /* of 65 bytes the second line is not there */
    for (size_t i = 0; i < COUNT(refused); i++) {
        too_many = refused[i];
        assert_refused(take_too_many, AT("too small for %zu bytes more", too_many));
    }
}

static void the_tree_is_pytorchs(void **) {
    for (size_t m = 0; m < FOLDERS; m++) {
        Config config = config_read(AT("%s/config.json", GOLDEN(models[m])));
        SafeTensors expected = open_expected(models[m]);
        char *printed = NULL;
        size_t size;
        FILE *file = open_memstream(&printed, &size);
        config_print_model(file, &config);
        config_free(&config);
        fclose(file);
        printed[size - 1] = '\0'; /* the last newline */
        assert_string_equal(printed, safetensors_metadata(&expected, "tree"));
        safetensors_close(&expected);
        free(printed);
    }
}

static void the_family_is_as_large_as_published(void **) {
    static const struct {
        const char *name;
        int64_t parameters;
    } known[] = {
        {"llama-1-7b", 6738415616},     {"llama-1-13b", 13015864320},
        {"llama-1-33b", 32528943616},   {"llama-1-65b", 65285660672},
        {"llama-2-7b", 6738415616},     {"llama-2-13b", 13015864320},
        {"llama-2-70b", 68976648192},   {"llama-3-8b", 8030261248},
        {"llama-3-70b", 70553706496},   {"llama-3.1-8b", 8030261248},
        {"llama-3.1-70b", 70553706496}, {"llama-3.1-405b", 405853388800},
        {"llama-3.2-1b", 1235814400},   {"llama-3.2-3b", 3212749824},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        Config config = config_preset(known[i].name);
        assert_int_equal(config_parameters(&config), known[i].parameters);
        assert_string_equal(config_names()[i], known[i].name);
    }
    assert_null(config_names()[COUNT(known)]);
    /* Its bytes do not fit 32 bits, nor does the number of its weights. */
    assert_runs("--summary llama-3.1-405b");
    assert_said(" 405853388800 ");
    assert_said(" 811706777600\n");
}

/* ------------------------------------------------------------------ checkpoints, written here */

/* The model's logits after the golden ids are transformers'. */
static void assert_is(const char *path, const char *model_name) {
    Model model = model_open_any(path);
    SafeTensors expected = open_expected(model_name);
    int ids[64], T = read_ids(&expected, ids), V = model.config.V;
    float(*logits)[V] = (void *)tensor_to_float(safetensors_find(&expected, "logits"));
    read_in_pieces(&model, T, ids, 1, 1, logits);
    assert_agrees(&expected, model_name, "logits", &logits[0][0]);
    free(logits);
    model_close(&model);
    safetensors_close(&expected);
}

static void tied_weights_have_either_name_or_both(void **) {
    Weights one = open_weights("llama32");
    named(&one, "model.embed_tokens.weight")->name = "lm_head.weight";
    assert_is(save_model("only_lm_head", "llama32", &one), "llama32");
    Weights both = open_weights("llama32");
    both.tensors[both.count] = *named(&both, "model.embed_tokens.weight");
    both.tensors[both.count++].name = "lm_head.weight";
    assert_is(save_model("both", "llama32", &both), "llama32");
}

static void stray_frequencies_are_ignored(void **) {
    static const float frequencies[4] = {NAN, NAN, NAN, NAN};
    Weights weights = open_weights("llama1");
    weights.tensors[weights.count++] =
        (Tensor){.name = "model.layers.0.self_attn.rotary_emb.inv_freq",
                 .dtype = F32,
                 .rank = 1,
                 .shape = {4},
                 .data = frequencies};
    assert_is(save_model("stray", "llama1", &weights), "llama1");
}

static void weights_need_not_be_aligned(void **) {
    static const char *const names[] = {"llama1", "llama3", "yarn"};
    for (size_t m = 0; m < COUNT(names); m++)
        for (uint64_t shift = 1; shift <= 3; shift++) {
            size_t size;
            uint64_t header;
            char *bytes = file_read(AT("%s/model.safetensors", GOLDEN(names[m])), &size),
                 *shifted = xmalloc(size + 3);
            memcpy(&header, bytes, sizeof header);
            size_t begin = 8 + header;
            memset(shifted, ' ', size + 3);
            memcpy(shifted, bytes, begin);
            memcpy(shifted + begin + shift, bytes + begin, size - begin);
            header += shift;
            memcpy(shifted, &header, sizeof header);
            write_config("unaligned", names[m], "", "");
            write_bytes("unaligned/model.safetensors", size + shift, shifted);
            assert_is(AT("%s/unaligned", folder), names[m]);
            free(bytes);
            free(shifted);
        }
}

/* ------------------------------------------------------------------ llama2.c's layout */

static void the_interleaved_layout_is_transformers_too(void **) {
    Model model = model_open(GOLDEN("llama2_70b"));
    write_bin(AT("%s/interleaved.bin", folder), &model);
    model_close(&model);
    assert_is(AT("%s/interleaved.bin", folder), "llama2_70b");
}

/* The most probable next token, again and again, from token 1 on; returns the mean log-probability
 * that `judge` gives them. */
static double write_greedily(const Model *model, const Model *judge, int n, int ids[n]) {
    int V = model->config.V;
    float logits[V], judged[V];
    double likelihood = 0;
    Decoder decoder = decoder_new(model, kernels, n), judging = decoder_new(judge, kernels, n);
    ids[0] = 1;
    for (int t = 0; t + 1 < n; t++) {
        decoder_eval(&decoder, 1, &ids[t]);
        decoder_logits(&decoder, logits);
        decoder_eval(&judging, 1, &ids[t]);
        decoder_logits(&judging, judged);
        double sum = 0;
        ids[t + 1] = 0;
        for (int v = 1; v < V; v++)
            if (logits[v] > logits[ids[t + 1]]) ids[t + 1] = v;
        for (int v = 0; v < V; v++) sum += exp(judged[v] - judged[ids[t + 1]]);
        likelihood -= log(sum) / (n - 1);
    }
    decoder_free(&decoder);
    decoder_free(&judging);
    return likelihood;
}

/* What transformers writes with this model, its weights permuted to the half-split layout, was
 * computed once: "Once upon a time, there was a little girl named Lily. She loved to play outside
 * in the park. …" */
static void stories260K_tells_a_story(void **) {
    const char *data = getenv("LLAMA_DATA"),
               *path = AT("%s/stories260K.bin", data ? data : ROOT "/../shared/data");
    if (access(path, R_OK) != 0) {
        print_message("%s is not there: its story is not told\n", path);
        skip();
    }
    enum { N = 256 };
    static const int known[] = {1,   403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315,
                                421, 395, 317, 426, 338, 401, 396, 267, 337, 410, 408, 419,
                                292, 411, 322, 265, 282, 295, 433, 426, 385, 328, 432, 358};
    int right[N], wrong[N];
    Model model = model_open_any(path), other = model;
    double coherent = write_greedily(&model, &model, N, right);
    other.interleaved = false;
    double incoherent = write_greedily(&other, &model, N, wrong);
    for (size_t i = 0; i < COUNT(known); i++) assert_int_equal(right[i], known[i]);
    uint32_t hash = 2166136261; /* FNV-1a of all 256 */
    for (int i = 0; i < N; i++) hash = (hash ^ (uint32_t)right[i]) * 16777619;
    assert_int_equal(hash, 0xb008b612);
    if (!(coherent > -0.7 && incoherent < -3))
        fail_msg("log-probabilities %g and %g", coherent, incoherent);
    model_close(&model);
}

/* ------------------------------------------------------------------ the trained model */

static void heads_look_as_in_transformers(void **) {
    Model model = model_open(AT("%s/common/stories/model", ROOT));
    SafeTensors unseen = safetensors_open(AT("%s/common/stories/unseen.safetensors", ROOT));
    SafeTensors golden = safetensors_open(AT("%s/tests/golden/stories.safetensors", ROOT));
    const Tensor *ids = safetensors_find(&unseen, "walk"),
                 *expected = safetensors_find(&golden, "heads");
    int T = (int)tensor_count(ids), H = model.config.H;
    assert_int_equal(tensor_count(expected), model.config.L * H * (T - 1));
    HiddenStates run = record_hidden_states(&model, kernels, T, ids->data);
    float(*weights)[T] = xmalloc((size_t)T * sizeof *weights);
    for (int head = 0; head < model.config.L * H; head++) {
        head_weights(&model, &run, head / H, head % H, weights);
        for (int s = 0; s < T - 1; s++) {
            double right = tensor_get(expected, (size_t)(head * (T - 1) + s));
            if (!(fabs(weights[T - 2][s] - right) < 1e-4))
                fail_msg("head %d, token %d: %g, in transformers %g", head, s, weights[T - 2][s],
                         right);
        }
    }
    free(weights);
    hidden_states_free(&run);
    model_close(&model);
    safetensors_close(&unseen);
    safetensors_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FOR_BOTH(an_id_that_is_none_is_refused),
        FOR_BOTH(a_text_has_room_to_the_last_position),
        FOR_BOTH(what_is_written_is_taken),
        FOR_BOTH(there_is_room_for_any_width),
        FOR_BOTH(what_is_taken_begins_at_a_line),
        FOR_BOTH(every_stage_is_transformers),
        FOR_BOTH(pieces_are_transformers),
        FOR_BOTH(a_long_text_in_any_pieces_is_the_same),
        FOR_BOTH(a_text_of_several_chunks_is_the_same),
        FOR_BOTH(the_tree_is_pytorchs),
        FOR_BOTH(the_family_is_as_large_as_published),
        FOR_BOTH(tied_weights_have_either_name_or_both),
        FOR_BOTH(stray_frequencies_are_ignored),
        FOR_BOTH(weights_need_not_be_aligned),
        FOR_BOTH(the_interleaved_layout_is_transformers_too),
        FOR_BOTH(stories260K_tells_a_story),
        FOR_BOTH(heads_look_as_in_transformers),
    };
    return cmocka_run_group_tests_name("decoder", tests, make_folder, remove_folder) != 0;
}
