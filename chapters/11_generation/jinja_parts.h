/* Jinja from the inside: jinja.c has the statements, jinja_expression.c the expressions, jinja_functions.c what they
 * call, jinja_value.c their values. */
#ifndef JINJA_PARTS_H
#define JINJA_PARTS_H

#include "11_generation/jinja.h"

typedef struct {
    size_t length;
    const char *letters;
    const bool *said; /* as in Rendered */
} Text;

typedef enum { UNDEFINED, NONE, BOOLEAN, NUMBER, TEXT, LIST, MAP, MACRO } Kind;

typedef struct Value {
    Kind kind;
    long number;               /* BOOLEAN, NUMBER */
    Text text;
    const struct Values *list;
    struct Names *map;
    const char *macro;         /* where its parameters stand */
} Value;

typedef struct Values {
    size_t count;
    Value values[];
} Values;

/* Variables of a scope, or what a message, a loop and a namespace have. */
typedef struct Names {
    struct Names *outer; /* the scope around this one */
    bool unique;         /* equal to itself alone: a namespace, a loop */
    size_t count;
    struct {
        Text name;
        Value value;
    } *entries;
} Names;

/* A template that is being run. */
typedef struct Jinja {
    const Template *template;
    const char *source, *at; /* what comes next */
    bool live;               /* false where a branch is not taken: it is only read over */
    int depth;               /* of what stands in each other */
    Names *scope;
    size_t taken, work;      /* bytes of memory; bytes that were looked at, again and again in a loop */
    struct Piece *memory;    /* all of it, to be freed in the end */
    Rendered out;
    size_t room;             /* for as many letters of it */
} Jinja;

/* fail() with the line. */
_Noreturn void jinja_wrong(const Jinja *jinja, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One step deeper, or back (-1): no template stands in itself without end. */
void jinja_deeper(Jinja *jinja, int by);

/* So many bytes more are looked at: no template goes on without end. */
void jinja_works(Jinja *jinja, size_t bytes);

/* ---- values */

void *jinja_room(Jinja *jinja, size_t bytes); /* until jinja_free(); of zeros */
void jinja_free(Jinja *jinja);

Text text_of(Jinja *jinja, const char *letters, size_t length, bool said);
bool text_is(Text text, const char *letters);
bool text_equal(Text left, Text right);
Text text_joined(Jinja *jinja, Text left, Text right);
Text text_piece(Text text, size_t from, size_t to);
Text text_trimmed(Text text, bool left, bool right); /* without Python's white space at these ends */
Text text_without(Text text, Text characters, bool left, bool right); /* or without these characters */
bool text_has(Text text, Text part, size_t *place);

Value value_of_text(Text text);
Value value_of_number(Kind kind, long number);
Values *values_new(Jinja *jinja, size_t count);

bool value_true(Value value);
bool value_equal(Jinja *jinja, Value left, Value right);
Text value_text(Jinja *jinja, Value value); /* as it is printed */

Names *names_new(Jinja *jinja, Names *outer);
void names_set(Jinja *jinja, Names *names, Text name, Value value);
Value names_get(Jinja *jinja, const Names *names, Text name); /* or of the scopes around it; or UNDEFINED */

/* ---- expressions */

Value jinja_expression(Jinja *jinja);
Value jinja_unconditional(Jinja *jinja);         /* behind which an `if` belongs to something else */
void jinja_skip(Jinja *jinja, const char *sign); /* up to this end of the braces, or to a - before it */
bool jinja_word(Jinja *jinja, const char *word); /* takes a name, if it is this one */
bool jinja_sign(Jinja *jinja, const char *sign);
Text jinja_name(Jinja *jinja);                   /* takes any name, or fail() */

/* ---- what has a name in an expression. Where the branch is not live, nothing is done, and the value is UNDEFINED. */

typedef struct {
    int count;
    Text names[8]; /* of "name=value"; empty where a value stands alone */
    Value values[8];
} Arguments;

Value jinja_call(Jinja *jinja, Text name, const Arguments *arguments);                /* name(…) */
Value jinja_method(Jinja *jinja, Value value, Text name, const Arguments *arguments); /* value.name(…) */
Value jinja_filter(Jinja *jinja, Value value, Text name, const Arguments *arguments); /* value | name(…) */
bool jinja_test(Jinja *jinja, Value value, Text name);                                /* value is name */
Value jinja_macro(Jinja *jinja, const char *macro, const Arguments *arguments);       /* what it writes: jinja.c */

#endif
