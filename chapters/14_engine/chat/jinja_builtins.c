/* The functions, methods, filters and tests that have a name. */
#include "14_engine/chat/jinja_internal.h"
#include "11_generation/white_space.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------------ arguments */

static String text_argument(Jinja *j, const Arguments *a, int index) {
    if (index >= a->count || a->values[index].kind != STRING)
        jinja_fail(j, "argument %d should be a text", index + 1);
    return a->values[index].string;
}

static int64_t number_argument(Jinja *j, const Arguments *a, int index) {
    if (index >= a->count || a->values[index].kind != NUMBER)
        jinja_fail(j, "argument %d should be a number", index + 1);
    return a->values[index].number;
}

/* ------------------------------------------------------------------ functions */

static Value raise_exception(Jinja *j, const Arguments *a) {
    String why = text_argument(j, a, 0);
    jinja_fail(j, "it refuses this conversation: %.*s", (int)(why.length < 200 ? why.length : 200),
               why.bytes);
}

static Value strftime_now(Jinja *j, const Arguments *a) {
    char written[64], format[64] = "";
    String wanted = text_argument(j, a, 0);
    struct tm today;
    time_t now = time(NULL);
    if (wanted.length >= sizeof format) jinja_fail(j, "so long a form for a date");
    if (wanted.length) memcpy(format, wanted.bytes, wanted.length);
    size_t length = strftime(written, sizeof written, format, localtime_r(&now, &today));
    return jinja_text_value(jinja_string(j, length, written, false));
}

/* range(to), range(from, to) */
static Value range(Jinja *j, const Arguments *a) {
    enum { MOST = 1 << 16 };
    if (a->count != 1 && a->count != 2) jinja_fail(j, "range(…) is known with one or two numbers");
    int64_t from = a->count == 2 ? number_argument(j, a, 0) : 0,
            to = number_argument(j, a, a->count - 1);
    if (from < -MOST || to > MOST) jinja_fail(j, "too long a range");
    List *list = jinja_list(j, to > from ? (size_t)(to - from) : 0);
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = jinja_number_value(NUMBER, from + (int64_t)i);
    return jinja_list_value(list);
}

static Value namespace(Jinja *j, const Arguments *a) {
    Map *map = jinja_map(j, NULL);
    map->by_identity = true;
    for (int i = 0; i < a->count; i++)
        if (a->names[i].length) jinja_set(j, map, a->names[i], a->values[i]);
    return (Value){.kind = MAP, .map = map};
}

Value jinja_call_function(Jinja *j, String name, const Arguments *a) {
    static const struct {
        const char *name;
        Value (*call)(Jinja *, const Arguments *);
    } functions[] = {{"raise_exception", raise_exception},
                     {"strftime_now", strftime_now},
                     {"range", range},
                     {"namespace", namespace}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (jinja_is(name, functions[i].name)) return functions[i].call(j, a);
    jinja_fail(j, "%.*s(…) is not known here", (int)name.length, name.bytes);
}

/* ------------------------------------------------------------------ methods of a text */

/* Whether these bytes are at an end of the string. */
static bool ends_with(String string, size_t length, const char *bytes, bool at_end) {
    if (length > string.length) return false;
    return length == 0 ||
           memcmp(string.bytes + (at_end ? string.length - length : 0), bytes, length) == 0;
}

/* The bytes of the character at an end of the string, if it is one of these; 0 if it is not. */
static size_t one_of_at(Jinja *j, String string, String characters, bool at_end) {
    jinja_work(j, characters.length);
    for (size_t i = 0, n; i < characters.length; i += n) {
        for (n = 1; i + n < characters.length && (characters.bytes[i + n] & 0xc0) == 0x80;) n++;
        if (ends_with(string, n, characters.bytes + i, at_end)) return n;
    }
    return 0;
}

/* The string without white space at its ends, or without the characters of the first argument. */
static Value stripped(Jinja *j, String s, const Arguments *a, bool left, bool right) {
    size_t n;
    if (a->count == 0) {
        while (left && (n = white_space_at(s.length, s.bytes, false)) > 0)
            s = jinja_substring(s, n, s.length);
        while (right && (n = white_space_at(s.length, s.bytes, true)) > 0)
            s = jinja_substring(s, 0, s.length - n);
        return jinja_text_value(s);
    }
    const String set = text_argument(j, a, 0);
    while (left && (n = one_of_at(j, s, set, false)) > 0) s = jinja_substring(s, n, s.length);
    while (right && (n = one_of_at(j, s, set, true)) > 0) s = jinja_substring(s, 0, s.length - n);
    return jinja_text_value(s);
}

static Value strip(Jinja *j, String string, const Arguments *a) {
    return stripped(j, string, a, true, true);
}
static Value lstrip(Jinja *j, String string, const Arguments *a) {
    return stripped(j, string, a, true, false);
}
static Value rstrip(Jinja *j, String string, const Arguments *a) {
    return stripped(j, string, a, false, true);
}

/* The name of a role, such as User: letters of ASCII. */
static Value cased(Jinja *j, String string, int first(int), int others(int), bool one_word) {
    char *bytes = jinja_allocate(j, string.length);
    for (size_t i = 0; i < string.length; i++) {
        unsigned char letter = (unsigned char)string.bytes[i];
        if (letter > 127 || (one_word && !isalpha(letter)))
            jinja_fail(j, "upper and lower case are known of ASCII alone, and title of one word");
        bytes[i] = (char)(i == 0 ? first(letter) : others(letter));
    }
    return jinja_text_value((String){string.length, bytes, string.said});
}

static Value upper(Jinja *j, String string, const Arguments *) {
    return cased(j, string, toupper, toupper, false);
}
static Value lower(Jinja *j, String string, const Arguments *) {
    return cased(j, string, tolower, tolower, false);
}
static Value capitalize(Jinja *j, String string, const Arguments *) {
    return cased(j, string, toupper, tolower, false);
}
static Value title(Jinja *j, String string, const Arguments *) {
    return cased(j, string, toupper, tolower, true);
}

/* The parts between separators, at most so many of which count. */
static const List *split_by(Jinja *j, String string, String separator, size_t most) {
    size_t count = 1, place;
    if (separator.length == 0) jinja_fail(j, "split('')");
    for (String rest = string; count <= most && jinja_find(rest, separator, &place); count++)
        rest = jinja_substring(rest, place + separator.length, rest.length);
    List *list = jinja_list(j, count);
    for (size_t i = 0; i + 1 < count; i++) {
        jinja_find(string, separator, &place);
        list->items[i] = jinja_text_value(jinja_substring(string, 0, place));
        string = jinja_substring(string, place + separator.length, string.length);
    }
    list->items[count - 1] = jinja_text_value(string);
    return list;
}

static Value split(Jinja *j, String string, const Arguments *a) {
    if (a->count != 1 && a->count != 2) return (Value){0};
    const int64_t most = a->count == 2 ? number_argument(j, a, 1) : -1; /* below 0: all */
    return jinja_list_value(split_by(j, string, text_argument(j, a, 0), (size_t)most));
}

static Value join_with(Jinja *j, const List *list, String between) {
    String whole = jinja_string(j, 0, "", false);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) whole = jinja_concatenate(j, whole, between);
        whole = jinja_concatenate(j, whole, jinja_printed(j, list->items[i]));
    }
    return jinja_text_value(whole);
}

static Value replace(Jinja *j, String string, const Arguments *a) {
    if (a->count != 2) return (Value){0};
    return join_with(j, split_by(j, string, text_argument(j, a, 0), SIZE_MAX),
                     text_argument(j, a, 1));
}

static Value startswith(Jinja *j, String string, const Arguments *a) {
    String part = text_argument(j, a, 0);
    return jinja_number_value(BOOLEAN, ends_with(string, part.length, part.bytes, false));
}

static Value endswith(Jinja *j, String string, const Arguments *a) {
    String part = text_argument(j, a, 0);
    return jinja_number_value(BOOLEAN, ends_with(string, part.length, part.bytes, true));
}

/* A method of a text, or a filter, by its name; UNDEFINED if there is none for these arguments. */
static Value call_of_text(Jinja *j, String string, String name, const Arguments *a) {
    static const struct {
        const char *name;
        Value (*call)(Jinja *, String, const Arguments *);
    } calls[] = {
        {"strip", strip}, {"trim", strip},      {"lstrip", lstrip},         {"rstrip", rstrip},
        {"upper", upper}, {"lower", lower},     {"capitalize", capitalize}, {"title", title},
        {"split", split}, {"replace", replace}, {"startswith", startswith}, {"endswith", endswith}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (jinja_is(name, calls[i].name)) return calls[i].call(j, string, a);
    return (Value){0};
}

Value jinja_call_method(Jinja *j, Value value, String name, const Arguments *a) {
    Value result = {0};
    jinja_work(j, value.kind == STRING ? value.string.length : 0);
    if (value.kind == MAP && !value.map->by_identity && jinja_is(name, "get")) {
        result = jinja_get(j, value.map, text_argument(j, a, 0));
        if (result.kind != UNDEFINED) return result;
        return a->count > 1 ? a->values[1] : jinja_number_value(NONE, 0);
    }
    if (value.kind == STRING) result = call_of_text(j, value.string, name, a);
    if (result.kind == UNDEFINED)
        jinja_fail(j, ".%.*s(…) is not known here", (int)name.length, name.bytes);
    return result;
}

/* ------------------------------------------------------------------ filters */

/* The filters of other values than texts. UNDEFINED, if the value is not of their kind. */

static Value length(Jinja *, Value value, const Arguments *) {
    int64_t characters = 0;
    if (value.kind == LIST) return jinja_number_value(NUMBER, (int64_t)value.list->count);
    if (value.kind != STRING) return (Value){0};
    for (size_t i = 0; i < value.string.length; i++)
        characters += (value.string.bytes[i] & 0xc0) != 0x80;
    return jinja_number_value(NUMBER, characters);
}

static Value join(Jinja *j, Value value, const Arguments *a) {
    const List *items = jinja_items(j, value);
    if (!items) return (Value){0};
    return join_with(j, items, a->count ? text_argument(j, a, 0) : (String){0});
}

/* The items whose attribute equals a value, or those of which it does not. */
static Value select_by(Jinja *j, Value value, const Arguments *a, bool wanted) {
    static const List none = {0};
    const List *items = jinja_true(value) ? jinja_items(j, value) : &none;
    if (!items || a->count != 3 ||
        !(jinja_is(text_argument(j, a, 1), "equalto") || jinja_is(text_argument(j, a, 1), "==")))
        jinja_fail(j, "selectattr and rejectattr are known with \"equalto\" alone");
    List *list = jinja_list(j, items->count);
    list->count = 0;
    for (size_t i = 0; i < items->count; i++) {
        Value item = items->items[i];
        Value attribute =
            item.kind == MAP ? jinja_get(j, item.map, text_argument(j, a, 0)) : (Value){0};
        if (jinja_equal(j, attribute, a->values[2]) == wanted) list->items[list->count++] = item;
    }
    return (Value){.kind = GENERATOR, .list = list};
}

/* selectattr("role", "equalto", "user") */
static Value selectattr(Jinja *j, Value value, const Arguments *a) {
    return select_by(j, value, a, true);
}
static Value rejectattr(Jinja *j, Value value, const Arguments *a) {
    return select_by(j, value, a, false);
}

static Value list(Jinja *j, Value value, const Arguments *) {
    const List *items = jinja_items(j, value);
    return items ? jinja_list_value(items) : (Value){0};
}

static Value first(Jinja *j, Value value) {
    const List *items = jinja_items(j, value);
    return items->count ? items->items[0] : (Value){0};
}

static Value string(Jinja *j, Value value, const Arguments *) {
    return jinja_text_value(jinja_printed(j, value));
}

static Value trim(Jinja *j, Value value, const Arguments *a) {
    return strip(j, jinja_printed(j, value), a);
}

Value jinja_call_filter(Jinja *j, Value value, String name, const Arguments *a) {
    static const struct {
        const char *name;
        Value (*call)(Jinja *, Value, const Arguments *);
    } filters[] = {{"length", length},
                   {"count", length},
                   {"join", join},
                   {"selectattr", selectattr},
                   {"rejectattr", rejectattr},
                   {"list", list},
                   {"string", string},
                   {"trim", trim}};
    Value result = {0};
    jinja_work(j, value.kind == STRING ? value.string.length : 0);
    if (jinja_is(name, "safe")) return value.kind == STRING ? value : string(j, value, a);
    if (jinja_is(name, "default") || jinja_is(name, "d")) {
        const bool counts_false = a->count > 1 && jinja_true(a->values[1]);
        return a->count && (counts_false ? !jinja_true(value) : value.kind == UNDEFINED)
                   ? a->values[0]
                   : value;
    }
    if ((value.kind == LIST || value.kind == GENERATOR) && jinja_is(name, "first"))
        return first(j, value);
    if (value.kind == LIST && jinja_is(name, "last"))
        return value.list->count ? value.list->items[value.list->count - 1] : result;
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        if (jinja_is(name, filters[i].name)) result = filters[i].call(j, value, a);
    if (value.kind == STRING && result.kind == UNDEFINED)
        result = call_of_text(j, value.string, name, a);
    if (result.kind == UNDEFINED)
        jinja_fail(j, "the filter %.*s is not known here, or not of this", (int)name.length,
                   name.bytes);
    return result;
}

/* ------------------------------------------------------------------ tests */

static bool is_odd(Jinja *j, Value value) {
    if (value.kind != NUMBER && value.kind != BOOLEAN)
        jinja_fail(j, "what is no number is odd or even");
    return value.number % 2 != 0;
}

/* An undefined value is an empty sequence, as jinja2 has it. */
static bool is_sequence(Jinja *j, Value value) {
    if (value.kind == MAP && value.map->by_identity)
        jinja_fail(j, "is a loop or a namespace a sequence? That is not known here");
    return value.kind == LIST || value.kind == STRING || value.kind == MAP ||
           value.kind == UNDEFINED;
}

bool jinja_call_test(Jinja *j, Value value, String name, const Arguments *a) {
    if (a->count) jinja_fail(j, "\"is %.*s(…)\" is not known here", (int)name.length, name.bytes);
    if (jinja_is(name, "defined")) return value.kind != UNDEFINED;
    if (jinja_is(name, "undefined")) return value.kind == UNDEFINED;
    if (jinja_is(name, "none")) return value.kind == NONE;
    if (jinja_is(name, "string")) return value.kind == STRING;
    if (jinja_is(name, "number")) return value.kind == NUMBER || value.kind == BOOLEAN;
    if (jinja_is(name, "boolean")) return value.kind == BOOLEAN;
    if (jinja_is(name, "mapping")) return value.kind == MAP && !value.map->by_identity;
    if (jinja_is(name, "sequence")) return is_sequence(j, value);
    if (jinja_is(name, "iterable")) return value.kind == GENERATOR || is_sequence(j, value);
    if (jinja_is(name, "true")) return value.kind == BOOLEAN && value.number;
    if (jinja_is(name, "false")) return value.kind == BOOLEAN && !value.number;
    if (jinja_is(name, "odd")) return is_odd(j, value);
    if (jinja_is(name, "even")) return !is_odd(j, value);
    jinja_fail(j, "\"is %.*s\" is not known here", (int)name.length, name.bytes);
}
