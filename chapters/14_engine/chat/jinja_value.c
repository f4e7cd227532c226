/* Strings, values and scopes; the memory of a run, and its limits. */
#include "14_engine/chat/jinja_internal.h"
#include "common/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ errors and limits */

void jinja_fail(const Jinja *j, const char *format, ...) {
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fail("%s: its chat template, line %d: %s (--chat-template NAME takes another)",
         j->template->path, j->line, message);
}

void jinja_nest(Jinja *j, int depth) {
    j->depth += depth;
    if (j->depth > DEEPEST) jinja_fail(j, "over %d parts stand in each other", DEEPEST);
}

void jinja_work(Jinja *j, size_t bytes) {
    enum { MOST_WORK = 1 << 26, LEAST = 128 }; /* a step costs as much as so many bytes */
    j->work += LEAST + (bytes < MOST_WORK ? bytes : MOST_WORK);
    if (j->work > MOST_WORK) jinja_fail(j, "it would take too long for a conversation");
}

struct Allocation {
    struct Allocation *older;
};

void *jinja_allocate(Jinja *j, size_t bytes) {
    enum { MOST_MEMORY = 1 << 26, LEAST = 64 }; /* a small piece takes so much at least */
    j->memory += bytes + LEAST;
    if (bytes > MOST_MEMORY || j->memory > MOST_MEMORY)
        jinja_fail(j, "it takes too much memory for a conversation");
    struct Allocation *allocation = xmalloc(sizeof *allocation + bytes);
    allocation->older = j->newest;
    j->newest = allocation;
    return memset(allocation + 1, 0, bytes);
}

void jinja_free(Jinja *j) {
    for (struct Allocation *older; j->newest; j->newest = older) {
        older = j->newest->older;
        free(j->newest);
    }
}

/* ------------------------------------------------------------------ strings */

/* Room for the marks and the bytes of a string. */
static String string_new(Jinja *j, size_t length, char **bytes, bool **said) {
    *said = jinja_allocate(j, length * (sizeof **said + 1));
    *bytes = (char *)(*said + length);
    return (String){length, *bytes, *said};
}

String jinja_string(Jinja *j, size_t length, const char *bytes, bool said) {
    char *copy;
    bool *marks;
    String string = string_new(j, length, &copy, &marks);
    memcpy(copy, bytes, length);
    for (size_t i = 0; i < length; i++) marks[i] = said;
    return string;
}

String jinja_concatenate(Jinja *j, String left, String right) {
    char *bytes;
    bool *said;
    String whole = string_new(j, left.length + right.length, &bytes, &said);
    if (left.length) {
        memcpy(bytes, left.bytes, left.length);
        memcpy(said, left.said, left.length * sizeof *said);
    }
    if (right.length) {
        memcpy(bytes + left.length, right.bytes, right.length);
        memcpy(said + left.length, right.said, right.length * sizeof *said);
    }
    return whole;
}

String jinja_substring(String string, size_t from, size_t to) {
    return (String){to - from, string.bytes + from, string.said + from};
}

static bool same_bytes(String left, String right) {
    return left.length == right.length &&
           (left.length == 0 || memcmp(left.bytes, right.bytes, left.length) == 0);
}

bool jinja_is(String string, const char *text) {
    return same_bytes(string, (String){strlen(text), text, NULL});
}

bool jinja_find(String string, String part, size_t *place) {
    const char *found =
        part.length ? memmem(string.bytes, string.length, part.bytes, part.length) : string.bytes;
    if (found && place) *place = (size_t)(found - string.bytes);
    return found;
}

/* ------------------------------------------------------------------ values */

Value jinja_text_value(String string) { return (Value){.kind = STRING, .string = string}; }
Value jinja_number_value(ValueKind kind, int64_t number) {
    return (Value){.kind = kind, .number = number};
}
Value jinja_list_value(const List *list) { return (Value){.kind = LIST, .list = list}; }

List *jinja_list(Jinja *j, size_t count) {
    List *list = jinja_allocate(j, sizeof *list + count * sizeof *list->items);
    *list = (List){.count = count};
    return list;
}

const List *jinja_items(Jinja *j, Value value) {
    if (value.kind == LIST) return value.list;
    if (value.kind != GENERATOR) return NULL;
    if (value.list->used)
        jinja_fail(j, "what selectattr or rejectattr found can be used once: | list keeps it");
    ((List *)value.list)->used = true;
    return value.list;
}

bool jinja_true(Value value) {
    switch (value.kind) {
    case BOOLEAN:
    case NUMBER: return value.number != 0;
    case STRING: return value.string.length > 0;
    case LIST: return value.list->count > 0;
    case MAP: return value.map->by_identity || value.map->count > 0;
    case GENERATOR:
    case MACRO: return true;
    default: return false;
    }
}

static bool maps_equal(Jinja *j, const Map *left, const Map *right) {
    if (left == right) return true;
    if (left->count != right->count || left->by_identity || right->by_identity) return false;
    for (size_t i = 0; i < left->count; i++)
        if (!jinja_equal(j, left->entries[i].value, jinja_get(j, right, left->entries[i].name)))
            return false;
    return true;
}

static bool lists_equal(Jinja *j, const List *left, const List *right) {
    if (left->count != right->count) return false;
    for (size_t i = 0; i < left->count; i++)
        if (!jinja_equal(j, left->items[i], right->items[i])) return false;
    return true;
}

static bool is_number(Value value) { return value.kind == BOOLEAN || value.kind == NUMBER; }

bool jinja_equal(Jinja *j, Value left, Value right) {
    bool equal = true;
    if (is_number(left) && is_number(right)) return left.number == right.number;
    jinja_work(j, left.kind == STRING ? left.string.length : 0);
    if (left.kind != right.kind) return false;
    jinja_nest(j, 1);
    if (left.kind == STRING) equal = same_bytes(left.string, right.string);
    if (left.kind == LIST) equal = lists_equal(j, left.list, right.list);
    if (left.kind == GENERATOR) equal = left.list == right.list;
    if (left.kind == MAP) equal = maps_equal(j, left.map, right.map);
    if (left.kind == MACRO) equal = left.macro == right.macro;
    jinja_nest(j, -1);
    return equal;
}

String jinja_printed(Jinja *j, Value value) {
    char number[32];
    switch (value.kind) {
    case UNDEFINED: return jinja_string(j, 0, "", false);
    case NONE: return jinja_string(j, 4, "None", false);
    case BOOLEAN:
        return value.number ? jinja_string(j, 4, "True", false)
                            : jinja_string(j, 5, "False", false);
    case NUMBER:
        return jinja_string(j, (size_t)snprintf(number, sizeof number, "%" PRId64, value.number),
                            number, false);
    case STRING: return value.string;
    default: jinja_fail(j, "a list or an object is to be printed: no conversation needs that");
    }
}

/* ------------------------------------------------------------------ scopes */

Map *jinja_map(Jinja *j, Map *outer) {
    Map *map = jinja_allocate(j, sizeof *map);
    map->outer = outer;
    return map;
}

static Value *find(const Map *map, String name) {
    for (size_t i = 0; i < map->count; i++)
        if (same_bytes(map->entries[i].name, name)) return &map->entries[i].value;
    return NULL;
}

void jinja_set(Jinja *j, Map *map, String name, Value value) {
    Value *place = find(map, name);
    jinja_work(j, map->count);
    if (place) {
        *place = value;
        return;
    }
    if (map->count == map->capacity) {
        const Entry *before = map->entries;
        map->capacity = map->capacity ? 2 * map->capacity : 4;
        map->entries = jinja_allocate(j, map->capacity * sizeof *map->entries);
        if (map->count) memcpy(map->entries, before, map->count * sizeof *map->entries);
    }
    map->entries[map->count++] = (Entry){name, value};
}

void jinja_set_named(Jinja *j, Map *map, const char *name, Value value) {
    jinja_set(j, map, jinja_string(j, strlen(name), name, false), value);
}

Value jinja_get(Jinja *j, const Map *map, String name) {
    for (; map; map = map->outer) {
        jinja_work(j, map->count);
        const Value *found = find(map, name);
        if (found) return *found;
    }
    return (Value){0};
}
