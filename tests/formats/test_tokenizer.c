/* The tokenizers against sentencepiece, tiktoken and tokenizers: what they encode texts to and
 * decode ids to, in every file format; round trips; the time that it takes; and what is refused,
 * with one line and status 1. */
#include "14_engine/tokenizers/precompiled_charsmap.h"
#include "14_engine/tokenizers/steps.h"
#include "14_engine/tokenizers/tokenizer_any.h"
#include "common/error.h"
#include "common/file.h"
#include "common/random.h"
#include "common/timer.h"
#define PROGRAM "'" BUILD "/tokenize'"
#include "tests/cases.h"
#include "tests/program.h"
#include "tests/refused.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#define GOLDEN(name) AT("%s/tests/golden/tokenizers/%s", ROOT, name)

static const char *const committed[] = {"sentencepiece", "user_defined",      "mapped",
                                        "prepend",       "metaspace",         "tiktoken",
                                        "byte_level",    "user_defined.gguf", "byte_level.gguf"};
/* Where they are: LLAMA_DATA, or ../shared/data. */
static const char *const others[] = {"llama2", "llama3", "tok512.bin"};

/* NULL, and a note, where the file is not on this machine. */
static Tokenizer *open_other(const char *name) {
    const char *data = getenv("LLAMA_DATA");
    const char *path = data ? AT("%s/%s", data, name) : AT("%s/../shared/data/%s", ROOT, name);
    if (access(path, R_OK) != 0) {
        print_message("skipped: %s is not here\n", path);
        return NULL;
    }
    return tokenizer_open_any(path);
}

/* ------------------------------------------------------------------ the libraries' answers */

static json_t *expected; /* tests/golden/tokenizers/expected.json */

typedef struct {
    size_t length;
    char *bytes;
} Bytes;

static Bytes from_hex(const char *hex) {
    Bytes bytes = {strlen(hex) / 2, xmalloc(strlen(hex) / 2)};
    for (size_t i = 0; i < bytes.length; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes.bytes[i] = (char)byte;
    }
    return bytes;
}

/* A copy of the exact size, so that the sanitizer sees a look behind the end. */
static Bytes from_json(const json_t *string) {
    Bytes bytes = {json_string_length(string), xmalloc(json_string_length(string))};
    memcpy(bytes.bytes, json_string_value(string), bytes.length);
    return bytes;
}

/* The i-th text: those that are UTF-8, then those that are not. */
static bool golden_text(size_t i, Bytes *bytes) {
    const json_t *texts = json_object_get(expected, "texts"),
                 *hex = json_object_get(expected, "bytes");
    size_t valid = json_array_size(texts);
    if (i < valid) *bytes = from_json(json_array_get(texts, i));
    else if (i < valid + json_array_size(hex))
        *bytes = from_hex(json_string_value(json_array_get(hex, i - valid)));
    else return false;
    return true;
}

static void say_ids(char to[static 2000], size_t count, const int ids[count]) {
    int length = 0;
    for (size_t i = 0; i < count && length < 1900; i++)
        length += sprintf(to + length, " %d", ids[i]);
    to[length] = '\0';
}

static void assert_encodes(const Tokenizer *t, const char *name, Bytes bytes, bool special,
                           const json_t *answer) {
    size_t count;
    int *ids = tokenizer_encode(t, bytes.length, bytes.bytes, special, &count),
        right[json_array_size(answer) + 1];
    bool same = count == json_array_size(answer);
    for (size_t i = 0; i < json_array_size(answer); i++) {
        right[i] = (int)json_integer_value(json_array_get(answer, i));
        same = same && ids[i] == right[i];
    }
    char got[2000] = "", wanted[2000] = "";
    say_ids(got, count, ids);
    say_ids(wanted, json_array_size(answer), right);
    if (!same)
        fail_msg("%s: \"%.*s\"%s is%s, not%s", name, (int)bytes.length, bytes.bytes,
                 special ? " with special tokens" : "", wanted, got);
    free(ids);
}

/* Its answers, of the i-th text. */
static void check_text(const Tokenizer *t, const char *name, const json_t *answers, size_t i,
                       Bytes bytes) {
    const json_t *ids = json_array_get(json_object_get(answers, "ids"), i),
                 *special = json_array_get(json_object_get(answers, "special"), i);
    if (!json_is_null(ids)) assert_encodes(t, name, bytes, false, ids);
    if (!json_is_null(special)) assert_encodes(t, name, bytes, true, special);
    free(bytes.bytes);
}

static void check_decoding(const Tokenizer *t, const char *name, const json_t *answers) {
    size_t i;
    const json_t *one;
    assert_true(json_array_size(json_object_get(answers, "decoded")) > 10);
    json_array_foreach(json_object_get(answers, "decoded"), i, one) {
        const json_t *list = json_array_get(one, 0), *right = json_array_get(one, 1);
        int numbers[json_array_size(list) + 1];
        for (size_t k = 0; k < json_array_size(list); k++)
            numbers[k] = (int)json_integer_value(json_array_get(list, k));
        size_t length;
        char *decoded = tokenizer_decode(t, json_array_size(list), numbers, &length);
        if (length != json_string_length(right) ||
            memcmp(decoded, json_string_value(right), length) != 0)
            fail_msg("%s: ids %zu are \"%s\", not \"%s\"", name, i, json_string_value(right),
                     decoded);
        free(decoded);
    }
}

static void check_vocabulary(const char *name, const Tokenizer *t) {
    const json_t *answers = json_object_get(json_object_get(expected, "vocabularies"), name);
    assert_true(json_array_size(json_object_get(answers, "ids")) > 200);
    Bytes bytes;
    for (size_t i = 0; golden_text(i, &bytes); i++) check_text(t, name, answers, i, bytes);
    check_decoding(t, name, answers);
}

static void every_text_is_the_librarys(void **) {
    for (size_t i = 0; i < COUNT(committed); i++) {
        Tokenizer *t = tokenizer_open_any(GOLDEN(committed[i]));
        check_vocabulary(AT("%.*s", (int)strcspn(committed[i], "."), committed[i]), t);
        tokenizer_close(t);
    }
}

static void check_other(const Tokenizer *t, const char *name, const json_t *answers) {
    const json_t *texts = json_object_get(answers, "texts"), *text;
    size_t i;
    json_array_foreach(texts, i, text) check_text(t, name, answers, i, from_json(text));
    check_decoding(t, name, answers);
}

static json_t *others_expected(void) {
    json_t *others = json_load_file(AT("%s/tests/golden/foreign_tokenizers/expected.json", ROOT),
                                    JSON_ALLOW_NUL, NULL);
    assert_non_null(others);
    return others;
}

/* Those of other people, with steps that Llama's own have not: tests/golden/10_others.py. */
static void other_peoples_are_the_librarys(void **) {
    json_t *others = others_expected();
    const char *name;
    const json_t *answers;
    json_object_foreach(others, name, answers) {
        if (strcmp(name, "version") == 0 || strcmp(name, "beside_a_model") == 0) continue;
        if (!has_normal_forms && json_is_true(json_object_get(answers, "normal_forms"))) {
            print_message("skipped: %s: there is no utf8proc\n", name);
            continue;
        }
        Tokenizer *t =
            tokenizer_open_any(strcmp(name, "mapped") == 0
                                   ? GOLDEN("mapped")
                                   : AT("%s/tests/golden/foreign_tokenizers/%s.json", ROOT, name));
        check_other(t, name, answers);
        tokenizer_close(t);
    }
    json_decref(others);
}

/* A step may leave nothing of all there is; the sanitizers watch what follows. */
static void nothing_may_be_left(void **) {
    if (!has_normal_forms) skip();
    Tokenizer *t =
        tokenizer_open_any(AT("%s/tests/golden/foreign_tokenizers/metaspace_split.json", ROOT));
    size_t count, length;
    int *ids = tokenizer_encode(t, 1, " ", false, &count);
    assert_int_equal(count, 1);
    char *decoded = tokenizer_decode(t, 1, ids, &length);
    assert_int_equal(length, 0);
    free(decoded), free(ids), tokenizer_close(t);
}

static const struct {
    size_t length;
    const char *bytes;
} broken_maps[] = {{3, "\0\0\0"},
                   {8, "\10\0\0\0\0\0\0\0"},
                   {8, "\3\0\0\0\0\0\0\0"},
                   {9, "\4\0\0\0\0\0\0\0a"}},
  *broken_map;

static void read_broken_map(void) {
    charsmap_new("m", false, broken_map->length, broken_map->bytes);
}

/* Too short; a trie that is longer than all; half a unit; a text without an end. And a map may lead
 * nowhere. */
static void a_charsmap_may_be_broken(void **) {
    for (broken_map = broken_maps; broken_map < broken_maps + COUNT(broken_maps); broken_map++)
        assert_refused(read_broken_map, "m: its character map is no such map");
    static const char nowhere[][8] = {"\4\0\0\0\377\377\377\377", "\4\0\0\0\0\1\0\0"};
    for (size_t i = 0; i < COUNT(nowhere); i++) {
        Charsmap *map = charsmap_new("m", true, 8, nowhere[i]);
        StringBuffer text = charsmap_apply(map, &(Vocabulary){0}, 5, "  a  ");
        assert_int_equal(text.length, 2); /* one space is left behind, as ▁ */
        assert_memory_equal(text.text, "a ", 2);
        free(text.text), charsmap_free(map);
    }
}

/* Meta's tokenizer.model, and tokens more beside it, as the two files have them. What
 * added_tokens.json does not tell is which are special: there a text that is searched for those
 * gives the answers. */
static void a_folder_adds_tokens(void **) {
    json_t *others = others_expected(), *answers = json_object_get(others, "beside_a_model"),
           *names = json_object(), *one;
    const json_t *decoder = json_object_get(answers, "added_tokens_decoder");
    const char *id;
    json_object_foreach((json_t *)decoder, id, one) json_object_set_new(
        names, json_string_value(json_object_get(one, "content")), json_integer(atoi(id)));
    assert_shell("mkdir %s/added && cp '%s' %s/added", folder,
                 GOLDEN("sentencepiece/tokenizer.model"), folder);

    json_t *config = json_pack("{s:O}", "added_tokens_decoder", decoder);
    assert_int_equal(json_dump_file(config, AT("%s/added/tokenizer_config.json", folder), 0), 0);
    Tokenizer *t = tokenizer_open_any(AT("%s/added", folder));
    check_other(t, "added_tokens_decoder", answers);
    tokenizer_close(t);

    assert_shell("rm %s/added/tokenizer_config.json", folder);
    assert_int_equal(json_dump_file(names, AT("%s/added/added_tokens.json", folder), 0), 0);
    t = tokenizer_open_any(AT("%s/added", folder));
    size_t i;
    json_array_foreach(json_object_get(answers, "texts"), i, one) {
        const json_t *right = json_array_get(json_object_get(answers, "special"), i);
        Bytes text = from_json(one);
        if (!json_is_null(right)) assert_encodes(t, "added_tokens.json", text, true, right);
        free(text.bytes);
    }
    tokenizer_close(t);
    json_decref(config), json_decref(names), json_decref(others);
}

/* A tokenizer.json counts more than the tokenizer.model beside it, which may lack what was added
 * since. */
static void a_tokenizer_json_counts_more(void **) {
    assert_shell("mkdir %s/twice && cp '%s' '%s' %s/twice", folder,
                 GOLDEN("sentencepiece/tokenizer.model"), GOLDEN("metaspace/tokenizer.json"),
                 folder);
    Tokenizer *both = tokenizer_open_any(AT("%s/twice", folder)),
              *alone = tokenizer_open_any(GOLDEN("metaspace"));
    assert_int_equal(tokenizer_size(both), tokenizer_size(alone));
    tokenizer_close(both), tokenizer_close(alone);
}

/* Each Unicode has more letters and digits: which ones this machine's libraries know must make no
 * difference. */
static void newer_letters_are_the_librarys(void **) {
    static const char *const few[] = {"tiktoken", "byte_level"};
    const json_t *newer = json_object_get(expected, "newer"),
                 *texts = json_object_get(newer, "texts"), *one;
    for (size_t v = 0, i; v < COUNT(few); v++) {
        Tokenizer *t = tokenizer_open_any(GOLDEN(few[v]));
        json_array_foreach(json_object_get(newer, few[v]), i, one) {
            Bytes bytes = from_json(json_array_get(texts, i));
            assert_encodes(t, few[v], bytes, false, one);
            free(bytes.bytes);
        }
        tokenizer_close(t);
    }
}

/* 10_tokenizer opens Meta's two formats, and names everything else. */
static const char *not_metas;
static void open_not_metas(void) { tokenizer_open(GOLDEN(not_metas)); }

static void chapter_10_opens_metas_formats(void **) {
    static const char *const metas[] = {"sentencepiece", "user_defined", "tiktoken"};
    for (size_t i = 0; i < COUNT(metas); i++) {
        Tokenizer *t = tokenizer_open(GOLDEN(metas[i]));
        check_vocabulary(metas[i], t);
        tokenizer_close(t);
    }
    static const char *const others_files[] = {"prepend/tokenizer.json", "byte_level.gguf",
                                               "expected.json"};
    for (size_t i = 0; i < COUNT(others_files); i++) {
        not_metas = others_files[i];
        assert_refused(open_not_metas, "build/tokenize opens other formats");
    }
    not_metas = "mapped";
    assert_refused(open_not_metas, "it rewrites characters or removes spaces");
}

static void llamas_own_files_are_the_librarys(void **) {
    for (size_t i = 0; i < COUNT(others); i++) {
        Tokenizer *t = open_other(others[i]);
        if (t) check_vocabulary(others[i], t);
        tokenizer_close(t);
    }
}

/* ------------------------------------------------------------------ what goes in comes out */

static void assert_round_trip(const Tokenizer *t, const char *name, size_t length,
                              const char *bytes) {
    size_t count, got;
    int *ids = tokenizer_encode(t, length, bytes, false, &count);
    char *decoded = tokenizer_decode(t, count, ids, &got);
    if (got != length || memcmp(decoded, bytes, length) != 0)
        fail_msg("%s: \"%.*s\" comes back as \"%s\"", name, (int)length, bytes, decoded);
    free(ids), free(decoded);
}

static int put_character(char *to, int c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    int high = c >> 12;
    if (c < 0x10000)
        return to[0] = (char)(0xe0 | high), to[1] = (char)(0x80 | (c >> 6 & 63)),
               to[2] = (char)(0x80 | (c & 63)), 3;
    to[0] = (char)(0xf0 | high >> 6), to[1] = (char)(0x80 | (high & 63)),
    to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Letters, spaces and everything else, but U+2581 and what SentencePiece takes for it. */
static size_t random_text(Random *random, int characters, char *to) {
    size_t length = 0;
    for (int i = 0; i < characters; i++) {
        int c = "etaoin shrdlu\n  {};01"[random_between(random, 0, 20)];
        switch (random_between(random, 0, 9)) {
        case 0: c = random_between(random, 0, 0x7f); break;
        case 1: c = random_between(random, 0x80, 0x7ff); break;
        case 2: c = random_between(random, 0x3000, 0xd7ff); break;
        case 3: c = random_between(random, 0xe000, 0x10ffff); break;
        }
        length += (size_t)put_character(to + length, c);
    }
    return length;
}

static void what_goes_in_comes_out(void **) {
    Random random = {10};
    char bytes[400];
    for (size_t v = 0; v < COUNT(committed); v++) {
        /* They drop spaces. */
        if (strcmp(committed[v], "metaspace") == 0 || strcmp(committed[v], "mapped") == 0) continue;
        if (strstr(committed[v], "user_defined"))
            continue; /* "▁the▁" has spaces that are no spaces */
        Tokenizer *t = tokenizer_open_any(GOLDEN(committed[v]));
        for (int i = 0; i < 2000; i++)
            assert_round_trip(t, committed[v],
                              random_text(&random, random_between(&random, 0, 99), bytes), bytes);
        tokenizer_close(t);
    }
}

/* Each id that comes out is one of the vocabulary, and at byte level no byte is lost, whatever the
 * bytes. */
static void any_bytes_are_encoded(void **) {
    Random random = {11};
    for (size_t v = 0; v < COUNT(committed); v++) {
        Tokenizer *t = tokenizer_open_any(GOLDEN(committed[v]));
        for (int i = 0; i < 2000; i++) {
            size_t length = (size_t)random_between(&random, 0, 60), count, at = 0, n;
            char *bytes = xmalloc(length);
            for (size_t b = 0; b < length; b++) bytes[b] = (char)random_between(&random, 0, 255);
            int *ids = tokenizer_encode(t, length, bytes, true, &count);
            for (size_t k = 0; k < count; k++) {
                assert_in_range(ids[k], 0, tokenizer_size(t) - 1);
                const char *its = tokenizer_bytes(t, ids[k], &n);
                if (!tokenizer_byte_level(t)) continue;
                assert_true(n <= length - at);
                assert_memory_equal(its, bytes + at, n);
                at += n;
            }
            if (tokenizer_byte_level(t)) assert_int_equal(at, length);
            free(ids), free(bytes);
        }
        tokenizer_close(t);
    }
}

/* What a long text remembers of its words and merges changes nothing: its ids are those of its
 * lines, one by one, for no token goes on behind a line's end. Where a ▁ is put before a text, it
 * stands for the space that a line begins with. */
static void a_long_text_is_its_lines(void **) {
    enum { LINES = 3000, MOST = 4 * 40 + 3 };
    static const char *const few[] = {"sentencepiece", "prepend", "tiktoken", "byte_level"};
    Random random = {12};
    char *bytes = xmalloc(LINES * MOST);
    for (size_t v = 0; v < COUNT(few); v++) {
        Tokenizer *t = tokenizer_open_any(GOLDEN(few[v]));
        size_t length = 0, starts[LINES + 1], count, one, at = 0;
        for (int line = 0; line < LINES; line++) {
            starts[line] = length;
            if (line > 0) bytes[length++] = ' ';
            bytes[length++] = 'x';
            length += random_text(&random, random_between(&random, 0, 39), bytes + length);
            bytes[length++] = '\n';
        }
        starts[LINES] = length;
        int *ids = tokenizer_encode(t, length, bytes, false, &count);
        for (int line = 0; line < LINES; line++) {
            size_t start = starts[line] + (line > 0 && !tokenizer_byte_level(t));
            int *its = tokenizer_encode(t, starts[line + 1] - start, bytes + start, false, &one);
            assert_true(one <= count - at);
            if (memcmp(ids + at, its, one * sizeof *its) != 0)
                fail_msg("%s: line %d has other ids in a long text", few[v], line);
            at += one;
            free(its);
        }
        assert_int_equal(at, count);
        free(ids), tokenizer_close(t);
    }
    free(bytes);
}

/* ------------------------------------------------------------------ what it knows */

static void assert_piece(const Tokenizer *t, int id, const char *piece, const char *bytes) {
    size_t length;
    const char *got = tokenizer_piece(t, id, &length);
    assert_int_equal(length, strlen(piece));
    assert_memory_equal(got, piece, length);
    got = tokenizer_bytes(t, id, &length);
    assert_int_equal(length, strlen(bytes));
    if (length) assert_memory_equal(got, bytes, length);
}

static void tokens_have_names_and_bytes(void **) {
    Tokenizer *t = tokenizer_open_any(GOLDEN("sentencepiece/tokenizer.model"));
    assert_int_equal(tokenizer_size(t), 1400);
    assert_int_equal(tokenizer_bos(t), 1), assert_int_equal(tokenizer_eos(t), 2);
    assert_int_equal(tokenizer_special(t, "<unk>"), 0),
        assert_int_equal(tokenizer_special(t, "▁the"), -1);
    assert_int_equal(tokenizer_special(t, "<s"), -1),
        assert_int_equal(tokenizer_special(t, ""), -1);
    assert_false(tokenizer_byte_level(t));
    assert_piece(t, 1, "<s>", ""), assert_piece(t, 13, "<0x0A>", "\n");
    size_t count;
    int *ids = tokenizer_encode(t, 3, "the", false, &count);
    assert_int_equal(count, 1);
    assert_piece(t, ids[0], "▁the", " the");
    tokenizer_close(t), free(ids);

    t = tokenizer_open_any(GOLDEN("tiktoken"));
    assert_int_equal(tokenizer_size(t), 1400 + 256);
    assert_int_equal(tokenizer_bos(t), 1400), assert_int_equal(tokenizer_eos(t), 1401);
    assert_int_equal(tokenizer_special(t, "<|eot_id|>"), 1409);
    assert_int_equal(tokenizer_special(t, "<|reserved_special_token_245|>"), 1655);
    assert_int_equal(tokenizer_special(t, "<|reserved_special_token_246|>"), -1);
    assert_true(tokenizer_byte_level(t));
    assert_piece(t, 1400, "<|begin_of_text|>", "<|begin_of_text|>");
    ids = tokenizer_encode(t, 4, " the", false, &count);
    assert_int_equal(count, 1);
    assert_piece(t, ids[0], " the", " the");
    tokenizer_close(t), free(ids);
}

/* What stands behind a special token is the same, whether one text or two. */
static void a_text_goes_on_after_a_special_token(void **) {
    static const char *const texts[] = {"Hello, llama", " two  spaces", "\n\nlines", "", "▁",
                                        "日本 x"};
    size_t with, without;
    for (size_t v = 0; v < COUNT(committed); v++) {
        Tokenizer *t = tokenizer_open_any(GOLDEN(committed[v]));
        const char *bos = tokenizer_byte_level(t) ? "<|begin_of_text|>" : "<s>";
        for (size_t i = 0; i < COUNT(texts); i++) {
            char *both = AT("%s%s", bos, texts[i]);
            int *ids = tokenizer_encode(t, strlen(both), both, true, &with);
            int *after = tokenizer_encode_after(t, strlen(texts[i]), texts[i], &without);
            assert_int_equal(with, without + 1);
            if (without) assert_memory_equal(ids + 1, after, without * sizeof *ids);
            free(ids), free(after);
        }
        tokenizer_close(t);
    }
}

/* ------------------------------------------------------------------ the same, said otherwise */

/* Steps that do nothing, or a pattern that finds the same: then no Llama's own way is taken, and
 * every text still has the same ids, and they the same text. */
static void what_changes_nothing_gives_the_same_ids(void **state) {
    const char *const *its = *state, *name = its[2];
    assert_shell("mkdir -p %s/otherwise", folder);
    write_replaced("otherwise/tokenizer.json", GOLDEN(name), its[0], its[1]);
    Tokenizer *ours = tokenizer_open_any(GOLDEN(name)),
              *other = tokenizer_open_any(AT("%s/otherwise", folder));
    const json_t *texts = json_object_get(expected, "texts");
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const char *letters = json_string_value(json_array_get(texts, i));
        size_t length = json_string_length(json_array_get(texts, i)), counts[2], lengths[2];
        int *ids = tokenizer_encode(ours, length, letters, false, &counts[0]);
        int *others = tokenizer_encode(other, length, letters, false, &counts[1]);
        if (counts[0] != counts[1] || memcmp(ids, others, counts[0] * sizeof *ids) != 0)
            fail_msg("\"%s\" has other ids", letters);
        char *decoded = tokenizer_decode(ours, counts[0], ids, &lengths[0]);
        char *again = tokenizer_decode(other, counts[0], ids, &lengths[1]);
        assert_int_equal(lengths[0], lengths[1]);
        assert_memory_equal(decoded, again, lengths[0]);
        free(ids), free(others), free(decoded), free(again);
    }
    tokenizer_close(ours), tokenizer_close(other);
}

/* ------------------------------------------------------------------ where a text begins */

/* A committed tokenizer's file in a folder of its own, begins. Up to an empty one, each further
 * text is the name of a file beside it, and what that holds; or its post_processor. */
static void write_beside(const char *name, const char *const *beside) {
    assert_shell("rm -rf %s/begins; mkdir %s/begins", folder, folder);
    const char *copy = AT("begins/%s", strchr(name, '/') + 1);
    write_replaced(copy, GOLDEN(name), "", "");
    for (; **beside; beside++) {
        const char *content = strchr(*beside, ' ') + 1;
        if (strncmp(*beside, "post_processor ", 15) == 0)
            write_replaced(copy, GOLDEN(name), "\"post_processor\":null",
                           AT("\"post_processor\":%s", content));
        else write_text(AT("begins/%.*s", (int)(content - 1 - *beside), *beside), content);
    }
}

static void a_text_begins_as_the_folder_says(void **state) {
    const char *const *its = *state;
    write_beside(its[1], its + 3);
    Tokenizer *t = tokenizer_open_any(AT("%s/begins", folder));
    assert_string_equal(AT("%d%s", tokenizer_bos(t), tokenizer_adds_bos(t) ? " added" : ""),
                        its[2]);
    tokenizer_close(t);
}

/* A name that is not <s>, in a tokenizer.model; and a tokenizer.json beside it, which decides. */
static void a_text_begins_with_another_name(void **) {
    assert_shell("mkdir -p %s/begins", folder);
    size_t size;
    char *model = file_read(GOLDEN("sentencepiece/tokenizer.model"), &size);
    ((char *)memmem(model, size, "<s>", 3))[1] = 'S';
    static const char *const says[][2] = {
        {"tokenizer_config.json", "{\"bos_token\": \"<S>\"}"},
        {"config.json", "{\"bos_token_id\": 1}"},
        {"tokenizer.json",
         "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
         "\"id\":"
         "\"<S>\"}},{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"<S>\":{\"ids\":[1]}}}}"}};
    for (size_t i = 0; i < COUNT(says); i++) {
        assert_shell("rm -f %s/begins/*", folder);
        write_bytes("begins/tokenizer.model", size, model);
        write_text(AT("begins/%s", says[i][0]), says[i][1]);
        Tokenizer *t = tokenizer_open_any(AT("%s/begins/tokenizer.model", folder));
        assert_true(tokenizer_bos(t) == 1 && tokenizer_adds_bos(t));
        tokenizer_close(t);
    }
    free(model);
}

static void a_text_ends_as_the_folder_says(void **state) {
    const char *const *its = *state;
    write_beside(its[1], its + 3);
    if (strcmp(its[1], "metaspace/tokenizer.json") == 0) /* then no token has the usual name */
        assert_shell("sed -i 's#</s>#</S>#g' %s/begins/tokenizer.json", folder);
    Tokenizer *t = tokenizer_open_any(AT("%s/begins", folder));
    assert_int_equal(tokenizer_eos(t), atoi(its[2]));
    tokenizer_close(t);
}

/* Copied as a text, a line of tokenizer.model ends otherwise. */
static void lines_may_end_as_on_windows(void **) {
    assert_shell("sed 's/$/\r/' '%s' >%s/windows.model", GOLDEN("tiktoken/tokenizer.model"),
                 folder);
    assert_runs("--model '%s' --encode 'The llama sits.'", GOLDEN("tiktoken/tokenizer.model"));
    char as_it_is[sizeof said];
    strcpy(as_it_is, said);
    assert_runs("--model windows.model --encode 'The llama sits.'");
    assert_string_equal(said, as_it_is);
}

static void a_beginning_that_cannot_be_is_refused(void **state) {
    const char *const *its = *state;
    write_beside(its[1], its + 3);
    assert_error(run("--model begins --encode x"), its[2]);
}

static void links_that_point_nowhere_are_named(void **) {
    /* A link that points nowhere is no file that is not there. */
    static const char *const links[] = {"tokenizer.json", "tokenizer_config.json"};
    for (size_t i = 0; i < COUNT(links); i++) {
        write_beside("sentencepiece/tokenizer.model", (const char *[]){""});
        assert_int_equal(symlink("/nowhere/it", AT("%s/begins/%s", folder, links[i])), 0);
        assert_error(run("--model begins --encode x"),
                     AT("begins/%s: it is a link, and what it points to is not there", links[i]));
    }
}

/* ------------------------------------------------------------------ the time */

/* This process's own time, for other programs run beside it. */
static double encoding_time(const Tokenizer *t, size_t length, const char *bytes) {
    size_t count;
    double start = processor_seconds();
    free(tokenizer_encode(t, length, bytes, false, &count));
    return processor_seconds() - start;
}

#ifdef UNTIMED /* an emulator takes far longer */
enum { LONG = 100000, BLANKS = 1010000 };
#else
enum { LONG = 300000, BLANKS = 10100000 };
#endif

/* Ten times the text takes ten times the time, some more for the heap's depth, and again for
 * leaving the cache; what is quadratic takes a hundred times as long. */
static void assert_linear(const Tokenizer *t, const char *name, const char *what,
                          const char *bytes) {
    enum { SMALL = LONG / 10, LARGE = LONG, MOST_TIMES = 40 };
    double small = 0, large = 1e9;
    for (int i = 0; i < 5 && large > MOST_TIMES * small;
         i++) { /* again if a first try was disturbed */
        small = fmax(small, encoding_time(t, SMALL, bytes));
        large = fmin(large, encoding_time(t, LARGE, bytes));
    }
    if (large > MOST_TIMES * small)
        fail_msg("%s: %d bytes of %s take %.2f s, %d %.3f s", name, LARGE, what, large, SMALL,
                 small);
}

static void fill(size_t what, char bytes[LONG]) {
    Random random = {what};
    for (int i = 0; i < LONG; i++)
        bytes[i] = what == 0   ? 'a'
                   : what == 1 ? "ab"[i % 2]
                   : what == 2 ? "the llama eats "[random_between(&random, 0, 14)]
                   : what == 3 ? ' '
                   : what == 4 ? "\n "[i % 100 == 0]
                   : what == 5 ? "\xe7\x9a\x84"[i % 3]
                               : (char)0xff;
}

static void a_long_text_is_encoded_in_linear_time(void **) {
    static const char *const names[] = {"one letter", "two letters",   "words",    "spaces",
                                        "newlines",   "one character", "bad bytes"};
    static const char *const few[] = {"sentencepiece", "prepend", "tiktoken"};
    char *bytes = xmalloc(LONG);
    for (size_t v = 0; v < COUNT(few) + COUNT(others); v++) {
        const char *name = v < COUNT(few) ? few[v] : others[v - COUNT(few)];
        Tokenizer *t = v < COUNT(few) ? tokenizer_open_any(GOLDEN(name)) : open_other(name);
        for (size_t what = 0; t && what < COUNT(names); what++)
            fill(what, bytes), assert_linear(t, name, names[what], bytes);
        tokenizer_close(t);
    }
    free(bytes);
}

/* To a regular expression each blank of a run is a try, and libraries give up after so many. */
static void a_run_of_blanks_may_be_long(void **) {
    Tokenizer *t = tokenizer_open_any(GOLDEN("tiktoken"));
    char *bytes = xmalloc(BLANKS + 1);
    memset(bytes, ' ', BLANKS), bytes[BLANKS] = 'x';
    assert_round_trip(t, "tiktoken", BLANKS + 1, bytes);
    free(bytes), tokenizer_close(t);
}

/* ------------------------------------------------------------------ what is refused */

static void assert_bad_refused(const char *words) {
    assert_error(
        run("--model bad --encode xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        words);
}

static void assert_bytes_refused(const char *words, size_t length, const char *bytes) {
    write_bytes("bad", length, bytes);
    assert_bad_refused(words);
}

static void an_added_token_that_cannot_be_is_refused(void **state) {
    const char *const *its = *state;
    write_beside("sentencepiece/tokenizer.model",
                 (const char *[]){AT("%s %s", its[1], its[0]), ""});
    assert_error(run("--model begins --info"), its[2]);
}

static void another_tokenizer_is_named(void **state) {
    const char *const *its = *state;
    write_replaced("bad", GOLDEN(its[2]), its[0], its[1]);
    assert_bad_refused(its[3]);
}

static void a_pattern_that_is_not_understood_is_named(void **state) {
    const char *const *its = *state;
    write_replaced("bad", GOLDEN("byte_level/tokenizer.json"), "(?i:'s", AT("%s(?i:'s", its[0]));
    assert_bad_refused(its[1]);
}

/* A file of a few kilobytes must not make gigabytes of a line. */
static void a_text_does_not_grow_without_end(void **) {
#define SIXTEEN_OF_ONE                                                                             \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":\"xxxxxxxxxxxxxxxx\"},"
    write_replaced("bad", GOLDEN("prepend/tokenizer.json"), "\"normalizers\":[",
                   "\"normalizers\":[" SIXTEEN_OF_ONE SIXTEEN_OF_ONE SIXTEEN_OF_ONE SIXTEEN_OF_ONE);
    assert_bad_refused("no model's does that");
}

static void files_that_end_too_early_get_one_line(void **) {
    static const char *const files[] = {"sentencepiece/tokenizer.model", "prepend/tokenizer.json",
                                        "byte_level/tokenizer.json"};
    for (size_t f = 0; f < COUNT(files); f++) {
        size_t size;
        char *bytes = file_read(GOLDEN(files[f]), &size);
        for (size_t length = 0; length < size; length = 2 * length + 1)
            assert_bytes_refused("bad", length, bytes);
        for (size_t cut = 4; cut < 60; cut += 11) assert_bytes_refused("bad", size - cut, bytes);
        free(bytes);
    }
    assert_bytes_refused("no tokenizer", 12, "hello, world");
    assert_bytes_refused("token 0 ends", 14, "\7\0\0\0\0\0\0\0\377\377\377\377xx");
    assert_bytes_refused("token 0 ends", 7, "\7\0\0\0\0\0\0");
    assert_bytes_refused("is no number", 13, "\7\0\0\0\0\0\300\177\1\0\0\0x");
    assert_bytes_refused("no token for the byte 0x00", 13, "\7\0\0\0\0\0\0\0\1\0\0\0x");
    assert_bytes_refused("the text has the byte 0x78", 7, "IQ== 0\n");
}

static void ids_go_from_one_to_the_next(void **) {
    const char *model = GOLDEN("sentencepiece");
    assert_runs("--model '%s' --encode 'the llama' >ids && %s --model '%s' --decode - <ids", model,
                PROGRAM, model);
    assert_string_equal(said, "the llama\n");
    assert_runs("--model '%s' --info", model);
    assert_said("1400 tokens");
}

static int open_all(void **state) {
    json_error_t problem;
    expected = json_load_file(GOLDEN("expected.json"), JSON_ALLOW_NUL, &problem);
    if (!expected) print_message("%s\n", problem.text);
    return !expected || make_folder(state) || mkfifo(AT("%s/pipe", folder), 0666) ||
           setenv("MODEL", GOLDEN("sentencepiece"), 1);
}

static int close_all(void **state) {
    json_decref(expected);
    return remove_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_the_librarys),
        cmocka_unit_test(other_peoples_are_the_librarys),
        cmocka_unit_test(nothing_may_be_left),
        cmocka_unit_test(a_charsmap_may_be_broken),
        cmocka_unit_test(a_folder_adds_tokens),
        cmocka_unit_test(a_tokenizer_json_counts_more),
        cmocka_unit_test(newer_letters_are_the_librarys),
        cmocka_unit_test(chapter_10_opens_metas_formats),
        cmocka_unit_test(llamas_own_files_are_the_librarys),
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(any_bytes_are_encoded),
        cmocka_unit_test(a_long_text_is_its_lines),
        cmocka_unit_test(tokens_have_names_and_bytes),
        cmocka_unit_test(a_text_goes_on_after_a_special_token),
        cmocka_unit_test(a_text_begins_with_another_name),
        cmocka_unit_test(lines_may_end_as_on_windows),
        cmocka_unit_test(links_that_point_nowhere_are_named),
        cmocka_unit_test(a_text_does_not_grow_without_end),
        cmocka_unit_test(files_that_end_too_early_get_one_line),
        cmocka_unit_test(ids_go_from_one_to_the_next),
        cmocka_unit_test(a_run_of_blanks_may_be_long),
        cmocka_unit_test(a_long_text_is_encoded_in_linear_time),
    };
    static const Check checks[] = {
        CHECK(a_text_begins_as_the_folder_says),
        CHECK(a_text_ends_as_the_folder_says),
        CHECK(a_beginning_that_cannot_be_is_refused),
        CHECK(an_added_token_that_cannot_be_is_refused),
        CHECK(what_changes_nothing_gives_the_same_ids),
        CHECK(another_tokenizer_is_named),
        CHECK(a_pattern_that_is_not_understood_is_named),
        CHECK(a_request_is_answered),
        CHECK(a_request_is_refused),
        CHECK(a_misuse_is_refused),
    };
    return run_with_cases("formats/tokenizer", COUNT(tests), tests, COUNT(checks), checks, open_all,
                          close_all);
}
