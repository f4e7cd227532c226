/* Chapter 11: the forms of conversations that `llama --template NAME` knows by name, each a template in Jinja. They say
 * what the chat_template of these models says of a conversation without tools; tests/golden/chat.py names them. */
#ifndef FORMS_H
#define FORMS_H

typedef struct {
    const char *name;
    const char *template;
    const char *needs; /* a special token without which the form makes no sense; or NULL */
} Form;

const Form *form_named(const char *name); /* or fail(), which lists them */
const Form *form_at(int index);           /* NULL past the last */
const char *form_names(void);             /* "llama2, llama3, …" */

#endif
