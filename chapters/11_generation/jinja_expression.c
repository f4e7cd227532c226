#include "11_generation/jinja_parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ words and signs */

static void skip_blanks(Jinja *j) { j->at += strspn(j->at, " \t\r\n"); }

static size_t name_length(const char *at) {
    size_t length = 0;
    while (isalpha((unsigned char)at[length]) || at[length] == '_' || (length && isdigit((unsigned char)at[length])))
        length++;
    return length;
}

bool jinja_word(Jinja *j, const char *word) {
    skip_blanks(j);
    size_t length = name_length(j->at);
    if (length != strlen(word) || memcmp(j->at, word, length) != 0) return false;
    j->at += length;
    return true;
}

bool jinja_sign(Jinja *j, const char *sign) {
    skip_blanks(j);
    if (strncmp(j->at, sign, strlen(sign)) != 0) return false;
    j->at += strlen(sign);
    return true;
}

Text jinja_name(Jinja *j) {
    skip_blanks(j);
    size_t length = name_length(j->at);
    if (length == 0) jinja_wrong(j, "a name should stand at \"%.20s\"", j->at);
    Text name = text_of(j, j->at, length, false);
    j->at += length;
    return name;
}

static void expect(Jinja *j, const char *sign) {
    if (!jinja_sign(j, sign)) jinja_wrong(j, "\"%s\" should stand at \"%.20s\"", sign, j->at);
}

/* ------------------------------------------------------------------ what functions and filters are given */

/* What stands between parentheses, of which the first is taken already. */
static Arguments arguments(Jinja *j) {
    Arguments a = {0};
    while (!jinja_sign(j, ")")) {
        if (a.count == 8) jinja_wrong(j, "over 8 arguments");
        skip_blanks(j);
        size_t length = name_length(j->at), blanks = strspn(j->at + length, " ");
        const char *sign = j->at + length + blanks;
        if (length && sign[0] == '=' && sign[1] != '=') {
            a.names[a.count] = jinja_name(j);
            expect(j, "=");
        }
        a.values[a.count++] = jinja_expression(j);
        if (!jinja_sign(j, ",") && *j->at != ')') jinja_wrong(j, "\")\" should stand at \"%.20s\"", j->at);
    }
    return a;
}

/* ------------------------------------------------------------------ the smallest parts */

/* 'text', "text"; those that follow each other are one. */
static Text literal(Jinja *j) {
    static const char escapes[] = "n\nt\tr\r\\\\''\"\"";
    Text whole = text_of(j, "", 0, false);
    for (skip_blanks(j); *j->at == '\'' || *j->at == '"'; skip_blanks(j)) {
        const char quote = *j->at++, *end = j->at;
        while (*end && *end != quote) end += *end == '\\' && end[1] ? 2 : 1;
        if (!*end) jinja_wrong(j, "a text without its end");
        char *letters = jinja_room(j, (size_t)(end - j->at)), *to = letters;
        for (; j->at < end; j->at++) {
            const char *escape = *j->at == '\\' && j->at[1] ? strchr(escapes, j->at[1]) : NULL;
            if (*j->at == '\\' && (!escape || (escape - escapes) % 2))
                jinja_wrong(j, "\"%.2s\" in a text is not known here", j->at);
            *to++ = escape ? escape[1] : *j->at;
            j->at += escape != NULL;
        }
        j->at++;
        whole = text_joined(j, whole, text_of(j, letters, (size_t)(to - letters), false));
    }
    return whole;
}

/* The elements of a list up to its bracket, or of a tuple, of which the first may have been read. */
static Value list_literal(Jinja *j, const char *close, size_t count, Value first) {
    enum { MOST = 64 };
    Values *list = values_new(j, MOST);
    list->values[0] = first;
    for (list->count = count; !jinja_sign(j, close); list->count++) {
        if (list->count == MOST) jinja_wrong(j, "a list of over %d", MOST);
        list->values[list->count] = jinja_expression(j);
        if (!jinja_sign(j, ",") && *j->at != *close) jinja_wrong(j, "\"%s\" should stand at \"%.20s\"", close, j->at);
    }
    return (Value){.kind = LIST, .list = list};
}

/* {'name': value, …}, of which the first brace is taken already. */
static Value map_literal(Jinja *j) {
    Names *map = names_new(j, NULL);
    while (!jinja_sign(j, "}")) {
        Value key = jinja_expression(j);
        expect(j, ":");
        Value value = jinja_expression(j);
        if (j->live && key.kind != TEXT) jinja_wrong(j, "an object with a name that is no text");
        if (j->live) names_set(j, map, key.text, value);
        if (!jinja_sign(j, ",") && *j->at != '}') jinja_wrong(j, "\"}\" should stand at \"%.20s\"", j->at);
    }
    return (Value){.kind = MAP, .map = map};
}

/* What stands in parentheses, of which the first is taken already: a value, or several with commas, a tuple. */
static Value parenthesis(Jinja *j) {
    if (jinja_sign(j, ")")) return (Value){.kind = LIST, .list = values_new(j, 0)};
    Value value = jinja_expression(j);
    if (jinja_sign(j, ",")) return list_literal(j, ")", 1, value);
    expect(j, ")");
    return value;
}

static Value primary(Jinja *j) {
    skip_blanks(j);
    jinja_works(j, 0);
    if (*j->at == '\'' || *j->at == '"') return value_of_text(literal(j));
    if (isdigit((unsigned char)*j->at)) return value_of_number(NUMBER, strtol(j->at, (char **)&j->at, 10));
    if (jinja_sign(j, "[")) return list_literal(j, "]", 0, (Value){0});
    if (jinja_sign(j, "{")) return map_literal(j);
    if (jinja_sign(j, "(")) return parenthesis(j);
    if (jinja_word(j, "true") || jinja_word(j, "True")) return value_of_number(BOOLEAN, true);
    if (jinja_word(j, "false") || jinja_word(j, "False")) return value_of_number(BOOLEAN, false);
    if (jinja_word(j, "none") || jinja_word(j, "None")) return value_of_number(NONE, 0);
    Text name = jinja_name(j);
    if (!jinja_sign(j, "(")) return names_get(j, j->scope, name);
    Arguments a = arguments(j);
    Value macro = names_get(j, j->scope, name);
    if (j->live && macro.kind == MACRO) return jinja_macro(j, macro.macro, &a);
    return jinja_call(j, name, &a);
}

/* ------------------------------------------------------------------ what stands behind them */

static Value attribute(Jinja *j, Value value, Text name) {
    if (!j->live) return (Value){0};
    if (value.kind == UNDEFINED || value.kind == NONE)
        jinja_wrong(j, "there is nothing of which \"%.*s\" could be asked", (int)name.length, name.letters);
    return value.kind == MAP ? names_get(j, value.map, name) : (Value){0};
}

/* From Python's number, where -1 is the last, to a place from 0 to count. */
static size_t place_of(long number, size_t count) {
    if (number < 0) number += (long)count;
    return number < 0 ? 0 : (size_t)number > count ? count : (size_t)number;
}

/* An end that is none is as good as one that is not there. */
static size_t end_of(Jinja *j, Value end, size_t otherwise, size_t count) {
    if (end.kind == NONE) return otherwise;
    if (end.kind != NUMBER) jinja_wrong(j, "[from:to] of what is no number");
    return place_of(end.number, count);
}

static Value slice(Jinja *j, Value value, Value from, Value to) {
    if (value.kind != LIST) jinja_wrong(j, "only of lists pieces are known here");
    size_t count = value.list->count, first = end_of(j, from, 0, count), end = end_of(j, to, count, count);
    if (end < first) end = first;
    Values *list = values_new(j, end - first);
    memcpy(list->values, value.list->values + first, (end - first) * sizeof *list->values);
    return (Value){.kind = LIST, .list = list};
}

/* list[::-1]: the last one first. */
static Value reversed(Jinja *j, Value value) {
    if (!j->live) return (Value){0};
    if (value.kind != LIST) jinja_wrong(j, "only lists are known backwards");
    Values *list = values_new(j, value.list->count);
    for (size_t i = 0; i < list->count; i++) list->values[i] = value.list->values[list->count - 1 - i];
    return (Value){.kind = LIST, .list = list};
}

/* list[index], list[from:to], list[::-1], map["name"]; the bracket is taken already. */
static Value subscript(Jinja *j, Value value) {
    if (jinja_sign(j, "::-1]")) return reversed(j, value);
    Value from = {.kind = NONE}, to = {.kind = NONE};
    bool is_slice = jinja_sign(j, ":");
    if (!is_slice) from = jinja_expression(j), is_slice = jinja_sign(j, ":");
    if (is_slice && !jinja_sign(j, "]")) to = jinja_expression(j), expect(j, "]");
    if (!is_slice) expect(j, "]");
    if (!j->live) return (Value){0};
    if (is_slice) return slice(j, value, from, to);
    if (from.kind == TEXT) return attribute(j, value, from.text);
    if (value.kind != LIST || from.kind != NUMBER) jinja_wrong(j, "[…] of what is no list");
    long index = from.number < 0 ? from.number + (long)value.list->count : from.number;
    return index >= 0 && (size_t)index < value.list->count ? value.list->values[index] : (Value){0};
}

static Value postfix(Jinja *j) {
    Value value = primary(j);
    for (;;) {
        if (jinja_sign(j, ".")) {
            Text name = jinja_name(j);
            Arguments a;
            if (jinja_sign(j, "(")) a = arguments(j), value = jinja_method(j, value, name, &a);
            else value = attribute(j, value, name);
        } else if (jinja_sign(j, "[")) value = subscript(j, value);
        else if (jinja_sign(j, "|")) {
            Text name = jinja_name(j);
            Arguments a = {0};
            if (jinja_sign(j, "(")) a = arguments(j);
            value = jinja_filter(j, value, name, &a);
        } else if (jinja_word(j, "is")) {
            bool negative = jinja_word(j, "not");
            value = value_of_number(BOOLEAN, jinja_test(j, value, jinja_name(j)) != negative);
        } else return value;
    }
}

/* ------------------------------------------------------------------ operators, those that bind closest first */

static Value unary(Jinja *j) {
    if (!jinja_sign(j, "-")) return postfix(j);
    jinja_deeper(j, 1);
    Value value = unary(j);
    jinja_deeper(j, -1);
    if (j->live && (value.kind != NUMBER || value.number < -0x7fffffff))
        jinja_wrong(j, "\"-\" before what is no number");
    return value_of_number(NUMBER, -value.number);
}

/* A sign that does not begin the end of the braces. */
static bool operator(Jinja *j, const char *sign) {
    skip_blanks(j);
    if (strncmp(j->at, "-}}", 3) == 0 || strncmp(j->at, "-%}", 3) == 0 || strncmp(j->at, "%}", 2) == 0) return false;
    return jinja_sign(j, sign);
}

static Value factors(Jinja *j) {
    for (Value left = unary(j);;) {
        bool times = operator(j, "*"), remainder = !times && operator(j, "%");
        if (!times && !remainder) return left;
        Value right = unary(j);
        if (!j->live) continue;
        if (left.kind != NUMBER || right.kind != NUMBER || (remainder && right.number <= 0))
            jinja_wrong(j, "no numbers to multiply or divide");
        if (times && __builtin_mul_overflow(left.number, right.number, &left.number))
            jinja_wrong(j, "too large a number");
        if (!remainder) continue;
        left.number %= right.number;
        if (left.number < 0) left.number += right.number; /* Python's is never negative */
    }
}

static Value add(Jinja *j, Value left, Value right, bool minus) {
    if (!j->live) return (Value){0};
    if (left.kind == TEXT && right.kind == TEXT && !minus) return value_of_text(text_joined(j, left.text, right.text));
    if (left.kind != NUMBER || right.kind != NUMBER)
        jinja_wrong(j, "what is neither two texts nor two numbers is added");
    if (minus ? __builtin_sub_overflow(left.number, right.number, &left.number)
              : __builtin_add_overflow(left.number, right.number, &left.number))
        jinja_wrong(j, "too large a number");
    return left;
}

static Value sums(Jinja *j) {
    for (Value left = factors(j);;) {
        bool joins = operator(j, "~"), minus = !joins && operator(j, "-");
        if (!joins && !minus && !operator(j, "+")) return left;
        Value right = factors(j);
        if (!joins) left = add(j, left, right, minus);
        else if (j->live) left = value_of_text(text_joined(j, value_text(j, left), value_text(j, right)));
    }
}

static bool contains(Jinja *j, Value part, Value whole) {
    if (!j->live) return false;
    if (whole.kind == TEXT) jinja_works(j, whole.text.length);
    if (whole.kind == TEXT && part.kind == TEXT) return text_has(whole.text, part.text, NULL);
    if (whole.kind == MAP && part.kind == TEXT) return names_get(j, whole.map, part.text).kind != UNDEFINED;
    if (whole.kind == UNDEFINED) return false;
    if (whole.kind != LIST) jinja_wrong(j, "\"in\" what is neither text, list nor object");
    for (size_t i = 0; i < whole.list->count; i++)
        if (value_equal(j, part, whole.list->values[i])) return true;
    return false;
}

/* Whether left < right, if they are numbers. */
static bool less(Jinja *j, Value left, Value right) {
    if (j->live && (left.kind != NUMBER || right.kind != NUMBER))
        jinja_wrong(j, "what is no number is larger or smaller");
    return left.number < right.number;
}

static Value comparisons(Jinja *j) {
    for (Value left = sums(j);;) {
        const char *start = j->at;
        bool result;
        if (operator(j, "==")) result = value_equal(j, left, sums(j));
        else if (operator(j, "!=")) result = !value_equal(j, left, sums(j));
        else if (operator(j, "<=")) result = !less(j, sums(j), left);
        else if (operator(j, ">=")) result = !less(j, left, sums(j));
        else if (operator(j, "<")) result = less(j, left, sums(j));
        else if (operator(j, ">")) result = less(j, sums(j), left);
        else if (jinja_word(j, "in")) result = contains(j, left, sums(j));
        else if (jinja_word(j, "not") && jinja_word(j, "in")) result = !contains(j, left, sums(j));
        else {
            j->at = start;
            return left;
        }
        left = value_of_number(BOOLEAN, result);
    }
}

static Value negation(Jinja *j) {
    if (!jinja_word(j, "not")) return comparisons(j);
    jinja_deeper(j, 1);
    bool holds = !value_true(negation(j));
    jinja_deeper(j, -1);
    return value_of_number(BOOLEAN, holds);
}

/* The part that does not count is only read over. */
static Value choose(Jinja *j, Value left, bool reads_on, Value next(Jinja *)) {
    bool live = j->live;
    j->live = live && reads_on;
    Value right = next(j);
    j->live = live;
    return reads_on ? right : left;
}

static Value conjunction(Jinja *j) {
    Value left = negation(j);
    while (jinja_word(j, "and")) left = choose(j, left, value_true(left), negation);
    return left;
}

static Value disjunction(Jinja *j) {
    Value left = conjunction(j);
    while (jinja_word(j, "or")) left = choose(j, left, !value_true(left), conjunction);
    return left;
}

/* Where the text ends whose quote stands here; the template's own end, if it does not. */
static const char *quoted_end(const char *at) {
    const char quote = *at++;
    while (*at && *at != quote) at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}

void jinja_skip(Jinja *j, const char *sign) {
    const char *start = j->at;
    for (int depth = 0; *j->at; j->at++) {
        if (*j->at == '\'' || *j->at == '"') j->at = quoted_end(j->at);
        else if (depth == 0 && strncmp(j->at + (*j->at == '-'), sign, 2) == 0) break;
        else if (strchr("([{", *j->at)) depth++;
        else if (strchr(")]}", *j->at)) depth--;
        if (!*j->at) break;
    }
    jinja_works(j, (size_t)(j->at - start));
}

/* this if condition else that: the condition comes behind what depends on it, and is asked first. Until it is known,
 * `this` is only read over. */
Value jinja_expression(Jinja *j) {
    const char *start = j->at;
    Value value = {0};
    jinja_deeper(j, 1);
    choose(j, value, false, disjunction);
    bool conditional = jinja_word(j, "if"), holds = !conditional || value_true(disjunction(j));
    const char *behind = j->at;
    if (j->live && holds) j->at = start, value = disjunction(j), j->at = behind;
    if (conditional && jinja_word(j, "else")) value = choose(j, value, !holds, jinja_expression);
    jinja_deeper(j, -1);
    return value;
}

Value jinja_unconditional(Jinja *j) { return disjunction(j); }
