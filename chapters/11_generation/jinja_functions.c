#include "11_generation/jinja_parts.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static Text text_argument(Jinja *j, const Arguments *a, int index) {
    if (index >= a->count || a->values[index].kind != TEXT) jinja_wrong(j, "argument %d should be a text", index + 1);
    return a->values[index].text;
}

/* ------------------------------------------------------------------ functions */

static Value strftime_now(Jinja *j, Text format) {
    char written[64], as_string[64] = "";
    struct tm today;
    time_t now = time(NULL);
    if (format.length >= sizeof as_string) jinja_wrong(j, "so long a form for a date");
    memcpy(as_string, format.letters, format.length);
    return value_of_text(text_of(j, written, strftime(written, sizeof written, as_string, localtime_r(&now, &today)),
                                 false));
}

static long number_argument(Jinja *j, const Arguments *a, int index) {
    const bool is = index < a->count && a->values[index].kind == NUMBER;
    if (!is) jinja_wrong(j, "argument %d should be a number", index + 1);
    return a->values[index].number;
}

/* range(to), range(from, to) */
static Value range(Jinja *j, const Arguments *a) {
    enum { MOST = 1 << 16 };
    if (a->count != 1 && a->count != 2) jinja_wrong(j, "range(…) is known with one or two numbers");
    long from = a->count == 2 ? number_argument(j, a, 0) : 0, to = number_argument(j, a, a->count - 1);
    if (from < -MOST || to > MOST) jinja_wrong(j, "too long a range");
    Values *list = values_new(j, to > from ? (size_t)(to - from) : 0);
    for (size_t i = 0; i < list->count; i++) list->values[i] = value_of_number(NUMBER, from + (long)i);
    return (Value){.kind = LIST, .list = list};
}

Value jinja_call(Jinja *j, Text name, const Arguments *a) {
    if (!j->live) return (Value){0};
    if (text_is(name, "raise_exception")) {
        Text why = text_argument(j, a, 0);
        jinja_wrong(j, "it refuses this conversation: %.*s", (int)(why.length < 200 ? why.length : 200), why.letters);
    }
    if (text_is(name, "strftime_now")) return strftime_now(j, text_argument(j, a, 0));
    if (text_is(name, "range")) return range(j, a);
    if (!text_is(name, "namespace")) jinja_wrong(j, "%.*s(…) is not known here", (int)name.length, name.letters);
    Names *names = names_new(j, NULL);
    names->unique = true;
    for (int i = 0; i < a->count; i++)
        if (a->names[i].length) names_set(j, names, a->names[i], a->values[i]);
    return (Value){.kind = MAP, .map = names};
}

/* A role's name, such as User: letters of ASCII. */
static Value cased(Jinja *j, Text text, int first(int), int others(int), bool one_word) {
    Text copy = text_joined(j, text, text_of(j, "", 0, false));
    for (size_t i = 0; i < text.length; i++) {
        unsigned char letter = (unsigned char)text.letters[i];
        if (letter > 127 || (one_word && !isalpha(letter)))
            jinja_wrong(j, "upper and lower case are known of ASCII alone, and title of one word");
        ((char *)copy.letters)[i] = (char)(i == 0 ? first(letter) : others(letter));
    }
    return value_of_text(copy);
}

static Value split(Jinja *j, Text text, Text by, size_t most) {
    size_t count = 1, place;
    if (by.length == 0) jinja_wrong(j, "split('')");
    for (Text rest = text; count <= most && text_has(rest, by, &place); count++)
        rest = text_piece(rest, place + by.length, rest.length);
    Values *list = values_new(j, count);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 == count) place = text.length;
        else text_has(text, by, &place);
        list->values[i] = value_of_text(text_piece(text, 0, place));
        if (i + 1 < count) text = text_piece(text, place + by.length, text.length);
    }
    return (Value){.kind = LIST, .list = list};
}

/* The texts of a list, with this between two. */
static Value join(Jinja *j, const Values *list, Text between) {
    Text whole = text_of(j, "", 0, false);
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) whole = text_joined(j, whole, between);
        whole = text_joined(j, whole, value_text(j, list->values[i]));
    }
    return value_of_text(whole);
}

/* text.strip() and the like, which are filters, too; or UNDEFINED. */
static Value of_text(Jinja *j, Text text, Text name, const Arguments *a) {
    static const struct {
        const char *name;
        bool left, right;
    } strips[] = {{"strip", true, true}, {"trim", true, true}, {"lstrip", true, false}, {"rstrip", false, true}};
    for (int i = 0; i < 4; i++)
        if (text_is(name, strips[i].name))
            return value_of_text(a->count ? text_without(text, text_argument(j, a, 0), strips[i].left, strips[i].right)
                                          : text_trimmed(text, strips[i].left, strips[i].right));
    if (text_is(name, "upper")) return cased(j, text, toupper, toupper, false);
    if (text_is(name, "lower")) return cased(j, text, tolower, tolower, false);
    if (text_is(name, "capitalize")) return cased(j, text, toupper, tolower, false);
    if (text_is(name, "title")) return cased(j, text, toupper, tolower, true);
    if (text_is(name, "split") && (a->count == 1 || a->count == 2))
        return split(j, text, text_argument(j, a, 0), a->count == 2 ? (size_t)number_argument(j, a, 1) : SIZE_MAX);
    if (text_is(name, "replace") && a->count == 2)
        return join(j, split(j, text, text_argument(j, a, 0), SIZE_MAX).list, text_argument(j, a, 1));
    bool ends = text_is(name, "endswith");
    if (!ends && !text_is(name, "startswith")) return (Value){0};
    Text part = text_argument(j, a, 0);
    size_t from = ends ? text.length - part.length : 0;
    return value_of_number(BOOLEAN,
                           part.length <= text.length && memcmp(text.letters + from, part.letters, part.length) == 0);
}

Value jinja_method(Jinja *j, Value value, Text name, const Arguments *a) {
    if (!j->live) return (Value){0};
    if (value.kind == TEXT) jinja_works(j, value.text.length);
    Value result = value.kind == TEXT ? of_text(j, value.text, name, a) : (Value){0};
    if (value.kind == MAP && text_is(name, "get")) {
        result = names_get(j, value.map, text_argument(j, a, 0));
        return result.kind != UNDEFINED ? result : a->count > 1 ? a->values[1] : value_of_number(NONE, 0);
    }
    if (result.kind == UNDEFINED) jinja_wrong(j, ".%.*s(…) is not known here", (int)name.length, name.letters);
    return result;
}

/* ------------------------------------------------------------------ filters and tests */

/* selectattr("role", "equalto", "user"), or rejectattr. */
static Value select_by(Jinja *j, Value value, const Arguments *a, bool wanted) {
    if (!value_true(value)) return (Value){.kind = LIST, .list = values_new(j, 0)};
    if (value.kind != LIST || a->count != 3 ||
        !(text_is(text_argument(j, a, 1), "equalto") || text_is(text_argument(j, a, 1), "==")))
        jinja_wrong(j, "selectattr and rejectattr are known with \"equalto\" alone");
    Values *list = values_new(j, value.list->count);
    list->count = 0;
    for (size_t i = 0; i < value.list->count; i++) {
        Value item = value.list->values[i];
        Value attribute = item.kind == MAP ? names_get(j, item.map, text_argument(j, a, 0)) : (Value){0};
        if (value_equal(j, attribute, a->values[2]) == wanted) list->values[list->count++] = item;
    }
    return (Value){.kind = LIST, .list = list};
}

Value jinja_filter(Jinja *j, Value value, Text name, const Arguments *a) {
    if (!j->live) return (Value){0};
    if (value.kind == TEXT) jinja_works(j, value.text.length);
    if ((text_is(name, "length") || text_is(name, "count")) && value.kind == TEXT) {
        long characters = 0;
        for (size_t i = 0; i < value.text.length; i++) characters += (value.text.letters[i] & 0xc0) != 0x80;
        return value_of_number(NUMBER, characters);
    }
    if ((text_is(name, "length") || text_is(name, "count")) && value.kind == LIST)
        return value_of_number(NUMBER, (long)value.list->count);
    if ((text_is(name, "first") || text_is(name, "last")) && value.kind == LIST)
        return value.list->count ? value.list->values[text_is(name, "first") ? 0 : value.list->count - 1] : (Value){0};
    if ((text_is(name, "list") && value.kind == LIST) || text_is(name, "safe")) return value;
    if (text_is(name, "join") && value.kind == LIST)
        return join(j, value.list, a->count ? text_argument(j, a, 0) : text_of(j, "", 0, false));
    if (text_is(name, "string")) return value_of_text(value_text(j, value));
    if (text_is(name, "default") || text_is(name, "d"))
        return value.kind == UNDEFINED && a->count ? a->values[0] : value;
    if (text_is(name, "selectattr") || text_is(name, "rejectattr"))
        return select_by(j, value, a, text_is(name, "selectattr"));
    if (text_is(name, "trim")) value = value_of_text(value_text(j, value));
    Value result = value.kind == TEXT ? of_text(j, value.text, name, a) : (Value){0};
    if (result.kind == UNDEFINED)
        jinja_wrong(j, "the filter %.*s is not known here, or not of this", (int)name.length, name.letters);
    return result;
}

bool jinja_test(Jinja *j, Value value, Text name) {
    if (text_is(name, "defined")) return value.kind != UNDEFINED;
    if (text_is(name, "undefined")) return value.kind == UNDEFINED;
    if (text_is(name, "none")) return value.kind == NONE;
    if (text_is(name, "string")) return value.kind == TEXT;
    if (text_is(name, "number")) return value.kind == NUMBER || value.kind == BOOLEAN;
    if (text_is(name, "boolean")) return value.kind == BOOLEAN;
    if (text_is(name, "mapping")) return value.kind == MAP;
    if (text_is(name, "sequence") || text_is(name, "iterable"))
        return value.kind == LIST || value.kind == TEXT || value.kind == MAP;
    if (text_is(name, "true") || text_is(name, "false"))
        return value.kind == BOOLEAN && value.number == text_is(name, "true");
    if (text_is(name, "odd") || text_is(name, "even"))
        return value.kind == NUMBER && (value.number % 2 != 0) == text_is(name, "odd");
    if (!j->live) return false;
    jinja_wrong(j, "\"is %.*s\" is not known here", (int)name.length, name.letters);
}
