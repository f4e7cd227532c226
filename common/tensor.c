#include "common/tensor.h"
#include "common/error.h"

#include <math.h>
#include <string.h>

/* Element types */

static const struct {
    const char *name;
    size_t size;
} dtypes[DTYPE_COUNT + 1] = {
    /* and of no type, which has no size */
    [F64] = {"F64", 8},   [F32] = {"F32", 4}, [BF16] = {"BF16", 2}, [F16] = {"F16", 2},
    [I64] = {"I64", 8},   [I32] = {"I32", 4}, [I16] = {"I16", 2},   [I8] = {"I8", 1},
    [U64] = {"U64", 8},   [U32] = {"U32", 4}, [U16] = {"U16", 2},   [U8] = {"U8", 1},
    [BOOL] = {"BOOL", 1},
};

const char *dtype_name(DType dtype) { return dtypes[dtype].name; }

size_t dtype_size(DType dtype) { return dtypes[dtype].size; }

bool dtype_parse(const char *name, DType *dtype) {
    for (DType candidate = 0; candidate < DTYPE_COUNT; candidate++) {
        if (strcmp(name, dtypes[candidate].name) != 0) continue;
        *dtype = candidate;
        return true;
    }
    return false;
}

/* Elements */

size_t tensor_count(const Tensor *tensor) {
    size_t count = 1;
    for (int d = 0; d < tensor->rank; d++) count *= tensor->shape[d];
    return count;
}

size_t tensor_bytes(const Tensor *tensor) {
    size_t count = tensor_count(tensor);
    if (tensor->quant_type)
        return count / (size_t)tensor->quant_type->numbers * (size_t)tensor->quant_type->bytes;
    return count * dtype_size(tensor->dtype);
}

const char *tensor_type(const Tensor *tensor) {
    return tensor->quant_type ? tensor->quant_type->name : dtype_name(tensor->dtype);
}

/* Element `index`: its whole block is widened for it. */
static double get_from_block(const Tensor *tensor, size_t index) {
    const size_t numbers = (size_t)tensor->quant_type->numbers,
                 bytes = (size_t)tensor->quant_type->bytes;
    float block[numbers];
    tensor->quant_type->dequantize(1, (int)numbers, (float(*)[numbers])block,
                                   (const char *)tensor->data + index / numbers * bytes);
    return block[index % numbers];
}

double tensor_get(const Tensor *tensor, size_t index) {
    if (tensor->quant_type) return get_from_block(tensor, index);
    union {
        double f64;
        float f32;
        int64_t i64;
        int32_t i32;
        int16_t i16;
        int8_t i8;
        uint64_t u64;
        uint32_t u32;
        uint16_t u16;
        uint8_t u8;
    } element;
    size_t size = dtype_size(tensor->dtype);
    memcpy(&element, (const char *)tensor->data + index * size,
           size); /* the data may be unaligned */

    switch (tensor->dtype) {
    case F64: return element.f64;
    case F32: return element.f32;
    case BF16: return bf16_to_float(element.u16);
    case F16: return f16_to_float(element.u16);
    case I64: return (double)element.i64;
    case I32: return element.i32;
    case I16: return element.i16;
    case I8: return element.i8;
    case U64: return (double)element.u64;
    case U32: return element.u32;
    case U16: return element.u16;
    case U8: return element.u8;
    case BOOL: return element.u8 != 0;
    case DTYPE_COUNT: break;
    }
    fail("tensor %s: %d is no element type", tensor->name, (int)tensor->dtype);
}

void tensor_dequantize_row(const Tensor *tensor, size_t first, size_t count, float to[]) {
    if (tensor->quant_type) {
        const size_t numbers = (size_t)tensor->quant_type->numbers,
                     bytes = (size_t)tensor->quant_type->bytes;
        const char *blocks = (const char *)tensor->data + first / numbers * bytes;
        tensor->quant_type->dequantize((int)(count / numbers), (int)numbers, (void *)to, blocks);
        return;
    }
    const char *from = (const char *)tensor->data + first * dtype_size(tensor->dtype);
    /* Bit for bit, the payload of a NaN too. */
    if (tensor->dtype == F32 && count > 0) memcpy(to, from, count * sizeof *to);
    else if (tensor->dtype == BF16)
        for (size_t i = 0; i < count;
             i++) { /* the same: a double would make a signalling NaN a quiet one */
            bf16 bits;
            memcpy(&bits, from + i * sizeof bits, sizeof bits);
            to[i] = bf16_to_float(bits);
        }
    else if (tensor->dtype == F16)
        for (size_t i = 0; i < count; i++) {
            f16 bits;
            memcpy(&bits, from + i * sizeof bits, sizeof bits);
            to[i] = f16_to_float(bits);
        }
    else
        for (size_t i = 0; i < count; i++) to[i] = (float)tensor_get(tensor, first + i);
}

float *tensor_to_float(const Tensor *tensor) {
    size_t count = tensor_count(tensor);
    float *values = xmalloc(count * sizeof *values);
    tensor_dequantize_row(tensor, 0, count, values);
    return values;
}

double *tensor_to_double(const Tensor *tensor) {
    size_t count = tensor_count(tensor);
    double *values = xmalloc(count * sizeof *values);
    if (!tensor->quant_type && tensor->dtype == F64 && count > 0)
        memcpy(values, tensor->data, count * sizeof *values);
    else
        for (size_t i = 0; i < count; i++) values[i] = tensor_get(tensor, i);
    return values;
}

char *shape_text(char text[static SHAPE_TEXT], int rank, const size_t shape[]) {
    size_t length = 0;
    text[length++] = '[';
    for (int d = 0; d < rank; d++)
        length +=
            (size_t)snprintf(text + length, SHAPE_TEXT - length, d ? ", %zu" : "%zu", shape[d]);
    text[length++] = ']';
    text[length] = '\0';
    return text;
}

/* bfloat16 and float16 */

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Drops the low bits, to nearest: adding just under half of the last kept place carries into it
 * when the rest is more than half; on a tie the last kept bit itself decides, so that the result is
 * even. A carry out of the fraction moves the exponent up by one, as it must, from the largest
 * finite number to infinity too. */
static uint32_t drop_bits(uint32_t bits, int dropped) {
    uint32_t just_under_half = (1u << (dropped - 1)) - 1;
    uint32_t last_kept = bits >> dropped & 1;
    return (bits + just_under_half + last_kept) >> dropped;
}

float bf16_to_float(bf16 bits) { return float_of((uint32_t)bits << 16); }

bf16 bf16_from_float(float value) {
    uint32_t bits = bits_of(value);
    if (isnan(value))
        return (bf16)(bits >> 16 |
                      0x0040); /* quiet: a NaN with nothing in its upper half stays one */
    return (bf16)drop_bits(bits, 16);
}

void bf16_round(int n, float x[n]) {
#pragma omp simd
    for (int i = 0; i < n; i++) x[i] = bf16_to_float(bf16_from_float(x[i]));
}

bool bf16_holds(int n, const float x[n]) {
    uint32_t lost = 0;
#pragma omp simd reduction(| : lost)
    for (int i = 0; i < n; i++) lost |= bits_of(x[i]) & 0xffff;
    return lost == 0;
}

/* float16: 1 sign, 5 exponent (bias 15), 10 fraction bits. float32: 1, 8 (bias 127), 23. */
float f16_to_float(f16 bits) {
    uint32_t sign = bits >> 15, exponent = bits >> 10 & 31, fraction = bits & 1023;
    if (exponent == 0)
        return (sign ? -0x1p-24f : 0x1p-24f) * (float)fraction; /* zero and the subnormals */
    exponent = exponent == 31 ? 255 : exponent + (127 - 15);    /* 255: infinity and NaN */
    return float_of(sign << 31 | exponent << 23 | fraction << 13);
}

f16 f16_from_float(float value) {
    uint32_t sign = bits_of(value) >> 31 << 15;
    float magnitude = fabsf(value);
    uint32_t bits = bits_of(magnitude);
    uint32_t rebias = (127 - 15) << 23;
    if (isnan(value)) return (f16)(sign | 0x7e00 | (bits >> 13 & 1023)); /* quiet, as above */
    if (magnitude >= 0x1p16f) return (f16)(sign | 0x7c00);               /* infinity */
    if (magnitude >= 0x1p-14f) return (f16)(sign | drop_bits(bits - rebias, 13));
    return (f16)(sign |
                 (uint32_t)lrintf(magnitude *
                                  0x1p24f)); /* subnormal: a multiple of 2^-24, ties to even */
}
