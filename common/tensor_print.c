/* Prints a tensor as PyTorch does: all numbers in one style and one width, which depend on the
 * numbers shown. Names follow torch/_tensor_str.py where the ideas are the same. */
#include "common/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { THRESHOLD = 1000, EDGE_ITEMS = 3, LINE_WIDTH = 80, ELEMENT_TEXT = 32 };

static const char prefix[] = "tensor(";

typedef enum { INTEGER, WHOLE, FIXED, SCIENTIFIC } Style; /* 3, 3., 3.0000, 3.0000e+00 */

typedef struct {
    const Tensor *tensor;
    size_t shown[TENSOR_MAX_RANK]; /* indices of each dimension that are printed; the others become
                                      "..." */
    size_t shown_count;            /* elements printed: the product of `shown` */
    Style style;
    int width;
    FILE *file;
    size_t next; /* the shown element to print next */
    int column;  /* that the line has come to */
} Printer;

/* A large tensor shows the first and last three indices of each dimension. */
static void choose_shown(Printer *printer) {
    const Tensor *tensor = printer->tensor;
    bool summarize = tensor_count(tensor) > THRESHOLD;
    printer->shown_count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        bool abridge = summarize && tensor->shape[d] > 2 * EDGE_ITEMS;
        printer->shown[d] = abridge ? 2 * EDGE_ITEMS : tensor->shape[d];
        printer->shown_count *= printer->shown[d];
    }
}

/* The index of the k-th shown element in the tensor. */
static size_t shown_index(const Printer *printer, size_t k) {
    const Tensor *tensor = printer->tensor;
    size_t index = 0, stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        size_t i = k % printer->shown[d];
        size_t left_out = tensor->shape[d] - printer->shown[d];
        if (i >= EDGE_ITEMS) i += left_out;
        index += i * stride;
        stride *= tensor->shape[d];
        k /= printer->shown[d];
    }
    return index;
}

static double shown_value(const Printer *printer, size_t k) {
    return tensor_get(printer->tensor, shown_index(printer, k));
}

static bool is_floating(DType dtype) {
    return dtype == F64 || dtype == F32 || dtype == BF16 || dtype == F16;
}

/* Zeros, infinities and NaNs have no say in the style, nor in the width. */
static bool counts(double value) { return isfinite(value) && value != 0; }

static Style choose_style(const Printer *printer) {
    if (!is_floating(printer->tensor->dtype)) return INTEGER;

    bool whole = true;
    double smallest = INFINITY, largest = 0;
    for (size_t k = 0; k < printer->shown_count; k++) {
        double value = shown_value(printer, k);
        if (!counts(value)) continue;
        whole = whole && value == ceil(value);
        smallest = fmin(smallest, fabs(value));
        largest = fmax(largest, fabs(value));
    }
    if (largest == 0) return WHOLE;
    if (largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4) return SCIENTIFIC;
    return whole ? WHOLE : FIXED;
}

/* 64-bit integers do not fit a double: they are read as they are. */
static void integer_text(char text[static ELEMENT_TEXT], const Tensor *tensor, size_t index) {
    double value = tensor_get(tensor, index);
    if (tensor->dtype == BOOL) {
        strcpy(text, value ? "True" : "False");
    } else if (tensor->dtype == I64 || tensor->dtype == U64) {
        uint64_t bits;
        memcpy(&bits, (const char *)tensor->data + index * sizeof bits, sizeof bits);
        const char *format = tensor->dtype == I64 ? "%" PRId64 : "%" PRIu64;
        snprintf(text, ELEMENT_TEXT, format, bits);
    } else {
        snprintf(text, ELEMENT_TEXT, "%.0f", value);
    }
}

static void element_text(char text[static ELEMENT_TEXT], const Printer *printer, size_t k) {
    double value = shown_value(printer, k);
    if (printer->style == INTEGER) integer_text(text, printer->tensor, shown_index(printer, k));
    else if (isnan(value)) strcpy(text, "nan"); /* printf would show a NaN's sign */
    else if (printer->style == SCIENTIFIC) snprintf(text, ELEMENT_TEXT, "%.4e", value);
    else if (printer->style == FIXED) snprintf(text, ELEMENT_TEXT, "%.4f", value);
    else snprintf(text, ELEMENT_TEXT, isinf(value) ? "%.0f" : "%.0f.", value);
}

static int choose_width(const Printer *printer) {
    int width = 1;
    for (size_t k = 0; k < printer->shown_count; k++) {
        if (printer->style != INTEGER && !counts(shown_value(printer, k))) continue;
        char text[ELEMENT_TEXT];
        element_text(text, printer, k);
        if ((int)strlen(text) > width) width = (int)strlen(text);
    }
    return width;
}

/* Everything is printed through these two, which keep the column. */
__attribute__((format(printf, 2, 3))) static void put(Printer *printer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printer->column += vfprintf(printer->file, format, arguments);
    va_end(arguments);
}

static void start_line(Printer *printer, int newlines, int indent) {
    for (int n = 0; n < newlines; n++) fputc('\n', printer->file);
    printer->column = fprintf(printer->file, "%*s", indent, "");
}

static void print_element(Printer *printer) {
    char text[ELEMENT_TEXT];
    element_text(text, printer, printer->next++);
    put(printer, "%*s", printer->width, text);
}

/* The innermost dimension fills its lines; an outer one starts a line for each slice, with blank
 * lines between blocks of blocks. */
static void print_dimension(Printer *printer, int d) {
    const Tensor *tensor = printer->tensor;
    int depth = tensor->rank - d; /* dimensions still to print: 0 is an element, 1 a vector */
    if (depth == 0) {
        print_element(printer);
        return;
    }

    int indent = (int)strlen(prefix) + d;
    int newlines = depth > 2 ? depth - 1 : 1;
    size_t per_line = depth > 1 ? 1 : (size_t)((LINE_WIDTH - indent) / (printer->width + 2));
    bool abridged = printer->shown[d] < tensor->shape[d];
    size_t entries = printer->shown[d] + abridged;

    put(printer, "[");
    for (size_t i = 0; i < entries; i++) {
        bool line_is_full = i % per_line == 0;
        if (i > 0) put(printer, line_is_full ? "," : ", ");
        if (i > 0 && line_is_full) start_line(printer, newlines, indent + 1);
        if (abridged && i == EDGE_ITEMS) put(printer, depth == 1 ? " ..." : "...");
        else print_dimension(printer, d + 1);
    }
    put(printer, "]");
}

/* A suffix that would pass the line's width starts a new line. */
static void print_suffix(Printer *printer, const char *suffix) {
    put(printer, ",");
    if (printer->column + 1 + (int)strlen(suffix) > LINE_WIDTH)
        start_line(printer, 1, (int)strlen(prefix));
    else put(printer, " ");
    put(printer, "%s", suffix);
}

static void print_size(Printer *printer) {
    char shape[SHAPE_TEXT], suffix[SHAPE_TEXT + 8];
    shape_text(shape, printer->tensor->rank, printer->tensor->shape);
    snprintf(suffix, sizeof suffix, "size=(%.*s)", (int)strlen(shape) - 2,
             shape + 1); /* (2, 0), not [2, 0] */
    print_suffix(printer, suffix);
}

static void print_dtype(Printer *printer) {
    static const char *const suffixes[DTYPE_COUNT] = {
        [F64] = "dtype=torch.float64",   [F32] = "dtype=torch.float32",
        [BF16] = "dtype=torch.bfloat16", [F16] = "dtype=torch.float16",
        [I64] = "dtype=torch.int64",     [I32] = "dtype=torch.int32",
        [I16] = "dtype=torch.int16",     [I8] = "dtype=torch.int8",
        [U64] = "dtype=torch.uint64",    [U32] = "dtype=torch.uint32",
        [U16] = "dtype=torch.uint16",    [U8] = "dtype=torch.uint8",
        [BOOL] = "dtype=torch.bool",
    };
    print_suffix(printer, suffixes[printer->tensor->dtype]);
}

void tensor_print(FILE *file, const Tensor *tensor) {
    Printer printer = {.tensor = tensor, .file = file};
    choose_shown(&printer);
    printer.style = choose_style(&printer);
    printer.width = choose_width(&printer);

    bool empty = tensor_count(tensor) == 0;
    put(&printer, prefix);
    if (empty) put(&printer, "[]");
    else print_dimension(&printer, 0);

    /* The suffix omits what the numbers already show: the shape, unless there are none; float32;
     * and, where there are numbers, int64 and bool. */
    DType dtype = tensor->dtype;
    printer.column += 2; /* where PyTorch believes the numbers ended */
    if (empty && tensor->rank != 1) print_size(&printer);
    if (dtype != F32 && (empty || (dtype != I64 && dtype != BOOL))) print_dtype(&printer);
    fputs(")\n", file);
}
