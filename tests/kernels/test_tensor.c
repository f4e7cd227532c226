/* Tensors: narrow floats over all their bit patterns, elements of every type, and printing as
 * PyTorch prints.
 */
#include "common/safetensors.h"
#include "common/tensor.h"
#include "tests/refused.h"

#include <math.h>

enum { PATTERNS = 65536, SIGN = 0x8000 };

/* A narrow float of 16 bits, described from its definition and not from its conversions. */
typedef struct {
    int fraction_bits, bias;
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
} Format;

static const Format formats[] = {{7, 127, bf16_to_float, bf16_from_float},
                                 {10, 15, f16_to_float, f16_from_float}};

static uint16_t infinity_of(const Format *format) {
    return (uint16_t)(SIGN - (1 << format->fraction_bits));
}

/* (-1)^sign 1.fraction 2^(exponent - bias), and 0.fraction 2^(1 - bias) for the subnormals. */
static double value_of(const Format *format, uint16_t bits) {
    int magnitude = bits & (SIGN - 1);
    int exponent = magnitude >> format->fraction_bits;
    int fraction = magnitude & ((1 << format->fraction_bits) - 1);
    if (exponent > 0) fraction += 1 << format->fraction_bits;
    double value =
        ldexp(fraction, (exponent > 0 ? exponent : 1) - format->bias - format->fraction_bits);
    return bits & SIGN ? -value : value;
}

static void test_every_pattern_widens_and_returns(void **) {
    for (const Format *format = formats; format < formats + 2; format++) {
        for (int bits = 0; bits < PATTERNS; bits++) {
            float wide = format->widen((uint16_t)bits);
            int magnitude = bits & (SIGN - 1), infinity = infinity_of(format);
            bool is_nan = magnitude > infinity;
            assert_int_equal(isnan(wide) != 0, is_nan);
            assert_int_equal(signbit(wide) != 0, bits >= SIGN);
            if (magnitude == infinity) assert_true(isinf(wide));
            if (magnitude < infinity) assert_true(wide == value_of(format, (uint16_t)bits));
            int quiet = is_nan ? 1 << (format->fraction_bits - 1) : 0;
            assert_int_equal(format->narrow(wide), bits | quiet);
        }
    }
}

static void assert_narrows(const Format *format, float value, int expected) {
    assert_int_equal(format->narrow(value), expected);
    assert_int_equal(format->narrow(-value), expected | SIGN);
}

/* Between two neighbours: below the middle, the middle itself, above it. Past the largest finite
 * number the neighbour is the power of two that would follow, and stands for infinity. */
static void test_every_gap_rounds_to_nearest_even(void **) {
    for (const Format *format = formats; format < formats + 2; format++) {
        for (int low = 0; low < infinity_of(format); low++) {
            double below = value_of(format, (uint16_t)low),
                   above = value_of(format, (uint16_t)(low + 1));
            float middle = (float)(below + (above - below) / 2);
            int even = low + (low & 1);
            assert_narrows(format, nextafterf(middle, 0), low);
            assert_narrows(format, middle, even);
            assert_narrows(format, nextafterf(middle, INFINITY), low + 1);
        }
        assert_narrows(format, INFINITY, infinity_of(format));
    }
    assert_narrows(&formats[1], 65520.0f, 0x7c00);
    assert_narrows(&formats[1], 70000.0f, 0x7c00);
    assert_narrows(&formats[1], 1e30f, 0x7c00);
    assert_narrows(&formats[1], 0x1p-25f, 0);
    assert_narrows(&formats[1], 0x1p-149f, 0);
}

static void test_nan_stays_nan(void **) {
    uint32_t payloads[] = {0x7f800001, 0x7f801fff, 0x7fa5a5a5, 0x7fc00000,
                           0x7fffffff, 0xff800001, 0xffffffff};
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        float value;
        memcpy(&value, &payloads[i], sizeof value);
        assert_true(isnan(bf16_to_float(bf16_from_float(value))));
        assert_true(isnan(f16_to_float(f16_from_float(value))));
    }
}

static void test_dtypes(void **) {
    DType dtype;
    for (DType each = 0; each < DTYPE_COUNT; each++) {
        assert_true(dtype_parse(dtype_name(each), &dtype));
        assert_int_equal(dtype, each);
    }
    assert_int_equal(dtype_size(F64), 8);
    assert_int_equal(dtype_size(BF16), 2);
    assert_int_equal(dtype_size(BOOL), 1);
    assert_false(dtype_parse("F8_E4M3", &dtype));
    assert_false(dtype_parse("f32", &dtype));
    assert_false(dtype_parse("", &dtype));
}

/* Two elements of each type, at an odd address, as a file has them. */
static void test_elements_of_every_type(void **) {
    struct {
        DType dtype;
        double first, second;
        const char *bytes;
    } cases[] = {
        {F64, 1, -2, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0"},
        {F32, 1, -2, "\0\0\x80\x3f\0\0\0\xc0"},
        {BF16, 1, -2, "\x80\x3f\0\xc0"},
        {F16, 1, -2, "\0\x3c\0\xc0"},
        {I64, 1, -2, "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff"},
        {I32, 1, -2, "\1\0\0\0\xfe\xff\xff\xff"},
        {I16, 1, -2, "\1\0\xfe\xff"},
        {I8, 1, -2, "\1\xfe"},
        {U64, 1, 0x1p63, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80"},
        {U32, 1, 4294967294, "\1\0\0\0\xfe\xff\xff\xff"},
        {U16, 1, 65534, "\1\0\xfe\xff"},
        {U8, 1, 254, "\1\xfe"},
        {BOOL, 0, 1, "\0\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[17];
        Tensor tensor = {
            .name = "t", .dtype = cases[i].dtype, .rank = 1, .shape = {2}, .data = buffer + 1};
        memcpy(buffer + 1, cases[i].bytes, 2 * dtype_size(tensor.dtype));
        assert_true(tensor_get(&tensor, 0) == cases[i].first);
        assert_true(tensor_get(&tensor, 1) == cases[i].second);

        float *floats = tensor_to_float(&tensor);
        double *doubles = tensor_to_double(&tensor);
        assert_true(floats[1] == (float)cases[i].second);
        assert_true(doubles[1] == cases[i].second);
        free(floats);
        free(doubles);
    }
}

static void test_float32_is_copied_bit_for_bit(void **) {
    uint32_t signalling = 0x7fa5a5a5;
    Tensor tensor = {.name = "t", .dtype = F32, .data = &signalling};
    float *copy = tensor_to_float(&tensor);
    assert_memory_equal(copy, &signalling, sizeof signalling);
    free(copy);
}

static void an_element_of_no_type(void) {
    tensor_get(
        &(Tensor){.name = "x", .dtype = DTYPE_COUNT, .rank = 1, .shape = {1}, .data = "12345678"},
        0);
}

static void test_what_is_no_type_or_empty(void **) {
    assert_refused(an_element_of_no_type, "tensor x: ");
    for (DType dtype = 0; dtype < DTYPE_COUNT;
         dtype++) { /* there is nothing to be read, not even an address */
        const Tensor empty = {.name = "x", .dtype = dtype, .rank = 2, .shape = {3, 0}};
        free(tensor_to_float(&empty));
        free(tensor_to_double(&empty));
    }
}

static void test_shapes(void **) {
    char text[SHAPE_TEXT];
    Tensor scalar = {.dtype = F32}, empty = {.dtype = F32, .rank = 2, .shape = {3, 0}};
    assert_int_equal(tensor_count(&scalar), 1);
    assert_int_equal(tensor_bytes(&scalar), 4);
    assert_int_equal(tensor_count(&empty), 0);
    assert_string_equal(shape_text(text, 0, NULL), "[]");
    assert_string_equal(shape_text(text, 2, (size_t[]){4, 128}), "[4, 128]");

    size_t longest[TENSOR_MAX_RANK];
    for (int d = 0; d < TENSOR_MAX_RANK; d++) longest[d] = SIZE_MAX;
    int digits = snprintf(NULL, 0, "%zu", SIZE_MAX);
    assert_int_equal(strlen(shape_text(text, TENSOR_MAX_RANK, longest)), 8 * digits + 7 * 2 + 2);
}

static char *printed(const Tensor *tensor) {
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    tensor_print(stream, tensor);
    fclose(stream);
    return text;
}

/* tests/golden/printing.py says what PyTorch prints. */
static void test_printing_as_pytorch(void **) {
    SafeTensors golden = safetensors_open(ROOT "/tests/golden/printing.safetensors");
    assert_true(golden.count > 100);
    for (size_t i = 0; i < golden.count; i++) {
        const Tensor *tensor = &golden.tensors[i];
        const char *expected = safetensors_metadata(&golden, tensor->name);
        char *text = printed(tensor);
        size_t length = strlen(text);
        assert_true(length > 0 && text[length - 1] == '\n');
        text[length - 1] = '\0';
        if (strcmp(text, expected) != 0)
            fail_msg("%s\n-- printed\n%s\n-- PyTorch prints\n%s", tensor->name, text, expected);
        free(text);
    }
    safetensors_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_widens_and_returns),
        cmocka_unit_test(test_every_gap_rounds_to_nearest_even),
        cmocka_unit_test(test_nan_stays_nan),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_elements_of_every_type),
        cmocka_unit_test(test_float32_is_copied_bit_for_bit),
        cmocka_unit_test(test_what_is_no_type_or_empty),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_printing_as_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
