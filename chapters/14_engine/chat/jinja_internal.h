/* The parts of the Jinja interpreter, in the order in which a template passes through them:
 *
 *   jinja_lexer.c      source text   → tokens
 *   jinja_parser.c     tokens        → a tree of nodes, once
 *   jinja_eval.c       tree          → text
 *   jinja_builtins.c   the functions, methods, filters and tests that have a name
 *   jinja_value.c      strings, values and scopes; the memory of a run, and its limits
 *
 * The lexer stands alone; the parser calls it. The evaluator calls the parser once, then the
 * builtins. All use values. */
#ifndef JINJA_INTERNAL_H
#define JINJA_INTERNAL_H

#include "14_engine/chat/jinja.h"

#include <stdint.h>

/* ------------------------------------------------------------------ values */

/* Not terminated by a NUL. A part of a string shares its bytes. */
typedef struct {
    size_t length;
    const char *bytes;
    const bool *said; /* as in Rendered */
} String;

/* A GENERATOR is what selectattr finds: true even where that is nothing, without a length, and gone
 * through once. */
typedef enum { UNDEFINED, NONE, BOOLEAN, NUMBER, STRING, LIST, GENERATOR, MAP, MACRO } ValueKind;

typedef struct Value {
    ValueKind kind;
    union {
        int64_t number; /* BOOLEAN, NUMBER */
        String string;
        const struct List *list;
        struct Map *map;
        const struct Node *macro;
    };
} Value;

typedef struct List {
    size_t count;
    bool used; /* of a generator */
    Value items[];
} List;

typedef struct {
    String name;
    Value value;
} Entry;

/* The variables of a scope, or the attributes of a message, a loop or a namespace. */
typedef struct Map {
    struct Map *outer; /* of a scope, the one around it */
    bool by_identity;  /* equal to itself alone: a namespace, a loop */
    size_t count, capacity;
    Entry *entries;
} Map;

enum { MOST_ARGUMENTS = 8 };

/* The arguments of a call. */
typedef struct {
    int count;
    String names[MOST_ARGUMENTS]; /* of "name=value"; empty for a value without a name */
    Value values[MOST_ARGUMENTS];
} Arguments;

/* ------------------------------------------------------------------ a run of a template */

typedef struct Jinja {
    const Template *template;
    int line;                  /* of what is parsed or evaluated, for error messages */
    int depth;                 /* of nodes inside nodes */
    size_t memory, work;       /* bytes that were allocated; bytes that were looked at */
    struct Allocation *newest; /* the list of all memory of the run, to be freed at its end */
    Map *scope;
    Rendered out;
    size_t out_capacity;
} Jinja;

/* fail() with the template's path and line. */
_Noreturn void jinja_fail(const Jinja *j, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The limits, which end every template: depth, work, memory. A `depth` of 1 enters a node, -1
 * leaves it; the parser counts the same depth. */
enum { DEEPEST = 100 };
void jinja_nest(Jinja *j, int depth);
void jinja_work(Jinja *j, size_t bytes);
void *jinja_allocate(Jinja *j, size_t bytes); /* zeros, until jinja_free() */
void jinja_free(Jinja *j);

String jinja_string(Jinja *j, size_t length, const char *bytes, bool said); /* a copy */
String jinja_concatenate(Jinja *j, String left, String right);
String jinja_substring(String string, size_t from, size_t to);
bool jinja_is(String string, const char *text);
bool jinja_find(String string, String part, size_t *place); /* place may be NULL */

Value jinja_text_value(String string);
Value jinja_number_value(ValueKind kind, int64_t number); /* BOOLEAN, NUMBER, or NONE with 0 */
Value jinja_list_value(const List *list);
List *jinja_list(Jinja *j, size_t count);

/* The list that a filter or a loop iterates over, or NULL; a generator is then at its end. */
const List *jinja_items(Jinja *j, Value value);
bool jinja_true(Value value);
bool jinja_equal(Jinja *j, Value left, Value right);
String jinja_printed(Jinja *j, Value value); /* the value as {{ }} writes it */

Map *jinja_map(Jinja *j, Map *outer);
void jinja_set(Jinja *j, Map *map, String name, Value value);
void jinja_set_named(Jinja *j, Map *map, const char *name, Value value);
Value jinja_get(Jinja *j, const Map *map, String name); /* or from an outer scope; else UNDEFINED */

/* ------------------------------------------------------------------ tokens */

typedef enum {
    TOKEN_TEXT,           /* outside braces */
    TOKEN_OPEN_OUTPUT,    /* {{ */
    TOKEN_OPEN_STATEMENT, /* {% */
    TOKEN_CLOSE,          /* the }} or %} that belongs to it */
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,       /* with its quotes */
    TOKEN_SIGN,         /* an operator, a bracket, or any other byte */
    TOKEN_BAD_ESCAPE,   /* the \x in a string */
    TOKEN_OPEN_STRING,  /* a string without its end */
    TOKEN_OPEN_COMMENT, /* a comment without its end */
    TOKEN_END
} TokenKind;

typedef struct {
    TokenKind kind;
    int line;
    const char *start;
    size_t length;
} Token;

typedef struct {
    const char *source, *at;
    int line;
    const char *close; /* "}}" or "%}" inside braces; NULL outside */
    int depth;         /* brackets that are open inside the braces */
} Lexer;

Token jinja_next_token(Lexer *lexer);

/* The character that \n, say, stands for in a string; false if the escape is not supported. */
bool jinja_unescape(char escape, char *meant);

/* ------------------------------------------------------------------ the tree */

/* Beside each kind: the fields that it uses; children, of which `first` is the first and the others
 * follow by `next`. */
typedef enum {
    /* statements */
    NODE_TEXT,       /* text outside braces, in `value` */
    NODE_OUTPUT,     /* expression */
    NODE_IF,         /* BRANCH … */
    NODE_BRANCH,     /* condition, statement … */
    NODE_FOR,        /* name; list, condition, BLOCK, BLOCK for an empty list */
    NODE_SET,        /* name, perhaps attribute; expression */
    NODE_MACRO,      /* name; PARAMETERS, BLOCK */
    NODE_PARAMETERS, /* PARAMETER … */
    NODE_PARAMETER,  /* name; default, or none */
    NODE_BLOCK,      /* statement … */
    /* expressions */
    NODE_CONSTANT,    /* `value` */
    NODE_VARIABLE,    /* name */
    NODE_LIST,        /* expression … */
    NODE_MAP,         /* key, value, … */
    NODE_CAPTURE,     /* statement …: the text that they write */
    NODE_CONDITIONAL, /* value, condition, other value or none */
    NODE_NOT,         /* expression */
    NODE_NEGATE,      /* expression */
    NODE_CALL,        /* name; ARGUMENT … */
    NODE_ARGUMENT,    /* name, perhaps empty; expression */
    NODE_COMPARE,     /* operand, comparison …: a < b < c is a < b and b < c */
    NODE_CHAIN,       /* operand, step …: each step is applied to the value so far */
    /* comparisons, each with its right operand */
    NODE_EQUAL,
    NODE_UNEQUAL,
    NODE_IN,
    NODE_NOT_IN,
    NODE_LESS,
    NODE_LESS_EQUAL,
    NODE_GREATER,
    NODE_GREATER_EQUAL,
    /* steps */
    NODE_OR,
    NODE_AND, /* right operand */
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_CONCATENATE, /* right operand */
    NODE_MULTIPLY,
    NODE_REMAINDER, /* right operand */
    NODE_ATTRIBUTE, /* name */
    NODE_ITEM,      /* index */
    NODE_SLICE,     /* from, to */
    NODE_REVERSE,   /* [::-1] */
    NODE_METHOD,
    NODE_FILTER, /* name; ARGUMENT … */
    NODE_TEST,
    NODE_NOT_TEST, /* name; ARGUMENT … */
    /* either */
    NODE_ERROR /* braces that are no Jinja, or not supported: the message, in `name` */
} NodeKind;

typedef struct Node {
    NodeKind kind;
    int line;
    String name, attribute;
    Value value;
    struct Node *first, *next;
} Node;

/* A BLOCK, the whole template. Braces with a syntax error become an ERROR node: templates have
 * branches that a conversation without tools never gets to. A missing end becomes the last
 * statement of the template. */
const Node *jinja_parse(Jinja *j, const char *source);

/* ------------------------------------------------------------------ builtins */

Value jinja_call_function(Jinja *j, String name, const Arguments *arguments);
Value jinja_call_method(Jinja *j, Value value, String name, const Arguments *arguments);
Value jinja_call_filter(Jinja *j, Value value, String name, const Arguments *arguments);
bool jinja_call_test(Jinja *j, Value value, String name, const Arguments *arguments);

#endif
