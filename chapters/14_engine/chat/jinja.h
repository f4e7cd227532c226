/* Jinja, the language that chat templates are written in, as far as they use it.
 *
 * A chat template is a text with {{ expressions }} in it, which are replaced by their values, and
 * with {% statements %}: if, elif, else, for, set, macro. It is given the messages of a
 * conversation, and writes the prompt that the model was trained with.
 *
 * The output is what transformers gets from jinja2: trim_blocks and lstrip_blocks are on, and `-`
 * strips white space. A statement, filter, function or test that is not supported is refused with
 * its line if the template gets to it, and so is a conversation that the template itself refuses.
 * Source: https://jinja.palletsprojects.com/en/stable/templates; chat_template_utils.py of
 * transformers. */
#ifndef JINJA_H
#define JINJA_H

#include "11_generation/chat_format.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *path; /* the file that the template is from, for error messages */
    const char *source;
    const char *bos, *eos; /* the names of these tokens; NULL if there is none */
    const char *date;      /* date_string; NULL: the template's own */
} Template;

/* A text, and for each of its bytes whether it is from a message: the name of a special token in a
 * message is text. */
typedef struct {
    size_t length;
    char *letters;
    bool *said;
} Rendered;

/* The prompt for a conversation, up to where the model is to go on. Or fail(). */
Rendered template_render(const Template *template, size_t count, const Message messages[count]);
void rendered_free(Rendered *rendered);

#endif
