#include "14_engine/lesson/lesson.h"
#include "common/console.h"
#include "common/error.h"
#include "common/file.h"
#include "common/gguf.h"
#include "common/tensor.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const unsigned char *bytes;
    size_t at;
    Table table;
} Walk;

/* The next field: letters, or a number of 4 or 8 bytes, which it returns. */
static uint64_t field(Walk *walk, size_t size, bool is_text, const char *what) {
    const unsigned char *bytes = walk->bytes + walk->at;
    char hex[40] = "", value[40];
    uint64_t number = 0;
    for (size_t i = 0; i < size && i < 8; i++)
        snprintf(hex + 3 * i, sizeof hex - 3 * i, "%02x ", bytes[i]);
    if (size > 8) snprintf(hex + 24, sizeof hex - 24, "…");
    if (!is_text) memcpy(&number, bytes, size);
    if (is_text) snprintf(value, sizeof value, "%.*s", (int)size, (const char *)bytes);
    else snprintf(value, sizeof value, "%llu", (unsigned long long)number);
    table_row(&walk->table, "%zu|%s|%s|%s", walk->at, hex, value, what);
    walk->at += size;
    return number;
}

static void print_bytes_of(const char *bytes, size_t length, const Gguf *file) {
    static const char first_tensor[] = "token_embd.weight";
    Walk walk = {.bytes = (const unsigned char *)bytes};
    section("The bytes of a GGUF");
    table_row(&walk.table, "at byte|<bytes|<value|<meaning");
    field(&walk, 4, true, "the format");
    field(&walk, 4, false, "version");
    field(&walk, 8, false, "number of tensors");
    field(&walk, 8, false, "number of pairs");
    field(&walk, field(&walk, 8, false, "length of the first key"), true, "the first key");
    field(&walk, 4, false, "type of its value: a string");
    field(&walk, field(&walk, 8, false, "length of the string"), true, "the value");
    table_row(&walk.table, "…|…|…|the other pairs");
    const char *name = memmem(bytes, length, first_tensor, strlen(first_tensor));
    if (!name) fail("%s: it has no %s", file->name, first_tensor);
    walk.at = (size_t)(name - bytes) - sizeof(uint64_t);
    field(&walk, field(&walk, 8, false, "length of the first name"), true, "the first tensor");
    uint64_t rank = field(&walk, 4, false, "number of dimensions");
    field(&walk, 8, false, "numbers in a row: the innermost first");
    if (rank == 2) field(&walk, 8, false, "rows");
    field(&walk, 4, false, "type of its numbers: F32");
    field(&walk, 8, false, "where its data begins, from the start of all data");
    table_row(&walk.table, "…|…|…|the other tensors, then padding");
    walk.at = (size_t)((const char *)gguf_tensor(file, first_tensor)->data - bytes);
    float number;
    memcpy(&number, bytes + walk.at, sizeof number);
    table_row(&walk.table, "%zu|%02x %02x %02x %02x|%.4f|the data: its first float32 number",
              walk.at, walk.bytes[walk.at], walk.bytes[walk.at + 1], walk.bytes[walk.at + 2],
              walk.bytes[walk.at + 3], number);
    table_print(&walk.table, stdout);
}

void show_gguf(const char *path) {
    static const char *const types[] = {"U8",   "I8",     "U16",   "I16", "U32", "I32", "F32",
                                        "BOOL", "STRING", "ARRAY", "U64", "I64", "F64"};
    size_t length;
    char *bytes = file_read(path, &length);
    Gguf file = gguf_parse(path, bytes, length);
    print_bytes_of(bytes, length, &file);
    section("Its pairs");
    Table table = {0};
    table_row(&table, "key|<type|<value");
    for (const GgufPair *pair = file.pairs; pair < file.pairs + file.pair_count; pair++) {
        const unsigned char *place = pair->bytes;
        GgufText text = {0};
        if (pair->type == GGUF_STRING) text = gguf_text(&place);
        if (pair->is_array)
            table_row(&table, "%s|%s|%zu of them", pair->key, types[pair->type], pair->count);
        else if (pair->type == GGUF_STRING)
            table_row(&table, "%s|STRING|%.*s", pair->key, (int)text.length, text.letters);
        else table_row(&table, "%s|%s|%g", pair->key, types[pair->type], gguf_number(pair, 0));
    }
    table_print(&table, stdout);
    section("Its tensors");
    table_row(&table, "name|shape|type|bytes|bits per number|at byte");
    for (const GgufTensor *t = file.tensors; t < file.tensors + file.tensor_count; t++) {
        char shape[SHAPE_TEXT];
        double bits = 8.0 * (double)gguf_block_bytes(t->type) / (double)gguf_block_numbers(t->type);
        table_row(&table, "%s|%s|%s|%zu|%g|%td", t->name, shape_text(shape, t->rank, t->shape),
                  gguf_type_name(t->type), t->bytes, bits, (const char *)t->data - bytes);
    }
    table_print(&table, stdout);
    gguf_close(&file);
    free(bytes);
}
