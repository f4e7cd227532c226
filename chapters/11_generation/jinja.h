/* Chapter 11: Jinja, the language that chat templates are written in, as far as they use it.
 *
 * A chat template is a text with {{ expressions }} in it, whose values stand there in the end, and with
 * {% statements %}: if, elif, else, for, set, macro. It is given the messages of a conversation, and writes the text
 * that the model was trained with.
 *
 * What is written as in a template of transformers: trim_blocks and lstrip_blocks are on, `-` takes white space away.
 * What is not known here is refused with the template's line, where it counts, and so is a conversation that the
 * template itself refuses.
 * Source: https://jinja.palletsprojects.com/en/stable/templates; chat_template_utils.py of transformers. */
#ifndef JINJA_H
#define JINJA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *role, *content; /* "system", "user" or "assistant", and what is said */
} Message;

typedef struct {
    const char *path;           /* where the template is from, for messages */
    const char *source;
    const char *bos, *eos;      /* the names of these tokens; NULL if there is none */
    const char *date;           /* date_string; NULL: the template's own */
} Template;

/* A text, and of each of its bytes, whether it stands in a message: what looks like a special token's name there is
 * none. */
typedef struct {
    size_t length;
    char *letters;
    bool *said;
} Rendered;

/* What the template makes of a conversation, up to where the model is to go on. Or fail(). */
Rendered template_render(const Template *template, size_t count, const Message messages[count]);
void rendered_free(Rendered *rendered);

#endif
