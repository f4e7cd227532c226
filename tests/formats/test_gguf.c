/* GGUF files: what is refused and why, what is legal, what is written comes back; and no byte of a
 * header, whatever it is changed to, and no end that comes too early does more than be refused,
 * with one line. */
#include "tests/hardening/fuzz/fuzz_gguf.c"
#include "tests/refused.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a file, number by number ---- */

static unsigned char made[4096];
static size_t length;

static void number(int bytes, uint64_t value) {
    for (int i = 0; i < bytes; i++) made[length++] = (unsigned char)(value >> 8 * i);
}

static void letters(const char *text) {
    number(8, strlen(text));
    memcpy(made + length, text, strlen(text));
    length += strlen(text);
}

static void start(uint32_t version, uint64_t tensors, uint64_t pairs) {
    memcpy(made, "GGUF", 4);
    length = 4;
    number(4, version);
    number(8, tensors);
    number(8, pairs);
}

static void tensor(const char *name, uint64_t inner, uint64_t outer, uint32_t type,
                   uint64_t offset) {
    letters(name);
    number(4, 2);
    number(8, inner);
    number(8, outer);
    number(4, type);
    number(8, offset);
}

static void data(size_t step, size_t size) {
    while (length % step) number(1, 0);
    for (size_t i = 0; i < size; i++) number(1, i);
}

/* A pair of every type, and three tensors: numbers, a block, numbers. */
static void good_file(void) {
    start(3, 3, 15);
    letters("u8");
    number(4, GGUF_U8);
    number(1, 200);
    letters("i8");
    number(4, GGUF_I8);
    number(1, 0xff);
    letters("u16");
    number(4, GGUF_U16);
    number(2, 40000);
    letters("i16");
    number(4, GGUF_I16);
    number(2, 0xfffe);
    letters("u32");
    number(4, GGUF_U32);
    number(4, 4000000000);
    letters("i32");
    number(4, GGUF_I32);
    number(4, 0xfffffffd);
    letters("f32");
    number(4, GGUF_F32);
    number(4, 0x3fc00000);
    letters("bool");
    number(4, GGUF_BOOL);
    number(1, 1);
    letters("text");
    number(4, GGUF_STRING);
    letters("llama");
    letters("u64");
    number(4, GGUF_U64);
    number(8, 1ull << 40);
    letters("i64");
    number(4, GGUF_I64);
    number(8, -5ull);
    letters("f64");
    number(4, GGUF_F64);
    number(8, 0x3fd0000000000000);
    letters("three");
    number(4, GGUF_ARRAY);
    number(4, GGUF_U16);
    number(8, 3);
    number(2, 7);
    number(2, 8);
    number(2, 9);
    letters("words");
    number(4, GGUF_ARRAY);
    number(4, GGUF_STRING);
    number(8, 2);
    letters("a");
    letters("");
    letters("none");
    number(4, GGUF_ARRAY);
    number(4, GGUF_F32);
    number(8, 0);
    tensor("plain", 3, 2, GGUF_TYPE_F32, 0);
    tensor("blocks", 32, 2, GGUF_TYPE_Q4_0, 32);
    tensor("half", 4, 1, GGUF_TYPE_F16, 96);
    data(32, 32 + 64 + 32);
}

static Gguf parse(void) { return gguf_parse("x.gguf", made, length); }

static void accept(void) {
    Gguf file = parse();
    gguf_close(&file);
}

/* ---- tests ---- */

static void test_every_pair_and_tensor_comes_back(void **state) {
    (void)state;
    static const struct {
        const char *key;
        double value;
    } numbers[] = {{"u8", 200},         {"i8", -1},  {"u16", 40000}, {"i16", -2},
                   {"u32", 4e9},        {"i32", -3}, {"f32", 1.5},   {"bool", 1},
                   {"u64", 1ull << 40}, {"i64", -5}, {"f64", 0.25}};
    good_file();
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

static void test_what_is_saved_is_read_again(void **state) {
    (void)state;
    char path[] = "/tmp/llama-test-XXXXXX";
    close(mkstemp(path));
    good_file();
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

static void h_magic(void) {
    good_file();
    made[0] = 'g';
}
static void h_version_1(void) { start(1, 0, 0); }
static void h_version_4(void) { start(4, 0, 0); }
static void h_big_endian(void) { start(3u << 24, 0, 0); }
static void h_tensors(void) { start(3, 1ull << 60, 0); }
static void h_pairs(void) {
    start(3, 0, 1ull << 60);
    data(1, 64);
}
static void h_key_long(void) {
    start(3, 0, 1);
    number(8, 1ull << 60);
    data(1, 64);
}
static void h_key_empty(void) {
    start(3, 0, 1);
    letters("");
    data(1, 64);
}
static void h_key_beyond(void) {
    start(3, 0, 1);
    number(8, 100);
    data(1, 64);
}
static void h_key_nul(void) {
    start(3, 0, 1);
    number(8, 3);
    data(1, 64);
}
static void h_twice(void) {
    start(3, 0, 2);
    letters("a");
    number(4, 0);
    number(1, 0);
    letters("a");
    number(4, 0);
    number(1, 0);
}
static void h_value_type(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 13);
    data(1, 64);
}
static void h_nested(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 9);
    number(4, 9);
    number(8, 1);
    data(1, 64);
}
static void h_array_2_60(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 9);
    number(4, 4);
    number(8, 1ull << 60);
    data(1, 64);
}
static void h_array_wraps(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 9);
    number(4, 4);
    number(8, (1ull << 62) + 1);
    data(1, 64);
}
static void h_string_beyond(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 8);
    number(8, -1ull);
    data(1, 64);
}
static void h_strings_beyond(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 9);
    number(4, 8);
    number(8, 2);
    letters("x");
    number(8, 90);
    data(1, 64);
}
static void h_bool(void) {
    start(3, 0, 1);
    letters("a");
    number(4, 7);
    number(1, 2);
    data(1, 64);
}
static void h_cut(void) {
    start(3, 0, 1);
    letters("abc");
    number(4, 4);
    number(2, 4);
}
static void aligned(uint32_t to) {
    start(3, 0, 1);
    letters("general.alignment");
    number(4, 4);
    number(4, to);
}
static void h_alignment_0(void) { aligned(0); }
static void h_alignment_4(void) { aligned(4); }
static void h_alignment_48(void) { aligned(48); }
static void h_alignment_large(void) { aligned(1u << 31); }
static void h_alignment_type(void) {
    start(3, 0, 1);
    letters("general.alignment");
    number(4, 10);
    number(8, 32);
}
static void h_alignment_text(void) {
    start(3, 0, 1);
    letters("general.alignment");
    number(4, 8);
    letters("32");
}
static void rank(uint32_t rank) {
    start(3, 1, 0);
    letters("a");
    number(4, rank);
    data(1, 99);
}
static void h_rank_0(void) { rank(0); }
static void h_rank_5(void) { rank(5); }
static void one(uint64_t inner, uint64_t outer, uint32_t type, uint64_t offset, size_t bytes) {
    start(3, 1, 0);
    tensor("a", inner, outer, type, offset);
    data(32, bytes);
}
static void h_empty(void) { one(4, 0, 0, 0, 32); }
static void h_overflow(void) { one(1ull << 33, 1ull << 33, 0, 0, 32); }
static void h_wraps(void) { one(1ull << 32, (1ull << 32) + 1, 0, 0, 32); }
static void h_type(void) { one(32, 1, 4, 0, 32); }
static void h_type_large(void) { one(32, 1, 1u << 31, 0, 32); }
static void h_type_other(void) { one(256, 1, 16, 0, 96); }
static void h_block(void) { one(48, 1, GGUF_TYPE_Q8_0, 0, 64); }
static void h_k_block(void) { one(192, 4, GGUF_TYPE_Q4_K, 0, 512); }
static void h_misaligned(void) { one(4, 1, 0, 16, 64); }
static void h_far(void) { one(4, 1, 0, 1ull << 60, 64); }
static void h_behind(void) { one(4, 1, 0, 64, 64); }
static void h_too_long(void) { one(32, 1, 0, 0, 64); }
static void h_hole(void) { one(4, 1, 0, 32, 64); }
static void h_rest(void) { one(4, 1, 0, 0, 64); }
static void two(const char *name, uint64_t offset) {
    start(3, 2, 0);
    tensor("a", 16, 1, 0, 0);
    tensor(name, 16, 1, 0, offset);
    data(32, 128);
}
static void h_same_place(void) { two("b", 0); }
static void h_overlap(void) { two("b", 32); }
static void h_same_name(void) { two("a", 64); }

static const struct {
    void (*make)(void);
    const char *words;
} hostile[] = {
    {h_magic, "does not begin with GGUF"},
    {h_version_1, "version 1 of GGUF"},
    {h_version_4, "version 4 of GGUF"},
    {h_big_endian, "big-endian"},
    {h_tensors, "counts 1152921504606846976 tensors"},
    {h_pairs, "counts 1152921504606846976 pairs"},
    {h_key_long, "a key of 1152921504606846976 letters"},
    {h_key_empty, "a key of 0 letters"},
    {h_key_beyond, "ends in a key"},
    {h_key_nul, "a NUL in a key"},
    {h_twice, "the key \"a\" twice"},
    {h_value_type, "a value of type 13"},
    {h_nested, "array of arrays"},
    {h_array_2_60, "counts 1152921504606846976 elements"},
    {h_array_wraps,
     "elements of an array, more than its 113 bytes can hold: truncated, fetch it again"},
    {h_string_beyond, "ends in a:"},
    {h_strings_beyond, "ends in a:"},
    {h_bool, "2 is neither true nor false"},
    {h_cut, "ends in abc"},
    {h_alignment_0, "power of two"},
    {h_alignment_4, "from 8 to"},
    {h_alignment_48, "power of two"},
    {h_alignment_large, "power of two"},
    {h_alignment_type, "power of two"},
    {h_alignment_text, "power of two"},
    {h_rank_0, "0 dimensions"},
    {h_rank_5, "5 dimensions"},
    {h_empty, "a dimension is 0"},
    {h_overflow, "shape overflows"},
    {h_wraps, "shape overflows"},
    {h_type, "number 4, which"},
    {h_type_large, "number 2147483648, which"},
    {h_type_other, "IQ2_XXS is not read here"},
    {h_block, "no multiple of Q8_0's block of 32"},
    {h_k_block, "no multiple of Q4_K's block of 256"},
    {h_misaligned, "no multiple of the alignment"},
    {h_far, "its data end at 1152921504606846976 of 160: the file is truncated, fetch it again"},
    {h_behind, "the file is truncated"},
    {h_too_long, "the file is truncated"},
    {h_hole, "32 bytes before its data"},
    {h_rest, "last 32 bytes"},
    {h_same_place, "overlap"},
    {h_overlap, "overlap"},
    {h_same_name, "the tensor \"a\" twice"},
};

static void test_hostile_files_are_refused_by_name(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(hostile); i++) {
        hostile[i].make();
        assert_refused(accept, hostile[i].words);
    }
}

static void test_what_is_legal_is_read(void **state) {
    (void)state;
    start(2, 0, 0);
    accept(); /* version 2, of nothing */
    aligned(64);
    accept(); /* another alignment */
    aligned(8);
    accept();
    start(3, 1, 0);
    tensor("a", 4, 1, GGUF_TYPE_BF16, 0);
    data(32, 8);
    accept(); /* no padding behind the last tensor */
}

/* Every byte of a file's header as every other byte, and the file cut at every one: attempt() in
 * caught.h holds what fails to one line and status 1; what is accepted is read whole. */
static void test_no_byte_does_harm(void **state) {
    (void)state;
    good_file();
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
static void test_many_tensors(void **state) {
    (void)state;
    enum { MANY = 200000 };
    size_t size = 24 + (size_t)MANY * (8 + 7 + 4 + 8 + 8 + 4 + 8) + 64;
    unsigned char *bytes = malloc(size), *at = bytes + 24;
    start(3, MANY, 0);
    memcpy(bytes, made, 24);
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%06d", i);
        length = 0;
        tensor(name, 1, 1, 0, 32 * (uint64_t)i);
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
        cmocka_unit_test(test_hostile_files_are_refused_by_name),
        cmocka_unit_test(test_what_is_legal_is_read),
        cmocka_unit_test(test_no_byte_does_harm),
        cmocka_unit_test(test_many_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
