/* What a GGUF file says of a model and of a tokenizer: a good file with one thing changed means
 * what it says then, or is refused with one line that names it; and a tokenizer that is written
 * into such a file is the same when it is read again. */
#include "09_decoder/model.h"
#include "10_tokenizer/tokenizer_internal.h"
#include "14_engine/formats/gguf_model.h"
#include "14_engine/formats/model_open_any.h"
#include "14_engine/tokenizers/regex.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "14_engine/tokenizers/tokenizer_formats.h"
#include "common/gguf.h"
#include "common/safetensors.h"
#include "tests/cases.h"
#include "tests/program.h"
#include "tests/refused.h"

#include <jansson.h>
#include <math.h>

#define GOLDEN ROOT "/tests/golden/"

static const char plain[] = GOLDEN "gguf/plain.gguf", mixed[] = GOLDEN "gguf/mixed.gguf";
static const char bytes[] = GOLDEN "tokenizers/byte_level.gguf",
                  pieces[] = GOLDEN "tokenizers/user_defined.gguf",
                  split[] = GOLDEN "foreign_tokenizers/split.gguf";

/* ---------------------------------------------------------- a good file, with something changed */

#define KEY "tokenizer.ggml."

static void shorten(GgufPairs *pairs, GgufPair pair) {
    pair.count--;
    gguf_add_copy(pairs, &pair);
}

/* An element that is a number becomes the first letter of the text, one that is a text the whole
 * text. */
static void change_element(GgufPairs *pairs, const GgufPair *pair, size_t index, const char *text) {
    if (pair->type != GGUF_STRING) {
        float real = *text == 'n' ? NAN : (float)(*text - '0');
        uint32_t whole = (uint32_t)(*text - '0');
        gguf_add_copy(pairs, pair);
        char *element = (char *)pairs->pairs[pairs->count - 1].bytes + 4 * index;
        memcpy(element, pair->type == GGUF_F32 ? (void *)&real : &whole, 4);
        return;
    }
    GgufText *texts = malloc(pair->count * sizeof *texts);
    const unsigned char *place = pair->bytes;
    for (size_t i = 0; i < pair->count; i++) texts[i] = gguf_text(&place);
    texts[index] = (GgufText){*text == '0' ? 1 : strlen(text),
                              *text == '0' ? "" : text}; /* "0" is the letter NUL */
    gguf_add_texts(pairs, pair->key, pair->count, texts);
    free(texts);
}

/* A change is "KEY gone"; "KEY = 3", "KEY = 3.0", "KEY = 'text'" or "KEY = [1]", which is a list;
 * "KEY shorter", a list without its last element; or "KEY[5] = 'text'", another element. */
static void add_change(GgufPairs *pairs, const Gguf *good, const char *change) {
    char *key = xstrndup(change, strcspn(change, " [")), *letters = NULL;
    const char *equals = strstr(change, " = "), *value = equals ? equals + 3 : "";
    const GgufPair *pair = gguf_pair(good, key);
    if (*value == '\'') letters = xstrndup(value + 1, strlen(value) - 2);
    if (change[strlen(key)] == '[')
        change_element(pairs, pair, (size_t)atoi(change + strlen(key) + 1), letters);
    else if (letters) gguf_add_text(pairs, key, letters);
    else if (*value == '[') gguf_add_u32s(pairs, key, GGUF_U32, 1, &(const uint32_t){1});
    else if (strpbrk(value, ".n")) gguf_add_f32(pairs, key, strtof(value, NULL));
    else if (*value) gguf_add_u32(pairs, key, (uint32_t)strtoul(value, NULL, 10));
    else if (strstr(change, " shorter")) shorten(pairs, *pair);
    else if (!strstr(change, " gone")) fail_msg("no change: %s", change);
    free(letters);
    free(key);
}

static char path[PATH];

/* Changes end with an empty one. */
#define CHANGES(...) ((const char *const[]){__VA_ARGS__, ""})

static bool is_changed(const char *key, const char *const changes[]) {
    size_t length = strlen(key);
    for (; **changes; changes++)
        if (strcspn(*changes, " [") == length && memcmp(*changes, key, length) == 0) return true;
    return false;
}

static GgufPairs change_pairs(const Gguf *good, const char *const changes[]) {
    GgufPairs pairs = {0};
    for (size_t i = 0; i < good->pair_count; i++)
        if (!is_changed(good->pairs[i].key, changes)) gguf_add_copy(&pairs, &good->pairs[i]);
    for (; **changes; changes++) add_change(&pairs, good, *changes);
    return pairs;
}

static void write_changed(const char *from, const char *const changes[]) {
    Gguf good = gguf_open(from);
    GgufPairs pairs = change_pairs(&good, changes);
    gguf_save(text(path, "%s/changed.gguf", folder), pairs.count, pairs.pairs, good.tensor_count,
              good.tensors, NULL, NULL);
    gguf_pairs_free(&pairs);
    gguf_close(&good);
}

static void open_model(void) {
    Model model = model_open_any(path);
    model_close(&model);
}

static void open_tokenizer(void) { tokenizer_close(tokenizer_open_any(path)); }

/* ------------------------------------------------------------------ what is said of a model */

static void a_model_that_cannot_be_is_refused(void **state) {
    const char *const *its = *state;
    write_changed(plain, CHANGES(its[0], its[2], its[3]));
    assert_refused(open_model, its[1]);
}

static Config config_with(const char *const changes[]) {
    write_changed(plain, changes);
    Model model = model_open_any(path);
    Config config = model.config;
    model_close(&model);
    return config;
}

static void what_a_model_says_counts(void **) {
    Config c = config_with(CHANGES("llama.vocab_size gone", "llama.attention.key_length gone",
                                   "llama.expert_count = 0", "split.count = 1"));
    assert_int_equal(c.V, 64);
    assert_int_equal(c.D, 16);
    assert_int_equal(c.eos_count, 0);
    assert_int_equal(c.rope.rope_type, ROPE_DEFAULT);
    c = config_with(CHANGES(KEY "eos_token_id = 7"));
    assert_int_equal(c.eos_count, 1);
    assert_int_equal(c.eos[0], 7);
    assert_int_equal(config_with(CHANGES(KEY "eos_token_id = [1]")).eos_count, 0);
    assert_int_equal(config_with(CHANGES(KEY "eos_token_id = '</s>'")).eos_count, 0);
    c = config_with(CHANGES("llama.rope.scaling.type = 'none'"));
    assert_int_equal(c.rope.rope_type, ROPE_DEFAULT);
    c = config_with(CHANGES("llama.rope.scale_linear = 4.0"));
    assert_int_equal(c.rope.rope_type, ROPE_LINEAR);
    assert_true(c.rope.factor == 4);
    c = config_with(
        CHANGES("llama.rope.scaling.type = 'linear'", "llama.rope.scaling.factor = 8.0"));
    assert_int_equal(c.rope.rope_type, ROPE_LINEAR);
    assert_true(c.rope.factor == 8);

    const char *yarn[] = {"llama.rope.scaling.type = 'yarn'",
                          "llama.rope.scaling.factor = 8.0",
                          "llama.rope.scaling.original_context_length = 32",
                          "llama.rope.scaling.yarn_beta_fast = 16.0",
                          "llama.rope.scaling.yarn_beta_slow = 2.0",
                          "",
                          ""};
    c = config_with(yarn);
    assert_int_equal(c.rope.rope_type, ROPE_YARN);
    assert_int_equal(c.rope.original_max_position_embeddings, 32);
    assert_true(c.rope.beta_fast == 16 && c.rope.beta_slow == 2 &&
                c.rope.attention_factor == 0); /* YaRN's own */
    yarn[5] = "llama.rope.scaling.attn_factor = 0.5";
    c = config_with(yarn);
    assert_true(fabs(c.rope.attention_factor - 0.5 * (0.1 * log(8) + 1)) < 1e-12);
    c = config_with(CHANGES("llama.rope.scaling.type = 'yarn'", "llama.rope.scaling.factor = 8.0",
                            "llama.rope.scaling.yarn_ext_factor = 1.0",
                            "llama.rope.scaling.yarn_attn_factor = 1.25"));
    assert_true(c.rope.attention_factor == 1.25); /* all of it */
}

/* ------------------------------------------------------------------ types that few files have */

/* Bit for bit what the package gguf reads: tests/golden/13_gguf.py. */
static void rare_types_are_the_packages(void **) {
    Gguf file = gguf_open(GOLDEN "gguf/rare.gguf");
    SafeTensors right = safetensors_open(GOLDEN "gguf/rare.safetensors");
    int seen = 0;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const Tensor *rows = safetensors_find(&right, AT("rows/%s", file.tensors[i].name));
        if (!rows) continue;
        Tensor tensor = gguf_as_tensor(&file.tensors[i]);
        float numbers[4 * 256];
        assert_int_equal(rows->shape[0] * rows->shape[1], 4 * 256);
        tensor_dequantize_row(&tensor, 0, 4 * 256, numbers);
        assert_memory_equal(numbers, rows->data, sizeof numbers);
        seen |= 1 << (file.tensors[i].type % 32);
    }
    assert_int_equal(seen, 1 << GGUF_TYPE_IQ4_XS | 1 << GGUF_TYPE_IQ3_S |
                               1 << GGUF_TYPE_TQ1_0 % 32 | 1 << GGUF_TYPE_TQ2_0 % 32);
    safetensors_close(&right);
    gguf_close(&file);
}

/* ------------------------------------------------------------------ a model in parts */

/* Part `part` of `count` of a model, with every count-th of its tensors. */
static void write_part(const Gguf *whole, int part, int count, int said) {
    GgufTensor some[whole->tensor_count];
    size_t tensors = 0;
    for (size_t i = (size_t)part; i < whole->tensor_count; i += (size_t)count)
        some[tensors++] = whole->tensors[i];
    GgufPairs pairs = {0};
    for (size_t i = 0; part == 0 && i < whole->pair_count; i++)
        gguf_add_copy(&pairs, &whole->pairs[i]);
    gguf_add_u32(&pairs, "split.no", (uint32_t)said);
    gguf_add_u32(&pairs, "split.count", (uint32_t)count);
    gguf_add_u32(&pairs, "split.tensors.count", (uint32_t)whole->tensor_count);
    gguf_save(AT("%s/model-%05d-of-%05d.gguf", folder, part + 1, count), pairs.count, pairs.pairs,
              tensors, some, NULL, NULL);
    gguf_pairs_free(&pairs);
}

static void parts_are_read_together(void **) {
    Gguf whole = gguf_open(mixed);
    for (int part = 0; part < 3; part++) write_part(&whole, part, 3, part);
    text(path, "%s/model-00001-of-00003.gguf", folder);
    Model one = model_open_any(mixed), cut = model_open_any(path);
    assert_int_equal(one.config.V, cut.config.V);
    assert_int_equal(one.config.tie_word_embeddings, cut.config.tie_word_embeddings);
    assert_int_equal(one.config.rope.rope_type, cut.config.rope.rope_type);
    for (int l = 0; l < one.config.L; l++) {
        const Layer *a = &one.layers[l], *b = &cut.layers[l];
        const Tensor *const pairs[][2] = {
            {&a->q_proj, &b->q_proj},       {&a->k_proj, &b->k_proj},
            {&a->v_proj, &b->v_proj},       {&a->o_proj, &b->o_proj},
            {&a->gate_proj, &b->gate_proj}, {&a->up_proj, &b->up_proj},
            {&a->down_proj, &b->down_proj}};
        for (size_t i = 0; i < COUNT(pairs); i++)
            assert_memory_equal(pairs[i][0]->data, pairs[i][1]->data, tensor_bytes(pairs[i][0]));
    }
    assert_memory_equal(one.embed_tokens.data, cut.embed_tokens.data,
                        tensor_bytes(&one.embed_tokens));
    model_close(&one);
    model_close(&cut);

    write_part(&whole, 1, 3, 2);
    assert_refused(open_model, "it does not say that it is part 2 of 3");
    write_part(&whole, 0, 3, 0);
    unlink(AT("%s/model-00002-of-00003.gguf", folder));
    assert_refused(open_model, "model-00002-of-00003.gguf: it is not there: fetch all 3 parts");
    text(path, "%s/model-00003-of-00003.gguf", folder);
    assert_refused(open_model, "it is part 3 of a model's 3: name the first");
    gguf_close(&whole);
}

/* A tensor that two parts have. */
static void parts_belong_together(void **) {
    Gguf whole = gguf_open(mixed);
    write_part(&whole, 0, 2, 0);
    write_part(&whole, 1, 2, 1);
    text(path, "%s/model-00001-of-00002.gguf", folder);
    GgufPairs pairs = {0};
    gguf_add_u32(&pairs, "split.no", 1);
    gguf_add_u32(&pairs, "split.count", 2);
    gguf_save(AT("%s/model-00002-of-00002.gguf", folder), pairs.count, pairs.pairs,
              whole.tensor_count / 2, whole.tensors, NULL, NULL);
    assert_refused(open_model, "two of its parts have the tensor");
    gguf_pairs_free(&pairs);
    gguf_close(&whole);
}

/* A file may say of no token, or of the wrong one, that it ends a turn: llama.cpp knows its name.
 */
static void a_turn_ends_by_its_name(void **) {
    static const GgufText names[] = {{1, "a"}, {10, "<|eot_id|>"}, {4, "</s>"}};
    GgufPairs pairs = {0};
    Gguf good = gguf_open(plain);
    for (size_t i = 0; i < good.pair_count; i++) gguf_add_copy(&pairs, &good.pairs[i]);
    gguf_add_texts(&pairs, KEY "tokens", 3, names);
    gguf_add_u32(&pairs, KEY "eos_token_id", 2);
    gguf_add_u32(&pairs, KEY "eom_token_id", 0);
    gguf_save(text(path, "%s/ends.gguf", folder), pairs.count, pairs.pairs, good.tensor_count,
              good.tensors, NULL, NULL);
    gguf_pairs_free(&pairs);
    gguf_close(&good);
    Model model = model_open_any(path);
    assert_int_equal(model.config.eos_count, 3);
    assert_int_equal(model.config.eos[0], 2);
    assert_int_equal(model.config.eos[1], 0);
    assert_int_equal(model.config.eos[2], 1);
    model_close(&model);
}

/* ------------------------------------------------------------------ a model's tensors */

static void rename_it(GgufTensor *tensor) { tensor->name = "other"; }
static void lose_a_dimension(GgufTensor *tensor) {
    tensor->rank = 1;
    tensor->shape[0] *= tensor->shape[1];
}
static void double_the_rows(GgufTensor *tensor) {
    tensor->shape[0] *= 2;
    tensor->shape[1] /= 2;
}
static void make_it_a_row(GgufTensor *tensor) {
    tensor->rank = 2;
    tensor->shape[1] = tensor->shape[0];
    tensor->shape[0] = 1;
}
static void cut_it_short(GgufTensor *tensor) {
    tensor->shape[0] /= 2;
    tensor->bytes /= 2;
}
static void halve_its_numbers(GgufTensor *tensor) {
    tensor->type = GGUF_TYPE_F16;
    tensor->bytes /= 2;
}

static void turn_backwards(GgufTensor *tensor) {
    static const float factors[8] = {1, 1, 1, -1, 1, 1, 1, 1};
    tensor->data = factors;
}

static void tensors_have_their_names_and_shapes(void **) {
    static const struct {
        const char *from, *name;
        void (*change)(GgufTensor *tensor);
        const char *words;
    } refused[] = {
        {plain, "blk.0.attn_q.weight", rename_it, "missing"},
        {plain, "token_embd.weight", rename_it, "token_embd.weight"},
        {plain, "output.weight", rename_it, "no Llama"},
        {plain, "token_embd.weight", lose_a_dimension, "token_embd.weight"},
        {plain, "blk.0.attn_k.weight", double_the_rows,
         "is [64, 32], but the file's header makes it [32, 64]"},
        {plain, "blk.0.attn_v.weight", lose_a_dimension,
         "is [2048], but the file's header makes it [32, 64]"},
        {plain, "output_norm.weight", make_it_a_row,
         "is [1, 64], but the file's header makes it [64]"},
        {mixed, "rope_freqs.weight", cut_it_short, "is [4], but the file's header makes it [8]"},
        {mixed, "rope_freqs.weight", halve_its_numbers, "rope_freqs.weight must be F32"},
        {mixed, "rope_freqs.weight", turn_backwards, "rope_freqs.weight: factor 3 is -1"},
    };
    for (size_t i = 0; i < COUNT(refused); i++) {
        Gguf good = gguf_open(refused[i].from);
        GgufTensor tensors[good.tensor_count];
        memcpy(tensors, good.tensors, sizeof tensors);
        refused[i].change(&tensors[gguf_tensor(&good, refused[i].name) - good.tensors]);
        gguf_save(text(path, "%s/changed.gguf", folder), good.pair_count, good.pairs,
                  good.tensor_count, tensors, NULL, NULL);
        gguf_close(&good);
        assert_refused(open_model, refused[i].words);
    }
    write_changed(mixed, CHANGES("llama.rope.scale_linear = 4.0"));
    assert_refused(open_model, "rope_freqs.weight beside another scaling");
}

/* ------------------------------------------------------------------ a tokenizer */

static void a_tokenizer_that_cannot_be_is_refused(void **state) {
    const char *const *its = *state;
    write_changed(*its[2] ? AT(GOLDEN "tokenizers/%s", its[2]) : bytes, CHANGES(its[0]));
    assert_refused(open_tokenizer, its[1]);
}

/* More letters than any token has. */
static void long_names_are_refused(void **) {
    static const char *const refused[][2] = {
        {KEY "model", "a Llama's is llama or gpt2"},
        {KEY "pre", "splits text as \"aaaa"},
        {KEY "tokens[5]", "the name of token 5 is too long"},
    };
    static char longest[8002], change[8100];
    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i < COUNT(refused); i++) {
        snprintf(change, sizeof change, "%s = '%s'", refused[i][0], longest);
        write_changed(bytes, CHANGES(change));
        assert_refused(open_tokenizer, refused[i][1]);
    }
}

static Tokenizer *tokenizer_with(const char *from, const char *change) {
    write_changed(from, CHANGES(change));
    return tokenizer_open_any(path);
}

static size_t tokens_of(const Tokenizer *t, const char *words) {
    size_t count;
    free(tokenizer_encode(t, strlen(words), words, false, &count));
    return count;
}

static void what_a_tokenizer_says_counts(void **) {
    Tokenizer *t = tokenizer_with(bytes, KEY "bos_token_id = -1.0");
    assert_int_equal(tokenizer_bos(t), -1);
    assert_false(tokenizer_adds_bos(t));
    tokenizer_close(t);
    t = tokenizer_with(bytes, KEY "add_bos_token = 0");
    assert_int_equal(tokenizer_bos(t), 600);
    assert_false(tokenizer_adds_bos(t));
    assert_true(tokens_of(t, "<|eot_id|>") > 1);
    tokenizer_close(t);
    t = tokenizer_with(bytes, KEY "token_type[602] = '4'"); /* now it is one token in any text */
    assert_int_equal(tokens_of(t, "<|eot_id|>"), 1);
    tokenizer_close(t);
    t = tokenizer_with(pieces, KEY "add_space_prefix = 0");
    size_t without = tokens_of(t, ".");
    tokenizer_close(t);
    t = tokenizer_with(pieces, KEY "add_space_prefix = 1");
    assert_int_equal(tokens_of(t, "."), without + 1);
    tokenizer_close(t);
}

static void assert_same_tokens(const char *name, const Tokenizer *a, const Tokenizer *b) {
    static const char *const texts[] = {"",
                                        "Once upon a time, there were 12345 llamas.",
                                        "  two  blanks\n\tand a tab ",
                                        "羊驼 ünïcödé 🦙",
                                        "\xff\xfe broken \xe2\x96",
                                        "don't, I'll",
                                        "<s></s><|eot_id|><|begin_of_text|><unk>"};
    assert_int_equal(tokenizer_size(a), tokenizer_size(b));
    assert_int_equal(tokenizer_bos(a), tokenizer_bos(b));
    assert_int_equal(tokenizer_eos(a), tokenizer_eos(b));
    assert_int_equal(tokenizer_adds_bos(a), tokenizer_adds_bos(b));
    for (size_t i = 0; i < 2 * COUNT(texts); i++) {
        const char *words = texts[i / 2];
        size_t one, other;
        int *ids = tokenizer_encode(a, strlen(words), words, i % 2, &one);
        int *again = tokenizer_encode(b, strlen(words), words, i % 2, &other);
        if (one != other || memcmp(ids, again, one * sizeof *ids) != 0)
            fail_msg("%s: \"%s\" has other ids now", name, words);
        free(ids);
        free(again);
    }
}

static Tokenizer *to_write;
static void write_it(void) {
    GgufPairs pairs = {0};
    gguf_tokenizer_pairs(to_write, &pairs);
    gguf_save(text(path, "%s/written.gguf", folder), pairs.count, pairs.pairs, 0, NULL, NULL, NULL);
    gguf_pairs_free(&pairs);
}

static void a_tokenizer_is_read_as_it_was_written(void **) {
    static const char *const names[] = {"sentencepiece", "user_defined",      "tiktoken",
                                        "byte_level",    "user_defined.gguf", "byte_level.gguf"};
    for (size_t i = 0; i < COUNT(names); i++) {
        to_write = tokenizer_open_any(AT(GOLDEN "tokenizers/%s", names[i]));
        write_it();
        Tokenizer *again = tokenizer_open_any(path);
        assert_same_tokens(names[i], to_write, again);
        tokenizer_close(again);
        tokenizer_close(to_write);
    }
    to_write = tokenizer_open_any(GOLDEN "tokenizers/metaspace");
    assert_refused(write_it, "a text begins anew behind an added token");
    tokenizer_close(to_write);
}

/* ------------------------------------------------------------------ how a text is split */

static json_t *golden_json(const char *name) {
    json_t *json = json_load_file(AT(GOLDEN "%s", name), JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    return json;
}

static void assert_ids(const char *name, const Tokenizer *t, const json_t *text, bool special,
                       const json_t *right) {
    size_t count;
    int *ids =
        tokenizer_encode(t, json_string_length(text), json_string_value(text), special, &count);
    bool same = count == json_array_size(right);
    for (size_t i = 0; same && i < count; i++)
        same = ids[i] == json_integer_value(json_array_get(right, i));
    if (!same) fail_msg("%s: \"%s\" has other ids", name, json_string_value(text));
    free(ids);
}

/* The ids of each text, and those with special tokens where they are others. */
static void assert_all_ids(const char *name, const Tokenizer *t, const json_t *texts,
                           const json_t *answers) {
    const json_t *ids = json_object_get(answers, "ids"),
                 *special = json_object_get(answers, "special");
    assert_true(json_array_size(texts) > 40);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *other = json_array_get(special, i);
        assert_ids(name, t, json_array_get(texts, i), false, json_array_get(ids, i));
        if (!json_is_null(other)) assert_ids(name, t, json_array_get(texts, i), true, other);
    }
}

/* Each name of a split, and the ids that tokenizers gives the same vocabulary. */
static void every_split_is_the_librarys(void **) {
    if (!has_regex) skip();
    json_t *json = golden_json("foreign_tokenizers/splits.json");
    const json_t *texts = json_object_get(json, "texts"), *answers;
    const char *names;
    json_object_foreach(json_object_get(json, "splits"), names, answers) {
        char all[PATH], *rest = text(all, "%s", names), *name;
        while ((name = strsep(&rest, " "))) {
            Tokenizer *t = tokenizer_with(split, AT(KEY "pre = '%s'", name));
            assert_all_ids(name, t, texts, answers);
            tokenizer_close(t);
        }
    }
    json_decref(json);
}

/* Old files do not say how: a note tells what they are taken for. */
static void a_split_may_be_missing(void **) {
    if (!has_regex) skip();
    json_t *json = golden_json("foreign_tokenizers/splits.json");
    Tokenizer *t = tokenizer_open_any(split);
    assert_all_ids("no pre", t, json_object_get(json, "texts"),
                   json_object_get(json_object_get(json, "splits"), "default"));
    tokenizer_close(t);
    json_decref(json);
    to_write = tokenizer_open_any(bytes);
    t = tokenizer_with(bytes, KEY "pre gone");
    assert_same_tokens("Llama 3 without pre", to_write, t);
    tokenizer_close(t);
    tokenizer_close(to_write);
}

/* ------------------------------------------------------------------ what else files leave out */

/* The same file with one thing changed is the same tokenizer. */
static void assert_same_with(const char *from, const char *change) {
    to_write = tokenizer_open_any(from);
    Tokenizer *t = tokenizer_with(from, change);
    assert_same_tokens(change, to_write, t);
    tokenizer_close(t);
    tokenizer_close(to_write);
}

/* Names and ids tell which tokens are no text. */
static void types_may_be_missing(void **) {
    if (!has_regex) skip();
    assert_same_with(bytes, KEY "token_type gone");
    to_write = tokenizer_open_any(GOLDEN "tokenizers/sentencepiece");
    write_it();
    tokenizer_close(to_write);
    char from[PATH];
    assert_same_with(text(from, "%s", path), KEY "token_type gone");
    Tokenizer *t = tokenizer_with(split, KEY "token_type gone");
    assert_true(tokenizer_special(t, "<|im_end|>") >= 0);
    assert_int_equal(tokens_of(t, "  \n  "), 1); /* it is not spelled in the alphabet */
    assert_int_equal(tokenizer_special(t, "<tool>"), -1);
    tokenizer_close(t);
    t = tokenizer_with(split, KEY "token_type[2] = '1'");
    assert_int_equal(tokenizer_special(t, "<|im_end|>"), 2); /* though it is called a word */
    tokenizer_close(t);
    t = tokenizer_with(split, KEY "tokens[1] = ''");
    assert_int_equal(tokenizer_special(t, "[EMPTY_1]"), 1);
    tokenizer_close(t);
}

static void add_merges_of(GgufPairs *pairs, const char *name) {
    json_t *json = golden_json(name);
    const json_t *list = json_object_get(json_object_get(json, "model"), "merges");
    const size_t count = json_array_size(list);
    GgufText *texts = calloc(count, sizeof *texts);
    for (size_t i = 0; i < count; i++) {
        const json_t *merge = json_array_get(list, i);
        const char *whole = json_is_string(merge)
                                ? json_string_value(merge)
                                : AT("%s %s", json_string_value(json_array_get(merge, 0)),
                                     json_string_value(json_array_get(merge, 1)));
        texts[i] = (GgufText){strlen(whole), strdup(whole)};
    }
    gguf_add_texts(pairs, KEY "merges", count, texts);
    for (size_t i = 0; i < count; i++) free((char *)texts[i].letters);
    free(texts);
    json_decref(json);
}

/* Then the merges say what merges first; and scores that are all alike say nothing. */
static void scores_may_be_missing(void **) {
    char from[PATH];
    GgufPairs pairs = {0};
    to_write = tokenizer_open_any(GOLDEN "tokenizers/prepend");
    to_write->has_added = false; /* no text below has any of them */
    gguf_tokenizer_pairs(to_write, &pairs);
    tokenizer_close(to_write);
    add_merges_of(&pairs, "tokenizers/prepend/tokenizer.json");
    text(from, "%s/merges.gguf", folder);
    gguf_save(from, pairs.count, pairs.pairs, 0, NULL, NULL, NULL);
    gguf_pairs_free(&pairs);
    assert_same_with(from, KEY "scores gone");
    assert_same_with(from, KEY "merges gone");

    Gguf good = gguf_open(from);
    const GgufPair *scores = gguf_pair(&good, KEY "scores");
    int32_t *whole = calloc(scores->count, sizeof *whole);
    for (int i = 0; i < 3; i++) { /* whole scores; none, and merges; none */
        for (size_t k = 0; k < scores->count; k++)
            whole[k] = i == 0 ? (int32_t)gguf_number(scores, k) : -1000;
        pairs = change_pairs(&good, CHANGES(KEY "scores gone", i == 2 ? KEY "merges gone" : ""));
        gguf_add_u32s(&pairs, KEY "scores", GGUF_I32, scores->count, (const uint32_t *)whole);
        gguf_save(text(path, "%s/whole.gguf", folder), pairs.count, pairs.pairs, 0, NULL, NULL,
                  NULL);
        gguf_pairs_free(&pairs);
        if (i == 2) assert_refused(open_tokenizer, "neither scores nor merges");
        else assert_same_with(text((char[PATH]){0}, "%s", path), KEY "none = 1");
    }
    free(whole);
    gguf_close(&good);
}

/* A file may say that SentencePiece rewrites characters, and removes spaces. */
static void texts_are_normalized(void **) {
    json_t *json = golden_json("foreign_tokenizers/expected.json");
    const json_t *answers = json_object_get(json, "mapped");
    GgufPairs pairs = {0};
    to_write = tokenizer_open_any(GOLDEN "tokenizers/mapped");
    to_write->hooks.normalize = NULL; /* which is not written */
    gguf_tokenizer_pairs(to_write, &pairs);
    gguf_add_bool(&pairs, KEY "remove_extra_whitespaces", true);
    gguf_add_copy(&pairs, &(GgufPair){KEY "precompiled_charsmap", GGUF_U8, true,
                                      to_write->charsmap_length, (const void *)to_write->charsmap});
    gguf_save(text(path, "%s/mapped.gguf", folder), pairs.count, pairs.pairs, 0, NULL, NULL, NULL);
    gguf_pairs_free(&pairs);
    tokenizer_close(to_write);
    Tokenizer *t = tokenizer_open_any(path);
    assert_all_ids("mapped", t, json_object_get(answers, "texts"), answers);
    tokenizer_close(t);
    json_decref(json);
    write_changed(pieces, CHANGES(KEY "precompiled_charsmap = 'abc'"));
    assert_refused(open_tokenizer, "precompiled_charsmap is no list of bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_model_says_counts),
        cmocka_unit_test(rare_types_are_the_packages),
        cmocka_unit_test(parts_are_read_together),
        cmocka_unit_test(parts_belong_together),
        cmocka_unit_test(a_turn_ends_by_its_name),
        cmocka_unit_test(tensors_have_their_names_and_shapes),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(what_a_tokenizer_says_counts),
        cmocka_unit_test(a_tokenizer_is_read_as_it_was_written),
        cmocka_unit_test(every_split_is_the_librarys),
        cmocka_unit_test(a_split_may_be_missing),
        cmocka_unit_test(types_may_be_missing),
        cmocka_unit_test(scores_may_be_missing),
        cmocka_unit_test(texts_are_normalized),
    };
    static const Check checks[] = {CHECK(a_model_that_cannot_be_is_refused),
                                   CHECK(a_tokenizer_that_cannot_be_is_refused)};
    return run_with_cases("formats/gguf_model", COUNT(tests), tests, COUNT(checks), checks,
                          make_folder, remove_folder);
}
