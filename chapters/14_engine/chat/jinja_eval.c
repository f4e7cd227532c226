/* The tree → text: expressions have values, statements write. */
#include "14_engine/chat/jinja_internal.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

static Value eval(Jinja *j, const Node *node);
static void run(Jinja *j, const Node *statement);

/* ------------------------------------------------------------------ writing */

static void write_string(Jinja *j, String string) {
    enum { MOST_TEXT = 1 << 24 };
    Rendered *out = &j->out;
    jinja_work(j, string.length);
    if (string.length == 0) return;
    if (string.length > MOST_TEXT - out->length)
        jinja_fail(j, "it writes more than a conversation can be");
    if (out->length + string.length > j->out_capacity) {
        j->out_capacity = 2 * (out->length + string.length);
        out->letters = xrealloc(out->letters, j->out_capacity);
        out->said = xrealloc(out->said, j->out_capacity * sizeof *out->said);
    }
    memcpy(out->letters + out->length, string.bytes, string.length);
    memcpy(out->said + out->length, string.said, string.length * sizeof *out->said);
    out->length += string.length;
}

/* The text that statements write. It is taken out of the output again. */
static Value capture(Jinja *j, const Node *statements) {
    const size_t start = j->out.length;
    run(j, statements);
    String written = jinja_string(j, 0, "", false);
    if (j->out.length > start)
        written = jinja_concatenate(
            j, written,
            (String){j->out.length - start, j->out.letters + start, j->out.said + start});
    j->out.length = start;
    return jinja_text_value(written);
}

/* ------------------------------------------------------------------ calls */

static Arguments arguments(Jinja *j, const Node *argument) {
    Arguments a = {0};
    for (; argument; argument = argument->next) {
        a.names[a.count] = argument->name;
        a.values[a.count++] = eval(j, argument->first);
    }
    return a;
}

/* A parameter is the argument of its name or of its place, or else its default. */
static void set_parameters(Jinja *j, const Node *parameters, const Arguments *a) {
    int place = 0;
    if (parameters->kind == NODE_ERROR) eval(j, parameters);
    for (const Node *parameter = parameters->first; parameter;
         parameter = parameter->next, place++) {
        Value value = parameter->first ? eval(j, parameter->first) : (Value){0};
        for (int i = 0; i < a->count; i++) {
            const String name = a->names[i];
            const bool by_name = name.length == parameter->name.length &&
                                 memcmp(name.bytes, parameter->name.bytes, name.length) == 0;
            if (name.length ? by_name : i == place) value = a->values[i];
        }
        jinja_set(j, j->scope, parameter->name, value);
    }
}

/* A macro sees the variables of the template, but none that its caller has set in a loop. */
static Value call_macro(Jinja *j, const Node *macro, const Arguments *a) {
    Map *scope = j->scope, *whole = scope;
    while (whole->outer) whole = whole->outer;
    j->scope = jinja_map(j, whole);
    set_parameters(j, macro->first, a);
    Value text = capture(j, macro->first->next->first);
    j->scope = scope;
    return text;
}

static Value call(Jinja *j, const Node *node) {
    const Arguments a = arguments(j, node->first);
    Value macro = jinja_get(j, j->scope, node->name);
    j->line = node->line;
    return macro.kind == MACRO ? call_macro(j, macro.macro, &a)
                               : jinja_call_function(j, node->name, &a);
}

/* ------------------------------------------------------------------ attributes and items */

static Value attribute(Jinja *j, Value value, String name) {
    if (value.kind == UNDEFINED || value.kind == NONE)
        jinja_fail(j, "there is nothing of which \"%.*s\" could be asked", (int)name.length,
                   name.bytes);
    return value.kind == MAP ? jinja_get(j, value.map, name) : (Value){0};
}

static Value item(Jinja *j, Value value, Value index) {
    if (index.kind == STRING) return attribute(j, value, index.string);
    if (value.kind != LIST || index.kind != NUMBER) jinja_fail(j, "[…] of what is no list");
    const int64_t count = (int64_t)value.list->count,
                  place = index.number + (index.number < 0 ? count : 0);
    return place >= 0 && place < count ? value.list->items[place] : (Value){0};
}

/* From Python's index, where -1 is the last, to a place from 0 to count. An end that is none is
 * `otherwise`. */
static size_t slice_end(Jinja *j, Value end, size_t otherwise, size_t count) {
    if (end.kind == NONE) return otherwise;
    if (end.kind != NUMBER) jinja_fail(j, "[from:to] of what is no number");
    const int64_t place = end.number + (end.number < 0 ? (int64_t)count : 0);
    if (place < 0) return 0;
    return place < (int64_t)count ? (size_t)place : count;
}

static Value slice(Jinja *j, Value value, Value from, Value to) {
    if (value.kind != LIST) jinja_fail(j, "only of lists pieces are known here");
    const size_t count = value.list->count, first = slice_end(j, from, 0, count),
                 end = slice_end(j, to, count, count);
    List *list = jinja_list(j, end > first ? end - first : 0);
    memcpy(list->items, value.list->items + first, list->count * sizeof *list->items);
    return jinja_list_value(list);
}

static Value reversed(Jinja *j, Value value) {
    if (value.kind != LIST) jinja_fail(j, "only lists are known backwards");
    List *list = jinja_list(j, value.list->count);
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = value.list->items[list->count - 1 - i];
    return jinja_list_value(list);
}

/* ------------------------------------------------------------------ operators */

static Value arithmetic(Jinja *j, NodeKind operator, Value left, Value right) {
    const bool is_product = operator == NODE_MULTIPLY || operator == NODE_REMAINDER;
    int64_t result = 0;
    bool overflows = false;
    if (operator == NODE_ADD && left.kind == STRING && right.kind == STRING)
        return jinja_text_value(jinja_concatenate(j, left.string, right.string));
    if (left.kind != NUMBER || right.kind != NUMBER ||
        (operator == NODE_REMAINDER && right.number <= 0))
        jinja_fail(j, is_product ? "no numbers to multiply or divide"
                                 : "what is neither two texts nor two numbers is added");
    if (operator == NODE_MULTIPLY)
        overflows = __builtin_mul_overflow(left.number, right.number, &result);
    if (operator == NODE_ADD)
        overflows = __builtin_add_overflow(left.number, right.number, &result);
    if (operator == NODE_SUBTRACT)
        overflows = __builtin_sub_overflow(left.number, right.number, &result);
    if (operator == NODE_REMAINDER) result = left.number % right.number;
    if (operator == NODE_REMAINDER && result < 0)
        result += right.number; /* Python's is never negative */
    if (overflows) jinja_fail(j, "too large a number");
    return jinja_number_value(NUMBER, result);
}

static Value negative(Jinja *j, Value value) {
    if (value.kind != NUMBER || value.number < -0x7fffffff)
        jinja_fail(j, "\"-\" before what is no number");
    return jinja_number_value(NUMBER, -value.number);
}

static bool contains(Jinja *j, Value whole, Value part) {
    jinja_work(j, whole.kind == STRING ? whole.string.length : 0);
    if (whole.kind == STRING && part.kind == STRING)
        return jinja_find(whole.string, part.string, NULL);
    if (whole.kind == MAP && part.kind == STRING)
        return jinja_get(j, whole.map, part.string).kind != UNDEFINED;
    if (whole.kind == UNDEFINED) return false;
    if (whole.kind != LIST) jinja_fail(j, "\"in\" what is neither text, list nor object");
    for (size_t i = 0; i < whole.list->count; i++)
        if (jinja_equal(j, part, whole.list->items[i])) return true;
    return false;
}

static bool less(Jinja *j, Value left, Value right) {
    if (left.kind != NUMBER || right.kind != NUMBER)
        jinja_fail(j, "what is no number is larger or smaller");
    return left.number < right.number;
}

static bool compare(Jinja *j, NodeKind comparison, Value left, Value right) {
    switch (comparison) {
    case NODE_EQUAL: return jinja_equal(j, left, right);
    case NODE_UNEQUAL: return !jinja_equal(j, left, right);
    case NODE_LESS: return less(j, left, right);
    case NODE_LESS_EQUAL: return !less(j, right, left);
    case NODE_GREATER: return less(j, right, left);
    case NODE_GREATER_EQUAL: return !less(j, left, right);
    case NODE_IN: return contains(j, right, left);
    default: return !contains(j, right, left);
    }
}

/* a < b < c: the first comparison that does not hold ends it. */
static Value compare_all(Jinja *j, const Node *operand) {
    bool holds = true;
    Value left = eval(j, operand);
    for (const Node *comparison = operand->next; comparison && holds;
         comparison = comparison->next) {
        Value right = eval(j, comparison->first);
        j->line = comparison->line;
        holds = compare(j, comparison->kind, left, right);
        left = right;
    }
    return jinja_number_value(BOOLEAN, holds);
}

/* ------------------------------------------------------------------ chains */

/* One step of a chain, applied to the value so far. */
static Value apply(Jinja *j, const Node *step, Value value) {
    const NodeKind kind = step->kind;
    if (kind == NODE_OR || kind == NODE_AND)
        return jinja_true(value) == (kind == NODE_OR) ? value : eval(j, step->first);
    if (kind == NODE_METHOD || kind == NODE_FILTER || kind == NODE_TEST || kind == NODE_NOT_TEST) {
        const Arguments a = arguments(j, step->first);
        j->line = step->line;
        if (kind == NODE_METHOD) return jinja_call_method(j, value, step->name, &a);
        if (kind == NODE_FILTER) return jinja_call_filter(j, value, step->name, &a);
        return jinja_number_value(BOOLEAN,
                                  jinja_call_test(j, value, step->name, &a) == (kind == NODE_TEST));
    }
    const Value operand = step->first ? eval(j, step->first) : (Value){0};
    const Value to = kind == NODE_SLICE ? eval(j, step->first->next) : (Value){0};
    j->line = step->line;
    switch (kind) {
    case NODE_ATTRIBUTE: return attribute(j, value, step->name);
    case NODE_ITEM: return item(j, value, operand);
    case NODE_SLICE: return slice(j, value, operand, to);
    case NODE_REVERSE: return reversed(j, value);
    case NODE_CONCATENATE:
        return jinja_text_value(
            jinja_concatenate(j, jinja_printed(j, value), jinja_printed(j, operand)));
    default: return arithmetic(j, kind, value, operand);
    }
}

static Value chain(Jinja *j, const Node *operand) {
    Value value = eval(j, operand);
    for (const Node *step = operand->next; step; step = step->next) value = apply(j, step, value);
    return value;
}

/* ------------------------------------------------------------------ expressions */

static Value new_list(Jinja *j, const Node *element) {
    size_t count = 0;
    for (const Node *counted = element; counted; counted = counted->next) count++;
    List *list = jinja_list(j, count);
    for (size_t i = 0; i < count; i++, element = element->next) list->items[i] = eval(j, element);
    return jinja_list_value(list);
}

static Value new_map(Jinja *j, const Node *key) {
    Map *map = jinja_map(j, NULL);
    for (; key; key = key->next->next) {
        Value name = eval(j, key), value = eval(j, key->next);
        if (name.kind != STRING) jinja_fail(j, "an object with a name that is no text");
        jinja_set(j, map, name.string, value);
    }
    return (Value){.kind = MAP, .map = map};
}

static Value conditional(Jinja *j, const Node *value) {
    const Node *condition = value->next, *otherwise = condition->next;
    if (jinja_true(eval(j, condition))) return eval(j, value);
    return otherwise ? eval(j, otherwise) : (Value){0};
}

static Value eval_kind(Jinja *j, const Node *node) {
    switch (node->kind) {
    case NODE_CONSTANT: return node->value;
    case NODE_VARIABLE: return jinja_get(j, j->scope, node->name);
    case NODE_LIST: return new_list(j, node->first);
    case NODE_MAP: return new_map(j, node->first);
    case NODE_CAPTURE: return capture(j, node->first);
    case NODE_CONDITIONAL: return conditional(j, node->first);
    case NODE_NOT: return jinja_number_value(BOOLEAN, !jinja_true(eval(j, node->first)));
    case NODE_NEGATE: return negative(j, eval(j, node->first));
    case NODE_CALL: return call(j, node);
    case NODE_COMPARE: return compare_all(j, node->first);
    case NODE_CHAIN: return chain(j, node->first);
    default: jinja_fail(j, "%.*s", (int)node->name.length, node->name.bytes); /* an ERROR */
    }
}

static Value eval(Jinja *j, const Node *node) {
    j->line = node->line;
    jinja_nest(j, 1);
    jinja_work(j, 0);
    Value value = eval_kind(j, node);
    jinja_nest(j, -1);
    return value;
}

/* ------------------------------------------------------------------ statements */

static void run_if(Jinja *j, const Node *branch) {
    while (branch && !jinja_true(eval(j, branch->first))) branch = branch->next;
    if (branch) run(j, branch->first->next);
}

static void set_loop(Jinja *j, Map *scope, size_t index, const List *list) {
    const int64_t count = (int64_t)list->count, i = (int64_t)index;
    Map *loop = jinja_map(j, NULL);
    loop->by_identity = true;
    jinja_set_named(j, loop, "index0", jinja_number_value(NUMBER, i));
    jinja_set_named(j, loop, "index", jinja_number_value(NUMBER, i + 1));
    jinja_set_named(j, loop, "first", jinja_number_value(BOOLEAN, i == 0));
    jinja_set_named(j, loop, "last", jinja_number_value(BOOLEAN, i + 1 == count));
    jinja_set_named(j, loop, "length", jinja_number_value(NUMBER, count));
    jinja_set_named(j, loop, "revindex0", jinja_number_value(NUMBER, count - i - 1));
    jinja_set_named(j, loop, "revindex", jinja_number_value(NUMBER, count - i));
    if (i > 0) jinja_set_named(j, loop, "previtem", list->items[i - 1]);
    if (i + 1 < count) jinja_set_named(j, loop, "nextitem", list->items[i + 1]);
    jinja_set_named(j, scope, "loop", (Value){.kind = MAP, .map = loop});
}

/* The items for which the condition holds. */
static const List *filtered(Jinja *j, const Node *condition, String name, const List *all) {
    List *list = jinja_list(j, all->count);
    Map *outer = j->scope;
    list->count = 0;
    j->scope = jinja_map(j, outer);
    for (size_t i = 0; i < all->count; i++) {
        jinja_set(j, j->scope, name, all->items[i]);
        if (jinja_true(eval(j, condition))) list->items[list->count++] = all->items[i];
    }
    j->scope = outer;
    return list;
}

/* Each pass has a scope of its own: what the body sets is gone after it. */
static void run_for(Jinja *j, const Node *node) {
    const Node *over = node->first, *condition = over->next, *body = condition->next,
               *otherwise = body->next;
    Map *outer = j->scope;
    Value value = eval(j, over);
    const List *list = value.kind == UNDEFINED ? jinja_list(j, 0) : jinja_items(j, value);
    if (!list) jinja_fail(j, "the loop is over what is no list");
    const bool all = condition->kind == NODE_CONSTANT && jinja_true(condition->value);
    if (!all) list = filtered(j, condition, node->name, list);
    for (size_t i = 0; i < list->count; i++) {
        j->scope = jinja_map(j, outer);
        set_loop(j, j->scope, i, list);
        jinja_set(j, j->scope, node->name, list->items[i]);
        run(j, body->first);
    }
    j->scope = outer;
    if (list->count == 0) run(j, otherwise->first);
}

static void run_set(Jinja *j, const Node *node) {
    Value value = eval(j, node->first);
    j->line = node->line;
    if (node->attribute.length == 0) {
        jinja_set(j, j->scope, node->name, value);
        return;
    }
    Value space = jinja_get(j, j->scope, node->name);
    if (space.kind != MAP)
        jinja_fail(j, "%.*s is no namespace", (int)node->name.length, node->name.bytes);
    jinja_set(j, space.map, node->attribute, value);
}

static void run_one(Jinja *j, const Node *node) {
    switch (node->kind) {
    case NODE_TEXT: write_string(j, node->value.string); break;
    case NODE_OUTPUT: write_string(j, jinja_printed(j, eval(j, node->first))); break;
    case NODE_IF: run_if(j, node->first); break;
    case NODE_FOR: run_for(j, node); break;
    case NODE_SET: run_set(j, node); break;
    case NODE_MACRO:
        jinja_set(j, j->scope, node->name, (Value){.kind = MACRO, .macro = node});
        break;
    default: eval(j, node); /* an ERROR */
    }
}

static void run(Jinja *j, const Node *statement) {
    jinja_nest(j, 1);
    jinja_work(j, 0);
    for (; statement; statement = statement->next) {
        j->line = statement->line;
        run_one(j, statement);
    }
    jinja_nest(j, -1);
}

/* ------------------------------------------------------------------ the whole */

static Value text_of(Jinja *j, const char *text, bool said) {
    return jinja_text_value(jinja_string(j, strlen(text), text, said));
}

/* The variables that transformers gives a template. There are no tools and no documents. */
static void set_variables(Jinja *j, size_t count, const Message messages[count]) {
    static const char *const functions[] = {"raise_exception", "strftime_now", "namespace"};
    Map *scope = j->scope;
    List *list = jinja_list(j, count);
    for (size_t i = 0; i < count; i++) {
        Map *message = jinja_map(j, NULL);
        jinja_set_named(j, message, "role", text_of(j, messages[i].role, false));
        jinja_set_named(j, message, "content", text_of(j, messages[i].content, true));
        list->items[i] = (Value){.kind = MAP, .map = message};
    }
    jinja_set_named(j, scope, "messages", jinja_list_value(list));
    jinja_set_named(j, scope, "add_generation_prompt", jinja_number_value(BOOLEAN, true));
    jinja_set_named(j, scope, "tools", jinja_number_value(NONE, 0));
    jinja_set_named(j, scope, "documents", jinja_number_value(NONE, 0));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) /* so that they are defined */
        jinja_set_named(j, scope, functions[i], jinja_number_value(BOOLEAN, true));
    if (j->template->bos)
        jinja_set_named(j, scope, "bos_token", text_of(j, j->template->bos, false));
    if (j->template->eos)
        jinja_set_named(j, scope, "eos_token", text_of(j, j->template->eos, false));
    if (j->template->date)
        jinja_set_named(j, scope, "date_string", text_of(j, j->template->date, true));
}

/* A copy with \n at the end of every line but the last. */
static char *with_plain_lines(const char *source) {
    char *plain = xstrndup(source, strlen(source)), *to = plain;
    for (const char *from = source; *from; from++)
        if (*from != '\r') *to++ = *from;
        else if (from[1] != '\n') *to++ = '\n';
    if (to > plain && to[-1] == '\n') to--;
    *to = '\0';
    return plain;
}

Rendered template_render(const Template *template, size_t count, const Message messages[count]) {
    char *source = with_plain_lines(template->source);
    Jinja j = {.template = template, .line = 1};
    const Node *tree = jinja_parse(&j, source);
    j.scope = jinja_map(&j, NULL);
    set_variables(&j, count, messages);
    run(&j, tree->first);
    jinja_free(&j);
    free(source);
    return j.out;
}

void rendered_free(Rendered *rendered) {
    free(rendered->letters);
    free(rendered->said);
}
