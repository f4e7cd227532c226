#include "11_generation/jinja_parts.h"
#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jinja_wrong(const Jinja *j, const char *format, ...) {
    char what[300];
    int line = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    for (const char *c = j->source; c < j->at; c++) line += *c == '\n';
    fail("%s: its chat template, line %d: %s (--template NAME takes another)", j->template->path, line, what);
}

void jinja_deeper(Jinja *j, int by) {
    enum { DEEPEST = 100 };
    j->depth += by;
    if (j->depth > DEEPEST) jinja_wrong(j, "over %d parts stand in each other", DEEPEST);
}

void jinja_works(Jinja *j, size_t bytes) {
    enum { MOST_WORK = 1 << 26, LEAST = 128 };
    j->work += LEAST + (bytes < MOST_WORK ? bytes : MOST_WORK);
    if (j->work > MOST_WORK) jinja_wrong(j, "it would take too long for a conversation");
}

/* ------------------------------------------------------------------ what is written */

static void write_text(Jinja *j, Text text) {
    enum { MOST_TEXT = 1 << 24 };
    Rendered *out = &j->out;
    if (!j->live || text.length == 0) return;
    if (text.length > MOST_TEXT - out->length) jinja_wrong(j, "it writes more than a conversation can be");
    if (out->length + text.length > j->room) {
        j->room = 2 * (out->length + text.length);
        out->letters = reallocate(out->letters, j->room);
        out->said = reallocate(out->said, j->room * sizeof *out->said);
    }
    memcpy(out->letters + out->length, text.letters, text.length);
    memcpy(out->said + out->length, text.said, text.length * sizeof *out->said);
    out->length += text.length;
}

static bool is_space(char c) { return c && strchr(" \t\n\v\f\r", c); }

/* The text up to the next braces: without the white space that a `-` takes away, and, before a statement or a comment,
 * without the blanks that its line begins with (lstrip_blocks). Afterwards j->at is at the braces, or at the end. */
static void write_up_to_braces(Jinja *j) {
    const char *start = j->at, *end = start;
    while (*end && !(*end == '{' && end[1] && strchr("{%#", end[1]))) end++;
    const char *last = end, *line = end;
    while (line > start && (line[-1] == ' ' || line[-1] == '\t')) line--;
    const bool begins_line = line > start ? line[-1] == '\n' : start == j->source || start[-1] == '\n';
    if (*end && end[2] == '-')
        while (last > start && is_space(last[-1])) last--;
    else if (*end && end[1] != '{' && end[2] != '+' && begins_line) last = line;
    jinja_works(j, (size_t)(end - start));
    if (j->live && last > start) write_text(j, text_of(j, start, (size_t)(last - start), false));
    j->at = end;
}

/* The end of the braces: with a `-` all white space behind them goes, and behind a statement its line's end
 * (trim_blocks). */
static void close_braces(Jinja *j, const char *sign) {
    char with_minus[] = {'-', sign[0], sign[1], '\0'};
    bool strips = jinja_sign(j, with_minus);
    if (!strips && !jinja_sign(j, sign)) jinja_wrong(j, "\"%s\" should stand at \"%.20s\"", sign, j->at);
    while (strips && is_space(*j->at)) j->at++;
    if (!strips && *sign != '}' && *j->at == '\n') j->at++;
}

static void skip_comment(Jinja *j) {
    const char *end = strstr(j->at, "#}");
    if (!end) jinja_wrong(j, "a comment without its end");
    jinja_works(j, (size_t)(end - j->at));
    j->at = end[-1] == '-' ? end - 1 : end;
    close_braces(j, "#}");
}

/* ------------------------------------------------------------------ statements */

/* Runs up to a statement with one of these names, and takes that name; returns which, or -1 at the end. */
static int run(Jinja *j, int count, const char *const ends[]);

static const char *const ends_of_if[] = {"elif", "else", "endif"}, *const ends_of_for[] = {"endfor", "else"};

/* Where a branch is not taken, nothing that stands in its braces need be known here. */
static bool condition(Jinja *j) {
    if (j->live) return value_true(jinja_expression(j));
    jinja_skip(j, "%}");
    return false;
}

static void run_if(Jinja *j) {
    const bool live = j->live;
    bool holds = condition(j), taken = holds;
    for (int end = 0; end != 2;) {
        close_braces(j, "%}");
        j->live = live && holds;
        end = run(j, 3, ends_of_if);
        if (end < 0) jinja_wrong(j, "an if without its endif");
        j->live = live && !taken;
        holds = end == 0 ? condition(j) : !taken;
        taken = taken || holds;
        j->live = live;
    }
    close_braces(j, "%}");
}

static void set_loop(Jinja *j, Names *scope, size_t index, const Values *list) {
    const size_t count = list->count;
    Names *loop = names_new(j, NULL);
    loop->unique = true;
    const struct {
        const char *name;
        Kind kind;
        long number;
    } has[] = {{"index0", NUMBER, (long)index}, {"index", NUMBER, (long)index + 1}, {"first", BOOLEAN, index == 0},
               {"last", BOOLEAN, index + 1 == count}, {"length", NUMBER, (long)count},
               {"revindex0", NUMBER, (long)(count - index) - 1}, {"revindex", NUMBER, (long)(count - index)}};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        names_set(j, loop, text_of(j, has[i].name, strlen(has[i].name), false),
                  value_of_number(has[i].kind, has[i].number));
    if (index > 0) names_set(j, loop, text_of(j, "previtem", 8, false), list->values[index - 1]);
    if (index + 1 < count) names_set(j, loop, text_of(j, "nextitem", 8, false), list->values[index + 1]);
    names_set(j, scope, text_of(j, "loop", 4, false), (Value){.kind = MAP, .map = loop});
}

/* The elements of which the condition holds that stands here. */
static const Values *those_with(Jinja *j, Text name, const Values *all) {
    Values *list = values_new(j, all->count);
    Names *outer = j->scope;
    const char *asked = j->at;
    list->count = 0, j->scope = names_new(j, outer);
    if (all->count == 0) jinja_skip(j, "%}");
    for (size_t i = 0; i < all->count; i++) {
        j->at = asked;
        names_set(j, j->scope, name, all->values[i]);
        if (value_true(jinja_expression(j))) list->values[list->count++] = all->values[i];
    }
    j->scope = outer;
    return list;
}

/* "name in list", and perhaps "if condition": what the loop is over. */
static const Values *elements(Jinja *j, Text *name) {
    *name = jinja_name(j);
    if (!jinja_word(j, "in")) jinja_wrong(j, "\"in\" should stand at \"%.20s\"", j->at);
    Value over = jinja_unconditional(j);
    if (over.kind != LIST && over.kind != UNDEFINED) jinja_wrong(j, "the loop is over what is no list");
    const Values *list = over.kind == LIST ? over.list : values_new(j, 0);
    return jinja_word(j, "if") ? those_with(j, *name, list) : list;
}

/* What is set in a loop's body is gone after it: each run has a scope of its own. Without elements the body is read
 * over. */
static void run_for(Jinja *j) {
    const bool live = j->live;
    const Values *list = NULL;
    Text name;
    if (live) list = elements(j, &name);
    else jinja_skip(j, "%}");
    size_t count = live ? list->count : 0;
    close_braces(j, "%}");
    const char *body = j->at;
    int end = 0;
    for (size_t i = 0; i < count || i == 0; i++) {
        Names *outer = j->scope;
        j->at = body, j->scope = names_new(j, outer), j->live = live && count > 0;
        if (count) set_loop(j, j->scope, i, list), names_set(j, j->scope, name, list->values[i]);
        end = run(j, 2, ends_of_for);
        if (end < 0) jinja_wrong(j, "a for without its endfor");
        j->scope = outer;
    }
    j->live = live && count == 0;
    if (end == 1) {
        close_braces(j, "%}");
        if (run(j, 1, ends_of_for) < 0) jinja_wrong(j, "a for without its endfor");
    }
    j->live = live;
    close_braces(j, "%}");
}

/* What is written up to a statement of this name, and does not stand in the whole. */
static Value written(Jinja *j, const char *end) {
    const size_t start = j->out.length;
    close_braces(j, "%}");
    if (run(j, 1, &end) < 0) jinja_wrong(j, "without its %s", end);
    Text text = text_of(j, "", 0, false);
    if (j->out.length > start)
        text = text_joined(j, text, (Text){j->out.length - start, j->out.letters + start, j->out.said + start});
    j->out.length = start;
    return value_of_text(text);
}

/* set name = value, or of a namespace, set name.name = value; or set name, and the value up to endset. */
static void run_set(Jinja *j) {
    Text name = jinja_name(j), part = {0};
    bool has_part = jinja_sign(j, ".");
    if (has_part) part = jinja_name(j);
    Value value = jinja_sign(j, "=") ? jinja_expression(j) : written(j, "endset");
    close_braces(j, "%}");
    if (!has_part) {
        names_set(j, j->scope, name, value);
        return;
    }
    Value space = names_get(j, j->scope, name);
    if (space.kind != MAP) jinja_wrong(j, "%.*s is no namespace", (int)name.length, name.letters);
    names_set(j, space.map, part, value);
}

/* macro name(parameters): the name stands for what is behind it, which is only read over here. */
static void run_macro(Jinja *j) {
    const bool live = j->live;
    Text name = jinja_name(j);
    if (live) names_set(j, j->scope, name, (Value){.kind = MACRO, .macro = j->at});
    jinja_skip(j, "%}");
    j->live = false;
    written(j, "endmacro");
    j->live = live;
    close_braces(j, "%}");
}

/* The parameters that stand here become what the macro is given by their names or in this order, or what stands behind
 * their `=`. */
static void set_parameters(Jinja *j, const Arguments *a) {
    if (!jinja_sign(j, "(")) jinja_wrong(j, "a macro without parentheses");
    for (int i = 0; !jinja_sign(j, ")"); i++) {
        Text name = jinja_name(j);
        Value value = jinja_sign(j, "=") ? jinja_expression(j) : (Value){0};
        for (int k = 0; k < a->count; k++)
            if (a->names[k].length ? text_equal(a->names[k], name) : k == i) value = a->values[k];
        names_set(j, j->scope, name, value);
        if (!jinja_sign(j, ",") && *j->at != ')') jinja_wrong(j, "\")\" should stand at \"%.20s\"", j->at);
    }
}

Value jinja_macro(Jinja *j, const char *macro, const Arguments *a) {
    const char *back = j->at;
    Names *scope = j->scope, *whole = scope;
    while (whole->outer) whole = whole->outer; /* it does not see what its caller has set in a loop */
    jinja_deeper(j, 1);
    j->at = macro, j->scope = names_new(j, whole);
    set_parameters(j, a);
    Value text = written(j, "endmacro");
    j->at = back, j->scope = scope;
    jinja_deeper(j, -1);
    return text;
}

static void run_statement(Jinja *j) {
    jinja_deeper(j, 1);
    if (jinja_word(j, "if")) run_if(j);
    else if (jinja_word(j, "for")) run_for(j);
    else if (jinja_word(j, "macro")) run_macro(j);
    else if (!j->live) jinja_skip(j, "%}"), close_braces(j, "%}");
    else if (jinja_word(j, "set")) run_set(j);
    else if (jinja_word(j, "generation") || jinja_word(j, "endgeneration")) close_braces(j, "%}"); /* for who trains */
    else {
        Text name = jinja_name(j);
        jinja_wrong(j, "{%% %.*s %%} is not known here", (int)(name.length < 40 ? name.length : 40), name.letters);
    }
    jinja_deeper(j, -1);
}

static int run(Jinja *j, int count, const char *const ends[]) {
    for (;;) {
        write_up_to_braces(j);
        if (!*j->at) return -1;
        const char kind = j->at[1];
        j->at += 2;
        if (*j->at == '-' || (*j->at == '+' && kind != '{')) j->at++;
        if (kind == '#') {
            skip_comment(j);
            continue;
        }
        if (kind == '{') {
            if (j->live) write_text(j, value_text(j, jinja_expression(j)));
            else jinja_skip(j, "}}");
            close_braces(j, "}}");
            continue;
        }
        for (int end = 0; end < count; end++)
            if (jinja_word(j, ends[end])) return end;
        run_statement(j);
    }
}

/* ------------------------------------------------------------------ the whole */

static void set(Jinja *j, Names *names, const char *name, Value value) {
    names_set(j, names, text_of(j, name, strlen(name), false), value);
}

static Value as_text(Jinja *j, const char *letters, bool said) {
    return value_of_text(text_of(j, letters, strlen(letters), said));
}

/* What transformers gives a template. There are no tools and no documents. */
static void set_what_is_given(Jinja *j, size_t count, const Message messages[count]) {
    Values *list = values_new(j, count);
    for (size_t i = 0; i < count; i++) {
        Names *message = names_new(j, NULL);
        set(j, message, "role", as_text(j, messages[i].role, false));
        set(j, message, "content", as_text(j, messages[i].content, true));
        list->values[i] = (Value){.kind = MAP, .map = message};
    }
    set(j, j->scope, "messages", (Value){.kind = LIST, .list = list});
    set(j, j->scope, "add_generation_prompt", value_of_number(BOOLEAN, true));
    set(j, j->scope, "tools", value_of_number(NONE, 0)), set(j, j->scope, "documents", value_of_number(NONE, 0));
    static const char *const functions[] = {"raise_exception", "strftime_now", "namespace"};
    for (int i = 0; i < 3; i++) set(j, j->scope, functions[i], value_of_number(BOOLEAN, true)); /* it is defined */
    if (j->template->bos) set(j, j->scope, "bos_token", as_text(j, j->template->bos, false));
    if (j->template->eos) set(j, j->scope, "eos_token", as_text(j, j->template->eos, false));
    if (j->template->date) set(j, j->scope, "date_string", as_text(j, j->template->date, true));
}

/* A line ends with \n, and a template's last line without one. */
static char *with_plain_lines(const char *source) {
    char *plain = copy_text(source, strlen(source)), *to = plain;
    for (const char *from = source; *from; from++)
        if (*from != '\r') *to++ = *from;
        else if (from[1] != '\n') *to++ = '\n';
    if (to > plain && to[-1] == '\n') to--;
    *to = '\0';
    return plain;
}

Rendered template_render(const Template *template, size_t count, const Message messages[count]) {
    char *source = with_plain_lines(template->source);
    Jinja j = {.template = template, .source = source, .at = source, .live = true};
    j.scope = names_new(&j, NULL);
    set_what_is_given(&j, count, messages);
    run(&j, 0, NULL);
    jinja_free(&j);
    free(source);
    return j.out;
}

void rendered_free(Rendered *rendered) { free(rendered->letters), free(rendered->said); }
