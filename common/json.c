#include "common/json.h"
#include "common/error.h"

#include <stdlib.h>

static void *memory(size_t bytes) { return xrealloc(NULL, bytes); }

static json_t *read_as(size_t flags, const char *text, size_t length, json_error_t *problem) {
    json_set_alloc_funcs(memory, free);
    return json_loadb(text, length, flags | JSON_REJECT_DUPLICATES, problem);
}

json_t *json_read(const char *text, size_t length, json_error_t *problem) {
    return read_as(0, text, length, problem);
}

json_t *json_read_reals(const char *text, size_t length, json_error_t *problem) {
    return read_as(JSON_DECODE_INT_AS_REAL, text, length, problem);
}

bool json_is_whole(const json_t *value, int low, int high) {
    return json_is_integer(value) && json_integer_value(value) >= low &&
           json_integer_value(value) <= high;
}

json_t *json_new(void) { return json_read("{}", 2, NULL); }
