/* GGUF files: what is refused and why, what is legal, what is written comes back; and no byte of a
 * header, whatever it is changed to, and no end that comes too early does more than be refused,
 * with one line. */
#include "tests/hardening/fuzz/fuzz_gguf.c"
#include "tests/cases.h"
#include "tests/refused.h"

/* ---- a file, number by number ---- */

static unsigned char made[4096];
static size_t length;

static void add_number(long bytes, uint64_t value) {
    for (long i = 0; i < bytes; i++) made[length++] = (unsigned char)(value >> 8 * i);
}

static void add_letters(const char *letters, size_t count) {
    memcpy(made + length, letters, count);
    length += count;
}

/* Puts words at the end: N:NUMBER is a number of N bytes, 'a' a text and its length, @32 zeros up
 * to a multiple of 32, +64 the bytes 0, 1, 2 …, and any other word its letters. */
static void add(const char *words) {
    for (size_t used; *words; words += used + (words[used] == ' ')) {
        char *colon;
        used = strcspn(words, " ");
        long count = strtol(words + strspn(words, "@+"), &colon, 10);
        if (*words == '@')
            while (length % (size_t)count) made[length++] = 0;
        else if (*words == '+')
            for (long i = 0; i < count; i++) made[length++] = (unsigned char)i;
        else if (*words == '\'') {
            add_number(8, used - 2);
            add_letters(words + 1, used - 2);
        } else if (*colon == ':') add_number(count, strtoull(colon + 1, NULL, 0));
        else add_letters(words, used);
    }
}

static void make(const char *words) {
    length = 0;
    add(words);
}

/* A pair of every type, and three tensors: numbers, a block, numbers. */
static void make_good_file(void) {
    make("GGUF 4:3 8:3 8:15 'u8' 4:0 1:200 'i8' 4:1 1:-1 'u16' 4:2 2:40000 'i16' 4:3 2:-2 "
         "'u32' 4:4 4:4000000000 'i32' 4:5 4:-3 'f32' 4:6 4:0x3fc00000 'bool' 4:7 1:1 "
         "'text' 4:8 'llama' 'u64' 4:10 8:0x10000000000 'i64' 4:11 8:-5 "
         "'f64' 4:12 8:0x3fd0000000000000 'three' 4:9 4:2 8:3 2:7 2:8 2:9 "
         "'words' 4:9 4:8 8:2 'a' '' 'none' 4:9 4:6 8:0 'plain' 4:2 8:3 8:2 4:0 8:0 "
         "'blocks' 4:2 8:32 8:2 4:2 8:32 'half' 4:2 8:4 8:1 4:1 8:96 @32 +128");
}

static Gguf parse(void) { return gguf_parse("x.gguf", made, length); }

static void accept(void) {
    Gguf file = parse();
    gguf_close(&file);
}

/* ---- tests ---- */

static void test_every_pair_and_tensor_comes_back(void **) {
    static const struct {
        const char *key;
        double value;
    } numbers[] = {{"u8", 200},         {"i8", -1},  {"u16", 40000}, {"i16", -2},
                   {"u32", 4e9},        {"i32", -3}, {"f32", 1.5},   {"bool", 1},
                   {"u64", 1ull << 40}, {"i64", -5}, {"f64", 0.25}};
    make_good_file();
    Gguf file = parse();
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_true(gguf_number(gguf_pair(&file, numbers[i].key), 0) == numbers[i].value);
    for (size_t i = 0; i < 3; i++)
        assert_true(gguf_number(gguf_pair(&file, "three"), i) == (double)(7 + i));
    assert_true(gguf_pair(&file, "three")->is_array);
    assert_int_equal(gguf_pair(&file, "none")->count, 0);
    assert_null(gguf_pair(&file, "nothing"));

    const unsigned char *place = gguf_pair(&file, "text")->bytes;
    GgufText text = gguf_text(&place);
    assert_int_equal(text.length, 5);
    assert_memory_equal(text.letters, "llama", 5);
    place = gguf_pair(&file, "words")->bytes;
    assert_int_equal(gguf_text(&place).length, 1);
    assert_int_equal(gguf_text(&place).length, 0);

    const GgufTensor *plain = gguf_tensor(&file, "plain"), *blocks = gguf_tensor(&file, "blocks");
    assert_int_equal(plain->shape[0], 2);
    assert_int_equal(plain->shape[1], 3);
    uint32_t first;
    memcpy(&first, plain->data, sizeof first);
    assert_int_equal(first, 0x03020100);
    assert_int_equal(blocks->bytes, 36);
    assert_int_equal(((const unsigned char *)blocks->data)[1],
                     33); /* a block's bytes are in the file's order everywhere */
    assert_string_equal(gguf_type_name(blocks->type), "Q4_0");
    assert_null(gguf_tensor(&file, "other"));
    gguf_close(&file);
}

static void test_what_is_saved_is_read_again(void **) {
    char path[] = "/tmp/llama-test-XXXXXX";
    close(mkstemp(path));
    make_good_file();
    Gguf file = parse();
    gguf_save(path, file.pair_count, file.pairs, file.tensor_count, file.tensors, NULL, NULL);
    Gguf again = gguf_open(path);
    unlink(path);
    assert_int_equal(again.pair_count, file.pair_count);
    assert_int_equal(again.tensor_count, file.tensor_count);
    for (size_t i = 0; i < file.pair_count; i++) {
        assert_string_equal(again.pairs[i].key, file.pairs[i].key);
        assert_int_equal(again.pairs[i].type, file.pairs[i].type);
        assert_int_equal(again.pairs[i].count, file.pairs[i].count);
        if (file.pairs[i].type != GGUF_STRING && file.pairs[i].count)
            assert_true(gguf_number(&again.pairs[i], 0) == gguf_number(&file.pairs[i], 0));
    }
    for (size_t i = 0; i < file.tensor_count; i++) {
        assert_string_equal(again.tensors[i].name, file.tensors[i].name);
        assert_int_equal(again.tensors[i].bytes, file.tensors[i].bytes);
        assert_memory_equal(again.tensors[i].data, file.tensors[i].data, file.tensors[i].bytes);
    }
    gguf_close(&again);
    gguf_close(&file);
}

/* ---- what is refused ---- */

static void a_file_is_refused(void **state) {
    const char *const *its = *state;
    make(its[2]);
    assert_refused(accept, its[1]);
}

static void a_file_is_read(void **state) {
    const char *const *its = *state;
    make(its[1]);
    accept();
}

/* Every byte of a file's header as every other byte, and the file cut at every one: attempt() in
 * caught.h holds what fails to one line and status 1; what is accepted is read whole. */
static void test_no_byte_does_harm(void **) {
    make_good_file();
    for (size_t i = 0; i < length; i++) {
        unsigned char right = made[i];
        for (int change = 1; change < 256; change++) {
            made[i] = (unsigned char)(right ^ change);
            LLVMFuzzerTestOneInput(made, length);
        }
        made[i] = right;
    }
    for (size_t size = 0; size < length; size++) {
        unsigned char *cut = malloc(size + 1);
        memcpy(cut, made, size);
        LLVMFuzzerTestOneInput(cut, size);
        free(cut);
    }
}

/* Keys and tensors are sorted, not compared each with each. */
static void test_many_tensors(void **) {
    enum { MANY = 200000 };
    size_t size = 24 + (size_t)MANY * (8 + 7 + 4 + 8 + 8 + 4 + 8) + 64;
    unsigned char *bytes = malloc(size), *at = bytes + 24;
    make("GGUF 4:3 8:200000 8:0");
    memcpy(bytes, made, 24);
    for (int i = 0; i < MANY; i++) {
        char words[64];
        snprintf(words, sizeof words, "'t%06d' 4:2 8:1 8:1 4:0 8:%d", i, 32 * i);
        make(words);
        memcpy(at, made, length);
        at += length;
    }
    size_t begin = (size_t)(at - bytes + 31) / 32 * 32;
    bytes = realloc(bytes, begin + 32 * (size_t)MANY);
    Gguf file = gguf_parse("many.gguf", bytes, begin + 32 * (size_t)MANY);
    assert_int_equal(file.tensor_count, MANY);
    assert_non_null(gguf_tensor(&file, "t123456"));
    gguf_close(&file);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_and_tensor_comes_back),
        cmocka_unit_test(test_what_is_saved_is_read_again),
        cmocka_unit_test(test_no_byte_does_harm),
        cmocka_unit_test(test_many_tensors),
    };
    static const Check checks[] = {CHECK(a_file_is_refused), CHECK(a_file_is_read)};
    return run_with_cases("formats/gguf", COUNT(tests), tests, COUNT(checks), checks, NULL, NULL);
}
