/* The chat templates that `llama --chat-template NAME` has by name, in Jinja. They write the same
 * as the chat_template of these models does for a conversation without tools; tests/golden/chat.py
 * names the models. */
#ifndef CHAT_TEMPLATES_H
#define CHAT_TEMPLATES_H

typedef struct {
    const char *name;
    const char *template;
    const char *needs; /* a special token without which the template makes no sense; or NULL */
} ChatTemplate;

const ChatTemplate *chat_template_named(const char *name); /* or fail(), with a list of them */
const ChatTemplate *chat_template_at(int index);           /* NULL after the last */
const char *chat_template_names(void);                     /* "llama2, llama3, …" */

#endif
