#include "14_engine/chat/conversation.h"
#include "14_engine/chat/chat.h"
#include "common/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the user's messages */

static void interrupt(int signal) {
    (void)signal;
    interrupted = 1;
}

/* A line without its end. NULL at the end of the conversation, and after Ctrl-C. */
static char *read_line(const char *prompt) {
    char *line = NULL;
    size_t room = 0;
    if (isatty(STDIN_FILENO)) fputs(prompt, stderr);
    ssize_t length = getline(&line, &room, stdin);
    if (length >= 0 && memchr(line, '\0', (size_t)length))
        fail("--chat: a line has a NUL in it: this is no text of UTF-8");
    if (length >= 0) {
        while (length > 0 && strchr("\r\n", line[length - 1])) line[--length] = '\0';
        return line;
    }
    if (!interrupted && !feof(stdin)) fail("--chat: standard input: %s", strerror(errno));
    if (!feof(stdin)) {
        clearerr(stdin);
        fputs("\nnote: Ctrl-D ends the conversation\n", stderr);
    }
    free(line);
    return NULL;
}

/* Whether the message goes on in the next line. Removes the \ that says so. */
static bool goes_on(char *line) {
    size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '\\') return false;
    line[length - 1] = '\0';
    return true;
}

/* A message and its next line. At the end of the input there is none; after Ctrl-C the message is
 * given up. */
static char *joined(char *message, char *more) {
    char *whole = NULL;
    if (!more && feof(stdin)) return message;
    if (more && asprintf(&whole, "%s\n%s", message, more) < 0) fail("out of memory for a message");
    free(message);
    free(more);
    return whole;
}

/* A message of one line or several, or NULL. Ctrl-C here only begins a new one. */
static char *ask(void) {
    for (;;) {
        char *message = read_line("> ");
        while (message && goes_on(message)) message = joined(message, read_line("… "));
        interrupted = 0;
        if (message && message[strspn(message, " \t\n")]) return message;
        free(message);
        if (feof(stdin)) return NULL;
    }
}

/* ------------------------------------------------------------------ the conversation so far */

typedef struct {
    Session session;
    Chat chat;
    size_t count;
    Message *messages; /* owns each content */
} Conversation;

static void add_message(Conversation *c, const char *role, char *content) {
    c->messages = xrealloc(c->messages, (c->count + 1) * sizeof *c->messages);
    c->messages[c->count++] = (Message){role, content};
}

/* Drops the oldest turn, a user's message and its answer. The system message stays, and so does the
 * last message. */
static bool forget_oldest(Conversation *c) {
    size_t first = c->count && strcmp(c->messages[0].role, "system") == 0, turn = 2;
    if (c->count < first + turn + 1) return false;
    for (size_t i = first; i < first + turn; i++) free((char *)c->messages[i].content);
    memmove(c->messages + first, c->messages + first + turn,
            (c->count - first - turn) * sizeof *c->messages);
    c->count -= turn;
    return true;
}

/* Reads the conversation, and the part of the answer that was generated already. Turns are dropped
 * until all that fits, and one token more. */
static void read_all(Conversation *c, size_t answered, const int answer[answered], int forgotten) {
    size_t count, capacity = (size_t)c->session.generation.decoder.capacity;
    int *ids;
    for (;;) {
        ids = chat_tokens(&c->chat, c->count, c->messages, &count);
        if (count + answered < capacity || !forget_oldest(c)) break;
        free(ids);
        forgotten++;
    }
    if (forgotten)
        fprintf(stderr,
                "\nnote: the context of %zu token%s is full: the oldest %d turn%s forgotten\n",
                capacity, capacity == 1 ? "" : "s", forgotten, forgotten == 1 ? " is" : "s are");
    ids = xrealloc(ids, (count + answered + 1) * sizeof *ids);
    if (answered) memcpy(ids + count, answer, answered * sizeof *ids);
    session_read(&c->session, count + answered, ids);
    free(ids);
}

/* The tokens of the answer so far. The last one was chosen, but did not fit the context. */
static int *answer_so_far(const Generation *g, int start, size_t *count) {
    *count = (size_t)(g->decoder.length - start) + 1;
    int *answer = xmalloc(*count * sizeof *answer);
    memcpy(answer, g->ids + start, (*count - 1) * sizeof *answer);
    answer[*count - 1] = g->last;
    return answer;
}

/* Generates an answer. When the context is full in the middle of it, the oldest turn is dropped,
 * and it goes on. */
static char *answer(Conversation *c) {
    Generation *g = &c->session.generation;
    const Llama *llama = c->session.llama;
    char *text = NULL;
    size_t length, answered = 0;
    FILE *said = open_memstream(&text, &length);
    if (!said) fail("out of memory for an answer");
    read_all(c, 0, NULL, 0);
    int most = llama->settings.tokens, chosen = g->chosen, start = g->decoder.length;
    FinishReason ending =
        session_write(&c->session, !tokenizer_byte_level(llama->tokenizer), most, said);
    while (ending == FINISH_CONTEXT_FULL && forget_oldest(c)) {
        int *ids = answer_so_far(g, start, &answered);
        read_all(c, answered, ids, 1);
        free(ids);
        start = g->decoder.length - (int)answered;
        ending = session_write(&c->session, false, most - (g->chosen - chosen), said);
    }
    if (ending == FINISH_CONTEXT_FULL)
        fprintf(stderr, "\nnote: the context of %d token%s is full\n", g->decoder.capacity,
                g->decoder.capacity == 1 ? "" : "s");
    putchar('\n');
    bool lost = ferror(said);
    if (fclose(said) != 0 || lost) fail("out of memory for an answer");
    return text;
}

static void note_form(const Chat *chat) {
    fprintf(stderr,
            "note: the model has no chat_template, and is talked to as %s; --chat-template NAME "
            "takes another form\n",
            chat->form);
}

void converse(const Llama *llama) {
    enum { CONTEXT = 8192 }; /* how long it will be is not known */
    const Args *args = llama->args;
    const char *form =
        args->template || args->model ? args->template : "llama2"; /* the course's own has none */
    Chat chat =
        chat_open(llama->tokenizer_path, llama->tokenizer, &llama->model.config, form, args->date);
    Conversation c = {.chat = chat};
    c.session = session_new(llama, CONTEXT);
    /* Without SA_RESTART, so that it interrupts reading, too. */
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    if (args->system) add_message(&c, "system", xstrndup(args->system, strlen(args->system)));
    for (char *message; (message = ask());) {
        if (c.count <= (args->system != NULL) && c.chat.form && !args->template && !args->quiet)
            note_form(&c.chat);
        add_message(&c, "user", message);
        add_message(&c, "assistant", answer(&c));
    }
    session_end(&c.session);
    chat_close(&c.chat);
    for (size_t i = 0; i < c.count; i++) free((char *)c.messages[i].content);
    free(c.messages);
}
