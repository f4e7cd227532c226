/* Tokens → a tree. Recursive descent: a function for each statement and for each level of
 * operators, those that bind least first. */
#include "14_engine/chat/jinja_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Jinja *j;
    Lexer lexer;
    Token token;    /* the one that is looked at */
    Node *error;    /* in these braces: from then on, no token is accepted in them */
    Node *unclosed; /* a missing end: there are no more tokens */
} Parser;

/* ------------------------------------------------------------------ nodes and errors */

static Node *node_new(Parser *p, NodeKind kind) {
    Node *node = jinja_allocate(p->j, sizeof *node);
    node->kind = kind;
    node->line = p->token.line;
    return node;
}

static Node *constant(Parser *p, Value value) {
    Node *node = node_new(p, NODE_CONSTANT);
    node->value = value;
    return node;
}

static Node *named(Parser *p, NodeKind kind, String name) {
    Node *node = node_new(p, kind);
    node->name = name;
    return node;
}

/* The children of a node, in order. */
typedef struct {
    Node **end;
    int count;
} Children;

static Children children_of(Node *node) { return (Children){&node->first, 0}; }

static void append(Children *children, Node *node) {
    *children->end = node;
    children->end = &node->next;
    children->count++;
}

static Node *error_node(Parser *p, const char *format, va_list arguments) {
    char message[300];
    vsnprintf(message, sizeof message, format, arguments);
    return named(p, NODE_ERROR, jinja_string(p->j, strlen(message), message, false));
}

/* These braces are no Jinja, or not supported. The first error counts. */
__attribute__((format(printf, 2, 3))) static Node *syntax_error(Parser *p, const char *format,
                                                                ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!p->error) p->error = error_node(p, format, arguments);
    va_end(arguments);
    return p->error;
}

/* The template ends here, and then in error. */
__attribute__((format(printf, 2, 3))) static void missing_end(Parser *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!p->unclosed) p->unclosed = error_node(p, format, arguments);
    va_end(arguments);
    p->token.kind = TOKEN_END;
}

static void nest(Parser *p, int depth) {
    p->j->depth += depth;
    if (p->j->depth > DEEPEST) syntax_error(p, "over %d parts stand in each other", DEEPEST);
}

/* ------------------------------------------------------------------ tokens */

static void next_token(Parser *p) {
    if (!p->unclosed) p->token = jinja_next_token(&p->lexer);
}

static bool token_is(Token token, const char *text) {
    return (token.kind == TOKEN_NAME || token.kind == TOKEN_SIGN) && token.length == strlen(text) &&
           memcmp(token.start, text, token.length) == 0;
}

static bool at(const Parser *p, const char *text) { return !p->error && token_is(p->token, text); }

/* Takes a name or a sign, if it is this one. */
static bool accept(Parser *p, const char *text) {
    const bool is = at(p, text);
    if (is) next_token(p);
    return is;
}

static void expect(Parser *p, const char *text) {
    if (!accept(p, text)) syntax_error(p, "\"%s\" should stand at \"%.20s\"", text, p->token.start);
}

/* True at the end of a list in brackets, which is taken, and after an error; otherwise an element
 * follows. */
static bool ends(Parser *p, const char *bracket) { return p->error || accept(p, bracket); }

static void comma_or(Parser *p, const char *bracket) {
    if (!accept(p, ",") && !at(p, bracket)) expect(p, bracket);
}

static String accept_name(Parser *p) {
    if (p->error || p->token.kind != TOKEN_NAME) {
        syntax_error(p, "a name should stand at \"%.20s\"", p->token.start);
        return (String){0};
    }
    String name = jinja_string(p->j, p->token.length, p->token.start, false);
    next_token(p);
    return name;
}

/* ------------------------------------------------------------------ the smallest expressions */

static Node *expression(Parser *p);

/* The arguments of a call, a filter or a test. The first parenthesis is taken already. */
static void arguments(Parser *p, Node *call) {
    Children children = children_of(call);
    while (!ends(p, ")")) {
        Lexer ahead = p->lexer;
        Node *argument = node_new(p, NODE_ARGUMENT);
        if (children.count == MOST_ARGUMENTS) syntax_error(p, "over %d arguments", MOST_ARGUMENTS);
        if (p->token.kind == TOKEN_NAME && token_is(jinja_next_token(&ahead), "=")) {
            argument->name = accept_name(p);
            expect(p, "=");
        }
        argument->first = expression(p);
        append(&children, argument);
        comma_or(p, ")");
    }
}

/* 'text', "text"; those that follow each other are one. */
static Node *string_literal(Parser *p) {
    String whole = {0};
    Node *node = node_new(p, NODE_CONSTANT);
    for (; p->token.kind == TOKEN_STRING; next_token(p)) {
        char *bytes = jinja_allocate(p->j, p->token.length), *to = bytes;
        const char *last = p->token.start + p->token.length - 1;
        for (const char *from = p->token.start + 1; from < last; from++, to++)
            if (*from == '\\') jinja_unescape(*++from, to);
            else *to = *from;
        whole =
            jinja_concatenate(p->j, whole, jinja_string(p->j, (size_t)(to - bytes), bytes, false));
    }
    node->value = jinja_text_value(whole);
    return node;
}

static Node *number_literal(Parser *p) {
    errno = 0;
    long long number = strtoll(p->token.start, NULL, 10);
    if (errno == ERANGE) return syntax_error(p, "too large a number");
    Node *node = constant(p, jinja_number_value(NUMBER, number));
    next_token(p);
    return node;
}

/* The elements of a list up to its bracket. Of a tuple, the first element is parsed already. */
static Node *list_literal(Parser *p, const char *bracket, Node *first) {
    enum { MOST = 64 };
    Node *list = node_new(p, NODE_LIST);
    Children children = children_of(list);
    if (first) append(&children, first);
    while (!ends(p, bracket)) {
        if (children.count == MOST) syntax_error(p, "a list of over %d", MOST);
        append(&children, expression(p));
        comma_or(p, bracket);
    }
    return list;
}

/* {'name': value, …}, of which the first brace is taken already. */
static Node *map_literal(Parser *p) {
    Node *map = node_new(p, NODE_MAP);
    Children children = children_of(map);
    while (!ends(p, "}")) {
        append(&children, expression(p));
        expect(p, ":");
        append(&children, expression(p));
        comma_or(p, "}");
    }
    return map;
}

/* A value in parentheses, or a tuple. The first parenthesis is taken already. */
static Node *parenthesis(Parser *p) {
    if (accept(p, ")")) return node_new(p, NODE_LIST);
    Node *value = expression(p);
    if (accept(p, ",")) return list_literal(p, ")", value);
    expect(p, ")");
    return value;
}

static Node *variable_or_call(Parser *p) {
    static const struct {
        const char *name;
        ValueKind kind;
        int number;
    } constants[] = {{"true", BOOLEAN, 1},  {"True", BOOLEAN, 1}, {"false", BOOLEAN, 0},
                     {"False", BOOLEAN, 0}, {"none", NONE, 0},    {"None", NONE, 0}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (accept(p, constants[i].name))
            return constant(p, jinja_number_value(constants[i].kind, constants[i].number));
    Node *node = node_new(p, NODE_VARIABLE);
    node->name = accept_name(p);
    if (!accept(p, "(")) return node;
    node->kind = NODE_CALL;
    arguments(p, node);
    return node;
}

static Node *primary(Parser *p) {
    if (p->error) return p->error;
    switch (p->token.kind) {
    case TOKEN_STRING: return string_literal(p);
    case TOKEN_NUMBER: return number_literal(p);
    case TOKEN_OPEN_STRING: return syntax_error(p, "a text without its end");
    case TOKEN_BAD_ESCAPE:
        return syntax_error(p, "\"%.2s\" in a text is not known here", p->token.start);
    default: break;
    }
    if (accept(p, "[")) return list_literal(p, "]", NULL);
    if (accept(p, "{")) return map_literal(p);
    if (accept(p, "(")) return parenthesis(p);
    return variable_or_call(p);
}

/* ------------------------------------------------------------------ steps after them */

/* An end that is left out is none. */
static Node *slice_end(Parser *p) {
    return at(p, ":") || at(p, "]") ? constant(p, jinja_number_value(NONE, 0)) : expression(p);
}

/* [index], [from:to], [::-1]; the first bracket is taken already. */
static Node *subscript(Parser *p) {
    Node *step = node_new(p, NODE_ITEM);
    Children children = children_of(step);
    append(&children, at(p, "]") ? expression(p) : slice_end(p));
    if (accept(p, ":")) {
        step->kind = NODE_SLICE;
        if (at(p, ":") && step->first->kind == NODE_CONSTANT && step->first->value.kind == NONE) {
            step->kind = NODE_REVERSE;
            next_token(p);
            expect(p, "-");
            if (p->token.kind != TOKEN_NUMBER || p->token.length != 1 || *p->token.start != '1')
                expect(p, "1");
            else next_token(p);
        } else append(&children, slice_end(p));
    }
    expect(p, "]");
    return step;
}

static Node *attribute_or_method(Parser *p) {
    Node *step = node_new(p, NODE_ATTRIBUTE);
    step->name = accept_name(p);
    if (!accept(p, "(")) return step;
    step->kind = NODE_METHOD;
    arguments(p, step);
    return step;
}

/* A test without parentheses takes the next word as its argument, even `is` or `if`, as jinja2. */
static bool takes_argument(const Parser *p) {
    if (p->error || at(p, "else") || at(p, "or") || at(p, "and")) return false;
    return p->token.kind == TOKEN_NAME || p->token.kind == TOKEN_STRING ||
           p->token.kind == TOKEN_NUMBER || at(p, "[") || at(p, "{");
}

static Node *filter_or_test(Parser *p, NodeKind kind) {
    Node *step = node_new(p, kind);
    if (kind == NODE_TEST && accept(p, "not")) step->kind = NODE_NOT_TEST;
    step->name = accept_name(p);
    if (accept(p, "(")) arguments(p, step);
    else if (at(p, ".") && !p->error) syntax_error(p, "a name with a point in it");
    else if (kind == NODE_TEST && takes_argument(p))
        syntax_error(p, "behind a test \"%.20s\" cannot stand without parentheses", p->token.start);
    return step;
}

/* A chain of this operand and of what the steps are: the operand alone, if there are none. */
static Node *chain_of(Parser *p, NodeKind kind, Node *operand, Node *steps) {
    if (!steps) return operand;
    Node *chain = node_new(p, kind);
    chain->line = steps->line;
    chain->first = operand;
    operand->next = steps;
    return chain;
}

/* `-` binds closer than a filter: -1 | string is "-1". */
static Node *unary(Parser *p, bool with_filters) {
    Node *operand, steps = {0}, *step;
    if (accept(p, "-")) {
        operand = node_new(p, NODE_NEGATE);
        nest(p, 1);
        operand->first = p->error ? p->error : unary(p, false);
        nest(p, -1);
    } else operand = primary(p);
    for (Children children = children_of(&steps);; append(&children, step)) {
        if (accept(p, ".")) step = attribute_or_method(p);
        else if (accept(p, "[")) step = subscript(p);
        else if (with_filters && accept(p, "|")) step = filter_or_test(p, NODE_FILTER);
        else if (with_filters && accept(p, "is")) step = filter_or_test(p, NODE_TEST);
        else return chain_of(p, NODE_CHAIN, operand, steps.first);
    }
}

static Node *operand_of_product(Parser *p) { return unary(p, true); }

/* ------------------------------------------------------------------ operators */

typedef struct {
    const char *sign;
    NodeKind step;
} Operator;

static const Operator *operator_at(const Parser *p, size_t count, const Operator level[count]) {
    for (size_t i = 0; i < count; i++)
        if (at(p, level[i].sign)) return &level[i];
    return NULL;
}

/* Operands with operators of one level between them. */
static Node *operators(Parser *p, NodeKind kind, Node *operand(Parser *), size_t count,
                       const Operator level[count]) {
    Node *first = operand(p), steps = {0};
    Children children = children_of(&steps);
    for (const Operator *next; (next = operator_at(p, count, level));) {
        Node *step = node_new(p, next->step);
        next_token(p);
        if (step->kind == NODE_NOT_IN) expect(p, "in");
        step->first = operand(p);
        append(&children, step);
    }
    return chain_of(p, kind, first, steps.first);
}

#define LEVEL(function, kind, operand, ...)                                                        \
    static Node *function(Parser *p) {                                                             \
        static const Operator level[] = {__VA_ARGS__};                                             \
        return operators(p, kind, operand, sizeof level / sizeof *level, level);                   \
    }

static Node *negation(Parser *p);

LEVEL(product_level, NODE_CHAIN, operand_of_product, {"*", NODE_MULTIPLY}, {"%", NODE_REMAINDER})
LEVEL(concatenation, NODE_CHAIN, product_level, {"~", NODE_CONCATENATE})
LEVEL(sum_level, NODE_CHAIN, concatenation, {"+", NODE_ADD}, {"-", NODE_SUBTRACT})
LEVEL(comparison, NODE_COMPARE, sum_level, {"==", NODE_EQUAL}, {"!=", NODE_UNEQUAL},
      {"<=", NODE_LESS_EQUAL}, {">=", NODE_GREATER_EQUAL}, {"<", NODE_LESS}, {">", NODE_GREATER},
      {"in", NODE_IN}, {"not", NODE_NOT_IN})
LEVEL(conjunction, NODE_CHAIN, negation, {"and", NODE_AND})
LEVEL(disjunction, NODE_CHAIN, conjunction, {"or", NODE_OR})

static Node *negation(Parser *p) {
    if (!accept(p, "not")) return comparison(p);
    Node *node = node_new(p, NODE_NOT);
    nest(p, 1);
    node->first = p->error ? p->error : negation(p);
    nest(p, -1);
    return node;
}

/* value, or value if condition, or value if condition else value */
static Node *expression(Parser *p) {
    nest(p, 1);
    Node *value = p->error ? p->error : disjunction(p);
    if (accept(p, "if")) {
        Node *conditional = node_new(p, NODE_CONDITIONAL);
        Children children = children_of(conditional);
        append(&children, value);
        append(&children, disjunction(p));
        if (accept(p, "else")) append(&children, expression(p));
        value = conditional;
    }
    nest(p, -1);
    return value;
}

/* ------------------------------------------------------------------ braces */

/* Checks that the braces end after `parsed`. A syntax error takes the place of what was parsed, and
 * the rest of the braces is skipped. The end of the braces is not taken. */
static Node *rest_of_braces(Parser *p, Node *parsed) {
    const char *close = p->lexer.close;
    if (!p->error && p->token.kind != TOKEN_CLOSE)
        syntax_error(p, "\"%s\" should stand at \"%.20s\"", close ? close : "%}", p->token.start);
    Node *error = p->error;
    if (error) error->next = NULL;
    p->error = NULL;
    while (p->token.kind != TOKEN_CLOSE && p->token.kind != TOKEN_END) next_token(p);
    return error ? error : parsed;
}

static Node *expression_in_braces(Parser *p) { return rest_of_braces(p, expression(p)); }

/* In an if, "a if b else c" needs parentheses. */
static Node *condition_in_braces(Parser *p) {
    return rest_of_braces(p, p->error ? p->error : disjunction(p));
}

/* Takes the end of the braces. */
static void close_braces(Parser *p, const char *close) {
    if (p->token.kind != TOKEN_CLOSE)
        missing_end(p, "\"%s\" should stand at \"%.20s\"", close, p->token.start);
    next_token(p);
}

/* ------------------------------------------------------------------ statements */

/* Appends the statements up to one of these words, which is taken; returns which, or -1 at the end
 * of the template. */
static int statements(Parser *p, Children *children, size_t count, const char *const *ends);

/* A BLOCK up to this word and the end of its braces. */
static Node *block(Parser *p, const char *end, const char *message) {
    Node *node = node_new(p, NODE_BLOCK);
    Children children = children_of(node);
    close_braces(p, "%}");
    if (statements(p, &children, 1, &end) < 0) missing_end(p, "%s", message);
    else close_braces(p, "%}");
    return node;
}

static Node *if_statement(Parser *p) {
    enum { ELIF, ELSE, ENDIF };
    static const char *const words[] = {"elif", "else", "endif"};
    Node *node = node_new(p, NODE_IF), *condition = condition_in_braces(p);
    Children branches = children_of(node);
    for (int end = ELIF; end == ELIF || end == ELSE;) {
        Node *branch = node_new(p, NODE_BRANCH);
        Children children = children_of(branch);
        append(&branches, branch);
        append(&children, condition);
        close_braces(p, "%}");
        end = statements(p, &children, 3, words);
        if (end < 0) missing_end(p, "an if without its endif");
        else
            condition = end == ELIF ? condition_in_braces(p)
                                    : constant(p, jinja_number_value(BOOLEAN, true));
    }
    close_braces(p, "%}");
    return node;
}

/* name in list, and perhaps if condition */
static Node *for_header(Parser *p, Node *node) {
    Children children = children_of(node);
    node->name = accept_name(p);
    expect(p, "in");
    append(&children, disjunction(p));
    append(&children,
           accept(p, "if") ? expression(p) : constant(p, jinja_number_value(BOOLEAN, true)));
    return node;
}

static Node *for_statement(Parser *p) {
    static const char *const words[] = {"endfor", "else"};
    static const char unended[] = "a for without its endfor";
    Node *node = node_new(p, NODE_FOR), *header = rest_of_braces(p, for_header(p, node));
    Node *body = node_new(p, NODE_BLOCK), *otherwise = node_new(p, NODE_BLOCK);
    Children children = children_of(body);
    close_braces(p, "%}");
    int end = statements(p, &children, 2, words);
    if (end < 0) missing_end(p, unended);
    else if (end == 0) close_braces(p, "%}");
    else otherwise = block(p, "endfor", unended);
    if (header != node) return header;
    node->first->next->next = body;
    body->next = otherwise;
    return node;
}

/* set name = value, or of a namespace, set name.name = value; or set name, and the text up to
 * endset. */
static Node *set_statement(Parser *p) {
    Node *node = node_new(p, NODE_SET);
    node->name = accept_name(p);
    if (accept(p, ".")) node->attribute = accept_name(p);
    if (accept(p, "=")) node->first = expression(p);
    Node *header = rest_of_braces(p, node);
    if (header != node || node->first) {
        close_braces(p, "%}");
        return header;
    }
    node->first = block(p, "endset", "without its endset");
    node->first->kind = NODE_CAPTURE;
    return node;
}

static Node *parameters(Parser *p) {
    Node *node = node_new(p, NODE_PARAMETERS);
    Children children = children_of(node);
    if (!accept(p, "(")) return syntax_error(p, "a macro without parentheses");
    while (!ends(p, ")")) {
        Node *parameter = node_new(p, NODE_PARAMETER);
        parameter->name = accept_name(p);
        if (accept(p, "=")) parameter->first = expression(p);
        append(&children, parameter);
        comma_or(p, ")");
    }
    return node;
}

/* Parameters that are in error are so where the macro is called. */
static Node *macro_statement(Parser *p) {
    Node *node = node_new(p, NODE_MACRO);
    node->name = accept_name(p);
    Node *error = p->error;
    Children children = children_of(node);
    append(&children, rest_of_braces(p, error ? error : parameters(p)));
    append(&children, block(p, "endmacro", "without its endmacro"));
    return error ? error : node;
}

/* NULL for a statement that does nothing. */
static Node *other_statement(Parser *p) {
    if (accept(p, "generation") || accept(p, "endgeneration")) /* marks for training */
        return rest_of_braces(p, NULL);
    const int length = (int)(p->token.length < 40 ? p->token.length : 40);
    if (p->token.kind == TOKEN_NAME)
        syntax_error(p, "{%% %.*s %%} is not known here", length, p->token.start);
    else accept_name(p);
    return rest_of_braces(p, NULL);
}

static Node *statement(Parser *p) {
    Node *node;
    nest(p, 1);
    if (p->error) {
        p->unclosed = p->error;
        p->token.kind = TOKEN_END;
        node = NULL;
    } else if (accept(p, "if")) node = if_statement(p);
    else if (accept(p, "for")) node = for_statement(p);
    else if (accept(p, "set")) node = set_statement(p);
    else if (accept(p, "macro")) node = macro_statement(p);
    else {
        node = other_statement(p);
        close_braces(p, "%}");
    }
    nest(p, -1);
    return node;
}

static Node *output(Parser *p) {
    Node *node = node_new(p, NODE_OUTPUT);
    next_token(p);
    node->first = expression_in_braces(p);
    close_braces(p, "}}");
    return node;
}

static Node *text(Parser *p) {
    Node *node = node_new(p, NODE_TEXT);
    node->value = jinja_text_value(jinja_string(p->j, p->token.length, p->token.start, false));
    next_token(p);
    return node;
}

static int statements(Parser *p, Children *children, size_t count, const char *const *ends) {
    while (p->token.kind != TOKEN_END) {
        Node *node = NULL;
        if (p->token.kind == TOKEN_TEXT) node = text(p);
        else if (p->token.kind == TOKEN_OPEN_OUTPUT) node = output(p);
        else if (p->token.kind == TOKEN_OPEN_COMMENT) missing_end(p, "a comment without its end");
        else {
            next_token(p);
            for (size_t end = 0; end < count; end++)
                if (accept(p, ends[end])) return (int)end;
            node = statement(p);
        }
        if (node) append(children, node);
    }
    return -1;
}

const Node *jinja_parse(Jinja *j, const char *source) {
    Parser p = {.j = j, .lexer = {.source = source, .at = source, .line = 1}};
    next_token(&p);
    Node *whole = node_new(&p, NODE_BLOCK);
    Children children = children_of(whole);
    statements(&p, &children, 0, NULL);
    if (p.unclosed) append(&children, p.unclosed);
    return whole;
}
